"""All marginals of k bits out of d at one loss per attribute: how much smaller is the error than per-person noise?

python -m bench.attribute_marginals

Both sides answer the same workload with discrete Gaussian noise at the same rho. One is calibrated so that no single
attribute costs more than rho, the other so that no person does. The theory says that the variances stand as d to k
(PDP-PROJ (c)). What the first costs a person stands beside it: it is d/k times as much.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato import Concentrated, Noise
from sfumato.questions.queries.noisy import noisy_workload
from sfumato.show import Line, Panel, picture
from sfumato.table.gauge import Basis
from sfumato.workload import Records

PEOPLE = 5_000
RHO = Concentrated("0.005")
WIDTHS = (2, 3)
BITS = tuple(range(8, 21, 2))
TRIALS = 8
PICTURE = Path("docs/pictures/attribute-marginals.svg")


def measured(bits: int, width: int, seed: int = 1) -> tuple[float, float, float]:
    """Return both mean squared errors (of fractions of people), and the person's rho of the first."""
    schema = sf.Schema({f"b{place}": sf.booleans(missing=False) for place in range(bits)})
    workload = sf.workloads.marginals(schema, width=width)
    setting = Basis(schema, PEOPLE)
    draw = np.random.default_rng(seed)
    level = draw.random(PEOPLE)[:, None]
    records = Records.from_rows(workload.space, (draw.random((PEOPLE, bits)) < 0.2 + 0.6 * level).astype(np.int64))
    exact = np.concatenate(workload.answers(records))
    noise = Noise(insecure_seed=seed)
    errors = []
    for spend in (RHO.per_attribute(), RHO):
        mechanism = noisy_workload(setting, spend, workload)
        found = [np.concatenate(mechanism.run(records, noise)) - exact for _ in range(TRIALS)]
        errors.append(float(np.mean(np.square(found))) / PEOPLE**2)
        if spend.unit == "attribute":
            person = float(mechanism.loss().person.rho(2))
    return errors[0], errors[1], person


def main() -> None:
    started = time.perf_counter()
    print(f"{PEOPLE} people, rho = {float(RHO.rho):g}; mean squared error of a fraction of people, {TRIALS} trials\n")
    print("| k | d | per attribute | per person | ratio | d/k | rho of a person in the first |")
    print("|---|---|---|---|---|---|---|")
    panels = []
    for width in WIDTHS:
        ratios = []
        for bits in BITS:
            ours, theirs, person = measured(bits, width)
            ratios.append(theirs / ours)
            errors = f"{ours:.3e} | {theirs:.3e} | {ratios[-1]:.2f} | {bits / width:.2f}"
            print(f"| {width} | {bits} | {errors} | {person:.4f} |", flush=True)
        theory = Line("theory: d/k", BITS, [bits / width for bits in BITS], "claim")
        found = Line("measured", BITS, ratios, "measure")
        panels.append(Panel(f"bits d, tables of {width}", "error per person / per attribute", (theory, found)))
    written = picture("Marginals at the same rho: per-person noise against per-attribute noise", panels).save(PICTURE)
    print(f"\n{written}, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
