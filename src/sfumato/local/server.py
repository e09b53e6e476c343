"""The collector's side: a mergeable table of counts, and what it says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, SketchError
from sfumato.exact import Number, between_zero_and_one
from sfumato.local.confirm import share_of_all
from sfumato.local.linear import LinearReader
from sfumato.local.listed import ListMethod, MeanMethod
from sfumato.local.plan import Plan
from sfumato.local.popular import Item, MeanEstimate, Popular, Shares
from sfumato.local.wire import Refused


class Server:
    """A sketch: how often each report came. The same for every order and every split of the reports.

    `accepted` reports are in it; `refused` ones are only counted.

    >>> from sfumato import Noise, Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(4), candidates=["red", "green", "blue"])
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports(["red"] * 1000, Noise(insecure_seed=1)))
    1000
    >>> server.ingest(b"hello"), server.accepted, server.refused.length
    (0, 1000, 1)
    >>> [item.value for item in server.popular()]
    ['red']
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.counts = np.zeros(plan.offsets[-1], dtype=np.int64)
        self.accepted = 0
        self.refused = Refused()

    def ingest(self, reports: Any) -> int:
        """Add one report (bytes), a table of bytes with one a row, an Arrow column, or any iterable of reports.

        Returns how many were accepted. A report of another length, version or plan, or with a number out of range, is
        counted as refused. If an iterable fails half way, nothing of it is counted.
        """
        accepted, refused = self.plan.wire.count(reports, self.counts)
        self.accepted += accepted
        self.refused += refused
        return accepted

    def merge(self, other: Server) -> None:
        """Add another sketch of the same plan."""
        if not isinstance(other, Server) or other.plan.digest != self.plan.digest:
            raise SketchError("Only sketches of the same plan can be merged; nothing was changed.")
        if other is self:
            raise SketchError(
                "A sketch is not merged with itself, which would count its reports twice; merge another one."
            )
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

    def popular(self, false_items: Number | None = None) -> Popular:
        """Return the popular items, the most popular first.

        `false_items` is the probability that an item is listed that nobody holds, by default the plan's; `Popular`
        says for which methods it is proved.
        """
        method = self.plan.method
        given = method.false_items if false_items is None else false_items
        return method.search(self, float(between_zero_and_one(given, "false_items")))

    def estimate(self, items: Iterable[Any]) -> Shares:
        """Return the shares of these items, whether they are popular or not, unbiased and in this order.

        They are read from the devices that are kept for estimates. The intervals cover the noise of the reports, and
        that those devices are a part of all. Ask for a few public items: an error goes with each of them, and among
        many some will look popular by chance; `estimate(…).popular()` allows for that. An item that does not fit the
        plan is refused. Very popular items add a little to others that share cells with them; name them, too, and it
        is taken out.

        >>> from sfumato import Noise, Pure, domain, local
        >>> plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=2), seed=bytes(32))
        >>> server = plan.server()
        >>> server.ingest(plan.client().reports(["a"] * 60_000 + ["b"] * 40_000, Noise(insecure_seed=1)))
        100000
        >>> [(item.value, round(item.share, 1)) for item in server.estimate(["b", "zz"])]
        [('b', 0.4), ('zz', 0.0)]
        """
        method, plan = self.plan.method, self.plan
        if isinstance(method, MeanMethod):
            raise ParameterError(f"This plan estimates no items; {_asks(plan)}.")
        codes = _codes(plan, items)
        if not codes:
            return Shares((), self.accepted, method.false_items, whole=False)
        if isinstance(method, ListMethod):
            found = self.shares()
            return replace(found, items=tuple(found.items[code] for code in codes), whole=False)
        different = list(dict.fromkeys(codes))
        rows, _ = plan.items.rows([plan.items.value(code) for code in different])
        last = len(method.roles) - 1
        reader = method.roles[last].oracle.reader(self.tally(last))
        points = plan.encoder.points(rows, last)
        counts = _together(reader, points)
        made = {
            code: self._item(plan.items.value(code), float(count), float(error), reader.reports)
            for code, count, error in zip(different, counts, reader.errors(points, counts), strict=True)
        }
        return Shares(tuple(made[code] for code in codes), self.accepted, method.false_items, whole=False)

    def _item(self, value: Any, count: float, error: float, part: int) -> Item:
        if not part:
            # Nobody was asked, so nothing is known.
            return Item(value, 0.0, math.inf)
        return Item(value, *share_of_all(count, error, part, self.accepted), count / max(error, 1e-12))

    def shares(self) -> Shares:
        """Return the share of every candidate, unbiased."""
        method = self.plan.method
        if not isinstance(method, ListMethod) or isinstance(method, MeanMethod):
            raise ParameterError(f"Only a plan with candidates= estimates every candidate; {_asks(self.plan)}.")
        places = np.arange(method.candidates)
        reader = method.oracle.reader(self.tally(0))
        points = self.plan.encoder.places(places)  # type: ignore[attr-defined]
        counts = _together(reader, points)
        values = [self.plan.items.value(place) for place in places.tolist()]
        return Shares.of(values, counts, reader.errors(points, counts), max(1, self.accepted), method.false_items)

    def mean(self) -> MeanEstimate:
        """Return the mean of the numbers, unbiased."""
        method = self.plan.method
        if not isinstance(method, MeanMethod):
            raise ParameterError(f"Only a plan with numbers= has a mean; {_asks(self.plan)}.")
        reader = method.oracle.reader(self.tally(0))
        high = float(reader.counts(np.array([1]))[0]) / max(1, self.accepted)
        error = method.oracle.deviation(max(1, self.accepted), 0) / max(1, self.accepted)
        low, top = self.plan.items.value(0), self.plan.items.value(method.oracle.shape()["steps"])
        span = float(top) - float(low)
        return MeanEstimate(float(low) + span * high, span * error)


def _asks(plan: Plan) -> str:
    """Say what the server of a plan can be asked."""
    if isinstance(plan.method, MeanMethod):
        return "ask this one for mean()"
    if isinstance(plan.method, ListMethod):
        return "ask this one for shares(), estimate(items) or popular()"
    return "ask this one for popular() or estimate(items)"


def _codes(plan: Plan, items: Iterable[Any]) -> list[int]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise ParameterError("estimate() takes a list of items; write estimate([item]) for one.")
    return [plan.items.strict(item) for item in items]


def _together(reader: Any, points: Any) -> Any:
    """Return estimates; where items are hashed, heavy ones must not spill into others."""
    return reader.together(points) if isinstance(reader, LinearReader) else reader.counts(points)
