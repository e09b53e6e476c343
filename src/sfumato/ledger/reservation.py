"""The records that a ledger hands out: reservations, refusals, previews, conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from sfumato.exact import Extended
from sfumato.ledger.budget import Limit
from sfumato.privacy import Loss
from sfumato.privacy.filters import Meter
from sfumato.show.views import View, Viewed

if TYPE_CHECKING:
    from sfumato.ledger.readings import Reading

State = Literal["reserved", "started", "committed", "dead"]
"""All four count in full, for ever."""


@dataclass(frozen=True)
class Reservation:
    """What was charged, and how far it has come.

    `event` is the stored public record of what may run; `answer` is there once it is committed; `reused` says
    that the bytes belong to the same question answered before, and that nothing was charged. `readings` are the meters
    of all limits as they stood when an answer was handed out by `run_sealed`.
    """

    id: str
    state: State
    event: Mapping[str, Any]
    loss: tuple[Loss, ...]
    analyst: str | None = None
    question_key: str | None = None
    answer: bytes | None = None
    reused: bool = False
    readings: tuple[Reading, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Break:
    """One meter of one limit that refuses a request: what was asked, what is left (None: closed for good).

    `sample` says that one release on a sample was asked, and that no Rényi order of the limit takes it.
    """

    name: str
    limit: Limit
    meter: Meter
    asked: Extended
    left: Fraction | None
    sample: bool = False


@dataclass(frozen=True)
class Closing:
    """A route of a limit that a request would close for good; the other routes stay."""

    name: str
    meter: Meter


@dataclass(frozen=True)
class Preview(Viewed):
    """What a request would do; looking at it costs nothing.

    `free` says that it was paid for before, so that asking it charges nothing.
    """

    fits: bool
    breaks: Sequence[Break]
    closes: Sequence[Closing]
    text: str
    free: bool = False

    def view(self) -> View:
        """Return whether it fits, what refuses it, or that it is free."""
        if self.free:
            return View("It is free.", before=(self.text,))
        return View("It fits." if self.fits else "It does not fit.", before=(self.text.removeprefix("Fits.").strip(),))


@dataclass(frozen=True)
class Conversation:
    """Where a conversation stands: its state after `step` steps, and the last answer."""

    id: str
    step: int
    state: bytes
    last: bytes | None
