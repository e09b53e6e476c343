"""`Synopsize("tree", …)`: a tree that answers all conjunctions, or all disjunctions, of binary columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from sfumato.answer import NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, positive_integer
from sfumato.papers.enough_people import FAILURE, HALF, say_of_few
from sfumato.papers.query_release.learning.trees.coverage import Coverage
from sfumato.papers.query_release.learning.trees.planning import plan_tree
from sfumato.papers.query_release.learning.trees.release import Grown, TreeRelease
from sfumato.papers.query_release.learning.trees.synopsis import PREDICATES, TreeSynopsis, leaf_numbers
from sfumato.privacy import Bound
from sfumato.questions.synopsis.binary import Bits
from sfumato.questions.synopsis.methods import register
from sfumato.table.gauge import Basis
from sfumato.words import one_of


@dataclass(frozen=True)
class TreeOptions:
    """How a tree of binary columns is grown.

    A random query holds every column with the chance `chance`, one for all or one for each, or is one of the sets of
    exactly `width` columns. The tree branches on columns that still add more than `steepness` of all rows.
    `negations=True` lets conjunctions ask for zeros too.
    """

    predicate: str = "conjunction"
    width: int | None = None
    chance: Any = Fraction(1, 2)
    steepness: Number = Fraction(1, 10)
    most_leaves: int | None = None
    negations: bool = False

    def __post_init__(self) -> None:
        one_of("predicate", self.predicate, PREDICATES)
        if self.negations and self.predicate != "conjunction":
            raise ParameterError("negations=True is for conjunctions; leave it out, or write predicate='conjunction'.")
        if self.most_leaves is not None:
            positive_integer(self.most_leaves, "most_leaves")
        object.__setattr__(self, "steepness", above_zero(self.steepness, "steepness"))

    def about(self, bits: Bits, rows: int) -> Coverage:
        """Return the set function that is released."""
        if self.width is not None and positive_integer(self.width, "width") > len(bits):
            raise ParameterError(
                f"width is {self.width}, and there are only {len(bits)} binary columns; write a width from 1 to that."
            )
        size = len(bits) * (2 if self.negations else 1)
        return Coverage(size, self.chance, self.width, self.predicate == "conjunction", self.negations, rows=rows)


def tree(basis: Basis, spend: Bound, columns: tuple[str, ...] | None, options: Mapping[str, Any]) -> Prepared:
    """Prepare a tree from public facts (RL-TREE-RELEASE); all bounds, both relations.

    For uniform queries a Fourier synopsis is more accurate; a tree is for skewed chances, and to be looked at.
    """
    wanted = TreeOptions(**options)
    bits = Bits.of(basis.schema, columns)
    gauge = basis.gauge(bits.measure)
    mechanism = plan_tree(
        wanted.about(bits, gauge.rows),
        gauge.priced(spend),
        steepness=wanted.steepness,
        most_leaves=wanted.most_leaves,
        people=gauge.total,
        relation=gauge.relation,
        reads=gauge.charged,
    )
    _say_of_few(mechanism)

    def finish(grown: Grown) -> Released:
        values, spread = leaf_numbers(mechanism, grown)
        people = float(mechanism.divisor(grown.total))
        made = TreeSynopsis(bits.names, people, grown.tree, values, spread, wanted.predicate, wanted.negations)
        # Within a leaf a monotone submodular function from 0 to 1 has at most the variance of its steepness (RL:C10).
        error = min(0.5, math.sqrt(float(wanted.steepness) + float((spread[spread < math.inf] ** 2).mean())))
        measured = tuple(value for value in grown.values if value is not None)
        return Released((NoisyPart("leaves", measured, None),), made={"synopsis": made.to_json(), "error": error})

    return Prepared(gauge, mechanism, finish, bits.read, holds=bits.holds)


def people_needed(mechanism: TreeRelease, failure: float = FAILURE) -> int | None:
    """Return from how many people on the tree and the error of a random query are as the theorem says.

    The noise of the structure then stays below half of the steepness in all tests: elements that are free in a leaf
    move a share by at most 3/2 of it, and fewer than 2/steepness elements are inside (RL-TREE with marginals that are
    known up to so much). And that variance with the noise of a leaf stays below 1/4 (RL:C10), the square of what the
    answer 1/2 to everything has. None where no number of people does it.
    """
    about, steep = mechanism.about, float(mechanism.steepness)
    room = 1 / 4 - (3 / 2 if mechanism.probe else 1) * steep
    if room <= 0:
        return None
    structure = 0.0
    if mechanism.probe is not None:
        tests = mechanism.most_leaves * about.size * (len(mechanism.ladder) + 1)
        threshold, query = float(mechanism.probe.threshold_scale), float(mechanism.probe.query_scale)
        noise = threshold * math.log(2 / failure) + query * math.log(2 * tests / failure)
        structure = noise / (steep / 2)
    share = Fraction(1, mechanism.most_leaves)
    leaf = mechanism.law_of(share).deviation() / float(about.value_step)
    return math.ceil(max(structure, leaf / math.sqrt(room)))


def _say_of_few(mechanism: TreeRelease) -> None:
    steep = float(mechanism.steepness)
    say_of_few(
        f"That columns which are free in a leaf move a share by at most {1.5 * steep:.2g}, in 19 of 20 runs, and that "
        "a random query is off by less than 1/2, which the answer 1/2 to everything is at most,",
        people_needed(mechanism),
        mechanism.people,
        f"Write fewer than these most_leaves={mechanism.most_leaves}, spend more, or method='auto', which needs far "
        "fewer people."
        if steep < 1 / 6
        else "Write a steepness= below 1/6.",
        HALF,
    )


register("tree", tree, tuple(part.name for part in fields(TreeOptions)))
