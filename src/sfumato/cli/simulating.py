"""`sfumato local simulate`: a collection on items that are known, to see what it would find."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.cli.decoding import Decoded, decoded, patience
from sfumato.cli.items import CHUNK, counted_items, item_chunks, item_lines
from sfumato.errors import ParameterError
from sfumato.local.collector.intake import many
from sfumato.local.listed import ListMethod
from sfumato.local.means import ends
from sfumato.show.views import readable

if TYPE_CHECKING:
    from sfumato.local import Plan

MISSES = 20
"""So many of the most popular items that were not found are named."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation found, beside the truth."""

    plan: Plan
    found: Decoded
    truth: Counter[Any]
    unfit: Counter[Any]
    """What devices hold that the plan cannot carry; in `truth` all of it is None."""

    @cached_property
    def devices(self) -> int:
        """How many devices there were."""
        return self.truth.total()

    @cached_property
    def missed(self) -> list[tuple[Any, float]]:
        """The most popular items that were not found, with their true shares."""
        listed = {None, *(item.value for item in self._items())}
        most = heapq.nlargest(MISSES + len(listed), self.truth.items(), key=itemgetter(1))
        return [(item, count / self.devices) for item, count in most if item not in listed][:MISSES]

    @property
    def mean(self) -> float | None:
        """The true mean of the numbers that fit; None where all sent noise, or items are asked."""
        held = {number: count for number, count in self.truth.items() if number is not None}
        if self.found.kind != "mean" or not held:
            return None
        return sum(float(number) * count for number, count in held.items()) / sum(held.values())

    def _items(self) -> Any:
        return () if self.found.kind == "mean" else self.found.value

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        from sfumato.local.popular import plain

        record = self.found.to_json()
        for item, shown in zip(self._items(), record.get("items", ()), strict=True):
            shown["truth"] = self._true(item)
        known: dict[str, Any] = {**record, "devices": self.devices, "unfit": self.unfit.total()}
        if self.found.kind == "mean":
            return {**known, "truth": self.mean, "expected_error": self.plan.expected_error}
        missed = [{"value": plain(item), "truth": share} for item, share in self.missed]
        return {**known, "detectable": self.plan.detectable, "missed": missed}

    def text(self) -> str:
        """Return it for people."""
        parts = [self.found.text(), self._mean_beside()] if self.found.kind == "mean" else self._items_beside()
        return "\n\n".join([*parts, *([self._unfit()] if self.unfit else [])])

    def _mean_beside(self) -> str:
        if self.mean is None:
            return "No number fits the plan, so what is shown is noise."
        low, high = self.found.interval
        within = "holds" if low <= self.mean <= high else "misses"
        return f"In truth the mean of the numbers that fit is {readable(self.mean)}: the interval {within} it."

    def _items_beside(self) -> list[str]:
        from sfumato.local.popular import line
        from sfumato.show import table

        rows = [
            [line(item.value), *(f"{part:.3%}" for part in (item.share, item.low, item.high, self._true(item)))]
            for item in self._items()
        ]
        columns = ["item", "share", "low", "high", "in truth"]
        parts = [table("Found", columns, rows).text() if rows else "Nothing was found."]
        if rows:
            inside = sum(item.low <= self._true(item) <= item.high for item in self._items())
            parts.append(f"{inside} of {len(rows)} intervals, of 95 % each, hold the truth.")
        above = [pair for pair in self.missed if pair[1] >= self.plan.detectable]
        said = ", ".join(f"{line(item)} ({share:.3%})" for item, share in self.missed[:5])
        parts.append(
            f"{many(len(above), 'item')} of {self.plan.detectable:.3%} or more {'was' if len(above) == 1 else 'were'} "
            f"missed; a plan for {many(self.plan.users, 'user')} finds each with probability 90 %, and here were "
            f"{self.devices}."
        )
        if said:
            parts.append(f"The most popular ones not found: {said}.")
        return parts

    def _true(self, item: Any) -> float:
        """Return the true share of an item."""
        return self.truth[item.value] / self.devices

    def _unfit(self) -> str:
        from sfumato.local.popular import line

        said = ", ".join(f"{line(item)} ({count / self.devices:.3%})" for item, count in self.unfit.most_common(3))
        total = self.unfit.total()
        held = f"{many(total, 'device')} ({total / self.devices:.3%}) {'holds' if total == 1 else 'hold'} what"
        if self.found.kind == "mean":
            low, high = ends(self.plan)
            return (
                f"{held} does not fit the plan and sent noise, which counts as {(low + high) / 2:g}, the middle of "
                f"the range: {said}. Round numbers and cut them to the range on the device, or plan for a wider range."
            )
        if isinstance(self.plan.method, ListMethod):
            return (
                f"{held} is not on the plan's list and sent noise, so it counts nowhere: {said}. Add it to the list, "
                'or add a candidate "other" that devices report in place of all that is not on it.'
            )
        return (
            f"{held} does not fit the plan and sent noise, so it cannot be found: {said}. Shorten it on the device, or "
            "plan for such items, too."
        )


def simulated(plan: Plan, items: str, counted: bool, seed: int | None) -> Simulated:
    """Randomize items, count the reports and decode them."""
    from sfumato import Noise
    from sfumato.local import Intake
    from sfumato.show.progress import watched

    noise = Noise() if seed is None else Noise(insecure_seed=seed)
    client, server = plan.client(), plan.server()
    truth, unfit = Counter[Any](), Counter[Any]()
    with watched("Simulating devices") as step:
        for chunk, part in _counted(items, plan) if counted else _plain(items, plan):
            server.ingest(client.reports(chunk, noise))
            codes = [plan.items.code(item) for item in chunk]
            truth.update(None if code is None else plan.items.value(code) for code in codes)
            unfit.update(item for item, code in zip(chunk, codes, strict=True) if code is None)
            if part is not None:
                step(part)
    if not truth:
        raise ParameterError(f"{items!r} holds no items; write one a line.")
    with watched("Decoding", piped=patience(plan)):
        return Simulated(plan, decoded(server, Intake(server.accepted)), truth, unfit)


def _plain(items: str, plan: Plan) -> Iterator[tuple[list[Any], float | None]]:
    with item_lines(items) as lines:
        yield from item_chunks(lines, plan.items.domain)


def _counted(items: str, plan: Plan) -> Iterator[tuple[list[Any], float | None]]:
    values, counts = counted_items(items, plan.items.domain)
    places = np.repeat(np.arange(len(values)), counts)
    for start in range(0, len(places), CHUNK):
        yield [values[place] for place in places[start : start + CHUNK].tolist()], start / len(places)
