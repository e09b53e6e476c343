"""The promises of robust halfspaces: one feature, several, the label, the person.

The instance of the features is one where the bound is attained: sixty people who decide between two halfspaces, and
one whose first feature flips. The instance of the label makes the choice so steep that it tells the response.
"""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from sfumato import Pure
from sfumato.audit import Neighbours
from sfumato.learn.facts import Sample
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice
from sfumato.papers.partial_dp.halfspace_classes import listed, ternary
from sfumato.privacy.coins import noise_weight
from tests.promises.case import PromiseCase
from tests.promises.printed.halfspaces import JumpingDistance, TrueLabels


def changed(kind: type, unchanged: Any) -> Any:
    return kind(**{part.name: getattr(unchanged, part.name) for part in fields(unchanged)})


def names(count: int) -> tuple[str, ...]:
    return tuple(f"x{place}" for place in range(count))


def flipped(row: list[int], *places: int) -> list[int]:
    return [1 - cell if place in places else cell for place, cell in enumerate(row)]


NINE = HalfspaceChoice(
    candidates=listed([[1] * 9, [-1] + [1] * 8]),
    cuts=(1,) * 9,
    inner=1,
    outer=6,
    rate=Fraction(1, 2),
    weight=None,
    features=names(9),
    target="y",
    reads=frozenset({*names(9), "y"}),
)


def many(*rows: tuple[list[int], int, int]) -> Sample:
    return Sample.of([row for row, _, _ in rows], [label for _, label, _ in rows], [count for _, _, count in rows])


def _features() -> list[PromiseCase]:
    most = [1] * 6 + [0] * 3
    crowd = (most, 1, 60)
    single = [
        Neighbours(many(crowd, (row, label, 1)), many(crowd, (flipped(row, 0), label, 1)), frozenset({"x0"}))
        for row in (most, [0] * 9, [1] * 9, [1, 1, 1, 1, 1, 0, 0, 0, 0])
        for label in (0, 1)
    ]
    # Both features bring the one halfspace nearer and take the other further away, each by two, beside a crowd that
    # the first one suits.
    crossed = replace(NINE, candidates=listed([[1] * 9, [-1] * 2 + [1] * 7]), outer=5)
    rest, suited = [1, 1, 1, 1, 1, 0, 0], ([1] * 9, 1, 60)
    pair = Neighbours(many(suited, ([1, 1, *rest], 1, 1)), many(suited, ([0, 0, *rest], 1, 1)), frozenset({"x0", "x1"}))
    label = Neighbours(many(crowd, ([1] * 9, 1, 1)), many(crowd, ([1] * 9, 0, 1)), frozenset({"y"}))
    opposite = replace(NINE, candidates=listed([[1] * 9, [-1] * 9]), outer=5)
    steep, steeper = (replace(one, rate=one.rate / Fraction(95, 100)) for one in (opposite, crossed))
    broken = {
        "half of the sensitivity": replace(NINE, rate=2 * NINE.rate),
        "distances that jump by two": changed(JumpingDistance, NINE),
    }
    return [
        PromiseCase("halfspace-one-feature", ("PDP-ROBERM", "PDP-HALF"), NINE, single, broken),
        PromiseCase("halfspace-sets", ("PDP-ROBERM",), crossed, [pair], {"5 % too steep": steeper}),
        PromiseCase("halfspace-label-alone", ("PDP-ROBERM",), opposite, [label], {"5 % too steep": steep}),
    ]


def _debiased() -> list[PromiseCase]:
    """Labels that are hardly ever turned round, so that nothing blurs the choice, and costs debiased by 3 to 1.

    With room inside (inner >= 1) a flip moves a cost by 3; without it, where the side changes, by 3 + 1.
    """
    inside = replace(NINE, own=3, other=1, weight=2, rate=Fraction(1, 6))
    outside = replace(inside, inner=0, rate=Fraction(1, 8))
    crowd = ([1] * 6 + [0] * 3, 1, 5)
    pairs = [
        Neighbours(many(crowd, (row, label, 1)), many(crowd, (flipped(row, 0), label, 1)), frozenset({"x0"}))
        for row in ([1] * 6 + [0] * 3, [1] * 5 + [0] * 4)
        for label in (0, 1)
    ]
    return [
        PromiseCase(
            "halfspace-debiased",
            ("PDP-ROBERM",),
            inside,
            pairs,
            {"sensitivity of plain costs": replace(inside, rate=3 * inside.rate)},
        ),
        PromiseCase(
            "halfspace-debiased-no-room",
            ("PDP-ROBERM",),
            outside,
            pairs,
            {"sensitivity of a cost with room inside": replace(outside, rate=Fraction(1, 6))},
        ),
    ]


def _labels() -> list[PromiseCase]:
    shape = HalfspaceChoice(
        candidates=ternary(2),
        cuts=(1, 1),
        inner=0,
        outer=1,
        rate=Fraction(30),
        weight=noise_weight(Pure(1).epsilon, 2),
        own=1,
        other=0,
        features=names(2),
        target="y",
        reads=frozenset({*names(2), "y"}),
    )
    pairs = [
        Neighbours(many((row, 0, 1)), many((row, 1, 1)), frozenset({"y"})) for row in ([0, 0], [0, 1], [1, 0], [1, 1])
    ]
    return [
        PromiseCase(
            "halfspace-label",
            ("PDP-ROBERM",),
            shape,
            pairs,
            {
                "half the coins": replace(shape, weight=shape.weight // 2),
                "labels themselves": changed(TrueLabels, shape),
            },
        )
    ]


CASES = [*_features(), *_debiased(), *_labels()]
