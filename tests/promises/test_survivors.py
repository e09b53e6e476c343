"""A claim that leaves something out is broken by the code that ships."""

from __future__ import annotations

from fractions import Fraction

from sfumato import audit
from sfumato.privacy import Cost
from sfumato.select.heavy_cell import new_weight
from tests.promises.cases_survivors import TEST


def test_a_choice_that_does_not_charge_the_delta_of_its_threshold_is_caught():
    person = TEST.loss().person
    pairs = [([1, 0], [0, 1])]
    assert audit.check(TEST, pairs, tail=Fraction(1, 10**40)).ok
    without = Cost.leaking(person.epsilon, new_weight(TEST.growth, TEST.rate, TEST.theta))
    assert not audit.check(TEST, pairs, claim=without, tail=Fraction(1, 10**40)).ok
