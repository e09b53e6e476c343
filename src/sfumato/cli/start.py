"""`sfumato start`: from a file to a schema, a ledger and a first answer, one question at a time."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer

from sfumato.cli.asking import Desk, ask
from sfumato.cli.checking import read_cells
from sfumato.cli.columns import GRAMMAR, column_text, corrected, example_of
from sfumato.cli.hints import in_shell
from sfumato.cli.opened import FILE, Opened
from sfumato.errors import ParameterError, SfumatoError
from sfumato.ledger import Budget, Ledger, Unbounded
from sfumato.ledger.typed import read_bound
from sfumato.privacy import Bound, Pure
from sfumato.table.database import accepted
from sfumato.table.drafting import LOOKS, Draft, draft
from sfumato.table.mistakes import unfilled
from sfumato.table.names import FILL
from sfumato.table.proposed_bins import with_bins_later
from sfumato.table.repeats import asked_in_turn
from sfumato.table.schema import Schema

Read = TypeVar("Read")

USUAL = Pure(3)
DROP = "drop"
FAR_FEWER = 0.9
"""A corrected column that reads less than this part of the cells that the proposal reads, or that holds less than this
part of what it reads in its range, is asked about."""
SHARE = 10
"""The first answer takes this part of the limit."""


def walk(data: str | None, opened: Opened) -> None:
    """Ask everything that is needed, write what is made, and show the first answer."""
    place = data or _asked("Which file holds the data?", str, example="people.csv")
    if described := _described(place):
        path, schema = described
        ledger, limit = _ledger(schema, Path(place).with_suffix(".ledger").name)
        _first([place, str(path), str(ledger)], schema, limit.split(SHARE), opened)
        return
    drafted = draft(place, **opened.named(*FILE))
    person = drafted.record.get("person")
    named = [*([person] if person not in (None, FILL) else []), *drafted.record["columns"]]
    typer.echo(f"{place} has the columns {', '.join(named)}.")
    if _may_look():
        drafted = draft(place, look=True, **opened.named(*FILE))
        for said in drafted.notes.get("", ()):
            typer.echo(f"  {in_shell(asked_in_turn(said))}")
    drafted = _columns_that_read(place, _people(drafted), opened)
    path = _new_path("Where shall the schema be written?", _usual_schema(place).name)
    if drafted.looked and not _yes(
        "Have you compared these ranges and lists with what is publicly known about such data?", default=False
    ):
        path.write_text(drafted.to_toml(), encoding="utf-8")
        called = "" if path == _usual_schema(place) else f", once it is called {_usual_schema(place)}"
        typer.echo(f"Wrote the draft {path}. {drafted.to_do} Then run sfumato start again{called}, or sfumato check.")
        return
    schema = drafted.confirm().schema()
    path.write_text(schema.to_toml(), encoding="utf-8")
    typer.echo(f"Wrote {path}.")
    ledger, limit = _ledger(schema, Path(place).with_suffix(".ledger").name)
    _first([place, str(path), str(ledger)], schema, limit.split(SHARE), opened)


# Describe


def _usual_schema(place: str) -> Path:
    return Path(Path(place).with_suffix(".toml").name)


def _described(place: str) -> tuple[Path, Schema] | None:
    """Return the schema that was written before, if there is one and somebody wants to go on from it."""
    path = _usual_schema(place)
    if not path.exists():
        return None
    try:
        schema = Schema.load(path)
    except SfumatoError as unfinished:
        typer.echo(
            f"{path} is there, but it is no finished schema: {in_shell(str(unfinished))} Finish it and run sfumato "
            "start again (Ctrl+C ends this), or describe the columns anew here."
        )
        return None
    typer.echo(f"{path} describes the columns {', '.join(schema.names)}.")
    return (path, schema) if _yes("Go on from it?", default=True) else None


def _may_look() -> bool:
    typer.echo(
        "\nA schema says what may stand in each column. Somebody who knows such data can write it without looking. I "
        "can also look at the cells and propose: that is a private act outside of every promise."
    )
    consent = _yes("May I look at private cells?", default=False)
    if consent:
        typer.echo(LOOKS)
    return consent


def _people(drafted: Draft) -> Draft:
    known = drafted.record.get("person")
    names = [*drafted.record["columns"], *([known] if known not in (None, FILL) else [])]

    def read(text: str) -> str | None:
        if text in ("none", ""):
            return None
        if text not in names:
            raise ParameterError(f"There is no column {text!r}; write one of {', '.join(names)}, or none.")
        return text

    usual = "none" if known in (None, FILL) else str(known)
    person = _asked("\nWhich column tells people apart? (none: every row is one person)", read, usual)
    if person is None:
        return drafted.fill(person=None)
    if drafted.record.get("row_key") == [] and person == known:
        return drafted
    rows = _asked("How many rows of one person may count?", _count, str(drafted.record["rows_per_person"]))
    return drafted.fill(person=person, rows_per_person=rows)


def _columns(drafted: Draft, typed: Mapping[str, Any] | None = None) -> Draft:
    """Ask about every column; what was `typed` before is what Enter keeps, and a column that is none of it was dropped.

    Whoever then corrects a range has the proposal's way of writing numbers again, not one that read nothing.
    """
    typer.echo(f"\nNow the columns: Enter keeps what is proposed, drop leaves one out, or write it: {GRAMMAR}")
    for name, column in drafted.record["columns"].items():
        now = column if typed is None else typed.get(name)
        notes = [in_shell(said) for said in with_bins_later(drafted.notes.get(name, ()))]
        if now is not None and now != column and not any(True for _ in unfilled(column)):
            notes.append(f"Proposed at first: {column_text(column)}")
        if notes:  # else they would be read as an answer to what was typed last
            typer.echo("\n".join(["", f"{name}:", *(f"  {said}" for said in notes)]))
        is_open = now is column and any(True for _ in unfilled(column))
        told = f"{name} ({column['type']}, to be described)" if is_open else name
        usual = DROP if now is None else None if is_open else column_text(now)
        drafted = _asked(told, _Column(drafted, name, column, now).read, usual, example_of(column["type"]))
    return drafted


def _columns_that_read(place: str, proposed: Draft, opened: Opened) -> Draft:
    """Ask about the columns; with consent to look, say what they read, and ask anew where much would be lost."""
    drafted = _columns(proposed)
    while proposed.looked and not _reads_enough(place, proposed, drafted, opened):
        drafted = _columns(proposed, drafted.record["columns"])
    return drafted


def _reads_enough(place: str, proposed: Draft, drafted: Draft, opened: Opened) -> bool:
    """Say how many cells each column reads, and ask whether to go on where it is far fewer than as proposed."""
    columns = drafted.record["columns"]
    if not columns:
        return True  # the schema says what is wrong with that
    found = read_cells(place, _only(columns), opened.table, opened.resources)
    said = ", ".join(f"{name} {count:,}" for name, count in found.read.items())
    typer.echo(f"\nOf {found.rows:,} cells each column can read: {said}. (Private, for your eyes.)")
    if moved := ", ".join(f"{name} {count:,}" for name, count in found.moved.items() if count):
        typer.echo(f"  Outside of their range, so that they count as its nearest end: {moved}. (Private, too.)")
    changed = {
        name: column
        for name, column in proposed.record["columns"].items()
        if name in columns and column != columns[name] and not any(True for _ in unfilled(column))
    }
    if not changed:
        return True
    before = read_cells(place, _only(changed), opened.table, opened.resources)
    lost = [name for name, count in before.read.items() if found.read[name] < FAR_FEWER * count]
    for name in lost:
        typer.echo(
            f"  {name} reads {found.read[name]:,} cells as you wrote it, and {before.read[name]:,} as it was proposed."
        )
    cut = [
        name
        for name, count in before.moved.items()
        if found.moved[name] > max(count, (1 - FAR_FEWER) * found.read[name])
    ]
    for name in cut:
        typer.echo(
            f"  {name} has {found.moved[name]:,} cells outside of the range as you wrote it, and "
            f"{before.moved[name]:,} as it was proposed."
        )
    return not (lost or cut) or _yes("Go on nevertheless? (No asks about the columns again.)", default=False)


def _only(columns: Mapping[str, Any]) -> Schema:
    """Return a schema of some columns, in which every row is one person."""
    return Schema.from_json({"columns": dict(columns)})


@dataclass(frozen=True)
class _Column:
    """One column of a draft, and what somebody says about it."""

    drafted: Draft
    name: str
    column: Mapping[str, Any]
    now: Mapping[str, Any] | None

    def read(self, text: str) -> Draft:
        """Return the draft with the column as it was, without it, or described anew."""
        if text.lower() == DROP:
            return self.drafted.drop(self.name)
        kept = ""
        if self.now and not any(True for _ in unfilled(self.now)) and text == column_text(self.now).strip():
            described = dict(self.now)
        else:
            described, kept = corrected(text, self.column)
        if kept:
            typer.echo(f"  Kept from the proposal: {kept}. (unit=none, say, takes one off.)")
        listed = {**self.drafted.record["columns"], self.name: described}
        return Draft({**self.drafted.record, "columns": listed}, self.drafted.notes)


# The ledger and the first answer


def _ledger(schema: Schema, usual: str) -> tuple[Path, Bound]:
    """Return the ledger that is there, if somebody goes on with it, or a new one."""
    return _known_ledger(schema, Path(usual)) or _new_ledger(schema, usual)


def _known_ledger(schema: Schema, path: Path) -> tuple[Path, Bound] | None:
    if not path.exists():
        return None
    try:
        with Ledger(path, schema=accepted(schema)) as book:
            limit, used = book.guarantee(), book.spent().brief
    except SfumatoError as other:
        typer.echo(f"\n{path} is there, but it cannot be gone on with: {in_shell(str(other))}")
        return None
    if isinstance(limit, Unbounded):
        typer.echo(f"\n{path} is there, but it has no limit for a whole person.")
        return None
    typer.echo(f"\n{path} is there. {used}")
    if _yes("Go on with it?", default=True):
        return path, limit
    typer.echo(f"A second ledger does not know what {path} has paid: what both tell about one person adds up.")
    return None


def _new_ledger(schema: Schema, usual: str) -> tuple[Path, Bound]:
    typer.echo(
        "\nA ledger keeps everything that is ever answered within a limit, which is fixed now. 1 is strict, 3 is "
        "usual, 10 is weak; a bound such as Approximate(3, 1e-6) may be written too."
    )
    limit = _asked("How much may all answers together tell about one person?", _bound, "3")
    typer.echo(limit.explain())
    path = _new_path("Where shall the ledger be kept?", usual)
    Ledger(path, Budget(person=limit, secrets=schema.secrets), schema=schema.fingerprint).close()
    typer.echo(f"Made {path} with the limit {limit!s}.")
    return path, limit


def _first(places: Sequence[str], schema: Schema, spend: Bound, opened: Opened) -> None:
    """Ask the first question, and say how to go on; `places` are those of the data, the schema and the ledger."""
    data, path, ledger = places
    typer.echo(f"\nNow ask: {', '.join(suggestions(schema))}. It takes a tenth of the limit, {spend!s}.")

    def answered(text: str) -> str:
        return ask(Desk(data, Path(path), ledger, opened), text, str(spend)).text()

    typer.echo(_asked("Your question", answered, suggestions(schema)[0]))
    following = shlex.join(
        ["sfumato", "query", data, path, suggestions(schema)[-1], "--ledger", ledger, "--spend", str(spend)]
    )
    typer.echo(
        f"\nGo on in the shell:\n  {following}\n  {shlex.join(['sfumato', 'ledger', 'show', ledger])}\n"
        f"or in Python:\n  import sfumato as sf\n  curator = sf.curate({data!r}, {path!r}, ledger={ledger!r})\n"
        "  print(curator)"
    )


def suggestions(schema: Schema) -> list[str]:
    """Return questions that this schema can answer, the simplest first.

    >>> from sfumato.domain import categories, integers
    >>> suggestions(Schema({"age": integers(0, 99), "sex": categories("F", "M")}))
    ['histogram of sex', 'median of age', 'mean of age by sex']
    """
    kinds = {name: schema.domain(name).to_json().get("type") for name in schema.names if schema.base(name) == name}
    labels = [_quoted(name) for name, kind in kinds.items() if kind in ("category", "boolean")]
    numbers = [_quoted(name) for name, kind in kinds.items() if kind in ("integer", "fixed")]
    found = [f"histogram of {name}" for name in labels[:1]] + [f"median of {name}" for name in numbers[:1]]
    return [*found, *(f"mean of {name} by {label}" for name in numbers[:1] for label in labels[:1])] or ["count"]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


# Asking


def _asked(question: str, read: Callable[[str], Read], usual: str | None = None, example: str = "") -> Read:
    """Ask until the answer can be read; an error, or a word about an empty line, says what to write."""
    while True:
        text = typer.prompt(question, default=usual or "", show_default=bool(usual))
        if not str(text).strip() and usual is None:
            typer.echo(f"  Nothing is proposed here; write for example {example}.")
            continue
        try:
            return read(str(text).strip())
        except SfumatoError as wrong:
            typer.echo(f"  {in_shell(str(wrong))}")


def _yes(question: str, default: bool) -> bool:
    """Ask until the answer is yes or no; an empty line is the usual one."""
    said = {"y": True, "yes": True, "n": False, "no": False, "": default}
    suffix = " [Y/n]: " if default else " [y/N]: "
    while True:
        text = str(typer.prompt(question, default="", show_default=False, prompt_suffix=suffix)).strip().lower()
        if text in said:
            return said[text]
        typer.echo("  Write y for yes or n for no.")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError("That is no number of rows; write a whole number such as 3.")
    return int(text)


def _bound(text: str) -> Bound:
    return read_bound(text if "(" in text else f"Pure({text})", "The limit")


def _new_path(question: str, usual: str) -> Path:
    def read(text: str) -> Path:
        if Path(text).exists():
            raise ParameterError(f"{text!r} exists already and is not overwritten; write another name.")
        return Path(text)

    return _asked(question, read, usual)
