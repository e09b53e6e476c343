"""What a question claims for attributes: true for all tiny neighbours, and false as soon as a claim is bent."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Approximate, Concentrated, Pure, Truncated, audit
from sfumato.ask.prepared import Prepared, Several
from sfumato.errors import CertificationError, ParameterError, SchemaError, UnsupportedSpend
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Bound, Loss
from sfumato.questions import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.questions.queries.question import Queries
from sfumato.questions.synthesis.question import Synthesize
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.schema import Schema
from sfumato.totals.noisy import Moves, noise_on_grid
from sfumato.totals.private_keys import StableHistogram, stable_histogram
from sfumato.workload.builders import marginals
from tests.imputed import fixed, integers
from tests.questions.tiny import EndToEnd, TinyTable, distinct, neighbours

SCHEMA = Schema({"key": integers(0, 1), "side": integers(0, 1), "value": integers(0, 2)})
ONE = Basis(SCHEMA, 2)


def whole_path(question: Question) -> EndToEnd:
    return EndToEnd(question=question, setting=ONE, spend=Pure(6))


def noise_of(prepared: Prepared) -> AdditiveNoise:
    assert isinstance(prepared.mechanism, Several)
    (only,) = prepared.mechanism.mechanisms
    assert isinstance(only, AdditiveNoise)
    return only


def broken(mechanism: EndToEnd, claim: Loss) -> bool:
    pairs = distinct(mechanism, neighbours(ONE, [()], 1), linear=True)
    assert audit.check(mechanism, pairs, tail=1e-6).ok
    return not audit.check(mechanism, pairs, claim=claim, tail=1e-6).ok


def test_claims_of_attributes_that_are_exchanged_are_false() -> None:
    mechanism = whole_path(GroupBy("key", [Sum("value")]))
    noise = noise_of(mechanism.prepared)
    key, value = (moves for _, moves in noise.by_attribute)
    assert key.l1 == 4 and value.l1 == 2
    assert broken(mechanism, replace(noise, by_attribute=(("key", value), ("value", key))).loss())


def test_a_claim_without_the_filter_s_attribute_is_false() -> None:
    mechanism = whole_path(Histogram("key", "side = 1"))
    noise = noise_of(mechanism.prepared)
    assert {name for name, _ in noise.by_attribute} == {"key", "side"}
    kept = tuple(pair for pair in noise.by_attribute if pair[0] == "key")
    assert broken(mechanism, replace(noise, by_attribute=kept, reads=frozenset({"key"})).loss())


def test_a_claim_for_the_person_by_the_worst_attribute_is_false() -> None:
    mechanism = whole_path(Histogram("key", "side = 1"))
    noise = noise_of(mechanism.prepared)
    assert broken(mechanism, replace(noise, sensitivity=dict(noise.by_attribute)["side"], by_attribute=()).loss())


def test_a_release_that_reads_no_attribute_and_moves_is_charged_to_all() -> None:
    public = Schema({"town": integers(0, 3, public=True), "age": integers(0, 9)})
    setting = Basis(public, 9)
    for question, spend in (
        (Quantiles("town"), Pure(1)),
        (Histogram("town", keys="private"), Approximate(1, 1e-6)),
    ):
        loss = question.prepare(setting, spend).mechanism.loss()
        assert loss.at("age").epsilon == loss.person.epsilon == 1
    loss = Histogram("town").prepare(setting, Pure(1)).loss()
    assert loss.person.epsilon == 1 and loss.at("age").is_zero, "of totals it is known that no attribute moves them"


def test_parts_that_read_different_columns_charge_each_attribute_for_its_own() -> None:
    loss = GroupBy("key", [Count(), Sum("value")]).prepare(ONE, Pure(2)).loss()
    assert loss.person.epsilon == loss.at("key").epsilon == 2
    assert loss.at("value").epsilon == Fraction(1, 2), (
        "the count does not read the value, which moves the sum by 2 of 4"
    )
    assert loss.at("side").is_zero and loss.at({"side", "value"}).epsilon == Fraction(1, 2)
    assert loss.at({"key", "value"}).epsilon == 2


def test_a_mean_is_one_release_of_sum_and_count() -> None:
    """A count beside the sum costs nothing: the sum has the noise of one whose number of rows is public."""
    prepared = Mean("value", "side = 1").prepare(ONE, Pure(2))
    assert isinstance(prepared.mechanism, Several) and len(prepared.mechanism.mechanisms) == 1
    public = Mean("value").prepare(ONE, Pure(2)).mechanism
    assert isinstance(public, Several) and public.mechanisms[1].loss().person.is_zero
    noise, alone = prepared.mechanism.mechanisms[0], public.mechanisms[0]
    assert isinstance(noise, AdditiveNoise) and isinstance(alone, AdditiveNoise)
    assert noise.law.scale == 2 * alone.law.scale, "it counts twice the sum"  # type: ignore[union-attr]
    loss = prepared.loss()
    assert [loss.at(name).epsilon for name in ("side", "value", "key")] == [2, 2, 0] and loss.person.epsilon == 2


def test_disjoint_groups_are_one_release_and_columns_are_charged_one_by_one() -> None:
    """Parallel composition: more cells cost no more. Per-column composition: one histogram a column (PDP-PAR)."""
    few, many = (Schema({"key": integers(0, most), "side": integers(0, 1)}) for most in (1, 999))
    for schema in (few, many):
        loss = Histogram("key").prepare(Basis(schema, 9), Pure(1)).mechanism.loss()
        assert loss.person.epsilon == 1 and loss.at("side").is_zero
    together = sum(
        (Histogram(name).prepare(ONE, Pure(1)).mechanism.loss() for name in ("side", "value")),
        Histogram("key").prepare(ONE, Pure(1)).mechanism.loss(),
    )
    assert [together.at(name).epsilon for name in SCHEMA.names] == [1, 1, 1]
    assert together.at({"key", "side"}).epsilon == 2 and together.person.epsilon == 3
    rows = pyarrow.table({"key": [0, 1], "side": [1, 0], "value": [2, 2]})
    with sf.curate(rows, SCHEMA, sf.Budget(Pure(3), each_attribute=Pure(1))) as curator:
        for name in SCHEMA.names:
            curator.histogram(name, spend=Pure(1))
        assert curator.ledger.spent("key").left[1] == 0
        with pytest.raises(sf.errors.BudgetExceeded):
            curator.histogram("key", where="side = 1", spend=Pure("0.01"))


def test_the_number_of_rows_is_public_only_where_it_is_the_number_of_people() -> None:
    weighed = Basis(Schema(dict(SCHEMA.columns), "person", 2), 5)
    for setting, public in ((ONE, True), (replace(ONE, relation=ADD_REMOVE), False), (weighed, False)):
        for question in (Count(), Mean("value"), Variance("value")):
            prepared = question.prepare(setting, Pure(1))
            assert isinstance(prepared.mechanism, Several)
            counts = prepared.mechanism.mechanisms[-1]
            assert counts.loss().person.is_zero is public
    assert Count("value >= 0").canonical(SCHEMA) == Count().canonical(SCHEMA), "a filter that all rows pass is none"
    assert not Count("value >= 1").prepare(ONE, Pure(1)).mechanism.loss().person.is_zero


def test_per_attribute_spends_are_refused_where_they_mean_nothing() -> None:
    spend = Pure(1).per_attribute()
    constant = Schema({"value": integers(5, 5), "key": integers(0, 1)}, "person", 1)
    with pytest.raises(UnsupportedSpend, match="No single attribute"):
        Sum("value").prepare(Basis(constant, 5), spend)


@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Truncated("0.1", 10)], ids=repr)
@pytest.mark.parametrize("key", [None, ("visit",)], ids=["contents", "key"])
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_a_spend_per_attribute_is_what_one_attribute_costs(relation: Any, key: Any, spend: Bound) -> None:
    """With several rows a person and under both relations: no attribute costs more, and some one costs that."""
    schema = Schema(dict(SCHEMA.columns), "person", 2, row_key=key)
    workload = marginals(schema, width=2)
    basis, each = Basis(schema, 50, relation), spend.per_attribute()
    for question in (Histogram("key"), Sum("value", "side = 1"), Quantiles("value"), Queries(workload), Synthesize()):
        loss = question.prepare(basis, each).loss()
        for name in schema.names:
            assert loss.at(name).within(spend), (question, name)
        most = max(loss.at(name).epsilon_at(Fraction(1, 10**6)) for name in schema.names)
        assert most >= (loss.person.epsilon_at(Fraction(1, 10**6)) if key is None and relation is REPLACE_ONE else 0)


def test_a_changed_attribute_may_cost_more_than_a_person_who_comes() -> None:
    loss = Histogram("key").prepare(Basis(SCHEMA, 50, ADD_REMOVE), Pure(1)).loss()
    assert loss.person.epsilon == 1 and loss.at("key").epsilon == 2 and loss.at("side").is_zero
    centred = Sum("value").prepare(Basis(Schema({"value": integers(0, 100)}), 50, ADD_REMOVE), Pure(1)).loss()
    assert centred.person.epsilon == centred.at("value").epsilon == 1


def test_the_schema_decides_in_which_form_a_mean_is_held() -> None:
    """Its bytes are stored, so a form that followed the data would tell how large they are."""
    wide = Schema({"pay": integers(0, 2**40), "side": integers(0, 1)})
    for schema, kind in ((SCHEMA, "i"), (wide, "O")):
        column = schema.names[-1] if schema is SCHEMA else "pay"
        prepared = Mean(column, "side = 1").prepare(Basis(schema, 9), Pure(1))
        forms = {prepared.arrange((total, count))[0].dtype.kind for total, count in ((0, 0), (5, 2), (2**61, 2**20))}
        assert forms == {kind}


def test_an_attribute_that_moves_nothing_is_not_charged() -> None:
    constant = Schema({"value": integers(5, 5), "key": integers(0, 1)})
    loss = Histogram(["value", "key"]).prepare(Basis(constant, 5), Concentrated(1)).mechanism.loss()
    assert loss.at("value").is_zero and loss.at("key").rho() == 1


def test_spends_that_pay_for_nothing_are_refused() -> None:
    for question in (Count("side = 1"), Quantiles("value"), Histogram("key", keys="private")):
        with pytest.raises(UnsupportedSpend):
            question.prepare(ONE, Pure(0))
    with pytest.raises(ParameterError, match="Pure"):
        Count("side = 1").prepare(ONE, 0.1)  # type: ignore[arg-type]


def test_a_plan_that_does_not_fit_its_spend_is_withheld() -> None:
    class Greedy(Count):
        """Spends twice what it was given."""

        kind = "Greedy"

        def plan(self, setting: Basis, spend: sf.privacy.Bound) -> Prepared:
            return super().plan(setting, Pure(2))

    with pytest.raises(CertificationError, match="does not provably fit"):
        Greedy("side = 1").prepare(ONE, Pure(1))


def test_what_a_view_would_refuse_is_refused_before_anything_is_spent() -> None:
    huge = Schema({"value": integers(-(2**40), 2**40), "key": integers(0, 1)})
    setting = Basis(huge, 5)
    with pytest.raises(SchemaError, match="too large"):
        Variance("value").prepare(setting, Pure(1))
    for make in (lambda: Histogram(["key", "key"]), lambda: GroupBy(["key", "key"], [Count()])):
        with pytest.raises(ParameterError, match="twice"):
            make()


@pytest.mark.parametrize("rows", [1, 3])
def test_rounding_to_a_grid_costs_little(rows: int) -> None:
    """A person in a million cells moves each by little: a coarse grid would double the sensitivity."""
    schema = Schema({"key": integers(0, 999_999)}, "person", rows)
    setting = Basis(schema, 5)
    moves = Moves.of(setting.gauge(Totals(("key",))))
    for spend in (Pure(1), Pure("0.1"), Concentrated("0.1")):
        noise, grid = noise_on_grid(spend, moves, 1_000_000)
        assert noise.sensitivity.l1 * grid <= moves.person.l1 * Fraction(102, 100)
        assert noise.sensitivity.l2_squared * grid**2 <= moves.person.l2_squared * Fraction(102, 100) ** 2


def test_noise_is_never_wider_than_what_can_be_drawn() -> None:
    schema = Schema({"gain": fixed(0, 10**12, step="0.01"), "key": integers(0, 1)})
    for spend in (Pure("1e-6"), Concentrated("1e-9"), Approximate("1e-4", 1e-9), Pure(1)):
        prepared = Sum("gain", "key = 1").prepare(Basis(schema, 5), spend)
        noise = noise_of(prepared)
        exact = prepared.exact(TinyTable(schema, ((1, ((10**14, 1),)),)))
        released = prepared.finish((noise.run(exact[0], sf.Noise(insecure_seed=1)),))
        low, high = Sum("gain").interval(released, Fraction(999_999, 10**6))
        assert low < 10**12 < high


def test_thresholds_of_found_keys() -> None:
    """Formulas against the spec's closed form, and the gain of counting a person's rows once."""
    assert stable_histogram(Approximate(1, 1e-6)).threshold == 28
    several = stable_histogram(Approximate(1, 1e-6), rows=10, groups=10)
    assert several.loss().person.epsilon == 1 and several.scale == 20
    assert several.leak() <= Fraction(1, 10**6) < replace(several, threshold=several.threshold - 1).leak()
    one_key = stable_histogram(Approximate(1, 1e-6), rows=10)
    assert one_key.threshold <= several.threshold
    with pytest.raises(ParameterError, match="as many rows"):
        stable_histogram(Approximate(1, 1e-6), groups=2)
    with pytest.raises(ParameterError, match="raise it"):
        StableHistogram(scale=Fraction(1), threshold=1).loss()
    with pytest.raises(UnsupportedSpend, match="delta"):
        stable_histogram(Pure(1))
    assert several.smallest_published() > several.threshold
    assert Loss.from_json(several.loss().to_json()) == several.loss()
    assert several.reads is EVERYTHING
