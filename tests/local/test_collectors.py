"""Several plans, several processes, epochs that end, and batches of a relay."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Noise, local
from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector import collection as collection_module
from sfumato.local.collector import collector as collector_module
from sfumato.local.collector import collectors as module
from sfumato.local.collector import files
from sfumato.local.collector.shards import shard_paths
from tests.local.collecting import COLOURS, OTHER, PLAN, SMALL, batch, counts_of, expected, reports

LANE = """
import sys
from tests.local.collecting import SMALL, batch
from sfumato import local

with local.Collector(sys.argv[1], SMALL, lanes=True) as collector:
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        collector.add(batch(number), "binary")
        print(number, flush=True)
"""


class TestLanes:
    def test_several_processes_give_the_sketch_of_one(self, tmp_path):
        """Two at once, with overlapping batches, one of them killed: as if one process had taken everything."""
        root = Path(__file__).resolve().parents[2]
        local.Collector(tmp_path / "c", SMALL, lanes=True).close()
        ranges = [(0, 12), (8, 2000)]
        started = [
            subprocess.Popen(
                [sys.executable, "-c", LANE, str(tmp_path / "c"), str(first), str(last)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=root,
            )
            for first, last in ranges
        ]
        try:
            killed = started[1]
            last = 0
            for line in killed.stdout:
                last = int(line)
                if last >= 25:
                    killed.kill()
                    break
            assert started[0].wait(timeout=120) == 0
            killed.wait(timeout=120)
        finally:
            for one in started:
                one.kill()
                one.stdout.close()
                one.wait()
        found = local.read_collection(tmp_path / "c")
        survived = found.intake.accepted // 50
        assert survived >= last + 1 and (found.server.counts == expected(range(survived))).all()
        assert found.intake.duplicates == 50 * 4

    def test_each_has_its_own_lane_and_an_id_counts_once(self, tmp_path):
        with local.Collector(tmp_path, SMALL, lanes=True) as one, local.Collector(tmp_path, lanes=True) as two:
            assert one.collection.directory != two.collection.directory
            for number in range(3):
                one.add(batch(number), "binary")
                two.add(batch(number + 1), "binary")
        found = local.read_collection(tmp_path)
        assert (found.server.counts == expected(range(4))).all() and found.intake.duplicates == 100
        # A lane that was left is taken again.
        with local.Collector(tmp_path, lanes=True) as three:
            assert three.collection.directory == one.collection.directory and three.intake.accepted == 150


class TestEpochs:
    def test_a_closed_epoch_keeps_its_counts_and_no_ids(self, tmp_path):
        with local.Collector(tmp_path, SMALL) as collector:
            for number in range(4):
                collector.add(batch(number), "binary")
            assert (collector.close_epoch().counts == expected(range(4))).all()
            assert not shard_paths(tmp_path)
            again = collector.add(batch(0) + batch(9), "binary")
            assert again.late == 100 and again.accepted == 0
            assert collector.intake.accepted == 200 and collector.intake.late == 100
            assert (collector.close_epoch().counts == expected(range(4))).all()
        ids = {batch(0)[:16], batch(3)[:16]}
        assert not any(one in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() for one in ids)
        found = local.read_collection(tmp_path)
        assert (found.server.counts == expected(range(4))).all() and found.intake.accepted == 200
        with local.Collector(tmp_path) as collector:
            assert collector.add(batch(1), "binary").late == 50

    def test_a_crash_at_the_end_loses_nothing(self, tmp_path, monkeypatch):
        from tests.local.test_collector_crash import Dead, DiesAt

        for passes in range(12):
            place = tmp_path / str(passes)
            with local.Collector(place, SMALL) as collector:
                for number in range(3):
                    collector.add(batch(number), "binary")
                with monkeypatch.context() as patched:
                    DiesAt(patched, passes)
                    with contextlib.suppress(Dead):
                        collector.close_epoch()
            found = local.read_collection(place)
            assert (found.server.counts == expected(range(3))).all() and found.intake.accepted == 150
            with local.Collector(place) as collector:
                assert (collector.server().counts == expected(range(3))).all()

    @pytest.mark.parametrize("lanes", [False, True])
    def test_a_process_that_opens_while_the_epoch_ends_takes_nothing(self, tmp_path, monkeypatch, lanes):
        """What it had read before it had its lock said that the epoch was open; its reports would have been lost."""
        with local.Collector(tmp_path, SMALL) as collector:
            collector.add(batch(0), "binary")
            stale = replace(collector.collection)
            collector.close_epoch()
        assert stale.closed is None
        monkeypatch.setattr(collector_module, "_described", lambda *_: stale)
        with local.Collector(tmp_path, SMALL, lanes=lanes) as late:
            assert late.add(batch(1), "binary").late == 50
        assert (local.read_collection(tmp_path).server.counts == expected([0])).all()

    def test_other_lanes_must_have_ended(self, tmp_path):
        with local.Collector(tmp_path, SMALL, lanes=True) as one, local.Collector(tmp_path, lanes=True) as two:
            one.add(batch(0), "binary")
            two.add(batch(1), "binary")
            with pytest.raises(SketchError, match="Another process"):
                one.close_epoch()
            two.close()
            assert (one.close_epoch().counts == expected(range(2))).all()


class TestPlans:
    def test_reports_go_to_their_plan(self, tmp_path):
        rows = {plan: reports(60, 3, plan) for plan in (PLAN, COLOURS)}
        lines = b"".join(local.envelopes(found, noise=Noise(insecure_seed=4)) for found in rows.values())
        strange = local.envelope(OTHER.client().report(1))
        with local.CollectorSet(tmp_path, [PLAN, COLOURS]) as collectors:
            said = collectors.add(lines + strange + b"hello\n")
            assert said.accepted == 120 and said.refused.plan == 1 and said.envelope == 1
            assert collectors.add(lines).duplicates == 120
            binary = local.envelopes(reports(20, 9), "binary", noise=Noise(insecure_seed=6))
            assert collectors.add(binary, "binary").accepted == 20
            assert collectors.add(b"\x01" * 40, "binary").accepted == 0
            assert [plan.digest for plan in collectors.plans] == [PLAN.digest, COLOURS.digest]
        for plan, found in rows.items():
            server = local.read_collection(tmp_path / plan.digest.hex()).server
            more = counts_of(reports(20, 9)) if plan is PLAN else 0
            assert (server.counts == counts_of(found, plan) + more).all()
        with local.CollectorSet(tmp_path) as collectors:
            collectors.add_plan(OTHER)
            assert collectors.add(strange).accepted == 1 and collectors.intake.accepted == 141

    def test_a_retired_plan_takes_nothing_late(self, tmp_path, monkeypatch):
        moment = datetime(2026, 11, 16, tzinfo=UTC)
        monkeypatch.setattr(module, "now", lambda: moment)
        line = local.envelope(COLOURS.client().report("red"))
        with local.CollectorSet(tmp_path, [COLOURS]) as collectors:
            collectors.retire_plan(COLOURS.digest.hex(), moment + timedelta(days=1))
            assert collectors.add(line).accepted == 1
            moment += timedelta(days=2)
            late = collectors.add(local.envelope(COLOURS.client().report("red")))
            assert late.late == 1 and late.accepted == 0 and collectors.intake.late == 1
        with local.CollectorSet(tmp_path) as collectors:
            assert collectors.add(local.envelope(COLOURS.client().report("red"))).late == 1
            with pytest.raises(ParameterError, match="with its zone"):
                collectors.retire_plan(COLOURS.digest.hex(), datetime(2026, 1, 1))
            with pytest.raises(ParameterError, match="digest"):
                collectors.retire_plan("00", moment)

    def test_several_processes_follow_each_other(self, tmp_path):
        lines = {plan: local.envelope(plan.client().report(1)) for plan in (PLAN, OTHER)}
        with (
            local.CollectorSet(tmp_path, [PLAN], lanes=True) as one,
            local.CollectorSet(tmp_path, lanes=True) as two,
        ):
            one.add_plan(OTHER)
            assert two.add(lines[OTHER]).accepted == 1
            two.retire_plan(PLAN.digest.hex(), datetime(2020, 1, 1, tzinfo=UTC))
            assert one.add(lines[PLAN]).late == 1
            one.add_plan(COLOURS)
        with local.CollectorSet(tmp_path, lanes=True) as three:
            assert len(three.plans) == 3 and three.add(lines[PLAN]).late == 1

    def test_plans_that_cannot_be_told_apart_are_refused(self, tmp_path, monkeypatch):
        with local.CollectorSet(tmp_path / "c", [PLAN]) as collectors:
            monkeypatch.setitem(OTHER.__dict__, "wire", PLAN.wire)
            with pytest.raises(ParameterError, match="same tag"):
                collectors.add_plan(OTHER)
        local.Collector(tmp_path / "one", PLAN).close()
        with pytest.raises(ParameterError, match="one plan"):
            local.CollectorSet(tmp_path / "one", [PLAN])
        with pytest.raises(ParameterError, match="is a list"):
            local.CollectorSet(tmp_path / "two", PLAN)


def test_batches_of_a_relay_count_once_and_only_if_they_are_large(tmp_path):
    rows = reports(200, 2, COLOURS)
    body = local.envelopes(rows, "reports")
    with local.Collector(tmp_path, COLOURS, shuffled=100) as collector:
        assert collector.add(body, "reports").accepted == 200
        assert collector.add(body, "reports").repeated == 1
        assert collector.add(local.envelopes(rows[:99], "reports"), "reports").envelope == 99
        assert collector.add(local.envelopes(rows, "binary"), "binary").accepted == 0
        assert (collector.server().counts == np.asarray(counts_of(rows, COLOURS))).all()
    with pytest.raises(ParameterError, match="shuffled=100"):
        local.Collector(tmp_path, COLOURS, ids=False)
    with pytest.raises(ParameterError, match="leave lanes= out"):
        local.Collector(tmp_path, COLOURS, shuffled=100, lanes=True)


def test_a_shuffled_batch_in_two_collections_is_refused(tmp_path):
    rows = reports(200, 2, COLOURS)
    for name, body in (("a", rows), ("b", rows), ("c", reports(150, 3, COLOURS))):
        with local.Collector(tmp_path / name, COLOURS, shuffled=100) as collector:
            collector.add(local.envelopes(body, "reports"), "reports")
    with pytest.raises(SketchError, match="same shuffled batch"):
        local.read_collection(tmp_path / "a", tmp_path / "b")
    assert local.read_collection(tmp_path / "a", tmp_path / "c").intake.accepted == 350


def test_an_epoch_that_ends_while_it_is_read_is_read_whole(tmp_path, monkeypatch):
    with local.Collector(tmp_path, SMALL) as collector:
        collector.add(batch(9), "binary")
        plain = collection_module.lanes_of

        def closing(collection):
            monkeypatch.setattr(collection_module, "lanes_of", plain)
            collector.close_epoch()
            return plain(collection)

        monkeypatch.setattr(collection_module, "lanes_of", closing)
        assert local.read_collection(tmp_path).intake.accepted == 50


@pytest.mark.parametrize("kind", ["reports", "parquet", "stream"])
def test_a_file_of_shuffled_reports_is_one_batch(tmp_path, monkeypatch, kind):
    """In blocks of it fewer would hide each other, and the last one would be too small."""
    monkeypatch.setattr(files, "BLOCK", 600)
    monkeypatch.setattr(files, "ROWS", 90)
    rows = reports(250, 2, COLOURS)
    path = tmp_path / f"day.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"report": [row.tobytes() for row in rows]}), path, row_group_size=100)
    else:
        path.write_bytes(rows.tobytes())
    with local.Collector(tmp_path / "c", COLOURS, shuffled=200) as collector:
        for expected_now in (250, 0):
            if kind == "stream":
                stream = io.BytesIO(path.read_bytes())
                (batch,) = files.stream_batches(stream, "reports", collector.collection)
                assert collector.add_batches([batch])[0].accepted == expected_now
            else:
                assert collector.add_file(path, None if kind == "parquet" else kind).accepted == expected_now
        assert (collector.server().counts == np.asarray(counts_of(rows, COLOURS))).all()


def test_shuffled_batches_of_several_plans_go_to_their_plan(tmp_path):
    with local.CollectorSet(tmp_path, [COLOURS, PLAN], shuffled=100) as collectors:
        for plan in (COLOURS, PLAN):
            assert collectors.add(reports(120, 2, plan).tobytes(), "reports").accepted == 120
        assert collectors.add(reports(90, 3, PLAN).tobytes(), "reports").accepted == 0
        assert collectors.add(local.envelopes(reports(120, 4, PLAN), "binary"), "binary").accepted == 0
        assert [collectors.collector(plan.digest.hex()).intake.accepted for plan in (COLOURS, PLAN)] == [120, 120]
