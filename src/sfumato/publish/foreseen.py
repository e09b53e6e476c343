"""What a publication will do, worked out without any data: its plan, and a period of made-up rows."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from sfumato.answer import Answer, Released
from sfumato.ask.packing import unpack
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Ledger
from sfumato.ledger.running import Coins
from sfumato.noise import Noise, new_key
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of, of_person
from sfumato.publish.file import PublicationFile
from sfumato.publish.period_tables import PeriodTables
from sfumato.publish.planned import PublicationPlan, TablePlan, dearer, rehearsed_error, running_error, table_plan
from sfumato.publish.shown import table_of
from sfumato.publish.total import RunningTable
from sfumato.table.data import open_table
from sfumato.table.rehearsal import random_rows

FORESEEN = 400
"""So many periods are tried against the limits when a publication is planned."""
MADE_UP = 1000
"""How many made-up people a preview has."""


def made_up(file: PublicationFile, slot: Slot) -> Any:
    """Return random rows of the schema, all of the first day of a slot."""
    import pyarrow

    rows = random_rows(file.schema, MADE_UP, Noise())
    place = rows.column_names.index(file.stamp)
    return rows.set_column(place, file.stamp, pyarrow.array([slot.first] * MADE_UP))


def plan_of(file: PublicationFile, tables: PeriodTables, words: tuple[str, ...]) -> PublicationPlan:
    """Say what is promised, what every table costs and how far off it will be, and when a limit will refuse."""
    with Ledger(None, file.budget, relation=file.promised.relation) as book:
        errors, costs = rehearsed(file, tables, book), tables.costs(book)
        found = [table_plan(one, one.every, errors[one.name], costs.get(one.name)) for one in file.anew()]
        found += [table_plan(one, file.period, running_error(RunningTable(file, one))) for one in file.running()]
        found += [
            TablePlan(f"{name} ({one.name})", f"{one.after} days later", str(bound), "see a preview")
            for one in file.revisions
            for name, bound in one.spend.items()
        ]
        refused = _refused(file, tables, book)
        counts = tables.stretches(book)
    notes = tuple(said for one in file.anew() for said in dearer(file, one, counts[one.name]))
    return PublicationPlan(file.name, file.edition, words, tuple(found), refused, str(file.to), notes)


def rehearsed(file: PublicationFile, tables: PeriodTables, book: Ledger) -> dict[str, str]:
    """Answer every table once on made-up rows, and return how wide its intervals are."""
    found = {}
    for unit in file.units():
        listed = file.anew(unit)
        if not listed:
            continue
        asked, slot = tables.asked(book, listed), Slot.of(unit, file.first)
        with open_table(made_up(file, slot), file.schema, snapshot="made up", span=file.span(slot)) as table:
            work, coins = asked.work(table), Coins("rehearsal", new_key())
            raw = unpack(work.draw(work.read(), coins), file.schema)
        parts = zip(listed, asked.questions, asked.prepared, asked.finish(raw), asked.events(""), strict=True)
        for one, question, prepared, released, event in parts:
            shown = Released.from_json(released.to_json())
            answer = Answer(question, shown, prepared.loss(), event)
            table_of(answer)  # which refuses what cannot be written
            found[one.name] = rehearsed_error(answer)
    return found


def _refused(file: PublicationFile, tables: PeriodTables, book: Ledger) -> str | None:
    """Try all periods against limits that nobody has used, and return where the first one is refused."""
    slot, promised = "the running total", file.promised
    try:
        for spec in file.running():
            RunningTable(file, spec).open(book)
        horizon = file.last or file.first + timedelta(days=FORESEEN)
        for unit in file.units():
            listed = file.anew(unit)
            if not listed:
                continue
            asked = tables.asked(book, listed)
            losses, known = tables.losses(asked, listed), tables.exchanged(asked)
            for found in file.slots(unit, horizon)[:FORESEEN]:
                slot = found.name
                whole, slots = of_person(promised, losses, known), charges_of(promised, found, losses, known)
                book.reserve(slot, asked.event(slot), whole, slots=slots)
        for found in file.revised(date.max)[:FORESEEN] if file.last is not None else ():
            slot, asked = found.issue, tables.asked(book, file.listed(found))
            losses, known = tables.losses(asked, file.listed(found)), tables.exchanged(asked)
            whole, slots = of_person(promised, losses, known), charges_of(promised, found, losses, known)
            book.reserve(slot, asked.event(slot), whole, slots=slots)
    except BudgetExceeded as refusal:
        return f"{slot}: {refusal}"
    return None
