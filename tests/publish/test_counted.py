"""Tables of counts and sums that are worked out at once are those that the answer itself shows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import ADD_REMOVE, Cost, Count, Event, GroupBy, Loss, Mean, Sum
from sfumato.answer import Answer, Released
from sfumato.answer.measured import NoisyPart
from sfumato.noise import DiscreteLaplace, RoundedNormal
from sfumato.publish.counted import counted

NUMBERS = (0, 1, -1, 2048, 2047, 2049, -2048, 6144, 10**15, -(10**15) - 1, 150, 300)
CELLS = tuple((number, "a") for number in range(len(NUMBERS)))
LAWS = [DiscreteLaplace(Fraction(10)), RoundedNormal(Fraction(10**7)), None]


def answer(aggregates, law, unit, keys=("count", "page"), threshold=None):
    names = {name for one in aggregates for name in one.names if name != "cells of pay"}
    parts = tuple(NoisyPart(name, NUMBERS, law, unit, threshold) for name in sorted(names))
    facts = {f"{end} of pay": Fraction(value) for end, value in (("low", 0), ("high", 10), ("center", 5))}
    loss = Loss.flat(Cost.pure(1), relation=ADD_REMOVE)
    return Answer(
        GroupBy(keys, aggregates), Released(parts, keys, CELLS, facts), loss, Event("Test", "QR-LAP"), {}, False
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 4096), Fraction(1, 300), Fraction(7, 3)])
def test_every_number_is_the_one_that_the_answer_shows(law, unit):
    found = answer((Count(), Sum("pay")), law, unit)
    made, own = counted(found), found.frame
    assert made.keys == own.keys and list(made.columns) == list(own.columns)
    for name, cells in own.columns.items():
        assert made[name] == cells and [type(cell) for cell in made[name]] == [type(cell) for cell in cells]
    assert dict(made.unknown) == dict(own.unknown) and made.vouched == own.vouched


def test_what_only_the_answer_knows_is_left_to_it():
    assert counted(answer((Count(), Mean("pay")), LAWS[0], Fraction(1))) is None
    assert counted(answer((Count(),), LAWS[0], Fraction(1), threshold=20)) is None
