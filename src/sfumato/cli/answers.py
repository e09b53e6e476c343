"""`sfumato query | read | converse | refit`: the commands that bring answers, and their files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.opened import ALL, Opened, opens
from sfumato.cli.options import (
    Asked,
    Data,
    Force,
    Json,
    LedgerOption,
    Out,
    PaidSpend,
    Plot,
    SchemaPath,
    Spend,
    Together,
)
from sfumato.cli.outcome import REFUSED, emit, guarded
from sfumato.show.progress import watched

if TYPE_CHECKING:
    from sfumato.cli.asking import Desk, Found


@guarded
@opens(*ALL)
def query_command(
    data: Data,
    schema: SchemaPath,
    question: Asked,
    *,
    ledger: LedgerOption,
    spend: Spend = None,
    out: Out = None,
    force: Force = False,
    rows: Annotated[int | None, typer.Option(help="How many made-up rows of a model --out writes.")] = None,
    plot: Plot = None,
    together: Together = False,
    preview: Annotated[bool, typer.Option(help="Only say whether it fits; costs nothing.")] = False,
    rehearse: Annotated[bool, typer.Option(help="Answer on made-up rows; costs nothing.")] = False,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Answer one question, charged to a ledger before the data are touched.

    QUESTION is written as: count where age > 40 | mean of hours by sex | histogram of age | median of age |
    quantiles 0.1, 0.9 of age by sex | count, mean of hours by sex, race | distribution of age | popular town, job |
    tables 2 of age, sex | synthesize age, sex | synopsis of a, b | learn income from age, hours; or as JSON.
    """
    _check_files(question, schema, out, rows, plot, force=force)
    desk = _desk(data, schema, ledger, opened)
    found = _answered(desk, question, spend, preview=preview, rehearse=rehearse, together=together, as_json=as_json)
    _show(found, out, rows, plot, as_json)


@guarded
@opens(*ALL)
def learn_command(
    data: Data,
    schema: SchemaPath,
    target: Annotated[str, typer.Argument(help="The column to predict.")],
    *,
    features: Annotated[str, typer.Option("--from", help="The columns to predict it from: age, hours.")],
    ledger: LedgerOption,
    learner: Annotated[str, typer.Option("--with", help="linear, regression, threshold, point, box.")] = "linear",
    missing: Annotated[str | None, typer.Option(help="What missing cells count as: age=40, hours=0.")] = None,
    where: Annotated[str | None, typer.Option(help="Which rows count: age >= 18. For linear models.")] = None,
    spend: Spend = None,
    out: Out = None,
    force: Force = False,
    preview: Annotated[bool, typer.Option(help="Only say whether it fits; costs nothing.")] = False,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Learn a private model of a column; --out keeps it, and `sfumato read MODEL "predict people.csv"` uses it.

    Of two labels, predictions show the probability of the second; --with "linear(classes=no|yes)" says which that is.
    Cells of TARGET that are none of its labels count as the first of them: --preview names it before anything is paid.
    The same as `sfumato query … "learn TARGET from FEATURES with LEARNER missing … where …"`.
    """
    names = _schema_names(schema)
    about = f"learn {_quoted(target, names)} from {_quoted(features, names)}"
    question = f"{about} with {learner}{f' missing {missing}' if missing else ''}{f' where {where}' if where else ''}"
    _check_files(question, schema, out, None, None, force=force)
    desk = _desk(data, schema, ledger, opened)
    _show(_answered(desk, question, spend, preview=preview, as_json=as_json), out, None, None, as_json)


def _schema_names(path: Path) -> tuple[str, ...]:
    from sfumato.table.schema import Schema

    return Schema.load(path).names


def _quoted(listed: str, names: Collection[str]) -> str:
    """Return columns that somebody listed in quotes where they are exactly names of a schema, whatever signs they hold.

    >>> _quoted("rate %, age", ["rate %", "age"]), _quoted("a, b", ["a, b"]), _quoted('"rate %"', ["rate %"])
    ('"rate %", "age"', '"a, b"', '"rate %"')
    """
    parts = [listed] if listed.strip() in names else listed.split(",")
    known = [f'"{part.strip()}"' if part.strip() in names and '"' not in part else part.strip() for part in parts]
    return ", ".join(known)


def _desk(data: str, schema: Path, ledger: str, opened: Opened) -> Desk:
    from sfumato.cli.asking import Desk

    return Desk(data, schema, ledger, opened)


def _answered(desk: Desk, question: str, spend: str | None, *, as_json: bool, **how: bool) -> Found:
    """Return what was answered; a preview is shown, and ends the command."""
    from sfumato.cli.asking import ask, preview_text

    with watched("Working"):
        found = ask(desk, question, spend, **how)
    if not found.answers:
        emit(found.to_json(), lambda: preview_text(found), as_json)
        raise typer.Exit(0 if found.fits else REFUSED)
    return found


@guarded
@opens("table", "private", "keep_head", "memory_limit", "temp_directory")
def refit_command(
    data: Data,
    schema: SchemaPath,
    request: Annotated[str, typer.Argument(help="The id of an answer, as `query` and `ledger show --json` print it.")],
    *,
    ledger: LedgerOption,
    out: Out = None,
    force: Force = False,
    plot: Plot = None,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Compute again what is shown of a stored draw; no data are read and nothing is charged."""
    from sfumato.cli.asking import refit
    from sfumato.cli.writing import check_out, check_picture

    check_out(out, force=force)
    check_picture(plot)
    desk = _desk(data, schema, ledger, opened)
    with watched("Working"):
        found = refit(desk, request)
    _show(found, out, None, plot, as_json)


@guarded
def read_command(
    answer: Annotated[Path, typer.Argument(help="An answer, as `query --out answer.json` or `learn --out` writes it.")],
    what: Annotated[
        str | None, typer.Argument(help="For example: rows 1000, table of age, predict people.csv.")
    ] = None,
    *,
    out: Out = None,
    force: Force = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Read more out of an answer that was paid for: free, without the data and without the ledger.

    WHAT is written as: rows 1000 | table of age, sex | quantiles 0.1, 0.9 | between 20 and 40 |
    share of smokes, not drives | predict people.csv; what there is depends on the answer.
    """
    from sfumato.cli.reading import load_answer, read_answer
    from sfumato.cli.writing import PAGE, check_out, check_picture, write_page, write_picture

    check_out(out, force=force, pages=what is None)
    check_picture(plot)
    loaded = load_answer(answer)
    found = read_answer(loaded, what)
    drawn = "" if plot is None else f"\n\n{write_picture(loaded, plot)}"
    paged = out is not None and out.suffix.lower() == PAGE
    written = None if out is None else write_page(loaded, out) if paged else found.write(out)
    emit(found.to_json(), lambda: (written or found.text()) + drawn, as_json)


@guarded
@opens(*ALL)
def converse_command(
    data: Data,
    schema: SchemaPath,
    conditions: Annotated[
        list[str] | None, typer.Argument(help="Conditions in SQL; without any, they are read from standard input.")
    ] = None,
    *,
    ledger: LedgerOption,
    spend: PaidSpend,
    columns: Annotated[
        str | None, typer.Option(help="The columns it is about: age,sex. All of them if left out.")
    ] = None,
    queries: Annotated[int, typer.Option(help="How many conditions are expected.")] = 100_000,
    name: Annotated[str | None, typer.Option(help="A name, to go on with it later.")] = None,
    prior: Annotated[
        str | None, typer.Option(help="Where it starts: 'model', which is bought first, or 'even', from nothing.")
    ] = None,
    out: Out = None,
    force: Force = False,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Ask many conditions from one spend: its model answers, and the data correct it where it is wrong."""
    from sfumato.cli.conversing import converse
    from sfumato.cli.writing import check_out

    check_out(out, force=force)
    desk = _desk(data, schema, ledger, opened)
    named = None if columns is None else [part.strip() for part in columns.split(",")]
    talk = converse(desk, conditions or (), spend, columns=named, queries=queries, name=name, prior=prior)
    written = "" if out is None else f"\n{talk.write(out)}"
    emit(talk.to_json(), lambda: talk.text() + written, as_json)


def _check_files(
    question: str, schema: Path, out: Path | None, rows: int | None, plot: Path | None, *, force: bool
) -> None:
    """Refuse files that cannot be written, before anything is spent."""
    from sfumato.cli.writing import check_kind, check_out, check_picture
    from sfumato.curator.typed import read_request
    from sfumato.table.schema import Schema

    check_out(out, rows, force=force, pages=True)
    check_picture(plot)
    if out is not None or plot is not None:
        check_kind(read_request(question, Schema.load(schema)), out, rows, plot)


def _show(found: Found, out: Path | None, rows: int | None, plot: Path | None, as_json: bool) -> None:
    from sfumato.cli.writing import write_found, write_picture

    written = ""
    if plot is not None:
        written = f"\n\n{write_picture(found.answer, plot)}"
    if out is not None:
        written += f"\n\n{write_found(found, out, rows)}"
    emit(found.to_json(), lambda: found.text() + written, as_json)
