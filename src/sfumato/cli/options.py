"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sfumato.cli.outcome import BAD_INPUT, failed

SPENDS = ("Pure(0.1)", "Pure(1)", "Concentrated(0.02)", "Truncated(0.02,20)", "Approximate(1,1e-6)")


def complete_spend(incomplete: str) -> list[str]:
    """Offer a spend of every kind."""
    return [spend for spend in SPENDS if spend.lower().startswith(incomplete.lower())]


def complete_question(context: typer.Context, incomplete: str) -> list[str]:
    """Offer kinds of questions, and the columns of the schema for the word that is being typed."""
    from sfumato.curator.typed import KINDS

    before, _, word = incomplete.rpartition(" ")
    if not before:
        return [kind for kind in KINDS if kind.startswith(word.lower())]
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
        return super().parse_args(ctx, args)


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
