"""The main job on real data: a dozen questions about UCI Adult under person and attribute limits.

Run it with `make demo`. It writes the ledger, the pictures and the report to `out/`.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import sfumato as sf
from sfumato import Pure
from sfumato.answer import Answer, Frame
from sfumato.curator import Curator
from sfumato.errors import BudgetExceeded
from sfumato.privacy import Bound
from sfumato.questions import Question

HERE = Path(__file__).resolve().parent
DATA, SCHEMA = HERE / "data" / "adult.parquet", HERE / "data" / "adult.toml"
OUT = HERE.parent / "out"

BUDGET = sf.Budget(
    person=Pure(4),  # everything, about one person
    each_attribute=Pure(2),  # everything, about one attribute of one person
    attributes={("race", "sex"): Pure("5/2")},  # two attributes together
    people={2: Pure(8)},  # everything, about any couple
)

QUESTIONS: tuple[tuple[str, Question, Bound | None, str], ...] = (
    ("How many people are there? Public, so it is free", sf.Count(), None, ""),
    ("How many are older than 64?", sf.Count("age > 64"), Pure(0.1), "older"),
    ("How many women earn more than 50K?", sf.Count("sex = 'Female' AND income = '>50K'"), Pure(0.1), ""),
    ("How many hours are worked in all?", sf.Sum("hours_per_week"), Pure(0.1), ""),
    ("How long is the mean week of those under 30?", sf.Mean("hours_per_week", "age < 30"), Pure(0.2), "week"),
    ("How widely do weeks spread?", sf.Variance("hours_per_week"), Pure(0.2), ""),
    ("How old are people?", sf.Histogram("decade"), Pure(0.2), "decades"),
    ("What do they do for a living?", sf.Histogram("occupation"), Pure(0.2), "occupations"),
    ("Education and income", sf.Histogram(("education", "income")), Pure(0.2), "education"),
    ("Quartiles of age", sf.Quantiles("age"), Pure(0.3), "quartiles"),
    ("By sex and race", sf.GroupBy(("sex", "race"), (sf.Count(), sf.Mean("hours_per_week"))), Pure(0.4), "groups"),
    (
        "Which weeks are common at which age? Pairs are found",
        sf.Histogram(("age", "hours_per_week"), keys="private"),
        Pure(0.4),
        "",
    ),
)

ANSWERS = {
    "membership": False,
    "repeated": False,
    "homogeneous": False,
    "heterogeneous": True,
    "correlated": True,
    "identity": True,
    "bits": False,
    "ignorance": False,
}


def shown(answer: Answer) -> tuple[str, str]:
    """Return an answer and what the noise may have moved, in a few words."""
    value = answer.value
    if not isinstance(value, Frame):
        low, high = answer.interval()
        if low == high:
            return f"{value:,}", "exact"
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}", f"{low:,.7g} to {high:,.7g}"
    if "probability" in value.keys:
        column = next(name for name in value.columns if name != "probability")
        return ", ".join(map(str, value[column])), f"± {answer.interval()['rank error'][0]} ranks"
    measure = next(name for name in value.columns if name not in value.keys)
    best = max(range(len(value)), key=lambda place: value[measure][place])
    named = " and ".join(str(value[key][best]) for key in value.keys)
    ends = answer.interval()
    return (
        f"{len(value)} rows; the most: {named}, {value[measure][best]:,}",
        f"{ends[f'{measure}, low'][best]:,.6g} to {ends[f'{measure}, high'][best]:,.6g}",
    )


def ask_everything(curator: Curator, console: Console) -> list[str]:
    """Ask all questions and print a table of answers; return the pictures that were written."""
    table = Table(title="Twelve questions", title_justify="left")
    for name in ("question", "spend", "answer", "95 % of the noise"):
        table.add_column(name, overflow="fold")
    pictures = []
    for text, question, spend, picture in QUESTIONS:
        answer = curator.ask(question, spend)
        table.add_row(text, "free" if spend is None else str(spend), *shown(answer))
        if picture:
            answer.plot(OUT / f"{picture}.svg", overwrite=True)
            pictures.append(f"{picture}.svg")
    console.print(table)
    return pictures


def be_refused(curator: Curator, console: Console) -> None:
    """Ask for more than is left, and take what fits."""
    greedy = sf.Histogram("age")
    try:
        curator.ask(greedy, Pure(3))
    except BudgetExceeded as refusal:
        console.print(f"[bold]One question too many:[/] every age, for Pure(3). {refusal}\n", highlight=False)
        console.print(f"[bold]A preview is free:[/] for Pure(0.1): {curator.preview(greedy, Pure(0.1)).text}")
    again = curator.count("age > 64", spend=Pure(0.1))
    console.print(f"[bold]Asked again:[/] older than 64: {again.value:,}; reused, free: {again.reused}\n")


def show_ledger(curator: Curator, console: Console) -> None:
    """Print the limits that were touched, and check the books."""
    table = Table(title="The ledger: what is used of each limit. A meter, not a promise", title_justify="left")
    for name in ("limit on", "used"):
        table.add_column(name)
    for reading in curator.ledger.readings():
        if reading.percent:
            table.add_row(reading.name, f"{'█' * (reading.percent // 4):<25} {reading.percent:>3} %")
    console.print(table)
    checked = curator.ledger.verify()
    console.print(f"Verified: {checked.rows} rows of the chain, {len(checked.problems)} problems.\n", highlight=False)


def main() -> None:
    """Ask everything, be refused once, and write the report."""
    started = time.perf_counter()
    console = Console() if sys.stdout.isatty() else Console(width=120)
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("adult.ledger*"):
        # The demo starts afresh; a real ledger, and what is kept beside it while it draws, is never thrown away.
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    with sf.curate(DATA, SCHEMA, BUDGET, ledger=OUT / "adult.ledger", snapshot="1994") as curator:
        console.rule("[bold]UCI Adult: 48,842 people, asked privately", align="left")
        console.print(f"{curator.ledger.guarantee_text()}\n", highlight=False)
        pictures = ask_everything(curator, console)
        be_refused(curator, console)
        show_ledger(curator, console)
        report = curator.report(ANSWERS, sets=[("race", "sex", "age")])
        report.save(OUT / "report.html")
    console.print(f"[bold]Written to {OUT}:[/] report.html, adult.ledger, {', '.join(pictures)}", highlight=False)
    console.print(f"{time.perf_counter() - started:.1f} seconds.", highlight=False)


if __name__ == "__main__":
    main()
