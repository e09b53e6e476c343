"""Promises of frequent records: lists along trees of columns, counts of what was found, noise on every cell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato import EVERYTHING, Approximate, Pure, Schema
from sfumato.audit import Neighbours
from sfumato.noise import DiscreteLaplace
from sfumato.papers.private_learning.faithful_points import SanPoints
from sfumato.questions.popular import ColumnTree, HeavyHitters, PopularCounts, balanced, caterpillar, pure_points
from sfumato.select.heavy_cell import choosing
from sfumato.workload import Records, Space
from tests.imputed import booleans, integers
from tests.promises.case import PromiseCase
from tests.promises.printed.popular import AllLists, AlwaysPublished, AnyClips, ObservedOnly, printed_scale

Row = tuple[int, ...]


def bits(names: str) -> Space:
    return Space.of(Schema({name: booleans() for name in names}))


def moved(tree: ColumnTree, one: Row, two: Row, times: int, beside: list[Row]) -> Neighbours:
    """A record that occurs `times` times, one of which changes, beside others that do not."""
    space = tree.space
    names = frozenset(n for n, a, b in zip(space.names, one, two, strict=True) if a != b)
    first, second = [one] * times + beside, [one] * (times - 1) + [two, *beside]
    pair = Records.from_rows(space, first), Records.from_rows(space, second)
    return Neighbours(*pair, EVERYTHING if len(names) == len(space.names) else names)


def whole(pair: Neighbours) -> Neighbours:
    """The same neighbours as two worlds of a person, whose claim covers every change."""
    return Neighbours(pair.exact, pair.other)


def searched(tree: ColumnTree, scale: Any, thresholds: Row, clips: Row, **options: Any) -> AllLists:
    return AllLists(tree=tree, scale=Fraction(scale), thresholds=thresholds, clips=clips, **options)


def changed(mechanism: HeavyHitters, kind: type, **parts: Any) -> HeavyHitters:
    known = {name: getattr(mechanism, name) for name in ("tree", "scale", "thresholds", "clips", "most")}
    return kind(**{**known, **parts})


THREE = balanced(bits("abc"), cells=2)
FOUR = balanced(bits("abcd"), cells=2)
LINE = caterpillar(bits("abcd"), cells=2)
PAIR = balanced(bits("ab"), cells=2)
TERNARY = balanced(Space.of(Schema({"a": integers(0, 2), "b": booleans()})), cells=3)

# At counts of c + 1 above the highest clip, and with somebody who is frequent already, the certificate is attained.
LISTS = searched(THREE, 1, (2, 6), (1, 4), most=2)
FLAT = searched(TERNARY, 2, (3,), (1,), most=3)
# Who changes below both lower joins moves one string at the root: a count that shows most at the root shows next to
# nothing below it. With clips far apart that is no more than at one join alone, and both paths are paid in full.
WIDE = searched(FOUR, 1, (2, 8), (1, 6), most=1)
SPINE = searched(LINE, 1, (2, 5, 8), (1, 3, 6), most=1)
SEARCH = HeavyHitters(tree=PAIR, scale=Fraction(5, 2), thresholds=(2,), clips=(1,), most=2)
COUNTS = PopularCounts(hitters=SEARCH, scale=Fraction(5, 8))
ROUNDS = SanPoints(rounds=2, choice=choosing(Approximate(2, "1/4")), scale=Fraction(1, 2))
POINTS = replace(pure_points(Pure(2), 3), threshold=1)

CASES = [
    PromiseCase(
        name="lists along a tree of three columns, two levels",
        spec_ids=("PDP-HH",),
        mechanism=LISTS,
        pairs=[moved(THREE, (0, 0, 0), (1, 0, 0), times, [(1, 0, 1)] * 3) for times in (1, 2, 5)],
        mutants={
            "printed lambda = 3/eps for half of eps": replace(LISTS, scale=printed_scale(LISTS)),
            "clips that do not rise": changed(LISTS, AnyClips, clips=(1, 1)),
            "no clips": changed(LISTS, AnyClips, clips=(0, 0)),
            "one rejection not charged": replace(LISTS, scale=Fraction(1, 2)),
            "noise 5 % smaller": replace(LISTS, scale=LISTS.scale * Fraction(95, 100)),
            "only pairs that occur": changed(LISTS, ObservedOnly),
        },
    ),
    PromiseCase(
        name="lists over a column of three values, one level",
        spec_ids=("PDP-HH",),
        mechanism=FLAT,
        pairs=[
            moved(TERNARY, (0, 0), (2, 0), 2, [(2, 0)] * 3),
            moved(TERNARY, (1, 0), (1, 1), 2, [(1, 1)] * 3),
            moved(TERNARY, (0, 0), (2, 0), 1, [(2, 0)] * 3),
        ],
        mutants={
            "half the noise": replace(FLAT, scale=Fraction(1)),
            "only pairs that occur": changed(FLAT, ObservedOnly),
        },
    ),
    PromiseCase(
        name="lists along a tree of four columns, by the attributes that change",
        spec_ids=("PDP-HH",),
        mechanism=WIDE,
        pairs=[
            moved(FOUR, (0, 0, 0, 0), (1, 0, 0, 0), 7, [(1, 0, 0, 1)] * 3),
            moved(FOUR, (0, 0, 0, 0), (1, 0, 1, 0), 2, [(1, 0, 1, 0)] * 3),
            moved(FOUR, (0, 0, 0, 0), (1, 1, 1, 1), 2, [(1, 1, 1, 1)] * 3),
        ],
        mutants={
            "printed lambda = 3/eps for half of eps": replace(WIDE, scale=printed_scale(WIDE)),
            "only pairs that occur": changed(WIDE, ObservedOnly),
        },
    ),
    PromiseCase(
        name="lists along a caterpillar: one path for the whole record",
        spec_ids=("PDP-HH",),
        mechanism=SPINE,
        pairs=[
            moved(LINE, (0, 0, 0, 0), (1, 1, 1, 1), 7, []),
            whole(moved(LINE, (0, 0, 0, 0), (1, 0, 0, 0), 7, [(1, 0, 0, 1)] * 3)),
            moved(LINE, (0, 0, 0, 0), (1, 0, 0, 0), 7, [(1, 0, 0, 1)] * 3),
            moved(LINE, (0, 0, 0, 0), (1, 0, 0, 0), 1, [(1, 0, 0, 1)] * 3),
        ],
        mutants={
            "printed lambda = 3/eps for half of eps": replace(SPINE, scale=printed_scale(SPINE)),
            "no clips": changed(SPINE, AnyClips, clips=(0, 0, 0)),
        },
    ),
    PromiseCase(
        # A fifth for finding makes the printed noise visible; at three quarters and two columns it would pass.
        name="counts of the records that were found, a fifth of the spend for finding them",
        spec_ids=("PDP-HIST",),
        mechanism=COUNTS,
        pairs=[
            moved(PAIR, (0, 0), (1, 0), 2, [(1, 0)] * 30),
            moved(PAIR, (0, 0), (1, 1), 2, [(1, 1)] * 30),
        ],
        mutants={
            "printed Lap(2/eps) for half of eps: scale 1/eps2": replace(COUNTS, scale=Fraction(5, 16)),
            "half the noise in the search": replace(COUNTS, hitters=replace(SEARCH, scale=Fraction(5, 4))),
        },
        tail=1e-6,
        long=True,
    ),
    PromiseCase(
        name="noise on every cell with a pure bound, large ones published",
        spec_ids=("PL-SAN-POINT-PURE", "PL-SAN-KPOINT"),
        mechanism=POINTS,
        pairs=[({0: 2, 1: 1}, {0: 1, 1: 2}), ({0: 2, 1: 1}, {0: 2, 2: 1})],
        mutants={
            "cells that occur are always published": AlwaysPublished(
                noise=POINTS.noise, cells=POINTS.cells, threshold=POINTS.threshold
            ),
            "half the noise": replace(POINTS, noise=replace(POINTS.noise, law=DiscreteLaplace(Fraction(1, 2)))),
        },
        tail=1e-3,
    ),
    PromiseCase(
        # Choosing has cases of its own; here two rounds are seen to be charged, and the threshold to be needed.
        name="points chosen one after the other, two rounds",
        spec_ids=("PL-SAN-POINT",),
        mechanism=ROUNDS,
        pairs=[({0: 1}, {1: 1})],
        mutants={"threshold that one person passes": replace(ROUNDS, choice=replace(ROUNDS.choice, threshold=1))},
        tail=1e-6,
    ),
]
