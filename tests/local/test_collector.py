"""The collector: what comes in counts once, in any order and split, and nothing that comes in can harm."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zlib
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Noise, local
from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector import files
from sfumato.local.collector import ids as ids_module
from sfumato.local.collector.collector import MANY
from sfumato.local.collector.envelope import LONGEST_LINE, open_line
from sfumato.local.collector.ids import Fresh, Sorted, by_rows, by_whole_rows, fresh, merged
from sfumato.local.collector.shards import shard_paths
from tests.local.collecting import COLOURS, OTHER, PLAN, counts_of, reports

ROWS = reports(600)
LINES = local.envelopes(ROWS, noise=Noise(insecure_seed=5))
BINARY = local.envelopes(ROWS, "binary", noise=Noise(insecure_seed=5))


def unwrap(lines: bytes) -> list[tuple[bytes, bytes]]:
    found = [open_line(line) for line in lines.splitlines()]
    return [pair for pair in found if pair is not None]


def counts(place: Path, *more: Path) -> Any:
    return local.read_collection(place, *more).server.counts


class TestEnvelopes:
    def test_json_and_binary_carry_the_same(self):
        pairs = unwrap(LINES)
        assert b"".join(id + report for id, report in pairs) == BINARY
        assert [report for _, report in pairs] == [row.tobytes() for row in ROWS]

    def test_an_envelope_is_one_line_with_a_fresh_id(self):
        one, two = local.envelope(b"abc"), local.envelope(b"abc")
        assert one != two and one.endswith(b"\n") and open_line(one)[1] == b"abc"
        record = json.loads(one)
        assert set(record) == {"id", "report"} and len(bytes.fromhex(record["id"])) == 16
        with pytest.raises(ParameterError, match="16 bytes"):
            local.envelope(b"abc", id=b"short")

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"{}",
            b"[]",
            b"null",
            b"7",
            b'"text"',
            b"\xff\xfe",
            b'{"id": 3, "report": "AA=="}',
            b'{"id": "00", "report": "AA=="}',
            b'{"id": "0011223344556677 8899aabbccddee", "report": "AA=="}',
            b'{"id": "' + b"g" * 32 + b'", "report": "AA=="}',
            b'{"id": "' + b"0" * 32 + b'", "report": "A"}',
            b'{"id": "' + b"0" * 32 + b'", "report": "A!=="}',
            b'{"id": "' + b"0" * 32 + b'", "report": null}',
            b'{"id": "' + b"0" * 32 + b'"}',
            b'{"id": "' + "\u0660".encode() * 32 + b'", "report": "AA=="}',
            b"[" * 4000,
            b'{"a": ' + b"9" * 4000 + b"}",
            b'{"id": "' + b"0" * 32 + b'", "report": "' + b"A" * LONGEST_LINE + b'"}',
        ],
    )
    def test_what_is_no_envelope_is_none(self, line):
        assert open_line(line) is None

    def test_unknown_formats_are_refused(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector, pytest.raises(ParameterError, match="json"):
            collector.add(b"", "xml")


class TestCounting:
    def test_reports_count_as_a_plain_server_counts_them(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            said = collector.add(LINES)
            assert (said.accepted, said.total) == (600, 600)
            assert (collector.server().counts == counts_of(ROWS)).all()
        assert (counts(tmp_path / "c") == counts_of(ROWS)).all()

    def test_duplicates_are_dropped_within_a_batch_between_batches_and_after_reopening(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            assert collector.add(LINES + LINES).duplicates == 600
            assert collector.add(BINARY, "binary").duplicates == 600
        with local.Collector(tmp_path / "c") as collector:
            assert collector.add(LINES).duplicates == 600
            assert (collector.intake.accepted, collector.intake.duplicates) == (600, 1800)
            assert (collector.server().counts == counts_of(ROWS)).all()

    def test_ids_that_send_different_reports_count_the_same_in_every_order(self, tmp_path):
        three = [local.envelope(row.tobytes(), bytes(16)) for row in ROWS[:3]]
        found = []
        for number, order in enumerate(permutations(three)):
            with local.Collector(tmp_path / str(number), PLAN) as collector:
                for line in order:
                    collector.add(line)
                assert collector.intake.accepted == 1 == collector.server().counts.sum()
                found.append(collector.server().counts)
            assert (counts(tmp_path / str(number)) == found[0]).all()
        assert all((one == found[0]).all() for one in found)

    def test_any_split_over_collections_and_batches_gives_the_same_sketch(self, tmp_path):
        noise = Noise(insecure_seed=8)
        lines = (LINES + LINES[: len(LINES) // 3]).splitlines(keepends=True)
        conflicting = [local.envelope(row.tobytes(), bytes([k % 9] * 16)) for k, row in enumerate(ROWS[:60])]
        lines += conflicting
        places = [tmp_path / name for name in "abc"]
        collectors = [local.Collector(place, PLAN) for place in places]
        for line in lines:
            collectors[noise.uniform(3)].add(line)
        for collector in collectors:
            collector.close()
        with local.Collector(tmp_path / "whole", PLAN) as whole:
            whole.add(b"".join(lines))
            assert whole.server().save(tmp_path / "1").read_bytes() == (
                local.read_collection(*places).server.save(tmp_path / "2").read_bytes()
            )
            assert local.read_collection(*places[::-1]).intake == whole.intake

    def test_a_batch_with_a_name_counts_once(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN, ids=False) as collector:
            assert collector.add(ROWS.tobytes(), "reports", batch="monday").accepted == 600
            again = collector.add(ROWS.tobytes(), "reports", batch="monday")
            assert (again.repeated, again.accepted, collector.intake.accepted) == (1, 0, 600)
            collector.add(b"", "reports", batch="empty")
        with local.Collector(tmp_path / "c", ids=False) as collector:
            assert collector.add(ROWS.tobytes(), "reports", batch="monday").repeated == 1
            assert collector.add(b"", "reports", batch="empty").repeated == 1
            assert collector.add(ROWS.tobytes(), "reports", batch="tuesday").accepted == 600
            assert collector.add(ROWS.tobytes(), "reports").accepted == 600
            assert (collector.server().counts == 3 * counts_of(ROWS)).all()

    def test_batches_that_come_together_are_told_apart(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            batches = [
                collector.batch(LINES[:1000], name="a"),
                collector.batch(LINES, name="b"),
                collector.batch(LINES, name="a"),
                collector.batch(b"junk"),
            ]
            said = collector.add_batches(batches)
            inside = LINES[:1000].count(b"\n")
            assert [one.accepted for one in said] == [inside, 600 - inside, 0, 0]
            assert [one.duplicates for one in said] == [0, inside, 0, 0]
            assert [one.repeated for one in said] == [0, 0, 1, 0]
            assert said[0].envelope == 1 and said[3].envelope == 1
            assert len(shard_paths(tmp_path / "c")) == 1


class TestRefusals:
    def test_bad_reports_are_counted_by_kind_and_leave_no_trace(self, tmp_path):
        good = ROWS[0].tobytes()
        bad = [
            good[:-1],
            good + b"x",
            b"",
            b"\x02" + good[1:],
            OTHER.client().report(1),
            good[:5] + b"\xff" * (len(good) - 5),
        ]
        lines = b"".join(local.envelope(report, bytes([k] * 16)) for k, report in enumerate(bad)) + b"junk\n\n"
        with local.Collector(tmp_path / "c", PLAN) as collector:
            said = collector.add(lines)
            assert said.accepted == 0 and said.envelope == 1
            assert vars(said.refused) == {"length": 3, "version": 1, "plan": 1, "value": 1}
            assert not collector.server().counts.any()
            # A refused report does not use up its id.
            assert collector.add(local.envelope(good, bytes(16))).accepted == 1
        found = local.read_collection(tmp_path / "c")
        assert found.intake.refused == said.refused == found.server.refused
        assert "6 refused" not in str(said) and "7 refused (envelope 1, length 3" in str(said)

    def test_reports_without_ids_are_refused_where_ids_are_wanted(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            assert collector.add(ROWS.tobytes(), "reports").envelope == 600
            assert collector.intake.accepted == 0

    def test_a_cut_record_is_counted(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            said = collector.add(BINARY[:-1], "binary")
            assert (said.accepted, said.envelope) == (599, 1)
            # A stream that slipped by one byte is refused as a whole.
            assert collector.add(BINARY[1:], "binary").accepted == 0

    def test_wrong_places_and_plans_are_told(self, tmp_path):
        with pytest.raises(ParameterError, match="give the plan"):
            local.Collector(tmp_path / "none")
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "x").write_text("x")
        with pytest.raises(ParameterError, match="other things"):
            local.Collector(tmp_path / "full", PLAN)
        with local.Collector(tmp_path / "c", PLAN) as collector:
            with pytest.raises(SketchError, match="Another process"):
                local.Collector(tmp_path / "c", PLAN)
            collector.add(LINES)
        with pytest.raises(SketchError, match="closed"):
            collector.add(LINES)
        with pytest.raises(SketchError, match="another plan"):
            local.Collector(tmp_path / "c", OTHER)
        with pytest.raises(ParameterError, match="ids=True"):
            local.Collector(tmp_path / "c", PLAN, ids=False)
        local.Collector(tmp_path / "d", OTHER).close()
        with pytest.raises(SketchError, match="same plan"):
            local.read_collection(tmp_path / "c", tmp_path / "d")
        with pytest.raises(ParameterError, match="no collection"):
            local.read_collection(tmp_path / "full")
        with pytest.raises(ParameterError, match="at least one"):
            local.read_collection()

    def test_damaged_and_foreign_shards_are_named(self, tmp_path):
        for name, plan in (("c", COLOURS), ("d", PLAN)):
            with local.Collector(tmp_path / name, plan) as collector:
                collector.add(local.envelopes(reports(4, plan=plan)))
        path = shard_paths(tmp_path / "c")[0]
        data = path.read_bytes()
        for place in range(0, len(data), 7):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(SketchError, match=path.name):
                local.read_collection(tmp_path / "c")
        path.write_bytes(shard_paths(tmp_path / "d")[0].read_bytes())
        with pytest.raises(SketchError, match="another collection"):
            local.Collector(tmp_path / "c", COLOURS)
        path.write_bytes(data)
        assert local.read_collection(tmp_path / "c").intake.accepted == 4
        (tmp_path / "c" / "collection.json").write_text("{")
        with pytest.raises(SketchError, match="cannot be read"):
            local.read_collection(tmp_path / "c")


class TestShards:
    def test_many_shards_become_few_and_say_the_same(self, tmp_path):
        lines = LINES.splitlines(keepends=True)
        with local.Collector(tmp_path / "c", PLAN) as collector:
            for number in range(2 * MANY + 3):
                collector.add(b"".join(lines[4 * number : 4 * number + 8]) + b"junk", batch=str(number))
            assert len(shard_paths(tmp_path / "c")) == 2 + 3
            before = collector.intake
            server = collector.server()
        with local.Collector(tmp_path / "c") as collector:
            assert collector.intake == before and (collector.server().counts == server.counts).all()
            assert collector.add(b"", batch="7").repeated == 1
        assert before.accepted == 4 * (2 * MANY + 3) + 4 and before.envelope == 2 * MANY + 3

    def test_shards_that_others_replaced_are_void(self, tmp_path):
        lines = LINES.splitlines(keepends=True)
        with local.Collector(tmp_path / "c", PLAN) as collector:
            for number in range(MANY - 1):
                collector.add(lines[number])
            kept = {path: path.read_bytes() for path in shard_paths(tmp_path / "c")}
            collector.add(lines[MANY])
            want = collector.server().counts
        # As if the process had died before it could delete them.
        for path, data in kept.items():
            path.write_bytes(data)
        (tmp_path / "c" / "000000000999.shard.part").write_bytes(b"half")
        found = local.read_collection(tmp_path / "c")
        assert (found.server.counts == want).all() and found.intake.total == MANY
        with local.Collector(tmp_path / "c") as collector:
            assert collector.intake.total == MANY
        assert len(shard_paths(tmp_path / "c")) == 1
        assert not list((tmp_path / "c").glob("*.part"))

    def test_nothing_of_the_order_of_the_reports_is_kept(self, tmp_path):
        for name, lines in (("a", LINES.splitlines(keepends=True)), ("b", LINES.splitlines(keepends=True)[::-1])):
            with local.Collector(tmp_path / name, PLAN) as collector:
                collector.add(b"".join(lines))
        one, two = (shard_paths(tmp_path / name)[0].read_bytes() for name in "ab")
        assert one == two


def _all(found: Fresh) -> Any:
    """Return the records of all ids, new or not."""
    return _table(Fresh(found.words, found.values, np.full(len(found.old), -1), found.first))


def _table(found: Fresh) -> Any:
    return np.concatenate([np.zeros((0, 17), dtype=np.uint8), *found.records(17)])


class TestIds:
    def test_they_agree_with_a_dictionary(self):
        """Sorted files on the disk give what a table in memory would, also for ids that differ in their last bytes."""
        noise = Noise(insecure_seed=3)
        files, counts, known = [], np.zeros(50, dtype=np.int64), {}
        for round in range(40):
            ids = np.zeros((200, 16), dtype=np.uint8)
            ids[:, 3] = noise.uniform(200, 200)
            ids[:, 9 + round % 7] = noise.uniform(40, 200)
            values = noise.uniform(50, 200)
            found = fresh(ids, values, [Sorted(rows) for rows in files])
            found.count(counts)
            new, kept = int(found.new.sum()), int(found.kept.sum())
            before = dict(known)
            for id, value in zip(ids, values.tolist(), strict=True):
                known[id.tobytes()] = min(value, known.get(id.tobytes(), value))
            assert new == len(known) - len(before)
            assert kept == sum(before.get(key) != value for key, value in known.items())
            rows = _table(found)
            assert rows.tolist() == sorted(rows.tolist())
            files = [*files, rows] if len(files) < 5 else [np.concatenate(list(merged([*files, rows])))]
        assert len(known) > 3000
        assert counts.tolist() == np.bincount(list(known.values()), minlength=50).tolist()

    @pytest.mark.parametrize("alike", [0, 3, 12])
    def test_ids_that_begin_alike_are_put_in_order_all_the_same(self, alike):
        """Whoever sends chooses the ids: many that begin alike take the slower way, and give the same order."""
        noise = Noise(insecure_seed=5)
        rows = noise.uniform(256, 17 * 3000).astype(np.uint8).reshape(3000, 17)
        rows[:, :alike] = 7
        rows[1500:2000] = rows[:500]
        wanted = sorted(range(len(rows)), key=lambda place: (rows[place].tobytes(), place))
        assert by_rows(rows).tolist() == by_whole_rows(rows).tolist() == wanted

    @pytest.mark.parametrize("alike", [0, 1, 8])
    def test_ids_are_found_however_they_lie(self, alike):
        """Where the next id lies is guessed from its distance; a wrong guess costs time and nothing else."""
        noise = Noise(insecure_seed=6)
        there = noise.uniform(256, 17 * 5000).astype(np.uint8).reshape(5000, 17)
        there[:, :alike] = 250
        there[:2000, :6] = noise.uniform(2, 2000)[:, None]
        there = there[by_rows(there)]
        ids = np.concatenate([there[::37, :16], noise.uniform(256, 16 * 60).astype(np.uint8).reshape(60, 16)])
        known = {row[:16].tobytes(): int(row[16]) for row in there[::-1]}
        found = fresh(ids, np.full(len(ids), 99), [Sorted(there)])
        told = {row[:16].tobytes(): old for row, old in zip(_all(found), found.old.tolist(), strict=True)}
        assert told == {id.tobytes(): known.get(id.tobytes(), -1) for id in ids}

    @pytest.mark.parametrize("alike", [0, 8])
    @pytest.mark.parametrize("asked", [3, 50, 4000])
    def test_ids_in_mapped_files_are_found_a_part_at_a_time(self, tmp_path, monkeypatch, alike, asked):
        """Few ids are found between the fences, many in windows; where they begin alike, no fence tells them apart."""
        monkeypatch.setattr(ids_module, "FENCE", 8)
        monkeypatch.setattr(ids_module, "WINDOW", 1 << 12)
        noise = Noise(insecure_seed=7)
        there = noise.uniform(256, 17 * 5000).astype(np.uint8).reshape(5000, 17)
        there[1000:3000, :alike] = 200
        there = there[by_rows(there)]
        there.tofile(tmp_path / "there")
        mapped = np.memmap(tmp_path / "there", dtype=np.uint8, mode="r", shape=there.shape)
        known = {row[:16].tobytes(): int(row[16]) for row in there[::-1]}
        absent = noise.uniform(256, 16 * asked).astype(np.uint8).reshape(asked, 16)
        absent[::2, :alike] = 200
        ids = np.concatenate([there[noise.uniform(5000, asked), :16], there[[0, -1], :16], absent])
        found = fresh(ids, np.full(len(ids), 99), [Sorted(mapped)])
        told = {row[:16].tobytes(): old for row, old in zip(_all(found), found.old.tolist(), strict=True)}
        assert told == {id.tobytes(): known.get(id.tobytes(), -1) for id in ids}
        whole = [row.tobytes() for part in merged([mapped, there[::7].copy()]) for row in part]
        assert whole == sorted(row.tobytes() for rows in (there, there[::7]) for row in rows)

    def test_many_ids_are_merged_a_range_at_a_time(self, monkeypatch):
        monkeypatch.setattr(ids_module, "RANGE", 7)
        noise = Noise(insecure_seed=4)
        files = [noise.uniform(256, 17 * size).astype(np.uint8).reshape(size, 17) for size in (100, 31, 0, 5)]
        files = [rows[by_rows(rows)] for rows in files]
        parts = list(merged(files))
        assert len(parts) > 10
        together = [row.tobytes() for part in parts for row in part]
        assert together == sorted(row.tobytes() for rows in files for row in rows)


class TestFiles:
    def table(self, path: Path, **columns: Any) -> Path:
        pairs = unwrap(LINES)
        made = {"id": [id for id, _ in pairs], "report": [report for _, report in pairs], **columns}
        pq.write_table(pa.table(made), path)
        return path

    def test_every_kind_of_file_gives_the_same_and_counts_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "BLOCK", 5000)
        monkeypatch.setattr(files, "ROWS", 100)
        (tmp_path / "a.jsonl").write_bytes(LINES)
        (tmp_path / "a.bin").write_bytes(BINARY)
        self.table(tmp_path / "a.parquet")
        fixed = [pa.array(part, pa.binary(len(part[0]))) for part in zip(*unwrap(LINES), strict=True)]
        pq.write_table(pa.table(fixed, ["id", "report"]), tmp_path / "fixed.parquet")
        for name, format in (("a.jsonl", None), ("a.bin", "binary"), ("a.parquet", None), ("fixed.parquet", None)):
            with local.Collector(tmp_path / f"{name}.c", PLAN) as collector:
                assert collector.add_file(tmp_path / name, format).accepted == 600
                again = collector.add_file(tmp_path / name, format)
                assert again.total == 0 and again.repeated > 2
                assert (collector.server().counts == counts_of(ROWS)).all()

    def test_a_file_goes_on_where_a_crash_stopped_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "BLOCK", 1000)
        (tmp_path / "a.bin").write_bytes(ROWS.tobytes())
        with local.Collector(tmp_path / "c", PLAN, ids=False) as collector:
            batches = files.file_batches(tmp_path / "a.bin", "reports", collector.collection)
            for _ in range(3):
                collector.add_batches([next(batches)])
            said = collector.add_file(tmp_path / "a.bin", "reports")
            assert said.repeated == 3 and collector.intake.accepted == 600
            assert (collector.server().counts == counts_of(ROWS)).all()
            # The same reports under another name are other reports.
            (tmp_path / "b.bin").write_bytes(ROWS.tobytes())
            assert collector.add_file(tmp_path / "b.bin", "reports").accepted == 600

    def test_null_cells_wrong_columns_and_broken_files(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN) as collector:
            ids = [None, b"short", *(id for id, _ in unwrap(LINES)[2:])]
            reports = [report for _, report in unwrap(LINES)]
            reports[2], reports[3] = None, b"x"
            said = collector.add_file(self.table(tmp_path / "a.parquet", id=ids, report=reports))
            assert (said.accepted, said.envelope, said.refused.length) == (596, 3, 1)
            with pytest.raises(ParameterError, match="'id' of bytes"):
                collector.add_file(self.table(tmp_path / "b.parquet", id=list(range(600))))
            (tmp_path / "c.parquet").write_bytes(b"PAR1 no")
            with pytest.raises(ParameterError, match="Parquet"):
                collector.add_file(tmp_path / "c.parquet")
            with pytest.raises(ParameterError, match="no file"):
                collector.add_file(tmp_path / "none.jsonl")
            with pytest.raises(ParameterError, match="ending"):
                collector.add_file(tmp_path / "what")

    def test_parquet_without_ids(self, tmp_path):
        pq.write_table(pa.table({"report": [report for _, report in unwrap(LINES)] + [None]}), tmp_path / "a.parquet")
        with local.Collector(tmp_path / "c", PLAN, ids=False) as collector:
            said = collector.add_file(tmp_path / "a.parquet")
            assert (said.accepted, said.envelope) == (600, 1)

    @pytest.mark.parametrize("size", [1, 7, 64, 1000, 10**6])
    def test_blocks_hold_whole_records(self, size, monkeypatch):
        monkeypatch.setattr(files, "BLOCK", size)
        lines = b"a\nbb\n\nccc\nlast"
        assert b"".join(files.blocks(io.BytesIO(lines), 0)) == lines
        assert all(block.endswith(b"\n") for block in list(files.blocks(io.BytesIO(lines), 0))[:-1])
        parts = list(files.blocks(io.BytesIO(bytes(103)), 10))
        assert sum(map(len, parts)) == 103 and all(len(part) % 10 == 0 for part in parts[:-1])

    def test_an_endless_line_needs_no_memory_and_counts_as_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "BLOCK", 10_000)
        stream = io.BytesIO(LINES + b"x" * 200_000 + b"\n" + LINES)
        with local.Collector(tmp_path / "c", PLAN) as collector:
            said = local.Intake()
            for batch in files.stream_batches(stream, "json", collector.collection):
                assert len(batch.parcel.reports) < 200
                said += collector.add_batches([batch])[0]
            assert (said.accepted, said.duplicates, said.envelope) == (600, 600, 1)

    def test_a_stream_with_a_name_counts_once(self, tmp_path):
        with local.Collector(tmp_path / "c", PLAN, ids=False) as collector:
            for want in (600, 0):
                stream = io.BytesIO(ROWS.tobytes())
                (batch,) = files.stream_batches(stream, "reports", collector.collection, "monday")
                assert collector.add_batches([batch])[0].accepted == want


def test_base64_of_the_envelope_is_the_common_one():
    assert (
        json.loads(local.envelope(b"\xff\xfe\xfd", bytes(16)))["report"] == base64.b64encode(b"\xff\xfe\xfd").decode()
    )


def test_a_sketch_that_unpacks_to_more_than_its_plan_is_refused(tmp_path):
    server = COLOURS.server()
    server.ingest(reports(10, plan=COLOURS))
    data = server.save(tmp_path / "a.sketch").read_bytes()
    start = data.index(b"{")
    end = start + int.from_bytes(data[start - 4 : start], "big")
    for unpacked, width in ((bytes(10**8), b"u1"), (bytes(3), b"O8"), (bytes(2), b"u1")):
        head = data[start:end].replace(b'"width":"u1"', b'"width":"' + width + b'"')
        body = data[:start] + head + zlib.compress(unpacked)
        (tmp_path / "b.sketch").write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(SketchError):
            local.load(tmp_path / "b.sketch")
