"""Promises of the tables that synthetic data are fitted to: stacks of contrasts, and tables chosen after them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Noise
from sfumato.audit import Neighbours
from sfumato.model.refined import ColumnBins
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.questions.synthesis.adaptive import ChosenTables
from sfumato.questions.synthesis.check import CheckedTables
from sfumato.questions.synthesis.cuts import CutTables, Cutting
from sfumato.questions.synthesis.every_triple import EveryTriple
from sfumato.questions.synthesis.gather import gather
from sfumato.questions.synthesis.guarded import GuardedTables
from sfumato.questions.synthesis.looked import LookedTables, SecondLook
from sfumato.questions.synthesis.triples import TripleTables
from sfumato.table.schema import Schema
from sfumato.totals.tables.parts import Part
from sfumato.totals.tables.prices import price_added
from sfumato.totals.tables.stack import TableStack
from sfumato.workload import Records, Space
from sfumato.workload.records import Margins
from tests.imputed import integers
from tests.promises.case import PromiseCase

BITS = Space.of(Schema({"a": integers(0, 1), "b": integers(0, 1), "c": integers(0, 1)}))
MIXED = Space.of(Schema({"a": integers(0, 2), "b": integers(0, 1)}))
PAIRS_OF_BITS = ((0, 1), (0, 2), (1, 2))


def rows(space: Space, *codes: tuple[int, ...]) -> Records:
    return Records.from_rows(space, codes)


def replaced(space: Space) -> list[tuple[Records, Records]]:
    """Every change of one row, by symmetry from the first cell."""
    first, *others = product(*map(range, space.sizes))
    return [(rows(space, first), rows(space, other)) for other in others]


def parity(columns: tuple[int, ...], variance: Fraction) -> Part:
    return Part(columns, (2,) * len(columns), True, DiscreteGaussian(variance))


BIT_PAIRS = TableStack(parts=tuple(parity(pair, Fraction(1, 2)) for pair in PAIRS_OF_BITS), shown=("a", "b", "c"))
NAMED = replace(BIT_PAIRS, reads=frozenset("abc"))
CENTRED = TableStack(
    parts=(Part((0, 1), (3, 2), True, DiscreteGaussian(4)),),
    shown=("a", "b"),
)
MORE = TableStack(
    parts=(Part((), (), False, DiscreteGaussian(1)), parity((0,), Fraction(1, 2)), parity((0, 1), Fraction(1, 2))),
    shown=("a", "b", "c"),
    relation=ADD_REMOVE,
)
LAPLACE = TableStack(
    parts=tuple(Part(columns, (2,) * len(columns), True, DiscreteLaplace(2)) for columns in ((0,), (0, 1))),
    shown=("a", "b", "c"),
)
TWO_ROWS = TableStack(
    parts=(parity((0,), Fraction(2)), parity((0, 1), Fraction(2))), shown=("a", "b", "c"), rows=2, relation=ADD_REMOVE
)

MULTIPLIED = TableStack(
    parts=tuple(
        Part(columns, (2,) * len(columns), True, RoundedNormal(Fraction(4)), times)
        for columns, times in (((0,), 2), ((1,), 1), ((0, 1), 1))
    ),
    shown=("a", "b"),
    reads=frozenset("ab"),
)

CHOSEN = ChosenTables(
    stack=TableStack(
        parts=(Part((0,), (2,), True, DiscreteLaplace(Fraction(1, 2))),), shown=("a", "b", "c"), relation=ADD_REMOVE
    ),
    candidates=tuple(Part(pair, (2, 2), True, DiscreteLaplace(Fraction(1, 2))) for pair in PAIRS_OF_BITS),
    count=1,
    choice=Fraction(1),
    batches=1,
    total=8,
    relation=ADD_REMOVE,
)


def ones_and_pairs(*columns: tuple[int, ...], scale: int | Fraction = 2) -> TableStack:
    parts = tuple(Part(one, (2,) * len(one), one != (), DiscreteLaplace(scale)) for one in columns)
    return TableStack(parts=parts, shown=("a", "b", "c"), relation=ADD_REMOVE)


GUARDED = GuardedTables(
    first=ones_and_pairs(()),
    rich=ones_and_pairs((0, 1)),
    poor=ones_and_pairs((0,), scale=2),
    fewest=Fraction(2),
    relation=ADD_REMOVE,
)


# No table is chosen here, which another case does: what is told apart is which stack stands in for chosen tables.
INSTEAD = ChosenTables(
    stack=GuardedTables(
        first=ones_and_pairs((), scale=1),
        rich=ones_and_pairs((0, 1), scale=1),
        poor=ones_and_pairs((0,), scale=1),
        fewest=Fraction(2),
        relation=ADD_REMOVE,
    ),
    candidates=(Part((0, 1, 2), (2, 2, 2), True, DiscreteLaplace(1)),),
    count=0,
    choice=Fraction(0),
    batches=0,
    fallback=ones_and_pairs((1, 2), scale=1),
    poor=ones_and_pairs((1,), scale=1),
    fewest=Fraction(4),
    relation=ADD_REMOVE,
)


TWO_BITS = Space.of(Schema({"a": integers(0, 1), "b": integers(0, 1)}))
AGAIN = TableStack(
    parts=tuple(parity(columns, Fraction(2 ** len(columns))) for columns in ((0,), (1,), (0, 1))),
    shown=("a", "b"),
    relation=ADD_REMOVE,
)
LOOKED = LookedTables(
    first=replace(AGAIN, parts=(parity((0, 1), Fraction(1, 2)),)),
    second=SecondLook(AGAIN, Fraction(1), "discrete"),
    total=4,
    relation=ADD_REMOVE,
)


def unit_parities(*sets: tuple[int, ...]) -> TableStack:
    """Return parities with noise of variance 1 a centred cell, of which a run chooses some."""
    parts = tuple(parity(columns, Fraction(2 ** len(columns))) for columns in sets)
    return TableStack(parts=parts, shown=("a", "b", "c"), reads=frozenset("abc"))


# What comes before tells nothing of the second column, so that the batches are all that its change shows.
BATCHED = TripleTables(
    stack=replace(unit_parities((0,)), parts=(parity((0,), Fraction(1, 100)),)),
    units=unit_parities((2,), (1,)),
    again=SecondLook(unit_parities((1,), (1, 2)), Fraction(1), "discrete"),
    price=Fraction(6),
    noise="discrete",
    total=4,
    fewest=1,
    reads=frozenset("abc"),
)


UNCHOSEN = replace(BATCHED, units=unit_parities((1,)))


EVERY = EveryTriple(
    stack=BATCHED.stack,
    units=unit_parities((1,)),
    again=BATCHED.again,
    price=Fraction(4),
    noise="discrete",
    total=4,
    reads=frozenset("abc"),
)


CHECKED = CheckedTables(
    release=ones_and_pairs((0,), scale=1),
    lists=(((0,), (1,)),),
    models=1,
    spread=Fraction(1),
    noise="laplace",
    grid=1,
    total=4,
    relation=ADD_REMOVE,
)


THREE = Space.of(Schema({"a": integers(0, 2)}))


def _alone(size: int, scale: Fraction) -> TableStack:
    return TableStack(parts=(Part((0,), (size,), False, DiscreteLaplace(scale)),), shown=("a",), relation=ADD_REMOVE)


CUT = CutTables(
    mechanisms=(_alone(2, Fraction(1, 3)), _alone(3, Fraction(1, 3))),
    relation=ADD_REMOVE,
    cutting=Cutting(THREE, {"a": ColumnBins((0, 1, 2), (0, 1, 2), 3)}, {"a": 2}),
)


def counted(*counts: int) -> tuple[Margins, Margins]:
    """Return the tables of a column of three values, once for the bins and once for what lies inside."""
    found = Margins(THREE, {("a",): np.array(counts)})
    return found, found


class CutsByExactTables(CutTables):
    """Cuts where the exact people are."""

    def run(self, exact: Any, noise: Noise) -> Any:
        release, inside = self.mechanisms
        numbers = inside.run(exact[1], noise)
        cut = self.cutting.cut(inside, inside.exact(exact[1]))  # type: ignore[arg-type,attr-defined]
        return release.run(self.cutting.regrouped(exact[0], cut), noise), numbers


class NoiseOfOneTable(CheckedTables):
    """Makes noise for one table of a list: the sum over a list moves by as much as all of its tables."""

    def law(self, width: int) -> Any:
        return DiscreteLaplace(self.grid * self.spread)


class ChecksWithoutNoise(CheckedTables):
    """Chooses and states by exact distances."""

    def law(self, width: int) -> Any:
        return DiscreteLaplace(Fraction(1, 100))


class LooksByExactTables(LookedTables):
    """Decides by the exact tables what is looked at again."""

    def run(self, exact: Records, noise: Noise) -> Any:
        first = self.first.run(exact, noise)
        gathered = gather(self.first.parts, self.first.exact(exact), exact.space.sizes, self.total)
        return first, self.second.run(gathered, exact, noise)


class NoiseBeforeTheChoice(SecondLook):
    """Makes the noise for one-way tables and keeps it, whatever is taken."""

    def stack(self, ones: int, places: Any) -> TableStack:
        alone = super().stack(100, ()).parts[0].law.variance / 2  # type: ignore[attr-defined]
        taken = super().stack(ones, places)
        laws = [DiscreteGaussian(alone * part.scale()) for part in taken.parts]
        return replace(taken, parts=tuple(replace(p, law=law) for p, law in zip(taken.parts, laws, strict=True)))


class GoesOnByExactTables(TripleTables):
    """Decides by the exact tables whether a batch stands out."""

    def outstanding(self, residual: Any, part: Part, among: int) -> bool:
        return bool(self.__dict__["seen"])

    def run(self, exact: Records, noise: Noise) -> Any:
        object.__setattr__(self, "seen", exact.table(["b"])[1] > 0)
        return super().run(exact, noise)


class StandsByExactTables(EveryTriple):
    """Decides by the exact tables what is measured again."""

    def standing(self, stack: TableStack, numbers: Any, gathered: Any, exact: Any) -> tuple[int, ...]:
        return (0,) if exact.table(["b"])[1] > 0 else ()


class TakesTheWorst(TripleTables):
    """Takes the tables that the model gets most wrong, without noise."""

    def run(self, exact: Records, noise: Noise) -> Any:
        return super().run(exact, _Greedy(noise))


class MoneySpentTwice(SecondLook):
    """Gives a further look the money of the batches before it as well."""

    def stack(self, ones: int, places: Any) -> TableStack:
        return with_laws(super().stack(ones, places), Fraction(1, 2))


class CountsFirst(GuardedTables):
    """Chooses by the exact number of rows."""

    def run(self, exact: Records, noise: Noise) -> Any:
        first = self.first.run(exact, noise)
        if exact.total < self.fewest:
            return first, (), self.poor.run(exact, noise)
        return first, self.rich.run(exact, noise), ()


class CountsBeforeChoosing(ChosenTables):
    """Decides by the exact number of rows whether tables are chosen."""

    def drowns(self, total: float) -> bool:
        return self.__dict__["seen"] < self.fewest

    def run(self, exact: Records, noise: Noise) -> Any:
        object.__setattr__(self, "seen", exact.total)
        return super().run(exact, noise)


def with_laws(stack: TableStack, factor: Fraction) -> TableStack:
    """Return the stack with noise of another width."""
    changed = []
    for part in stack.parts:
        law: Any = part.law
        if isinstance(law, DiscreteLaplace):
            changed.append(replace(part, law=DiscreteLaplace(law.scale * factor)))
        else:
            changed.append(replace(part, law=DiscreteGaussian(law.variance * factor**2)))
    return replace(stack, parts=tuple(changed))


def multiplied_alike(stack: TableStack) -> TableStack:
    """Return integers that are all multiplied by the largest number, with noise for each by its own."""
    most = max(part.times for part in stack.parts)
    return replace(stack, parts=tuple(replace(part, times=most) for part in stack.parts))


def as_if_added(stack: TableStack) -> TableStack:
    """Return noise that would fit if people only came and went: the sensitivity of ADD_REMOVE under REPLACE_ONE."""
    ratio = price_added(stack.parts) / stack.person_price
    changed = [
        replace(part, law=DiscreteGaussian(part.law.variance * ratio))  # type: ignore[attr-defined]
        for part in stack.parts
    ]
    return replace(stack, parts=tuple(changed))


def unscaled(stack: TableStack) -> TableStack:
    """Return noise for real contrasts on integer ones: the product of the sizes is forgotten."""
    changed = [
        replace(part, law=DiscreteGaussian(part.law.variance / part.scale()))  # type: ignore[attr-defined]
        for part in stack.parts
    ]
    return replace(stack, parts=tuple(changed))


class ChoosesTheBest(ChosenTables):
    """Takes the candidate with the largest score, without noise."""

    def run(self, exact: Records, noise: Noise) -> Any:
        return super().run(exact, _Greedy(noise))


class _Greedy:
    """Noise whose choices are none."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def choose(self, scores: Any, rate: Any) -> int:
        return int(np.argmax(np.array(scores)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._noise, name)


class SteepScores(ChosenTables):
    """Weights four times as steep as what is paid for; D1, which is twice, is told apart by the cases of choices."""

    def run(self, exact: Records, noise: Noise) -> Any:
        steep = replace(self, choice=4 * self.choice)
        return ChosenTables.run(ChosenTables(**vars(steep)), exact, noise)


LINKED = ((0, 0, 0),) * 4 + ((0, 1, 0),) * 4
"""The first column and the last are always equal: their table is nearly certain to be chosen, until somebody differs."""
CLOSE = ((0, 0, 0), (1, 1, 1), (0, 1, 0))
"""Three tables of which two are equally far off: one row more decides between them."""
CASES = [
    PromiseCase(
        name="tables in bins that are cut by a released table",
        spec_ids=("PDP:C-7",),
        mechanism=CUT,
        pairs=[(counted(3, 2, 3), counted(3, 2, 4)), (counted(0, 0, 0), counted(1, 0, 0))],
        mutants={
            "cuts by exact tables": CutsByExactTables(**vars(CUT)),
            "half the noise in bins": replace(CUT, mechanisms=(_alone(2, Fraction(1, 6)), CUT.mechanisms[1])),
            "half the noise inside": replace(CUT, mechanisms=(CUT.mechanisms[0], _alone(3, Fraction(1, 6)))),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="a model compared with the data",
        spec_ids=("SY-CHECK",),
        mechanism=CHECKED,
        pairs=[(rows(BITS, *[(1, 1, 1)] * 3), rows(BITS, *[(1, 1, 1)] * 4))],
        mutants={
            "noise of one table of a list": NoiseOfOneTable(**vars(CHECKED)),
            "no noise": ChecksWithoutNoise(**vars(CHECKED)),
            "half the noise": replace(CHECKED, spread=Fraction(1, 2)),
        },
        tail=1e-3,
    ),
    PromiseCase(
        name="tables that a first look points to",
        spec_ids=("SY-LOOK", "SY-MU"),
        mechanism=LOOKED,
        pairs=[(rows(TWO_BITS, (0, 0)), rows(TWO_BITS, (0, 0), (0, 0)))],
        mutants={
            "half the noise": replace(LOOKED, second=SecondLook(AGAIN, Fraction(4), "discrete")),
            "decides by exact tables": LooksByExactTables(**vars(LOOKED)),
            "noise made before the choice": replace(
                LOOKED, second=NoiseBeforeTheChoice(AGAIN, Fraction(1), "discrete")
            ),
        },
        tail=1e-3,
        slow=True,
    ),
    PromiseCase(
        name="batches of tables as long as they stand out, and a further look",
        spec_ids=("SY-TRI", "SY-MU"),
        mechanism=BATCHED,
        pairs=[
            Neighbours(
                rows(BITS, (0, 0, 1), *[(0, 0, 0)] * 3),
                rows(BITS, (0, 0, 1), *[(0, 0, 0)] * 2, (0, 1, 0)),
                frozenset("b"),
            )
        ],
        mutants={
            "half the noise": replace(BATCHED, price=4 * BATCHED.price),
            "goes on by exact tables": GoesOnByExactTables(**vars(BATCHED)),
            "the worst without noise": TakesTheWorst(**vars(BATCHED)),
            "money spent twice": replace(
                BATCHED, again=MoneySpentTwice(BATCHED.again.units, BATCHED.again.price, "discrete")
            ),
        },
        tail=1e-3,
        slow=True,
    ),
    PromiseCase(
        name="all tables, those that stand out again, and a further look",
        spec_ids=("SY-TRI", "SY-MU"),
        mechanism=EVERY,
        pairs=[Neighbours(rows(BITS, *[(0, 0, 0)] * 4), rows(BITS, *[(0, 0, 0)] * 3, (0, 1, 0)), frozenset("b"))],
        mutants={
            "half the noise": replace(EVERY, price=4 * EVERY.price),
            "what stands out by exact tables": StandsByExactTables(**vars(EVERY)),
            "money spent twice": replace(
                EVERY, again=MoneySpentTwice(EVERY.again.units, EVERY.again.price, "discrete")
            ),
        },
        tail=1e-5,
    ),
    PromiseCase(
        name="all tables of a batch, and a further look",
        spec_ids=("SY-TRI", "SY-MU"),
        mechanism=UNCHOSEN,
        pairs=[Neighbours(rows(BITS, *[(0, 0, 0)] * 4), rows(BITS, *[(0, 0, 0)] * 3, (0, 1, 0)), frozenset("b"))],
        mutants={"half the noise": replace(UNCHOSEN, price=4 * UNCHOSEN.price)},
        tail=1e-6,
    ),
    PromiseCase(
        # The same law with so little left out that all of the claim is seen.
        name="tables that a first look points to, further out",
        spec_ids=("SY-LOOK", "SY-MU"),
        mechanism=LOOKED,
        pairs=[(rows(TWO_BITS), rows(TWO_BITS, (0, 0)))],
        tail=1e-4,
        long=True,
    ),
    PromiseCase(
        name="pairs only if the noisy number of rows allows",
        spec_ids=("PDP-GAUSS", "PDP:C-7"),
        mechanism=GUARDED,
        pairs=[(rows(BITS, (0, 0, 0)), rows(BITS, (0, 0, 0), (0, 0, 0))), (rows(BITS), rows(BITS, (1, 0, 1)))],
        mutants={
            "chooses by the exact number": CountsFirst(**vars(GUARDED)),
            "half the noise if few": replace(GUARDED, poor=with_laws(GUARDED.poor, Fraction(1, 2))),
            "half the noise if many": replace(GUARDED, rich=with_laws(GUARDED.rich, Fraction(1, 2))),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="nothing, pairs or single columns instead of chosen tables, by the noisy number of rows",
        spec_ids=("PDP-GAUSS", "QR-MWEM", "PDP:C-7"),
        mechanism=INSTEAD,
        pairs=[
            (rows(BITS), rows(BITS, (1, 0, 1))),
            (rows(BITS, *[(0, 0, 0)] * 3), rows(BITS, *[(0, 0, 0)] * 4)),
        ],
        mutants={
            "chooses by the exact number": CountsBeforeChoosing(**vars(INSTEAD)),
            "half the noise if few": replace(INSTEAD, poor=ones_and_pairs((1,), scale=Fraction(1, 2))),
            "half the noise if too few to choose": replace(
                INSTEAD, fallback=ones_and_pairs((1, 2), scale=Fraction(1, 2))
            ),
        },
        tail=1e-3,
        slow=True,
    ),
    PromiseCase(
        name="pair contrasts of bits, a row replaced",
        spec_ids=("PDP-GAUSS", "PDP:C-13"),
        mechanism=BIT_PAIRS,
        pairs=replaced(BITS),
        mutants={
            "half the noise": with_laws(BIT_PAIRS, Fraction(1, 2)),
            "sensitivity of a row more or less": as_if_added(BIT_PAIRS),
        },
        tail=1e-7,
        long=True,
    ),
    PromiseCase(
        name="pair contrasts of bits, one attribute",
        spec_ids=("PDP-GAUSS", "PDP:C-9"),
        mechanism=NAMED,
        pairs=[
            Neighbours(rows(BITS, (0, 0, 0)), rows(BITS, (1, 0, 0)), frozenset("a")),
            Neighbours(rows(BITS, (0, 0, 0)), rows(BITS, (0, 0, 1)), frozenset("c")),
            Neighbours(rows(BITS, (0, 0, 0)), rows(BITS, (1, 1, 0)), frozenset("ab")),
        ],
        mutants={"half the noise": with_laws(NAMED, Fraction(1, 2))},
        tail=1e-7,
    ),
    PromiseCase(
        name="centred integer tables of mixed sizes",
        long=True,
        spec_ids=("PDP-GAUSS",),
        mechanism=CENTRED,
        pairs=[(rows(MIXED, (0, 0)), rows(MIXED, (1, 0))), (rows(MIXED, (0, 0)), rows(MIXED, (0, 1)))],
        mutants={
            "half the noise": with_laws(CENTRED, Fraction(1, 2)),
            "real contrasts' noise on integer ones": unscaled(CENTRED),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="contrasts and the number of rows, a row more or less",
        long=True,
        spec_ids=("PDP-GAUSS",),
        mechanism=MORE,
        pairs=[(rows(BITS), rows(BITS, cell)) for cell in product((0, 1), repeat=3)],
        mutants={"half the noise": with_laws(MORE, Fraction(1, 2))},
        tail=1e-4,
    ),
    PromiseCase(
        name="parities with Laplace noise, a row replaced",
        spec_ids=("QR-BARAK", "PDP:C-14"),
        mechanism=LAPLACE,
        pairs=replaced(BITS)[1:4],
        mutants={"half the noise": with_laws(LAPLACE, Fraction(1, 2))},
        tail=1e-3,
    ),
    PromiseCase(
        name="contrasts that are multiplied to share one law, people and attributes",
        spec_ids=("SY-RES", "AC-GAUSS"),
        mechanism=MULTIPLIED,
        pairs=[
            (rows(TWO_BITS, (0, 0)), rows(TWO_BITS, (1, 1))),
            (rows(TWO_BITS, (0, 0)), rows(TWO_BITS, (0, 1))),
            Neighbours(rows(TWO_BITS, (0, 0)), rows(TWO_BITS, (1, 0)), frozenset("a")),
            Neighbours(rows(TWO_BITS, (0, 0)), rows(TWO_BITS, (0, 1)), frozenset("b")),
        ],
        mutants={
            "half the noise": replace(
                MULTIPLIED,
                parts=tuple(replace(part, law=RoundedNormal(Fraction(1))) for part in MULTIPLIED.parts),
            ),
            "all integers multiplied alike": multiplied_alike(MULTIPLIED),
            "noise of a row more or less": replace(
                MULTIPLIED,
                parts=tuple(
                    replace(part, law=RoundedNormal(4 * price_added(MULTIPLIED.parts) / MULTIPLIED.person_price))
                    for part in MULTIPLIED.parts
                ),
            ),
        },
        tail=1e-4,
    ),
    PromiseCase(
        name="contrasts of two rows a person",
        spec_ids=("PDP-GAUSS",),
        mechanism=TWO_ROWS,
        pairs=[(rows(BITS), rows(BITS, (0, 0, 0), (0, 0, 0))), (rows(BITS, (1, 1, 1)), rows(BITS, *[(1, 1, 1)] * 3))],
        mutants={"noise of one row": replace(TWO_ROWS, parts=with_laws(TWO_ROWS, Fraction(1, 2)).parts)},
        tail=1e-3,
    ),
    PromiseCase(
        name="a table chosen after a stack",
        spec_ids=("QR-MWEM", "QR-EM"),
        mechanism=CHOSEN,
        pairs=[(rows(BITS, *some, (0, 0, 1)), rows(BITS, *some)) for some in (LINKED, CLOSE)],
        mutants={
            "the best without noise": ChoosesTheBest(**vars(CHOSEN)),
            "weights four times as steep": SteepScores(**vars(CHOSEN)),
            "half the noise": replace(
                CHOSEN,
                stack=with_laws(CHOSEN.stack, Fraction(1, 2)),
                candidates=tuple(replace(part, law=DiscreteLaplace(Fraction(1, 4))) for part in CHOSEN.candidates),
            ),
        },
        tail=1e-6,
        long=True,
    ),
]
