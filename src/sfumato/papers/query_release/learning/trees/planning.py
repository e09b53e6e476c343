"""From a spend to a tree: how much the structure and the leaves get, and how finely leaves are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, between_zero_and_one, positive_integer
from sfumato.papers.query_release.learning.trees.coverage import Coverage
from sfumato.papers.query_release.learning.trees.declared import SAMPLED, Declared, PrivateFunction
from sfumato.papers.query_release.learning.trees.grow import ladder
from sfumato.papers.query_release.learning.trees.release import LEAST, TreeRelease
from sfumato.papers.query_release.weights.planning import COUNT_SHARE, Amount, amounts
from sfumato.papers.query_release.weights.rounds import rows_move
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Concentrated, Everything, Pure, Relation, attributes
from sfumato.select import SparseVector, sparse_vector
from sfumato.select.fit import positive_spend, settle

MOST_LEAVES = 64
UNKNOWN_LEAVES = 16
"""The default number of leaves where the number of people is not public."""

FINEST, COARSEST = 16, 4
WIDEST = 2**29
"""Noise of more steps than this is not drawn."""


def plan_tree(
    about: Coverage | Declared,
    spend: Bound,
    *,
    steepness: Number,
    most_leaves: int | None = None,
    people: int | None = None,
    structure: Number = Fraction(1, 2),
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> TreeRelease:
    """Return the tree that a spend buys; `people` is None where the number of rows is not public.

    `structure` is the share of the spend for growing the tree, the rest buys the means of its leaves. An approximate
    spend is used as epsilon or as rho, whichever makes the noise of the leaves smaller.
    """
    bound = positive_spend(spend, "tree")
    steep = above_zero(steepness, "steepness")
    part = between_zero_and_one(structure, "structure")
    found = []
    for amount in amounts(bound):
        counted, count_law = amount, None
        if isinstance(about, Coverage) and people is None:
            count_law = amount.part(COUNT_SHARE).law(rows_move(about.rows))
            counted = amount.part(1 - COUNT_SHARE)
        leaves = most_leaves_of(most_leaves, counted, people)
        budget = counted if leaves == 1 else counted.part(1 - part)
        placed = _placed(about, budget, leaves)
        mechanism = TreeRelease(
            about=placed,
            most_leaves=leaves,
            steepness=steep,
            probe=None if leaves == 1 else _probe(placed, counted.part(part), leaves, relation, attributes(reads)),
            pure=amount.pure,
            leaf_budget=budget.size,
            people=people,
            count_law=count_law,
            ladder=tuple(ladder(steep, _top(about)))[:-1],
            relation=relation,
            reads=attributes(reads),
        )
        found.append((_width(budget, leaves), mechanism))
    return settle(min(found, key=lambda pair: pair[0])[1], bound)


def _top(about: Coverage | Declared) -> Fraction:
    """Return more than which no element adds."""
    return Fraction(1) if isinstance(about, Coverage) else about.high - about.low


def most_leaves_of(given: int | None, amount: Amount, people: int | None) -> int:
    """Return how many leaves a tree may have: what was asked for, or a number that noise does not drown."""
    if given is not None:
        return positive_integer(given, "most_leaves")
    if people is None:
        return UNKNOWN_LEAVES
    epsilon = float(amount.size) if amount.pure else math.sqrt(2 * amount.size)
    return max(1, min(MOST_LEAVES, math.ceil(math.sqrt(epsilon * people) / 4)))


def _width(budget: Amount, leaves: int) -> float:
    """Return about how wide the noise of an even share is, in units of what a person moves."""
    if budget.pure:
        return math.sqrt(2) * leaves / float(budget.size)
    return math.sqrt(leaves / (2 * float(budget.size)))


def _placed(about: Coverage | Declared, budget: Amount, leaves: int) -> Coverage | Declared:
    """Write values as finely as the widest noise allows."""
    moves = Fraction(about.rows) if isinstance(about, Coverage) else about.sensitivity
    widest = _width(budget, 2 * LEAST * leaves) * float(moves)
    finest = max(COARSEST, min(FINEST, math.floor(math.log2(WIDEST / max(widest, 1e-9)))))
    if isinstance(about, Coverage):
        return replace(about, grid=1 << finest)
    # Parts must also be small beside the sensitivity: each rounding may add one of them to it.
    return replace(about, steps=1 << max(finest, math.ceil(-math.log2(float(moves))) + 10))


def _probe(about: Coverage | Declared, amount: Amount, leaves: int, relation: Relation, reads: Any) -> SparseVector:
    spend: Bound = Pure(amount.size) if amount.pure else Concentrated(amount.size)
    return sparse_vector(
        spend,
        leaves - 1,
        about.marginal_move,
        monotone=about.monotone(relation),
        relation=relation,
        reads=reads,
    )


def set_function_tree(
    function: PrivateFunction,
    size: int,
    spend: Bound,
    *,
    sensitivity: Number,
    steepness: Number = Fraction(1, 10),
    low: Number = 0,
    high: Number = 1,
    marginal_sensitivity: Number | None = None,
    monotone: bool = True,
    chances: Any = Fraction(1, 2),
    most_leaves: int = 16,
    samples: int = SAMPLED,
    seed: int = 0,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> TreeRelease:
    """Return a private tree for any set function f(data, sets) of which a person moves no value beyond `sensitivity`.

    See `Declared` for what the declaration must cover. Best for submodular functions, for which adding an element to
    a larger set adds less: then the leaves are few. Random sets hold each element with its own one of `chances`.

    >>> from sfumato import Noise, Pure
    >>> def covered(rows, sets):  # the share of 1000 people who like one of the chosen things
    ...     return (rows[None, :, :] & sets[:, None, :]).any(axis=2).mean(axis=1)
    >>> import numpy as np
    >>> rows = np.zeros((1000, 4), bool)
    >>> rows[:700, 2] = True
    >>> tree = set_function_tree(covered, 4, Pure(1), sensitivity="1/1000", most_leaves=3)
    >>> from sfumato.papers.query_release.learning.trees import tree_synopsis
    >>> synopsis = tree_synopsis(tree, tree(rows, Noise(insecure_seed=1)))
    >>> [round(float(share), 1) for share in synopsis.answer([[1, 1, 0, 0], [0, 0, 1, 0]])]
    [0.0, 0.7]
    """
    if not isinstance(monotone, bool):
        raise ParameterError("monotone must be True or False.")
    about = Declared(
        function=function,
        size=size,
        sensitivity=above_zero(sensitivity, "sensitivity"),
        low=low,  # type: ignore[arg-type]
        high=high,  # type: ignore[arg-type]
        marginal_sensitivity=marginal_sensitivity,  # type: ignore[arg-type]
        monotone_function=monotone,
        chances=chances,
        samples=samples,
        seed=seed,
    )
    return plan_tree(
        about, spend, steepness=steepness, most_leaves=most_leaves, people=None, relation=relation, reads=reads
    )
