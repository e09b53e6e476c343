"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="A Parquet, CSV or DuckDB file, or a postgresql:// address.")]
SchemaPath = Annotated[Path, typer.Argument(help="The public schema, TOML or JSON; `sfumato init` drafts one.")]
LedgerPlace = Annotated[str, typer.Argument(help="The path of a ledger, or a postgresql:// address.")]
Asked = Annotated[str, typer.Argument(help="For example: mean of hours where age > 40.")]
Table = Annotated[str | None, typer.Option(help="The table of a database that has several.")]
Spend = Annotated[str | None, typer.Option(help="What the answer may cost, for example Pure(0.1).")]
Private = Annotated[
    Path | None, typer.Option(help="Where a draw in progress is kept; beside a ledger's file if left out.")
]
KeepHead = Annotated[
    Path | None,
    typer.Option(help="A file on another disk that keeps the end of the ledger's chain, to notice an older copy."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
