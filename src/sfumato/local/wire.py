"""The bytes of a report: version, four bytes that name the plan, one number. See docs/local-wire.md."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.containers import arranged, is_table, single

VERSION = 1
TAG_BYTES = 4

Counts = TypeVar("Counts", bound=Any)
"""A dataclass all of whose fields can be added up."""


@dataclass(frozen=True)
class Refused:
    """How many reports were refused, and why; a refused report leaves no trace in any estimate.

    >>> (Refused(length=2) + Refused(plan=1)).total
    3
    """

    length: int = 0
    version: int = 0
    plan: int = 0
    value: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.length + self.version + self.plan + self.value

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Refused:
        """Read numbers from a file; what is no count is refused."""
        for name, count in record.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ParameterError(f"{name} is a number of reports, and {str(count)[:20]!r} is none.")
        return cls(**record)

    def __add__(self, other: Refused) -> Refused:
        return added(self, other)


def added(one: Counts, other: Counts) -> Counts:
    """Return two records of counts as one, count by count."""
    names = [part.name for part in fields(one)]
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class Wire:
    """The format of one plan: reports are numbers below `outcomes`, sent under the plan's tag.

    >>> wire = Wire(b"plan", 1000)
    >>> wire.pack(258).hex(), wire.read(wire.pack(258)), wire.report_bytes
    ('01706c616e0102', 258, 7)
    """

    tag: bytes
    outcomes: int

    @cached_property
    def header(self) -> bytes:
        """What every report begins with."""
        return bytes([VERSION]) + self.tag

    @cached_property
    def value_bytes(self) -> int:
        """How many bytes hold the number."""
        return max(1, -(-(self.outcomes - 1).bit_length() // 8))

    @cached_property
    def report_bytes(self) -> int:
        """The length of every report."""
        return len(self.header) + self.value_bytes

    def pack(self, value: int) -> bytes:
        """Return the report of one number."""
        return self.header + value.to_bytes(self.value_bytes, "big")

    def read(self, report: Any) -> int | str:
        """Return the number in a report, or the word for what is wrong with it; never raises."""
        data = report if isinstance(report, bytes) else single(report)
        if data is None or len(data) != self.report_bytes:
            return "length"
        if data[0] != VERSION:
            return "version"
        if data[1 : 1 + TAG_BYTES] != self.tag:
            return "plan"
        value = int.from_bytes(data[1 + TAG_BYTES :], "big")
        return value if value < self.outcomes else "value"

    def pack_many(self, values: Any) -> Any:
        """Return a table of bytes, one report a row."""
        rows = np.empty((len(values), self.report_bytes), dtype=np.uint8)
        rows[:, : len(self.header)] = np.frombuffer(self.header, dtype=np.uint8)
        wide = np.asarray(values).astype(">u8").view(np.uint8).reshape(-1, 8)
        rows[:, len(self.header) :] = wide[:, 8 - self.value_bytes :]
        return rows

    def read_many(self, rows: Any) -> tuple[Any, Any, Refused]:
        """Return the numbers in a table of reports of the right length, which of them are good, and what is wrong."""
        from sfumato.local.kernels.rows import read_rows

        values, wrong = read_rows(rows, self.header, self.outcomes)
        return values, values >= 0, Refused(0, *wrong)

    def count(self, reports: Any, counts: Any) -> tuple[int, Refused]:
        """Add reports to counts: all of them, or none if what hands them out fails half way.

        See `containers.arranged` for what may hold them.
        """
        held, lost = arranged(reports, self.report_bytes)
        accepted, refused = self._count_rows(held, counts) if is_table(held) else self._count_each(held, counts)
        return accepted, refused + Refused(length=lost)

    def _count_rows(self, rows: Any, counts: Any) -> tuple[int, Refused]:
        from sfumato.local.kernels.rows import tally_rows

        if rows.shape[1] != self.report_bytes:
            return 0, Refused(length=len(rows))
        accepted, wrong = tally_rows(np.ascontiguousarray(rows), self.header, counts)
        return accepted, Refused(0, *wrong)

    def _count_each(self, reports: Iterable[Any], counts: Any) -> tuple[int, Refused]:
        # Nothing is added before the last report has come: a stream that breaks, and is sent again, counts once.
        values, refused = array("q"), Refused()
        wrong = {part.name: 0 for part in fields(Refused)}
        for report in reports:
            if is_table(report):
                found, others = self._read_table(report)
                values.frombytes(found.tobytes())
                refused += others
                continue
            value = self.read(report)
            if isinstance(value, str):
                wrong[value] += 1
            else:
                values.append(value)
        np.add.at(counts, np.asarray(values), 1)
        return len(values), refused + Refused(**wrong)

    def _read_table(self, rows: Any) -> tuple[Any, Refused]:
        """Return the numbers of the good reports of a table of any width."""
        if rows.shape[1] != self.report_bytes:
            return np.zeros(0, dtype=np.int64), Refused(length=len(rows))
        values, good, wrong = self.read_many(rows)
        return values[good], wrong
