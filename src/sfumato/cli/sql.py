"""What `sfumato sql` does: open the tables of a database, and answer or explain a statement."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.hints import in_shell
from sfumato.cli.opened import STATE, Opened, opens
from sfumato.cli.options import Force, Json, LedgerOption, Out, SchemaPath, Spend, Together
from sfumato.cli.outcome import emit, guarded
from sfumato.errors import ParameterError
from sfumato.show.progress import watched

Statement = Annotated[
    str | None, typer.Argument(help='For example: "SELECT sex, COUNT(*) FROM patients GROUP BY sex".')
]
Data = Annotated[
    list[str] | None, typer.Option(help="Where a table is, as visits=visits.parquet; of a schema alone, the file.")
]

_STATEMENT = re.compile(r"\s*(select|with|explain)\s", re.IGNORECASE)


@guarded
@opens(*STATE, "private", "keep_head", "memory_limit", "temp_directory")
def sql_command(
    schema: SchemaPath,
    statement: Statement = None,
    after: Annotated[str | None, typer.Argument(hidden=True, metavar="…")] = None,
    *,
    ledger: LedgerOption,
    data: Data = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file that holds the statement.")] = None,
    spend: Spend = None,
    explain: Annotated[bool, typer.Option("--explain", help="Only say what it reads and costs; free.")] = False,
    together: Together = False,
    out: Out = None,
    force: Force = False,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Answer a SELECT over one or several tables, charged to a ledger before the data are touched.

    SCHEMA is a database in TOML, in which a table may name its file: source = "visits.parquet". Of one table the file
    may stand before its schema, as for query: sfumato sql people.csv people.toml "SELECT COUNT(*) FROM data" ….
    """
    from sfumato.curator import curate
    from sfumato.ledger import Ledger
    from sfumato.ledger.typed import read_bound
    from sfumato.table.database import accepted, load

    schema, statement, data = _as_for_query(schema, statement, after, data or [], file is not None)
    text = _text(statement, file)
    _check_out(out, force)
    opened.require_both()
    described = load(schema)
    bound = None if spend is None else read_bound(spend)
    sources = sources_of(schema, described, data)
    with Ledger(ledger, schema=accepted(described), **opened.named("private", "keep_head")) as book:
        with watched("Working"):
            how = opened.named("snapshot", "same_data", "memory_limit", "temp_directory")
            curator = curate(sources, described, ledger=book, **how)
        with curator.table:
            asked = opened.period(curator)
            ask = asked.explain if explain else asked.sql
            found = ask(text, bound, analyst=opened.analyst)
            _show(found, together, out, as_json)


def _as_for_query(
    schema: Path, statement: str | None, after: str | None, data: list[str], in_file: bool
) -> tuple[Path, str | None, list[str]]:
    """Return schema, statement and files, where a file may stand before the schema as it does for `query`."""
    if _STATEMENT.match(str(schema)):
        raise ParameterError(
            "The statement comes last, behind the data and the schema; write sfumato sql people.csv people.toml "
            '"SELECT …".'
        )
    before = after is not None or (in_file and statement is not None)
    if not before or statement is None:
        return schema, statement, data
    if data:
        raise ParameterError(f"The file is written once: before the schema, or after --data; leave out {data[0]!r}.")
    return Path(statement), after, [str(schema)]


def _show(found: Any, together: bool, out: Path | None, as_json: bool) -> None:
    from sfumato.sql.explanation import Explanation

    if isinstance(found, Explanation):
        facts: dict[str, Any] = {
            "sql": found.sql,
            "reads": list(found.reads),
            "costs": found.costs,
            "noise": found.noise,
        }
        facts |= {"noise_without_bounds": found.weighed, "rank_errors": found.ranks}
        facts |= {"rules": list(found.rules), "free": list(found.free), "stored": found.stored}
        emit(facts, lambda: str(found), as_json)
        return
    frame = found.framed(together)
    notes = [in_shell(note) for note in frame.notes]
    if out is not None:
        from sfumato.cli.writing import write_table

        write_table(frame.to_arrow(), out, notes=notes)
    table = {name: [_plain(cell) for cell in column] for name, column in frame.columns.items()}
    emit(
        {"table": table, "sql": found.sql, "reused": found.reused, "loss": found.loss.to_json(), "notes": notes},
        lambda: in_shell(found.view(together).text()),
        as_json,
    )


def _check_out(out: Path | None, force: bool) -> None:
    """Refuse a file that cannot be written, before anything is spent."""
    from sfumato.cli.writing import TABLES, check_out

    if out is not None and out.suffix.lower() not in TABLES:
        raise ParameterError(f"--out ends in .csv or .parquet, and {str(out)!r} does not.")
    check_out(out, force=force)


def _plain(cell: Any) -> Any:
    from sfumato.answer import number

    shown = number(cell)
    return shown if shown is None or isinstance(shown, (bool, int, float, str)) else str(shown)


def _text(statement: str | None, file: Path | None) -> str:
    if (statement is None) is (file is None):
        raise ParameterError(
            'Write the statement after the schema, or its file after -f: sfumato sql clinic.toml "SELECT …".'
        )
    if statement is not None:
        return statement
    assert file is not None
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"The statement {str(file)!r} cannot be read ({type(error).__name__}).") from None


def sources_of(path: Path, described: Any, data: list[str]) -> Any:
    """Return where the tables of a database are: as its file says, or as it is written after --data."""
    from sfumato.table.database import Database, sources_in

    if not isinstance(described, Database):
        if len(data) != 1:
            raise ParameterError("A schema of one table takes one file; write --data people.parquet.")
        name, _, place = data[0].rpartition("=")
        if name.isidentifier() and not Path(data[0]).exists():
            raise ParameterError(f"The schema is of one table, which needs no name; write --data {place}.")
        return data[0]
    found: dict[str, Any] = sources_in(path)
    for option in data:
        name, equals, place = option.partition("=")
        if not equals:
            raise ParameterError(f"--data is written as visits=visits.parquet, and {option[:60]!r} is not.")
        found[name] = place
    return found
