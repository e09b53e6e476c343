"""How much of its promise a conversation uses: long talks, exact, and what less noise would do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato import Approximate, audit
from sfumato.questions.conversation import ApproximateChecking, Guesses, pay_as_you_go
from tests.promises.printed.choices import changed
from tests.promises.printed.conversations import EndlessChecking, NarrowChecking
from tests.questions.conversation.streams import Stream, worst_delta


def test_rounds_compose_within_delta_and_mutants_do_not() -> None:
    """QR-PMW test (a): 500 queries, 3 corrections; each round enumerates the code that ships."""
    spend, rounds = Approximate("1/2", "1/100"), 500
    paid = pay_as_you_go(spend, 3)
    checking = ApproximateChecking(
        updates=3, threshold=2 * paid.scale, scale=paid.scale, delta=spend.delta, miss=paid.miss
    )
    level = checking.threshold
    values = [round(part * level) for part in (0.3, 0.7, 0.9, 1.0)]
    assert worst_delta(checking, 0.5, values, 3, rounds) <= 0.001
    narrow = replace(checking, scale=max(3, paid.scale // 8))
    assert worst_delta(narrow, 0.5, values[2:], 3, rounds) > 0.01
    far = level + 4 * checking.scale
    assert Stream(checking, far).delta(0.5, 3, 120) <= 0.001
    assert Stream(changed(EndlessChecking, checking), far).delta(0.5, 120, 120) > 0.01


def test_closed_form_agrees_with_the_whole_enumeration() -> None:
    checking = ApproximateChecking(updates=1, threshold=12, scale=6, delta=Fraction(1, 5), miss=Fraction(1, 10))
    talks = [[Guesses((value,), (0,))] * 5 for value in (12, 13)]
    first, second = (audit.law_of_interaction(checking, talk, 1e-9) for talk in talks)
    whole = audit.hockey_stick(first, second, "1/10").lower
    assert Stream(checking, 12).delta(0.1, 1, 5) == pytest.approx(whole, rel=1e-4)


def test_twenty_corrections_reach_three_tenths_of_delta_and_a_fifth_of_the_noise_breaks_it() -> None:
    """Of all that is claimed the largest part is reached where epsilon is 0: delta is then a total variation."""
    checking = ApproximateChecking(updates=20, threshold=20, scale=10, delta=Fraction(4, 5), miss=Fraction(1, 25))
    assert checking.loss().person.epsilon == 0
    both = [Stream(checking, *pair).delta(0, 20, 80) for pair in ((20, 21), (21, 20))]
    assert 0.3 <= max(both) / 0.8 <= 1
    less = replace(changed(NarrowChecking, checking), part=Fraction(1, 5))
    assert Stream(less, 20).delta(0, 20, 80) > 0.8


def test_two_fifths_of_the_noise_break_the_promise_of_a_hundred_corrections() -> None:
    """The proof asks for 1.8 times the noise that is needed at best, so that half of it may just keep the promise."""
    spend = Approximate(2, "1/100")
    paid = pay_as_you_go(spend, 100)
    checking = ApproximateChecking(
        updates=100, threshold=2 * paid.scale, scale=paid.scale, delta=spend.delta, miss=paid.miss
    )
    less = replace(changed(NarrowChecking, checking), part=Fraction(2, 5))
    assert Stream(checking, checking.threshold).delta(2, 100, 400) <= 0.01
    assert Stream(less, checking.threshold).delta(2, 100, 400) > 0.01
