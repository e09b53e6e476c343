"""The promises of private choice, enumerated on tiny scores over all neighbours, and what must break them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato import ADD_REMOVE, Approximate, Concentrated, Pure, Truncated, select
from sfumato.papers import truncated_cdp
from sfumato.select.candidates import normalise
from sfumato.select.heavy_cell import new_weight
from sfumato.select.threshold import rare_level
from tests.promises.case import PromiseCase
from tests.promises.printed.choices import (
    FirstTies,
    FloatUniform,
    SeenOnly,
    changed,
)

Pairs = list[tuple[Any, Any]]


def around(*bases: tuple[int, ...], steps: tuple[int, ...] = (-1, 0, 1)) -> Pairs:
    """Return every base with every neighbour: each score moves by at most one."""
    found = [
        (list(base), [score + step for score, step in zip(base, moves, strict=True)])
        for base in bases
        for moves in product(steps, repeat=len(base))
    ]
    return [pair for pair in found if pair[0] != pair[1]]


def raised(*bases: tuple[int, ...]) -> Pairs:
    """Return every base with every neighbour that one more person makes: scores only rise."""
    return around(*bases, steps=(0, 1))


def by_winner(pairs: Pairs) -> Pairs:
    """Keep one pair for each combination of winners and leads, on which the law depends."""
    kept = {(normalise(one).winner, normalise(other).winner): (one, other) for one, other in pairs}
    return list(kept.values())


def _exponential() -> list[PromiseCase]:
    pick = select.exponential(Pure(1))
    double = select.exponential(Pure(1), sensitivity=2)
    counts = select.exponential(Pure(1), monotone=True, relation=ADD_REMOVE)
    zeros = [0] * 1000
    step = select.StepFunction([0, 3, 4], [0, 20, 1], end=6)
    return [
        PromiseCase(
            name="exponential",
            spec_ids=("QR-EM", "PL-EM", "TCDP-EXPMECH"),
            mechanism=pick,
            pairs=around((0, 9, 0), (2, 2, 2), (5, 0, 4)),
            mutants={
                "un-halved": replace(pick, rate=pick.rate * 2),
                "one tenth more": replace(pick, rate=pick.rate * 11 / 10),
            },
        ),
        PromiseCase(
            name="exponential-D1",
            spec_ids=("QR-EM",),
            mechanism=pick,
            pairs=[(zeros, [1] + [-1] * 999)],
            mutants={"un-halved (QR:D1)": replace(pick, rate=pick.rate * 2)},
        ),
        PromiseCase(
            name="exponential-sensitivity-2",
            spec_ids=("QR-EM",),
            mechanism=double,
            pairs=[([0, 20, 0], [2, 18, 0]), ([1, 1, 1], [3, -1, 3])],
            mutants={"sensitivity ignored": replace(double, rate=double.rate * 2)},
        ),
        PromiseCase(
            name="exponential-monotone",
            spec_ids=("QR-EM", "PL-EM"),
            mechanism=counts,
            pairs=raised((0, 9, 0), (2, 2, 2), (5, 0, 4)),
            mutants={"rate doubled again": replace(counts, rate=counts.rate * 2)},
        ),
        PromiseCase(
            name="exponential-steps",
            spec_ids=("QR-EM", "PL-EM"),
            mechanism=pick,
            pairs=[(step, select.StepFunction([0, 3, 4], [1, 19, 0], end=6)), (step, [0, 0, 0, 21, 1, 1])],
            mutants={"un-halved": replace(pick, rate=pick.rate * 2)},
        ),
    ]


def _permute_and_flip() -> list[PromiseCase]:
    pick = select.permute_and_flip(Pure(2))
    counts = select.permute_and_flip(Pure(2), monotone=True, relation=ADD_REMOVE)
    return [
        PromiseCase(
            name="permute-and-flip",
            spec_ids=("QR-EM",),
            mechanism=pick,
            pairs=[*around((3, 3), (0, 6)), ([1, 1, 1], [2, 0, 0]), ([0, 4, 4], [1, 3, 3])],
            mutants={
                "un-halved": replace(pick, rate=pick.rate * 2),
                "ties to the best": changed(FirstTies, pick),
            },
        ),
        PromiseCase(
            name="permute-and-flip-monotone",
            spec_ids=("QR-EM",),
            mechanism=counts,
            pairs=raised((3, 3), (0, 4), (0, 3)),
            mutants={"rate doubled again": replace(counts, rate=counts.rate * 2)},
        ),
    ]


def _stable() -> list[PromiseCase]:
    spend = Approximate(1, "0.001")
    pick = select.stable(spend)
    counts = select.stable(spend, monotone=True, relation=ADD_REMOVE)
    printed = replace(pick, scale=Fraction(1), threshold=7)  # (1/eps) ln(1/delta) = 6.9
    leads = [(lead, 0, 0) for lead in (0, 1, 2, 3, 6, 12, 15, 16, 17, 20)]
    return [
        PromiseCase(
            name="stable",
            spec_ids=("PL-ADIST",),
            mechanism=pick,
            pairs=[*around(*leads), ([1, 39, 52], [1, 38, 53]), ([0, 1, 2], [1, 1, 1])],
            mutants={
                "printed": printed,
                "threshold without g": replace(pick, threshold=pick.threshold - pick.gap_sensitivity),
                "gap sensitivity 1": counts,
                "half the noise": replace(pick, scale=pick.scale / 2),
                "one lower": replace(pick, threshold=pick.threshold - 1),
            },
        ),
        PromiseCase(
            name="stable-monotone",
            spec_ids=("PL-ADIST",),
            mechanism=counts,
            pairs=raised(*leads[:6]),
            mutants={"half the noise": replace(counts, scale=counts.scale / 2)},
        ),
        PromiseCase(
            name="stable-sparse",
            spec_ids=("PL-ADIST",),
            mechanism=pick,
            pairs=[
                (select.sparse({5: 1}, end=9), select.sparse({7: 1}, end=9)),
                (select.Unbounded({"a": 1}), select.Unbounded({"b": 1})),
                (select.Unbounded({"a": 2}), select.Unbounded({"a": 1, "b": 1})),
                (select.Unbounded({"a": 1}), select.Unbounded({})),
                (select.Unbounded({"b": 2}), select.Unbounded({"a": 1, "b": 1})),
            ],
            mutants={"candidates are those seen": changed(SeenOnly, pick)},
        ),
    ]


def _choosing() -> list[PromiseCase]:
    spend = Approximate(2, "0.02")
    pick = select.choosing(spend, growth=1)
    printed = replace(pick, scale=Fraction(2), rate=Fraction(1, 2), threshold=2)  # alpha·m/2 = 1.5
    # Most of the budget on the test, growth 50, scores near theta: here a wrong growth shows.
    wide = _wide(growth=50)
    crowds = [([heavy] + [1] * 50, [heavy] + [0] * 50) for heavy in range(2, wide.threshold + 2)]
    return [
        PromiseCase(
            name="choosing-six-people",
            spec_ids=("PL-CHOOSE",),
            mechanism=pick,
            pairs=_histograms(6),
            mutants={"printed threshold alpha·m/2 at alpha = 1/2": printed},
        ),
        PromiseCase(
            name="choosing-near-theta",
            spec_ids=("PL-CHOOSE",),
            mechanism=pick,
            pairs=[([heavy, 0, 1], [heavy, 0, 0]) for heavy in range(pick.threshold + 4)]
            + [([heavy, 1, 0], [heavy - 1, 2, 0]) for heavy in range(1, pick.threshold + 4)],
            mutants={"threshold without theta": replace(pick, threshold=pick.threshold - pick.theta)},
        ),
        PromiseCase(
            name="choosing-growth-50",
            spec_ids=("PL-CHOOSE",),
            mechanism=wide,
            pairs=crowds,
            mutants={
                "growth ignored": _wide(growth=1),
                "1/e2 instead of 2/e2": replace(wide, threshold=_wide(growth=50, steepness=2).threshold),
                "theta halved": replace(wide, threshold=wide.threshold - wide.theta // 2),
            },
        ),
    ]


def _histograms(people: int) -> Pairs:
    """Return all histograms of so many people in three cells, with all those in which one has moved."""
    cells = [
        [first, second, people - first - second] for first in range(people + 1) for second in range(people + 1 - first)
    ]
    return [
        (one, other)
        for place, one in enumerate(cells)
        for other in cells[:place]
        if sum(abs(x - y) for x, y in zip(one, other, strict=True)) == 2
    ]


def _wide(growth: int, steepness: int = 1) -> select.Choosing:
    """Return a choosing mechanism with nearly all of its budget on the test."""
    rate, scale, delta = Fraction(1, 4), Fraction(1, 6), Fraction(1, 50)
    theta = next(level for level in range(1, 200) if new_weight(growth, steepness * rate, level) <= delta)
    threshold = theta - 1 + rare_level(scale, delta)
    return select.Choosing(growth=growth, rate=rate, scale=scale, theta=theta, threshold=threshold)


def _ladder(pick: truncated_cdp.Obvious, rung: int) -> truncated_cdp.Obvious:
    """Return the same choice with one chance raised by two per cent (of itself or of its complement)."""
    chances = list(pick.chances)
    chance = chances[rung]
    chances[rung] = min(chance * 51 / 50, 1 - (1 - chance) * 49 / 50)
    return replace(pick, chances=tuple(chances))


def _obvious() -> list[PromiseCase]:
    leads = [(0, lead, 0, 0) for lead in range(7)] + [(3, 3, 3, 3), (1, 3, 0, 0), (0, 12, 12, 0), (0, 40, 0, 0)]
    pairs = by_winner(around(*leads))
    spends = {
        "pure": Pure(1),
        "concentrated": Concentrated("0.1"),
        "truncated": Truncated("0.1", "2.236"),
        "approximate": Approximate(1, "0.01"),
    }
    cases = []
    for name, spend in spends.items():
        pick = truncated_cdp.obvious(spend, candidates=4, failure="0.001")
        mutants = {
            "floor((gap + 1)/2)": replace(pick, start=-1),
            "first chance raised": _ladder(pick, 0),
            "third chance raised": _ladder(pick, 2),
            "gap sensitivity 1": replace(pick, unit=1),
        }
        if name == "pure":
            mutants["uniform draw by a float"] = changed(FloatUniform, pick)
        spec_ids = ("TCDP-OAM-OPT",)
        cases.append(PromiseCase(f"obvious-{name}", spec_ids, pick, pairs, mutants))
        curve = truncated_cdp.obvious(spend, candidates=4, method="noise", failure="0.001")
        broken = {"gap sensitivity 1": replace(curve, unit=1, start=1, chances=curve.chances[1::2])}
        # Only a coin is released: the printed curves reach half of what their noise costs under Rényi bounds.
        cases.append(PromiseCase(f"obvious-noise-{name}", ("TCDP-OAM",), curve, pairs, broken))
    counts = truncated_cdp.obvious(Pure(1), candidates=4, monotone=True, relation=ADD_REMOVE, failure="0.001")
    doubled = replace(counts, chances=counts.chances[1::2])
    rises = by_winner(raised(*leads))
    cases.append(PromiseCase("obvious-monotone", ("TCDP-OAM-OPT",), counts, rises, {"two rungs at once": doubled}))
    return cases


CASES = [
    *_exponential(),
    *_permute_and_flip(),
    *_stable(),
    *_choosing(),
    *_obvious(),
]
