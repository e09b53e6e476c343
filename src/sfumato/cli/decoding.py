"""What `sfumato local decode` reads and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local import Intake, MeanEstimate, Plan, Popular, Server, Shares


def merged(places: Sequence[Path], plan: Plan | None, ids: bool) -> tuple[Server, Intake]:
    """Return one sketch of collections, sketches and Parquet files, and what became of the reports."""
    from sfumato.local import Intake, aggregate, load, read_collection
    from sfumato.local.collector.collection import is_collection

    collections = [place for place in places if is_collection(place)]
    found = []
    if collections:
        # Read together, so that an id counts once among all of them.
        read = read_collection(*collections)
        found.append((read.server, read.intake))
    for place in places:
        if place in collections:
            continue
        if place.suffix.lower() in (".parquet", ".pq") or "*" in place.name:
            if plan is None:
                raise ParameterError("Parquet files do not say what they were collected for; add --plan.")
            counted = aggregate(plan, str(place), id="id" if ids else None)
            found.append((counted.server, counted.intake))
        else:
            if not place.is_file():
                raise ParameterError(f"{str(place)!r} is no collection, sketch or Parquet file; write another path.")
            server = load(place)
            found.append((server, Intake(server.accepted, refused=server.refused)))
    first, intake = found[0]
    for server, other in found[1:]:
        first.merge(server)
        intake += other
    return first, intake


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
            low, high = self.value.interval()
            return {**record, "value": self.value.value, "error": self.value.error, "low": low, "high": high}
        ends = [item.interval() for item in self.value]
        listed = zip(self.value.to_json(), ends, strict=True)
        return {**record, "items": [{**item, "low": low, "high": high} for item, (low, high) in listed]}

    def text(self) -> str:
        """Return it for people."""
        from sfumato.local import MeanEstimate
        from sfumato.local.popular import plain
        from sfumato.show import table

        if isinstance(self.value, MeanEstimate):
            low, high = self.value.interval()
            noise = f"95 % of the noise from {low:.6g} to {high:.6g}"
            return f"The mean is {self.value.value:.6g}, with {noise}.\n{self.intake}"
        if not self.value:
            return f"No item is popular enough to be told from noise.\n{self.intake}"
        rows = [
            [str(plain(item.value)), *(f"{100 * part:.3f} %" for part in (item.share, *item.interval()))]
            for item in self.value
        ]
        title = "Popular items" if self.kind == "popular" else "Shares of the list"
        return f"{table(title, ['item', 'share', 'low', 'high'], rows).text()}\n\n{self.intake}"

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


def decoded(server: Server, intake: Intake, false_items: float | None) -> Decoded:
    """Ask a sketch for what its plan asks."""
    from sfumato.local.listed import ListMethod, MeanMethod

    if false_items is not None and not 0 < false_items < 1:
        raise ParameterError("--false-items lies between 0 and 1; write for example 0.05.")
    if isinstance(server.plan.method, MeanMethod):
        return Decoded("mean", server.mean(), intake)
    if isinstance(server.plan.method, ListMethod):
        return Decoded("shares", server.shares(), intake)
    return Decoded("popular", server.popular(false_items), intake)
