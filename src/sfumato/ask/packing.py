"""Exact bytes for what a mechanism reads and for what it draws: one text a value, and back without a loss.

A tree of JSON holds what is small, little-endian blocks behind it hold arrays and long runs of whole numbers. Only the
shapes listed here are written and read: nothing that is stored can name code to run. The order of a mapping is kept,
since a mechanism may draw in that order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import LedgerError
from sfumato.mechanism import NOTHING
from sfumato.table.schema import Schema

MAGIC = b"sfumato raw 1\n"
"""What packed bytes begin with; the number is raised when an older version could not read them."""
LENGTH_BYTES = 8
LONG = 8
"""From so many whole numbers on a run of them is written as one block."""

SHAPES: dict[str, str] = {
    "Transcript": "sfumato.papers.query_release.weights.rounds",
    "Round": "sfumato.papers.query_release.weights.learner",
    "popular.Counted": "sfumato.totals.column_tree.histogram",
    "labels.Counted": "sfumato.papers.query_release.learning.labels",
    "FrequentRows": "sfumato.papers.query_release.synopses.prefixes",
    "Hubs": "sfumato.papers.query_release.synopses.hubs",
    "Grown": "sfumato.papers.query_release.learning.trees.release",
    "SetTree": "sfumato.papers.query_release.learning.trees.tree",
    "Leaf": "sfumato.papers.query_release.learning.trees.tree",
    "agnostic.Learnt": "sfumato.papers.query_release.learning.agnostic",
    "agnostic.Found": "sfumato.papers.query_release.learning.agnostic",
    "Records": "sfumato.workload.records",
    "Margins": "sfumato.workload.records",
    "Places": "sfumato.workload.records",
    "Space": "sfumato.workload.space",
    "measure.Codes": "sfumato.table.measure",
    "Sparse": "sfumato.table.sparse",
    "Edges": "sfumato.papers.query_release.synopses.hubs",
}
"""The records that may be packed, by their stored names, and where each lives; a test walks every question.

Those of rooms that several share, and of the papers, stand here; a kind of question adds its own, its `shapes`."""

KINDS = ("<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|i1", "|u1", "|b1", "<f8")
"""What arrays may hold, beside Python's whole numbers."""


def pack(value: Any) -> bytes:
    """Return the bytes of a value; equal values, in equal order, have equal bytes.

    >>> unpack(pack((3, Fraction(1, 3), {"tea": (2**70,)}, NOTHING)))
    (3, Fraction(1, 3), {'tea': (1180591620717411303424,)}, NOTHING)
    """
    writer = _Writer()
    tree = json.dumps(writer.tree(value), separators=(",", ":"), allow_nan=False).encode()
    return b"".join([MAGIC, len(tree).to_bytes(LENGTH_BYTES, "little"), tree, *writer.blocks])


def unpack(content: bytes, schema: Schema | None = None) -> Any:
    """Read what `pack` wrote; `schema` says the domains of columns that are stored by name."""
    if not is_packed(content):
        raise LedgerError("These bytes are no packed draw that this version can read; use the version that wrote them.")
    start = len(MAGIC) + LENGTH_BYTES
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    reader = _Reader(content, start + length, schema)
    value = reader.value(json.loads(content[start : start + length]))
    if reader.place != len(content):
        raise LedgerError("A packed draw has more bytes than it speaks of; the stored bytes were changed.")
    return value


def is_packed(content: bytes) -> bool:
    """Tell packed bytes from the finished JSON that earlier versions stored."""
    return content[: len(MAGIC)] == MAGIC


@cache
def _shape(name: str) -> type[Any]:
    if name not in SHAPES:
        import_module("sfumato.ask.question").QUESTIONS.brought()  # the kinds of questions, with their shapes
    if name not in SHAPES:
        raise LedgerError(f"A packed draw holds {name!r}, which this version does not know; use the one that drew it.")
    found: type[Any] = getattr(import_module(SHAPES[name]), name.rpartition(".")[2])
    return found


def _parts(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the parts of a named tuple or of a dataclass."""
    return tuple(part.name for part in fields(kind)) if is_dataclass(kind) else kind._fields


@cache
def _stored_name(module: str, called: str) -> str | None:
    """Return the name under which records of a class are stored; None if they are not."""
    return next((name for name, home in SHAPES.items() if (home, name.rpartition(".")[2]) == (module, called)), None)


class _Writer:
    """Writes trees, and the blocks that they refer to in the order in which they do."""

    def __init__(self) -> None:
        self.blocks: list[bytes | memoryview] = []

    def tree(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else ["h", f"{value:x}"]
        if kind in (tuple, list):
            return self._sequence("t" if kind is tuple else "l", value)
        if kind is dict:
            return ["m", self.tree(tuple(value)), self.tree(tuple(value.values()))]
        if isinstance(value, np.ndarray):
            return self._array(value)
        return self._scalar(value)

    def _scalar(self, value: Any) -> Any:
        if value is NOTHING:
            return ["nothing"]
        if isinstance(value, Fraction):
            return ["q", f"{value.numerator:x}", f"{value.denominator:x}"]
        if type(value) is float:
            return ["f", value.hex()]
        if type(value) is bytes:
            self.blocks.append(value)
            return ["y", len(value)]
        if isinstance(value, np.generic):
            return ["s", self._array(np.asarray(value))]
        return self._record(value)

    def _record(self, value: Any) -> Any:
        kind = type(value)
        if (kind.__module__, kind.__name__) == ("sfumato.workload.space", "Space"):
            # Columns in bins have other sizes than their domains say.
            sizes = [domain.size for domain in value.domains]
            return ["space", *value.names] if sizes == list(value.sizes) else ["bins", list(value.sizes), *value.names]
        name = _stored_name(kind.__module__, kind.__name__)
        if name is None:
            raise TypeError(f"{kind.__name__} is not among the shapes that can be stored.")
        return ["d", name, *(self.tree(getattr(value, part)) for part in _parts(kind))]

    def _sequence(self, tag: str, value: Sequence[Any]) -> Any:
        if len(value) >= LONG:
            kinds = set(map(type, value))
            if kinds == {int}:
                return [tag.upper(), self._numbers(value)]
            if kinds == {tuple} and len(widths := set(map(len, value))) == 1 and (width := widths.pop()):
                flat = list(chain.from_iterable(value))
                if set(map(type, flat)) == {int}:
                    return ["r" + tag, width, self._numbers(flat)]
        return [tag, *map(self.tree, value)]

    def _numbers(self, numbers: Sequence[int]) -> Any:
        if min(numbers) >= -(2**63) and max(numbers) < 2**63:
            self.blocks.append(np.array(numbers, dtype="<i8").tobytes())
            return len(numbers)
        return [f"{number:x}" for number in numbers]

    def _array(self, array: NDArray[Any]) -> Any:
        if array.dtype == object:
            return ["o", list(array.shape), self.tree(array.ravel().tolist())]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if little.dtype.str not in KINDS:
            raise TypeError(f"Arrays of {array.dtype} are not among the shapes that can be stored.")
        # The order in memory is kept: sums in floating point follow it.
        turned = little.ndim > 1 and little.flags.f_contiguous and not little.flags.c_contiguous
        laid = np.ascontiguousarray(little.T if turned else little)
        self.blocks.append(laid.reshape(-1).view(np.uint8).data if laid.size else b"")
        return ["a", little.dtype.str, list(array.shape), "F" if turned else "C"]


class _Reader:
    """Reads trees, taking the blocks in the order in which they were written."""

    def __init__(self, content: bytes, place: int, schema: Schema | None) -> None:
        self.content, self.place, self.schema = memoryview(content), place, schema

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, list):
            return tree
        tag, *rest = tree
        match tag:
            case "t":
                return tuple(map(self.value, rest))
            case "l":
                return list(map(self.value, rest))
            case "T":
                return tuple(self._numbers(rest[0]))
            case "L":
                return self._numbers(rest[0])
            case "rt" | "rl":
                numbers, width = iter(self._numbers(rest[1])), rest[0]
                rows = zip(*[numbers] * width, strict=True)
                return tuple(rows) if tag == "rt" else list(rows)
            case "m":
                keys, values = self.value(rest[0]), self.value(rest[1])
                return dict(zip(keys, values, strict=True))
            case "a":
                return self._array(*rest)
            case "o":
                return self._objects(*rest)
        return self._scalar(tag, rest)

    def _scalar(self, tag: str, rest: list[Any]) -> Any:
        match tag:
            case "h":
                return int(rest[0], 16)
            case "q":
                return Fraction(int(rest[0], 16), int(rest[1], 16))
            case "f":
                return float.fromhex(rest[0])
            case "y":
                return bytes(self._block(rest[0]))
            case "s":
                return self.value(rest[0])[()]
            case "nothing":
                return NOTHING
            case "space":
                return self._space(rest)
            case "bins":
                return replace(self._space(rest[1:]), sizes=tuple(rest[0]))
            case "d":
                return self._record(*rest)
        raise LedgerError(f"A packed draw holds {tag!r}, which this version does not know; use the one that drew it.")

    def _record(self, name: str, *parts: Any) -> Any:
        kind = _shape(name)
        values = [self.value(tree) for tree in parts]
        if issubclass(kind, tuple):
            return kind(*values)
        found = object.__new__(kind)  # as it was when it was packed: what its maker checks was checked then
        for part, value in zip(_parts(kind), values, strict=True):
            object.__setattr__(found, part, value)
        return found

    def _space(self, names: list[str]) -> Any:
        if self.schema is None:
            raise LedgerError("A packed draw names columns of a schema; give the schema to read it.")
        return _shape("Space").of(self.schema, names)

    def _numbers(self, counted: Any) -> list[int]:
        if isinstance(counted, list):
            return [int(number, 16) for number in counted]
        found: list[int] = np.frombuffer(self._block(8 * counted), dtype="<i8").tolist()
        return found

    def _array(self, kind: str, shape: list[int], order: str) -> NDArray[Any]:
        if kind not in KINDS:
            raise LedgerError(f"A packed draw holds an array of {kind!r}, which this version does not know.")
        dtype = np.dtype(kind)
        flat = np.frombuffer(self._block(dtype.itemsize * prod(shape)), dtype=dtype).astype(dtype.newbyteorder("="))
        return flat.reshape(shape[::-1]).T if order == "F" else flat.reshape(shape)

    def _objects(self, shape: list[int], listed: Any) -> NDArray[Any]:
        values = self.value(listed)
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        return flat.reshape(shape)

    def _block(self, size: int) -> memoryview:
        start, self.place = self.place, self.place + size
        return self.content[start : self.place]
