"""Files and streams of reports, cut into batches that are counted one by one."""

from __future__ import annotations

import hashlib
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.collector.collection import Collection
from sfumato.local.collector.collector import Batch
from sfumato.local.collector.envelope import (
    FORMATS,
    LONGEST_LINE,
    Parcel,
    open_envelopes,
    record_bytes,
    require_format,
)
from sfumato.local.collector.ids import ID_BYTES

BLOCK = 1 << 23
"""How many bytes of a file make a batch, about."""
ROWS = 1 << 18
"""How many rows of a Parquet file make a batch."""
QUIET = 1.0
"""After so many seconds without a new report, a stream's reports are written."""
_ENDINGS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".reports": "reports",
}


def format_of(path: str | Path, format: str | None) -> str:
    """Return the format of a file, by its ending unless it is given."""
    found = _ENDINGS.get(Path(path).suffix.lower()) if format is None else format
    if found is None:
        raise ParameterError(
            f"The ending of {Path(path).name!r} says no format; say which one it is by format= (in a "
            f"shell --format): {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        )
    if found != "parquet":
        require_format(found)
    return found


def file_batches(path: str | Path, format: str | None, collection: Collection) -> Iterator[Batch]:
    """Return the batches of a file; their names are made of the file's name and all bytes so far.

    Where batches are shuffled the whole file is one: in a part of it fewer hide each other.
    """
    whole = bool(collection.shuffled)
    kind = format_of(path, format)
    report_bytes = collection.plan.report_bytes
    if not Path(path).is_file():
        raise ParameterError(f"There is no file {str(path)!r}; name a file of reports.")
    mark = hashlib.sha256(Path(path).name.encode() + b"\n" + kind.encode() + b"\n")
    if kind == "parquet":
        yield from _parquet_batches(Path(path), report_bytes, collection.ids, mark, whole)
        return
    with Path(path).open("rb") as file:
        for block in [file.read()] if whole else blocks(file, record_bytes(kind, report_bytes)):
            mark.update(block)
            yield Batch(open_envelopes(block, kind, report_bytes), mark.hexdigest())


def stream_batches(stream: BinaryIO, format: str, collection: Collection, name: str | None = None) -> Iterator[Batch]:
    """Return the batches of a stream such as standard input, each soon after it came; a shuffled one is one batch.

    A stream has no name, so all of it counts; give it a name, and the same bytes under it count once.
    """
    require_format(format)
    report_bytes = collection.plan.report_bytes
    if collection.shuffled:
        yield Batch(open_envelopes(stream.read(), format, report_bytes))
        return
    mark = hashlib.sha256((name or "").encode() + b"\n")
    for block in blocks(stream, record_bytes(format, report_bytes), QUIET if name is None else None):
        mark.update(block)
        yield Batch(open_envelopes(block, format, report_bytes), None if name is None else mark.hexdigest())


def blocks(stream: BinaryIO, width: int, quiet: float | None = None) -> Iterator[bytes]:
    """Cut a stream into blocks of whole records of `width` bytes, or of whole lines if the width is 0.

    A line that is too long is cut: the rest of it is dropped, and what is left is still too long to be read.
    """
    rest = b""
    while True:
        block = _fill(stream, quiet)
        if not block:
            break
        rest += block
        end = rest.rfind(b"\n") + 1 if width == 0 else len(rest) // width * width
        if end:
            yield rest[:end]
        rest = rest[end:] if width else rest[end:][: LONGEST_LINE + 1]
    if rest:
        yield rest


def _fill(stream: BinaryIO, quiet: float | None) -> bytes:
    """Read a block; with `quiet` seconds, also a smaller one if nothing came for so long."""
    if quiet is None or not _is_waiting_stream(stream):
        return stream.read(BLOCK)
    parts: list[bytes] = []
    size = 0
    while size < BLOCK and (not parts or select.select([stream], [], [], quiet)[0]):
        part: bytes = stream.read1(BLOCK - size)  # type: ignore[attr-defined]
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _is_waiting_stream(stream: BinaryIO) -> bool:
    return stream is getattr(sys.stdin, "buffer", None) and not stream.seekable()


def _parquet_batches(path: Path, report_bytes: int, ids: bool, mark: Any, whole: bool) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = ["id", "report"] if ids else ["report"]
    try:
        with pq.ParquetFile(path) as file:
            _require_columns(path, file.schema_arrow, columns)
            # Names hold the number of the batch and the bytes of the file, so that a changed file is another one.
            with path.open("rb") as raw:
                mark.update(hashlib.file_digest(raw, "sha256").digest())
            for number, rows in enumerate(_tables(file, columns, whole)):
                yield Batch(_table_parcel(rows, ids, report_bytes), f"{mark.hexdigest()} {number}")
    except (pa.ArrowException, OSError) as reason:
        raise ParameterError(f"{path.name!r} cannot be read as Parquet ({type(reason).__name__}).") from None


def _tables(file: Any, columns: list[str], whole: bool) -> Iterator[Any]:
    """Return the rows of a Parquet file, some at a time or all together."""
    if not whole:
        yield from file.iter_batches(batch_size=ROWS, columns=columns)
    elif file.metadata.num_rows:
        yield file.read(columns=columns).combine_chunks()


def _require_columns(path: Path, schema: Any, columns: list[str]) -> None:
    import pyarrow as pa

    for column in columns:
        kind = schema.field(column).type if column in schema.names else None
        binary = kind is not None and (
            pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        )
        if not binary:
            raise ParameterError(f"{path.name!r} needs a column {column!r} of bytes, as docs/collector.md describes.")


def _table_parcel(rows: Any, ids: bool, report_bytes: int) -> Parcel:
    import pyarrow.compute as pc

    reports = rows.column("report")
    whole = pc.is_valid(reports)
    if ids:
        # The length of nothing is nothing, and nothing is not sixteen.
        fits = pc.equal(pc.binary_length(rows.column("id")), ID_BYTES)
        whole = pc.and_(whole, pc.fill_null(fits, False))
    kept = rows.filter(whole)
    good = kept.filter(pc.equal(pc.binary_length(kept.column("report")), report_bytes))
    return Parcel(
        byte_rows(good.column("id"), ID_BYTES) if ids else None,
        byte_rows(good.column("report"), report_bytes),
        envelope=len(rows) - len(kept),
        length=len(kept) - len(good),
    )


def byte_rows(column: Any, width: int) -> Any:
    """Return an Arrow column of bytestrings of one length as a table of bytes."""
    import pyarrow as pa

    fixed = column.cast(pa.binary(width))
    if isinstance(fixed, pa.ChunkedArray):
        fixed = pa.concat_arrays(fixed.chunks) if fixed.num_chunks else pa.array([], pa.binary(width))
    data = np.frombuffer(fixed.buffers()[1] or b"", dtype=np.uint8)
    return data[fixed.offset * width :][: len(fixed) * width].reshape(-1, width)
