"""The Fourier baseline: every parity of low degree once, with equal noise; tables by the inverse, a model by a fit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.model.base import MOST_CELLS
from sfumato.model.factored import Factored
from sfumato.papers.enough_people import FAILURE, say_of_few
from sfumato.papers.query_release.weights.candidates import Candidates, Floats, Integers
from sfumato.papers.query_release.weights.evidence import Evidence, Fitting, replayed
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import Bound, Relation
from sfumato.privacy.calibrate import Gaussians
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.blocks import Parity
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload

FITTED = Fitting(passes=15, replay_step=1.0)
"""The thesis's way from noisy parities to a distribution: fifteen passes of plain multiplicative updates."""


MOST_QUERIED = 2**26
"""Every measured number has a table of its own in the fit; all of them together have at most so many cells."""

MOST_FITTED = 2**31
"""A pass of the fit goes through the model for every measured number; longer ones, of minutes, are refused."""


@dataclass(frozen=True)
class Barak:
    """All parities that the tables of a workload need, or all of its cells where columns are not bits (QR-BARAK).

    One row moves each of K parity counts by at most 1, whatever the relation, so that they move by K in L1 and by √K
    in L2; where the number of rows is not public it is measured as one more count. One mechanism, no choices.

    What the fit could not do is refused before anything is spent: its memory is that of the measured numbers times the
    cells of the largest table, and a pass takes the time of the measured numbers times the cells of the model.
    """

    workload: Workload
    relation: Relation
    people: int | None
    rows: int = 1

    def __post_init__(self) -> None:
        largest = max(block.cells for block in self.workload.blocks)
        # All parities of the largest table are measured, so that long lists of them need not be written to be refused.
        least = largest - 1 if self._of_bits else 1
        measured = least if least * largest > MOST_QUERIED else self.parts.queries
        cells = self.fitted_cells
        if measured * largest > MOST_QUERIED or cells > MOST_CELLS or measured * cells > MOST_FITTED:
            raise DomainTooLarge(
                f"The fit of this baseline would take {measured} numbers with tables of up to {largest} cells into a "
                f"model of {cells} cells, which is too much; write method='auto', ask for fewer columns, or derive "
                "coarser bins in the schema.",
                method="auto",
            )

    @cached_property
    def fitted_cells(self) -> int:
        """How many cells the largest component of the fitted model has: that of columns that blocks connect."""
        space = self.workload.space
        if space.cells <= MOST_CELLS:
            return space.cells
        groups: list[set[str]] = []
        for block in self.workload.blocks:
            joined = set(block.columns)
            for group in [one for one in groups if one & joined]:
                joined |= group
                groups.remove(group)
            groups.append(joined)
        return max(prod(space.shape(group)) for group in groups)

    @property
    def _of_bits(self) -> bool:
        """Whether every column has two codes, so that parities are measured."""
        return all(size == 2 for size in self.workload.space.shape(self.workload.columns))

    @cached_property
    def parts(self) -> Workload:
        """What is measured: parities of bits, otherwise the workload itself."""
        space = self.workload.space
        if not self._of_bits:
            return self.workload
        sets = {
            chosen
            for block in self.workload.blocks
            for width in range(1, len(block.columns) + 1)
            for chosen in combinations(sorted(block.columns, key=space.names.index), width)
        }
        ordered = sorted(sets, key=lambda one: (len(one), space.places(one)))
        return Workload(space, tuple(Parity(one, space.shape(one)) for one in ordered))

    def moves(self) -> Sensitivity:
        """Return how far the measured numbers move together."""
        own = 0 if self.people is not None else 1
        if isinstance(self.parts.blocks[0], Parity):
            count = self.parts.queries + own
            rows = Fraction(self.rows)
            return Sensitivity(count * rows, count * rows**2, rows, count)
        found = self.parts.sensitivity(self.relation, self.rows)
        more = own * self.rows
        return Sensitivity(
            found.l1 + more, found.l2_squared + more**2, max(found.largest, Fraction(more)), found.changed + own
        )

    def mechanism(self, spend: Bound, reads: Any, gaussians: Gaussians = "wide") -> AdditiveNoise:
        """Return the noise that a spend buys."""
        return calibrate(
            spend,
            self.moves(),
            draws=self.parts.queries,
            relation=self.relation,
            reads=reads,
            gaussians=gaussians,
        )

    def people_needed(self, mechanism: AdditiveNoise) -> int:
        """Return from how many people on noise moves no cell of a table by all of them, in 19 of 20 runs.

        A cell of bits is a mean of parities, each counted twice: what it moves by is at most twice the largest noise.
        """
        noise = mechanism.error(1 - FAILURE, coordinates=self.parts.queries)
        return (2 if self._of_bits else 1) * int(noise)

    def say_of_few(self, mechanism: AdditiveNoise) -> None:
        """Warn, where their number is public, that there are too few people for any table to be known."""
        say_of_few(
            "An error below 1 of every cell of the measured tables, as a share, in 19 of 20 runs",
            self.people_needed(mechanism),
            self.people,
            "Write method='auto', ask for fewer columns, or spend more. The fit has no bound of its own.",
        )

    def read(self, records: Records) -> Integers:
        """Return the exact numbers in one row, the number of rows last where it is private."""
        found = [*self.parts.answers(records)]
        return np.concatenate([*found, *([] if self.people is not None else [np.array([records.total])])])

    def total(self, noisy: NDArray[Any]) -> float:
        """Return the number of rows, public or noisy, at least 1."""
        return float(max(1, self.people if self.people is not None else int(noisy[-1])))

    def table(self, columns: tuple[str, ...], noisy: NDArray[Any]) -> Floats:
        """Return the noisy counts over some bits by the inverse transform; cells may be negative.

        A cell is the mean over all subsets S of the columns of (-1)^(ones of the cell in S) times the Fourier
        coefficient n - 2·odd(S), so that without noise the table is exact.
        """
        total = self.total(noisy)
        place = {frozenset(block.columns): at for at, block in enumerate(self.parts.blocks)}
        cells = np.indices((2,) * len(columns))
        table = np.full((2,) * len(columns), total)
        for width in range(1, len(columns) + 1):
            for axes in combinations(range(len(columns)), width):
                odd = float(noisy[place[frozenset(columns[axis] for axis in axes)]])
                table = table + (total - 2 * odd) * (1 - 2 * (cells[list(axes)].sum(axis=0) % 2))
        return np.asarray(table / 2 ** len(columns), dtype=np.float64)

    def model(self, noisy: NDArray[Any], noise: AdditiveNoise, fitting: Fitting = FITTED) -> Factored:
        """Return a distribution fitted to the noisy numbers by multiplicative updates."""
        total = self.total(noisy)
        candidates = Candidates(self.parts)
        space = self.workload.space
        groups = None if space.cells <= MOST_CELLS else [(name,) for name in space.names]
        known = {}
        shifted = candidates.flat(self._split(noisy), total)
        variance = noise.law.spread() / total**2
        for at in range(candidates.size):
            columns, query = candidates.query(at)
            mean = np.array([float(shifted[at]) / (total * candidates.width)])
            known[at] = Evidence(columns, query, mean, variance, np.zeros(1))
        return replayed(Factored.uniform(space, total, groups), known, fitting)

    def _split(self, noisy: NDArray[Any]) -> list[NDArray[Any]]:
        ends = np.cumsum([block.queries for block in self.parts.blocks])
        return [part.astype(np.float64) for part in np.split(noisy[: ends[-1]], ends[:-1])]
