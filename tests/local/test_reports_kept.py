"""No report is lost for how it is held, none counts twice, and a sketch always adds up."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.errors import AccuracyWarning, LedgerError, ParameterError, SketchError
from sfumato.local.collector.collection import DESCRIPTION
from sfumato.local.collector.shards import MAGIC as SHARD
from sfumato.local.sketch import MAGIC as SKETCH
from tests.local.collecting import COLOURS, PLAN, reports

ROWS = reports(40, plan=COLOURS)
COUNTS = np.bincount([COLOURS.wire.read(row.tobytes()) for row in ROWS], minlength=3)
DEEP = "[" * 100_000
"""JSON that nests deeper than any reader goes."""


class TestContainers:
    @pytest.mark.parametrize(
        "held",
        [
            ROWS,
            ROWS[::-1],
            list(ROWS),
            tuple(ROWS),
            iter(list(ROWS)),
            [row.tobytes() for row in ROWS],
            [memoryview(row.tobytes()) for row in ROWS],
            np.array([row.tobytes() for row in ROWS], dtype=object),
            pa.array([row.tobytes() for row in ROWS]),
            pa.array([row.tobytes() for row in ROWS], pa.large_binary()),
            pa.array([row.tobytes() for row in ROWS], pa.binary(ROWS.shape[1])),
            pa.chunked_array([[row.tobytes() for row in part] for part in (ROWS[:7], ROWS[7:])]),
            list(pa.array([row.tobytes() for row in ROWS])),
            [ROWS[:15], ROWS[15:]],
            [ROWS[:15], *ROWS[15:]],
        ],
        ids=lambda held: type(held).__name__,
    )
    def test_every_way_to_hold_reports_counts_them(self, held: Any) -> None:
        server = COLOURS.server()
        assert server.ingest(held) == 40 == server.accepted
        assert (server.counts == COUNTS).all() and server.refused.total == 0

    def test_one_row_is_one_report(self) -> None:
        assert COLOURS.server().ingest(ROWS[0]) == 1

    def test_reports_that_end_in_zeros_are_not_cut(self) -> None:
        zeros = [COLOURS.wire.pack(0)] * 10
        server = COLOURS.server()
        with pytest.raises(ParameterError, match="zero bytes"):
            server.ingest(np.array(zeros))
        assert server.ingest(zeros) == 10 and server.refused.total == 0

    @pytest.mark.parametrize(
        "held",
        [
            ROWS.astype(np.int64),
            ROWS[None],
            "text",
            7,
            None,
            {"report": ROWS},
            pa.table({"report": [b"x"]}),
            pa.array([1, 2]),
        ],
        ids=lambda held: type(held).__name__,
    )
    def test_what_cannot_hold_reports_is_refused_and_changes_nothing(self, held: Any) -> None:
        server = COLOURS.server()
        with pytest.raises(ParameterError, match="give"):
            server.ingest(held)
        assert server.accepted == server.refused.total == 0

    def test_cells_that_are_no_reports_are_counted(self) -> None:
        server = COLOURS.server()
        good = ROWS[0].tobytes()
        assert server.ingest(pa.array([None, b"", b"x", good, good + b"x"])) == 1
        assert server.refused.length == 4
        released = memoryview(good)
        released.release()
        assert server.ingest([released, ROWS[0].astype(np.int64), pa.scalar(None), pa.scalar("x"), ROWS[:, :-1]]) == 0
        assert server.refused.length == 4 + 4 + 40 and server.accepted == 1


class TestStreams:
    def test_a_stream_that_breaks_leaves_the_sketch_as_it_was(self, tmp_path: Path) -> None:
        def broken() -> Iterator[Any]:
            yield from ROWS[:2]
            yield ROWS[2:9]
            yield b"junk"
            raise OSError("the line is dead")

        server = COLOURS.server()
        with pytest.raises(OSError, match="dead"):
            server.ingest(broken())
        assert not server.counts.any() and server.accepted == server.refused.total == 0
        # Sent again it counts once, and what is saved comes back.
        assert server.ingest(ROWS) == 40
        assert (local.load(server.save(tmp_path / "a.sketch")).counts == COUNTS).all()

    def test_a_buffer_that_is_used_again_counts_as_it_was(self) -> None:
        def reusing() -> Iterator[Any]:
            buffer = np.empty((10, ROWS.shape[1]), dtype=np.uint8)
            for start in range(0, 40, 10):
                buffer[:] = ROWS[start : start + 10]
                yield buffer

        server = COLOURS.server()
        assert server.ingest(reusing()) == 40 and (server.counts == COUNTS).all()

    def test_a_sketch_is_not_merged_with_itself(self) -> None:
        server = COLOURS.server()
        server.ingest(ROWS)
        with pytest.raises(SketchError, match="twice"):
            server.merge(server)
        assert server.accepted == 40

    def test_a_sketch_is_not_combined_with_itself(self) -> None:
        """Nine times the same sketch claimed a third of its error."""
        server, other = COLOURS.server(), COLOURS.server()
        server.ingest(ROWS)
        other.ingest(ROWS)
        for given in ([server] * 9, [server, other, server]):
            with pytest.raises(SketchError, match=r"count its reports twice.*give each one once"):
                local.combine(given, ["red"])
        # Two of a few reports may well be equal by chance, and are combined as they are merged.
        assert local.combine([server, other], ["red"]).reports == 80

    def test_copies_of_a_sketch_are_told(self, tmp_path: Path) -> None:
        server = COLOURS.server()
        server.ingest(reports(2000, plan=COLOURS))
        copies = [local.load(server.save(tmp_path / "a.sketch")) for _ in range(2)]
        with pytest.warns(AccuracyWarning, match="same counts of 2000 reports"):
            local.combine(copies, ["red"])
        with pytest.warns(AccuracyWarning, match="same counts of 2000 reports"):
            copies[0].merge(copies[1])


def forged(path: Path, counts: list[int], **head: Any) -> Path:
    """Write a sketch whose checksum is right and whose content is not."""
    record = {
        "plan": COLOURS.to_json(),
        "accepted": sum(counts),
        "refused": {"length": 0, "version": 0, "plan": 0, "value": 0},
        "width": "<i8",
        "cells": 3,
        **head,
    }
    text = json.dumps(record).encode() if "text" not in head else head["text"]
    body = SKETCH + len(text).to_bytes(4, "big") + text + zlib.compress(np.array(counts, "<i8").tobytes())
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


class TestForgedFiles:
    def test_counts_below_zero_are_refused(self, tmp_path: Path) -> None:
        assert local.load(forged(tmp_path / "good", [5, 0, 5])).accepted == 10
        with pytest.raises(SketchError, match="do not add up"):
            local.load(forged(tmp_path / "a", [15, -10, 5]))

    @pytest.mark.parametrize("wrong", [-1, 1.5, True, "3", None])
    def test_numbers_of_refused_reports_are_numbers(self, tmp_path: Path, wrong: Any) -> None:
        refused = {"length": wrong, "version": 0, "plan": 0, "value": 0}
        with pytest.raises(SketchError, match="length is a number of reports"):
            local.load(forged(tmp_path / "a", [1, 1, 1], refused=refused))

    @pytest.mark.parametrize("text", [DEEP.encode(), b"[]", b"7", b'{"plan": []}', b"\xff"])
    def test_a_head_that_is_none_is_refused(self, tmp_path: Path, text: bytes) -> None:
        with pytest.raises(SketchError, match="cannot be read"):
            local.load(forged(tmp_path / "a", [1, 1, 1], text=text))

    def test_plans_without_end_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.plan").write_text(DEEP)
        with pytest.raises(ParameterError, match="no plan"):
            local.read_plan(tmp_path / "a.plan")
        (tmp_path / "b.plan").write_bytes(b"\xff\xfe")
        with pytest.raises(ParameterError, match="no plan"):
            local.read_plan(tmp_path / "b.plan")

    @pytest.mark.parametrize("reader", [local.read_plan, local.load])
    def test_files_that_are_not_there_are_named(self, tmp_path: Path, reader: Any) -> None:
        with pytest.raises(ParameterError, match=r"There is no file .*write the path of a"):
            reader(tmp_path / "missing")
        with pytest.raises(ParameterError, match="cannot be read"):
            reader(tmp_path)

    @pytest.mark.parametrize("text", [DEEP, "[]", "7", '{"format": 1}'])
    def test_descriptions_of_collections_are_checked(self, tmp_path: Path, text: str) -> None:
        (tmp_path / DESCRIPTION).write_text(text)
        with pytest.raises(SketchError, match=r"collection.json .* cannot be read"):
            local.read_collection(tmp_path)

    @pytest.mark.parametrize("text", [DEEP, "[]", "{}"])
    def test_heads_of_shards_are_checked(self, tmp_path: Path, text: str) -> None:
        local.Collector(tmp_path, COLOURS).close()
        body = SHARD + len(text).to_bytes(4, "big") + text.encode()
        (tmp_path / "000000000001.shard").write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(SketchError, match=r"000000000001\.shard cannot be read"):
            local.read_collection(tmp_path)

    def test_a_memory_without_end_sends_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "device.json").write_text(DEEP)
        with pytest.raises(LedgerError, match="nothing is sent"):
            COLOURS.client().remember(tmp_path / "device.json", lifetime=Pure(8))


class TestCollectors:
    def test_a_collection_that_is_named_twice_is_refused(self, tmp_path: Path) -> None:
        with local.Collector(tmp_path / "c", COLOURS, ids=False) as collector:
            collector.add(ROWS.tobytes(), "reports")
        with pytest.raises(ParameterError, match="named twice"):
            local.read_collection(tmp_path / "c", tmp_path / "c" / ".." / "c")
        assert local.read_collection(tmp_path / "c").intake.accepted == 40

    def test_text_is_refused_and_every_kind_of_bytes_is_taken(self, tmp_path: Path) -> None:
        with local.Collector(tmp_path / "c", COLOURS) as collector:
            with pytest.raises(ParameterError, match="encode text"):
                collector.add("text")  # type: ignore[arg-type]
            with pytest.raises(ParameterError, match="name of a batch"):
                collector.add(b"", batch=7)  # type: ignore[arg-type]
            line = local.envelope(ROWS[0].tobytes())
            assert collector.add(bytearray(line)).accepted == 1  # type: ignore[arg-type]
            assert collector.add(memoryview(line), batch="\ud800").duplicates == 1  # type: ignore[arg-type]

    def test_envelopes_take_what_servers_take(self) -> None:
        listed = [row.tobytes() for row in ROWS]
        for held in (ROWS, list(ROWS), listed, pa.array(listed), iter(listed)):
            assert local.envelopes(held, "reports") == ROWS.tobytes()
        assert local.envelopes([]) == local.envelopes([], "reports") == b""
        for wrong in ("text", [b"a", b"ab"], [7], ROWS.astype(int), 7):
            with pytest.raises(ParameterError, match="give"):
                local.envelopes(wrong)
        with pytest.raises(ParameterError, match=r"client.report\(\)"):
            local.envelope("text")  # type: ignore[arg-type]


class TestEstimates:
    SERVER = PLAN.server()
    SERVER.ingest(PLAN.client().reports(np.repeat([7, 9, 77_777], [60_000, 30_000, 10_000]), Noise(insecure_seed=5)))

    def test_given_items_get_unbiased_shares_that_cover(self) -> None:
        found = self.SERVER.estimate([9, 12_345, 7, 9])
        assert [item.value for item in found] == [9, 12_345, 7, 9] and found[0] == found[3]
        for item, truth in zip(found, (0.3, 0.0, 0.6, 0.3), strict=True):
            low, high = item.interval(1 - 1e-6)
            assert low <= truth < high and item.error < 0.01
        assert [item.value for item in found.popular()] == [7, 9]
        with pytest.raises(ParameterError, match="whole list"):
            found.consistent()

    def test_intervals_are_as_wide_as_they_say(self) -> None:
        plan = local.plan(users=20_000, spend=Pure(4), items=domain.integers(0, 2**16 - 1), seed=bytes(32))
        client, scores = plan.client(), []
        for seed in range(40):
            server = plan.server()
            server.ingest(client.reports(np.repeat([3, 500], [6_000, 14_000]), Noise(insecure_seed=seed)))
            scores += [
                (item.share - truth) / item.error
                for item, truth in zip(server.estimate([3, 500, 9]), (0.3, 0.7, 0), strict=True)
            ]
        spread = np.array(scores)
        # 120 scores, nearly normal: the chance to leave either range is below 1e-6.
        assert abs(spread.mean()) < 0.5 and 0.65 < spread.std() < 1.4

    @pytest.mark.parametrize("method", ["prefix", "bitstogram", pytest.param("expander", marks=pytest.mark.audit)])
    def test_every_method_can_be_asked(self, method: str) -> None:
        items = domain.integers(0, 2**16 - 1)
        plan = local.plan(users=50_000, spend=Pure(6), items=items, method=method, seed=bytes(32))
        server = plan.server()
        server.ingest(plan.client().reports(np.repeat([5, 9], [30_000, 20_000]), Noise(insecure_seed=1)))
        for item, truth in zip(server.estimate([5, 77]), (0.6, 0), strict=True):
            assert abs(item.share - truth) < 6 * item.error < 0.5

    def test_lists_are_asked_in_part(self) -> None:
        server = COLOURS.server()
        server.ingest(ROWS)
        assert list(server.estimate(["blue", "red"])) == [server.shares()[2], server.shares()[0]]

    def test_without_reports_nothing_is_known(self) -> None:
        assert PLAN.server().estimate([1])[0].interval() == (0.0, 1.0)
        assert len(PLAN.server().estimate([])) == 0

    def test_mistakes_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="write estimate"):
            PLAN.server().estimate("text")
        with pytest.raises(ParameterError, match="write estimate"):
            PLAN.server().estimate(7)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="16777216"):
            PLAN.server().estimate([2**24])
