"""One or several questions as one release: prepared, charged and drawn together; and what is left to ask with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

from sfumato.ledger.readings import Reading
from sfumato.mechanism import Event
from sfumato.noise import Noise
from sfumato.privacy import Approximate, Bound, Concentrated, Loss, Pure, Truncated
from sfumato.release.prepared import Prepared
from sfumato.release.question import Question
from sfumato.table.data import Table


@dataclass(frozen=True)
class Asked:
    """One or several questions made ready, and what they cost together: one release."""

    questions: tuple[Question, ...]
    prepared: tuple[Prepared, ...]

    def loss(self) -> Loss:
        """Return the sum of the losses."""
        return reduce(add, (prepared.loss() for prepared in self.prepared))

    def events(self, snapshot: str) -> list[Event]:
        """Return the public record of each question: its mechanism, the question, and the state of the data."""
        found = []
        for question, prepared in zip(self.questions, self.prepared, strict=True):
            inner = prepared.mechanism.event()
            parameters = {"mechanism": inner.to_json(), "question": question.to_json(), "snapshot": snapshot}
            found.append(Event(inner.name, inner.spec, parameters, inner.version))
        return found

    def event(self, snapshot: str) -> Event:
        """Return the public record of the release."""
        events = self.events(snapshot)
        if len(events) == 1:
            return events[0]
        return Event("List", "PDP:C-7", {"parts": [event.to_json() for event in events], "snapshot": snapshot})

    def draw(self, table: Table) -> bytes:
        """Read the table, draw the noise, and return what leaves."""
        found = []
        for prepared in self.prepared:
            raw = prepared.mechanism.run(prepared.exact(table), Noise())
            found.append(prepared.finish(raw).to_json())
        return json.dumps(found, separators=(",", ":")).encode()


def left_of(reading: Reading) -> Bound | None:
    """Return what a person limit has left, as a spend; None if nothing is."""
    limit, (leaks, rest, *orders) = reading.rule.limit.bound, reading.left
    if rest:
        match limit:
            case Concentrated():
                return Concentrated(rest)
            case Truncated():
                return Truncated(rest, limit.omega)
            case Approximate() if leaks:
                return Approximate(rest, leaks)
        return Pure(rest)
    for tau, meter in zip(orders, reading.meters[2:], strict=True):
        # Gaussian noise has closed the way of epsilons, and goes on by its Rényi order.
        if tau and isinstance(meter.order, Fraction):
            return Concentrated(tau / meter.order)
    return None
