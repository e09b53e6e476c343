from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import pytest

from sfumato import show
from sfumato.errors import ParameterError
from sfumato.show.answers import draw_answer
from sfumato.show.views import readable, released_table

PANEL = show.Panel(
    "order",
    "loss (nats)",
    (
        show.Line("claimed", [1, 2, 3], [0.1, 0.2, float("inf")], "claim"),
        show.Line("measured", [1, 2, 3], [0.1, 0.15, 0.2]),
    ),
    log_x=True,
)


def test_pictures_are_valid_and_the_same_every_time() -> None:
    drawing = show.picture("Loss < claim & more", [PANEL, PANEL])
    first = drawing.svg()
    ElementTree.fromstring(first)
    assert first == show.picture("Loss < claim & more", [PANEL, PANEL]).svg()
    assert "<dc:date>" not in first
    assert drawing.html().startswith("<figure><svg")
    assert drawing._repr_svg_() == first


def test_pictures_are_saved_by_suffix(tmp_path) -> None:
    drawing = show.picture("Loss", [PANEL])
    assert drawing.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert drawing.save(str(tmp_path / "a.SVG")).read_text().startswith("<?xml")
    with pytest.raises(ParameterError, match=r"\.svg or \.png"):
        drawing.save(tmp_path / "a.pdf")


def test_pictures_use_no_shared_state() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    show.picture("Loss", [PANEL]).svg()
    assert dict(mpl.rcParams) == before


def test_logarithmic_heights_are_drawn() -> None:
    line = show.Line("other", [1, 2], [1e-6, 1e-3], "other")
    assert "<svg" in show.picture("Loss", [show.Panel("x", "y", (line,), log_y=True)]).svg()


def test_a_line_of_one_point_is_seen() -> None:
    """A conversation with one correction named in its legend what no chart showed."""

    def marked(*points: float) -> bool:
        line = show.Line("missed by", [float(place) for place, _ in enumerate(points)], list(points))
        (chart,) = show.picture("Conversation", [show.Panel("asked", "missed", (line,))]).figure().axes
        return chart.lines[0].get_marker() == "o"

    assert marked(0.2) and marked(0.2, float("nan")) and not marked(0.2, 0.3) and not marked()


def test_bad_pictures_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one panel"):
        show.picture("empty", [])
    with pytest.raises(ParameterError, match="style"):
        show.Line("a", [1], [1], "pink")
    with pytest.raises(ParameterError, match="2 x and 1 y"):
        show.Line("a", [1, 2], [1])


def test_tables_align_numbers_and_fold_long_cells() -> None:
    drawn = show.table("Title", ["name", "value"], [["a" * 60, "1.5"], ["b", "12 %"]])
    text = drawn.text(40)
    assert max(map(len, text.splitlines())) <= 40
    assert " 1.5" in text
    assert str(drawn).startswith("Title")


def test_pages_escape_what_they_show() -> None:
    drawn = show.table("<b>", ["a & b"], [["<script>"]])
    page = drawn._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'scope="col"' in page
    ElementTree.fromstring(page)


def test_ragged_tables_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 cells"):
        show.table("Title", ["a", "b"], [["1"]])


def test_the_level_of_missing_cells_has_a_name() -> None:
    counted = {"age": (0, 50, None), "count": (10, 20, 5), "count, low": (7, 17, 2), "count, high": (13, 23, 8)}
    drawing = draw_answer("Histogram of age", ["age"], counted)
    assert "missing" in drawing.svg() and "None" not in released_table("", ["age"], counted).html()


@pytest.mark.parametrize(
    ("number", "width", "shown"),
    [
        (27540, None, "27,540"),
        (2.754e4 + 0.3, 60.0, "27,540"),
        (-5, None, "-5"),
        (36.42713, 0.5, "36.43"),
        (0.0, None, "0"),
        (1e-9, None, "1e-09"),
        (1234567.891, None, "1,234,568"),
        (Fraction(1, 3), None, "0.333333"),
        (float("inf"), None, "inf"),
        (None, 1.0, "missing"),
        (True, None, "True"),
        (1e-14, 1e-14, "0.000000000000"),
    ],
)
def test_numbers_are_shown_with_the_digits_that_mean_something(number: object, width: float | None, shown: str) -> None:
    assert readable(number, width) == shown


def test_a_released_table_shows_intervals_beside_numbers_and_years_as_they_are() -> None:
    columns = {"year": (2020, None), "count": (1234, 5), "count, low": (1200, -20), "count, high": (1260, 30)}
    drawn = released_table("", ["year"], columns)
    assert drawn.columns == ("year", "count", "count, 95 %")
    assert drawn.rows == (("2020", "1,234", "1,200 to 1,260"), ("missing", "5", "-20 to 30"))
