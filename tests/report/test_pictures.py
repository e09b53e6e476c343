"""Pictures of answers and of limits, and the report of a curator."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow
import pytest

import sfumato as sf
from sfumato import Pure, show
from sfumato.curator import Curator
from sfumato.errors import ParameterError
from sfumato.report import ThreatReport
from sfumato.show.answers import draw_answer
from sfumato.show.titles import title_of
from tests import imputed


@pytest.fixture(scope="module")
def curator() -> Curator:
    rows = {"age": [20 + row % 60 for row in range(300)], "sex": ["Female", "Male"] * 150, "day": ["2020-05-17"] * 300}
    schema = sf.Schema(
        {
            "age": imputed.integers(0, 99),
            "sex": imputed.categories("Female", "Male"),
            "day": imputed.dates("2020-01-01", "2020-12-31"),
        }
    )
    return sf.curate(pyarrow.table(rows), schema, sf.Budget(person=Pure(9), each_attribute=Pure(9)))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (sf.Count("age > 30"), "IntervalChart"),
        (sf.Mean("age"), "IntervalChart"),
        (sf.Histogram("sex"), "BarChart"),
        (sf.Histogram("age"), "BarChart"),
        (sf.Histogram(("sex", "age"), where="age < 30"), "BarChart"),
        (sf.Quantiles("age"), "IntervalChart"),
        (sf.Quantiles("day"), "IntervalChart"),
        (sf.GroupBy("sex", [sf.Count(), sf.Mean("age")]), "IntervalChart"),
        (sf.Count(), "IntervalChart"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_every_answer_has_a_picture(curator: Curator, tmp_path: Path, question: sf.Count, kind: str) -> None:
    answer = curator.ask(question, Pure(0.5))
    drawn = answer.plot(tmp_path / "picture.svg")
    assert type(drawn).__name__ == kind
    ElementTree.fromstring((tmp_path / "picture.svg").read_text())
    assert drawn.title == title_of(answer.question.to_json(), notes=answer.notes)
    notebook = answer._repr_html_()
    ElementTree.fromstring(notebook)
    # How many people there are is public where one is replaced by another.
    covered = "This is public: no noise was added." if question == sf.Count() else "(privacy noise only)"
    assert covered in notebook


def test_a_picture_that_exists_is_overwritten_only_on_demand(curator: Curator, tmp_path: Path) -> None:
    place = tmp_path / "mine.svg"
    place.write_text("mine")
    answer = curator.ask(sf.Histogram("sex"), Pure(0.5))
    with pytest.raises(ParameterError, match="exists already and is not overwritten"):
        answer.plot(place)
    assert place.read_text() == "mine"
    answer.plot(place, overwrite=True)
    assert "<svg" in place.read_text()


def test_titles_name_the_question_and_the_columns_of_its_condition(curator: Curator) -> None:
    asked = [
        sf.Mean("age", "sex = 'Male' AND day > DATE '2020-03-01'"),
        sf.GroupBy("sex", [sf.Count(), sf.Mean("age")]),
        sf.Histogram(("sex", "age")),
    ]
    assert [title_of(question.canonical(curator.schema).to_json()) for question in asked] == [
        "Mean of age, with a condition on day, sex",
        "Count, mean of age by sex",
        "Histogram of sex, age",
    ]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ParameterError, match="no rows"):
        draw_answer("Histogram", ["a"], {"a": (), "count": ()})
    many = tuple(range(401))
    with pytest.raises(ParameterError, match="401 rows"):
        draw_answer("Histogram", ["a"], {"a": many, "count": many, "count, low": many, "count, high": many})
    with pytest.raises(ParameterError, match="at least one bar"):
        show.bars("none", "rows", [])
    with pytest.raises(ParameterError, match="at least one limit"):
        show.gauges("none", [])
    with pytest.raises(ParameterError, match="at least one value"):
        show.intervals("none", [show.IntervalLine("x", ())])


def test_long_tables_are_cut_in_a_notebook(curator: Curator) -> None:
    shown = curator.histogram("age", spend=Pure(0.5))._repr_html_()
    assert "The first 40 of 100 rows." in shown


def test_pictures_are_the_same_every_time_and_announce_their_title() -> None:
    drawn = show.gauges("Used & left", [show.Gauge("person", 95, "95 % of Pure(1)"), show.Gauge("age", 0, "0 %")])
    assert drawn.svg() == drawn.svg()
    assert drawn.html().startswith('<figure><svg role="img" aria-label="Used &amp; left"')


def test_a_curator_reports_with_the_sizes_of_its_domains(curator: Curator) -> None:
    report = curator.report({"membership": False}, sets=[("age", "sex")])
    assert isinstance(report, ThreatReport)
    by_name = {row.subject: row for row in report.attributes}
    assert by_name["sex"].promise is not None
    assert float(by_name["sex"].promise.nats) == pytest.approx(0.6931472, abs=1e-6)
    assert report.sets[0].subject == "age + sex"
