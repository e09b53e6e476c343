"""Every bad input is a typed error with a sentence, and nothing large hangs."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import NotProvable, ParameterError, RelationMismatch, SfumatoError
from sfumato.exact import INFINITY
from sfumato.noise import Noise
from sfumato.papers.truncated_cdp.report import account, frontier, group_report, omega_at, rho_at, to_rdp, to_truncated
from sfumato.perturb import calibrate
from sfumato.privacy import (
    ADD_REMOVE,
    REPLACE_ONE,
    Approximate,
    ByCount,
    Concentrated,
    Cost,
    LinearCurve,
    Loss,
    Minimum,
    Pure,
    PureCurve,
    Tree,
    Truncated,
    Weighted,
    bound_from_json,
    curve_from_json,
    parallel,
    require_bound,
    subsample_loss,
)
from sfumato.privacy.profile import profile_from_json
from sfumato.privacy.readings import belief_change, guess, information, loss_tail, table_information

NOT_NUMBERS = [float("nan"), float("inf"), float("-inf"), "nan", "many", None, True, [1], 1j, Decimal("NaN"), object()]
TAKES_NUMBERS = {
    "Pure": Pure,
    "Concentrated": Concentrated,
    "Truncated rho": lambda x: Truncated(x, 5),
    "Truncated omega": lambda x: Truncated(1, x),
    "Approximate epsilon": lambda x: Approximate(x, 1e-6),
    "Approximate delta": lambda x: Approximate(1, x),
    "Cost.pure": Cost.pure,
    "Cost.concentrated": Cost.concentrated,
    "Cost.truncated": lambda x: Cost.truncated(x, 5),
    "Cost.truncated omega": lambda x: Cost.truncated(1, x),
    "Cost.approximate": lambda x: Cost.approximate(1, x),
    "Cost.range_bounded": Cost.range_bounded,
    "tau": lambda x: Cost.pure(1).tau(x),
    "epsilon_at": lambda x: Cost.pure(1).epsilon_at(x),
    "delta_at": lambda x: Cost.pure(1).delta_at(x),
    "rho_at": lambda x: rho_at(Cost.pure(1), x),
    "omega_at": lambda x: omega_at(Cost.pure(1), x),
    "to_rdp": lambda x: to_rdp(Cost.pure(1), [x]),
    "to_truncated": lambda x: to_truncated(Cost.pure(1), x),
    "account": lambda x: account({"a": Cost.truncated(1, 5)}, x),
    "guess": guess,
    "belief_change": belief_change,
    "information": information,
    "loss_tail": lambda x: loss_tail(x, INFINITY, 1),
    "table_information": lambda x: table_information(x, INFINITY, 1),
}


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: f"{type(value).__name__}-{str(value)[:4]}")
@pytest.mark.parametrize("name", TAKES_NUMBERS)
def test_what_is_no_number(name, value):
    with pytest.raises(ParameterError, match=r"^[A-Za-z].* .*\.$"):
        TAKES_NUMBERS[name](value)


@pytest.mark.parametrize("name", sorted(set(TAKES_NUMBERS) - {"loss_tail threshold"}))
def test_negative_numbers(name):
    with pytest.raises(ParameterError, match=r"\.$"):
        TAKES_NUMBERS[name](-1)


@pytest.mark.parametrize("value", [0, 1, 2, -1, "1"])
def test_delta_lies_strictly_between_0_and_1(value):
    for build in (lambda: Approximate(1, value), lambda: Cost.approximate(1, value)):
        with pytest.raises(ParameterError, match="strictly between 0 and 1"):
            build()


@pytest.mark.parametrize("value", [1, 0, "1/2", -3, 0.999])
def test_omega_is_above_1(value):
    for build in (lambda: Truncated(1, value), lambda: Cost.truncated(1, value), lambda: Cost.truncated(0, value)):
        with pytest.raises(ParameterError, match="above 1"):
            build()


@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True, None, Fraction(2)])
def test_counts_of_people_are_whole_and_positive(value):
    for ask in (
        lambda: Cost.pure(1).for_group(value),
        lambda: Pure(1).split(value),
        lambda: group_report(Cost.pure(1), 0, (value,)),
        lambda: table_information(1, INFINITY, value),
    ):
        with pytest.raises(ParameterError, match=r"\.$"):
            ask()


@pytest.mark.parametrize("value", [-1, 2.0, "2", True, None, Fraction(2)])
def test_repetitions_are_whole(value):
    for repeated in (Cost.pure(1), Loss.flat(Cost.pure(1)), PureCurve(Fraction(1))):
        with pytest.raises(ParameterError, match="whole number of times"):
            repeated * value


def test_bare_numbers_are_no_bounds():
    for value, sentence in ((0.1, r"Pure\(0.1\)"), ("x", "Pure"), (None, "Pure"), (True, "Pure")):
        with pytest.raises(ParameterError, match=sentence):
            require_bound(value)
        with pytest.raises(ParameterError, match=sentence):
            Loss.flat(Cost.pure(1)).within(value)  # type: ignore[arg-type]


def test_costs_hold_exact_numbers_only():
    for epsilon, curve, leak in (
        (float("nan"), PureCurve(Fraction(1)), Fraction(0)),
        (0.5, PureCurve(Fraction(1)), Fraction(0)),
        (Fraction(1), PureCurve(Fraction(1)), 0.1),
        (Fraction(-1), PureCurve(Fraction(1)), Fraction(0)),
        (Fraction(1), PureCurve(Fraction(1)), Fraction(1)),
        (Fraction(1), None, Fraction(0)),
    ):
        with pytest.raises(ParameterError, match=r"\.$"):
            Cost(epsilon, curve, leak)  # type: ignore[arg-type]


def test_leaks_never_reach_1():
    half = Cost.approximate(1, "0.6")
    for build in (lambda: half + half, lambda: 2 * half):
        with pytest.raises(ParameterError, match="nothing would be promised"):
            build()
    with pytest.raises(NotProvable, match="promises nothing"):
        Cost.approximate(1, 1e-6).for_group(30)
    with pytest.raises(NotProvable):
        parallel([Cost.approximate(20, 1e-6)] * 2, REPLACE_ONE)


def test_empty_things():
    assert Cost.pure(0).is_zero
    assert (0 * Cost.pure(1)).is_zero
    assert (0 * Loss.flat(Cost.pure(1))).person.is_zero
    with pytest.raises(ParameterError, match="reads="):
        Loss.flat(Cost.pure(1), reads=set())
    assert Loss.flat(Cost.pure(1)).at(set()).is_zero
    with pytest.raises(ParameterError, match="reads="):
        Loss.flat(Cost.pure(1)).within(Pure(1).per_attribute())
    with pytest.raises(ParameterError):
        ByCount((), frozenset({"a"}))
    with pytest.raises(ParameterError):
        Minimum(())
    with pytest.raises(ParameterError):
        frontier(Cost.pure(1), points=0)


def test_shapes_that_contradict_themselves():
    with pytest.raises(ParameterError, match="must not fall"):
        ByCount((Cost.pure(2), Cost.pure(1)), frozenset({"a", "b"}))
    with pytest.raises(ParameterError, match="nested or disjoint"):
        Tree(((frozenset("ab"), Cost.pure(1)), (frozenset("bc"), Cost.pure(1))))
    with pytest.raises(ParameterError, match="zero or more"):
        Weighted((("a", Fraction(-1)), ("b", Fraction(2))))
    with pytest.raises(ParameterError, match="same attribute"):
        Weighted((("a", Fraction(1)), ("a", Fraction(2))))
    with pytest.raises(ParameterError, match="leak"):
        Minimum(
            (
                Weighted((("a", Fraction(1)),)),
                profile_from_json(Loss.flat(Cost.approximate(1, 0.1)).to_json()["profile"]),
            )
        )
    with pytest.raises(ParameterError, match="unit"):
        Pure(1, unit="household")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="per-attribute form"):
        Approximate(1, 1e-6).per_attribute()
    with pytest.raises(ParameterError, match="at most delta"):
        Approximate(1, 1e-6, leaks=1e-5)
    with pytest.raises(ParameterError, match="routes"):
        Approximate(1, 1e-6, routes=((1, 1),))


def test_approximate_has_no_per_attribute_form_however_it_is_written():
    # A ledger charges a person with what an Approximate spend says: per attribute, six columns cost six times that.
    written = Approximate(1, 1e-6)
    for make in (lambda: Approximate(1, 1e-6, unit="attribute"), lambda: replace(written, unit="attribute")):
        with pytest.raises(ParameterError, match="no per-attribute form"):
            make()
    assert bound_from_json({**written.to_json(), "unit": "attribute"}) == written


def test_relations_and_parts_that_do_not_fit():
    with pytest.raises(RelationMismatch):
        parallel([Cost.pure(1)], "replace_one")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="inside="):
        parallel([Cost.pure(1)] * 2, REPLACE_ONE, inside=[Cost.pure(1)])
    with pytest.raises(RelationMismatch):
        Loss.flat(Cost.pure(1), relation=REPLACE_ONE) + Loss.flat(Cost.pure(1), relation=ADD_REMOVE)


def test_a_scheme_for_other_neighbours_names_what_can_be_written():
    with pytest.raises(RelationMismatch, match=r"relation=ADD_REMOVE, or .* write 'without_replacement'"):
        subsample_loss(Loss.flat(Cost.gaussian(1)), 10_000, 100, "poisson")
    with pytest.raises(RelationMismatch, match=r"relation=REPLACE_ONE, or .* write 'poisson'"):
        subsample_loss(Loss.flat(Cost.gaussian(1), relation=ADD_REMOVE), 10_000, 100, "without_replacement")


def test_unknown_records():
    for read, record in (
        (bound_from_json, {"bound": "Quantum"}),
        (curve_from_json, {"form": "quantum"}),
        (profile_from_json, {"shape": "quantum"}),
    ):
        with pytest.raises(SfumatoError, match="newer version"):
            read(record)


LARGE = 10**30


@pytest.mark.parametrize(
    "ask",
    [
        lambda: (LARGE * Cost.pure("0.1")).epsilon == LARGE // 10,
        lambda: (LARGE * Cost.concentrated("0.1")).rho() == LARGE // 10,
        lambda: (LARGE * Cost.truncated("0.1", 8)).within(Truncated(LARGE // 10, 8)),
        lambda: not (LARGE * Cost.pure("0.1")).within(Pure(LARGE // 10 - 1)),
        lambda: (LARGE * Loss.flat(Cost.pure("0.1"), {"a"})).at("a").epsilon == LARGE // 10,
        lambda: (LARGE * Cost.concentrated(1)).epsilon_at(1e-6) > LARGE,
        lambda: (10**400 * Cost.concentrated(1)).epsilon_at(1e-6) > LARGE,
        lambda: Cost.pure(1).for_group(LARGE).epsilon == LARGE,
        lambda: Cost.truncated("0.1", 8).for_group(LARGE).epsilon_at(1e-6) == INFINITY,
        lambda: len(str(Cost.truncated("0.1", "8.123456").for_group(3000).to_json())) < 4000,
        lambda: Cost.concentrated("0.1").delta_at(LARGE) < Fraction(1, 10**1000),
        lambda: Cost.concentrated("0.1").epsilon_at(Fraction(1, 10**400)) > 10,
        lambda: not Cost.concentrated("0.2").within(Truncated("0.1", 10**400)),
        lambda: Cost.concentrated("0.1").within(Truncated("0.1", 10**400)),
        lambda: Cost(INFINITY, LinearCurve(Fraction(1), Fraction(2))).tau(LARGE) == INFINITY,
    ],
)
def test_large_numbers_are_instant_and_exact(ask):
    start = time.process_time()
    assert ask()
    assert time.process_time() - start < 1


def test_large_groups_of_leaks_are_refused_at_once():
    start = time.process_time()
    with pytest.raises(NotProvable):
        Cost.approximate(1, 1e-6).for_group(LARGE)
    with pytest.raises(NotProvable):
        parallel([Cost.approximate(LARGE, 1e-6)] * 2, REPLACE_ONE)
    assert time.process_time() - start < 1


def test_numbers_of_other_libraries():
    assert Pure(np.float64(0.1)) == Pure("1/10") == Pure(Decimal("0.1"))
    assert Pure(np.int64(3)) == Pure(3)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (lambda: Pure(1) + Concentrated(1), r"Cost\.of\(Pure\(1\)\) \+ "),
        (lambda: sum([Pure(1), Pure(2)]), "Bounds are not added up"),
        (lambda: Cost.gaussian(sigma=4), r"write Cost\.gaussian\('1/16'\)"),
        (lambda: Cost.gaussian(), "needs amount"),
        (lambda: Cost.pure(1) + 1, "A cost is added to a cost, not to 1"),
        (lambda: 1 + Cost.pure(1), "A cost is added to a cost, not to 1"),
        (lambda: Loss.flat(Cost.pure(1)) + Cost.pure(1), "A loss is added to a loss"),
        (lambda: 0.0 + Loss.flat(Cost.pure(1)), "A loss is added to a loss"),
        (lambda: Noise(seed=1), r"write Noise\(insecure_seed=7\)"),
        (lambda: Noise(7), r"write Noise\(\), or Noise\(insecure_seed=7\)"),
        (lambda: calibrate(Pure(1), 1)(5, object()), "noise= is a sfumato.Noise, not object"),
    ],
)
def test_what_people_guess_is_answered_in_one_sentence(typed, says):
    with pytest.raises(ParameterError, match=says) as said:
        typed()
    assert str(said.value).endswith(".") and "\n" not in str(said.value)


def test_costs_and_losses_are_summed_by_sum():
    assert sum([Cost.pure("1/10")] * 3) == 3 * Cost.pure("1/10")
    assert sum([Loss.flat(Cost.pure("1/10"))] * 3) == 3 * Loss.flat(Cost.pure("1/10"))
