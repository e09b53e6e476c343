"""`sfumato fair audit`: are similar people treated similarly by these decisions; `fair compare`: are groups."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.hints import in_shell
from sfumato.cli.options import Json, Subcommands, commands_of
from sfumato.cli.outcome import CHECK_FAILED, emit, guarded
from sfumato.errors import ParameterError
from sfumato.show.progress import watched

fair_app = commands_of(Subcommands, "Treat similar people similarly: audit decisions, compare groups.")


@fair_app.callback()
def about() -> None:
    """Treat similar people similarly: audit decisions, compare groups."""


@fair_app.command("audit")
@guarded
def audit_command(
    decisions: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row a person.")],
    *,
    protected: Annotated[list[str], typer.Option(help="The protected column, for example sex; one at a time.")],
    metric: Annotated[
        Path | None, typer.Option(help="A TOML file that says who is similar: [weights] with one line a column.")
    ] = None,
    decision: Annotated[
        str, typer.Option(help="The column of decisions, or of the chance of the good one.")
    ] = "decision",
    favourable: Annotated[
        str | None, typer.Option(help="The good decision, such as 1 or yes; chances of it need none.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="The group to ask about; without it both of two groups are.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A column of what people deserved: 0 and 1, two words, or a score.")
    ] = None,
    qualification: Annotated[str | None, typer.Option(hidden=True)] = None,
    deserving: Annotated[str | None, typer.Option(help="The good label, where it is one of two words.")] = None,
    features: Annotated[
        str | None, typer.Option(help="The columns that describe people, such as income,debt; leave a score out.")
    ] = None,
    segments: Annotated[str | None, typer.Option(help="A column of places, for example zip_code.")] = None,
    alpha: Annotated[float, typer.Option(help="The share of false alarms tolerated among what is raised.")] = 0.05,
    html: Annotated[Path | None, typer.Option("--html", help="Also write one page, self-contained.")] = None,
    as_json: Json = False,
) -> None:
    """Audit decisions: certificates, worst pairs and nine checks; ends with 3 if something is raised.

    What it prints is about the people in the file and is not private.
    """
    from sfumato.fair import FairnessWarning, audit_file

    if qualification is not None:
        raise ParameterError(f"--qualification is now --label; write --label {qualification}.")
    if html is not None and html.suffix.lower() != ".html":
        raise ParameterError(f"The page is written as .html, and {html.name!r} is no such name; write audit.html.")
    options: dict[str, Any] = {
        "favourable": favourable, "group": group, "label": label, "segments": segments, "alpha": alpha,
        "deserving": deserving, "features": None if features is None else features.split(","),
    }  # fmt: skip
    announce = None if as_json else partial(typer.echo, err=True)
    with watched("Comparing people"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairnessWarning)
        report = audit_file(
            decisions, ",".join(protected), metric=metric, decision=decision, announce=announce, **options
        )
        if html is not None:
            report.save(html)
    cautions = [str(warning.message) for warning in caught if issubclass(warning.category, FairnessWarning)]
    _tell(report, cautions, html, as_json)


@fair_app.command("compare")
@guarded
def compare_command(
    decisions: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row a person.")],
    *,
    by: Annotated[list[str], typer.Option(help="The columns to compare groups by, such as sex,race.")],
    decision: Annotated[
        str, typer.Option(help="The column of decisions, or of the chance of the good one.")
    ] = "decision",
    favourable: Annotated[
        str | None, typer.Option(help="The good decision, such as 1 or yes; chances of it need none.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The group to compare with, named before anybody looks.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A column of who deserved the good decision: 0 and 1, or words.")
    ] = None,
    deserving: Annotated[str | None, typer.Option(help="The good label, where labels are words.")] = None,
    scores: Annotated[str | None, typer.Option(help="A column of scores from 0 to 1.")] = None,
    intersections: Annotated[int, typer.Option(help="How many columns at most make groups together: 1, 2 or 3.")] = 2,
    period: Annotated[str, typer.Option(help="When the decisions were made; stands on the page.")] = "",
    out: Annotated[Path | None, typer.Option(help="Also write it, as .html, .md, .json or .txt.")] = None,
    as_json: Json = False,
) -> None:
    """Compare groups by several columns, alone and together: rates, ratios, errors; ends with 3 if something is raised.

    Who lacks a decision or a group is counted and left out. What it prints is about the people in the file and is not
    private.
    """
    from sfumato.fair import FairnessWarning, compare_file

    with watched("Comparing groups"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairnessWarning)
        report = compare_file(
            decisions, ",".join(by), decision=decision, favourable=favourable, reference=reference, label=label,
            deserving=deserving, scores=scores, intersections=intersections, period=period,
        )  # fmt: skip
        if out is not None:
            report.save(out)
    cautions = [str(warning.message) for warning in caught if issubclass(warning.category, FairnessWarning)]
    _tell(report, cautions, out, as_json)


def _tell(report: Any, cautions: list[str], written: Path | None, as_json: bool) -> None:
    """Print a report and what was warned of; end with 3 if something is raised."""
    record = report.to_json()
    record["warnings"] = [*cautions, *record["warnings"]]

    def text() -> str:
        files = [] if written is None else [f"Wrote {written}."]
        return "\n\n".join([*(f"Warning: {caution}" for caution in cautions), in_shell(str(report)), *files])

    emit(record, text, as_json)
    if not report.ok:
        raise typer.Exit(CHECK_FAILED)
