"""Rules of the house that no single room can check: start-up time, map of the papers, size of modules."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from itertools import chain, combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "sfumato").rglob("*.py"))
HEAVY = ("flint", "scipy", "matplotlib", "cryptography", "sqlalchemy", "ibis", "duckdb", "pyarrow", "pandas", "numba")


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_sfumato_loads_nothing_heavy():
    loaded = fresh("import sys, sfumato; print(' '.join(name for name in sys.modules if '.' not in name))").split()
    assert not set(HEAVY) & set(loaded)


def test_importing_sfumato_is_quick():
    """CPU seconds of the import alone, best of three: a bound on work, not on a busy machine's clock."""
    timed = "import time; t = time.process_time(); import sfumato; print(time.process_time() - t)"
    assert min(float(fresh(timed)) for _ in range(3)) < 0.3


def test_every_public_name_can_be_loaded():
    import sfumato

    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    with pytest.raises(AttributeError, match="dir"):
        sfumato.nothing_of_the_kind  # noqa: B018


OLD_NAMES = {
    "sfumato.Answers": "sfumato.Queries",
    "sfumato.questions.Answers": "sfumato.Queries",
    "sfumato.domain.Rule": "sfumato.domain.Derivation",
    "sfumato.ledger.Plan": "sfumato.ledger.PlannedReleases",
    "sfumato.questions.synopsis.Plan": "sfumato.questions.synopsis.SynopsisPlan",
    "sfumato.questions.conversation.Plan": "sfumato.questions.conversation.ConversationPlan",
    "sfumato.workload.Conjunction": "sfumato.workload.OneCell",
    "sfumato.papers.private_learning.Blocks": "sfumato.papers.private_learning.SplitDatabases",
    "sfumato.papers.query_release.geometry.Candidate": "sfumato.papers.query_release.geometry.Contender",
    "sfumato.questions.quantiles.Facts": "sfumato.questions.quantiles.QuantileFacts",
    "sfumato.answer.Measured": "sfumato.answer.NoisyPart",
    "sfumato.audit.Release": "sfumato.audit.ReleaseKind",
    "sfumato.publish.memory.Rule": "sfumato.publish.memory.CountingRule",
    "sfumato.sql.plan.Plan": "sfumato.sql.plan.StatementPlan",
    "sfumato.table.engine.Plan": "sfumato.table.engine.PlannedQuery",
    "sfumato.local.Collectors": "sfumato.local.CollectorSet",
    "sfumato.local.Item": "sfumato.local.PopularItem",
    "sfumato.report.Row": "sfumato.report.ReportLine",
    "sfumato.show.Row": "sfumato.show.IntervalLine",
}


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_says_the_new_one_and_that_is_there(old):
    def find(name):
        room, _, last = name.rpartition(".")
        return getattr(import_module(room), last)

    assert isinstance(find(OLD_NAMES[old]), type)
    with pytest.raises(AttributeError, match=rf"is now {re.escape(OLD_NAMES[old])};"):
        find(old)


def test_no_two_public_classes_differ_by_one_letter():
    rooms = sorted((ROOT / "src" / "sfumato").rglob("__init__.py"))
    names = sorted({name for room in rooms for name in exported(room)})
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    assert len(classes) > 200
    assert one_letter_apart(classes) == []
    assert one_letter_apart(["Answer", "Answers", "Sum"]) == [("Answer", "Answers")]


def exported(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            yield from ast.literal_eval(node.value)


def one_letter_apart(names):
    shortened = {name: {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))} for name in names}
    return [
        (one, two)
        for one, two in combinations(names, 2)
        if abs(len(one) - len(two)) == 1 and (one in shortened[two] or two in shortened[one])
    ]


def test_every_question_has_a_method_of_the_curator_that_returns_an_answer():
    import sfumato.papers.query_release  # noqa: F401  registers its question
    from sfumato import Curator, questions
    from sfumato.ask.question import QUESTIONS

    methods = {"Queries": "answer", "GroupBy": "group_by", "Synopsize": "synopsis", "GroupAudit": "audit"}
    shipped = [kind for kind in QUESTIONS if QUESTIONS[kind].__module__.startswith("sfumato.")]
    for kind in shipped:
        if kind not in ("Shaped", "Select"):  # of a paper: curator.ask(Shaped(...)); of a statement: curator.sql(...)
            method = getattr(Curator, methods.get(kind, kind.lower()))
            assert inspect.signature(method).return_annotation == "Answer", kind
    assert set(questions.__all__) >= {kind for kind in shipped if kind not in ("Shaped", "Learn", "Select")}


def test_ledgers_keep_the_words_of_renamed_questions():
    from sfumato import Popular, Queries, Schema, booleans, workloads
    from sfumato.errors import ParameterError
    from sfumato.learn import Learn, SanitizeThenLearn
    from sfumato.questions import question_from_json

    schema = Schema({"rain": booleans(), "wind": booleans()})
    for question, kind in ((Queries(workloads.marginals(schema, width=2)), "Answers"), (Popular("rain"), "Popular")):
        stored = question.to_json()
        assert stored["question"] == kind
        assert question_from_json(stored, schema) == question
        assert question_from_json({**stored, "question": type(question).__name__}, schema) == question
    assert Popular("rain", method="tree").to_json()["engine"] == "tree"
    assert question_from_json({"question": "Popular", "columns": ["rain"], "method": "tree"}, schema).method == "tree"
    with pytest.raises(ParameterError, match="write method='tree'"):
        Popular("rain", engine="tree")
    stored = Queries(workloads.marginals(schema, width=2), "local").to_json()
    assert stored["projection"] == "local" and "method" not in stored
    written = {"method" if name == "projection" else name: value for name, value in stored.items()}
    for record in (stored, written):
        assert question_from_json(record, schema).method == "local"
    with pytest.raises(ParameterError, match="write method='none'"):
        Queries(workloads.marginals(schema, width=2), projection="none")
    learn = Learn("SanitizeThenLearn", "rain", "wind", options={"method": "cells"})
    assert learn == Learn("SanitizeThenLearn", "rain", "wind", options={"sanitizer": "cells"})
    assert learn.to_json()["options"] == [["sanitizer", "cells"]]
    with pytest.raises(ParameterError, match="write method='cells'"):
        SanitizeThenLearn("cuts", sanitizer="model")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 500


def test_a_short_module_with_one_importer_is_a_part_of_it():
    importers: dict[str, set[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers.setdefault(name, set()).add(str(path))
    short = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in SOURCES
        if not path.name.startswith("__") and len(path.read_text().splitlines()) <= 30
    }
    assert {name for name in short if len(importers.get(name, ())) == 1} == set()


def test_the_map_of_the_papers_names_tests_that_exist():
    rows = [line for line in (ROOT / "docs" / "papers.md").read_text().splitlines() if line.startswith("| ")]
    for row in rows[1:]:
        for path in re.findall(r"tests/[\w/]+\.py", row):
            assert (ROOT / path).exists(), f"{path} is named in docs/papers.md and does not exist"


def test_one_class_is_called_plan_and_one_rule() -> None:
    """`sfumato.local.Plan` and `sfumato.learn.Rule`: all others say what they are of."""
    found = re.findall(r"^class (Plan|Rule|Facts)\b", "\n".join(path.read_text() for path in SOURCES), re.MULTILINE)
    assert sorted(found) == ["Plan", "Rule"]


def test_the_table_of_rooms_names_every_room_once_and_says_how_large_it_is() -> None:
    """CONTRIBUTING.md; a room may grow by a tenth before its number is counted anew."""
    home = ROOT / "src" / "sfumato"
    lines = {path.relative_to(home).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    rooms = {name.partition("/")[0].removesuffix(".py") for name in lines} - {"__init__", "__main__"}
    table = re.findall(r"^\| (`.+?) \|.*?\| ([\d,]+) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    named = [[one.partition("/")[0] for one in re.findall(r"`([\w/<>]+)`", said)] for said, _ in table]
    assert sorted(chain.from_iterable(named)) == sorted(rooms) and len(table) > 10
    for mine, (said, number) in zip(named, table, strict=True):
        count = sum(size for name, size in lines.items() if name.partition("/")[0].removesuffix(".py") in mine)
        assert abs(count - int(number.replace(",", ""))) <= max(100, count // 10), (said, count)
