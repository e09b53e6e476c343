"""Reports as people hold them: one, a table of bytes, a list, an Arrow column. None may be lost for its container."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sfumato.errors import ParameterError

_WAYS = (
    "give bytes, a list of bytes, an Arrow column of bytes, or a table of uint8 with one report a row, as "
    "client.reports() returns it"
)


def arranged(reports: Any, width: int) -> tuple[Any, int]:
    """Return reports as a table of bytes or as an iterable of single ones, and how many were left out for their length.

    What holds the reports is the caller's doing and is refused when it cannot be read, or would have changed them;
    what a report holds never is.

    >>> arranged(b"report", 6)
    ([b'report'], 0)
    """
    if isinstance(reports, (bytes, bytearray, memoryview)):
        return [reports], 0
    if isinstance(reports, np.ndarray):
        return _array(reports), 0
    if _is_arrow(reports):
        return _arrow_rows(reports, width)
    if hasattr(reports, "columns") or isinstance(reports, Mapping):
        raise ParameterError(
            "A table of columns is no list of reports; give its column of reports, or let "
            "sfumato.local.aggregate(plan, table) count them."
        )
    if isinstance(reports, str) or not isinstance(reports, Iterable):
        raise ParameterError(f"Reports are bytes, and this is {type(reports).__name__}; {_WAYS}.")
    return reports, 0


def is_table(reports: Any) -> bool:
    """Return whether this is a table of bytes, with one report a row."""
    return isinstance(reports, np.ndarray) and reports.dtype == np.uint8 and reports.ndim == 2


def single(report: Any) -> bytes | None:
    """Return the bytes of one report, or None if it is none; never raises, whatever it is."""
    try:
        if isinstance(report, (bytes, bytearray, memoryview)):
            return bytes(report)
        if isinstance(report, np.ndarray):
            return report.tobytes() if report.dtype == np.uint8 and report.ndim == 1 else None
        # A cell of an Arrow column.
        held = report.as_py()
        return held if isinstance(held, bytes) else None
    except Exception:
        return None


def stacked(reports: Any) -> Any:
    """Return reports, all of one length, as a table of bytes."""
    held = reports if _is_arrow(reports) else arranged(reports, 0)[0]
    if is_table(held):
        return np.ascontiguousarray(held)
    parts = [single(report) for report in held]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({len(part) for part in known}) > 1:
        raise ParameterError(f"Reports of one plan are bytes of one length, and these are not; {_WAYS}.")
    return np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), len(known[0]) if known else 0)


def _is_arrow(reports: Any) -> bool:
    # Told by its class, so that nothing is imported that the caller has not imported.
    return type(reports).__module__.split(".")[0] == "pyarrow" and hasattr(reports, "type")


def _array(reports: Any) -> Any:
    if reports.dtype == np.uint8 and reports.ndim in (1, 2):
        return [reports] if reports.ndim == 1 else reports
    if reports.dtype == object and reports.ndim == 1:
        return reports
    # NumPy drops the zero bytes at the end of its strings, so these reports are no longer what was sent.
    cut = " drops zero bytes at the end of reports, and they" if reports.dtype.kind == "S" else ""
    raise ParameterError(
        f"An array of {reports.dtype} with {reports.ndim} dimensions{cut} cannot be read as reports; {_WAYS}."
    )


def _arrow_rows(column: Any, width: int) -> tuple[Any, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from sfumato.local.collector.files import byte_rows

    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if not any(check(column.type) for check in kinds):
        raise ParameterError(f"A column of {column.type} holds no reports; give one of binary.")
    # The length of nothing is nothing, and is not that of a report.
    fits = pc.fill_null(pc.equal(pc.binary_length(column), width), False)
    good = column.filter(fits)
    return byte_rows(good, width), len(column) - len(good)
