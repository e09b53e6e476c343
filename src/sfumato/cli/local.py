"""`sfumato local …`: popular items among many devices, from the plan to the list."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import Json, Subcommands, commands_of
from sfumato.cli.outcome import CHECK_FAILED, emit, failed, guarded
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.exact.written import amount, rounded
from sfumato.serve.command import serve
from sfumato.show.progress import watched

if TYPE_CHECKING:
    from sfumato.local import Plan
    from sfumato.privacy import Approximate, Bound

local_app = commands_of(Subcommands, "Find popular items without collecting them: plan, randomize, collect, decode.")

local_app.command("serve")(serve)

PlanPath = Annotated[Path, typer.Argument(help="A plan, as `sfumato local plan --out` writes it.")]
Items = Annotated[str, typer.Argument(help="A file with one item a line, or - for standard input.")]
Format = Annotated[str | None, typer.Option(help="json, binary or reports; by default as the file's ending says.")]


@local_app.command("plan")
@guarded
def plan_command(
    *,
    users: Annotated[str, typer.Option(help="How many devices will report, for example 150000.")],
    spend: Annotated[
        str | None, typer.Option(help="What a device may lose by all its reports, for example Pure(4).")
    ] = None,
    central: Annotated[
        str | None,
        typer.Option(help="Instead of --spend: what may be lost once a relay shuffles, Approximate(1, 1e-8)."),
    ] = None,
    honest: Annotated[
        int | None,
        typer.Option(help="With --central or --delta: how many devices at least follow the plan in one batch."),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="With --spend and --honest: say what is lost once a relay shuffles, for example 1e-8."),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            help="What is looked for: text(24), bytes(8), integers(0, 65535), fixed(0, 60, 0.5), "
            "dates(2020-01-01, 2029-12-31)."
        ),
    ] = None,
    candidates: Annotated[Path | None, typer.Option(help="A list to choose from: a file, one a line.")] = None,
    numbers: Annotated[
        str | None, typer.Option(help="Numbers whose mean is asked: fixed(0, 60, 0.5), integers(0, 60).")
    ] = None,
    reports: Annotated[int, typer.Option(help="How many reports a device sends.")] = 1,
    wanted: Annotated[str | None, typer.Option(help="The share you want to find, for example 0.001 or 0.1%.")] = None,
    method: Annotated[str, typer.Option(help="auto, soft, prefix, treehist, expander or bitstogram.")] = "auto",
    false_items: Annotated[
        float | None, typer.Option(help="The chance of a listed item that nobody holds; by default 0.05.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan.")] = None,
    as_json: Json = False,
) -> None:
    """Plan a collection and say what it will find, before anybody is asked."""
    from sfumato import local

    if out is not None and out.exists():
        raise ParameterError(f"{str(out)!r} exists already and is not overwritten; write another name after --out.")
    people, share = _users(users), None if wanted is None else _share(wanted)
    options: dict[str, Any] = {"reports": reports, "wanted": share, "method": method, "false_items": false_items}
    options |= {**_asked(items, candidates, numbers), **_spent(spend, central, honest, delta)}
    with watched("Planning"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AccuracyWarning)
        made = local.plan(users=people, **options)
        leak = options["central"].delta if central else delta
        shuffled = None if leak is None else made.shuffled(honest, leak)
    if out is not None:
        made.save(out)
    cautions = [str(one.message) for one in caught if issubclass(one.category, AccuracyWarning)]
    written = [] if out is None else [f"Wrote {out}."]
    said = [] if shuffled is None or honest is None else [_shuffled(shuffled, honest, made.reports)]
    text = "\n".join([*(f"Warning: {caution}" for caution in cautions), str(made), *said, *written])
    record = {} if shuffled is None else {"shuffled": {"honest": honest, **shuffled.to_json()}}
    emit({**_described(made, cautions), **record}, lambda: text, as_json)


def _users(text: str) -> int:
    """Return a number of devices; one that is written with points or commas is told without them."""
    try:
        return int(text)
    except ValueError:
        grouped = re.fullmatch(r"\d{1,3}(?:[.,' ]\d{3})+", text.strip())
        example = re.sub(r"\D", "", text) if grouped else "150000"
        raise ParameterError(
            f"--users is a whole number in digits alone, and {text[:40]!r} is none; write --users {example}."
        ) from None


def _share(text: str) -> Fraction:
    """Return a share that is written as 0.005, 1/200 or 0.5%."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = Fraction(number.strip()) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if rest or not 0 < share < 1:
        raise ParameterError(
            f"--wanted is a share between 0 and 1, and {text[:40]!r} is none; write for example 0.005 or 0.5%."
        )
    return share


def _asked(items: str | None, candidates: Path | None, numbers: str | None) -> dict[str, Any]:
    """Return the one thing that is asked of the devices."""
    from sfumato.cli.items import read_candidates, read_domain

    if sum(part is not None for part in (items, candidates, numbers)) != 1:
        raise ParameterError("Write one of --items, --candidates and --numbers: what is asked of the devices.")
    if candidates is not None:
        return {"candidates": read_candidates(candidates)}
    return {"items": read_domain(items, "--items")} if items else {"numbers": read_domain(numbers or "", "--numbers")}


def _spent(spend: str | None, central: str | None, honest: int | None, delta: str | None) -> dict[str, Any]:
    """Return what a device may lose, or what all of them may once a relay shuffles."""
    from sfumato.ledger.typed import read_bound

    if (spend is None) == (central is None):
        raise ParameterError(
            "Write --spend, for example Pure(4), what a device may lose by all its reports; or --central with --honest."
        )
    if central is not None:
        if delta is not None:
            raise ParameterError("--central says its own delta; leave --delta out.")
        return {"central": _bound(read_bound, central, "--central", "Approximate(1, 1e-8)"), "honest": honest}
    if honest is not None and delta is None:
        raise ParameterError(
            "--honest goes with --central or --delta; write --central 'Approximate(1, 1e-8)' in place of --spend, add "
            "--delta 1e-8, or leave it out."
        )
    if delta is not None and honest is None:
        raise ParameterError("--delta goes with --honest, a lower bound on the devices of a batch; add --honest 80000.")
    return {"spend": _bound(read_bound, spend or "", "--spend", "Pure(4)")}


def _shuffled(loss: Approximate, honest: int, reports: int) -> str:
    """Say what is lost once a relay shuffles, and what that takes."""
    return (
        f"Shuffled by a relay among at least {honest} honest devices, a person loses at most epsilon "
        f"{rounded(loss.epsilon, up=True, digits=6)} at delta {amount(loss.delta)} towards whoever sees whole batches "
        f"only; collect them with --shuffled {honest * reports}, so many reports. Towards the relay the epsilon above "
        "stays."
    )


def _bound(read: Callable[[str, str], Bound], text: str, name: str, example: str) -> Bound:
    try:
        return read(text, name)
    except ParameterError:
        # Only one kind of bound will do here, so no other one is proposed.
        raise ParameterError(
            f"{name} must be a bound, and {text[:60]!r} is none; write for example {example}."
        ) from None


def _described(made: Plan, cautions: list[str]) -> dict[str, Any]:
    return {
        "plan": made.to_record(),
        **_foreseen(made),
        "report_bytes": made.report_bytes,
        "sketch_bytes": made.sketch_bytes,
        "decoding_bytes": made.decoding_bytes,
        "warnings": cautions,
    }


def _foreseen(made: Plan) -> dict[str, Any]:
    from sfumato.local.listed import MeanMethod
    from sfumato.local.plan import LISTED

    if isinstance(made.method, MeanMethod):
        return {"expected_error": made.expected_error}
    listed = {"candidates": LISTED, "share": made.detectable_listed(LISTED)} if made.searches else None
    return {"detectable": made.detectable, "detectable_listed": listed, "floor": made.floor}


@local_app.command()
@guarded
def simulate(
    plan: PlanPath,
    items: Items,
    counted: Annotated[bool, typer.Option(help="Lines are an item, a tab and how many devices hold it.")] = False,
    seed: Annotated[int | None, typer.Option(help="Repeat the same simulation; never for real reports.")] = None,
    as_json: Json = False,
) -> None:
    """Run the whole collection on made-up or public items, and compare what is found with the truth."""
    from sfumato.cli.simulating import simulated
    from sfumato.local import read_plan

    found = simulated(read_plan(plan), items, counted, seed)
    emit(found.to_json(), found.text, as_json)


@local_app.command()
@guarded
def randomize(
    plan: PlanPath,
    items: Items = "-",
    out: Annotated[Path | None, typer.Option(help="Where to write; without it, to standard output.")] = None,
    format: Annotated[str, typer.Option(help="json, binary (both with ids) or reports (without).")] = "json",
) -> None:
    """Turn items, one a line, into reports in their envelopes; each line is a device of its own."""
    import sys

    from sfumato.cli.items import item_chunks, item_lines
    from sfumato.local import envelopes, read_plan
    from sfumato.local.collector.envelope import require_format

    require_format(format)
    made = read_plan(plan)
    client = made.client()
    with item_lines(items) as lines, watched("Randomizing") as step:
        target = sys.stdout.buffer if out is None else out.open("wb")
        try:
            for chunk, part in item_chunks(lines, made.items.domain):
                target.write(envelopes(client.reports(chunk), format))
                if part is not None:
                    step(part)
            target.flush()
        finally:
            if out is not None:
                target.close()


@local_app.command()
@guarded
def collect(
    collection: Annotated[Path, typer.Argument(help="The directory to collect into; made if it is new.")],
    files: Annotated[list[str], typer.Argument(help="Files of reports, or - for standard input.")],
    *,
    plan: Annotated[Path | None, typer.Option(help="The plan of a new collection.")] = None,
    format: Format = None,
    ids: Annotated[bool, typer.Option(help="Whether reports carry ids, which tell duplicates.")] = True,
    batch: Annotated[str | None, typer.Option(help="A name for standard input: the same bytes count once.")] = None,
    shuffled: Annotated[
        int | None,
        typer.Option(help="Take shuffled batches only: each file is one, without ids, of at least so many reports."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Collect reports durably; each counts once, and a file that was collected before is skipped.

    For reports that come by HTTP: sfumato local serve COLLECTION --plan PLAN.
    """
    import sys

    from sfumato.cli.collecting import cause, is_all_refused
    from sfumato.local import Collector, Intake, read_plan
    from sfumato.local.collector.files import file_batches, stream_batches

    made = None if plan is None else read_plan(plan)
    said, causes = Intake(), dict[str, None]()
    with Collector(collection, made, ids=ids, shuffled=shuffled) as collector, watched("Collecting") as step:
        for number, name in enumerate(files):
            batches = (
                stream_batches(sys.stdin.buffer, format or "json", collector.collection, batch)
                if name == "-"
                else file_batches(name, format, collector.collection)
            )
            for one in batches:
                added = collector.add_batches([one])[0]
                if is_all_refused(added):
                    causes[cause(collector.collection, one)] = None
                said += added
            step((number + 1) / len(files))
        total = collector.intake
    emit(
        {"added": said.to_json(), "total": total.to_json()},
        lambda: f"Added: {said}\nIn all: {total}",
        as_json,
    )
    if is_all_refused(said):
        raise failed(f"No report was accepted. {' '.join(causes)}", CHECK_FAILED, as_json, "collect")


@local_app.command()
@guarded
def decode(
    places: Annotated[list[Path], typer.Argument(help="Collections, .sketch files, or with --plan .parquet files.")],
    *,
    plan: Annotated[Path | None, typer.Option(help="The plan, for Parquet files of reports.")] = None,
    ids: Annotated[bool, typer.Option(help="Whether Parquet files have a column of ids.")] = True,
    false_items: Annotated[float | None, typer.Option(help="The chance of a listed item that nobody holds.")] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="A public list, one a line, not made from these reports: rarer items of it are found."),
    ] = None,
    estimate: Annotated[
        Path | None, typer.Option(help="A public list, one a line: every item of it gets its share, popular or not.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also write the merged sketch, .sketch.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the shares, .svg or .png.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page, .html.")] = None,
    as_json: Json = False,
) -> None:
    """Merge what was collected, and say which items are popular and how popular."""
    from sfumato.cli.decoding import decoded, merged, patience
    from sfumato.local import read_plan

    for path, endings in ((plot, (".svg", ".png")), (html, (".html",))):
        if path is not None and path.suffix.lower() not in endings:
            raise ParameterError(f"{path.name!r} does not end in {' or '.join(endings)}; write another name.")
    with watched("Reading what was collected"):
        server, intake = merged(places, None if plan is None else read_plan(plan), ids)
    with watched("Decoding", piped=patience(server.plan, estimate)):
        if save is not None:
            server.save(save)
        found = decoded(server, intake, false_items, candidates=candidates, estimate=estimate)
        if plot is not None:
            found.plot(plot)
        if html is not None:
            html.write_text(found.page(), encoding="utf-8")
    emit(found.to_json(), found.text, as_json)
