"""Accounting with one thing broken: each mutant of AC-GAUSS, AC-GDP, AC-FIRST, AC-PLAN and AC-SAMPLE dies in a test.

Mutants of the ledger and of costs are made here and must fail the test that is named. `ELSEWHERE` names those that other
tests make by themselves.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.exact import Infinity, rational_ball
from sfumato.ledger import journal, lifecycle, rules, statements
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger.amounts import sums_from_text, sums_to_text
from sfumato.privacy import Cost, fixed_list, loss_distribution, settlement
from sfumato.privacy.filters import Filter, Meter, gauss_route, order_route
from sfumato.privacy.gauss import UNKNOWN_GAUSS, Exactly, Randomized
from sfumato.privacy.pairs import GaussPair, Revealed
from sfumato.privacy.settlement import settled
from tests.ledger import test_first, test_lists
from tests.privacy import test_fixed_list, test_gauss

first_that_fits = rules._first_that_fits


def _with_reserve(patch, reserve_of):
    """Charge pure releases beside a reserve that is not the one fixed with the first question."""

    def moved(rule, used, offers, charges):
        if rule.settled:
            sums = sums_from_text(used)
            split = len(rule.gate.required)
            routes = tuple(
                replace(meter, reserve=reserve_of(meter, sums[split + place])) if meter.kind == "gauss" else meter
                for place, meter in enumerate(rule.gate.routes)
            )
            rule = replace(rule, gate=Filter(rule.gate.required, routes))
        return first_that_fits(rule, used, offers, charges)

    patch.setattr(rules, "_first_that_fits", moved)


def reserve_taken_from_what_is_left(patch):
    _with_reserve(patch, lambda meter, used: meter.reserve + meter.ceiling - used)


def charged_again_beside_a_larger_reserve(patch):
    _with_reserve(patch, lambda meter, used: meter.reserve * (3 if used else 1))


def ceiling_not_reduced_by_the_reserve(patch):
    def whole(epsilon, delta, reserve):
        meter = gauss_route(epsilon, delta, reserve)
        return None if meter is None else replace(meter, ceiling=meter.ceiling + meter.reserve)

    patch.setattr(settlement, "gauss_route", whole)


def pure_releases_charged_by_their_square(patch):
    patch.setattr(Randomized, "at", lambda self, reserve: self.epsilon**2)


def gaussians_and_the_order_each_with_all_of_delta(patch):
    def gate(self, limit):
        routes = [
            None if self.at is None else order_route(limit.epsilon, self.at, limit.delta),
            gauss_route(limit.epsilon, limit.delta, self.reserve),
        ]
        first = Meter("epsilon", limit.epsilon)
        return Filter((Meter("leak", self.leaks * limit.delta),), (first, *(route for route in routes if route)))

    patch.setattr(settlement.Shares, "gate", gate)


def settled_by_the_second_request(patch):
    """The first question is taken by all of delta, and the next one divides it as it likes."""

    def again(rule, used, offers, charges):
        step = first_that_fits(rule, used, offers, charges)
        if not rule.settled or step is None or step.fits or rule.shares is None:
            return step
        costs = tuple(offer.at(rule.limit.on, rule.limit.people) for offer in offers)
        found = settled(rule.limit.bound, costs)
        if found is None:
            return step
        charge = found.gate.charge(costs[0])
        return rules._take(found.gate, found.gate.zero(), charge, sums_to_text(charge))

    patch.setattr(rules, "_first_that_fits", again)


def settlement_undone_by_death(patch):
    class Mutant(ledger_module.Ledger):
        def fail(self, request_id):
            done = super().fail(request_id)
            book = self._journal.book
            book.rules[:] = [replace(rule, gate=rules.OPEN, shares=None) for rule in book.rules]
            return done

    patch.setattr(test_first, "Ledger", Mutant)


def settled_by_the_first_that_is_committed(patch):
    patch.setattr(journal.Journal, "settle", lambda self, session, request_id, verdict: None)  # not when it is reserved


def settlement_kept_after_a_refusal(patch):
    class Mutant(ledger_module.Ledger):
        def reserve(self, request_id, event, loss, *rest, **more):
            try:
                return super().reserve(request_id, event, loss, *rest, **more)
            except BudgetExceeded:
                for place, found in self._weigh(loss, None).settles.items():
                    self._journal.book.settle([place], found)
                raise

    patch.setattr(test_first, "Ledger", Mutant)


def zero_is_what_rounds_to_nothing(patch):
    patch.setattr(Cost, "is_zero", property(lambda cost: cost.epsilon < Fraction(1, 1 << 64) and cost.leak == 0))


def settled_by_the_first_that_reads_all_of_a_set(patch):
    def whole(rule, used, offers, charges):
        on = rule.limit.on
        if not rule.settled and isinstance(on, frozenset) and any(len(offer.touched(on)) < len(on) for offer in offers):
            return None
        return first_that_fits(rule, used, offers, charges)

    patch.setattr(rules, "_first_that_fits", whole)


def late_limit_settled_by_the_next_request(patch):
    patch.setattr(statements, "past_sums", lambda rule, past: (rule, sums_to_text(rule.gate.zero())))


def order_chosen_from_a_later_request(patch):
    """Where an order is in use, a request that does not fit is tried at its own best one."""

    def another(rule, used, offers, charges):
        step = first_that_fits(rule, used, offers, charges)
        if not rule.settled or step is None or step.fits:
            return step
        cost = offers[0].at(rule.limit.on, rule.limit.people)
        for order in range(2, 64):
            meter = order_route(rule.limit.bound.epsilon, Fraction(order), rule.limit.bound.delta)
            if meter is not None and meter.reading(cost) <= meter.ceiling:
                return replace(step, fits=True)
        return step

    patch.setattr(rules, "_first_that_fits", another)


def a_list_edited_after_it_was_reserved(patch):
    def known(session, request):
        stored = session.reservation(request.id)
        return None if stored is None else lifecycle._reservation(session, stored)

    patch.setattr(lifecycle, "known", known)


def conversations_charged_by_their_exact_total(patch):
    totals = rules.Prices.totals
    patch.setattr(rules.Prices, "totals", lambda self, *rest: totals(_as_list(self), *rest))


def _as_list(prices):
    return rules.Prices(prices.loss.together())


def entrywise_minimum_with_leaks(patch):
    merge = Cost.merge
    patch.setattr(Cost, "merge", lambda self, other: replace(merge(self, other), leak=min(self.leak, other.leak)))


def a_good_set_and_randomized_response_in_one_cost(patch):
    checked = Cost.__post_init__

    def both(self):
        checked(self)
        if self.gauss == UNKNOWN_GAUSS and not isinstance(self.epsilon, Infinity):
            object.__setattr__(self, "gauss", Randomized(self.epsilon))

    patch.setattr(Cost, "__post_init__", both)


def discrete_noise_with_a_gaussian_charge(patch):
    patch.setattr(Cost, "concentrated", classmethod(lambda cls, rho: cls.gaussian(2 * Fraction(rho))))


def a_group_costs_k_times_mu_squared(patch):
    patch.setattr(Exactly, "group", lambda self, people: Exactly(people * self.amount))


def revealed_without_the_rate(patch):
    patch.setattr(Revealed, "above", lambda self: GaussPair(self.m).above())


def revealed_with_the_rate_in_the_logarithm(patch):
    def above(self):
        inner, rate = GaussPair(self.m).above(), rational_ball(self.rate)

        def tails(ratio):
            first, second = inner(1 + (ratio - 1) / rate)
            return rate * first, rate * second

        return tails

    patch.setattr(Revealed, "above", above)


MUTANTS = {
    reserve_taken_from_what_is_left: test_first.test_reserve_and_charges_are_fixed_with_the_first_question,
    charged_again_beside_a_larger_reserve: test_first.test_reserve_and_charges_are_fixed_with_the_first_question,
    ceiling_not_reduced_by_the_reserve: test_first.test_reserve_and_charges_are_fixed_with_the_first_question,
    pure_releases_charged_by_their_square: test_gauss.test_sums_are_exact_and_do_not_depend_on_their_order,
    gaussians_and_the_order_each_with_all_of_delta: (
        test_first.test_reserve_and_charges_are_fixed_with_the_first_question
    ),
    settled_by_the_second_request: test_first.test_the_exact_fit_takes_what_exact_composition_allows,
    settled_by_the_first_that_is_committed: test_first.test_the_exact_fit_takes_what_exact_composition_allows,
    settlement_undone_by_death: test_first.test_death_does_not_unsettle,
    settlement_kept_after_a_refusal: test_first.test_a_refusal_by_one_limit_settles_none,
    zero_is_what_rounds_to_nothing: test_first.test_what_costs_nothing_settles_nothing_and_a_tiny_cost_does,
    settled_by_the_first_that_reads_all_of_a_set: test_first.test_a_question_about_b_settles_b_and_both_but_not_a,
    late_limit_settled_by_the_next_request: (
        test_first.test_a_late_limit_is_settled_by_what_is_stored_and_not_by_the_next_request
    ),
    order_chosen_from_a_later_request: test_first.test_an_order_is_never_moved,
    a_list_edited_after_it_was_reserved: test_lists.test_a_plan_that_is_edited_is_another_plan,
    conversations_charged_by_their_exact_total: test_lists.test_a_conversation_is_never_charged_by_an_exact_total,
    entrywise_minimum_with_leaks: test_gauss.test_a_curve_with_a_leak_of_its_own_has_no_gaussian_charge,
    a_good_set_and_randomized_response_in_one_cost: (
        test_gauss.test_a_curve_with_a_leak_of_its_own_has_no_gaussian_charge
    ),
    discrete_noise_with_a_gaussian_charge: test_gauss.test_discrete_gaussian_noise_has_no_gaussian_charge,
    a_group_costs_k_times_mu_squared: test_gauss.test_groups_and_unions,
    revealed_without_the_rate: test_fixed_list.test_a_revealed_list,
    revealed_with_the_rate_in_the_logarithm: test_fixed_list.test_a_revealed_list,
}

ELSEWHERE = {
    "noise rounded and added to parts of a number": "tests.promises.cases_perturb:Unrounded",
    "rounding to a coarser grid after clamping by data": "tests.promises.cases_perturb:CoarseNearTheTruth",
    "discrete noise with a Gaussian charge, by its law": "tests.privacy.test_gauss:test_discrete_noise_breaks_the_profile",
    "a private width with a Gaussian charge": "tests.privacy.test_gauss:test_a_private_width_breaks_the_profile",
    "a charge of epsilon squared, against every analyst": (
        "tests.audit.test_gaussian_route:"
        "test_large_deltas_are_nearly_used_up_and_a_charge_of_epsilon_squared_passes_them"
    ),
    "a ceiling without its reserve, against every analyst": (
        "tests.audit.test_gaussian_route:test_a_ceiling_that_is_not_reduced_by_the_reserve_is_refuted"
    ),
    "leaks and Gaussians each with all of delta": (
        "tests.audit.test_gaussian_route:test_all_of_delta_for_leaks_beside_all_of_it_for_gaussians_is_refuted"
    ),
    "delta divided after a look": "tests.audit.test_gaussian_route:test_dividing_delta_after_a_look_is_refuted",
    "an exact accountant as a filter": (
        "tests.audit.test_gaussian_route:test_an_exact_accountant_used_as_a_filter_is_caught"
    ),
    "masses rounded to nearest, tails thrown away": (
        "tests.privacy.test_fixed_list:test_mutants_of_the_rounding_are_caught"
    ),
    "a Fourier transform in floats": (
        "tests.privacy.test_fixed_list:test_a_float_fourier_transform_would_be_below_the_truth"
    ),
    "one direction of a sample": (
        "tests.privacy.test_sampled_gaussian:test_one_direction_of_a_poisson_sample_is_caught"
    ),
    "forward moments for a fixed size": (
        "tests.privacy.test_sampled_gaussian:test_moments_cover_the_pair_and_forward_moments_do_not"
    ),
    "the distance of coming and going for replacing": (
        "tests.privacy.test_sampled_gaussian:test_the_base_of_add_remove_is_caught_under_replace_one"
    ),
    "a sampled curve from a bare rho": "tests.privacy.test_sampled_gaussian:test_a_bare_curve_is_not_gaussian",
    "an attribute's own distance with the rate": (
        "tests.privacy.test_sampled_gaussian:"
        "test_attributes_are_told_who_was_drawn_and_the_own_distance_with_the_rate_is_caught"
    ),
    "a sampled pair for two people, a sample of rows": (
        "tests.privacy.test_sampled_gaussian:test_two_people_and_sampled_rows_are_caught"
    ),
    "parts of a list that were not proved": "tests.ask.test_exact_lists:test_a_part_that_was_not_proved_is_caught",
}


def forget() -> None:
    """Forget what a mutant worked out: another test of the same process would take it for what ships."""
    for kept in (settlement.settled, settlement._settlement, fixed_list._composed, loss_distribution._halves):
        kept.cache_clear()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mutant_dies_where_it_is_said_to(mutant, monkeypatch):
    forget()
    mutant(monkeypatch)
    try:
        with pytest.raises((AssertionError, pytest.fail.Exception)) as death:
            MUTANTS[mutant]()
        assert not issubclass(death.type, SfumatoError)
    finally:
        monkeypatch.undo()
        forget()
    if mutant not in (revealed_without_the_rate, revealed_with_the_rate_in_the_logarithm):
        MUTANTS[mutant]()  # what ships passes


@pytest.mark.parametrize("named", ELSEWHERE.values())
def test_what_is_made_elsewhere_is_there(named):
    module, _, name = named.partition(":")
    assert hasattr(importlib.import_module(module), name)
