"""One noise for all queries of a workload, and what it costs a person and every set of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced
from sfumato.perturb import AdditiveNoise
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, PerAttribute
from sfumato.privacy.combined import Minimum
from sfumato.privacy.profile import ByCount, Cover, Flat, Profile
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.gauge import Gauge
from sfumato.workload.blocks import Marginal, OneCell, Parity
from sfumato.workload.moves import counted, fitted_noise, repeated
from sfumato.workload.records import Tabled
from sfumato.workload.workload import Workload

MOST_PARTS = 2_000
"""So many blocks are charged one by one; more are charged by what each attribute moves."""


@dataclass(frozen=True, kw_only=True)
class NoisyWorkload(Mechanism):
    """All exact integers of a workload plus independent noise of one law.

    Promise, with D_J the difference of the stacked integers of neighbours that differ in the attributes J:
    discrete Laplace noise costs epsilon(J) = |D_J|_1/scale, discrete Gaussian noise rho(J) = |D_J|_2²/(2·variance),
    and sinh-normal noise the sum of its curve over the coordinates that move. For tables of counts under
    REPLACE_ONE, |D_J|_2² is twice the number of tables that show something of J.

    `rows` is how many rows a person may have; people who change an attribute keep their rows one by one.

    Input: `Records`. Output: one array of integers for each block. Spec: PDP-GAUSS, PDP:C-10, PDP:C-13, QR-LAP. Time:
    one pass over the distinct rows for each set of columns, one draw a query.
    """

    spec: ClassVar[str] = "PDP-GAUSS"

    workload: Workload
    law: Priced
    rows: int = 1

    def run(self, exact: Tabled, noise: Noise) -> tuple[NDArray[np.int64], ...]:
        """Count, then add one independent draw to each number."""
        answers = self.workload.answers(exact)
        drawn = noise.draw(self.law, sum(map(len, answers)))
        ends = np.cumsum([len(part) for part in answers])[:-1]
        draws = np.split(np.asarray(drawn, dtype=np.int64), ends)
        return tuple(saturating_sum(part, draw) for part, draw in zip(answers, draws, strict=True))

    def loss(self) -> Loss:
        """Return the promise for the person and for every set of attributes."""
        return Loss(self._profile(), self.relation)

    def event(self) -> Event:
        """Return the law with its parameters, the workload, and who may learn what."""
        parameters = {
            "law": self.law.described(),
            "workload": self.workload,
            "rows": self.rows,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.law.spec, parameters, self.version)

    def cost(self, moves: Sensitivity) -> Cost:
        """Return what the noise costs for integers that move so far."""
        return AdditiveNoise(law=self.law, sensitivity=moves).loss().person if moves.l1 else Cost.zero()

    def error(self, confidence: Number = 0.95) -> int:
        """Return the half-width within which the noise of all queries together lies with this confidence."""
        coordinates = self.workload.queries
        return AdditiveNoise(law=self.law, sensitivity=counted(1)).error(confidence, coordinates=coordinates)

    def _profile(self) -> Profile:
        person = self.cost(self.workload.sensitivity(self.relation, self.rows))
        if isinstance(self.reads, Everything):
            return Flat(person, self.reads)
        counts = self._by_count()
        if counts is not None:
            return counts
        whole: Profile = Flat(person, self.reads)
        if self.relation is REPLACE_ONE:
            singles = self.workload.by_attribute(self.rows)
            if singles:
                whole = PerAttribute(tuple((name, self.cost(moves)) for name, moves in singles.items()), person)
        if len(self.workload.blocks) > MOST_PARTS:
            return whole
        cover = self._cover()
        if self._tables_only() and cover.at(EVERYTHING) == person:
            return cover
        return Minimum((cover, whole))

    def _cover(self) -> Cover:
        """Blocks are independent: those that show something of what changes add up (PDP:C-10)."""
        found: dict[frozenset[str], Cost] = {}
        for block in self.workload.blocks:
            reads = self.workload.space.reads(block.columns)
            moves = block.added() if self.relation is not REPLACE_ONE else block.replaced((True,) * len(block.shape))
            if self.rows > 1:
                moves = moves.cover(block.added())
            found[reads] = found.get(reads, Cost.zero()) + self.cost(repeated(moves, self.rows))
        # What shows public columns only moves with whole people; charging it to every attribute is a bound.
        return Cover(tuple((reads or EVERYTHING, cost) for reads, cost in found.items() if not cost.is_zero))

    def _tables_only(self) -> bool:
        space = self.workload.space
        return all(isinstance(block, Marginal) and space.reads(block.columns) for block in self.workload.blocks)

    def _by_count(self) -> Profile | None:
        """Return costs by the number of attributes that change, where all sets of one width are asked for.

        Needs one row a person, one kind of block, and columns that each show an attribute of their own: several rows of
        a person add up in one coordinate, where Gaussian noise costs their square.
        """
        if self.rows > 1:
            return None
        space, blocks = self.workload.space, self.workload.blocks
        width, kind = len(blocks[0].columns), type(blocks[0])
        names = self.workload.columns
        shown = space.reads(names)
        alike = kind in (Marginal, OneCell, Parity) and all(
            type(block) is kind and len(block.columns) == width for block in blocks
        )
        every = len({frozenset(block.columns) for block in blocks}) == len(blocks) == comb(len(names), width)
        if not (alike and every and len(shown) == len(names) and self._equal_blocks(kind)):
            return None
        one = blocks[0].added() if self.relation is not REPLACE_ONE else blocks[0].replaced((True,) * width)
        unit = self.cost(one)
        costs = []
        order = [attribute for attribute in space.attributes if attribute in shown]
        for changed in range(1, len(names) + 1):
            moving = frozenset(order[:changed]) if changed < len(names) else EVERYTHING
            moves = self.workload.sensitivity(self.relation, self.rows, moving)
            # Coordinates have noise of their own: so many blocks cost so many times what one does.
            costs.append(int(moves.l1 / one.l1) * unit)
        return ByCount(tuple(costs), shown)

    def _equal_blocks(self, kind: type[object]) -> bool:
        """Tell whether all blocks of a kind move alike: any table does, bits with the same sign and value do."""
        blocks = self.workload.blocks
        if kind is Parity:
            return len({block.signed for block in blocks if isinstance(block, Parity)}) == 1
        if kind is OneCell:
            return all(
                set(block.cell) == {1} and set(block.shape) == {2} for block in blocks if isinstance(block, OneCell)
            )
        return True


def noisy_workload(gauge: Gauge, spend: Bound, workload: Workload) -> NoisyWorkload:
    """Return the noise with the smallest error that fits a spend for all queries of a workload together."""
    person = workload.sensitivity(gauge.relation, gauge.rows)
    if not person.l1:
        raise ParameterError(
            "Every query of this workload has the same value for everybody, so that its answer is the number of people "
            "or nothing; leave out columns of one value."
        )
    singles = workload.by_attribute(gauge.rows) if gauge.relation is REPLACE_ONE else {}
    law, reads = fitted_noise(gauge, spend, person, singles, workload.queries)
    return NoisyWorkload(workload=workload, law=law, rows=gauge.rows, relation=gauge.relation, reads=reads)
