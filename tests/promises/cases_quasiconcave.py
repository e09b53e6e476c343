"""The promises of quasi-concave choices, over whole paths on tiny domains, nearly all of the budget on one part.

With the budget shared out evenly, basic composition is so loose that the printed stable choice stays within the sum;
so each part has a case in which it holds nearly all of it. Windows are shrunk so that a domain of four to seven
candidates has several.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato import Approximate, Concentrated, Pure, select
from sfumato.errors import AccuracyWarning
from sfumato.noise import DiscreteGaussian
from sfumato.papers.private_learning.general_interior import general_interior
from sfumato.select.quasiconcave import HeaviestCell, InteriorPoint, ShiftedWindows, TwoCovers
from sfumato.select.quasiconcave.interior_point import NODE_MOVES
from tests.promises.case import PromiseCase
from tests.promises.printed.quasiconcave import LevelOnly, WholePath, with_rate

DELTA = "0.02"
TAIL = 1e-5
"""At 1e-4 the end test with sensitivity 1 would hide in what is left out."""
TIE = ([0, 0, 0, 0, 0, 0, 2], [1, 1, 1, 1, 1, 1, 1])
"""The last window leads by two, then all are tied and the first is meant: it may be named with delta at most."""


def comb(teeth: int) -> tuple[list[int], list[int]]:
    """Return a tie of single high candidates far above those between them, so that the narrowest width is certain.

    The last tooth leads by two, in every window that holds it, then all are tied: of each stable choice all of its delta
    is seen, and nothing of it is lost to other widths.
    """
    last = 2 * teeth - 2
    lead = [(103 if place % 2 == 0 else -97) + 2 * (place == last) for place in range(last + 1)]
    tied = [104 if place % 2 == 0 else -97 for place in range(last + 1)]
    return lead, tied


PEAK = ([0, 0, 7, 0, 0], [1, 1, 6, 1, 1])
"""The lead falls by two in one step."""
EDGE = ([0, 6, 3, 4], [1, 5, 4, 3])
"""Two widths trade places: the score of one rises by one, that of the other falls by one."""
INSIDE = ([30, 33, 0, 0], [31, 32, 0, 0])
"""A clear window, in which two candidates trade places."""


def shifted(level: str, window: str, point: str, crossing: int, factor: int) -> ShiftedWindows:
    return ShiftedWindows(
        level_choice=select.exponential(Pure(level)),
        window_choice=select.stable(Approximate(window, DELTA)),
        point_choice=select.exponential(Pure(point)),
        crossing=crossing,
        factor=factor,
    )


def lapse(choice: Any, part: str, **changes: Any) -> WholePath:
    """Return the whole path of the choice with a changed stable choice."""
    return WholePath(inner=replace(choice, **{part: replace(getattr(choice, part), **changes)}))


def printed(choice: Any, part: str) -> WholePath:
    """Return the whole path with A_dist as printed: noise of scale 1/e against ln(1/delta)/e."""
    scale = getattr(choice, part).scale / 2
    return lapse(choice, part, scale=scale, threshold=2)  # (1/2)·ln(50) = 1.96 at e = 2


def case(
    name: str, spec: str, inner: Any, pairs: list[Any], mutants: dict[str, Any], long: bool = False, tail: float = TAIL
) -> PromiseCase:
    return PromiseCase(name, (spec,), WholePath(inner=inner), pairs, mutants, tail=tail, long=long)


def _shifted() -> list[PromiseCase]:
    on_window = shifted("0.1", "2", "0.1", crossing=2, factor=1)
    on_level = shifted("2", "0.5", "0.1", crossing=3, factor=2)
    on_point = shifted("0.1", "0.5", "2", crossing=3, factor=4)
    threshold = on_window.window_choice.threshold
    return [
        case(
            "shifted-windows-window",
            "PL-REC2",
            on_window,
            [TIE, PEAK],
            {
                "printed A_dist": printed(on_window, "window_choice"),
                "noise of scale 1/e2": lapse(on_window, "window_choice", scale=Fraction(1, 2)),
                "threshold one lower": lapse(on_window, "window_choice", threshold=threshold - 1),
            },
        ),
        case(
            "shifted-windows-level",
            "PL-REC2",
            on_level,
            [EDGE, comb(4)],
            {"level exponent e1·q": WholePath(inner=with_rate(on_level, "level_choice", 2))},
            long=True,
        ),
        case(
            "shifted-windows-point",
            "PL-REC2",
            on_point,
            [INSIDE, comb(4)],
            {"point exponent e3·q": WholePath(inner=with_rate(on_point, "point_choice", 2))},
            long=True,
        ),
    ]


def covers(level: str, first: str, second: str, point: str) -> TwoCovers:
    return TwoCovers(
        level_choice=select.exponential(Pure(level)),
        first_choice=select.stable(Approximate(first, DELTA)),
        second_choice=select.stable(Approximate(second, DELTA)),
        point_choice=select.exponential(Pure(point)),
        low=2,
        high=4,
        block=2,
    )


def _covers() -> list[PromiseCase]:
    on_first = covers("0.1", "2", "1", "0.1")
    on_second = covers("0.1", "1", "2", "0.1")
    on_level = covers("3", "1", "1", "0.1")
    return [
        case(
            "two-covers-first",
            "PL-REC",
            on_first,
            [PEAK, comb(3)],
            {"noise of scale 1/e": lapse(on_first, "first_choice", scale=Fraction(1, 2))},
        ),
        case(
            "two-covers-second",
            "PL-REC",
            on_second,
            [PEAK, comb(3)],
            {"noise of scale 1/e": lapse(on_second, "second_choice", scale=Fraction(1, 2))},
            long=True,
        ),
        case(
            "two-covers-level",
            "PL-REC",
            on_level,
            [EDGE, comb(3)],
            {"level exponent e·q": WholePath(inner=with_rate(on_level, "level_choice", 2))},
            long=True,
            tail=1e-6,  # what is left out counts e^5.1 times against what is seen
        ),
    ]


def interior(bits: int, level: str, node: str, end: str, low: int, high: int) -> InteriorPoint:
    """Return an interior point with these variances of node and end, and this rho for the level."""
    return InteriorPoint(
        bits=bits,
        level_choice=select.exponential(Concentrated(level)),
        node_choice=HeaviestCell(law=DiscreteGaussian(node), moves=NODE_MOVES),
        end_law=DiscreteGaussian(end),
        low=low,
        high=high,
    )


def _interior() -> list[PromiseCase]:
    on_end = interior(3, "0.02", "2", "1", low=0, high=1)
    on_level = interior(2, "1", "3", "8", low=0, high=2)
    on_node = interior(1, "0.02", "1/2", "8", low=0, high=1)
    half = replace(on_node.node_choice, law=DiscreteGaussian("1/8"))
    return [
        case(
            "interior-point-end",
            "TCDP-IP",
            on_end,
            [((0,), (7,))],
            {"end test with sensitivity 1": WholePath(inner=replace(on_end, end_law=DiscreteGaussian("1/4")))},
            long=True,
        ),
        case(
            "interior-point-level",
            "TCDP-IP",
            on_level,
            [((0, 0), (0, 1))],
            {"level exponent e1·q": WholePath(inner=with_rate(on_level, "level_choice", 2))},
            long=True,
        ),
        case(
            "interior-point-node",
            "TCDP-IP",
            on_node,
            [((0,), (1,)), ((0, 0), (0, 1))],
            {"half the noise on nodes": WholePath(inner=replace(on_node, node_choice=half))},
        ),
    ]


def _general() -> list[PromiseCase]:
    # The rises 1, 20, 20, 20 become 0, 20, 22, 19 while f moves by one: the worst pair of 34 people, all
    # listed, has this form; here it is larger, so that one level is nearly certain.
    rising = select.StepFunction(range(5), [0, 1, 21, 41, 61], 5)
    bent = select.StepFunction(range(5), [0, 0, 20, 42, 61], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # 61 people are enough for a law, not for an answer
        choice = general_interior(Concentrated(4), last=4, total=61)
    return [
        PromiseCase(
            "general-interior-level",
            ("TCDP-GIP-REC",),
            LevelOnly(inner=choice),
            [(rising, bent)],
            {
                "stretch ignored": LevelOnly(inner=with_rate(choice, "level_choice", 10)),
                "5 % too steep": LevelOnly(inner=with_rate(choice, "level_choice", Fraction(20, 19))),
            },
        )
    ]


CASES = [*_shifted(), *_covers(), *_interior(), *_general()]
