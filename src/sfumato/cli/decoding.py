"""What `sfumato local decode` reads and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.durable import UNREADABLE
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local import Collected, Intake, MeanEstimate, Plan, Popular, Server, Shares

DECODING = (
    "Decoding; a search for popular items usually takes 5 to 40 seconds of one core, and longer on a busy machine."
)
"""What is said, once, where no bar can be drawn and popular items are searched for."""
_PARQUET = (".parquet", ".pq")


def patience(plan: Plan, estimate: Path | None = None) -> str:
    """Return what is said of a decoding that takes long: nothing where a list or a mean is read, which is quick."""
    from sfumato.local.listed import ListMethod

    return "" if estimate is not None or isinstance(plan.method, ListMethod) else DECODING


def merged(places: Sequence[Path], plan: Plan | None, ids: bool) -> tuple[Server, Intake]:
    """Return one sketch of collections, of sketches or of Parquet files, and what became of the reports.

    All places are of one kind: an id can be found again among collections, or among Parquet files, but not across.
    """
    from sfumato.local import read_collection
    from sfumato.local.collector.collection import is_collection

    known = {path.resolve(): path for place in places for path in _matches(place)}
    if len(known) < sum(len(_matches(place)) for place in places):
        raise ParameterError("A place is named twice, and its reports count once; name each one once.")
    paths = list(known.values())
    kinds = {
        "collections": [path for path in paths if is_collection(path)],
        "Parquet files": [path for path in paths if path.suffix.lower() in _PARQUET],
    }
    kinds["sketches"] = [path for path in paths if not any(path in group for group in kinds.values())]
    for path in kinds["sketches"]:
        _require_sketch(path)
    _require_one_kind({name: group for name, group in kinds.items() if group})
    if kinds["sketches"]:
        return _sketches(kinds["sketches"])
    # Read together, so that an id counts once among all of them.
    read = read_collection(*paths) if kinds["collections"] else _tables(paths, plan, ids)
    return read.server, read.intake


def _matches(place: Path) -> list[Path]:
    """Return the files that a pattern names, or the one place."""
    if "*" not in place.name:
        return [place]
    found = sorted(place.parent.glob(place.name))
    if not found:
        raise ParameterError(f"No file is named as {str(place)!r} says; write another path.")
    return found


def _require_one_kind(kinds: dict[str, list[Path]]) -> None:
    if len(kinds) > 1:
        raise ParameterError(
            f"Reports in {' and in '.join(kinds)} cannot be compared by their ids, so one that is in both would count "
            "twice. Collect them all into one collection with `sfumato local collect`, or save a sketch of each kind "
            "with --save and decode the sketches, if you know that no report is in two of them."
        )


def _tables(paths: list[Path], plan: Plan | None, ids: bool) -> Collected:
    """Count all Parquet files together, so that an id counts once among all of them."""
    import ibis
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sfumato.local import aggregate

    if plan is None:
        raise ParameterError("Parquet files do not say what they were collected for; add --plan.")
    if len(paths) == 1:
        return aggregate(plan, paths[0], id="id" if ids else None)
    columns = ["id", "report"] if ids else ["report"]
    for path in paths:
        try:
            names = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as reason:
            raise ParameterError(
                f"{path.name!r} cannot be read as Parquet ({type(reason).__name__}); write another path."
            ) from None
        if missing := [column for column in columns if column not in names]:
            # A file without the column would be read as one without any report.
            raise ParameterError(
                f"{path.name!r} needs a column {missing[0]!r} of bytes; add --no-ids if reports have no ids."
            )
    engine = ibis.duckdb.connect()
    try:
        together = engine.read_parquet([str(path) for path in paths], union_by_name=True)
        stored = engine.create_table("sfumato_reports", together.select(columns), temp=True)
        return aggregate(plan, stored, id="id" if ids else None)
    finally:
        engine.disconnect()


def _sketches(paths: list[Path]) -> tuple[Server, Intake]:
    """Add sketches up; they hold no ids, so whoever names them vouches that no report is in two of them."""
    from sfumato.local import Intake, load

    first, *others = (load(path) for path in paths)
    for server in others:
        first.merge(server)
    return first, Intake(first.accepted, refused=first.refused)


def _require_sketch(path: Path) -> None:
    """Refuse what is no sketch by its first sign, and say what it is."""
    if not path.is_file():
        raise ParameterError(f"{str(path)!r} is no collection, sketch or Parquet file; write another path.")
    with path.open("rb") as file:
        if file.read(1) != b"{":
            return
    if _is_plan(path):
        raise ParameterError(
            f"{path.name!r} is a plan, not a collection or a sketch; name the directory that `sfumato local collect` "
            "made, which knows its plan (--plan goes with Parquet files)."
        )
    raise ParameterError(
        f"{path.name!r} holds reports that were not collected yet; collect them with `sfumato local collect`, and name "
        "the directory that it made."
    )


def _is_plan(path: Path) -> bool:
    import json

    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except UNREADABLE:
        return False
    return isinstance(record, dict) and {"users", "method", "seed"} <= set(record)


@dataclass(frozen=True)
class Decoded:
    """What a sketch says: popular items, shares of a list, or a mean."""

    kind: str
    value: Popular | Shares | MeanEstimate
    intake: Intake

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        from sfumato.local import MeanEstimate

        record: dict[str, Any] = {"kind": self.kind, "intake": self.intake.to_json()}
        if isinstance(self.value, MeanEstimate):
            low, high = self.interval
            return {**record, "value": self.value.value, "error": self.value.error, "low": low, "high": high}
        return {**record, "items": self.value.to_json(), "notes": list(self.value.notes)}

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of a mean."""
        from sfumato.local import MeanEstimate

        assert isinstance(self.value, MeanEstimate)
        return self.value.interval()

    def text(self) -> str:
        """Return it for people."""
        from sfumato.local import MeanEstimate
        from sfumato.local.popular import line
        from sfumato.show import table

        if isinstance(self.value, MeanEstimate):
            from sfumato.show.views import readable

            low, high = self.interval
            ends = f"{readable(low, high - low)} to {readable(high, high - low)}"
            mean = readable(self.value.value, high - low)
            return f"The mean is {mean}; 95 % interval (all that devices draw) {ends}.\n{self.intake}"
        if self.kind == "popular" and not self.intake.accepted:
            return f"No report was accepted yet, so nothing is known of any item.\n{self.intake}"
        if not self.value:
            return "\n".join(["No item is popular enough to be told from noise.", *self.value.notes, str(self.intake)])
        rows = [
            [line(item.value), *(f"{100 * part:.3f} %" for part in (item.share, item.low, item.high))]
            for item in self.value
        ]
        title = "Popular items" if self.kind == "popular" else "Shares of the list"
        drawn = table(title, ["item", "share", "low", "high"], rows).text()
        return "\n".join(
            [drawn, "", "95 % intervals (noise of the reports only).", *self.value.notes, str(self.intake)]
        )

    def plot(self, path: Path) -> None:
        """Draw the shares."""
        self._list().plot(path)

    def page(self) -> str:
        """Return the shares as a page."""
        return (
            f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>sfumato</title>{self._list().html()}</html>\n'
        )

    def _list(self) -> Popular | Shares:
        from sfumato.local import MeanEstimate

        if isinstance(self.value, MeanEstimate):
            raise ParameterError("A mean is one number; leave --plot and --html out.")
        return self.value


def decoded(
    server: Server,
    intake: Intake,
    false_items: float | None = None,
    *,
    candidates: Path | None = None,
    estimate: Path | None = None,
) -> Decoded:
    """Ask a sketch for what its plan asks, or about the items of a public list."""
    from sfumato.local.listed import ListMethod, MeanMethod

    if isinstance(server.plan.method, MeanMethod) and (candidates is not None or estimate is not None):
        raise ParameterError(
            "--candidates and --estimate are about items, and this plan asks for a mean, which has none; leave them "
            "out."
        )
    if isinstance(server.plan.method, ListMethod) and candidates is not None:
        raise ParameterError(
            "--candidates is a list for a plan that searches, and this one has a list of its own, all of which is "
            "shown without it; leave it out, or name some items of the plan's list with --estimate."
        )
    if candidates is not None and estimate is not None:
        raise ParameterError(
            "--candidates lists what is popular, and --estimate gives every item a share; write one of them."
        )
    if estimate is not None:
        named = _items(estimate, server.plan)
        _require_fitting(named, server.plan, estimate)
        return Decoded("shares", server.estimate(named), intake)
    if false_items is not None and not 0 < false_items < 1:
        raise ParameterError("--false-items lies between 0 and 1; write for example 0.05.")
    if isinstance(server.plan.method, MeanMethod):
        return Decoded("mean", server.mean(), intake)
    if isinstance(server.plan.method, ListMethod):
        return Decoded("shares", server.shares(), intake)
    public = None if candidates is None else _items(candidates, server.plan)
    return Decoded("popular", server.popular(false_items, candidates=public), intake)


def _require_fitting(items: Sequence[Any], plan: Plan, path: Path) -> None:
    """Refuse a list with an item that no report of the plan can hold; the list is public."""
    for number, item in enumerate(items, 1):
        if plan.items.code(item) is None:
            raise ParameterError(
                f"Line {number} of {path.name!r} fits no report of the plan, so it has no share; leave it out."
            )


def _items(path: Path, plan: Plan) -> list[Any]:
    from sfumato.cli.items import item_reader, read_candidates

    read = item_reader(plan.items.domain)
    return [read(line) for line in read_candidates(path)]
