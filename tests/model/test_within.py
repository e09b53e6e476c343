"""Values inside declared bins: they agree with their bin, follow the slope of its neighbours, and cost nothing."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato import Noise, Pure, Schema, Synthesize, bins, categories, curate, dates, fixed, integers, months
from sfumato.domain import Bins, Derived
from sfumato.errors import ParameterError, SchemaError
from sfumato.model import Component, Factored
from sfumato.model.within import PARTS, Inside, inside_of
from sfumato.workload import Space

SCHEMA = Schema(
    {
        "age": integers(3, 95),
        "decade": bins("age", step=10),
        "half": bins("age", step=50),
        "pay": fixed(0, 100, step="0.5", missing=0),
        "band": bins("pay", edges=[5, "10.5", 20, 70]),
        "born": dates("2020-01-01", "2020-03-30"),
        "part": bins("born", step=30),
        "month": months("born"),
        "town": categories("", "Aa", missing="skip"),
    }
)
SPACE = Space.of(SCHEMA, ["decade", "band", "town", "part"])


def model(space: Space = SPACE, seed: int = 1) -> Factored:
    weights = Noise(insecure_seed=seed).uniform(1000, space.cells).reshape(space.sizes) / 400
    return Factored(space, 800.4, (Component(space.names, weights),))


def test_base_and_bins_come_out_together_and_agree() -> None:
    rows = model().sample(noise=Noise(insecure_seed=2))
    assert rows.column_names == ["age", "decade", "pay", "band", "town", "born", "part"]
    assert rows.num_rows == 800  # as many as the model says, rounded
    assert rows.schema.types[:2] == [pyarrow.int64()] * 2 and rows.schema.field("born").type == pyarrow.date32()
    for base, binned in (("age", "decade"), ("pay", "band"), ("born", "part")):
        domain = SCHEMA.domain(binned)
        for value, bin_of in zip(rows[base].to_pylist(), rows[binned].to_pylist(), strict=True):
            shown = domain.decode(domain.encode(value))
            assert (float(shown) if isinstance(shown, Fraction) else shown) == bin_of
    ages, pay, born = (rows[name].to_pylist() for name in ("age", "pay", "born"))
    there = [age for age in ages if age is not None]
    assert None in ages and min(there) >= 3 and max(there) <= 95  # missing stays missing, the ends are the schema's
    assert len(set(there)) > 60 and min(pay) < 5 and max(pay) > 70  # also beyond the edges
    assert all(one is None or date(2020, 1, 1) <= one <= date(2020, 3, 30) for one in born)


def test_bins_alone_are_what_they_were() -> None:
    rows = model().sample(50, Noise(insecure_seed=2), values="bins")
    assert rows.column_names == list(SPACE.names)
    with pytest.raises(ParameterError, match=r"'within'.*'bins'"):
        model().sample(5, values="middle")  # type: ignore[arg-type]


def test_files_hold_the_same_columns(tmp_path: Path) -> None:
    made = model()
    made.to_parquet(tmp_path / "rows.parquet", 40, Noise(insecure_seed=3))
    made.to_csv(tmp_path / "rows.csv", 40, Noise(insecure_seed=3))
    made.to_csv(tmp_path / "bins.csv", 40, Noise(insecure_seed=3), values="bins")
    kept, text = pq.read_table(tmp_path / "rows.parquet"), (tmp_path / "rows.csv").read_text(encoding="utf-8")
    options = pyarrow.csv.ConvertOptions(
        column_types=kept.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    read = pyarrow.csv.read_csv(tmp_path / "rows.csv", convert_options=options)
    assert read.equals(kept)  # a missing cell is an empty field, the empty name of a town stands in quotes
    assert ',"",' in text and None in kept["town"].to_pylist() and "" in kept["town"].to_pylist()
    assert (tmp_path / "bins.csv").read_text(encoding="utf-8").startswith('"decade","band","town","part"')


def law_of(inside: Inside, place: int) -> list[Fraction]:
    """Return the exact chance of every code of a bin, from the definition of the draw."""
    width, lean = int(inside.lengths[place]), Fraction(int(inside.leans[place]), PARTS)
    steep = [Fraction(2 * one + 1, width**2) for one in range(width)]
    steep = steep if lean > 0 else steep[::-1]
    return [(1 - abs(lean)) / width + abs(lean) * one for one in steep]


def test_every_whole_value_gets_its_share_of_the_linear_density() -> None:
    domain = SCHEMA.domain("decade")
    assert isinstance(domain, Derived)
    masses = np.array([0.05, 0.3, 0.2, 0.1, 0.1, 0.05, 0.1, 0.05, 0.04, 0.01, 0.0])
    inside = inside_of(domain, masses)
    assert inside.lows[:2].tolist() == [3, 10] and inside.lengths[[0, 1, -1]].tolist() == [7, 10, 6]
    density, middle = masses[:10] / inside.lengths, inside.lows + inside.lengths / 2
    slope = (density[3] - density[1]) / (middle[3] - middle[1])
    expected = [
        (density[2] + slope * (20 + one + 0.5 - middle[2])) / masses[2] for one in range(10)
    ]  # the integral of a linear density over [one, one + 1) is its middle
    assert np.allclose([float(one) for one in law_of(inside, 2)], expected, atol=1e-8)
    assert all(sum(law_of(inside, place)) == 1 and min(law_of(inside, place)) >= 0 for place in range(10))
    at_end = (density[9] - density[8]) / (middle[9] - middle[8]) / 2
    assert abs(inside.leans[9] / PARTS - max(-1, at_end * 6 / (2 * density[9]))) < 1e-8


def test_draws_follow_the_law() -> None:
    domain = SCHEMA.domain("decade")
    assert isinstance(domain, Derived)
    inside = inside_of(domain, np.array([0.05, 0.3, 0.2, 0.1, 0.1, 0.05, 0.1, 0.05, 0.04, 0.01, 0.0]))
    count = 40_000
    for place in (1, 2, 9):
        drawn = inside.draw(np.full(count, place), Noise(insecure_seed=place)) - inside.lows[place]
        law = np.array([float(one) for one in law_of(inside, place)])
        seen = np.bincount(drawn, minlength=len(law))
        expected = count * law
        off = float(((seen - expected)[law > 0] ** 2 / expected[law > 0]).sum())
        assert off < 60  # chi² of 9: above it once in a billion
        assert float(((seen - count / len(law)) ** 2 / (count / len(law))).sum()) > 60  # even draws would be told apart


def test_one_bin_is_even_and_empty_neighbours_do_not_make_negative_chances() -> None:
    one = Bins("n", edges=(0, 10), clipped=True).on(integers(0, 20, missing=0))  # as earlier versions had them
    assert isinstance(one, Derived)
    whole = inside_of(one, np.array([1.0]))
    assert whole.lows.tolist() == [0] and whole.lengths.tolist() == [11] and whole.leans.tolist() == [0]
    narrow = Bins("n", edges=("0.2", "0.4"), clipped=True).on(integers(0, 3, missing=0))
    assert inside_of(narrow, np.array([1.0])).lengths.tolist() == [4]
    ten = bins("n", step=10).on(integers(0, 39, missing=0))
    leans = inside_of(ten, np.array([0.9, 0.05, 0.05, 0.0])).leans
    assert abs(leans).max() <= PARTS and leans[1] == -PARTS and leans[3] == 0


@pytest.mark.parametrize(
    ("columns", "left"),
    [
        (["age", "decade", "pay"], "['decade', 'pay']"),
        (["decade", "half", "pay"], "['decade', 'pay']"),
        (["age", "decade", "half"], "['decade']"),
        (["born", "month", "pay"], "['born', 'pay']"),
    ],
)
def test_two_columns_of_one_attribute_are_refused_before_anything_is_charged(columns: list[str], left: Any) -> None:
    empty = {name: [None] * 3 for name in ("age", "pay", "born", "town")}
    with curate(pyarrow.table(empty), SCHEMA, Pure(9)) as curator:
        for ask in (curator.ask, curator.preview, curator.rehearse):
            with pytest.raises(SchemaError, match="same attribute") as refused:
                ask(Synthesize(columns=columns), Pure(1))
            assert left in str(refused.value)
        assert not curator.ledger.history()


def test_bins_of_which_two_are_held_stay_bins() -> None:
    """Earlier versions made models of both: no value agrees with both kinds of bins."""
    space = Space.of(SCHEMA, ["decade", "half"])
    assert model(space).sample(20, Noise(insecure_seed=1)).column_names == ["decade", "half"]
