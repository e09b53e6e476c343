"""`sfumato evidence`: the package for a reviewer, filled from a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.books import open_ledger
from sfumato.cli.options import Json, LedgerPlace, No, Yes
from sfumato.cli.outcome import CHECK_FAILED, emit, guarded
from sfumato.cli.reports import answers_of, read_toml
from sfumato.show.progress import watched


@guarded
def evidence_command(
    ledger: LedgerPlace,
    *,
    out: Annotated[Path | None, typer.Option(help="The folder to write; it must be new or empty.")] = None,
    about: Annotated[
        Path | None, typer.Option(help="A TOML file with what only you know: organisation, purpose …")
    ] = None,
    yes: Yes = None,
    no: No = None,
    as_json: Json = False,
) -> None:
    """Write what a reviewer or a public register asks: guarantee, mechanisms, releases, verified chain."""
    from sfumato.report import evidence
    from sfumato.report.text import changed_text

    with watched("Reading the ledger"), open_ledger(ledger) as book:
        found = evidence(book, read_toml(about), answers_of(yes or (), no or ()))
        if out is not None:
            found.save(out)

    def text() -> str:
        written = (
            "Nothing was written; add --out FOLDER."
            if out is None
            else f"Wrote {out}: evidence.html, deployment.yaml, …"
        )
        wrong = changed_text(found.report)
        left = (
            f"Only you can say, in a file for --about: {', '.join(found.open)}." if found.open else "Nothing is open."
        )
        guaranteed = found.report.person.guarantee_text
        head = [wrong, guaranteed] if wrong else [guaranteed, "The ledger verifies."]
        return "\n".join([*head, left, written])

    emit(found.to_json(), text, as_json)
    if not found.verification.ok:
        raise typer.Exit(CHECK_FAILED)
