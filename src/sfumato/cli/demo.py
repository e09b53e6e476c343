"""A short story on made-up people: three answers, one refusal, the report and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.curator import curate
from sfumato.domain import bins, categories, integers
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Budget
from sfumato.noise import Noise
from sfumato.privacy import Pure
from sfumato.questions import Count, Histogram, Mean
from sfumato.show import table
from sfumato.show.views import readable
from sfumato.table.rehearsal import random_rows
from sfumato.table.schema import Schema

PEOPLE = 5000
ANSWERS = {
    "membership": False,
    "repeated": False,
    "homogeneous": False,
    "heterogeneous": True,
    "correlated": True,
    "identity": False,
    "bits": False,
    "ignorance": False,
}


@dataclass(frozen=True)
class Story:
    """What was asked, what came out, what was refused, and what was written."""

    rows: tuple[tuple[str, str, str], ...]
    refusal: str
    guarantee: str
    written: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "answers": [dict(zip(("question", "value", "interval"), row, strict=True)) for row in self.rows],
            "refusal": self.refusal,
            "guarantee": self.guarantee,
            "written": list(self.written),
        }

    def text(self) -> str:
        """Return the story for a terminal."""
        drawn = table(
            f"{PEOPLE} made-up people", ["question", "answer", "95 % interval (privacy noise only)"], self.rows
        )
        files = "\n".join(f"  {name}" for name in self.written)
        return f"{drawn.text()}\n\n{self.refusal}\n\n{self.guarantee}\n\nWritten:\n{files}"


def run_demo(out: Path) -> Story:
    """Ask, be refused, report; nobody real is in the data."""
    schema = Schema(
        {
            "age": integers(0, 99),
            "decade": bins("age", step=10),
            "sex": categories("Female", "Male"),
            "hours": integers(0, 60),
        }
    )
    people = random_rows(schema, PEOPLE, Noise())
    with curate(people, schema, Budget(person=Pure(2), each_attribute=Pure(1))) as curator:
        rows = []
        for name, question in (
            ("people over 64", Count("age > 64")),
            ("mean hours of women", Mean("hours", "sex = 'Female'")),
        ):
            answer = curator.ask(question, Pure(0.4))
            low, high = answer.interval()
            rows.append(
                (
                    name,
                    readable(answer.value, high - low),
                    f"{readable(low, high - low)} to {readable(high, high - low)}",
                )
            )
        out.mkdir(parents=True, exist_ok=True)
        picture = out / "decades.svg"
        curator.ask(Histogram(("decade",)), Pure(0.5)).plot(picture, overwrite=True)
        refusal = ""
        try:
            curator.ask(Histogram(("age",)), Pure(0.5))
        except BudgetExceeded as refused:
            refusal = f"One more histogram of ages, for Pure(0.5): {refused}"
        report = curator.report(ANSWERS)
        written = (str(picture), str(report.save(out / "report.html", overwrite=True)))
        return Story(tuple(rows), refusal, report.person.guarantee_text, written)
