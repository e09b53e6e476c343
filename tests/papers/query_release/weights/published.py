"""The published tables, their parity workloads, and how far a model is from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import Noise, Schema
from sfumato.model.base import Model
from sfumato.noise import DiscreteLaplace
from sfumato.papers.query_release.weights import Candidates, Fitting, MultiplicativeWeights
from sfumato.workload.builders import parities, together
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload
from tests.imputed import booleans

DATA = Path(__file__).resolve().parents[3] / "data"


class Published:
    """A table of bits with the parities of low degree over it."""

    def __init__(self, cells: NDArray[np.int64], names: list[str], degree: int = 3) -> None:
        self.cells = cells
        self.people = int(cells.sum())
        schema = Schema({name: booleans() for name in names})
        self.schema = schema
        self.workload: Workload = together(*(parities(schema, width=width) for width in range(1, degree + 1)))
        places = np.argwhere(cells > 0)
        self.records = Records(self.workload.space, np.asfortranarray(places), cells[cells > 0].astype(np.int64))

    def relative_entropy(self, model: Model) -> float:
        """Return RE(data ‖ model) in nats."""
        truth = self.cells / self.people
        chance = model.marginal(self.workload.space.names)
        seen = truth > 0
        return float((truth[seen] * np.log(truth[seen] / chance[seen])).sum())


def published(name: str, degree: int = 3) -> Published:
    """Read one of the tables beside the tests."""
    first, *lines = (DATA / f"{name}.txt").read_text().splitlines()
    names = first.removeprefix("# columns: ").split()
    counts = np.array([int(word) for line in lines for word in line.split()], dtype=np.int64)
    return Published(counts.reshape((2,) * len(names)), names, degree)


def nltcs(degree: int) -> Published | None:
    """Read nltcs from the file that SFUMATO_NLTCS names; None if there is none."""
    path = os.environ.get("SFUMATO_NLTCS")
    if not path or not Path(path).exists():
        return None
    listed = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    cells = np.zeros((2,) * 16, dtype=np.int64)
    np.add.at(cells, tuple(listed[:, :16].T), listed[:, 16])
    return Published(cells, [f"x{place}" for place in range(16)], degree)


def plain(table: Published, epsilon: Any, rounds: int, fitting: Fitting) -> MultiplicativeWeights:
    """Return rounds with a half-half split, as in the reference runs."""
    each = Fraction(str(epsilon)) / rounds
    return MultiplicativeWeights(
        candidates=Candidates(table.workload),
        people=table.people,
        rounds=rounds,
        rate=each / 4,
        law=DiscreteLaplace(2 / each),
        fitting=fitting,
        reads=table.workload.reads,
    )


def entropies(table: Published, run: Callable[[Noise], Model], runs: int, first: int = 0) -> NDArray[np.float64]:
    """Return the relative entropies of some seeded runs."""
    return np.array([table.relative_entropy(run(Noise(insecure_seed=first + seed))) for seed in range(runs)])
