"""Columns of many values in a model: public bins, what lies inside them, and no refusal."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Approximate, Budget, Concentrated, Event, Ledger, Pure, Truncated, curate
from sfumato.ask.packing import pack, unpack
from sfumato.curator.planning import planned
from sfumato.domain import booleans, categories, dates, fixed, integers
from sfumato.errors import DomainTooLarge
from sfumato.model import Refined
from sfumato.model.base import model_from_json
from sfumato.model.refined import ColumnBins, coarse_space
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.questions import Synthesize
from sfumato.questions.synthesis import question
from sfumato.questions.synthesis.coarse import FINEST, LEAST, MOST, bins_of
from sfumato.questions.synthesis.cuts import occupied, split
from sfumato.table import Schema, open_table
from sfumato.table.gauge import Basis
from sfumato.workload.space import Space

SCHEMA = Schema(
    {"day": dates("2015-01-01", "2024-12-31"), "pay": integers(0, 1_200_000), "sex": categories("f", "m", missing="f")}
)


def data(rows: int = 40_000) -> Any:
    """Pay grows with the year; what is paid ends in zeros."""
    draw = np.random.default_rng(3)  # noqa: TID251
    days = draw.integers(0, 3653, rows)
    pay = np.minimum(1000 * (days // 4 + draw.integers(0, 200, rows)), 1_200_000)
    return pa.table(
        {
            "day": pa.array(days + 16436, pa.int32()).cast(pa.date32()),
            "pay": pa.array(pay, mask=draw.random(rows) < 0.05),
            "sex": draw.choice(["f", "m"], rows),
        }
    )


def test_bins_are_public_and_follow_the_calendar() -> None:
    space = Space.of(SCHEMA)
    bins = bins_of(space, 2048)
    assert bins is not None and set(bins) == {"day", "pay"}
    coarse = coarse_space(space, bins)
    assert sum(coarse.sizes) <= 2048
    days, pay = bins["day"], bins["pay"]
    # Ten years have 120 months, and missing days have a bin of their own; every day is a finer bin.
    assert len(days.starts) == 121 and days.starts[-1] == 3653 and days.finer == tuple(range(3654))
    first = SCHEMA.domain("day").first
    assert all(SCHEMA.domain("day").decode(first + start).day == 1 for start in days.starts[:-1])
    assert len(pay.finer) <= FINEST and set(pay.starts) <= set(pay.finer) and pay.starts[-1] == 1_200_001
    assert 100 < len(pay.starts) <= 256 and np.diff(pay.starts)[0] < np.diff(pay.starts)[-3]
    # A column of more than 256 values is wide however few the others have.
    assert set(bins_of(space, 10**8) or {}) == {"day", "pay"}
    assert bins_of(Space.of(Schema({f"c{place}": integers(0, 199) for place in range(10)})), 2048) == {}
    many = Space.of(Schema({f"c{place}": integers(0, 99) for place in range(400)}))
    assert bins_of(many, 2048) is None


@pytest.mark.parametrize("spend", [Pure(1), Concentrated(0.1), Truncated(0.1, 10), Approximate(1, 1e-6)])
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_the_parts_cost_what_they_may(spend: Any, relation: Any) -> None:
    prepared = Synthesize().prepare(Basis(SCHEMA, 40_000, relation), spend)  # which proves the loss
    coarse, inside = prepared.mechanism.mechanisms
    assert not inside.loss().person.is_zero and not coarse.loss().person.is_zero
    assert prepared.loss().person == coarse.loss().person + inside.loss().person
    assert prepared.gauge.attributes == {"day", "pay", "sex"}


@pytest.fixture
def few_codes(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let a model have few codes, so that it is fitted in a moment."""
    monkeypatch.setattr(question, "MOST_CODES", 80)
    return 80


def exact_tables(table: Any) -> tuple[Any, Any]:
    prepared = Synthesize().prepare(Basis(SCHEMA, table.num_rows), Concentrated(1))
    with open_table(table, SCHEMA) as opened:
        prepared.check(opened)
        exact = prepared.exact(opened)
    assert pack(unpack(pack(exact), SCHEMA)) == pack(exact)
    assert unpack(pack(exact), SCHEMA)[0].space.sizes == exact[0].space.sizes
    return prepared, exact


@pytest.mark.usefixtures("few_codes")
def test_tables_of_bins_are_counted_where_the_rows_are() -> None:
    table = data(3000)
    prepared, (coarse, inside) = exact_tables(table)
    bins = prepared.mechanism.cutting.grids
    codes = {
        name: np.array([SCHEMA.domain(name).encode(cell) for cell in table.column(name).to_pylist()])
        - SCHEMA.domain(name).first
        for name in SCHEMA.names
    }
    held = {name: bins[name].coarse_of(codes[name]) if name in bins else codes[name] for name in codes}
    for names, found in coarse.tables.items():
        expected = np.zeros(found.shape, np.int64)
        np.add.at(expected, tuple(held[name] for name in names), 1)
        np.testing.assert_array_equal(found, expected)
    for (name,), found in inside.tables.items():
        finer = np.searchsorted(bins[name].finer, codes[name], side="right") - 1
        np.testing.assert_array_equal(found, np.bincount(finer, minlength=len(bins[name].finer)))
    raw = prepared.mechanism.run((coarse, inside), Noise(insecure_seed=1))
    assert [found.shape for found in raw[1]] == [found.shape for found in inside.tables.values()]


@pytest.mark.audit
@pytest.mark.usefixtures("few_codes")
def test_a_model_of_days_and_money_keeps_what_lies_inside_its_bins() -> None:
    table = data()
    with curate(table, SCHEMA, Concentrated(50)) as curator:
        answer = curator.ask(Synthesize(), Concentrated(20))
    model = answer.value
    assert isinstance(model, Refined) and any("'day' has 3654 values" in note for note in answer.notes)
    assert model_from_json(model.to_json(), SCHEMA).marginal(["sex"]) == pytest.approx(
        model.marginal(["sex"]), abs=1e-6
    )
    days = model.marginal(["day"])
    assert days.shape == (3654,) and days.sum() == pytest.approx(1)
    rows = model.sample(20_000, Noise(insecure_seed=5))
    # Noise puts a little weight on missing days, of which there are none.
    drawn, true = rows.to_pandas().dropna(subset=["day"]), table.to_pandas()
    assert len(drawn) > 19_500
    assert rows.column("day").type == pa.date32() and min(drawn.day) >= date(2015, 1, 1)
    # Months follow the truth, pay follows the day through its bins, and pay has the shape it has inside a bin.
    for frame in (drawn, true):
        frame["year"] = [day.year for day in frame.day]
    means = drawn.groupby("year").pay.mean() / true.groupby("year").pay.mean()
    assert np.abs(means - 1).max() < 0.1
    assert np.abs(drawn.pay.isna().mean() - 0.05) < 0.02


def test_the_inside_of_a_bin_is_drawn_as_it_was_measured() -> None:
    bins = ColumnBins((0, 3, 7), (0, 1, 2, 3, 5, 7), 8)
    chances = bins.inside(np.array([3.0, 0, 1, 0, 0, 9]))
    assert chances.tolist() == [0.75, 0, 0.25, 0.5, 0.5, 1]
    assert bins.lengths.tolist() == [1, 1, 1, 2, 2, 1] and bins.owners.tolist() == [0, 0, 0, 1, 1, 2]


def test_too_many_columns_are_refused_with_what_to_do() -> None:
    schema = Schema({f"c{place}": integers(0, 99) for place in range(400)})
    with pytest.raises(DomainTooLarge, match="choose fewer columns"):
        Synthesize().prepare(Basis(schema, 1000), Pure(1))


@pytest.mark.parametrize("spend", [Approximate(1, "1e-6"), Approximate("1/5", "1e-6"), Approximate(3, "1e-7")], ids=str)
def test_an_approximate_spend_buys_several_wide_columns(spend: Approximate) -> None:
    """Gaussian tables of bins beside Laplace tables of their inside: their exact total is within the spend."""
    names = {"age": integers(0, 120), "income": integers(0, 200_000), "amount": integers(0, 50_000)}
    schema = Schema({**names, "term": integers(0, 60)})
    asked = planned(Basis(schema, 15_000, gaussians="rounded"), [Synthesize()], spend)
    assert asked.loss().person.epsilon_at(spend.delta) <= spend.epsilon
    with Ledger(None, Budget(spend)) as ledger:
        ledger.reserve("first", Event("Synthesize", "PDP:C-7"), asked.losses(spend))


MONEY = Schema(
    {
        "income": fixed(0, 200_000, step="0.01"),
        "loan": integers(0, 40_000),
        "wealth": fixed(0, 1_000_000, step="0.01"),
        "home": categories("own", "rent", missing="rent"),
    }
)


def money(rows: int) -> Any:
    """Income and loan go together by 0.7, and the few who own most lift the mean of wealth far above its middle."""
    draw = np.random.default_rng(8)  # noqa: TID251
    first, second, third = draw.normal(size=(3, rows))
    return pa.table(
        {
            "income": np.round(np.minimum(np.exp(10.4 + 0.45 * first), 200_000), 2),
            "loan": np.clip(12_000 + 5000 * (0.7 * first + 0.71 * second), 0, 40_000).astype(np.int64),
            "wealth": np.round(np.minimum(np.exp(8 + 2 * third), 1_000_000), 2),
            "home": np.where(first + draw.normal(size=rows) > 0, "own", "rent"),
        }
    )


def synthetic(table: Any, basis: Basis, spend: Any, seed: int = 3) -> tuple[Any, Any]:
    question = Synthesize()
    prepared = question.prepare(basis, spend)
    with open_table(table, basis.schema) as opened:
        raw = prepared.mechanism.run(prepared.exact(opened), Noise(insecure_seed=seed))
    released = prepared.finish(raw)
    return released, question.value(released).sample(10_000, Noise(insecure_seed=4)).to_pandas().astype({"home": str})


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("spend", [Approximate(1, "1e-8"), Pure(1)], ids=str)
def test_wide_columns_that_go_together_do_so_in_the_rows(spend: Any, relation: Any) -> None:
    """They were measured in some two hundred bins each, in whose noise a correlation of 0.67 was lost."""
    table = money(16_000)
    released, rows = synthetic(table, Basis(MONEY, 16_000, relation), spend)
    true = table.to_pandas()
    drawn = rows.dropna().astype({"income": float, "loan": float, "wealth": float})
    assert drawn.income.corr(drawn.loan) > 0.7 * true.income.corr(true.loan)
    # A skewed column keeps its middle, and its mean as far as noise allows; it was off by a factor of ten.
    assert drawn.wealth.median() == pytest.approx(true.wealth.median(), rel=0.25)
    assert 0.5 < drawn.wealth.mean() / true.wealth.mean() < 2
    assert not any("Not kept" in note and "'income' with 'loan'" in note for note in released.made["notes"])


def test_how_many_bins_follows_from_public_facts() -> None:
    def planned(people: int, spend: Any) -> Any:
        return Synthesize().prepare(Basis(MONEY, people), spend).mechanism

    spend = Approximate(1, "1e-6")
    few, some, many = (planned(people, spend).cutting.counts["income"] for people in (2_000, 16_000, 10**6))
    assert few < some < many <= MOST + 1 and few == LEAST + 1  # missing cells have a bin of their own
    assert planned(16_000, Approximate("0.5", "1e-6")).cutting.counts["income"] < some
    assert not hasattr(planned(200, spend), "cutting")  # where nothing says where to cut, nothing is cut


def test_cuts_follow_people_and_are_always_as_many() -> None:
    assert split([0, 0, 60, 50, 40, 0, 0], 3) == [0, 3, 4]  # none is lost on empty bins
    assert split([0] * 6, 6) == [0, 1, 2, 3, 4, 5]
    assert len(split([5, 0, 0, 0], 4)) == 4
    assert occupied([0, 50, 40, 3, -2, 4], [10] * 6) == (1, 3)
    assert occupied([-5, -4, -9], [10] * 3) == (0, 3)  # nothing stands out: nothing is left out
    assert occupied([1, 9, 2, -3, 4, 1], [10] * 6) == (0, 6)  # too few people to tell ends from the rest


def test_what_drowned_in_noise_is_said() -> None:
    """Two columns of 250 values, not wide enough to be binned, whose table is all noise."""
    schema = Schema(
        {"a": integers(0, 249, missing=0), "b": integers(0, 249, missing=0), "home": booleans(missing=False)}
    )
    draw = np.random.default_rng(8)  # noqa: TID251
    a = draw.integers(0, 250, 4000)
    table = pa.table({"a": a, "b": a, "home": a > 100})
    for spend in (Approximate(1, "1e-6"), Pure("0.2")):
        question = Synthesize()
        with curate(table, schema, Approximate(5, "1e-5")) as curator:
            answer = curator.ask(question, spend)
        said = [note for note in answer.notes if note.startswith("Not kept: how columns go together ('a' with 'b'")]
        assert said and ("derive about ten bins" in said[0] or "coarser bins" in said[0])
        assert "Not kept" in str(answer)
        assert "correlation" not in said[0]  # the two are equal: whatever figure it named, theirs is above it


def test_what_is_mostly_noise_is_named_and_what_is_kept_is_not() -> None:
    schema = Schema({"a": integers(0, 199, missing=0), "home": booleans(missing=False)})
    draw = np.random.default_rng(8)  # noqa: TID251
    a = draw.integers(0, 200, 2000)
    table = pa.table({"a": a, "home": a > 100})
    with curate(table, schema, Approximate(50, "1e-5")) as curator:
        poor, rich = curator.ask(Synthesize(), Pure("0.05")), curator.ask(Synthesize(), Pure(30))
    assert any(note.startswith("Mostly noise: the values of 'a'") for note in poor.notes)
    assert not any("oise:" in note or "Not kept" in note or "Not measured" in note for note in rich.notes)
