"""Quantiles of every group in Python: the shell's list of questions, as one answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.csv

import sfumato as sf
from sfumato import Pure, Quantiles
from sfumato.curator.typed import read_request

SCHEMA = sf.Schema({"cost": sf.integers(0, 999), "ward": sf.categories("a", "b", other="a", missing="a")})
ROWS = pyarrow.table({"cost": [row * 7 % 1000 for row in range(900)], "ward": ["a", "b", "b"] * 300})


def test_notes_are_about_all_groups_and_not_about_the_first() -> None:
    schema = sf.Schema({"cost": sf.integers(0, 999), "ward": sf.categories("a", "b")})
    with sf.curate(ROWS, schema, Pure(99)) as curator:
        median = curator.median("cost", by="ward", spend=Pure(2))
        assert not any(note.startswith("Only rows count") or "fulfils no condition" in note for note in median.notes)
        assert "Rows in which 'ward' is missing are in no group; where='ward IS NULL' asks about them." in median.notes
        some = curator.median("cost", "cost > 20", by="ward", spend=Pure(2))
        assert [note for note in some.notes if note.startswith("Only")] == ["Only rows count where cost is 21 or more."]
        asked = read_request("median of cost by ward where cost > 20", schema)
        assert asked.shown(some.answers).notes == some.notes, "a shell says the same"


def test_quantiles_by_group_are_the_list_that_the_shell_asks(tmp_path: Path) -> None:
    with sf.curate(ROWS, SCHEMA, Pure(5)) as curator:
        answer = curator.quantiles("cost", (0.25, 0.5), where="cost > 20", by="ward", spend=Pure(2))
        assert answer.value["ward"] == ("a", "a", "b", "b")
        assert (
            list(answer.frame) == ["ward", "probability", "cost", "rank error", "rows needed"]
            and answer.loss.person.epsilon == 2
        )
        asked = read_request("quantiles 0.25, 0.5 of cost by ward where cost > 20", SCHEMA).asked
        again = curator.ask(asked, Pure(2))
        assert all(one.reused for one in again) and [row for one in again for row in one.value["cost"]] == [
            *answer.value["cost"]
        ]
        wide, narrow = answer.interval(0.95, together=True)["rank error"], answer.interval(0.95)["rank error"]
        assert answer.interval("39/40")["rank error"] == wide and all(a > b for a, b in zip(wide, narrow, strict=True))
        median = curator.median("cost", by=["ward"], epsilon=1)
        assert len(median.value) == 2 and str(median).startswith("Quantiles of cost by ward\n")
        assert pyarrow.csv.read_csv(median.to_csv(tmp_path / "medians.csv")).num_rows == 2
        drawn = median.plot(tmp_path / "medians.svg")
        (line,) = drawn.rows
        assert "rank errors are in the table" in line.axis and "together" not in drawn.caption
        assert "</svg>" in (tmp_path / "medians.svg").read_text()


def test_groups_of_which_nothing_is_known_are_named_and_the_others_say_how_many_rows_they_need() -> None:
    with sf.curate(ROWS, SCHEMA, Pure(5)) as curator:
        lost = str(curator.median("cost", by="ward", spend=Pure("1/100")))
        assert lost.count("not known") == 2 and "In 2 of 2 groups" in lost and "(a; b)" in lost
        answer = curator.quantiles("cost", by="ward", spend=Pure(2))
        assert "not known" not in str(answer)
        assert answer.frame["rows needed"] == tuple(2 * error for error in answer.frame["rank error"])
        for together in (False, True):  # one figure: the note once named another one than a table of all groups
            shown = answer.framed(together)
            (note,) = [note for note in shown.notes if "rows needed" in note]
            assert "fewer than 'rows needed' says, its values may tell nothing" in note
            assert not any(mark.isdecimal() for mark in note) and min(shown["rows needed"]) > 0
        assert "does not say how many rows a group has, if any" in str(answer), "no count is released with them"
        alone = curator.ask(Quantiles("cost", where="ward = 'a'"), Pure(1))
        assert "by group" not in str(alone)


def test_values_that_an_even_part_of_the_rows_cannot_carry_are_not_known() -> None:
    """Six groups of 900 rows: each is said only where 150 rows are enough for it, and the note offers counts of bins."""
    schema = sf.Schema({"cost": sf.integers(0, 999), "ward": sf.categories(*"abcdef", other="f", missing="f")})
    rows = pyarrow.table({"cost": [row * 7 % 1000 for row in range(900)], "ward": [*"abcdefa"] * 128 + [*"abcd"]})
    with sf.curate(rows, schema, Pure(99)) as curator:
        rough = curator.median("cost", by="ward", spend=Pure("3/5"))
        errors = rough.interval()["rank error"]
        assert any(150 <= 2 * error < 900 for error in errors), "one group could hold them, six could not"
        assert list(rough.frame.unknown["cost"]) == [12 * error >= 900 for error in errors]
        assert rough.frame["cost"][0] is not None, "what was drawn stays in files"
        (note,) = [note for note in rough.notes if "tell nothing; files" in note]
        assert "histogram(['ward', 'cost_bins'])" in note
        (line,) = rough.plot().rows
        marks = rough.frame.unknown["cost"]
        assert [dot.value is None for dot in line.dots] == list(marks) == ["not known" in dot.name for dot in line.dots]
        sharp = curator.median("cost", by="ward", spend=Pure(60))
        assert not any(sharp.frame.unknown["cost"]) and "not known" not in str(sharp)
        (line,) = sharp.plot().rows
        assert [dot.name for dot in line.dots] == [*"abcdef"] and all(dot.value is not None for dot in line.dots)
