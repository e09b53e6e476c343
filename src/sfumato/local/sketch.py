"""Sketches in files: the plan, the counts, a checksum. A damaged file is refused, never half read."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.durable import UNREADABLE, read_bytes, why, write_durably
from sfumato.errors import SketchError
from sfumato.local.plan import Plan
from sfumato.local.wire import Refused

if TYPE_CHECKING:
    from sfumato.local.server import Server

MAGIC = b"sfumato sketch 1\n"
_CHECKSUM_BYTES = 32
_WIDTHS = {"u1": 2**8, "<u2": 2**16, "<u4": 2**32, "<i8": 2**63}


def write(path: str | Path, server: Server) -> Path:
    """Write a sketch: magic line, length of the head, head as JSON, compressed counts, SHA-256 of all before."""
    peak = int(server.counts.max(initial=0))
    width = next(name for name, limit in _WIDTHS.items() if peak < limit)
    head = {
        "plan": server.plan.to_json(),
        "accepted": server.accepted,
        "refused": vars(server.refused),
        "width": width,
        "cells": len(server.counts),
    }
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    body = MAGIC + len(text).to_bytes(4, "big") + text + zlib.compress(server.counts.astype(width).tobytes(), 1)
    target = Path(path)
    write_durably(target, [body, hashlib.sha256(body).digest()])
    return target


def load(path: str | Path) -> Server:
    """Read a sketch that `Server.save` wrote, with its plan.

    >>> import tempfile
    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"])
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports(["red"] * 9))
    9
    >>> with tempfile.TemporaryDirectory() as place:
    ...     local.load(server.save(f"{place}/day1.sketch")).accepted
    9
    """
    from sfumato.local.server import Server

    name = Path(path).name
    data = read_bytes(path, "sketch")
    if not data.startswith(MAGIC):
        raise SketchError(f"{name} is no sketch, or one of another version; save it again with Server.save.")
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        raise SketchError(f"{name} is damaged: its checksum is wrong. Take another copy, or ingest its reports again.")
    try:
        start = len(MAGIC) + 4
        end = start + int.from_bytes(body[len(MAGIC) : start], "big")
        head = json.loads(body[start:end])
        server = Server(Plan.from_json(head["plan"]))
        if head["width"] not in _WIDTHS:
            raise SketchError(f"{name} cannot be read: its counts are of an unknown kind.")
        # No more is unpacked than the plan has room for, whatever the file says.
        room = len(server.counts) * np.dtype(head["width"]).itemsize
        packed = zlib.decompressobj().decompress(body[end:], room + 1)
        counts = np.frombuffer(packed, dtype=head["width"]).astype(np.int64)
        accepted, refused = head["accepted"], Refused.from_json(head["refused"])
        if len(counts) != len(server.counts) or int(counts.min()) < 0 or int(counts.sum()) != accepted:
            raise SketchError(
                f"{name} does not belong to its plan: the counts do not add up. Take another copy, or ingest its "
                "reports again."
            )
        server.counts, server.accepted, server.refused = counts, int(counts.sum()), refused
    except SketchError:
        raise
    except (*UNREADABLE, zlib.error) as reason:
        raise SketchError(
            f"{name} cannot be read; take another copy, or ingest its reports again. The reason: {why(reason)}"
        ) from None
    return server
