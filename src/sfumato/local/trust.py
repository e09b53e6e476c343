"""What a device need not take on trust: what a plan costs, whether it is one that it knows, when it is valid."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.exact.written import rounded
from sfumato.privacy import Pure

if TYPE_CHECKING:
    from sfumato.local.plan import Plan

MOST_SPENT = Pure(8)
"""What a device spends on one plan at most, unless it is told another limit; both clients have the same."""
PERIODS = ("day", "week", "month", "quarter")
LONGEST_EPOCH = 64
DAY = 24 * 60 * 60


def now() -> datetime:
    """Return the time by the clock of this device."""
    return datetime.now(UTC)


def require_affordable(plan: Plan, each: Pure) -> None:
    """Refuse a plan that would cost a device more than it spends on one plan: exact, from the integers of the coins."""
    spend = plan.loss()
    if not spend.within(each):
        raise BudgetExceeded(
            f"This plan spends an epsilon of {rounded(spend.person.epsilon, up=True, digits=6)}, more than the "
            f"{rounded(each.epsilon, up=False, digits=6)} that this device spends on one plan; do not answer it.",
            largest=each,
        )


def too_dear(plan: Plan) -> str:
    """Say that devices will not answer a plan unless they are told to, and what to change; nothing where they will."""
    spend = plan.loss()
    if spend.within(MOST_SPENT):
        return ""
    most = rounded(MOST_SPENT.epsilon, up=False, digits=6)
    return (
        f"A device spends at most epsilon {most} on one plan, and this one takes "
        f"{rounded(spend.person.epsilon, up=True, digits=6)}, so no device answers it unless its program says so: plan "
        f"with at most {MOST_SPENT!r}, or write plan.client(each={plan.spend!r}) on every device."
    )


def require_pinned(plan: Plan, pinned: Collection[str] | None) -> None:
    """Refuse a plan that is not among the pinned ones."""
    if pinned is None:
        return
    if isinstance(pinned, str) or not all(isinstance(one, str) and len(one) == 64 for one in pinned):
        raise ParameterError("pinned= is a list of digests of 64 hexadecimal digits; write [plan.digest.hex()].")
    if plan.digest.hex() not in {one.lower() for one in pinned}:
        raise ParameterError("This plan is none of those that this device knows; do not answer it.")


def period_of(kind: str, moment: datetime) -> str:
    """Return the name of the day, week, month or quarter of a moment, in UTC; later ones are later in the alphabet.

    >>> [period_of(kind, datetime(2026, 11, 16, tzinfo=UTC)) for kind in PERIODS]
    ['2026-11-16', '2026-W47', '2026-11', '2026-Q4']
    """
    day = moment.astimezone(UTC).date()
    if kind == "day":
        return day.isoformat()
    if kind == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return f"{day.year:04d}-{day.month:02d}" if kind == "month" else f"{day.year:04d}-Q{(day.month + 2) // 3}"


@dataclass(frozen=True)
class Validity:
    """From which day to which day, both in UTC and included, devices answer a plan, and of which epoch it is.

    >>> Validity("2026-11-01", "2026-11-30", "november").to_json()
    {'not_before': '2026-11-01', 'not_after': '2026-11-30', 'epoch': 'november'}
    """

    not_before: str | None = None
    not_after: str | None = None
    epoch: str | None = None

    def __post_init__(self) -> None:
        for name in ("not_before", "not_after"):
            _require_day(name, getattr(self, name))
        if self.not_before is not None and self.not_after is not None and self.not_before > self.not_after:
            raise ParameterError("not_before= is after not_after=, so no device would answer; exchange them.")
        if self.epoch is not None and not (isinstance(self.epoch, str) and 0 < len(self.epoch) <= LONGEST_EPOCH):
            raise ParameterError(f"epoch= is a name of at most {LONGEST_EPOCH} characters; write '2026-11'.")

    def require(self, moment: datetime) -> None:
        """Refuse a moment at which the plan is not answered; this looks at the clock, never at an item."""
        day = moment.astimezone(UTC).date().isoformat()
        if self.not_before is not None and day < self.not_before:
            raise ParameterError(f"This plan is answered from {self.not_before} on; do not answer it before.")
        if self.not_after is not None and day > self.not_after:
            raise ParameterError(f"This plan was answered until {self.not_after}; do not answer it any more.")

    def span(self, moment: datetime, within: timedelta) -> tuple[int, int]:
        """Return the first second in which a device may send, and the one after the last, since 1970."""
        if not isinstance(within, timedelta) or within < timedelta(seconds=1):
            raise ParameterError("within= is how long a device may wait; write within=timedelta(hours=24).")
        start = math.ceil(moment.timestamp())
        if self.not_before is not None:
            start = max(start, _midnight(self.not_before))
        end = start + int(within.total_seconds())
        if self.not_after is not None:
            end = min(end, _midnight(self.not_after) + DAY)
            if end <= start:
                raise ParameterError(f"This plan was answered until {self.not_after}; do not answer it any more.")
        return start, end

    def to_json(self) -> dict[str, str]:
        """Return what is said, and nothing else."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Validity:
        """Read what a plan says about it."""
        return cls(*(record.get(name) for name in ("not_before", "not_after", "epoch")))

    def __str__(self) -> str:
        first = "" if self.not_before is None else f" from {self.not_before}"
        last = "" if self.not_after is None else f" until {self.not_after}"
        name = "" if self.epoch is None else f" Its epoch is {self.epoch!r}."
        return f"Devices answer it{first}{last}.{name}" if first or last else name.strip()


def _midnight(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp())


def _require_day(name: str, day: object) -> None:
    if day is None:
        return
    try:
        if isinstance(day, str) and date.fromisoformat(day).isoformat() == day:
            return
    except ValueError:
        pass
    raise ParameterError(f"{name}= is a day such as '2026-11-01', and {str(day)[:40]!r} is none.")
