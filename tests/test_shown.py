"""What people see: plain text and a notebook's HTML for all they hold, intervals that say what they cover, files."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import Approximate, Budget, Pure
from sfumato.answer import NoisyPart, Released
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.questions import Count, GroupBy, Histogram, Mean

ROWS = 2000
DATA = pyarrow.table(
    {
        "age": [row % 90 for row in range(ROWS)],
        "sex": ["F", "M"] * (ROWS // 2),
        "cost": [float(row * 7 % 40_000) for row in range(ROWS)],
    }
)
SCHEMA = sf.Schema(
    {
        "age": sf.integers(0, 99),
        "decade": sf.bins("age", step=10),
        "sex": sf.categories("F", "M"),
        "cost": sf.fixed(0, 50_000, step=0.01),
    }
)


@pytest.fixture(scope="module")
def curator() -> Iterator[sf.Curator]:
    with sf.curate(DATA, SCHEMA, Budget(Approximate(30, 1e-6), each_attribute=Approximate(30, 1e-6))) as opened:
        yield opened


class Balanced(HTMLParser):
    """Refuses HTML in which something is opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("br", "hr", "img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def held(curator: sf.Curator) -> dict[str, Any]:
    counted = curator.count("age > 40", epsilon=0.1)
    return {
        "curator": curator,
        "ledger": curator.ledger,
        "schema": SCHEMA,
        "draft": sf.draft(DATA),
        "looked": sf.draft(DATA, look=True),
        "number": counted,
        "public": curator.count(),
        "table": curator.group_by("sex", ["count", "mean of cost"], epsilon=0.5),
        "frame": curator.histogram("decade", epsilon=0.2).value,
        "interval": curator.histogram("decade", epsilon=0.2).interval(),
        "quantiles": curator.median("age", epsilon=0.2),
        "distribution": curator.distribution("age", epsilon=0.5),
        "curve": curator.distribution("age", epsilon=0.5).value,
        "synthesis": curator.synthesize(columns=["age", "sex"], epsilon=1),
        "model": curator.synthesize(columns=["age", "sex"], epsilon=1).value,
        "fits": curator.preview(Mean("age"), Pure(0.1)),
        "refused": curator.preview(Mean("age"), Pure(900)),
        "report": curator.report({"membership": False}),
    }


def test_everything_that_people_hold_shows_itself(curator: sf.Curator) -> None:
    for name, thing in held(curator).items():
        text, page = str(thing), thing._repr_html_()
        for dump in ("Released(", "NoisyPart(", "mappingproxy", "Fraction(", "<sfumato", "object at 0x", "e+0"):
            assert dump not in text, f"{name} shows {dump}: {text}"
        assert text.strip() and len(text.splitlines()) < 120, name
        parsed = Balanced()
        parsed.feed(page)
        assert not parsed.open, f"{name} leaves {parsed.open} open"


def test_an_answer_says_what_its_interval_covers_and_what_is_used(curator: sf.Curator) -> None:
    table = str(curator.group_by("sex", ["count", "mean of cost"], epsilon=0.6))
    assert "95 % interval (privacy noise only), for each row on its own" in table and "together=True" in table
    assert "Used so far: person" in table and "a meter" not in table and "It cost a person epsilon 0.6;" in table
    number = str(curator.count("age > 40", epsilon=0.1))
    assert "95 % interval (privacy noise only)." in number and "on its own" not in number
    assert "This is public: no noise was added." in str(curator.count())
    assert "It cost nothing: the same question" in str(curator.count("age > 40", epsilon=0.1))
    assert "all rows at once" in str(curator.median("age", epsilon=0.2))


@pytest.mark.parametrize("cells", [1, 2, 8, 101])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)])
def test_together_covers_all_cells_at_once_exactly(cells: int, confidence: Fraction) -> None:
    """The chance that every cell lies inside, computed from the law itself; one by one it is smaller than promised."""
    law = DiscreteLaplace(10)
    released = Released((NoisyPart("count", (100,) * cells, law),), ("age",), tuple((place,) for place in range(cells)))
    question = Histogram("age")
    assert question.separate_intervals(released) == cells
    answer = sf_answer(question, released)

    def inside(frame: Any) -> Any:
        width = frame["count, high"][0] - 100
        with precision(128):
            return (1 - 2 * law.tail(width)) ** cells

    with precision(128):
        assert bool(inside(answer.interval(confidence, together=True)) >= rational_ball(confidence))
        if cells >= 8:
            assert bool(inside(answer.interval(confidence)) < rational_ball(confidence)), (
                "each on its own is not enough"
            )
    assert answer.interval(confidence) == question.interval(released, confidence)


def sf_answer(question: Any, released: Released) -> Any:
    from sfumato import Cost, Event, Loss
    from sfumato.answer import Answer

    return Answer(question, released, Loss.flat(Cost.pure("1/10")), Event("test", "test"))


def test_together_shares_the_risk_over_the_aggregates_too() -> None:
    parts = (NoisyPart("count", (50, 60), DiscreteLaplace(3)), NoisyPart("sum of x", (500, 600), DiscreteLaplace(30)))
    released = Released(parts, ("sex",), (("F",), ("M",)))
    question = GroupBy("sex", [Count(), sf.Sum("x")])
    answer = sf_answer(question, released)
    assert question.separate_intervals(released) == 4
    assert answer.interval(0.9, together=True) == question.interval(released, 1 - Fraction(1, 40))


def test_together_holds_in_a_thousand_releases() -> None:
    """At least 95 % of the whole tables are inside; each row on its own leaves far fewer of them inside."""
    law, noise, cells, runs = DiscreteLaplace(5), Noise(insecure_seed=11), 12, 1000
    question, alone, together = Histogram("age"), 0, 0
    for _ in range(runs):
        drawn = tuple(int(number) for number in noise.draw(law, cells))
        answer = sf_answer(
            question, Released((NoisyPart("count", drawn, law),), ("age",), tuple((c,) for c in range(cells)))
        )
        for wide in (False, True):
            ends = answer.interval(0.95, together=wide)
            hit = all(low <= 0 <= high for low, high in zip(ends["count, low"], ends["count, high"], strict=True))
            alone, together = alone + (hit and not wide), together + (hit and wide)
    assert together >= 0.92 * runs and alone < 0.75 * runs, (together, alone)


def test_tables_leave_as_frames_and_files(curator: sf.Curator, tmp_path: Path) -> None:
    answer = curator.histogram("sex", epsilon=0.3)
    for thing in (answer, answer.frame):
        assert isinstance(thing.to_pandas(), pandas.DataFrame) and isinstance(thing.to_polars(), polars.DataFrame)
        assert thing.to_csv(tmp_path / "a.csv", overwrite=True).read_text().startswith('"sex","count","count, low"')
        assert (
            pyarrow.parquet.read_table(thing.to_parquet(tmp_path / "a.parquet", overwrite=True)).to_pylist()
            == answer.to_arrow().to_pylist()
        )
    assert answer.value.to_arrow().column_names == ["sex", "count"]
    rows = curator.synthesize(columns=["age", "sex"], epsilon=1)
    rows.to_csv(tmp_path / "rows.csv")
    rows.value.to_csv(tmp_path / "few.csv", rows=7)
    assert pyarrow.csv.read_csv(tmp_path / "rows.csv").num_rows == ROWS
    assert pyarrow.csv.read_csv(tmp_path / "few.csv").num_rows == 7


def test_a_workbook_holds_text_as_text(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from sfumato.answer import Frame

    frame = Frame(("word",), {"word": ("=1+1", None), "count": (3, Fraction(1, 2))})
    book = openpyxl.load_workbook(frame.to_excel(tmp_path / "a.xlsx"))
    cells = [[cell.value for cell in row] for row in book.active.iter_rows()]
    assert cells == [["word", "count"], ["=1+1", 3], [None, 0.5]]
    assert book.active["A2"].data_type == "s", "a key is never a formula"


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    from sfumato.answer import Frame
    from sfumato.errors import ParameterError

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ParameterError, match="pip install openpyxl"):
        Frame((), {"a": (1,)}).to_excel(tmp_path / "a.xlsx")


def test_a_notebook_shows_a_refusal_as_a_sentence(curator: sf.Curator) -> None:
    with pytest.raises(sf.errors.BudgetExceeded) as refused:
        curator.count("age > 41", epsilon=900)
    (line,) = refused.value._render_traceback_()
    assert line.startswith("BudgetExceeded: Refused before the data were touched") and "The largest that fits" in line


def test_losses_are_told_in_words(curator: sf.Curator) -> None:
    assert str(curator.loss(Mean("age"), epsilon=0.1)) == "a person epsilon 0.1; age epsilon 0.1"
    assert "at delta 1e-6" in str(curator.loss(Mean("age"), rho=0.1).person)
    assert str(curator.loss(Count(), epsilon=0.1).person) == "nothing"
    assert "It cost a person epsilon 0.124;" in str(curator.mean("age", epsilon=0.12345)), "rounded up"


def test_a_curve_is_shown_from_its_first_point_to_its_last(curator: sf.Curator) -> None:
    shown = str(curator.distribution("age", spend=Pure(0.5)))
    ages = [line.split()[0] for line in shown.splitlines() if line[:1] == " " and line.split()[:1] != ["age"]]
    ages = [age for age in ages if age.isdecimal()]
    assert ages[-1] == "99" and int(ages[0]) < 5 and len(ages) <= 24
    assert "Of 100 rows, one in 5 is shown." in shown


def test_a_preview_says_once_that_it_fits(curator: sf.Curator) -> None:
    said = str(curator.preview(Mean("age"), Pure(0.1)))
    assert said.startswith("It fits.\n95 % of the time") and said.count("its.") == 1


def test_what_is_missing_has_its_label_in_a_chart() -> None:
    from sfumato.show.bars import Bar, bars

    rows = [Bar(name, 3, 2, 4) for name in (*map(str, range(0, 500, 10)), "other", "missing")]
    labels = [label.get_text() for label in bars("x", "y", rows, upright=True).figure().axes[0].get_xticklabels()]
    assert labels[-2:] == ["other", "missing"] and labels[0] == "0" and len(labels) < 20


def test_the_value_of_means_by_group_prints_what_the_answer_prints() -> None:
    """Of a group in which there may be nobody nothing is known, whether the answer is printed or its value."""
    with sf.curate(DATA, SCHEMA, Pure(9)) as opened:
        answer = opened.mean("cost", by="sex", spend=Pure(1))
    (row,) = [line for line in str(answer.value).splitlines() if line.strip().startswith("other")]
    assert row.split() == ["other", "not", "known"]
    assert (
        answer.value.to_pandas()["mean of cost, known"].tolist() == answer.to_pandas()["mean of cost, known"].tolist()
    )


def test_a_picture_prints_its_title_and_how_it_is_kept(curator: sf.Curator) -> None:
    drawing = curator.histogram("sex", spend=Pure(0.1)).plot()
    assert str(drawing) == repr(drawing) and drawing.title in str(drawing)
    assert ".save('picture.svg') writes it." in str(drawing) and len(str(drawing)) < 200
