"""The page of the last audit is read as it was written, and a result outlives changes that its check cannot reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kept_results import Results, longest_first, remembered
from tests.reach import House
from tests.run_audit import on_page, page, states

SEEN: Results = {
    "tests/ask/test_lists.py::test_counts[Pure(1)|a b]": ("passed", 1.5),
    "tests/test_storing.py::test_kills": ("failed", 0.1),
    "tests/table/test_spark.py::TestOnSpark::test_wide[500]": ("skipped", 0.0),
}


def test_a_page_is_read_as_it_was_written() -> None:
    text = page(SEEN, lambda file: "0123456789ab", whole=False)
    assert on_page(text, lambda file: "0123456789ab") == SEEN
    assert "cut short" in text and "1 of 3 checks passed, 1 failed" in text
    assert "Audit complete" in page(SEEN, lambda file: "0123456789ab", whole=True)


def test_results_of_other_files_are_not_taken() -> None:
    text = page(SEEN, lambda file: "0123456789ab", whole=True)
    others = on_page(text, lambda file: "ba9876543210" if "spark" in file else "0123456789ab")
    assert set(others) == {name for name in SEEN if "spark" not in name}
    assert on_page(text, None) == SEEN  # how long they took is known all the same


def test_long_checks_begin_first_and_the_others_stay_in_order(tmp_path: Path) -> None:
    names = ["tests/a.py::quick", "tests/a.py::long", "tests/b.py::slow", "tests/b.py::new"]
    (tmp_path / "audit-old.jsonl").write_text(
        '["tests/a.py::long", "passed", 60.0]\n["tests/b.py::slow", "failed", 90]\n'
    )
    seconds = remembered(tmp_path / "audit-new.jsonl")
    assert seconds == {"tests/a.py::long": 60, "tests/b.py::slow": 90}
    assert longest_first(names, seconds) == [names[2], names[1], names[0], names[3]]
    law = "tests/replay/test_law.py::test_all_laws_that_can_be_listed_are_within_what_is_stated[one row]"
    assert longest_first([*names, law], {}) == [law, *names]


FILES = {
    "pyproject.toml": "",
    "requirements.lock": "",
    "docs/guide.md": "",
    "src/sfumato/__init__.py": """
from sfumato.errors import Wrong
_HOMES = {"sfumato.ask": "Count", "sfumato.local": "Plan"}
_ELSEWHERE = {}
def __getattr__(name):
    return import_module(f"sfumato.{name}")
""",
    "src/sfumato/errors.py": "",
    "src/sfumato/ask.py": "def ask():\n    from sfumato import noise\nROOMS = {'shaped': 'sfumato.papers.shapes'}",
    "src/sfumato/noise.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sfumato.local import Plan",
    "src/sfumato/local.py": "",
    "src/sfumato/papers/__init__.py": "HOMES = {'Box': f'{__name__}.boxes'}",
    "src/sfumato/papers/boxes.py": "",
    "src/sfumato/papers/shapes.py": "",
    "src/sfumato/serve.py": "",
    "src/sfumato/fair/__init__.py": """
from sfumato.moved import later, moved
HOMES = {"Metric": f"{__name__}.metric", "audit": "sfumato.fair.audits"}
__getattr__, __dir__ = later(__name__, HOMES, {"old": "sfumato.serve"})
""",
    "src/sfumato/fair/metric.py": "from sfumato.noise import Noise",
    "src/sfumato/fair/audits.py": "",
    "src/sfumato/fair/grid.py": "",
    "src/sfumato/learn/__init__.py": "__getattr__, __dir__ = later(__name__, {'audit': 'sfumato.fair'})",
    "src/sfumato/moved.py": "",
    "tests/test_grid.py": "from sfumato.fair.grid import on_grid",
    "tests/test_metric.py": "from sfumato import fair\nfair.Metric",
    "tests/test_chain.py": "import sfumato as sf\ndef test():\n    sf.fair.audit()",
    "tests/test_member.py": "from sfumato.fair import audit",
    "tests/test_far.py": "from sfumato.learn import audit",
    "tests/test_text.py": "HOME = 'sfumato.fair.Metric'",
    "tests/test_handed.py": "def test():\n    getattr(fair, name)\nfrom sfumato import fair",
    "tests/test_handed_chain.py": "import sfumato\nprint(sfumato.fair)",
    "tests/test_homes.py": "from sfumato.fair import HOMES",
    "tests/test_begun.py": "import_module(f'tests.cases_{name}')",
    "tests/cases_a.py": "",
    "tests/test_made_up.py": "import_module(name)",
    "tests/test_copied.py": "import multiprocessing\nfrom sfumato.noise import Noise",
    "tests/conftest.py": "",
    "tests/__init__.py": "",
    "tests/shared.py": "from sfumato.papers.shapes import Shape\nPLACE = Path(__file__).with_name('known.toml')",
    "tests/known.toml": "",
    "tests/test_names.py": "import sfumato as sf\nsf.Count()",
    "tests/test_shared.py": "from .shared import Shape\nfrom sfumato import Plan",
    "tests/test_whole.py": "import sfumato\nprint(dir(sfumato))",
    "tests/test_program.py": "import subprocess",
    "tests/test_guide.py": 'PAGE = ROOT / "docs" / "guide.md"',
    "src/sfumato/papers/golden.json": "{}",
    "tests/data/people.csv": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_check_reaches_what_it_imports_by_any_way(root: Path) -> None:
    house = House(root)

    def reached(file: str) -> set[str]:
        return {path.stem for path in house.reached(f"tests/{file}.py") if path.stem != "__init__"}

    rooms = {"boxes", "shapes"}  # a package that makes names up reaches all of its modules
    assert reached("test_names") == {"test_names", "errors", "ask", "noise"} | rooms
    assert reached("test_shared") == {"test_shared", "shared", "errors", "local"} | rooms
    assert reached("test_guide") == {"test_guide", "guide"}
    for whole in ("test_whole", "test_program"):
        assert {"ask", "noise", "local", "serve"} | rooms < reached(whole)


def test_a_room_that_loads_its_names_one_by_one_is_reached_by_the_names_that_are_asked_for(root: Path) -> None:
    house = House(root)

    def reached(file: str) -> set[str]:
        found = {path.stem for path in house.reached(f"tests/{file}.py") if path.stem != "__init__"}
        return found - {file, "moved", "errors"}

    assert reached("test_grid") == {"grid"}
    assert reached("test_metric") == reached("test_text") == {"metric", "noise"}
    assert reached("test_chain") == reached("test_member") == reached("test_far") == {"audits"}
    for whole in ("test_handed", "test_handed_chain", "test_homes"):
        assert reached(whole) == {"metric", "noise", "audits", "grid"}


def test_names_that_are_made_up_reach_what_begins_as_they_do(root: Path) -> None:
    house = House(root)
    assert {path.name for path in house.reached("tests/test_begun.py")} == {
        "__init__.py",
        "cases_a.py",
        "test_begun.py",
    }
    assert root / "src/sfumato/serve.py" in house.reached("tests/test_made_up.py")
    # A copy of the process runs what was imported.
    assert {path.stem for path in house.reached("tests/test_copied.py")} == {
        "test_copied",
        "noise",
        "errors",
        "__init__",
    }


def test_a_result_outlives_changes_that_its_check_cannot_reach(root: Path) -> None:
    files = [f"tests/{name}.py" for name in ("test_names", "test_shared", "test_program", "test_guide")]

    def after(name: str) -> list[bool]:
        before = [states(House(root))(file) for file in files]
        (root / name).write_text((root / name).read_text(encoding="utf-8") + "\n", encoding="utf-8")
        return [states(House(root))(file) == one for file, one in zip(files, before, strict=True)]

    assert after("src/sfumato/serve.py") == [True, True, False, True]
    assert after("src/sfumato/local.py") == [True, False, False, True]
    assert after("src/sfumato/noise.py") == [False, True, False, True]
    assert after("docs/guide.md") == [True, True, True, False]
    assert after("src/sfumato/papers/golden.json") == [False, False, False, True]
    assert after("tests/known.toml")[:2] == [True, False]  # the one who reads it names it
    for shared in ("tests/conftest.py", "requirements.lock", "tests/data/people.csv"):
        assert after(shared) == [False] * 4
