"""Every kind of question with every method, engine and learner, on a small table: what tests that walk them all share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import pyarrow

from sfumato import Approximate, Concentrated, Pure, Schema, Truncated
from sfumato.errors import SfumatoError
from sfumato.learn import (
    ExponentialLearner,
    LabelPrivate,
    PrivateBox,
    PrivatePoint,
    PrivateThreshold,
    RobustHalfspace,
    SanitizeThenLearn,
    SemiPrivate,
)
from sfumato.learn.question import Learn
from sfumato.privacy import REPLACE_ONE, Bound, Relation
from sfumato.release import Count, GroupBy, Histogram, Mean, People, Question, Sum, Variance
from sfumato.release.distribution.choice import METHODS as CURVES
from sfumato.release.distribution.question import Distribution
from sfumato.release.geometry.build import ENGINES as BODIES
from sfumato.release.geometry.question import Shaped
from sfumato.release.popular.question import ENGINES, Popular
from sfumato.release.prepared import Prepared
from sfumato.release.quantiles import Quantiles
from sfumato.release.quantiles.choice import METHODS as CUTS
from sfumato.release.synopsis.methods import ROOMS
from sfumato.release.synopsis.question import Synopsize
from sfumato.release.synthesis.methods import NAMED
from sfumato.release.synthesis.question import Synthesize
from sfumato.release.workload.builders import marginals
from sfumato.release.workload.question import Answers
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from tests.imputed import booleans, categories, integers, text

PEOPLE = 240
BITS = tuple(f"b{place}" for place in range(8))
SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "sex": categories("Female", "Male"),
        "town": text(max_bytes=20),
        "address": integers(0, 10**12),
        "caller": integers(0, 2_000),
        "called": integers(0, 2_000),
        "known": integers(0, 9, public=True),
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
    """Return the table's cells: long runs, ties, and texts that hardly anybody has."""
    people = range(PEOPLE)
    return pyarrow.table(
        {
            "age": [17 + (7 * row) % 60 for row in people],
            "sex": ["Female" if row % 2 else "Male" for row in people],
            "town": [f"town {row % 7}" if row % 5 else f"hamlet {row}" for row in people],
            "address": [(row * row * 77_777) % 10**9 for row in people],
            "caller": [row % 40 for row in people],
            "called": [(3 * row) % 40 for row in people],
            "known": [row % 10 for row in people],
            **{name: [row * (place + 1) % (place + 2) == 0 for row in people] for place, name in enumerate(BITS)},
        }
    )


def table() -> Table:
    """Open the table."""
    return open_table(rows(), SCHEMA, snapshot="small")


def _questions() -> dict[str, Question]:
    pairs = marginals(SCHEMA, sets=[("b0", "b1"), ("b1", "b2"), ("b0", "b2")])
    one = marginals(SCHEMA, sets=[("sex",)])
    few = ("b0", "b1", "b2")
    options: dict[str, dict[str, Any]] = {"tree": {"most_leaves": 2}}
    learners = {
        "PrivateThreshold": PrivateThreshold(),
        "PrivatePoint": PrivatePoint(),
        "PrivateBox": PrivateBox(),
        "RobustHalfspace": RobustHalfspace(),
        "SanitizeThenLearn": SanitizeThenLearn(),
        "SemiPrivate": SemiPrivate("cuts", [[age] for age in range(0, 100, 20)]),
        "ExponentialLearner": ExponentialLearner(["age >= 30", "age >= 60"]),
    }
    return {
        "Count": Count(),
        "Count where": Count("age > 40"),
        "People": People("age > 40", by="sex"),
        "Sum": Sum("age"),
        "Mean": Mean("age"),
        "Mean where": Mean("age", "sex = 'Male'"),
        "Variance": Variance("age"),
        "Histogram": Histogram("age"),
        "Histogram found": Histogram("town", keys="private"),
        "Histogram large": Histogram("address", keys="private"),
        **{f"Quantiles {method}": Quantiles("age", method=method) for method in CUTS},
        "Quantiles text": Quantiles("town"),
        **{f"Distribution {method}": Distribution("address", method=method) for method in CURVES},
        "Distribution small": Distribution("age"),
        "GroupBy": GroupBy("sex", [Count(), Mean("age")]),
        "GroupBy found": GroupBy("town", [Count(), Mean("age")], keys="private"),
        "Answers": Answers(marginals(SCHEMA, sets=[("age", "sex"), ("age",)])),
        **{f"Shaped {engine}": Shaped(one, engine=engine) for engine in ("auto", *BODIES, "recursive")},
        **{f"Popular {engine}": Popular(["age", "sex"], engine=engine) for engine in ENGINES},
        **{f"Synopsize {name}": Synopsize(name, few, options.get(name, {})) for name in ROOMS if name != "cuts"},
        "Synopsize cuts": Synopsize("cuts", ("caller", "called")),
        "Synopsize cuts by pairs": Synopsize("cuts", ("caller", "called"), {"by": "pairs"}),
        "Synthesize auto": Synthesize(columns=("age", "sex")),
        "Synthesize auto, chosen": Synthesize(columns=BITS),
        **{f"Synthesize {name}": Synthesize(pairs, method=name) for name in NAMED},
        **{f"Learn {name}": Learn.of(learner, "age", "b0") for name, learner in learners.items()},
        "Learn LabelPrivate": Learn.of(LabelPrivate("cuts", accuracy=0.5), "known", "b0"),
    }


QUESTIONS = _questions()


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
