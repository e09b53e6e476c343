"""Which frames of Spark are read in place, copied or refused; and that nothing changes under an open curator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions

from sfumato import domain
from sfumato.errors import EngineError, SchemaError
from sfumato.table.data import Table, open_table
from sfumato.table.database import Database
from sfumato.table.own import ROSTER, open_database
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.source import open_source
from tests.table.cluster import SPARK_MARKS

pytestmark = SPARK_MARKS

NUMBER = Schema({"c": domain.integers(0, 99)})
GUESS = "spark.sql.sources.partitionColumnTypeInference.enabled"
DERBY = {"url": "jdbc:derby:memory:sfumato;create=true", "driver": "org.apache.derby.jdbc.EmbeddedDriver"}


def write(path: Path, cells: list[Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"c": cells}), path)
    return str(path)


def folders(place: Path, days: tuple[str, ...]) -> str:
    for number, day in enumerate(days):
        write(place / f"day={day}" / "a.parquet", [number])
    return str(place)


def total(table: Table) -> int:
    return int(table.view(["c"]).sums("c"))


@pytest.fixture
def guessing_off(spark: Any) -> Iterator[None]:
    spark.conf.set(GUESS, "false")
    yield
    spark.conf.unset(GUESS)


class TestFolders:
    """The type of a column that folders name, and ids among them, is nobody's to move."""

    @pytest.mark.parametrize("days", [("1", "01"), ("1", "01", "unknown")], ids=["numbers", "texts"])
    def test_guessed_types_are_refused(self, spark: Any, days: tuple[str, ...], tmp_path: Path) -> None:
        frame = spark.read.parquet(folders(tmp_path / "t", days))
        renamed = frame.select(frame.day.alias("person"), "c")
        for shown in (frame, renamed, spark.read.schema("c long").parquet(str(tmp_path / "t"))):
            with pytest.raises(SchemaError, match=rf"'day'.*spark.read.schema.*{GUESS}"):
                open_source(shown)
        open_source(frame.drop("day")).close()

    def test_a_setting_that_came_later_changes_no_guess(self, spark: Any, tmp_path: Path) -> None:
        frame = spark.read.parquet(folders(tmp_path / "t", ("1", "01")))
        spark.conf.set(GUESS, "false")
        try:
            with pytest.raises(SchemaError, match="'day'"):
                open_source(frame)
        finally:
            spark.conf.unset(GUESS)

    @pytest.mark.audit
    def test_texts_and_declared_types_are_read(self, spark: Any, tmp_path: Path, guessing_off: None) -> None:
        people = Schema({"c": domain.integers(0, 99)}, person="day")
        frame = spark.read.parquet(folders(tmp_path / "t", ("1", "01")))
        with open_table(frame, people) as table:
            assert table.people == 2
        spark.conf.unset(GUESS)
        for kind, found in (("string", 2), ("int", 1)):
            frame = spark.read.schema(f"c long, Day {kind}").parquet(str(tmp_path / "t"))
            with open_table(frame.withColumnRenamed("Day", "day"), people) as table:
                assert table.people == found

    @pytest.mark.audit
    def test_types_of_a_catalog_are_read(self, spark: Any) -> None:
        spark.range(6).selectExpr("id AS c", "id % 3 AS day").write.partitionBy("day").saveAsTable("by_day")
        try:
            with open_table(spark.table("by_day"), NUMBER) as table:
                assert total(table) == 15
                table.require_unchanged()
                spark.sql("INSERT INTO by_day VALUES (7, 9)")
                with pytest.raises(SchemaError, match="changed since they were opened"):
                    table.require_unchanged()
        finally:
            spark.sql("DROP TABLE by_day")


class TestGuessedCells:
    """Types that are worked out from cells are refused; where they are declared, lines are read once."""

    @pytest.fixture
    def paths(self, tmp_path: Path) -> tuple[str, str, str]:
        (tmp_path / "a.csv").write_text("c\n1\n02\n")
        (tmp_path / "a.json").write_text('{"c": 1}\n{"c": 2}\n')
        return str(tmp_path / "a.csv"), str(tmp_path / "a.json"), write(tmp_path / "a.parquet", [1, 2])

    def test_guesses_are_refused(self, spark: Any, paths: tuple[str, str, str]) -> None:
        written, listed, cells = paths
        guessed = (
            spark.read.csv(written, header=True, inferSchema=True),
            spark.read.json(listed),
            spark.read.option("primitivesAsString", True).json(listed),
            spark.read.option("mergeSchema", True).parquet(cells),
        )
        for frame in guessed:
            with pytest.raises(SchemaError, match=r"declare them by spark\.read\.schema"):
                open_source(frame)

    @pytest.mark.audit
    def test_declared_types_are_read(self, spark: Any, paths: tuple[str, str, str]) -> None:
        written, listed, cells = paths
        for frame in (
            spark.read.csv(written, header=True),
            spark.read.csv(written, "c long", header=True, inferSchema=True),
            spark.read.json(listed, "c long"),
            spark.read.schema("c long").option("mergeSchema", True).parquet(cells),
        ):
            with open_table(frame, NUMBER) as table:
                assert total(table) == 3

    @pytest.mark.audit
    def test_rows_of_damaged_files_are_never_left_out(self, spark: Any, tmp_path: Path) -> None:
        path = write(tmp_path / "a.parquet", [1, 2])
        with pytest.raises(SchemaError, match="ignorecorruptfiles"):
            open_table(spark.read.option("ignoreCorruptFiles", True).parquet(path), NUMBER)
        with open_table(spark.read.parquet(path), NUMBER) as table:
            spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
            try:
                with pytest.raises(SchemaError, match="ignoreCorruptFiles to false"):
                    table.require_unchanged()
            finally:
                spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "random": lambda frame: frame.withColumn("c", functions.rand()),
    "limit": lambda frame: frame.limit(2),
    "sample": lambda frame: frame.sample(0.5),
    "union": lambda frame: frame.union(frame),
    "distinct": lambda frame: frame.distinct(),
    "sorted": lambda frame: frame.orderBy("c"),
    "split anew": lambda frame: frame.repartition(2),
    "joined": lambda frame: frame.crossJoin(frame.withColumnRenamed("c", "d")),
    "window": lambda frame: frame.selectExpr("sum(c) OVER () AS c"),
    "function": lambda frame: frame.select(functions.udf(lambda cell: cell)("c").alias("c")),
    "hidden in a view": lambda frame: _view(frame.where("c > 1")),
    "of no table": lambda frame: frame.sparkSession.sql("SELECT 1 AS c"),
    "stream": lambda frame: frame.sparkSession.readStream.format("rate").load().selectExpr("value AS c"),
    "file names": lambda frame: frame.sparkSession.read.format("binaryFile").load(frame.inputFiles()[0]),
}


def _view(frame: Any) -> Any:
    frame.createOrReplaceTempView("computed_by_somebody")
    return frame.sparkSession.table("computed_by_somebody")


def test_whatever_is_computed_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.read.parquet(write(tmp_path / "a.parquet", [1, 2, 3]))
    for name, computed in COMPUTED.items():
        with pytest.raises(SchemaError, match="write it to Parquet first"):
            open_source(computed(frame))
            pytest.fail(name)


class TestDatabases:
    """A table behind JDBC is copied once; what the database computes is refused before anything is asked."""

    @pytest.fixture(scope="class")
    def derby(self, spark: Any) -> Iterator[Callable[[str], None]]:
        manager = spark._jvm.java.sql.DriverManager
        spark._jvm.java.lang.Class.forName(DERBY["driver"])
        connection = manager.getConnection(DERBY["url"])

        def run(statement: str) -> None:
            made = connection.createStatement()
            made.execute(statement)
            made.close()

        run("CREATE TABLE visits (c INT, note VARCHAR(9))")
        run("INSERT INTO visits VALUES (1, '1'), (2, '2'), (3, 'x')")
        run("CREATE VIEW seen AS SELECT CAST(note AS INT) AS c FROM visits")
        yield run
        run("DROP VIEW seen")
        run("DROP TABLE visits")
        connection.close()

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"query": "SELECT CAST(note AS INT) AS c FROM visits"}, "a query"),
            ({"dbtable": "(SELECT SUM(c) AS c FROM visits) AS s"}, "a query"),
            ({"dbtable": "seen"}, "no stored table"),
            ({"dbtable": "visits", "sessionInitStatement": "VALUES 1"}, "sessioninitstatement"),
        ],
        ids=["query", "subquery", "view", "statement"],
    )
    def test_what_it_computes_is_refused(self, spark: Any, derby: Any, options: dict[str, str], says: str) -> None:
        frame = spark.read.format("jdbc").options(**DERBY, **options).load()
        with pytest.raises(SchemaError, match=f"{says}.*write it to Parquet first"):
            open_source(frame)

    def test_conditions_are_refused(self, spark: Any, derby: Any) -> None:
        frame = spark.read.jdbc(DERBY["url"], "visits", predicates=["c < 3"], properties=DERBY)
        with pytest.raises(SchemaError, match=r"conditions.*write it to Parquet first"):
            open_source(frame)

    @pytest.mark.parametrize("parts", [1, pytest.param(2, marks=pytest.mark.audit)])
    def test_a_table_is_copied_once(self, spark: Any, derby: Any, parts: int) -> None:
        split = (
            {"partitionColumn": "C", "lowerBound": "0", "upperBound": "4", "numPartitions": "2"} if parts > 1 else {}
        )
        frame = spark.read.format("jdbc").options(**DERBY, dbtable="app.visits", **split).load()
        kept = spark.sparkContext._jsc.getPersistentRDDs().size()
        with open_table(frame.withColumnRenamed("C", "c"), NUMBER) as table:
            before = total(table)
            derby("INSERT INTO visits VALUES (50, 'y')")
            table.require_unchanged()
            assert total(table) == before
            assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept + 1
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept
        derby("DELETE FROM visits WHERE c = 50")


class TestChanges:
    """Files that change are noticed; what has no files is read once."""

    @pytest.mark.parametrize(
        "change", ["rewritten", *(pytest.param(one, marks=pytest.mark.audit) for one in ("same size", "more", "gone"))]
    )
    def test_changed_files_are_noticed(self, spark: Any, change: str, tmp_path: Path) -> None:
        place = tmp_path / "a table"
        path = Path(write(place / "100%.parquet", [1, 2, 3]))
        with open_table(spark.read.parquet(str(place)), NUMBER) as table:
            assert total(table) == 6
            (place / "_temporary").mkdir()
            write(place / "_temporary" / "half.parquet", [1])
            table.require_unchanged()
            if change == "rewritten":
                write(path, list(range(50)))
            elif change == "same size":
                os.utime(path, ns=(0, path.stat().st_mtime_ns + 2_000_000))
            elif change == "more":
                write(place / "b.parquet", [9])
            else:
                path.unlink()
            with pytest.raises(SchemaError, match="changed since they were opened"):
                table.require_unchanged()

    @pytest.mark.audit
    def test_rows_that_are_made_anew_each_time_are_read_once(self, spark: Any, tmp_path: Path) -> None:
        counter = tmp_path / "runs"
        counter.write_text("")

        def another(_: Any) -> tuple[int]:
            with counter.open("a") as file:
                file.write("x")
            return (len(counter.read_text()),)

        frame = spark.createDataFrame(spark.sparkContext.parallelize([0], 1).map(another), "c int")
        with open_table(frame, NUMBER) as table:
            assert table.source.copies
            assert total(table) == total(table) == 1

    @pytest.mark.audit
    def test_rows_that_somebody_cached_are_copied(self, spark: Any, tmp_path: Path) -> None:
        path = write(tmp_path / "a.parquet", [1, 2, 3])
        frame = spark.read.parquet(path).cache()
        assert frame.count() == 3
        write(tmp_path / "a.parquet", [7, 8, 9])
        try:
            with open_table(frame, NUMBER) as table:
                before = total(table)
                frame.unpersist(True)
                assert total(table) == before
        finally:
            frame.unpersist(True)

    @pytest.mark.audit
    def test_a_copy_that_was_lost_is_not_read_anew(self, spark: Any) -> None:
        frame = spark.createDataFrame([(1,), (2,)], "c int")
        with open_table(frame, NUMBER) as table:
            assert total(table) == 3
            kept = spark.sparkContext._jsc.getPersistentRDDs()
            for number in list(kept):
                kept[number].unpersist(True)
            with pytest.raises(EngineError):
                total(table)


@pytest.mark.audit
@pytest.mark.parametrize("person", ["id", None])
def test_people_have_the_same_numbers_in_every_run(spark: Any, person: str | None, tmp_path: Path) -> None:
    """Spark computes what it lost again, in any order: rows of two runs must lead to the same people."""
    numbers = Schema({"c": domain.integers(0, 99)}, person=person, **({"rows_per_person": 1} if person else {}))
    seen = []
    for place, cells in enumerate(([5, 3, 9, 1], [1, 9, 3, 5])):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"c": cells, "id": [f"n{cell}" for cell in cells]}), path)
        with open_database({"visits": spark.read.parquet(str(path))}, Database({"visits": numbers})) as opened:
            held = opened.run(opened.held(ROSTER if person else "visits")).to_pydict()
        seen.append(dict(zip(held[PERSON], held["sfumato_number"] if person else held["c"], strict=True)))
    assert seen[0] == seen[1] and len(seen[0]) == 4
