"""The printed recursion to any depth (PL-REC with N of 3 or more): shows that it works, not that it pays."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.papers.enough_people import said_of_promise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Everything, Relation, attributes
from sfumato.select.exponential_choice import Exponential
from sfumato.select.fit import needs_delta, settle
from sfumato.select.quasiconcave.requirement import covering_requirement
from sfumato.select.quasiconcave.two_covers import (
    TwoCovers,
    covering_levels,
    covering_parts,
    promise_and_alpha,
)


def deep_covers(
    spend: Bound,
    size: int,
    depth: int,
    *,
    promise: Number,
    alpha: Number = "1/2",
    sensitivity: int = 1,
    failure: Number = 0.05,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Exponential | TwoCovers:
    """Return PL-REC of this depth for an Approximate spend; widths are chosen by the same recursion, one less deep.

    Needs eight times the promise for every level, and never wins below a domain of about 2^(e^100). Where the domain
    of a level is small, the recursion ends early and the rest of the spend is not used. It warns where the promise is
    too small for an answer within alpha of it, except with probability `failure`.

    >>> from sfumato import Approximate
    >>> pick = deep_covers(Approximate(1, 1e-6), 2**64, 3, promise=20000)
    >>> type(pick.level_choice).__name__, type(pick.level_choice.level_choice).__name__
    ('TwoCovers', 'Exponential')
    >>> pick.loss().person.epsilon
    Fraction(1, 1)
    """
    bound = needs_delta(spend, "papers.private_learning.deep_covers")
    levels = positive_integer(depth, "depth")
    if levels < 2:
        raise ParameterError("A depth of 1 is the exponential mechanism; write select.exponential(spend).")
    peak, part = promise_and_alpha(promise, alpha)
    parts = covering_parts(bound, levels, sensitivity, relation, attributes(reads))
    choice = settle(covering_levels(parts, positive_integer(size, "size"), levels, peak, part), bound)
    each, leak = bound.epsilon / (3 * levels - 2), bound.delta / (2 * (levels - 1))
    chance = float(between_zero_and_one(failure, "failure"))
    needed = sensitivity * covering_requirement(size, float(each), float(leak), chance, levels) / float(part)
    said_of_promise(needed, float(peak), "select.solve_quasiconcave(...)")
    return choice
