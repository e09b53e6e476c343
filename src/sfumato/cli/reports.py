"""`sfumato report`: what is guaranteed, what has been used, and when a figure per attribute means something."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.books import open_ledger, warn_if_changed
from sfumato.cli.options import Force, Json, LedgerPlace, No, Yes
from sfumato.cli.outcome import CHECK_FAILED, emit, guarded
from sfumato.errors import ParameterError
from sfumato.show.progress import watched


@guarded
def report_command(
    ledger: LedgerPlace,
    *,
    out: Annotated[Path | None, typer.Option(help="Also write it, as .html, .json or .txt.")] = None,
    yes: Yes = None,
    no: No = None,
    force: Force = False,
    answers: Annotated[Path | None, typer.Option(help="A TOML file of answers: membership = false, …")] = None,
    attributes: Annotated[list[str] | None, typer.Option(help="A set to show, for example race+sex.")] = None,
    family: Annotated[list[int] | None, typer.Option(help="A size of a group of people to show.")] = None,
    delta: Annotated[str | None, typer.Option(help="Where epsilons are read; by default 1e-6.")] = None,
    questions: Annotated[bool, typer.Option(help="Only list the questions and their names.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is guaranteed and used, what could be guessed, and which warnings apply.

    Ends with 3 if the ledger was changed outside of it, which then stands at the head of the report.
    """
    from sfumato.report import QUESTIONS, threats

    if questions:
        listed = {question.name: question.text for question in QUESTIONS}
        emit(listed, lambda: "\n".join(f"{name:<14}{text}" for name, text in listed.items()), as_json)
        return
    given = {**read_toml(answers), **answers_of(yes or (), no or ())}
    with watched("Reading the ledger"), open_ledger(ledger) as book:
        report = threats(
            book,
            given,
            sets=[tuple(part.strip() for part in names.split("+")) for names in attributes or ()],
            families=family or None,
            delta=delta,
        )
        if report.verification is not None:
            warn_if_changed(report.place, report.verification)
        if out is not None:
            report.save(out, overwrite=force)
    written = "" if out is None else f"\n\nWrote {out}."
    emit(report.to_json(), lambda: report.text() + written, as_json)
    if report.problems:
        raise typer.Exit(CHECK_FAILED)


def answers_of(yes: Iterable[str], no: Iterable[str]) -> dict[str, bool]:
    """Return the answers to the questionnaire that options give."""
    agreed, denied = _names(yes), _names(no)
    both = set(agreed) & set(denied)
    if both:
        raise ParameterError(f"{sorted(both)[0]!r} is answered with yes and with no; leave one of them out.")
    return {**dict.fromkeys(agreed, True), **dict.fromkeys(denied, False)}


def _names(given: Iterable[str]) -> list[str]:
    """Return the names of questions: an option may be repeated, or list them behind each other."""
    return [name for one in given for part in one.split(",") if (name := part.strip())]


def read_toml(path: Path | None) -> dict[str, Any]:
    """Return what a TOML file says, nothing without one."""
    if path is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"What is written in {str(path)!r} is no TOML: {error}.") from None
