"""Questions on columns whose cells may be missing, end to end, with so little noise that the answer is the exact one."""

from __future__ import annotations

import json
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import Pure, Schema, workloads
from sfumato.answer import Released
from sfumato.domain import bins, booleans, categories, integers, text, times
from sfumato.errors import ParameterError
from sfumato.learn import PrivateThreshold
from sfumato.questions.synopsis.binary import Bits, one_hot
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.statistics import Part, Power
from sfumato.workload.queries import Ranges
from sfumato.workload.space import Space

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SCHEMA = Schema(
    {
        "pay": integers(0, 100),
        "job": categories("nurse", "clerk"),
        "ill": booleans(),
        "note": text(max_bytes=5),
        "band": bins("pay", step=50),
        "seen": times("2020-01-01", "2020-01-03", step="1d"),
    }
)
ROWS = 600
DATA = pa.table(
    {
        "pay": [None if row % 3 == 0 else 30 + 40 * (row % 2) for row in range(ROWS)],
        "job": [("nurse", "clerk", "smith", None)[row % 4] for row in range(ROWS)],
        "ill": [(True, False, None)[row % 3] for row in range(ROWS)],
        "note": [("a", None)[row % 2] for row in range(ROWS)],
        "seen": [("2020-01-02 10:00", "soon")[row % 2] for row in range(ROWS)],
    }
)
MUCH = Pure(10**7)


@pytest.fixture(scope="module")
def curator() -> Any:
    with sf.curate(DATA, SCHEMA, Pure(10**9)) as found:
        yield found


def test_aggregates_pass_missing_cells_over(curator: Any) -> None:
    assert curator.mean("pay", spend=MUCH).value == pytest.approx(50, abs=1e-3)
    assert curator.sum("pay", spend=MUCH).value == 20_000
    assert curator.ask(sf.Variance("pay"), MUCH).value == pytest.approx(400, abs=0.01)
    assert curator.count("pay IS NOT NULL", spend=MUCH).value == 400
    assert curator.count("pay > 0 OR NOT pay > 0", spend=MUCH).value == 400
    assert curator.count().value == ROWS


def test_groups_and_histograms_have_the_level(curator: Any) -> None:
    answer = curator.histogram("job", spend=MUCH)
    assert dict(zip(answer.value["job"], answer.value["count"], strict=True)) == {
        "nurse": 150,
        "clerk": 150,
        "other": 150,
        None: 150,
    }
    assert answer.to_arrow().column("job").to_pylist() == ["nurse", "clerk", "other", None]
    stored = json.loads(json.dumps(answer.released.to_json()))
    assert Released.from_json(stored).cells == answer.released.cells
    grouped = curator.group_by("band", [sf.Count(), sf.Mean("pay")], spend=MUCH).value
    assert grouped["band"] == (0, 50, 100, None) and grouped["count"] == (200, 200, 0, 200)
    assert grouped["mean of pay"][:2] == pytest.approx((30, 70), abs=1e-3)
    days = curator.histogram("seen", spend=MUCH)
    assert days.value["seen"][1] == datetime(2020, 1, 2) and days.value["count"] == (0, 300, 0, 300)
    assert Released.from_json(json.loads(json.dumps(days.released.to_json()))).cells == days.released.cells
    with sf.curate(DATA, SCHEMA, sf.Approximate(50, "1e-5")) as another:
        found = another.histogram("note", keys="private", spend=sf.Approximate(49, "1e-6"))
    assert sorted(map(str, found.value["note"])) == ["None", "a"] and min(found.value["count"]) > 290


def test_order_is_of_the_cells_that_are_there(curator: Any) -> None:
    quantiles = curator.ask(sf.Quantiles("pay", [0.25, 0.75]), MUCH).value
    assert quantiles["pay"] == (30, 70)
    curve = curator.ask(sf.Distribution("pay", method="histogram"), MUCH).value
    assert curve.quantile(0.4) == 30 and curve.quantile(0.9) == 70
    assert float(curve.rows) == pytest.approx(400, abs=1)
    assert None not in curve.to_frame()["pay"]


def test_learners_ask_what_a_missing_cell_counts_as(curator: Any) -> None:
    learner = PrivateThreshold(spend=Pure(10**6), accuracy=0.5, classes=(False, True), realizable=False)
    with pytest.raises(ParameterError, match=r"missing=\{'pay': 50\}"):
        curator.learn(learner, features="pay", target="ill")
    fitted = curator.learn(learner, features="pay", target="ill", missing={"pay": 100})
    # Everybody without pay is ill, and nobody else.
    assert fitted.value.predict([[100], [30], [70]]).tolist() == [True, False, False]
    assert "missing" not in sf.learn.Learn("PrivateThreshold", "pay", "ill").to_json()
    for odd, says in (({"pya": 0}, "one of the features 'pay'"), ({"pay": 500}, "outside")):
        with pytest.raises(ParameterError, match=says):
            curator.learn(learner, features="pay", target="ill", missing=odd)
    with pytest.raises(ParameterError, match=r"write it in the domain: integers\(0, 9, missing=4\)\."):
        PrivateThreshold(Pure(1), integers(0, 9), (False, True)).facts()


def test_bits_are_one_where_the_condition_is_true() -> None:
    assert one_hot(SCHEMA, ["job"]) == ("job=nurse", "job=clerk", "job=other")
    bits = Bits.of(SCHEMA, ["ill", "pay>=50", "job=clerk"])
    assert [sorted(codes)[-1] for codes in bits.codes] == [1, 100, 1]
    assert [
        SCHEMA.domain(name).missing_code in codes for name, codes in zip(("ill", "pay", "job"), bits.codes, strict=True)
    ] == [False] * 3
    with pytest.raises(ParameterError, match="about bits"):
        workloads.parities(SCHEMA, width=1, columns=["job"])
    table = np.arange(9).reshape(3, 3)
    parity = workloads.parities(Schema({"a": booleans(), "b": booleans()}), width=2).blocks[0]
    assert parity.evaluate(table).tolist() == [table[1, 0] + table[1, 2] + table[0, 1] + table[2, 1]]


def test_ranges_and_prefixes_leave_missing_cells_out() -> None:
    schema = Schema({"age": integers(0, 3)})
    block = workloads.ranges(schema, "age").blocks[0]
    assert (
        isinstance(block, Ranges)
        and block.queries == 10
        and block.made(schema, Space.of(schema), ("age",), block.extras()) == block
    )
    counts = np.array([1, 2, 4, 8, 1000])
    assert block.evaluate(counts).max() == 15
    matrix = block.matrix()
    moves = np.abs(matrix[:, :, None] - matrix[:, None, :]).sum(axis=0).max()
    assert block.replaced([True]).l1 == moves and block.added().l1 == np.abs(matrix).sum(axis=0).max()
    prefixes = workloads.prefixes(schema, "age").blocks[0]
    assert prefixes.evaluate(counts).tolist() == [1, 3, 7, 15] and prefixes.labels(Space.of(schema))[-1] == (3,)


def test_synthetic_rows_can_be_missing(curator: Any) -> None:
    model = curator.synthesize(workloads.marginals(SCHEMA, width=2, columns=["job", "ill"]), spend=MUCH).value
    rows = model.sample(ROWS)
    assert 100 < rows.column("job").null_count < 200 and 150 < rows.column("ill").null_count < 250


def test_a_mean_with_missing_cells_is_near_that_of_the_others() -> None:
    """Utility: 30 % null at Pure(1), as if the cells were not there; imputed by 0 it would be off by a third."""
    noise = sf.Noise(insecure_seed=7)
    draws = sum(noise.uniform(25, size=10_000) for _ in range(4))
    ages = [None if gone < 3 else int(age) for age, gone in zip(draws, noise.uniform(10, size=10_000), strict=True)]
    truth = np.mean([age for age in ages if age is not None])
    errors, covered = [], 0
    with sf.curate(
        pa.table({"age": pa.array(ages, pa.int64())}), Schema({"age": integers(0, 99)}), Pure(10**6)
    ) as curator:
        for place in range(20):
            answer = curator.ask(sf.Mean("age"), Pure(Fraction(1000 + place, 1000)))
            errors.append(abs(answer.value - truth))
            low, high = answer.interval(0.95)
            covered += low <= truth <= high
    assert np.max(errors) < 0.3 and covered >= 18


def test_what_a_missing_value_moves() -> None:
    part = Part(Power.SUM, "age")
    gauge = Basis(Schema({"age": integers(10, 99)}), 9).gauge(Totals((), (part,)))
    assert gauge.sensitivity(part).l1 == gauge.sensitivity(part, {"age"}).l1 == 99
    whole = Basis(Schema({"age": integers(10, 99, missing=10)}), 9).gauge(Totals((), (part,)))
    assert whole.sensitivity(part).l1 == 89


def test_a_workload_says_missing_in_words():
    days = pa.table({"rain": [True, None] * 50, "wind": [True] * 100})
    schema = Schema({"rain": booleans(), "wind": booleans()})
    with sf.curate(days, schema, Pure(1)) as curator:
        found = curator.answer(workloads.marginals(schema, 2), spend=Pure(1)).value
    cells = found.to_frame()["cell"]
    assert "missing, missing" in cells and not any("None" in cell for cell in cells)
    assert None in found.table(["rain", "wind"])["rain"]  # a column of its own holds no word
