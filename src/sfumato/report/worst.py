"""The worst of all sets of k attributes, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.privacy import Bound
from sfumato.report.figures import NOTHING_KNOWN, Meaning


@dataclass(frozen=True)
class Worst:
    """The worst that holds for any k attributes: of what is guaranteed, and of what the meters show.

    `promised_for` and `used_for` name the set with the largest figure; empty, the figure is a bound on all sets.
    """

    size: int
    guaranteed: Bound | None
    promise: Meaning | None
    promised_for: tuple[str, ...]
    used: Meaning | None
    used_for: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """Return the size, then the guarantee and the meter, each with the set that it is about."""
        bound = "no limit reaches it" if self.guaranteed is None else str(self.guaranteed)
        said = NOTHING_KNOWN if self.promise is None else self.promise.cells()[0]
        used = NOTHING_KNOWN if self.used is None else self.used.cells()[0]
        return str(self.size), bound, said, _set(self.promised_for), used, _set(self.used_for)

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text."""
        return {
            "size": self.size,
            "guarantee": {
                "bound": None if self.guaranteed is None else self.guaranteed.to_json(),
                "means": None if self.promise is None else self.promise.to_json(),
                "attributes": list(self.promised_for),
                "bound_on_all_sets": not self.promised_for,
            },
            "spent": {
                "means": None if self.used is None else self.used.to_json(),
                "attributes": list(self.used_for),
                "bound_on_all_sets": not self.used_for,
            },
        }


def _set(names: tuple[str, ...]) -> str:
    return " + ".join(names) or "a bound on all sets"
