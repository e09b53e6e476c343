"""What a device runs: one item in, one small report out."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.method import Encoder
from sfumato.local.plan import Plan
from sfumato.local.trust import now
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Bound, Loss
from sfumato.words import understood

if TYPE_CHECKING:
    from sfumato.local.device import Device


@dataclass(frozen=True, kw_only=True)
class Client(Mechanism):
    """The randomizer of a plan.

    Promise: pure epsilon of the role's oracle for any two items, fitting or not, and every report; the role is drawn
    without looking at the item and is part of the report (C-SPLIT). Never raises because of an item. Keeps no state:
    a second report costs a second time, so call it as often as the plan says, or let it `remember`.

    >>> from sfumato import Pure, local
    >>> client = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"]).client()
    >>> len(client.report("red")), len(client.report("no colour at all")), client.reports(["red", "green"]).shape
    (6, 6, (2, 6))
    """

    spec: ClassVar[str] = "C-SPLIT"

    plan: Plan
    pinned: bool = False
    """Whether the plan is one of those that the device was shipped with."""

    def loss(self) -> Loss:
        """Return the loss of one report."""
        return self.plan.report_loss()

    def event(self) -> Event:
        """Return the plan, which is all there is to say."""
        return Event(type(self).__name__, self.spec, {"plan": self.plan.to_json()}, self.version)

    @understood
    def report(self, item: Any, noise: Noise | None = None) -> bytes:
        """Return the report of an item; one that does not fit sends noise of the same size.

        A plan that is not yet or no longer valid is refused, whatever the item.
        """
        self.plan.valid.require(now())
        return self.run(item, Noise() if noise is None else noise)

    def moment(self, within: timedelta, noise: Noise | None = None) -> datetime:
        """Return when to send: a second drawn evenly between now and `within` later, on days on which it is answered.

        A report that is sent when something happens tells when it did. Draw the moment when the plan comes, before any
        item is known, keep it, and make and send the report then, whatever the item is.

        >>> from datetime import timedelta
        >>> from sfumato import Pure, local
        >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"], not_before="2999-01-01")
        >>> plan.client().moment(within=timedelta(hours=24)).date().isoformat()
        '2999-01-01'
        """
        start, end = self.plan.valid.span(now(), within)
        drawn = (Noise() if noise is None else noise).uniform(end - start)
        return datetime.fromtimestamp(start + drawn, UTC)

    def remember(
        self,
        path: str | Path,
        *,
        lifetime: Bound,
        each: Bound | None = None,
        period: tuple[str, Bound] | None = None,
    ) -> Device:
        """Return this client with a memory in a file: it counts its reports, and keeps a limit for its whole life.

        `lifetime` bounds what all reports of the device cost, for all plans that use this file; `each` bounds one plan,
        by default `Pure(8)`. `period=("month", Pure(4))` also bounds the reports of each day, week, month or quarter.
        """
        from sfumato.local.device import remember

        return remember(self, path, lifetime, each, period)

    def run(self, exact: Any, noise: Noise) -> bytes:
        """Draw role and uniform report in one go, then let the role's oracle speak."""
        plan = self.plan
        role, drawn = self._draw(noise)
        code = plan.items.code(exact)
        point = None if code is None else plan.encoder.point(code, role)
        value = plan.method.roles[role].oracle.mix(point, drawn, noise)
        return plan.wire.pack(plan.offsets[role] + value)

    def _draw(self, noise: Noise) -> tuple[int, int]:
        plan = self.plan
        if plan.even:
            turn, drawn = divmod(noise.uniform(plan.turns[-1] * plan.even), plan.even)
            return bisect_right(plan.turns, turn) - 1, drawn
        role = bisect_right(plan.turns, noise.uniform(plan.turns[-1])) - 1
        return role, noise.uniform(plan.method.roles[role].oracle.outcomes)

    @understood
    def reports(self, items: Any, noise: Noise | None = None) -> Any:
        """Return the reports of many devices, each independent, as a table of bytes with one report a row.

        For simulations, and for holders of many devices' items. The law of each row is that of `report`.
        """
        if isinstance(items, (str, bytes, bytearray)):
            raise ParameterError("reports() takes a list of items, one for each device; write report(item) for one.")
        source = Noise() if noise is None else noise
        plan = self.plan
        rows, fits = plan.items.rows(items)
        turns = source.uniform(plan.turns[-1], len(rows))
        chosen = np.searchsorted(np.array(plan.turns), turns, side="right") - 1
        values = np.empty(len(rows), dtype=np.int64)
        for place, role in enumerate(plan.method.roles):
            mine = np.flatnonzero(chosen == place)
            # Only those that speak are hashed.
            points = partial(_points, plan.encoder, place, rows, mine)
            drawn = source.uniform(role.oracle.outcomes, len(mine))
            values[mine] = plan.offsets[place] + role.oracle.mix_many(points, fits[mine], drawn, source)
        return plan.wire.pack_many(values)


def _points(encoder: Encoder, role: int, rows: Any, mine: Any, speaking: Any) -> Any:
    return encoder.points(rows[mine[speaking]], role)
