"""The exact texts of ledger-filters section 4, and how numbers in them are rounded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import EVERYTHING, Approximate, Concentrated, Cost, Event, Loss, Pure, Truncated
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.exact import INFINITY
from sfumato.exact.written import rounded, typed
from sfumato.ledger import UNBOUNDED, Budget, Ledger
from sfumato.ledger.wording import ROOM, used_text
from sfumato.privacy import Secrets
from sfumato.privacy.filters import Meter
from sfumato.report.figures import metered

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP")
METER = (
    "The guarantee is the limit, not what is used so far: questions were chosen after seeing answers, so that number "
    "is no guarantee of its own."
)


def ledger_with(budget: Budget, *costs: Cost, reads: Any = EVERYTHING) -> Ledger:
    ledger = Ledger(None, budget)
    for number, cost in enumerate(costs):
        ledger.reserve(str(number), EVENT, Loss.flat(cost, reads=reads))
    return ledger


def test_guarantee():
    with ledger_with(Budget(Approximate(3, 1e-6), people={4: Pure(10)}, secrets=SECRETS)) as ledger:
        assert ledger.guarantee_text() == (
            "Everything answered through this ledger, now and later, together satisfies Approximate(3, 1e-6) "
            "for each person, whatever is asked."
        )
        assert ledger.guarantee_text("age", people=4) == (
            "Everything answered through this ledger, now and later, together satisfies Pure(10) "
            "for age and born of any 4 people together, whatever is asked."
        )
    with ledger_with(Budget(Truncated(1, 3))) as ledger:
        assert ledger.guarantee(people=3) is UNBOUNDED
        assert ledger.guarantee_text(people=3) == (
            "No limit of this ledger bounds what is learned about any 3 people together."
        )


def test_spent():
    with ledger_with(Budget(Pure(3)), Cost.pure("6/5")) as ledger:
        assert ledger.spent().text == f"Used so far 1.2 of 3. {METER}"
        assert ledger.spent().percent == 40
    with ledger_with(Budget(Concentrated("1/3")), Cost.concentrated("1/10")) as ledger:
        assert ledger.spent().text == f"Used so far 0.1 of 1/3. {METER}"


def test_spent_of_an_approximate_limit_has_no_single_number():
    with ledger_with(Budget(Approximate(1, 1e-6, leaks=5e-7)), *[Cost.pure("1/10")] * 8) as ledger:
        assert ledger.spent().text == (
            "Used so far 80 % of the limit. For experts: Epsilon 0.8 of 1. Order 23.25: no longer counted. Leaks 0 of "
            f"5e-7. {ROOM} {METER}"
        )
        assert ledger.spent().percent == 80
    with ledger_with(Budget(Approximate(1, 1e-6, leaks=5e-7)), Cost.concentrated("1/75")) as ledger:
        assert ledger.spent().text == (
            "Used so far 59 % of the limit. For experts: Epsilon no longer counted. Order 23.25: 0.311 of 0.533. Leaks 0 "
            f"of 5e-7. {ROOM} {METER}"
        )
        # What the per cent are of: at 59 % the epsilon at the delta of the limit is well above 59 % of its epsilon.
        assert metered(ledger.spent()).epsilon_at(Fraction(1, 10**6)) > Fraction(59, 100)
        assert ledger.spent().percent == 59
    with ledger_with(Budget(Approximate(1, 1e-6, leaks=5e-7)), Cost.approximate("1/10", "49/100000000")) as ledger:
        assert ledger.spent().percent == 98


def test_a_route_that_is_used_up_does_not_read_as_overspent():
    meter = Meter("tau", Fraction(9969, 10_000), Fraction(9))
    meters = (Meter("leak", Fraction(1, 10**7)), Meter("epsilon", Fraction(1, 3)), meter)
    said = used_text(meters, (Fraction(0), Fraction(1, 3), Fraction(9966, 10_000)))
    assert said == (
        "Used so far 100 % of the limit. For experts: Epsilon all of 1/3. Order 9: all of 0.9969. Leaks 0 of 1e-7."
    )
    assert "Order 9: 0.5 of 0.9969." in used_text(meters, (Fraction(0), Fraction(0), Fraction(1, 2)))


def test_what_is_used_stands_in_plain_columns():
    with ledger_with(Budget(Pure("1/2")), Cost.pure("2/5")) as ledger:
        assert (ledger.spent().percent, ledger.spent().numbers, ledger.spent().experts) == (80, "0.4 of 0.5", "")
        assert "0.4 of 0.5" in str(ledger) and "in numbers" in str(ledger)
    with ledger_with(Budget(Approximate(1, 1e-6))) as ledger:
        assert (ledger.spent().numbers, ledger.spent().experts) == ("epsilon 0 of 1", ""), "nothing was counted yet"
    with ledger_with(Budget(Approximate(1, 1e-6)), Cost.gaussian("0.021")) as ledger:
        assert ledger.spent().numbers == "Gaussian 0.021 of 0.054 (39 %)"
        assert ledger.spent().experts.startswith("Gaussian 0.021 of")


def test_refusals():
    with ledger_with(Budget(Pure(1)), Cost.pure("96/100")) as ledger, pytest.raises(BudgetExceeded) as refused:
        ledger.reserve("x", EVENT, Loss.flat(Cost.pure("1/10")))
    assert str(refused.value) == (
        "Refused before the data were touched: the limit on a person, 0.1 asked, 0.04 left. A smaller spend may fit."
    )
    with ledger_with(Budget(Pure(1)), Cost.pure(1)) as ledger:
        assert ledger.preview(Loss.flat(Cost.pure("1/3"))).text == (
            "Refused before the data were touched: the limit on a person, 0.334 asked, 0 left. Nothing more can be asked "
            "with this ledger."
        )
    with ledger_with(Budget(Approximate(1, 1e-6, leaks=5e-7)), Cost.concentrated("1/100")) as ledger:
        assert ledger.preview(Loss.flat(Cost.concentrated("1/50"))).text == (
            "Refused before the data were touched: more is asked than is left of the limit on a person. A smaller spend may "
            "fit. For experts: the limit on a person, epsilon is no longer counted, because an earlier answer did not fit it; the Rényi loss "
            "of order 23.25: 0.466 asked, 0.3 left (one of these ways of counting is enough)."
        )
        assert ledger.preview(Loss.flat(Cost.approximate("1/10", 1e-3))).text == (
            "Refused before the data were touched: more is asked than is left of the limit on a person. For experts: the limit on "
            "a person, leaks 0.001 asked, 5e-7 left (the limit keeps too little of delta for leaks)."
        )


def test_a_refusal_speaks_of_the_limit_that_hinders():
    two = Secrets(("age", "sex"))
    budget = Budget(Pure(2), Pure("4/10"), secrets=two)
    with ledger_with(budget, Cost.pure("3/10"), reads={"age"}) as ledger:
        said = ledger.preview(Loss.flat(Cost.pure("2/10"), reads={"age"})).text
        assert (
            said
            == "Refused before the data were touched: the limit on age, 0.2 asked, 0.1 left. A smaller spend may fit."
        )
    with ledger_with(budget, Cost.pure("4/10"), reads={"age"}) as ledger:
        asked = {"spend": Pure("1/10"), "make_loss": lambda part: Loss.flat(Cost.of(part), reads={"age"})}
        with pytest.raises(BudgetExceeded) as refused:
            ledger.reserve("x", EVENT, Loss.flat(Cost.pure("1/10"), reads={"age"}), **asked)
        assert refused.value.largest is None and str(refused.value) == (
            "Refused before the data were touched: the limit on age, 0.1 asked, 0 left. Nothing more of age can be asked "
            "with this ledger."
        )
        both = ledger.preview(Loss.flat(Cost.pure(1), reads={"age", "sex"})).text
        assert "the limit on sex, 1 asked, 0.4 left. Nothing more of age can" in both, (
            "what a smaller spend cannot mend"
        )
        assert ledger.preview(Loss.flat(Cost.pure("4/10"), reads={"sex"})).fits
    with ledger_with(
        replace(budget, each_attribute=Approximate("4/10", 1e-6)), Cost.pure("4/10"), reads={"age"}
    ) as ledger:
        said = ledger.preview(Loss.flat(Cost.pure("1/10"), reads={"age"})).text
        assert "more is asked than is left of the limit on age. Nothing more of age can be asked" in said


def test_a_leak_that_is_refused_names_the_question_that_divided_delta():
    with ledger_with(Budget(Approximate(1, 1e-6)), Cost.concentrated("1/100")) as ledger:
        said = ledger.preview(Loss.flat(Cost.approximate("1/10", 1e-3))).text
        assert "(the limit keeps too little of delta for leaks; the first question of this ledger set aside " in said
        assert said.endswith(" of delta 1e-6 for such questions).")


def test_a_limit_says_that_its_first_question_divides_delta():
    with ledger_with(Budget(Approximate(1, 1e-6))) as ledger:
        assert ledger.spent().text == (
            "Nothing spent. The first question decides how delta is divided. It takes up to Pure(1), Gaussian noise of "
            "variance 17.9 for sensitivity 1, or Approximate(1, 1e-6)."
        )
        assert ledger.spent().percent == 0
        assert ledger.preview(Loss.flat(Cost.approximate(2, 1e-3))).text == (
            "Refused before the data were touched: more is asked than is left of the limit on a person. For experts: the limit on "
            "a person, leaks 0.001 asked, 1e-6 left (the limit keeps too little of delta for leaks)."
        )
    with ledger_with(Budget(Approximate(1, 1e-6)), Cost.gaussian("0.021")) as ledger:
        said = (
            "Used so far 39 % of the limit. For experts: Gaussian 0.021 of 0.054 (39 %). Epsilon no longer counted. "
            "Order 26.25: 0.276 of 0.529. Leaks 0 of 5e-8."
        )
        assert ledger.spent().text == f"{said} {ROOM} {METER}"
        assert ledger.spent().percent == 39


def test_a_refusal_by_thousands_of_limits_stays_short():
    budget = Budget(Pure(9), attributes={name: Pure("1/10") for name in SECRETS.names}, secrets=SECRETS)
    many = {(a, b): Pure("1/10") for a in SECRETS.names for b in SECRETS.names}
    with ledger_with(Budget(budget.person, attributes={**dict(budget.attributes), **many}, secrets=SECRETS)) as ledger:
        text = ledger.preview(Loss.flat(Cost.pure(1))).text
        assert text.endswith("; and 1 more. A smaller spend may fit.")


def test_odometer():
    with ledger_with(Budget(Approximate(9, 1e-6)), Cost.concentrated("1/40")) as ledger:
        reading = rounded(ledger.odometer(EVERYTHING).log_odds, up=True)
        assert ledger.odometer().text == (
            "For any one person and any one other record fixed beforehand, with probability at least 1 - 1e-6 over "
            "the noise, the answers of this run raise the odds of the true record over the other by a factor of at "
            f"most e^{reading}, now; the numbers shown earlier hold with it. This is about this run; it is not "
            f"Approximate({reading}, 1e-6)."
        )
        assert reading == "1.32"


def test_plan():
    half = [(EVENT, Loss.flat(Cost.pure("6/10")))] * 2
    with ledger_with(Budget(Pure(3))) as ledger:
        plan = ledger.plan("plan", half)
        assert plan.text("1e-6") == (
            "The plan was fixed before the data were touched: its total, (1.2, 1e-6), is a guarantee for the plan."
        )
        assert plan.reservation.event["parameters"]["parts"][1]["name"] == "Laplace"
        assert ledger.spent().sums[1] == Fraction(12, 10)
        ledger.start("plan")
        ledger.save_state("plan", 0, b"1 of 2", b"first")
        ledger.save_state("plan", 1, b"2 of 2", b"second")
        assert ledger.spent().sums[1] == Fraction(12, 10)
        with pytest.raises(ParameterError, match="at least one release"):
            ledger.plan("none", [])


@pytest.mark.parametrize(
    ("number", "up", "text"),
    [
        ("0", True, "0"),
        ("1.2", True, "1.2"),
        ("1.25", True, "1.25"),
        ("1.251", True, "1.26"),
        ("1.259", False, "1.25"),
        ("0.5332", False, "0.533"),
        ("0.001234", True, "0.00124"),
        ("5e-7", True, "5e-7"),
        ("1.234e-9", False, "1.23e-9"),
        ("123456", True, "123456"),
        ("99.999", True, "100"),
        ("0.09999", True, "0.1"),
    ],
)
def test_numbers_are_rounded_to_the_safe_side(number, up, text):
    assert rounded(Fraction(number), up=up) == text


def test_infinity_is_a_word():
    assert rounded(INFINITY, up=True) == "infinity"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.fractions(min_value=0, max_value=1000))
def test_rounded_numbers_are_never_on_the_wrong_side(number):
    assert Fraction(rounded(number, up=True)) >= number >= Fraction(rounded(number, up=False))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.fractions(min_value=0, max_value=1000))
def test_typed_numbers_are_exact(number):
    assert Fraction(typed(number)) == number


def test_bounds_are_shown_as_typed():
    assert str(Truncated(0.05, 20)) == "Truncated(0.05, 20)"
    assert str(Approximate(3, 1e-6)) == "Approximate(3, 1e-6)"
    assert str(Pure("1/3")) == "Pure(1/3)"
