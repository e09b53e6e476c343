"""Second looks at closed periods, declared beforehand: when, of which tables, and what each costs (PB-PUBLISH).

A revision is a release of its own: it reads the rows of a period again, some days after its end, is charged to the same
period again, and is written beside what was published first, which stays what it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.ledger.typed import read_bound
from sfumato.privacy import Bound
from sfumato.publish.reading import known, read_days, wanted

if TYPE_CHECKING:
    from sfumato.publish.file import TableSpec

WORDS = ("after", "tables", "spend")


@dataclass(frozen=True)
class Revision:
    """One rule: so many days after the end of a period some tables are asked again, each for its own spend."""

    name: str
    after: int
    spend: Mapping[str, Bound]

    @property
    def edition(self) -> str:
        """A short name of what decides what is published; it is no part of the edition of first releases."""
        facts = {"after": self.after, "spend": {name: bound.to_json() for name, bound in self.spend.items()}}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]


def read_revisions(given: Any, tables: Sequence[TableSpec], wait: int) -> tuple[Revision, ...]:
    """Read all rules of a publication."""
    if not isinstance(given, Mapping) or not all(isinstance(one, Mapping) for one in given.values()):
        raise ParameterError("A revision has a name; write [revision.late] with after, tables and spend.")
    return tuple(_revision(str(name), one, tables, wait) for name, one in given.items())


def _revision(name: str, given: Mapping[str, Any], tables: Sequence[TableSpec], wait: int) -> Revision:
    from sfumato.publish.file import NAME

    if not NAME.fullmatch(name):
        raise ParameterError(f"A revision's name {name!r} must be small letters, digits, - and _; write 'late'.")
    known(f"[revision.{name}]", given, WORDS)
    after = read_days(wanted(given, "after", "30 days"), "after")
    if after <= wait:
        raise ParameterError(
            f"The revision {name!r} looks again after {after} days, and the period is first read after {wait}; write a "
            "later day."
        )
    anew = {one.name for one in tables if not one.running}
    spends = wanted(given, "spend", "{ pages = 'Concentrated(0.01)' }")
    listed = [str(one) for one in given.get("tables", spends)]
    for table in listed:
        if table not in anew:
            raise ParameterError(
                f"The revision {name!r} names {table!r}, which is no table that is asked anew; a total that runs on "
                "cannot be revised, because people would count in it twice."
            )
    if not isinstance(spends, Mapping) or set(spends) != set(listed):
        example = listed[0] if listed else "pages"
        raise ParameterError(
            f"The revision {name!r} has a spend for each of its tables; write spend = {{ {example} = "
            "'Concentrated(0.01)' }."
        )
    return Revision(name, after, {one: read_bound(str(said), f"spend of {one}") for one, said in spends.items()})
