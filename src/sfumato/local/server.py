"""The collector's side: a mergeable table of counts, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, SketchError
from sfumato.local.linear import LinearReader
from sfumato.local.listed import ListMethod, MeanMethod
from sfumato.local.plan import Plan
from sfumato.local.popular import MeanEstimate, Popular, Shares
from sfumato.local.wire import Refused


class Server:
    """A sketch: how often each report came. The same for every order and every split of the reports.

    `accepted` reports are in it; `refused` ones are only counted.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.counts = np.zeros(plan.offsets[-1], dtype=np.int64)
        self.accepted = 0
        self.refused = Refused()

    def ingest(self, reports: Any) -> int:
        """Add one report (bytes), a table of bytes with one a row, or any iterable; return how many were accepted.

        A report of another length, version or plan, or with a number out of range, is counted as refused.
        """
        accepted, refused = self.plan.wire.count(reports, self.counts)
        self.accepted += accepted
        self.refused += refused
        return accepted

    def merge(self, other: Server) -> None:
        """Add another sketch of the same plan."""
        if not isinstance(other, Server) or other.plan.digest != self.plan.digest:
            raise SketchError("Only sketches of the same plan can be merged; nothing was changed.")
        self.counts += other.counts
        self.accepted += other.accepted
        self.refused += other.refused

    def save(self, path: str | Path) -> Path:
        """Write plan and counts, with a checksum."""
        from sfumato.local.sketch import write

        return write(path, self)

    def tally(self, role: int) -> Any:
        """Return the counts of one role's reports."""
        return self.counts[self.plan.offsets[role] : self.plan.offsets[role + 1]]

    def popular(self, false_items: float | None = None) -> Popular:
        """Return the popular items, the most popular first.

        An item that nobody holds is listed with a probability of at most `false_items`, by default the plan's; see
        `Popular` for what that covers.
        """
        method = self.plan.method
        return method.search(self, method.false_items if false_items is None else float(false_items))

    def shares(self) -> Shares:
        """Return the share of every candidate, unbiased."""
        method = self.plan.method
        if not isinstance(method, ListMethod) or isinstance(method, MeanMethod):
            raise ParameterError("Only a plan with candidates= estimates every candidate; ask for popular().")
        places = np.arange(method.candidates)
        reader = method.oracle.reader(self.tally(0))
        points = self.plan.encoder.places(places)  # type: ignore[attr-defined]
        # Where candidates are hashed, heavy ones must not spill into others.
        counts = reader.together(points) if isinstance(reader, LinearReader) else reader.counts(points)
        values = [self.plan.items.value(place) for place in places.tolist()]
        return Shares.of(values, counts, reader.errors(points, counts), max(1, self.accepted))

    def mean(self) -> MeanEstimate:
        """Return the mean of the numbers, unbiased."""
        method = self.plan.method
        if not isinstance(method, MeanMethod):
            raise ParameterError("Only a plan with numbers= has a mean; ask for popular().")
        reader = method.oracle.reader(self.tally(0))
        high = float(reader.counts(np.array([1]))[0]) / max(1, self.accepted)
        error = method.oracle.deviation(max(1, self.accepted), 0) / max(1, self.accepted)
        low, top = self.plan.items.value(0), self.plan.items.value(method.oracle.shape()["steps"])
        span = float(top) - float(low)
        return MeanEstimate(float(low) + span * high, span * error)
