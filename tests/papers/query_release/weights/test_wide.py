"""Wide tables: the factored model learns planted groups that no explicit table could hold."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from sfumato import REPLACE_ONE, Noise, Pure, Schema
from sfumato.papers.query_release.weights import Candidates, MultiplicativeWeights, plan_rounds
from sfumato.papers.query_release.weights.planning import WIDE_CELLS
from sfumato.workload.builders import marginals
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload
from tests.imputed import booleans, integers


def planned(workload: Workload, people: int) -> MultiplicativeWeights:
    """Return MWEM on whole tables at Pure(1), its rounds chosen from public facts."""
    candidates = Candidates(workload, tables=True)
    return plan_rounds(candidates, Pure(1), people=people, counted=True, relation=REPLACE_ONE, reads=workload.reads)


def test_sixteen_columns_with_eight_planted_pairs() -> None:
    """Forty-three million cells; MWEM comes nearer to the pairs than independent columns do."""
    schema = Schema({f"c{place}": integers(0, 2) for place in range(16)})
    workload, people, noise = marginals(schema, width=2), 50_000, Noise(insecure_seed=1)
    codes = noise.uniform(3, people * 16).reshape(people, 16)
    for place in range(0, 16, 2):
        codes[:, place + 1] = np.where(noise.uniform(10, people) == 0, codes[:, place + 1], codes[:, place])
    records = Records.from_rows(workload.space, codes)
    mechanism = planned(workload, people)
    assert mechanism.max_cells == WIDE_CELLS and mechanism.rounds <= 32
    model = mechanism.model_of(mechanism(records, Noise(insecure_seed=2)))
    assert max(component.log_weights.size for component in model.components) <= WIDE_CELLS
    planted = [(f"c{place}", f"c{place + 1}") for place in range(0, 16, 2)]
    apart = [np.abs(model.marginal(pair) - records.table(pair) / people).sum() / 2 for pair in planted]
    # Independent columns are 0.6 away from each of these pairs.
    assert float(np.mean(apart)) < 0.05
    assert max(apart) < 0.1


@pytest.mark.audit
def test_forty_bits_with_ten_planted_groups() -> None:
    # In a process of its own: the peak of this one is that of every test before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        planted, product, seconds, peak = alone.submit(forty_bits).result()
    assert planted <= product / 2
    assert seconds < 60
    assert peak < 2**20


def forty_bits() -> tuple[float, float, float, int]:
    """Return both mean distances on planted triples, the CPU seconds, and the peak in KiB."""
    schema = Schema({f"b{place}": booleans() for place in range(40)})
    workload = marginals(schema, width=3)
    noise = Noise(insecure_seed=1)
    people = 100_000
    bits = np.empty((people, 40), dtype=np.int64)
    for group in range(0, 40, 4):
        base = noise.uniform(2, people)
        for place in range(group, group + 4):
            bits[:, place] = base ^ (noise.uniform(10, people) == 0)
    records = Records.from_rows(workload.space, bits)
    start = time.process_time()
    mechanism = planned(workload, people)
    model = mechanism.model_of(mechanism(records, Noise(insecure_seed=2)))
    seconds = time.process_time() - start
    planted = [
        tuple(f"b{place}" for place in chosen)
        for group in range(0, 40, 4)
        for chosen in combinations(range(group, group + 4), 3)
    ]
    distances, baseline = [], []
    for columns in planted:
        truth = records.table(columns) / people
        ones = [truth.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
        product = ones[0][:, None, None] * ones[1][None, :, None] * ones[2][None, None, :]
        distances.append(np.abs(model.marginal(columns) - truth).sum() / 2)
        baseline.append(np.abs(product - truth).sum() / 2)
    # The peak since this program began; what `getrusage` tells begins with that of the process that started it.
    peak = int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0])
    return float(np.mean(distances)), float(np.mean(baseline)), seconds, peak
