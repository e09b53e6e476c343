"""Answers in files: tables as CSV or Parquet, everything as JSON; what cannot be written is said before it costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.answer.exports import notes_path, write_notes
from sfumato.cli.hints import in_shell
from sfumato.durable import require_new
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.answer import Answer
    from sfumato.cli.asking import Found
    from sfumato.curator.typed import Request
    from sfumato.model.base import Model
    from sfumato.model.within import Values

TABLES = (".csv", ".parquet")
ENDINGS = (*TABLES, ".json")
PAGE = ".html"


def check_out(out: Path | None, rows: int | None = None, *, force: bool = False, pages: bool = False) -> None:
    """Refuse a file that cannot be written, before anything is spent; with `pages` it may be the page of a model."""
    if rows is not None and (out is None or out.suffix.lower() not in TABLES):
        raise ParameterError("--rows is about made-up rows in a file; add --out rows.csv or --out rows.parquet.")
    if rows is not None and rows < 1:
        raise ParameterError(f"--rows is a number of rows, and {rows} is none; write for example --rows 1000.")
    if out is None:
        return
    if out.suffix.lower() not in ENDINGS and not (pages and out.suffix.lower() == PAGE):
        page = ", the page of a model as .html" if pages else ""
        raise ParameterError(
            f"An answer is written as .csv, .parquet or .json{page}, and {out.name!r} ends in none of them."
        )
    for path in (out, notes_path(out)) if out.suffix.lower() == ".csv" else (out,):
        require_new(path, overwrite=force)
    if not out.parent.is_dir():
        raise ParameterError(f"There is no folder {str(out.parent)!r} to write {out.name!r} into; make it first.")


def check_kind(request: Request, out: Path | None, rows: int | None, plot: Path | None) -> None:
    """Refuse files that a question of this kind has nothing for, before anything is spent."""
    asked = request.questions[0]
    kind = asked.kind
    if rows is not None and kind != "Synthesize":
        raise ParameterError("--rows is about the made-up rows of a model; ask 'synthesize', or leave --rows out.")
    if out is not None and out.suffix.lower() in TABLES and not asked.tabular:
        raise ParameterError("A synopsis is a sketch to ask, not a table; write it with --out synopsis.json.")
    if out is not None and out.suffix.lower() == PAGE and kind != "Synthesize":
        raise ParameterError("A page is written of a model; ask 'synthesize', or write --out table.csv.")
    if plot is not None and not asked.pictured:
        raise ParameterError("There is no picture of a synopsis or a rule; leave --plot out.")


def check_picture(plot: Path | None) -> None:
    """Refuse a picture of an unknown kind."""
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise ParameterError(f"A picture is written as .svg or .png, and {plot.name!r} ends in neither.")
    if plot is not None and not plot.parent.is_dir():
        raise ParameterError(f"There is no folder {str(plot.parent)!r} to write {plot.name!r} into; make it first.")


def write_picture(answer: Answer, plot: Path) -> str:
    """Write the picture of an answer, with what stands below it in the words of the shell, and say where it is."""
    drawing: Any = answer.plot()
    if getattr(drawing, "caption", ""):
        drawing = replace(drawing, caption=in_shell(drawing.caption))
    drawing.save(plot)
    return f"Wrote a picture to {plot}."


def write_found(found: Found, out: Path, rows: int | None = None) -> str:
    """Write an answer as the file's ending says, and say what was written."""
    from sfumato.model.base import Model

    value, notes = found.answers[0].value, found.frame.notes if not found.sketched else found.all_notes
    if out.suffix.lower() == ".json":
        return f"{write_json(found.to_json(), out)} `sfumato read {out}` reads it, for nothing."
    if out.suffix.lower() == PAGE:
        return write_page(found.answers[0], out)
    if isinstance(value, Model):
        return write_rows(value, out, rows, notes)
    return write_table(found.frame.to_arrow(), out, notes=notes)


def write_rows(
    model: Model, out: Path, rows: int | None = None, notes: Sequence[str] = (), values: Values = "within"
) -> str:
    """Write made-up rows of a model, by default as many as it speaks of people."""
    count = max(1, round(model.total)) if rows is None else rows
    if out.suffix.lower() == ".parquet":
        model.to_parquet(out, count, overwrite=True, notes=notes, values=values)
        return f"Wrote {count} made-up rows to {out}."
    return write_table(model.sample(count, values=values), out, "made-up rows", notes=notes)


def write_page(answer: Answer, out: Path) -> str:
    """Write the page of a model: its tables as pictures, its stated error, what is not kept, what it cost."""
    if not hasattr(answer.value, "pictures"):
        raise ParameterError("A page is written of a model; write this answer as --out answer.csv.")
    view = answer.view()
    head = f'<head><meta charset="utf-8"><title>{escape(view.title)}</title></head>'
    out.write_text(f'<!doctype html><html lang="en">{head}<body>{view.html()}</body></html>\n', encoding="utf-8")
    return f"Wrote {out}."


def write_table(table: Any, out: Path, things: str = "rows", *, notes: Sequence[str] = ()) -> str:
    """Write an Arrow table, and beside a CSV file what a reader should know of it."""
    told = ""
    if out.suffix.lower() == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, out)
    else:
        from pyarrow import csv

        csv.write_csv(table, out, csv.WriteOptions(quoting_style="needed"))
        write_notes(out, notes)
        told = f", and what to know of them to {notes_path(out)}" if notes else ""
    return f"Wrote {table.num_rows} {things} to {out}{told}."


def write_json(record: Any, out: Path) -> str:
    """Write a JSON document."""
    out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"Wrote {out}."
