"""Noise 5 % smaller than is stated is caught, in every mechanism: what a reach of 0.97 promises, on mutants that are made.

Claims without a leak only: where a threshold keeps a leak small, smaller noise makes that leak smaller still, and what it
costs in epsilon may stay within what the leak forgives. There the mutants that lower a threshold by one say more.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from sfumato import audit
from sfumato.audit.branching import BranchingNoise
from sfumato.mechanism import Interaction, Promise
from sfumato.noise import Noise
from tests.promises.case import PromiseCase
from tests.promises.exemptions import listed
from tests.promises.found import every_case
from tests.promises.smaller import SmallerNoise, smaller

COINS = {
    "Client", "HadamardResponse", "Hashtogram", "LabelResponse", "LinearHash", "LocalHash", "MeanResponse", "Obvious",
    "PaperSketch", "PureReport", "Response", "UnaryEncoding", "VectorResponse",
}  # fmt: skip
"""These toss coins of given chances, and draw from no law: their cases have mutants with other coins."""
IN_PARTS = {"AllLists"}
"""Its noise is drawn in parts, by how many cells are beyond a point; its case has a mutant of 95 % of the scale."""
LONG = {
    "AgnosticRelease", "ChosenTables", "GuardedTables", "MedianRows", "MedianTree", "MultiplicativeWeights",
    "NoisyWorkload", "PopularCounts",
}  # fmt: skip


def _reached() -> dict[str, list[PromiseCase]]:
    """Return the cases that reach their claim, by the class of their mechanism, long ones last."""
    exempt = {case for case, _ in listed()}
    found: dict[str, list[PromiseCase]] = defaultdict(list)
    for case in every_case():
        if case.name not in exempt and case.mechanism.loss().person.leak == 0:
            found[type(case.mechanism).__name__].append(case)
    return {kind: sorted(cases, key=lambda case: case.long) for kind, cases in found.items()}


REACHED = _reached()


def _tosses_coins_only(mechanism: Promise, exact: object) -> bool:
    """Tell by one run whether there is any noise to make smaller."""
    mutant, noise = smaller(mechanism), Noise(insecure_seed=1)
    if isinstance(mutant, Interaction):
        mutant.start(noise)
    else:
        mutant.run(exact, noise)
    return not mutant.seen


def _caught(case: PromiseCase) -> bool:
    mutant, claim = smaller(case.mechanism), case.mechanism.loss()
    return any(not audit.check(mutant, [pair], claim, tail=case.tail, paths=case.paths).ok for pair in case.pairs)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.audit if kind in LONG or REACHED[kind][0].long else ())
        for kind in sorted(set(REACHED) - COINS - IN_PARTS)
    ],
)
def test_noise_that_is_five_per_cent_smaller_is_caught(kind):
    assert any(map(_caught, REACHED[kind]))


def test_only_coins_are_left_alone():
    for kind in COINS & set(REACHED):
        case = REACHED[kind][0]
        pair = case.pairs[0]
        exact = pair.exact if isinstance(pair, audit.Neighbours) else pair[0]
        assert _tosses_coins_only(case.mechanism, exact), kind


def test_every_primitive_of_an_audit_is_handed_on():
    draws = {"uniform", "bernoulli", "bernoulli_exp", "draw", "choose", "permutation", "subset"}
    assert draws == {name for name in draws if name in vars(BranchingNoise) and name in vars(SmallerNoise)}
