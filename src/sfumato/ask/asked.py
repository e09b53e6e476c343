"""One or several questions as one release: prepared, charged and drawn together; and what is left to ask with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any

from sfumato.answer import Released
from sfumato.ask.one_thread import one_thread
from sfumato.ask.packing import pack, unpack
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.ledger.history import reads_everything
from sfumato.ledger.plan import list_text
from sfumato.ledger.readings import Reading
from sfumato.ledger.running import Coins, Work
from sfumato.mechanism import Event
from sfumato.noise.source import load
from sfumato.privacy import EVERYTHING, Approximate, Bound, Concentrated, Cost, Loss, Pure, Truncated
from sfumato.privacy.filters import Meter
from sfumato.table.data import Table
from sfumato.table.schema import Schema

PLAIN = ("Count", "Sum", "Mean", "Variance", "Histogram", "GroupBy")
"""Questions that are answered in whole numbers, without linear algebra."""


@dataclass(frozen=True)
class Asked:
    """One or several questions made ready, and what they cost together: one release."""

    questions: tuple[Question, ...]
    prepared: tuple[Prepared, ...]
    schema: Schema

    def loss(self) -> Loss:
        """Return the sum of the losses; of several questions as a list that is fixed beforehand."""
        return self._loss

    @cached_property
    def _loss(self) -> Loss:
        if len(self.prepared) == 1:
            return self.prepared[0].loss()
        return reduce(add, (prepared.loss() for prepared in self.prepared)).together()

    def total(self, spend: Bound, limit: Bound | None = None) -> str:
        """Say what several questions tell together, at the spend's delta or at one in a million; see `list_text`."""
        return list_text(self.loss(), len(self.questions), spend, limit)

    def losses(self, spend: Bound | None) -> tuple[Loss, ...]:
        """Return what the ledger may charge: the loss as it is, or that of any release within the spend.

        Each limit takes the first that fits it, whole.
        """
        loss = self.loss()
        if not isinstance(spend, Approximate) or loss.person.is_zero:
            return (loss,)
        if loss.person.leak and len(self.prepared) == 1:
            return (loss,)  # it is (epsilon, delta) already
        names = loss.profile.names()
        reads = frozenset(names) if names and not reads_everything(loss) else EVERYTHING
        return loss, Loss.flat(Cost.approximate(spend.epsilon, spend.delta), reads, loss.relation)

    @cached_property
    def forms(self) -> tuple[dict[str, Any], ...]:
        """The questions as JSON, written once."""
        return tuple(question.to_json() for question in self.questions)

    @cached_property
    def _described(self) -> tuple[tuple[Event, dict[str, Any]], ...]:
        """Each mechanism's event, and what is recorded of it beside the state of the data."""
        found = []
        for form, prepared in zip(self.forms, self.prepared, strict=True):
            inner = prepared.mechanism.event()
            told = {"mechanism": inner.to_json(), "question": form, "notes": list(prepared.notes())}
            people = prepared.gauge.people
            # How a draw is read may depend on how many people there are, and a later state of the data has others.
            found.append((inner, told if people is None else {**told, "people": people}))
        return tuple(found)

    def events(self, snapshot: str) -> list[Event]:
        """Return the public record of each question: its mechanism, the question, and the state of the data."""
        return [
            Event(inner.name, inner.spec, {**parameters, "snapshot": snapshot}, inner.version)
            for inner, parameters in self._described
        ]

    def event(self, snapshot: str) -> Event:
        """Return the public record of the release."""
        events = self.events(snapshot)
        if len(events) == 1:
            return events[0]
        return Event("List", "PDP:C-7", {"parts": [event.to_json() for event in events], "snapshot": snapshot})

    def check_new(self) -> None:
        """Refuse what is not answered any more, before anything is spent."""
        for question in self.questions:
            question.check_new(self.schema)

    def check(self, table: Table) -> None:
        """Have everything that will be read planned by the engine, and compare it with the machine's memory."""
        for prepared in self.prepared:
            prepared.check(table)

    def work(self, table: Table) -> Work:
        """Return the draw in its two halves: what is read from the table, and what is drawn from that.

        The packages that draws need are loaded here: one that cannot be loaded says so before anything is reserved.
        """
        with self._repeatable():
            load()
        return Work(lambda: pack(self.read(table)), self.draw)

    def read(self, table: Table) -> tuple[Any, ...]:
        """Return the exact integers of every question; this is the only look at the table."""
        return tuple(prepared.exact(table) for prepared in self.prepared)

    def draw(self, content: bytes, coins: Coins) -> bytes:
        """Draw from what was read, as it was packed: a second attempt has nothing else, so the first has not either."""
        exact = unpack(content, self.schema)
        with self._repeatable():
            drawn = [
                prepared.mechanism.run(one, coins.noise(part))
                for part, (prepared, one) in enumerate(zip(self.prepared, exact, strict=True))
            ]
        return pack(tuple(drawn))

    def finish(self, raw: Sequence[Any]) -> tuple[Released, ...]:
        """Return what is shown of what was drawn; a function of that and of public facts, so it may be repeated."""
        with self._repeatable():
            return tuple(prepared.finish(one) for prepared, one in zip(self.prepared, raw, strict=True))

    def _repeatable(self) -> AbstractContextManager[None]:
        """Return what makes a draw and a fit the same every time; loading it for a count would be a waste."""
        return nullcontext() if self._in_whole_numbers else one_thread()

    @cached_property
    def _in_whole_numbers(self) -> bool:
        return all(question.kind in PLAIN for question in self.questions)


def left_of(reading: Reading) -> Bound | None:
    """Return what a person limit has left, as a spend; None if nothing is."""
    limit, (leaks, rest, *others) = reading.rule.limit.bound, reading.left
    if rest:
        match limit:
            case Concentrated():
                return Concentrated(rest)
            case Truncated():
                return Truncated(rest, limit.omega)
            case Approximate() if leaks:
                return Approximate(rest, leaks)
        return Pure(rest)
    # Gaussian noise has closed the way of epsilons, and goes on by itself or by a Rényi order.
    rhos = [_rho(meter, left) for meter, left in zip(reading.meters[2:], others, strict=True) if left]
    return Concentrated(max(rhos)) if rhos else None


def _rho(meter: Meter, left: Fraction) -> Fraction:
    if meter.kind == "gauss":
        return left / 2
    assert isinstance(meter.order, Fraction)
    return left / meter.order
