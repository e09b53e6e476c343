"""`sfumato publish …`: plan a publication, try it, run it, look at it and verify it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.opened import MACHINE, Opened, opens
from sfumato.cli.options import Json, Subcommands, commands_of
from sfumato.cli.outcome import CHECK_FAILED, emit, guarded
from sfumato.errors import ParameterError
from sfumato.show.progress import watched

if TYPE_CHECKING:
    from sfumato.publish import Period, Publication

publish_app = commands_of(
    Subcommands, "Releases that repeat, declared in one file: every period is released once, under one promise."
)
File = Annotated[Path, typer.Argument(help="The TOML file of the publication.")]
Empty = Annotated[
    list[str] | None, typer.Option(help="A day without a file on which nothing happened, for good; may be repeated.")
]
Today = Annotated[str | None, typer.Option(help="The day that decides what is due; today in UTC by default.")]


@publish_app.command()
@guarded
def plan(file: File, as_json: Json = False) -> None:
    """Say what is promised, what each table costs and how far off it will be; no data are read."""
    found = _load(file).plan()
    emit(found.to_json(), lambda: str(found), as_json)


@publish_app.command()
@guarded
def preview(
    file: File,
    to: Annotated[Path | None, typer.Option(help="Where the made-up files go.")] = None,
    as_json: Json = False,
) -> None:
    """Write everything for one made-up period, marked as made up; no data are read."""
    with watched("Making up a period"):
        place = _load(file).preview(to)
    emit({"to": str(place)}, lambda: f"Wrote a made-up period to {place}.", as_json)


@publish_app.command()
@guarded
@opens(*MACHINE)
def run(
    file: File,
    *,
    period: Annotated[str | None, typer.Option(help="Only this period, for example 2026-11-16.")] = None,
    give_up: Annotated[str | None, typer.Option(help="Mark a period that cannot be completed as dead.")] = None,
    again: Annotated[str | None, typer.Option(help="Ask and charge a dead period anew, in full.")] = None,
    empty: Empty = None,
    today: Today = None,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Release every period that is due and not done, the oldest first; complete what was cut short."""
    publication = _load(file, opened)
    if sum(one is not None for one in (period, give_up, again)) > 1:
        raise ParameterError("--period, --give-up and --again each name a period; write one of them.")
    if give_up is not None:
        publication.give_up(give_up)
        emit({"dead": give_up}, lambda: f"{give_up} is dead; what it cost stays spent.", as_json)
        return
    with watched("Publishing"):
        done = publication.run(again or period, _day(today), again=again is not None, empty=empty or ())
        _told(done, as_json)


@publish_app.command()
@guarded
@opens(*MACHINE)
def backfill(
    file: File,
    *,
    first: Annotated[str, typer.Option("--from", help="The first day.")],
    last: Annotated[str, typer.Option("--to", help="The last day.")],
    empty: Empty = None,
    today: Today = None,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Release the periods between two days; running totals go on in their order."""
    with watched("Publishing"):
        publication = _load(file, opened)
        _told(publication.backfill(first, last, _day(today), empty=empty or ()), as_json)


@publish_app.command()
@guarded
def status(file: File, today: Today = None, as_json: Json = False) -> None:
    """Show how every period stands; keys that a kill left behind are erased."""
    found = _load(file).status(_day(today))
    emit([one.to_json() for one in found], lambda: _listed(found) or "No period is due yet.", as_json)


@publish_app.command()
@guarded
def verify(file: File, as_json: Json = False) -> None:
    """Work everything out again: the ledger's chain and sums, one answer a period, every file."""
    found = _load(file).verify()
    record = {"periods": found.periods, "files": found.files, "problems": list(found.problems), "notes": found.notes}
    said = f"{found.periods} periods and {found.files} files are as they were stored."
    if not found.files:
        said = "Nothing was published yet, and the ledger is as it was written."
    emit(record, lambda: "\n".join([*(found.problems or (said,)), *found.notes]), as_json)
    if not found:
        raise typer.Exit(CHECK_FAILED)


def _load(file: Path, opened: Opened | None = None) -> Publication:
    from sfumato.publish import Publication

    return Publication.load(file, **(opened or Opened()).named(*MACHINE))


def _told(done: Sequence[Period], as_json: bool) -> None:
    emit([one.to_json() for one in done], lambda: _listed(done) or "Nothing is due.", as_json)


def _listed(periods: Sequence[Period]) -> str:
    return "\n".join(f"{one.unit} {one.name}: {one.state}" + (f". {one.note}" if one.note else "") for one in periods)


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"{text!r} is no day; write --today 2026-11-16.") from None
