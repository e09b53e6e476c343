"""What became of reports that came in: counted, dropped as duplicates, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.local.wire import Refused, added

_OTHERS = {"length", "plan"}
"""What is wrong with a report of another plan."""


@dataclass(frozen=True)
class Intake:
    """How many reports were accepted, how many were duplicates, and how many were refused and why.

    `envelope` counts what could not be opened: no JSON, no id, no base64, a line that is too long. `refused` counts
    reports of a wrong length, version, plan or value. `repeated` counts batches that had been counted before; their
    reports are not looked at again. `late` counts reports that came after their epoch was closed or their plan retired.

    >>> print(Intake(accepted=7, duplicates=1, envelope=2))
    7 reports accepted, 1 duplicate dropped, 2 refused (envelope 2).
    """

    accepted: int = 0
    duplicates: int = 0
    envelope: int = 0
    repeated: int = 0
    refused: Refused = field(default_factory=Refused)
    late: int = 0

    def __add__(self, other: Intake) -> Intake:
        return added(self, other)

    @property
    def total(self) -> int:
        """All reports that were looked at."""
        return self.accepted + self.duplicates + self.envelope + self.refused.total + self.late

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON."""
        return {
            "accepted": self.accepted,
            "duplicates": self.duplicates,
            "repeated_batches": self.repeated,
            "refused": {"envelope": self.envelope, **vars(self.refused)},
            **({"late": self.late} if self.late else {}),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Intake:
        """Read what `to_json` wrote."""
        refused = dict(record["refused"])
        envelope = refused.pop("envelope")
        return cls(
            record["accepted"],
            record["duplicates"],
            envelope,
            record["repeated_batches"],
            Refused.from_json(refused),
            record.get("late", 0),
        )

    def __str__(self) -> str:
        kinds = {"envelope": self.envelope, **vars(self.refused), "late": self.late}
        wrong = {name: count for name, count in kinds.items() if count}
        why = f" ({', '.join(f'{name} {count}' for name, count in wrong.items())})" if wrong else ""
        other = " What has another length or plan is perhaps of another plan." if wrong.keys() & _OTHERS else ""
        again = f" {many(self.repeated, 'batch', 'batches')} had been counted before." if self.repeated else ""
        accepted, dropped = many(self.accepted, "report"), many(self.duplicates, "duplicate")
        return f"{accepted} accepted, {dropped} dropped, {sum(wrong.values())} refused{why}.{other}{again}"


def many(count: int, one: str, more: str | None = None) -> str:
    """Return a number of things in words that fit it.

    >>> many(1, "device"), many(2, "device"), many(2, "batch", "batches")
    ('1 device', '2 devices', '2 batches')
    """
    return f"{count} {one if count == 1 else more or one + 's'}"
