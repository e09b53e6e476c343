"""Lists and plans in a ledger (AC-PLAN): charged by their exact total where their sums do not fit, and only they."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger import Budget, Ledger
from sfumato.mechanism import Event
from sfumato.privacy import ADD_REMOVE, Approximate, Concentrated, Cost, Loss, Pure, subsample_loss
from sfumato.privacy.attributes import EVERYTHING, Secrets

EVENT = Event("Laplace", "QR-LAP")
NOISY = Event("Gaussian", "AC-GAUSS")
SAMPLED = Event("Subsampled", "TCDP-SUB")
TENTH = Loss.flat(Cost.pure("1/10"))


def sampled(m: str | int, population: int, scheme: str = "without_replacement") -> Loss:
    relation = ADD_REMOVE if scheme == "poisson" else TENTH.relation
    return subsample_loss(Loss.flat(Cost.gaussian(m), relation=relation), population, 1, scheme)


def test_a_list_fits_whose_sums_do_not() -> None:
    """120 tenths are (5.31, 1e-6) together; added up they are 12, and by the order 6.2."""
    limit = Approximate("5.6", "1e-6", leaks="5e-7")
    with Ledger(None, Budget(limit)) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("sum", EVENT, 120 * TENTH)
        ledger.plan("list", [(EVENT, TENTH)] * 120)
        leaks, epsilon, *_ = ledger.spent().sums
        assert 5 < epsilon < Fraction("5.6") and 0 < leaks <= Fraction(1, 2 * 10**6)
        assert ledger.verify()


def test_a_list_that_fits_by_its_sums_is_charged_by_them() -> None:
    with Ledger(None, Budget(Approximate(3, "1e-6", leaks="5e-7"))) as ledger:
        ledger.plan("list", [(EVENT, TENTH)] * 20)
        assert ledger.spent().sums[:2] == (0, 2)


def test_other_limits_see_the_sums_alone() -> None:
    for limit in (Pure(5), Concentrated("1/2")):
        with Ledger(None, Budget(limit)) as ledger, pytest.raises(BudgetExceeded):
            ledger.plan("list", [(EVENT, TENTH)] * 120)


def test_a_conversation_is_never_charged_by_an_exact_total() -> None:
    """The same cost without the word of its caller that it is a fixed list: an exact accountant is no filter."""
    with Ledger(None, Budget(Approximate("5.6", "1e-6", leaks="5e-7"))) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.open("talk", EVENT, 120 * TENTH)
        assert not ledger.preview(120 * TENTH).fits and ledger.preview((120 * TENTH).together()).fits


def test_every_limit_takes_its_own_total() -> None:
    noisy = Loss.stated(Cost.gaussian("1/4"), {"age": Cost.gaussian("1/16")}, TENTH.relation)
    pure = Loss.flat(Cost.pure("1/10"), reads={"age"})
    budget = Budget(
        person=Approximate("3.3", "1e-6", leaks="5e-7"),
        attributes={"age": Approximate("2.3", "1e-6", leaks="5e-7")},
        secrets=Secrets(("age", "sex")),
    )
    with Ledger(None, budget) as ledger:
        ledger.plan("list", [(NOISY, noisy), *[(EVENT, pure)] * 20])
        person, age = ledger.spent(EVERYTHING), ledger.spent("age")
        assert 3 < person.sums[1] < Fraction("3.3") and 2 < age.sums[1] < Fraction("2.3") and age.sums[0] > 0
        assert ledger.verify()


def test_sampled_steps_as_a_list_and_one_by_one() -> None:
    """Alone at (1, 1e-6) no order carries such a sample; together sixty of them are 0.88."""
    step = sampled(1, 100)
    with Ledger(None, Budget(Approximate(1, "1e-6", leaks="1e-6"))) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("step", SAMPLED, step)
        plan = ledger.plan("steps", [(SAMPLED, step)] * 60)
        assert plan.text() == (
            "The plan was fixed before the data were touched: its total, (0.8753, 1e-6), is a guarantee for the plan."
        )
        assert ledger.verify()


def test_a_sample_that_no_order_carries_is_told_to_be_a_list() -> None:
    said = "No Rényi order of this limit carries a sample at this rate; ask the steps as one list."
    for limit in (Approximate(1, "1e-6"), Approximate(1, "1e-6", leaks="1e-6")):
        with Ledger(None, Budget(limit)) as ledger, pytest.raises(BudgetExceeded, match=said):
            ledger.reserve("step", SAMPLED, sampled(1, 100))
    with Ledger(None, Budget(Approximate(1, "1e-6"))) as ledger:
        # A list that does not fit says its exact total, not the infinity of its sums.
        with pytest.raises(BudgetExceeded, match=r"the limit on a person, epsilon 1\.\d+ asked, 1 left"):
            ledger.plan("too many", [(SAMPLED, sampled(1, 100))] * 300)
        (rule,) = ledger.limits
        assert not rule.settled  # a refusal settles nothing


@pytest.mark.parametrize(
    ("limit", "count", "scheme"),
    [(Approximate(1, "1e-6"), 60, "without_replacement"), (Approximate(1, "1e-6"), 100, "poisson")],
)
def test_a_first_list_may_take_all_of_delta(limit: Approximate, count: int, scheme: str) -> None:
    step = sampled(1, 100, scheme)
    with Ledger(None, Budget(limit), relation=step.relation) as ledger:
        ledger.plan("first", [(SAMPLED, step)] * count)
        (rule,) = ledger.limits
        assert rule.shares is not None and rule.shares.name == "L1" and rule.shares.leaks == 1
        assert ledger.verify()
        with pytest.raises(BudgetExceeded):
            ledger.reserve("more", SAMPLED, step)


@pytest.mark.parametrize(("step", "order", "count"), [(sampled(1, 100), 8, 1055), (sampled("1/16", 10), 9, 452)])
def test_a_first_sampled_step_chooses_the_order(step: Loss, order: int, count: int) -> None:
    with Ledger(None, Budget(Approximate(3, "1e-6"))) as ledger:
        ledger.reserve("first", SAMPLED, step)
        (rule,) = ledger.limits
        assert rule.shares is not None and (rule.shares.name, rule.shares.at) == ("R", order)
        ledger.reserve("rest", SAMPLED, (count - 1) * step)
        with pytest.raises(BudgetExceeded):
            ledger.reserve("one more", SAMPLED, step)
        assert ledger.verify()


@pytest.mark.parametrize(
    ("step", "order", "count"),
    [
        (sampled(1, 100), 8, 1055),
        (sampled("1/16", 10), 9, 452),
        (sampled(1, 100, "poisson"), 7, 1635),
        (sampled("1/16", 10, "poisson"), 9, 547),
    ],
)
def test_samples_question_by_question_where_the_owner_names_the_order(step: Loss, order: int, count: int) -> None:
    limit = Approximate(3, "1e-6", leaks="5e-8", routes=[(order, 1)])
    with Ledger(None, Budget(limit), relation=step.relation) as ledger:
        ledger.reserve("most", SAMPLED, count * step)
        with pytest.raises(BudgetExceeded):
            ledger.reserve("one more", SAMPLED, step)


def test_a_plan_that_is_edited_is_another_plan() -> None:
    with Ledger(None, Budget(Approximate("5.6", "1e-6", leaks="5e-7"))) as ledger:
        ledger.plan("list", [(EVENT, TENTH)] * 120)
        before = ledger.spent().sums
        for edited in ([(EVENT, TENTH)] * 121, [(EVENT, TENTH)] * 119, [(replace(EVENT, name="Other"), TENTH)] * 120):
            with pytest.raises(LedgerError, match="belongs to another request"):
                ledger.plan("list", edited)
        assert ledger.plan("list", [(EVENT, TENTH)] * 120).reservation.id == "list"
        assert ledger.spent().sums == before
        with pytest.raises(BudgetExceeded):
            ledger.plan("again", [(EVENT, TENTH)] * 120)


def test_what_is_known_by_a_curve_alone_is_named() -> None:
    with Ledger(None, Budget(Concentrated(3))) as ledger:
        plan = ledger.plan(
            "mixed", [(EVENT, TENTH), (Event("Discrete", "QR-LAP"), Loss.flat(Cost.concentrated("1/8")))]
        )
        assert plan.text().endswith("It was added up by Rényi curves, because Discrete is known by a curve alone.")
        both = ledger.plan("two", [(Event(name, "QR-LAP"), Loss.flat(Cost.concentrated("1/8"))) for name in "AB"])
        assert both.text().endswith("because A and B are known by a curve alone.")


def test_a_list_is_stored_and_read_back() -> None:
    loss = (3 * TENTH + Loss.flat(Cost.gaussian("1/4"))).together()
    assert Loss.from_json(loss.to_json()) == loss and loss.together() is loss
    assert loss.person == (3 * TENTH + Loss.flat(Cost.gaussian("1/4"))).person
    assert loss.for_group(2).person == (3 * TENTH + Loss.flat(Cost.gaussian("1/4"))).for_group(2).person
