"""What docs/sql.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sfumato.table.database import Database

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")


def test_the_page_runs() -> None:
    found: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), found)
    answer = found["answer"]
    assert list(answer.value) == ["sex", "people", "visits", "least"]
    assert list(answer.frame) == [*answer.value, "people, low", "people, high"]  # the ends of visits were asked for
    assert set(answer.loss.profile.names()) == {"patients.sex", "visits.year"}
    found["curator"].close()


def test_a_database_in_toml_is_the_one_in_python() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    made = Database.from_toml(text)
    assert made.attributes == ("patients.sex", "patients.town", "visits.year", "visits.cost")
    assert Database.from_toml(made.to_toml()) == made == Database.from_json(made.to_json())


def test_a_mean_a_patient_takes_at_most_eight_lines() -> None:
    (block,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "WITH per" in one]
    assert len(block.strip().splitlines()) <= 8
