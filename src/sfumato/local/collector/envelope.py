"""How reports travel: each with an id that its device drew. The id is in the envelope, never in the report.

Three formats of bytes, and Parquet in `files`:

| format | what |
|---|---|
| json | one JSON object a line: {"id": 32 hexadecimal digits, "report": base64} |
| binary | records of 16 bytes of id and the report, end to end |
| reports | reports end to end, without ids |
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.collector.ids import ID_BYTES
from sfumato.local.containers import stacked
from sfumato.noise import Noise
from sfumato.words import one_of

FORMATS = ("json", "binary", "reports")
LONGEST_LINE = 4096
"""A line of JSON that is longer is no envelope."""
_HEX = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True)
class Parcel:
    """Reports of the right length with their ids, and how many others there were.

    `ids` and `reports` are tables of bytes with as many rows; without ids, `ids` is None.
    """

    ids: Any
    reports: Any
    envelope: int = 0
    length: int = 0


def envelope(report: bytes, id: bytes | None = None, *, noise: Noise | None = None) -> bytes:
    r"""Return a report as one line of JSON with an id; a fresh one of sixteen random bytes unless one is given.

    Make it once for a report, keep it, and send the same line again if the network fails: it is counted once.

    >>> envelope(b"report", id=bytes(16))
    b'{"id":"00000000000000000000000000000000","report":"cmVwb3J0"}\n'
    """
    if not isinstance(report, (bytes, bytearray, memoryview)):
        raise ParameterError(f"A report is bytes, not {type(report).__name__}; give what client.report() returns.")
    drawn = fresh_id(noise) if id is None else id
    if not isinstance(drawn, bytes) or len(drawn) != ID_BYTES:
        raise ParameterError(f"The id of a report is {ID_BYTES} bytes; leave id= out to draw one.")
    text = json.dumps({"id": drawn.hex(), "report": base64.b64encode(report).decode()}, separators=(",", ":"))
    return text.encode() + b"\n"


def fresh_id(noise: Noise | None = None) -> bytes:
    """Return an id that no other device draws."""
    return (Noise() if noise is None else noise).uniform(1 << 8 * ID_BYTES).to_bytes(ID_BYTES, "big")


def envelopes(reports: Any, format: str = "json", *, noise: Noise | None = None) -> bytes:
    """Return many reports (a table of bytes with one a row, or a list) in one of the formats, each with a fresh id.

    >>> envelopes([b"report", b"others"], "reports")
    b'reportothers'
    >>> len(envelopes([b"report", b"others"], "binary"))
    44
    """
    require_format(format)
    rows = stacked(reports)
    if format == "reports":
        return bytes(rows.tobytes())
    words = (Noise() if noise is None else noise).uniform(1 << 32, ID_BYTES // 4 * len(rows))
    ids = words.astype("<u4").view(np.uint8).reshape(-1, ID_BYTES)
    if format == "binary":
        return np.concatenate([ids, rows], axis=1).tobytes()
    return b"".join(envelope(row.tobytes(), one.tobytes()) for row, one in zip(rows, ids, strict=True))


def require_format(format: str) -> None:
    """Refuse a format that does not exist."""
    one_of("The format of reports", format, FORMATS)


def record_bytes(format: str, report_bytes: int) -> int:
    """Return the length of a record of a binary format, and 0 for lines."""
    return {"json": 0, "binary": ID_BYTES + report_bytes, "reports": report_bytes}[format]


def open_envelopes(data: bytes | bytearray | memoryview, format: str, report_bytes: int) -> Parcel:
    """Return what is in some bytes; whatever they are, this never raises."""
    require_format(format)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ParameterError(f"Reports in envelopes are bytes, not {type(data).__name__}; encode text as UTF-8.")
    data = bytes(data)
    if format == "json":
        return parcel_of((open_line(line) for line in data.split(b"\n") if line.strip()), report_bytes)
    width = record_bytes(format, report_bytes)
    whole = len(data) // width
    rows = np.frombuffer(data, dtype=np.uint8, count=whole * width).reshape(whole, width)
    cut = int(len(data) > whole * width)
    if format == "reports":
        return Parcel(None, rows, envelope=cut)
    return Parcel(rows[:, :ID_BYTES], rows[:, ID_BYTES:], envelope=cut)


def open_line(line: bytes) -> tuple[bytes, bytes] | None:
    """Return id and report of one line of JSON, or None if it is no envelope; never raises."""
    if len(line) > LONGEST_LINE:
        return None
    try:
        record = json.loads(line)
        id, report = record["id"], record["report"]
        if not isinstance(id, str) or not isinstance(report, str) or not _HEX.fullmatch(id):
            return None
        return bytes.fromhex(id), base64.b64decode(report, validate=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def parcel_of(pairs: Any, report_bytes: int) -> Parcel:
    """Return a parcel of pairs of id and report; None, or a pair without both, is no envelope."""
    ids, reports, envelope, length = [], [], 0, 0
    for pair in pairs:
        if not _is_pair(pair):
            envelope += 1
        elif len(pair[1]) != report_bytes:
            length += 1
        else:
            ids.append(pair[0])
            reports.append(pair[1])
    return Parcel(_rows(ids, ID_BYTES), _rows(reports, report_bytes), envelope, length)


def _is_pair(pair: Any) -> bool:
    return pair is not None and isinstance(pair[0], bytes) and len(pair[0]) == ID_BYTES and isinstance(pair[1], bytes)


def _rows(parts: Sequence[bytes], width: int) -> Any:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), width)
