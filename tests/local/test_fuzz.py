"""Anything at all as reports and as envelopes: nothing raises, nothing is counted that is no report."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sfumato import Noise, Pure, fixed, local, text
from sfumato.errors import ParameterError, SfumatoError
from sfumato.local.collector.envelope import FORMATS, open_envelopes
from sfumato.local.collector.ids import Sorted, fresh, merged
from sfumato.local.collector.shards import Layout
from tests.local.collecting import COLOURS, PLAN, SMALL, reports

PLANS = [PLAN, COLOURS, SMALL]

SHARDS = Layout(SMALL.digest.hex(), SMALL.wire.value_bytes, True)


def fuzzed_reports(plan: local.Plan, count: int, noise: Noise) -> Any:
    """Return rows of the right length: random ones, and good ones with a few bits turned."""
    width = plan.report_bytes
    rows = noise.uniform(256, count * width).astype(np.uint8).reshape(-1, width)
    known = reports(100, plan=plan)
    near = noise.uniform(4, count) > 0
    rows[near] = known[noise.uniform(100, int(near.sum()))]
    turned = noise.uniform(3, count) > 0
    place, bit = noise.uniform(width, count), noise.uniform(8, count).astype(np.uint8)
    rows[turned, place[turned]] ^= np.uint8(1) << bit[turned]
    return rows


def check_reports(plan: local.Plan, count: int, seed: int) -> None:
    """All three readers agree about every row, and only what a client could have sent is counted."""
    noise = Noise(insecure_seed=seed)
    rows = fuzzed_reports(plan, count, noise)
    fast = plan.server()
    fast.ingest(rows)
    values, good, wrong = plan.wire.read_many(rows)
    plainly = [plan.wire.read(row.tobytes()) for row in rows]
    assert [value if fine else None for value, fine in zip(values.tolist(), good.tolist(), strict=True)] == [
        one if isinstance(one, int) else None for one in plainly
    ]
    assert fast.refused == wrong and fast.accepted == int(good.sum())
    assert (fast.counts == np.bincount(values[good], minlength=len(fast.counts))).all()
    assert all(
        plan.wire.pack(one) == row.tobytes() for one, row in zip(plainly, rows, strict=True) if isinstance(one, int)
    )
    for cut in (0, 1, plan.report_bytes - 1):
        assert plan.server().ingest([row.tobytes()[:cut] for row in rows[:50]]) == 0


GRAMMAR = (b'{"id":"', b'","report":"', b'"}', b"\n", b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"1e999", b"\\u0000", b"\xff", b"\x00", b"\r")  # fmt: skip


def fuzzed_bytes(noise: Noise, good: list[bytes], pieces: int) -> bytes:
    """Return a text of good lines, cut and turned lines, pieces of the grammar and random bytes."""
    parts = []
    for kind, choice in zip(noise.uniform(6, pieces).tolist(), noise.uniform(1 << 30, pieces).tolist(), strict=True):
        line = good[choice % len(good)]
        place = choice // 64 % len(line)
        if kind == 0:
            parts.append(line)
        elif kind == 1:
            parts.append(line[:place] + b"\n")
        elif kind == 2:
            parts.append(line[:place] + bytes([line[place] ^ 1 << choice % 8]) + line[place + 1 :])
        elif kind == 3:
            parts.append(GRAMMAR[choice % len(GRAMMAR)])
        elif kind == 4:
            parts.append(choice.to_bytes(4, "big"))
        else:
            parts.append(line[place:] if choice % 2 else line[:place])
    return b"".join(parts)


def slow_line(line: bytes) -> tuple[bytes, bytes] | None:
    """Return id and report by a reader of its own."""
    try:
        record = json.loads(line.decode("utf-8-sig") if line.startswith(b"\xef\xbb\xbf") else line)
        assert len(line) <= 4096 and isinstance(record, dict) and len(record["id"]) == 32
        digits = "0123456789abcdef"
        places = [digits.index(letter) for letter in record["id"].lower()]
        id = bytes(16 * high + low for high, low in zip(places[::2], places[1::2], strict=True))
        return id, base64.b64decode(record["report"].encode("ascii"), validate=True)
    except Exception:
        return None


def check_envelopes(count: int, seed: int) -> None:
    noise = Noise(insecure_seed=seed)
    good = local.envelopes(reports(200, plan=SMALL), noise=noise).splitlines(keepends=True)
    files: list[Any] = []
    counts, seen, total = np.zeros(SMALL.offsets[-1], dtype=np.int64), {}, 0
    while total < count:
        data = fuzzed_bytes(noise, good, 500)
        lines = [line for line in data.split(b"\n") if line.strip()]
        total += len(lines)
        parcel = open_envelopes(data, "json", SMALL.report_bytes)
        opened = [slow_line(line) for line in lines]
        fits = [pair for pair in opened if pair is not None and len(pair[1]) == SMALL.report_bytes]
        assert [(id.tobytes(), report.tobytes()) for id, report in zip(parcel.ids, parcel.reports, strict=True)] == fits
        assert parcel.envelope == opened.count(None)
        assert parcel.envelope + parcel.length + len(fits) == len(lines)
        values, fine, _ = SMALL.wire.read_many(parcel.reports)
        found = fresh(parcel.ids[fine], values[fine], [Sorted(rows) for rows in files])
        found.count(counts)
        files.append(np.concatenate([np.zeros((0, SHARDS.width), dtype=np.uint8), *found.records(SHARDS.width)]))
        files = files if len(files) < 20 else [np.concatenate([files[0][:0], *merged(files)])]
        for id, report in fits:
            value = SMALL.wire.read(report)
            if isinstance(value, int):
                seen[id] = min(value, seen.get(id, value))
        for format in FORMATS[1:]:
            other = open_envelopes(data, format, SMALL.report_bytes)
            assert len(other.reports) + other.envelope <= len(data)
    assert (counts == np.bincount(list(seen.values()), minlength=SMALL.offsets[-1])).all()
    assert len(seen) >= 150


JUNK = (None, True, -1, 0, 1, 2, 3, 10**6, 10**30, 1.5, float("nan"), "", "x", "7", [], {}, [1], {"a": 1}, "1/0")
SHAPES = {
    "tree": lambda: PLAN,
    "list of three": lambda: COLOURS,
    "list": lambda: SMALL,
    "mean": lambda: local.plan(users=1000, spend=Pure(1), numbers=fixed(0, 60, step=0.5)),
    "expander": lambda: local.plan(users=10**6, spend=Pure(4), items=text(max_bytes=4), method="expander"),
    "bitstogram": lambda: local.plan(users=10**6, spend=Pure(4), items=text(max_bytes=4), method="bitstogram"),
}


def places(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = record.items() if isinstance(record, dict) else enumerate(record[:2]) if isinstance(record, list) else ()
    for name, part in inside:
        yield (*path, name)
        yield from places(part, (*path, name))


GATE = ("tree", "list", "mean")


@pytest.mark.parametrize("kind", [one if one in GATE else pytest.param(one, marks=pytest.mark.audit) for one in SHAPES])
def test_plans_from_anybody(kind: str) -> None:
    """A plan with any part replaced is refused by a typed error, or every item gets a report as any other."""
    record, noise = SHAPES[kind]().to_json(), Noise(insecure_seed=1)
    good = 0
    for path in list(places(record)):
        for junk in JUNK:
            spoiled = copy.deepcopy(record)
            inside = spoiled
            for name in path[:-1]:
                inside = inside[name]
            inside[path[-1]] = junk
            try:
                plan = local.Plan.from_json(spoiled)
            except SfumatoError:
                continue
            good += 1
            for item in ("", "abcd", 0, 2**24 - 1, 199, "red", 60, None):
                assert isinstance(plan.wire.read(plan.client().report(item, noise)), int)
    assert good > 0


def test_plans_in_which_one_item_would_be_told_are_refused() -> None:
    few = COLOURS.to_json()["method"]
    many = local.plan(users=1000, spend=Pure(1), candidates=range(300)).to_json()
    for spoiled in (
        # An item beyond the answers would be sent as it is, and so would a number beyond the steps.
        {**many, "method": {**few, "candidates": 300}},
        {**many, "method": few},
        {**SHAPES["mean"]().to_json(), "items": many["items"]},
        # A tree for shorter or longer items than those of the plan.
        {**PLAN.to_json(), "items": {**PLAN.to_json()["items"], "high": 1000}},
        {**PLAN.to_json(), "items": {**PLAN.to_json()["items"], "high": 2**40}},
        {**PLAN.to_record(), "users": 5},
    ):
        with pytest.raises(ParameterError, match=r"other items|no other item|changed after"):
            local.Plan.from_json(spoiled)


@pytest.mark.parametrize("plan", PLANS, ids=["tree", "list of three", "list"])
def test_reports(plan: local.Plan) -> None:
    check_reports(plan, 7_000, seed=1)


def test_envelopes() -> None:
    check_envelopes(20_000, seed=2)


@pytest.mark.audit
@pytest.mark.parametrize("plan", PLANS, ids=["tree", "list of three", "list"])
def test_a_million_reports(plan: local.Plan) -> None:
    for seed in range(10):
        check_reports(plan, 34_000, seed=100 + seed)


@pytest.mark.audit
def test_a_million_envelopes() -> None:
    check_envelopes(1_000_000, seed=3)
