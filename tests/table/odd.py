"""Cells that break engines, by the type that holds them, each beside the same column without them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

import sfumato as sf
from sfumato import Pure
from sfumato.domain import Domain, Text
from sfumato.errors import SfumatoError
from sfumato.table import Schema
from tests.imputed import booleans, categories, dates, fixed, integers, text

NUMBER, CENTS = integers(0, 99, missing=7), fixed(0, 10, step="0.01", missing=5)
LABEL = categories("a", "b", other="?")
DAY = dates("1999-12-01", "2000-03-31", missing="2000-01-01")
NOTE, TRUTH = text(max_bytes=5), booleans()
ENDS = [2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63)]
BYTES = [b"\xff", b"\xc3(", b"", b"a\x00", b"\x00", b"9" * 100_000, b"2000-02-30", b"0000-01-01", b"nan", b"1e999"]


@dataclass(frozen=True)
class Odd:
    """Odd cells of one type, cells that are not odd, and a domain that reads both."""

    name: str
    cells: pa.Array
    clean: pa.Array
    domain: Domain

    def table(self, *, odd: bool) -> pa.Table:
        """Return a column of some clean cells, with the odd ones or with as many clean ones in their place."""
        fill = pa.concat_arrays([self.clean] * len(self.cells)).slice(0, len(self.cells))
        return pa.table({"c": pa.chunked_array([self.clean, self.cells if odd else fill])})


def _texts(cells: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return text of any bytes: a view is not validated."""
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return pa.array(cells, stored[kind]).view(kind)


def _integers(cells: list[int | None], kind: pa.DataType, width: pa.DataType = pa.int64()) -> pa.Array:  # noqa: B008
    return pa.array(cells, width).view(kind)


def in_memory() -> Iterator[Odd]:
    """Return odd cells of every type that is read."""
    clean = _texts([b"a", b"5", b"2000-01-01", b"true"], pa.string())
    for domain in (LABEL, NOTE, NUMBER, DAY, TRUTH):
        yield Odd(f"string {domain.kind}", _texts([*BYTES, None], pa.string()), clean, domain)
    odd = [*BYTES, None]
    yield Odd("large_string", _texts(odd, pa.large_string()), clean.cast(pa.large_string()), LABEL)
    yield Odd("string_view", _texts(odd, pa.string_view()), clean.cast(pa.string_view()), LABEL)
    yield Odd("binary", pa.array(odd, pa.binary()), clean.cast(pa.binary()), LABEL)
    both = pa.concat_arrays([_texts(odd, pa.string()), clean])
    places = pa.array(range(len(odd)), pa.int32())
    yield Odd(
        "dictionary",
        pa.DictionaryArray.from_arrays(places, both),
        pa.DictionaryArray.from_arrays(pa.array([len(odd), len(odd) + 1], pa.int32()), both),
        LABEL,
    )
    doubles = [math.nan, math.inf, -math.inf, 1e308, None]
    yield Odd("float64", pa.array(doubles), pa.array([1.0, 2.5]), CENTS)
    yield Odd("float32", pa.array([math.nan, math.inf, None], pa.float32()), pa.array([1.0], pa.float32()), NUMBER)
    yield Odd("float16", pa.array([math.nan, -math.inf, None], pa.float16()), pa.array([1.0], pa.float16()), NUMBER)
    wide = [Decimal("9" * 38), Decimal("-" + "9" * 38), None]
    yield Odd("decimal128", pa.array(wide, pa.decimal128(38)), pa.array([Decimal(1)], pa.decimal128(38)), NUMBER)
    wider = [Decimal("9" * 76), Decimal("-" + "9" * 76), None]
    yield Odd("decimal256", pa.array(wider, pa.decimal256(76)), pa.array([Decimal(1)], pa.decimal256(76)), CENTS)
    yield Odd("uint64", pa.array([2**64 - 1, None], pa.uint64()), pa.array([1], pa.uint64()), NUMBER)
    yield Odd("int64", pa.array([2**63 - 1, -(2**63), None]), pa.array([1]), CENTS)
    for unit in ("s", "ms", "us", "ns"):
        yield Odd(f"timestamp[{unit}]", _integers([*ENDS, None], pa.timestamp(unit)), _day(pa.timestamp(unit)), DAY)
    yield Odd("date64", _integers([*ENDS, None], pa.date64()), _day(pa.date64()), DAY)
    days: list[int | None] = [2**31 - 1, -(2**31), None]
    yield Odd("date32", _integers(days, pa.date32(), pa.int32()), _integers([3], pa.date32(), pa.int32()), DAY)
    yield Odd("null", pa.nulls(3), pa.nulls(1), DAY)


def _day(kind: pa.DataType) -> pa.Array:
    return _integers([86_400_000 * 3], kind)


def outcome(source: Any, domain: Domain, ledger: Any = None, **options: Any) -> tuple[Any, ...]:
    """Return all that an analyst sees of a few questions but the noisy values: classes, notes, events, losses."""
    where = {"text": "c = 'a'", "date": "c > DATE '1999-01-01'", "category": "c = 'a'", "boolean": "c"}
    questions: list[Any] = [sf.Count(where=where.get(domain.kind, "c > 5"))]
    if not isinstance(domain, Text):
        questions.append(sf.Histogram("c"))
    try:
        curator = sf.curate(source, Schema({"c": domain}), Pure(10), ledger=ledger, **options)
        answers = [curator.ask(question, spend=Pure(1)) for question in questions]
        seen = [(type(one).__name__, one.notes, one.event.to_json(), one.loss.to_json()) for one in answers]
        curator.close()
    except SfumatoError as error:
        return (type(error).__name__, str(error))
    except Exception as error:  # what no error of ours holds is a breach whatever it says
        return ("escaped", type(error).__name__)
    return tuple(seen)


def moved(odd: Odd, store: Callable[[pa.Table], Any], **options: Any) -> list[tuple[Any, ...]]:
    """Return the outcomes with and without the odd cells, if they differ, and a failure in any case."""
    with_odd, without = (outcome(store(odd.table(odd=one)), odd.domain, **options) for one in (True, False))
    failed = isinstance(with_odd[0], str) or isinstance(without[0], str)
    return [with_odd, without] if failed or with_odd != without else []
