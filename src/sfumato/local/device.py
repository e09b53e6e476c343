"""A device that remembers: what it has sent, and what that has cost over its life (CLIENT-TRUST)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.durable import UNREADABLE, lock, write_durably
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.exact.written import rounded
from sfumato.local.trust import MOST_SPENT, PERIODS, now, period_of, require_affordable
from sfumato.noise import Noise
from sfumato.privacy import Bound, Pure, require_bound
from sfumato.words import understood

if TYPE_CHECKING:
    from sfumato.local.client import Client

FORMAT = 1


@dataclass(frozen=True)
class Device:
    """A client with a memory in a file. Make one with `client.remember(path, lifetime=Pure(8))`.

    It answers a plan as often as the plan says and no more, however often it is asked, and stops when all of its
    reports together would cost more than `lifetime`. It trusts nobody for that: a server that publishes a plan under
    a new seed meets the same limit. The limit is fixed when the file is made. A report is charged, on the disk, before
    it leaves; one that a crash swallows stays charged.

    With a `period` the reports of each day, week, month or quarter have a limit of their own besides: any two
    histories that differ in the items of one period are that close. It is the period of the report, by the device's
    clock. A clock that goes back opens no new period; one put forward does, so the lifetime stays the guarantee.

    >>> import tempfile
    >>> from sfumato import Pure, local
    >>> client = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"], reports=2).client()
    >>> with tempfile.TemporaryDirectory() as place:
    ...     device = client.remember(f"{place}/device.json", lifetime=Pure(8))
    ...     report = device.report("red")
    ...     print(device.left, device.spent.epsilon <= 1)
    1 True
    """

    client: Client
    path: Path
    lifetime: Pure
    each: Pure
    period: Period | None = None

    def __post_init__(self) -> None:
        require_affordable(self.client.plan, self.each)
        with self._memory() as memory:
            memory.require_limits(self.lifetime, self.period)

    @understood
    def report(self, item: Any, noise: Noise | None = None) -> bytes:
        """Return a report of an item, charged first; refuses when the plan is answered or the lifetime is used up.

        Whether it refuses depends on what was sent before, never on the item. To send a report again, keep its bytes:
        a second call is a second report.
        """
        self.client.plan.valid.require(now())
        with self._memory() as memory:
            memory.charge(self.client, self.lifetime)
            memory.write()
        return self.client.report(item, noise)

    @property
    def left(self) -> int:
        """How many reports of this plan the device would still send."""
        plan = self.client.plan
        with self._memory() as memory:
            fits = int(memory.affordable(self.lifetime) // _cost(self.client))
            return max(0, min(plan.reports - memory.answered(plan.digest.hex()), fits))

    @property
    def spent(self) -> Pure:
        """What all reports of the device, for all plans, have cost."""
        with self._memory() as memory:
            return Pure(memory.spent)

    @contextmanager
    def _memory(self) -> Iterator[_Memory]:
        """Read the file, and keep others from changing it."""
        held = lock(self.path.with_name(self.path.name + ".lock"), wait=True)
        assert held is not None
        with held:
            yield _Memory.read(self.path, self.lifetime, self.period)


@dataclass(frozen=True)
class Period:
    """A limit for each day, week, month or quarter, by the device's clock in UTC."""

    kind: str
    most: Pure

    def __post_init__(self) -> None:
        if self.kind not in PERIODS:
            raise ParameterError(f"A period is one of {', '.join(PERIODS)}; write period=('month', Pure(4)).")


@dataclass
class _Memory:
    path: Path
    lifetime: Fraction
    plans: dict[str, dict[str, Any]]
    period: Period | None = None
    latest: str = ""
    """The latest period that the clock has shown; a clock that goes back opens no new one."""
    lately: Fraction = Fraction(0)
    """What the reports of that period have cost."""

    @classmethod
    def read(cls, path: Path, lifetime: Pure, period: Period | None) -> _Memory:
        if not path.exists():
            made = cls(path, lifetime.epsilon, {}, period)
            made.write()
            return made
        try:
            record = json.loads(path.read_text(encoding="utf-8-sig"))
            if record["format"] != FORMAT:
                raise ValueError(record["format"])
            plans = {str(name): _entry(entry) for name, entry in record["plans"].items()}
            return cls(path, Fraction(record["lifetime"]), plans, *_period(record.get("period")))
        except (*UNREADABLE, ZeroDivisionError):
            # A memory that cannot be read might have been full: nothing is sent.
            raise LedgerError(f"{path.name} is no memory of a device, or is damaged; nothing is sent.") from None

    def require_limits(self, lifetime: Pure, period: Period | None) -> None:
        if self.period != period:
            kept = "no period" if self.period is None else f"period=({self.period.kind!r}, {self.period.most!r})"
            raise ParameterError(f"The period of this device was fixed when its file was made; write {kept}.")
        if self.lifetime != lifetime.epsilon:
            raise ParameterError(
                f"The lifetime of this device was fixed when its file was made; write lifetime={Pure(self.lifetime)!r}."
            )

    @property
    def spent(self) -> Fraction:
        return sum((Fraction(entry["epsilon"]) for entry in self.plans.values()), Fraction(0))

    def answered(self, digest: str) -> int:
        entry = self.plans.get(digest)
        return 0 if entry is None else int(entry["reports"])

    def affordable(self, lifetime: Pure) -> Fraction:
        """Return what a report may cost now, by both limits; a new period begins when the clock shows one."""
        left = lifetime.epsilon - self.spent
        if self.period is None:
            return left
        current = period_of(self.period.kind, now())
        if current > self.latest:
            self.latest, self.lately = current, Fraction(0)
        return min(left, self.period.most.epsilon - self.lately)

    def charge(self, client: Client, lifetime: Pure) -> None:
        plan = client.plan
        digest, cost = plan.digest.hex(), _cost(client)
        answered = self.answered(digest)
        if answered >= plan.reports:
            raise BudgetExceeded(
                f"This device has sent {answered} of {plan.reports} reports under this plan; it sends no more. Send "
                "the bytes of the earlier report if it was lost."
            )
        left = self.affordable(lifetime)
        if cost > left and left < lifetime.epsilon - self.spent:
            assert self.period is not None
            raise BudgetExceeded(
                f"A report costs epsilon {rounded(cost, up=True, digits=6)}, and of the device's {self.period.most!r} "
                f"for one {self.period.kind} only epsilon {rounded(left, up=False, digits=6)} is left; it sends no "
                "more before the next one.",
                largest=Pure(left) if left > 0 else None,
            )
        if cost > left:
            raise BudgetExceeded(
                f"A report costs epsilon {rounded(cost, up=True, digits=6)}, and of the device's {lifetime!r} only "
                f"epsilon {rounded(lifetime.epsilon - self.spent, up=False, digits=6)} is left; it sends no more for "
                "this plan.",
                largest=Pure(lifetime.epsilon - self.spent) if lifetime.epsilon > self.spent else None,
            )
        earlier = Fraction(self.plans[digest]["epsilon"]) if digest in self.plans else Fraction(0)
        self.plans[digest] = {"reports": answered + 1, "epsilon": str(earlier + cost)}
        self.lately += cost

    def write(self) -> None:
        record: dict[str, Any] = {"format": FORMAT, "lifetime": str(self.lifetime), "plans": self.plans}
        if self.period is not None:
            limit = {"kind": self.period.kind, "epsilon": str(self.period.most.epsilon)}
            record["period"] = {**limit, "latest": self.latest, "spent": str(self.lately)}
        write_durably(self.path, [json.dumps(record, indent=1).encode() + b"\n"])


def _cost(client: Client) -> Fraction:
    """Return what one report costs."""
    epsilon = client.loss().person.epsilon
    assert isinstance(epsilon, Fraction)
    return epsilon


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    reports, epsilon = entry["reports"], Fraction(entry["epsilon"])
    if not isinstance(reports, int) or reports < 0 or epsilon < 0:
        raise ValueError(reports)
    return {"reports": reports, "epsilon": str(epsilon)}


def _period(record: Mapping[str, Any] | None) -> tuple[Period | None, str, Fraction]:
    if record is None:
        return None, "", Fraction(0)
    spent = Fraction(record["spent"])
    if spent < 0:
        raise ValueError(spent)
    return Period(record["kind"], Pure(Fraction(record["epsilon"]))), str(record["latest"]), spent


def remember(
    client: Client, path: str | Path, lifetime: Bound, each: Bound | None, period: tuple[str, Bound] | None
) -> Device:
    """Return a device that keeps its memory in a file."""
    if period is not None and not (isinstance(period, tuple) and len(period) == 2):
        raise ParameterError("period= is a kind and a bound; write for example period=('month', Pure(4)).")
    asked = (lifetime, MOST_SPENT if each is None else each, *(() if period is None else period[1:]))
    bounds = [bound for bound in map(require_bound, asked) if isinstance(bound, Pure)]
    if len(bounds) < len(asked):
        raise ParameterError("The limits of a device are pure bounds; write for example lifetime=Pure(8).")
    limit = None if period is None else Period(period[0], bounds[2])
    return Device(client, Path(path), bounds[0], bounds[1], limit)
