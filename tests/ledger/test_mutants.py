"""Ledgers with one thing broken (ledger-filters section 12): each must fail the property that it breaks."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato import Cost, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError, SfumatoError
from sfumato.exact import INFINITY, Infinity
from sfumato.ledger import journal, lifecycle, rules, statements, verify
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger.amounts import ranges_from_text, sums_from_text, sums_to_text
from sfumato.ledger.pricing import Prices
from sfumato.ledger.reservation import Conversation
from sfumato.ledger.session import Session
from sfumato.privacy import Flat, Secrets
from sfumato.privacy.attributes import attributes
from sfumato.privacy.filters import Filter, Meter
from sfumato.privacy.relations import Relation

from . import properties
from .properties import PROPERTIES


@pytest.mark.parametrize("prove", PROPERTIES, ids=lambda prove: prove.__name__)
def test_the_ledger_that_ships(prove):
    prove()


def _change_sums(session: Session, request_id: str, sign: int) -> None:
    """Add the charges of a reservation to the sums once more, or take them away."""
    stored = session.reservation(request_id)
    texts = json.loads(session.sums_text())
    for charge, places in json.loads(session.body(stored.row))["charges"].items():
        for place in ranges_from_text(places):
            pairs = zip(sums_from_text(texts[place]), sums_from_text(charge), strict=True)
            texts[place] = sums_to_text(tuple(used + sign * part for used, part in pairs))
    session.save_sums(json.dumps(texts))
    session.append("sealed", None, json.dumps({"sums": texts}))


def refund_of_dead_reservations(patch):
    bury = lifecycle._bury

    def refund(session, stored):
        bury(session, stored)
        _change_sums(session, stored.id, -1)

    patch.setattr(lifecycle, "_bury", refund)


def _charged_later(patch, step):
    """Charge nothing when a request is reserved and everything at a later step."""
    original = getattr(lifecycle, step)
    patch.setattr(Session, "save_sums", lambda self, text: None, raising=True)

    def later(session, request_id, *rest):
        done = original(session, request_id, *rest)
        _change_sums(session, request_id, 1)
        return done

    patch.setattr(lifecycle, step, later)


def charge_at_commit(patch):
    _charged_later(patch, "commit")


def conversation_charged_per_answer(patch):
    _charged_later(patch, "save_state")


def compared_before_adding(patch):
    take = rules._take
    patch.setattr(rules, "_take", lambda gate, sums, *rest: replace(take(gate, sums, *rest), fits=gate.fits(sums)))


def group_costs_k_rho(patch):
    patch.setattr(Prices, "_compute", lambda self, names, people: self.loss.at(names) * people)


def closure_partner_ignored(patch):
    patch.setattr(Secrets, "closure", lambda self, names: attributes(names))


def guarantee_is_what_was_spent(patch):
    class Mutant(ledger_module.Ledger):
        def guarantee(self, *names):
            return Pure(self.spent(*names).sums[1])

    patch.setattr(ledger_module, "Ledger", Mutant)


def late_limit_as_guarantee(patch):
    patch.setattr(rules.LimitRule, "promises", property(lambda rule: rule.analyst is None and not rule.cap))


def lowered_limit_as_guarantee(patch):
    patch.setattr(rules.LimitRule, "promises", property(lambda rule: rule.analyst is None and not rule.late))


def quota_as_guarantee(patch):
    patch.setattr(rules.LimitRule, "promises", property(lambda rule: not rule.late and not rule.cap))


def late_limit_starts_at_zero(patch):
    patch.setattr(statements, "past_sums", lambda rule, past: (rule, sums_to_text(rule.gate.zero())))
    assert verify.past_sums is not statements.past_sums


def reservation_started_twice(patch):
    change = Session.change
    patch.setattr(Session, "change", lambda self, *same, **values: change(self, *same, **values) or bool(values))


def second_run(patch):
    def start(session, request_id):
        return lifecycle._reservation(session, lifecycle._find(session, request_id))

    patch.setattr(lifecycle, "start", start)


def float_sums(patch):
    def add(self, sums, charge):
        return tuple(
            INFINITY if isinstance(left + right, Infinity) else Fraction(float(left) + float(right))
            for left, right in zip(sums, charge, strict=True)
        )

    patch.setattr(Filter, "add", add)


def refusal_writes_sums(patch):
    class Mutant(ledger_module.Ledger):
        def reserve(self, request_id, event, loss, *rest, **more):
            try:
                return super().reserve(request_id, event, loss, *rest, **more)
            except BudgetExceeded:
                verdict = self._weigh(loss, None)
                with self._journal.session(write=True) as session:
                    session.save_sums(json.dumps(verdict.sums))
                raise

    patch.setattr(ledger_module, "Ledger", Mutant)


def second_ledger_accepted(patch):
    patch.setattr(journal, "_only_ledger", lambda population, place: None)


def dead_conversation_reopened(patch):
    load = lifecycle.load_state

    def reopened(session, request_id):
        stored = lifecycle._find(session, request_id)
        if stored.memory is None:
            return Conversation(request_id, 0, b"fresh coins", None)
        return load(session, request_id)

    patch.setattr(lifecycle, "load_state", reopened)


def restored_conversation_with_a_fresh_count(patch):
    save = lifecycle.save_state

    def fresh(session, request_id, step, state, answer):
        return save(session, request_id, lifecycle._find(session, request_id).step, state, answer)

    patch.setattr(lifecycle, "save_state", fresh)


def exception_shown(patch):
    class Mutant(ledger_module.Ledger):
        def run(self, request_id, event, loss, draw, **more):
            self.reserve(request_id, event, loss, **more)
            self.start(request_id)
            return self.commit(request_id, draw())

    patch.setattr(ledger_module, "Ledger", Mutant)


def cause_travels_with_the_error(patch):
    class Mutant(ledger_module.Ledger):
        def run(self, request_id, event, loss, draw, **more):
            self.reserve(request_id, event, loss, **more)
            self.start(request_id)
            try:
                return self.commit(request_id, draw())
            except ValueError:
                raise LedgerError("It died.")  # noqa: B904  (the fault is that the cause is attached)

    patch.setattr(ledger_module, "Ledger", Mutant)


def uncommitted_question_reused(patch):
    def any_state(self, question):
        found = [stored for stored in self.reservations() if stored.question == question]
        return found[0] if found else None

    patch.setattr(Session, "answered", any_state)


def id_taken_on_trust(patch):
    def known(session, request):
        stored = session.reservation(request.id)
        return None if stored is None else lifecycle._reservation(session, stored)

    patch.setattr(lifecycle, "known", known)


def entrywise_minimum_of_certificates(patch):
    weigh = rules.Rulebook.weigh

    def mixed(self, sums, losses, analyst):
        if len(losses) > 1:
            costs = [loss.person for loss in losses]
            best = min(costs, key=lambda cost: cost.epsilon)
            losses = (Loss(Flat(Cost(best.epsilon, best.curve, min(cost.leak for cost in costs)))),)
        return weigh(self, sums, losses, analyst)

    patch.setattr(rules.Rulebook, "weigh", mixed)


def leak_on_the_grid(patch):
    reading = Meter.reading

    def rounded(self, cost):
        value = reading(self, cost)
        return Fraction(int(value * 2**64), 2**64) if self.kind == "leak" else value

    patch.setattr(Meter, "reading", rounded)


def infinity_as_a_large_number(patch):
    add = Filter.add

    def finite(self, sums, charge):
        return add(self, sums, tuple(Fraction(0) if isinstance(part, Infinity) else part for part in charge))

    patch.setattr(Filter, "add", finite)


def only_the_person_is_asked(patch):
    patch.setattr(rules.Rulebook, "_places", lambda self, offers: self._everyone)


def quotas_ignored(patch):
    weigh = rules.Rulebook.weigh
    patch.setattr(rules.Rulebook, "weigh", lambda self, sums, losses, analyst: weigh(self, sums, losses, None))


def relation_taken_on_trust(patch):
    patch.setattr(Relation, "require", lambda self, other: self)


def shown_before_stored(patch):
    class Mutant(ledger_module.Ledger):
        def run(self, request_id, event, loss, draw, **more):
            found = self.reserve(request_id, event, loss, **more)
            return replace(found, answer=draw())

    patch.setattr(ledger_module, "Ledger", Mutant)


MUTANTS = {
    refund_of_dead_reservations: "dead_reservations_stay_spent",
    charge_at_commit: "reserving_is_spending",
    conversation_charged_per_answer: "a_conversation_is_charged_whole",
    compared_before_adding: "a_request_is_added_before_it_is_compared",
    group_costs_k_rho: "a_group_costs_the_square_of_rho",
    closure_partner_ignored: "a_linked_column_is_charged",
    guarantee_is_what_was_spent: "a_guarantee_does_not_follow_what_is_spent",
    late_limit_as_guarantee: "a_later_limit_is_no_guarantee",
    late_limit_starts_at_zero: "a_later_limit_counts_the_past",
    lowered_limit_as_guarantee: "a_lowered_limit_is_no_guarantee",
    quota_as_guarantee: "analysts_keep_to_their_quota",
    quotas_ignored: "analysts_keep_to_their_quota",
    reservation_started_twice: "a_reservation_starts_once",
    second_run: "one_charge_buys_one_draw",
    float_sums: "sums_are_exact",
    refusal_writes_sums: "a_refusal_changes_nothing",
    second_ledger_accepted: "one_population_has_one_ledger",
    dead_conversation_reopened: "a_lost_conversation_is_dead",
    restored_conversation_with_a_fresh_count: "a_conversation_has_one_answer_to_each_step",
    exception_shown: "causes_stay_inside",
    cause_travels_with_the_error: "causes_stay_inside",
    uncommitted_question_reused: "only_committed_answers_are_reused",
    id_taken_on_trust: "an_id_belongs_to_one_request",
    entrywise_minimum_of_certificates: "certificates_are_not_mixed",
    leak_on_the_grid: "small_leaks_count",
    infinity_as_a_large_number: "a_closed_route_stays_closed",
    only_the_person_is_asked: "every_limit_is_asked",
    relation_taken_on_trust: "relations_are_not_mixed",
    shown_before_stored: "a_stored_answer_comes_before_a_shown_one",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mutant_dies_where_it_is_said_to(mutant, monkeypatch):
    prove = getattr(properties, MUTANTS[mutant])
    mutant(monkeypatch)
    rules.gate_of.cache_clear()
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)) as death:
        prove()
    # An assertion, a refusal that did not come, or the cause that `draw` raised: not some other accident.
    assert death.type is not ValueError or str(death.value) == "cell 17"
    assert not issubclass(death.type, SfumatoError)


def test_every_property_has_a_mutant():
    assert {prove.__name__ for prove in PROPERTIES} == set(MUTANTS.values())
