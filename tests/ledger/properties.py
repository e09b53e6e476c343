"""What every ledger must do, each as a function that fails when it does not; `test_mutants` breaks them one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import EVERYTHING, Approximate, Concentrated, Cost, Event, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger import Budget, Ledger, Limit
from sfumato.ledger import ledger as ledger_module

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP")


def open_ledger(budget: Budget, **more) -> Ledger:
    # Looked up when it is called, so that a mutant of the class is what opens.
    return ledger_module.Ledger(None, budget, **more)


def pure(epsilon, *reads: str) -> Loss:
    return Loss.flat(Cost.pure(epsilon), reads=reads) if reads else Loss.flat(Cost.pure(epsilon))


def refuses(ledger: Ledger, request: str, loss) -> None:
    with pytest.raises(BudgetExceeded):
        ledger.reserve(request, EVENT, loss)


def dead_reservations_stay_spent() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        for number in range(10):
            ledger.reserve(str(number), EVENT, pure("1/10"))
            ledger.fail(str(number))
        refuses(ledger, "next", pure("1/10"))


def reserving_is_spending() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        for number in range(10):
            ledger.reserve(str(number), EVENT, pure("1/10"))
        refuses(ledger, "next", pure("1/10"))


def a_request_is_added_before_it_is_compared() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("a", EVENT, pure("9/10"))
        refuses(ledger, "b", pure("2/10"))


def a_group_costs_the_square_of_rho() -> None:
    with open_ledger(Budget(Concentrated(1), people={3: Concentrated("9/10")})) as ledger:
        ledger.reserve("a", EVENT, Loss.flat(Cost.concentrated("1/10")))
        refuses(ledger, "b", Loss.flat(Cost.concentrated("1/1000")))


def a_linked_column_is_charged() -> None:
    with open_ledger(Budget(Pure(9), each_attribute=Pure(1), secrets=SECRETS)) as ledger:
        ledger.reserve("a", EVENT, pure("6/10", "born"))
        refuses(ledger, "b", pure("6/10", "age"))
    with open_ledger(Budget(Pure(9), attributes={"age": Pure(1)}, secrets=SECRETS)) as ledger:
        ledger.reserve("a", EVENT, pure("6/10", "born"))
        refuses(ledger, "b", pure("6/10", "born"))


def a_guarantee_does_not_follow_what_is_spent() -> None:
    with open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS)) as ledger:
        ledger.reserve("a", EVENT, pure("1/10", "sex"))
        assert (ledger.guarantee("sex"), ledger.guarantee()) == (Pure(1), Pure(3))


def a_later_limit_is_no_guarantee() -> None:
    with open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS)) as ledger:
        ledger.reserve("a", EVENT, pure("1/10", "sex"))
        ledger.add_limit(Limit("sex", Pure("1/10")))
        assert ledger.guarantee("sex") == Pure(1)


def a_later_limit_counts_the_past() -> None:
    with open_ledger(Budget(Pure(3), secrets=SECRETS)) as ledger:
        ledger.reserve("a", EVENT, pure("9/10", "sex"))
        ledger.add_limit(Limit("sex", Pure(1)))
        refuses(ledger, "b", pure("2/10", "sex"))


def a_lowered_limit_is_no_guarantee() -> None:
    with open_ledger(Budget(Pure(3))) as ledger:
        ledger.reserve("a", EVENT, pure("1/10"))
        ledger.lower(EVERYTHING, Pure("1/10"))
        assert ledger.guarantee() == Pure(3)


def a_reservation_starts_once() -> None:
    with open_ledger(Budget(Pure(3))) as ledger:
        ledger.reserve("a", EVENT, pure("1/10"))
        ledger.start("a")
        with pytest.raises(LedgerError):
            ledger.start("a")


def one_charge_buys_one_draw() -> None:
    draws = []

    def draw() -> bytes:
        draws.append(1)
        raise MemoryError

    with open_ledger(Budget(Pure(3))) as ledger:
        for _ in range(2):
            with pytest.raises(LedgerError):
                ledger.run("a", EVENT, pure("1/10"), draw)
    assert len(draws) == 1


def sums_are_exact() -> None:
    tiny = Fraction(1, 10**20)
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("a", EVENT, pure(1))
        refuses(ledger, "b", pure(tiny))
    with open_ledger(Budget(Pure("3/10"))) as ledger:
        ledger.reserve("a", EVENT, pure("1/10"))
        ledger.reserve("b", EVENT, pure("2/10"))


def a_refusal_changes_nothing() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("a", EVENT, pure("5/10"))
        before = (ledger.head, ledger.spent().sums)
        refuses(ledger, "b", pure("6/10"))
        assert (ledger.head, ledger.spent().sums) == before
        ledger.reserve("b", EVENT, pure("5/10"))


def one_population_has_one_ledger() -> None:
    with open_ledger(Budget(Pure(1)), population="mutants"), pytest.raises(LedgerError):
        open_ledger(Budget(Pure(1)), population="mutants")


def a_conversation_is_charged_whole() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("talk", EVENT, pure("6/10"))
        refuses(ledger, "other", pure("6/10"))
        ledger.start("talk")
        ledger.save_state("talk", 0, b"coins")
        ledger.save_state("talk", 1, b"coins", b"below")
        assert ledger.spent().sums[1] == Fraction(6, 10)


def a_lost_conversation_is_dead() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("talk", EVENT, pure("6/10"))
        ledger.start("talk")
        with pytest.raises(LedgerError):
            ledger.load_state("talk")
        with pytest.raises(LedgerError):
            ledger.save_state("talk", 0, b"fresh coins")


def a_conversation_has_one_answer_to_each_step() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("talk", EVENT, pure("6/10"))
        ledger.start("talk")
        ledger.save_state("talk", 0, b"coins")
        ledger.save_state("talk", 1, b"coins", b"below")
        with pytest.raises(LedgerError):
            ledger.save_state("talk", 1, b"coins", b"above")


def causes_stay_inside() -> None:
    def draw() -> bytes:
        raise ValueError("cell 17")

    with open_ledger(Budget(Pure(1))) as ledger:
        with pytest.raises(LedgerError) as died:
            ledger.run("a", EVENT, pure("1/10"), draw)
        assert "17" not in str(died.value) and died.value.__context__ is None


def only_committed_answers_are_reused() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("a", EVENT, pure("1/10"), "how many?")
        assert not ledger.reserve("b", EVENT, pure("1/10"), "how many?").reused
        assert ledger.spent().sums[1] == Fraction(2, 10)


def an_id_belongs_to_one_request() -> None:
    with open_ledger(Budget(Pure(1))) as ledger:
        ledger.reserve("a", EVENT, pure("1/10"))
        with pytest.raises(LedgerError):
            ledger.reserve("a", EVENT, pure("9/10"))


def certificates_are_not_mixed() -> None:
    with open_ledger(Budget(Pure("1/2"))) as ledger:
        refuses(ledger, "a", [pure(5), Loss.flat(Cost.approximate("1/10", "1/100"))])


def small_leaks_count() -> None:
    small = Fraction(1, 10**30)
    with open_ledger(Budget(Approximate(1, 1e-6, leaks=small))) as ledger:
        ledger.reserve("a", EVENT, Loss.flat(Cost.approximate("1/100", small)))
        refuses(ledger, "b", Loss.flat(Cost.approximate("1/100", small)))


def a_closed_route_stays_closed() -> None:
    with open_ledger(Budget(Approximate(1, 1e-6))) as ledger:
        ledger.reserve("a", EVENT, Loss.flat(Cost.concentrated("1/1000")))
        refuses(ledger, "b", pure("9/10"))
        assert ledger.spent().left[1] is None


def every_limit_is_asked() -> None:
    with open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS)) as ledger:
        refuses(ledger, "a", pure(2, "sex"))


def analysts_keep_to_their_quota() -> None:
    with open_ledger(Budget(Pure(3)), analysts={"ana": Budget(Pure(1))}) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("a", EVENT, pure(2), analyst="ana")
        assert ledger.guarantee() == Pure(3)


def a_stored_answer_comes_before_a_shown_one() -> None:
    seen: list[str] = []

    class Watched(bytes):
        pass

    with open_ledger(Budget(Pure(1))) as ledger:
        commit = ledger.commit

        def watched(request_id: str, answer: bytes):
            done = commit(request_id, answer)
            seen.append("stored")
            return done

        ledger.commit = watched  # type: ignore[method-assign]
        ledger.run("a", EVENT, pure("1/10"), lambda: Watched(b"1"))
        seen.append("shown")
    assert seen == ["stored", "shown"]


def relations_are_not_mixed() -> None:
    from sfumato import ADD_REMOVE
    from sfumato.errors import RelationMismatch

    with open_ledger(Budget(Pure(1))) as ledger, pytest.raises(RelationMismatch):
        ledger.reserve("a", EVENT, Loss.flat(Cost.pure("1/10"), relation=ADD_REMOVE))


PROPERTIES = [
    dead_reservations_stay_spent,
    reserving_is_spending,
    a_request_is_added_before_it_is_compared,
    a_group_costs_the_square_of_rho,
    a_linked_column_is_charged,
    a_guarantee_does_not_follow_what_is_spent,
    a_later_limit_is_no_guarantee,
    a_later_limit_counts_the_past,
    a_lowered_limit_is_no_guarantee,
    a_reservation_starts_once,
    one_charge_buys_one_draw,
    sums_are_exact,
    a_refusal_changes_nothing,
    one_population_has_one_ledger,
    a_conversation_is_charged_whole,
    a_lost_conversation_is_dead,
    a_conversation_has_one_answer_to_each_step,
    causes_stay_inside,
    only_committed_answers_are_reused,
    an_id_belongs_to_one_request,
    certificates_are_not_mixed,
    small_leaks_count,
    a_closed_route_stays_closed,
    every_limit_is_asked,
    analysts_keep_to_their_quota,
    a_stored_answer_comes_before_a_shown_one,
    relations_are_not_mixed,
]
