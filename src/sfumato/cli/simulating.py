"""`sfumato local simulate`: a collection on items that are known, to see what it would find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.cli.decoding import Decoded, decoded
from sfumato.cli.items import CHUNK, counted_items, item_chunks, item_lines
from sfumato.errors import ParameterError

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

    @property
    def devices(self) -> int:
        """How many devices there were."""
        return self.truth.total()

    def missed(self) -> list[tuple[Any, float]]:
        """Return the most popular items that were not found, with their true shares."""
        listed = {item.value for item in self._items()}
        rest = [(item, count / self.devices) for item, count in self.truth.most_common() if item not in listed]
        return [pair for pair in rest if pair[0] is not None][:MISSES]

    def _items(self) -> Any:
        return () if self.found.kind == "mean" else self.found.value

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        from sfumato.local.popular import plain

        record = self.found.to_json()
        for item, shown in zip(self._items(), record.get("items", ()), strict=True):
            shown["truth"] = self.truth[item.value] / self.devices
        missed = [{"value": plain(item), "truth": share} for item, share in self.missed()]
        return {
            **record,
            "devices": self.devices,
            "detectable": self.plan.detectable,
            "missed": missed,
            "unfit": self.unfit.total(),
        }

    def text(self) -> str:
        """Return it for people."""
        from sfumato.local.popular import line
        from sfumato.show import table

        if self.found.kind == "mean":
            return self.found.text()
        rows = [
            [line(item.value), f"{item.share:.3%}", f"{self.truth[item.value] / self.devices:.3%}"]
            for item in self._items()
        ]
        parts = [table("Found", ["item", "share", "in truth"], rows).text() if rows else "Nothing was found."]
        above = [pair for pair in self.missed() if pair[1] >= self.plan.detectable]
        said = ", ".join(f"{line(item)} ({share:.3%})" for item, share in self.missed()[:5])
        parts.append(
            f"{len(above)} items of {self.plan.detectable:.3%} or more were missed; a plan for {self.plan.users} users "
            f"finds each with probability 90 %, and here were {self.devices}."
        )
        if said:
            parts.append(f"The most popular ones not found: {said}.")
        if self.unfit:
            parts.append(self._unfit())
        return "\n\n".join(parts)

    def _unfit(self) -> str:
        from sfumato.local.popular import line

        said = ", ".join(f"{line(item)} ({count / self.devices:.3%})" for item, count in self.unfit.most_common(3))
        return (
            f"{self.unfit.total()} devices ({self.unfit.total() / self.devices:.3%}) hold what does not fit the plan "
            f"and sent noise, so it cannot be found: {said}. Shorten it on the device, or plan for such items, too."
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
    with watched("Decoding"):
        return Simulated(plan, decoded(server, Intake(server.accepted)), truth, unfit)


def _plain(items: str, plan: Plan) -> Iterator[tuple[list[Any], float | None]]:
    with item_lines(items) as lines:
        yield from item_chunks(lines, plan.items.domain)


def _counted(items: str, plan: Plan) -> Iterator[tuple[list[Any], float | None]]:
    values, counts = counted_items(items, plan.items.domain)
    places = np.repeat(np.arange(len(values)), counts)
    for start in range(0, len(places), CHUNK):
        yield [values[place] for place in places[start : start + CHUNK].tolist()], start / len(places)
