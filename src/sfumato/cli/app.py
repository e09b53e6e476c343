"""The commands of `sfumato`; each one is thin, and imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.answers import converse_command, learn_command, query_command, read_command, refit_command
from sfumato.cli.books import ledger_app
from sfumato.cli.evidence import evidence_command
from sfumato.cli.fair import fair_app
from sfumato.cli.local import local_app
from sfumato.cli.opened import FILE, Opened, opens
from sfumato.cli.options import Charged, Commands, Data, Force, Json
from sfumato.cli.outcome import CHECK_FAILED, emit, guarded
from sfumato.cli.publishing import publish_app
from sfumato.cli.reports import report_command
from sfumato.cli.serving import serve_command, user_app
from sfumato.cli.sql import sql_command
from sfumato.durable import require_new
from sfumato.errors import ParameterError
from sfumato.show.progress import watched

# Plain help: a page in boxes would cost more time than everything else that --help does.
app = typer.Typer(
    name="sfumato",
    cls=Commands,
    help="Learn from data about people without exposing any of them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 refused by a limit, 2 bad input, 3 a check failed, 4 begun and not finished "
    "(ask again), 70 a bug.",
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(fair_app, name="fair")
app.add_typer(local_app, name="local")
app.add_typer(publish_app, name="publish")
app.command("query", cls=Charged)(query_command)
app.command("learn", cls=Charged)(learn_command)
app.command("read")(read_command)
app.command("converse", cls=Charged)(converse_command)
app.command("refit")(refit_command)
app.command("sql", cls=Charged)(sql_command)
app.command("report")(report_command)
app.command("evidence")(evidence_command)
app.command("serve")(serve_command)
app.add_typer(user_app, name="user")


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Learn from data about people without exposing any of them."""
    if version:
        from sfumato import __version__

        typer.echo(__version__)
        raise typer.Exit()


@app.command()
@guarded
@opens(*FILE)
def init(
    data: Data,
    *,
    out: Annotated[Path | None, typer.Option(help="Where to write the draft; without it, it is printed.")] = None,
    look: Annotated[
        bool, typer.Option("--look", help="You consent to a look at private cells, outside of every promise.")
    ] = False,
    force: Force = False,
    opened: Opened,
    as_json: Json = False,
) -> None:
    """Draft a schema from the types and names of the columns; with --look, and only then, also from the cells."""
    from sfumato.table.drafting import LOOKS, draft

    if out is not None:
        require_new(out, overwrite=force)
    if look:
        typer.echo(LOOKS, err=True)
    made = draft(data, look=look, **opened.named(*FILE))
    record = {"missing": list(made.missing), "looked": look}
    if out is None:
        emit({**record, "toml": made.to_toml()}, made.to_toml, as_json)
        return
    out.write_text(made.to_toml(), encoding="utf-8")
    emit({**record, "path": str(out)}, lambda: f"Wrote {out}. {made.to_do}", as_json)


@app.command()
@guarded
@opens(*FILE)
def start(
    data: Annotated[
        str | None, typer.Argument(help="A CSV, Parquet or DuckDB file; you are asked if it is left out.")
    ] = None,
    *,
    opened: Opened,
) -> None:
    """Go from a file to a schema, a ledger and a first answer, asked step by step."""
    from sfumato.cli.start import walk

    walk(data, opened)


@app.command()
@guarded
@opens(*FILE)
def check(
    data: Annotated[str, typer.Argument(help="A file or address of data; of a database, its TOML or JSON.")],
    schema: Annotated[Path | None, typer.Argument(help="The public schema; none after a database.")] = None,
    *,
    opened: Opened,
    sources: Annotated[
        list[str] | None, typer.Option("--data", help="Where a table of a database is, as visits=visits.parquet.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count the cells that a schema repairs: for the curator's eyes, outside of every promise.

    Of a database also the rows of people outside of the roster, and links that lead nowhere: sfumato check clinic.toml.
    """
    from sfumato.cli.checking import NOTICE, check_database, check_table, told_of
    from sfumato.cli.sql import sources_of
    from sfumato.table.database import Database, load
    from sfumato.table.schema import Schema

    resources = opened.resources
    if schema is None:
        place = Path(data)
        database = load(place) if place.suffix.lower() in (".toml", ".json") else None
        if not isinstance(database, Database):
            raise ParameterError("A table is checked against its schema; write sfumato check people.csv people.toml.")
        with watched("Counting cells"):
            checked = check_database(sources_of(place, database, sources or []), database, resources)
        emit(checked.to_json(), lambda: checked.text(database), as_json)
        return
    if sources:
        raise ParameterError("--data names the tables of a database; write sfumato check clinic.toml --data visits=….")
    described = Schema.load(schema)
    with watched("Counting cells"):
        found = check_table(data, described, opened.table, resources=resources)
    emit(found.to_json(), lambda: f"{NOTICE}\n\n{told_of(found, described.rows_per_person)}", as_json)


@app.command()
@guarded
def demo(
    out: Annotated[Path, typer.Option(help="Where the report and the pictures go.")] = Path("sfumato-demo"),
    as_json: Json = False,
) -> None:
    """Ask a few questions about made-up people, see one refused, and write the report."""
    from sfumato.cli.demo import run_demo

    with watched("Making up people"):
        story = run_demo(out)
    emit(story.to_json(), story.text, as_json)


@app.command()
@guarded
def doctor(as_json: Json = False) -> None:
    """Look at what sfumato needs here: versions, Java, write access, and a test of the noise."""
    from sfumato.cli.doctor import examine
    from sfumato.show import table as draw

    with watched("Testing"):
        found = examine()
    rows = [[test.name, "fine" if test.ok else "missing" if test.optional else "wrong", test.said] for test in found]
    emit([vars(test) for test in found], lambda: draw("sfumato here", ["what", "is", "details"], rows).text(), as_json)
    if any(not test.ok and not test.optional for test in found):
        raise typer.Exit(CHECK_FAILED)


def main() -> None:
    """Run the command line."""
    app(prog_name="sfumato")
