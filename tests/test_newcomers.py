"""What a newcomer forgets is asked for: a law without a promise case, a question that nobody can type, a wall left open."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_house import fresh

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sfumato"
ROOMS_OF_QUESTIONS = ("ask", "curator", "learn", "publish", "questions", "sql", "totals", "workload")
NOISE_IS_MADE = {
    # where noise is made for what a question reads: from which gauge how far the numbers move
    "learn/linear_shares.py": "of the readings of a linear model, by `linear_moves` for the gauge's rows and relation",
    "questions/conversation/opening.py": "of one query, which a person moves by their rows",
    "questions/queries/noisy.py": "prices of what the workload's sensitivity states",
    "questions/synopsis/weighted.py": "of weighted sums, from the weights and the gauge's rows",
    "totals/column_tree/points.py": "of the points of a tree of columns, from one row a person",
    "totals/noisy.py": "of totals, by `Moves.of(gauge, …)`",
    "totals/rank_error.py": "of a rank error, which a person moves by the gauge's rows",
    "workload/moves.py": "of a workload, from what its blocks move for the gauge's rows",
}
OWN_WAY = {"Shaped": "a paper's own question", "Select": "`curator.sql` and `sfumato sql`"}


def kinds() -> list[str]:
    import sfumato.learn.question
    import sfumato.papers.query_release  # noqa: F401  registers its question
    from sfumato.ask.question import QUESTIONS

    return [kind for kind in QUESTIONS if QUESTIONS[kind].__module__.startswith("sfumato.") and kind not in OWN_WAY]


def test_every_law_of_noise_is_tried_and_its_promise_enumerated() -> None:
    from sfumato.noise import LAWS

    promises = "\n".join(path.read_text() for path in (ROOT / "tests" / "promises").glob("cases_*.py"))
    tried = (ROOT / "tests" / "noise" / "cases.py").read_text()
    papers = (ROOT / "docs" / "papers.md").read_text()
    for name in LAWS:
        law = LAWS[name]
        if not law.__module__.startswith("sfumato."):
            continue  # a law that another test made up
        assert re.search(rf"\b{name}\(", promises), f"{name} has no case in tests/promises: its price is not proved"
        assert re.search(rf"\b{name}\(", tried), f"{name} is not in tests/noise/cases.py: its draws are not compared"
        assert law.spec in papers, f"{law.spec} of {name} has no row in docs/papers.md"


def test_the_contract_between_questions_holds_for_every_folder() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (apart,) = [one for one in contracts if one["type"] == "independence"]
    folders = [path.parent.name for path in (SOURCE / "questions").glob("*/__init__.py")]
    assert apart["modules"] == ["sfumato.questions.*"] and len(folders) > 5


def test_noise_for_questions_is_made_in_few_places_that_ask_a_gauge() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for room in ROOMS_OF_QUESTIONS
        for path in (SOURCE / room).rglob("*.py")
        if _makes_noise(path)
    }
    assert found == set(NOISE_IS_MADE), "take how far numbers move from a gauge, by one of these, or say why not"


def _makes_noise(path: Path) -> bool:
    called = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id in ("calibrate", "AdditiveNoise") for one in called)


@pytest.mark.parametrize("kind", kinds())
def test_every_question_can_be_typed_named_and_read_about(kind: str) -> None:
    import sfumato as sf
    from sfumato.ask.question import QUESTIONS
    from sfumato.curator.typed import INSTEAD, typed_words

    made = QUESTIONS[kind]
    words = made.typed or (kind.lower(),)  # Count, Sum, Mean and Variance are read with their groups
    assert set(words) <= set(typed_words()), (
        f"say in {kind}.typed which words it is asked by, and read them in of_phrase"
    )
    assert not set(words) & set(INSTEAD), f"{words} are questions now, and curator/typed.py says what to write instead"
    assert kind == "Learn" or hasattr(sf, kind), f"sf.{kind} is not there"
    pages = [path.read_text() for path in (ROOT / "docs").glob("*.md") if path.name not in ("papers.md", "spends.md")]
    method = {"Queries": "answer", "GroupBy": "group_by", "Synopsize": "synopsis", "GroupAudit": "audit"}
    asked = re.compile(rf"\b{kind}\(|curator\.{method.get(kind, kind.lower())}\(")
    assert any(asked.search(page) for page in pages), f"no page of docs/ shows how {kind} is asked"


def test_what_a_class_tells_is_known_before_its_folder_is_loaded() -> None:
    """Titles, stored shapes and earlier words are asked for by name, by rooms that import no question."""
    said = fresh(
        "from sfumato.ask.packing import _shape; from sfumato.show.titles import title_of\n"
        "from sfumato.ask.question import question_from_json; from sfumato.table.schema import Schema\n"
        "from sfumato.domain import integers\n"
        "print(title_of({'question': 'Popular', 'columns': ['job']}), _shape('distribution.Cells').__name__)"
    )
    assert said == "Popular values of job Cells"
    assert fresh("from sfumato.ask.question import _now; print(_now('Answers'))") == "Queries"
