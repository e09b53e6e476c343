"""Every question of `tests.replay.questions` on a table of a few hundred people: what tests that walk them all share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import pyarrow

from sfumato import Approximate, Concentrated, Pure, Schema, Truncated
from sfumato.ask.prepared import Prepared
from sfumato.domain import bins
from sfumato.errors import SfumatoError
from sfumato.privacy import REPLACE_ONE, Bound, Relation
from sfumato.questions import Question
from sfumato.questions.distribution.choice import METHODS as CURVES
from sfumato.questions.distribution.question import Distribution
from sfumato.questions.synthesis.question import Synthesize
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from tests.imputed import booleans, categories, integers, text
from tests.replay.questions import every_question
from tests.replay.worlds import COLUMNS

PEOPLE = 240
BITS = tuple(f"b{place}" for place in range(8))
SCHEMA = Schema(
    {
        **COLUMNS,
        # Larger than where all neighbours are looked at: long trees, long runs, texts that hardly anybody has.
        "age": integers(0, 99),
        "town": text(max_bytes=20),
        "address": integers(0, 10**12),
        "caller": integers(0, 2_000),
        "called": integers(0, 2_000),
        "level": integers(0, 9, public=True),
        "decade": bins("age", step=10),
        "half": bins("age", step=50),
        "sex": categories("Female", "Male"),
        **{name: booleans() for name in BITS},
    }
)
SPENDS: dict[str, Bound] = {
    "Pure": Pure(1),
    "Concentrated": Concentrated("0.1"),
    "Truncated": Truncated("0.1", 10),
    "Approximate": Approximate(1, "1e-6"),
}


def rows() -> Any:
    """Return the table's cells: long runs, ties, missing cells, and texts that hardly anybody has."""
    people = range(PEOPLE)
    return pyarrow.table(
        {
            "age": [17 + (7 * row) % 60 for row in people],
            "pay": [row % 7 / 2 - 1 if row % 11 else None for row in people],
            "job": ["abz"[row % 3] for row in people],
            "ill": [row % 3 == 0 for row in people],
            "scar": [row % 4 == 0 if row % 13 else None for row in people],
            "seen": [date(2020, 1, 1) + timedelta(days=row % 91) for row in people],
            "ward": ["ns"[row % 2] for row in people],
            "sex": ["Female" if row % 2 else "Male" for row in people],
            "town": [f"town {row % 7}" if row % 5 else f"hamlet {row}" for row in people],
            "address": [(row * row * 77_777) % 10**9 for row in people],
            "caller": [row % 40 for row in people],
            "called": [(3 * row) % 40 for row in people],
            "level": [row % 10 for row in people],
            **{name: [row * (place + 1) % (place + 2) == 0 for row in people] for place, name in enumerate(BITS)},
        }
    )


def table() -> Table:
    """Open the table."""
    return open_table(rows(), SCHEMA, snapshot="small")


QUESTIONS: dict[str, Question] = {
    **every_question(SCHEMA),
    # What only a larger table has: a long line, and more tables than are all measured.
    **{f"Distribution {method}, a long line": Distribution("address", method=method) for method in CURVES},
    "Synthesize auto, chosen": Synthesize(columns=BITS),
}


def cells(
    opened: Table, relation: Relation = REPLACE_ONE, wanted: Collection[str] = tuple(QUESTIONS)
) -> Iterator[tuple[str, Iterator[Prepared]]]:
    """Yield the wanted questions, each with what is prepared at every spend that is not refused."""
    setting = Basis(SCHEMA, opened.people, relation)
    for name, question in QUESTIONS.items():
        if name in wanted:
            yield name, _prepared(question, setting)


def _prepared(question: Question, setting: Basis) -> Iterator[Prepared]:
    for spend in SPENDS.values():
        with suppress(SfumatoError):
            yield question.canonical(SCHEMA).prepare(setting, spend)
