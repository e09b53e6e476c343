"""The methods for one distribution, each made ready from public facts and with the error that is predicted for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from sfumato.privacy import REPLACE_ONE, Bound, Concentrated, Truncated
from sfumato.questions.distribution.facts import (
    FAILURE,
    DistributionFacts,
    Knot,
    Option,
    gaussian_route,
    routes,
    share_of,
)
from sfumato.questions.distribution.medians import Cells, MedianTree, cells_of, leaf_mass, median_cells
from sfumato.questions.distribution.nodes import NodeTree, calm_threshold, drawn_at_most, levels_of
from sfumato.questions.distribution.widths import sum_width
from sfumato.questions.distribution.windows import RankWindows, rank_windows
from sfumato.select.fit import range_epsilon
from sfumato.totals.noisy import noise_on_grid
from sfumato.totals.rank_error import divided, measured, share_of_error

LEAST_LEVELS, MOST_LEVELS = 3, 12
"""Fewer cuts promise little less where nothing can be promised, and are much worse on most data."""
SHARES = tuple(Fraction(part, 10) for part in (5, 6, 7, 8, 9))
"""What part of the spend the medians may get; the counts get the rest."""
BRANCHINGS = (2, 4, 8, 16, 32, 64)
WINDOWS_FROM = 2**64
"""On smaller domains medians promised less error than windows wherever we looked, and planning windows is slow."""
FLAT = 4096
"""Up to so many codes every one of them may be counted at once."""


def flat_union(public: bool) -> int:
    """Return by how much the failure of all prefixes of independent symmetric draws exceeds that of their whole sum.

    By Lévy's inequality P[max |S_j| > t] <= 2·P[|S_k| > t]. With a public total the sums are taken from both ends up
    to the middle, which makes two such events of half as many draws.
    """
    return 4 if public else 2


def flat_knots(starts: Sequence[int], counts: Sequence[int], last: int, grid: int, rows: int | None) -> list[Knot]:
    """Return the knots of noisy counts of neighbouring cells; with a public total, counted from the nearer end."""
    sums = [0, *accumulate(counts)]
    edges, cells = [*starts, last + 1], len(counts)
    if rows is None:
        # One width for all prefixes: that of the whole sum.
        return [
            Knot(edge, below * grid, cells if place else 0)
            for place, (edge, below) in enumerate(zip(edges, sums, strict=True))
        ]
    half = (cells + 1) // 2
    found = [Knot(edges[0], 0, 0)]
    for place in range(1, cells):
        below = sums[place] * grid if place <= half else rows - (sums[-1] - sums[place]) * grid
        found.append(Knot(edges[place], below, half))
    return [*found, Knot(edges[-1], rows, 0)]


def _flat_width(facts: DistributionFacts, law: Any, grid: int, cells: int) -> float:
    """Return the width of all prefixes of so many cells, in rows, at the usual failure."""
    public = facts.public_rows is not None
    draws = (cells + 1) // 2 if public else cells
    return float(sum_width(law, draws, FAILURE / flat_union(public)) * grid * facts.moves.unit)


def medians(facts: DistributionFacts, bound: Bound, levels: int, share: Fraction) -> Option:
    """Return the medians of so many levels, with this share of the bound for choosing them."""
    counts, grid = noise_on_grid(share_of(bound, 1 - share), facts.moves, 2**levels)
    widest = range_epsilon(share_of(bound, share / levels))
    mechanism = MedianTree(
        first=facts.domain.first,
        last=facts.last,
        levels=levels,
        # Replaced inside of its range, a person moves a score by twice as much as one who comes or goes.
        epsilon=widest / 2 if facts.gauge.relation is REPLACE_ONE else widest,
        counts=counts,
        weight=facts.weight,
        grid=grid,
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )
    # 2u falls by two for each row that one side has too many.
    steepness = 2 * float(mechanism.rate) * facts.gauge.rule.scale
    leaf = leaf_mass(facts.rows, levels, facts.size, steepness, float(FAILURE))
    predicted = _flat_width(facts, counts.law, grid, median_cells(levels, facts.size)) + leaf

    def knots(raw: Cells) -> list[Knot]:
        starts = [low for low, _ in cells_of(raw.cuts, mechanism.first, mechanism.last)]
        return flat_knots(starts, raw.counts, mechanism.last, grid, facts.public_rows)

    union = {"union": Fraction(flat_union(facts.public_rows is not None)), "grid": Fraction(grid)}
    return Option("medians", mechanism, predicted, knots, union, counts.law)


def nodes(facts: DistributionFacts, bound: Bound, branching: int) -> Option:
    """Return the tree of noisy counts with so many parts a node; with as many parts as codes it is a histogram."""
    levels = levels_of(facts.size, branching)
    noise, grid = noise_on_grid(share_of(bound, Fraction(1, levels)), facts.moves, levels * (branching - 1))
    threshold = calm_threshold(noise.law, branching) if levels > 1 else 0
    mechanism = NodeTree(
        first=facts.domain.first,
        last=facts.last,
        branching=branching,
        levels=levels,
        threshold=threshold,
        noise=noise,
        grid=grid,
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )
    if levels == 1:
        union = flat_union(facts.public_rows is not None)
        predicted = _flat_width(facts, noise.law, grid, facts.size)
    else:
        union = drawn_at_most(levels, branching, -(-facts.most_rows * facts.gauge.rule.scale // grid), threshold)
        widest = sum_width(noise.law, levels * (branching - 1), FAILURE / union)
        leaf = threshold + sum_width(noise.law, 1, FAILURE / union)
        predicted = float((widest + leaf) * grid * facts.moves.unit)

    def knots(raw: Any) -> list[Knot]:
        if levels == 1:
            starts, _, counts = zip(*raw[0], strict=True)
            return flat_knots(starts, counts, mechanism.last, grid, facts.public_rows)
        return tree_knots(mechanism, raw, facts.public_rows)

    counted = {"union": Fraction(union), "grid": Fraction(grid)}
    return Option("tree" if levels > 1 else "histogram", mechanism, predicted, knots, counted, noise.law)


def tree_knots(tree: NodeTree, raw: Any, rows: int | None) -> list[Knot]:
    """Return a knot for the start of every node without parts: the sum of what stands left of its path.

    Whether a node is drawn depends on the nodes above it, and this sum on none of them, so that its noise is as likely
    as that of any sum of so many draws.
    """
    found, parents, total = [], [(tree.last, 0, 0)], Knot(tree.last + 1, rows or 0, 0)
    for level in raw:
        node, split = iter(level), []
        for high, before, drawn in parents:
            below, draws, end = before, drawn, None
            while end != high:
                start, end, noisy = next(node)
                if noisy > tree.threshold and start < end:
                    split.append((end, below, draws))
                else:
                    found.append(Knot(start, below * tree.grid, draws))
                below, draws = below + noisy, draws + 1
            if level is raw[0] and rows is None:
                total = Knot(tree.last + 1, below * tree.grid, draws)
        parents = split
    return [*sorted(found), total]


def windows(facts: DistributionFacts, bound: Concentrated | Truncated, ranks: int) -> Option | None:
    """Return so many interior points of windows of ranks, or nothing if there are too few people for them.

    How far off their ranks the points are is measured (MD-QBAR): much less than the radius on most data. Where what is
    left beside it is too little for so few people, the points get the whole spend and the radius is stated.
    """
    rows = facts.public_rows
    if rows is None or facts.size < 2:
        return None
    if facts.gauge.basis.rank_errors:
        chosen, part = divided(bound, share_of_error(ranks))
        assert isinstance(chosen, (Concentrated, Truncated))
        mechanism = _windows(facts, chosen, rows, ranks)
        if mechanism is not None:
            return _measured_windows(facts, mechanism, part, rows)
    mechanism = _windows(facts, bound, rows, ranks)
    if mechanism is None:
        return None
    return Option("windows", mechanism, _gap(mechanism, rows), mechanism.knots, _radius(mechanism))


def _windows(facts: DistributionFacts, bound: Concentrated | Truncated, rows: int, ranks: int) -> RankWindows | None:
    return rank_windows(
        bound,
        facts.domain.first,
        facts.size,
        people=rows,
        ranks=ranks,
        reads=facts.gauge.charged,
        gaussians=facts.gauge.gaussians,
    )


def _measured_windows(facts: DistributionFacts, mechanism: RankWindows, part: Bound, rows: int) -> Option:
    made = measured(mechanism, [Fraction(rank, rows) for rank in mechanism.ranks], part, facts.gauge)

    def points(raw: Sequence[int]) -> list[Knot]:
        return mechanism.knots(raw[:-1])

    return Option(
        "windows",
        made,
        _gap(mechanism, rows),
        points,
        _radius(mechanism),
        beside=lambda raw: (made.part(raw),),
    )


def _gap(mechanism: RankWindows, rows: int) -> float:
    widest = max(mechanism.ranks[0], rows - mechanism.ranks[-1], -(-rows // (len(mechanism.ranks) + 1)))
    return float(widest + 2 * mechanism.radius)


def _radius(mechanism: RankWindows) -> dict[str, Fraction]:
    return {"radius": Fraction(mechanism.radius), "failure": FAILURE}


def all_options(facts: DistributionFacts, spend: Bound, method: str) -> Iterator[Option]:
    """Yield every method at every setting that is worth a look, or one method only."""
    for bound in routes(spend):
        if method in ("auto", "medians"):
            yield from _medians(facts, bound)
        if method in ("auto", "tree", "histogram"):
            yield from _nodes(facts, bound)
    exact = gaussian_route(facts, spend)
    if exact is not None and method in ("auto", "tree", "histogram"):
        yield from _nodes(*exact)
    sharp = spend if isinstance(spend, Truncated) else routes(spend)[-1]
    asked = method == "windows" or (method == "auto" and facts.size > WINDOWS_FROM)
    if asked and isinstance(sharp, (Concentrated, Truncated)):
        for part in range(1, MOST_LEVELS):
            found = windows(facts, sharp, 2**part - 1)
            if found is None:
                return
            yield found


def _medians(facts: DistributionFacts, bound: Bound) -> Iterator[Option]:
    # More cuts than rows or codes make no sense.
    most = max(1, min(MOST_LEVELS, facts.size.bit_length(), (2 * facts.rows).bit_length() - 1))
    for levels in range(min(LEAST_LEVELS, most), most + 1):
        for share in SHARES:
            yield medians(facts, bound, levels, share)


def _nodes(facts: DistributionFacts, bound: Bound) -> Iterator[Option]:
    if facts.size <= FLAT:
        yield nodes(facts, bound, max(2, facts.size))
    for branching in BRANCHINGS:
        if branching < facts.size:
            yield nodes(facts, bound, branching)
