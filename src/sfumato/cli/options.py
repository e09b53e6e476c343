"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sfumato.cli.outcome import BAD_INPUT, failed
from sfumato.words import guide

SPENDS = ("Pure(0.1)", "Pure(1)", "Concentrated(0.02)", "Truncated(0.02,20)", "Approximate(1,1e-6)")


def complete_spend(incomplete: str) -> list[str]:
    """Offer a spend of every kind."""
    return [spend for spend in SPENDS if spend.lower().startswith(incomplete.lower())]


def complete_question(context: typer.Context, incomplete: str) -> list[str]:
    """Offer kinds of questions, and the columns of the schema for the word that is being typed."""
    from sfumato.curator.typed import typed_words

    before, _, word = incomplete.rpartition(" ")
    if not before:
        return [kind for kind in typed_words() if kind.startswith(word.lower())]
    try:
        from sfumato.table.schema import Schema

        columns = Schema.load(context.params["schema"]).names
    except Exception:  # whatever is wrong with the schema is said when the command runs
        return []
    return [f"{before} {name}" for name in columns if name.startswith(word)]


def complete_answer(incomplete: str) -> list[str]:
    """Offer the questions of the report's questionnaire."""
    from sfumato.report.questionnaire import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


INSTEAD = guide(
    {
        # commands that people guess: what is written here
        "help": "write sfumato --help, or sfumato query --help for one command",
        "version": "write sfumato --version",
        "count sum mean average variance median quantiles histogram people distribution synthesize group_by": "a "
        'question is a text behind the data and the schema: sfumato query people.csv people.toml "mean of age" '
        '--ledger people.ledger --spend "Pure(0.1)"',
        "ask": 'write sfumato query people.csv people.toml "mean of age" --ledger people.ledger --spend "Pure(0.1)"',
        "schema draft describe": "write sfumato init people.csv, which drafts a schema",
        "predict": 'write sfumato read model.json "predict people.csv"',
        "audit": "write sfumato fair audit --help",
    }
)
OF_LEDGERS = guide(
    {
        "delete remove rm reset clear drop empty": "a ledger is never emptied, because what was released stays known; "
        'other people get another one by sfumato ledger create others.ledger --person "Pure(3)" --schema people.toml',
        "new init make open add": 'write sfumato ledger create people.ledger --person "Pure(3)" --schema people.toml',
        "list ls status spent left budget remaining": "write sfumato ledger show people.ledger",
        "help": "write sfumato ledger --help",
    }
)

NONE: Mapping[str, str] = {}


class Commands(TyperGroup):
    """A list of commands: one that is none of them is answered with the line to write."""

    instead: Mapping[str, str] = INSTEAD

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant, or say what there is."""
        if args and args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            hint = self.instead.get(args[0].lower())
            close = get_close_matches(args[0], list(self.commands), n=1)
            if hint is None:
                hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(self.commands)}"
            said = f"There is no command {ctx.command_path} {args[0]}; {hint}"
            raise failed(said + ("" if said.endswith("?") else "."), BAD_INPUT, as_json="--json" in args)
        return super().resolve_command(ctx, args)


class Subcommands(Commands):
    """The commands of one job, all of which are listed to whoever guesses another."""

    instead = NONE


class LedgerCommands(Commands):
    """The commands about ledgers."""

    instead = OF_LEDGERS


def commands_of(kind: type[Commands], help: str) -> typer.Typer:
    """Return a list of commands about one thing; plain, as the list that it stands in."""
    return typer.Typer(cls=kind, help=help, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


UsageError: Any = typer.BadParameter.__bases__[0]
"""What typer raises of wrong arguments; versions differ in where it stands."""
UNQUOTED = (
    "The question is one argument, and '{more}' stands behind it; put all of it in double quotes, as in sfumato query "
    'people.csv people.toml "count where age > 40" …, or the shell takes > for a file to write.'
)


class Charged(TyperCommand):
    """A command that charges a ledger: who leaves it out, or writes a spend as elsewhere, is told what to write."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say how a ledger is made and how a spend is written, where one is left out or written otherwise."""
        named = {word.partition("=")[0] for word in args}
        said = None
        if named & {"--epsilon", "--eps", "--delta", "--rho", "--budget"}:
            said = 'Write --spend "Pure(0.1)" for an epsilon, --spend "Approximate(1, 1e-6)" with a delta, or --spend '
            said += '"Concentrated(0.02)" for a rho.'
        elif "--ledger" not in named:
            said = (
                "Every answer is charged to a ledger; write --ledger people.ledger, and make it once by sfumato ledger "
                'create people.ledger --person "Pure(3)" --schema people.toml.'
            )
        if said is not None and "--help" not in named and not ctx.resilient_parsing:
            raise failed(said, BAD_INPUT, as_json="--json" in named)
        try:
            return super().parse_args(ctx, args)
        except UsageError as wrong:
            if "extra argument" not in wrong.message or self.name != "query":
                raise
            more = wrong.message.partition(" (")[2].removesuffix(".").removesuffix(")")
        raise failed(UNQUOTED.format(more=more), BAD_INPUT, as_json="--json" in named)


Data = Annotated[str, typer.Argument(help="A Parquet, CSV or DuckDB file, or a postgresql:// address.")]
SchemaPath = Annotated[Path, typer.Argument(help="The public schema, TOML or JSON; `sfumato init` drafts one.")]
LedgerPlace = Annotated[str, typer.Argument(help="The path of a ledger, or a postgresql:// address.")]
Asked = Annotated[
    str, typer.Argument(help="For example: mean of hours where age > 40.", autocompletion=complete_question)
]
LedgerOption = Annotated[
    str, typer.Option("--ledger", help="The ledger that is charged; make one with `sfumato ledger create`.")
]
Snapshot = Annotated[str, typer.Option(help="Your name for this state of the data; files have numbers.")]
SameData = Annotated[bool, typer.Option(help="Another file of this name holds the same data.")]
Analyst = Annotated[str | None, typer.Option(help="Who asks, if the ledger has quotas.")]
Of = Annotated[
    str | None,
    typer.Option(help="The period that is asked, where a ledger limits periods: 2026-11, 2026-W47, 2026-11-16."),
]
Stamp = Annotated[str | None, typer.Option(help="The column that says when a row happened, beside --of.")]
Out = Annotated[
    Path | None, typer.Option(help="Also write the answer, as .csv, .parquet or .json; a model as .html too.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the files that --out names.")]
Plot = Annotated[Path | None, typer.Option(help="Also write a picture, .svg or .png.")]
Table = Annotated[str | None, typer.Option(help="The table of a database that has several.")]
Spend = Annotated[
    str | None, typer.Option(help="What the answer may cost, for example Pure(0.1).", autocompletion=complete_spend)
]
PaidSpend = Annotated[
    str, typer.Option("--spend", help="What it may cost, for example Pure(0.1).", autocompletion=complete_spend)
]
Private = Annotated[
    Path | None, typer.Option(help="Where a draw in progress is kept; beside a ledger's file if left out.")
]
KeepHead = Annotated[
    Path | None,
    typer.Option(help="A file on another disk that keeps the end of the ledger's chain, to notice an older copy."),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="What the engine and a reading may hold in memory, for example 8GB; 80 % of what there is."),
]
TempDirectory = Annotated[
    Path | None, typer.Option(help="Where rows go that do not fit memory, as secret as the data; the system's usually.")
]
MostRows = Annotated[
    int | None,
    typer.Option(help="How many rows there are at most, as everybody may know; bounds what a reading needs."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Yes = Annotated[
    list[str] | None,
    typer.Option(help="Questions answered with yes, by name: bits,identity", autocompletion=complete_answer),
]
No = Annotated[
    list[str] | None,
    typer.Option(help="Questions answered with no, by name: bits,identity", autocompletion=complete_answer),
]
Together = Annotated[bool, typer.Option("--together", help="Intervals that hold for all rows at once.")]
