"""A list asked at once has as little noise as its exact total allows (AC-PLAN), and its whole spend is accepted."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow
import pytest

from sfumato import Approximate, Event, Schema, curate
from sfumato.curator import planning
from sfumato.curator.planning import planned
from sfumato.domain import integers
from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.ledger import Budget, Ledger
from sfumato.noise import RoundedNormal
from sfumato.perturb import AdditiveNoise
from sfumato.privacy.even_parts import EvenPart, even_part
from sfumato.privacy.fixed_list import FixedList
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.pairs import GaussPair, Leak, TwoPoint
from sfumato.questions import Count
from sfumato.table.gauge import Basis
from tests.replay.questions import every_question
from tests.replay.worlds import worlds

WORLD = worlds()[0]
QUESTIONS = every_question(WORLD.schema)
COUNT, GROUPS, MEDIAN = QUESTIONS["Count(where)"], QUESTIONS["Histogram"], QUESTIONS["Quantiles auto"]
LEAKY = QUESTIONS["Histogram private text"]
LIMITS = [Approximate(1, "1e-6"), Approximate(3, "1e-6"), Approximate("1/2", "1e-5")]
EACH = [LIMITS[0], *(pytest.param(limit, marks=pytest.mark.audit) for limit in LIMITS[1:])]
"""One limit in the gate, all of them in the audit: exact totals of medians take seconds."""
NOW = Basis(WORLD.schema, 400, gaussians="rounded")
EVENLY = Basis(WORLD.schema, 400, gaussians="rounded", exact_lists=False)


def laws(asked):
    return [one.mechanism.mechanisms[0].law for one in asked.prepared]


@pytest.mark.parametrize("spend", EACH, ids=str)
@pytest.mark.parametrize("length", [30, 200])
def test_counts_share_one_gaussian(spend, length):
    """Their noise is that of the whole spend's Gaussian, a part each: (1 + 1e-8) k/M, and half of what it was."""
    found = laws(planned(NOW, [COUNT] * length, spend))
    assert all(isinstance(law, RoundedNormal) for law in found)
    whole = gaussian_m(spend.epsilon, spend.delta)
    assert all(law.variance <= length / whole * (1 + Fraction(1, 10**8)) for law in found)
    before = laws(planned(EVENLY, [COUNT] * length, spend))
    assert all(law.deviation() ** 2 < 0.72 * old.deviation() ** 2 for law, old in zip(found, before, strict=True))


def test_a_short_list_keeps_the_simple_noise():
    for length in (2, 5):
        assert laws(planned(NOW, [COUNT] * length, LIMITS[0])) == laws(planned(EVENLY, [COUNT] * length, LIMITS[0]))


LISTS = {
    "counts": [COUNT] * 40,
    "groups": [GROUPS] * 10,
    "with medians": [COUNT, GROUPS, MEDIAN, COUNT] * 4,
    "with keys that are found": [GROUPS, LEAKY] * 8,
    "medians": [MEDIAN] * 12,
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", EACH, ids=str)
def test_the_whole_budget_is_accepted_for_every_list(name, limit):
    asked = planned(NOW, LISTS[name], limit)
    with Ledger(None, Budget(limit)) as ledger:
        ledger.reserve("list", Event("List", "PDP:C-7"), asked.losses(limit))
        assert ledger.verify()
        if name != "medians":  # choices are known by a curve as well, and fit twice
            with pytest.raises(BudgetExceeded):
                ledger.reserve("again", Event("List", "PDP:C-7"), asked.losses(limit))
    assert _stated(asked.total(limit)) <= limit.epsilon


def _stated(text):
    return Fraction(text.split("at most epsilon ")[1].split(" ")[0])


def dominated(asked, spend):
    """Return the exact epsilon of a list from what each of its questions states for itself: never from its part."""
    parts = []
    for one in asked.prepared:
        cost = one.loss().person
        amount = cost.gauss.at(Fraction(0))
        if cost.leak == 0 and not isinstance(cost.epsilon, Fraction):
            parts.append((1, GaussPair(amount)))
        else:
            parts += [(1, TwoPoint(cost.epsilon)), (1, Leak(cost.leak))] if cost.leak else [(1, TwoPoint(cost.epsilon))]
    return FixedList.of(parts).epsilon(spend.delta)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("spend", EACH, ids=str)
def test_the_exact_total_of_what_runs_is_within_the_spend(name, spend):
    assert dominated(planned(NOW, LISTS[name], spend), spend) <= spend.epsilon


@pytest.mark.parametrize("name", ["counts", "groups", "with medians", "with keys that are found"])
def test_a_part_that_was_not_proved_is_caught(name, monkeypatch):
    """Mutants: parts of a fiftieth more, and parts as if each kind were alone in the list."""
    spend = LIMITS[0]

    def wider(spend, gaussian, others):
        part = even_part(spend, gaussian, others)
        more = Fraction(102, 100)
        other = Approximate(part.other.epsilon * more, part.other.delta)
        return EvenPart(type(part.gaussian)(part.gaussian.rho * more**2), other)

    def alone(spend, gaussian, others):
        return even_part(spend, max(gaussian // 2, 1), others // 2 if others > 1 else others)

    for mutant in (wider, alone):
        monkeypatch.setattr(planning, "even_part", mutant)
        asked = planned(NOW, LISTS[name], spend)
        assert dominated(asked, spend) > spend.epsilon
        monkeypatch.undo()


def test_gaussians_that_cost_more_than_their_part_are_not_offered():
    """A question that answers a Gaussian part with other noise is not in the proof of the list."""
    wide = Basis(WORLD.schema, 400, gaussians="discrete")
    found = laws(planned(wide, [COUNT] * 40, LIMITS[0]))
    assert found == laws(planned(EVENLY, [COUNT] * 40, LIMITS[0])), "discrete noise has no Gaussian charge"


@pytest.mark.parametrize(("gaussian", "others"), [(10, 0), (0, 10), (0, 300), (30, 30), (3, 1), (1, 3), (99, 1)])
@pytest.mark.parametrize("spend", EACH, ids=str)
def test_parts_are_certified_and_nearly_all_of_the_spend(gaussian, others, spend):
    part = even_part(spend, gaussian, others)
    scale = math.sqrt(2 * part.gaussian.rho)
    parts = [(gaussian, GaussPair(2 * part.gaussian.rho))] if gaussian else []
    if others:
        parts += [(others, TwoPoint(part.other.epsilon)), (others, Leak(part.other.delta))]
        assert scale == pytest.approx(float(part.other.epsilon))
    total = FixedList.of(parts).epsilon(spend.delta)
    assert spend.epsilon * Fraction(998, 1000) <= total <= spend.epsilon


def test_lists_that_cost_nothing_and_a_single_paid_question():
    free, spend = QUESTIONS["Count()"], LIMITS[0]
    assert planned(NOW, [free, free], spend).loss().person.is_zero
    assert planned(NOW, [free, free], Approximate(0, "1e-6")).loss().person.is_zero
    assert planned(NOW, [COUNT, COUNT], Approximate(10**4, "1e-6")).loss().person.epsilon_at("1e-6") <= 10**4
    found = planned(NOW, [free, COUNT, free], spend)
    assert found.prepared[1].loss() == planned(NOW, COUNT, spend).prepared[0].loss()


def test_a_question_twice_in_a_list_is_charged_and_drawn_twice():
    rows = pyarrow.table({"age": [20, 30, 40, 50] * 200})
    with curate(rows, Schema({"age": integers(0, 99)}), LIMITS[0]) as curator:
        answers = curator.ask([Count("age > 30")] * 30, LIMITS[0])
        assert len({answer.value for answer in answers}) > 1
        again = curator.ask([Count("age > 30")] * 30, LIMITS[0])  # the same list is free
        assert [answer.value for answer in again] == [answer.value for answer in answers]
        with pytest.raises(BudgetExceeded):
            curator.ask([Count("age > 30")] * 31, LIMITS[0])
        assert curator.ledger.verify()


def test_a_list_that_dies_while_it_is_drawn_stays_charged(monkeypatch):
    rows = pyarrow.table({"age": [20, 30, 40, 50] * 200})
    with curate(rows, Schema({"age": integers(0, 99)}), LIMITS[0]) as curator:
        run, drawn = AdditiveNoise.run, []

        def breaks(self, exact, noise):
            drawn.append(exact)
            if len(drawn) == 20:
                raise RuntimeError("in the middle of a list")
            return run(self, exact, noise)

        monkeypatch.setattr(AdditiveNoise, "run", breaks)
        with pytest.raises(SfumatoError):
            curator.ask([Count("age > 30")] * 30, LIMITS[0])
        monkeypatch.undo()
        assert curator.ledger.spent().percent == 100
        with pytest.raises(BudgetExceeded):
            curator.ask([Count("age > 40")] * 30, LIMITS[0])
        assert curator.ledger.verify()
