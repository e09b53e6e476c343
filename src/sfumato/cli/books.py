"""`sfumato ledger …`: make a ledger, look at it, check it, and see whether a question would fit."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.opened import MACHINE, STATE, Opened, opens
from sfumato.cli.options import (
    Asked,
    Data,
    Json,
    KeepHead,
    LedgerCommands,
    LedgerPlace,
    PaidSpend,
    Private,
    SchemaPath,
    commands_of,
)
from sfumato.cli.outcome import CHECK_FAILED, REFUSED, emit, guarded
from sfumato.errors import LedgerError, warn
from sfumato.show.progress import watched

if TYPE_CHECKING:
    from sfumato.ledger import Ledger
    from sfumato.ledger.verify import Verification

NO_END = "No end of the chain is shown, because none was verified."
TALKS = (
    "A conversation goes on, for nothing more, by `sfumato converse … --name NAME` with its columns and its spend; "
    "`sfumato ledger give-up LEDGER NAME` ends it for good."
)

ledger_app = commands_of(
    LedgerCommands, "Make and read the ledger of a population: its limits, and what has been used of them."
)


@ledger_app.command()
@guarded
def create(
    ledger: LedgerPlace,
    *,
    person: Annotated[str, typer.Option(help="The limit for a whole person, for example Pure(3).")],
    schema: Annotated[Path | None, typer.Option(help="The schema whose attributes are limited.")] = None,
    each_attribute: Annotated[str | None, typer.Option(help="A limit for each attribute, e.g. Pure(1).")] = None,
    attributes: Annotated[list[str] | None, typer.Option(help="Limits on sets: race+sex=Pure(1.5).")] = None,
    people: Annotated[list[str] | None, typer.Option(help="Limits on groups of people: 4=Pure(10).")] = None,
    population: Annotated[str | None, typer.Option(help="The name of the people it belongs to.")] = None,
    keep_head: KeepHead = None,
    as_json: Json = False,
) -> None:
    """Make a new ledger; its limits are fixed for ever."""
    from sfumato.ledger import Ledger
    from sfumato.ledger.typed import read_budget
    from sfumato.table.database import load

    described = None if schema is None else load(schema)
    secrets = None if described is None else described.secrets
    budget = read_budget(person, each_attribute, attributes or [], people or [], secrets)
    if "://" not in ledger and Path(ledger).exists():
        raise LedgerError(f"{ledger!r} exists already, and limits are fixed when a ledger is made; write another path.")
    print_of = None if described is None else described.fingerprint
    with Ledger(ledger, budget, population=population, schema=print_of, keep_head=keep_head) as book:
        emit(_described(book), lambda: f"Made {book.place}.\n{_shown(book)}", as_json)


@ledger_app.command()
@guarded
def show(ledger: LedgerPlace, as_json: Json = False) -> None:
    """Show all limits, what is guaranteed and what has been used, and every request that was charged."""
    with open_ledger(ledger) as book:
        warn_if_changed(book.place, book.verify())
        emit(_described(book), lambda: _shown(book), as_json)


@ledger_app.command()
@guarded
def verify(
    ledger: LedgerPlace,
    head: Annotated[str | None, typer.Option(help="An end of the chain that was kept elsewhere.")] = None,
    as_json: Json = False,
) -> None:
    """Work out the chain, the charges and the sums again."""
    with watched("Verifying"), open_ledger(ledger) as book:
        found = book.verify(head)
    said = f"{found.rows} rows, {found.reservations} reservations: " + ("nothing is wrong." if found else "wrong.")
    compared = (
        _not_compared(ledger, found.head) if head is None else f"Its chain goes on from the end that you kept, {head}."
    )
    # What a changed file says of its own end is the end of the good one: it must not be kept as if it were.
    kept = found.head if found else None
    record = {"ok": found.ok, "rows": found.rows, "head": kept, "problems": list(found.problems)}
    end = [f"End of the chain: {kept}", compared] if found else [NO_END]
    emit({**record, "compared_with": head}, lambda: "\n".join([said, *found.problems, *end]), as_json)
    if not found:
        raise typer.Exit(CHECK_FAILED)


def _not_compared(ledger: str, head: str) -> str:
    """Say what a chain cannot show by itself, and the line to keep."""
    return (
        "Checked: that this file is whole in itself. Not checked: that it is the newest one. An older copy is whole, "
        "too, and what was asked since then could be paid from it again. Keep this line elsewhere, for the next "
        "review:\n"
        f"  sfumato ledger verify {shlex.quote(ledger)} --head {head}"
    )


@ledger_app.command("give-up")
@guarded
def give_up(
    ledger: LedgerPlace,
    request: Annotated[str, typer.Argument(help="The id of the request, as the sentence that names it says.")],
    *,
    private: Private = None,
    keep_head: KeepHead = None,
    as_json: Json = False,
) -> None:
    """Give up a request that was begun and cannot be finished; what it was charged stays spent."""
    with open_ledger(ledger, private, keep_head) as book:
        found = book.fail(request)
    said = f"The request {request!r} is given up; ask again as a new request, which is charged anew."
    emit({"request": request, "state": found.state}, lambda: said, as_json)


@ledger_app.command()
@guarded
@opens(*STATE, "table", "private", *MACHINE)
def preview(
    ledger: LedgerPlace,
    data: Data,
    schema: SchemaPath,
    question: Asked,
    *,
    spend: PaidSpend,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Say whether a question would fit, or that it was answered before and is free; costs nothing."""
    from sfumato.cli.asking import Desk, ask, preview_text

    with watched("Working"):
        desk = Desk(data, schema, ledger, opened)
        found = ask(desk, question, spend, preview=True)
    emit(found.to_json(), lambda: preview_text(found), as_json)
    if not found.fits:
        raise typer.Exit(REFUSED)


def open_ledger(place: str, private: Path | None = None, keep_head: Path | None = None) -> Ledger:
    """Open a ledger that exists."""
    from sfumato.ledger import Ledger

    return Ledger(place, private=private, keep_head=keep_head)


def warn_if_changed(place: str, found: Verification) -> None:
    """Warn that what is shown was changed outside the ledger, answers and events too, where it was."""
    if not found:
        warn(
            f"The ledger at {place} was changed outside it, so what is shown may be false; ledger.verify() says "
            f"what is wrong: {found.problems[0]}"
        )


def _described(book: Ledger) -> dict[str, Any]:
    from sfumato.ledger.periods import units_said

    periods = [one.to_json() for one in book.periods()]
    return {
        "place": book.place,
        "head": book.head,
        "schema": book.schema,
        "relation": book.relation.value,
        "limits": [
            {"guarantee": book.guarantee_text(reading.rule.limit.on, reading.rule.limit.people), **reading.to_json()}
            for reading in book.readings()
        ],
        **({"units": list(units_said(book.budget, book.relation)), "periods": periods} if periods else {}),
        "history": [entry.to_json() for entry in book.history()],
    }


def _shown(book: Ledger) -> str:
    from sfumato.ledger.periods import periods_table, units_said, used_said
    from sfumato.ledger.wording import EXPERTS, METER, ROOM
    from sfumato.report.releases import releases_table
    from sfumato.show import table

    rows = []
    readings = book.readings()
    for reading in readings:
        kind = "guarantee" if reading.rule.promises else "declared late" if reading.rule.late else "quota"
        rows.append([reading.name, str(reading.rule.limit.bound), kind, f"{reading.percent} %", reading.numbers])
    drawn = [table("Limits", ["on", "limit", "is a", "used", "in numbers"], rows).text()] if rows else []
    periods = book.periods()
    by_period = [*([""] if rows else []), periods_table(periods).text(), "", *used_said(periods)] if periods else []
    counted = [f"{reading.name}: {reading.experts}" for reading in readings if reading.experts]
    # Ways of counting are nothing to read before something was counted.
    experts = ["", ROOM, f"{EXPERTS} {' '.join(counted)}"] if counted else []
    history = book.history()
    listed = releases_table(history).text() if history else "Nothing was charged yet."
    end = f"End of the chain: {book.head}"
    talks = [TALKS] if any(entry.event.get("name") == "Conversation" for entry in history) else []
    # Where only periods are limited, what they are promised ends with the sentence about a lifetime.
    whole = [] if periods and book.budget.person is None else [book.guarantee_text()]
    promised = [*units_said(book.budget, book.relation), *whole, METER]
    return "\n".join([*promised, "", *drawn, *by_period, *experts, "", listed, *talks, "", end])
