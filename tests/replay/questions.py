"""Every question that a curator can be asked, with every method, engine, builder of workloads and learner.

This is the one list: tests that walk all questions take them from here, for any schema with the names of
`worlds.COLUMNS`. (`tests.spends` has the few that the page about spends shows, in the words of that page.)
"""

from __future__ import annotations

from inspect import getmembers, isfunction

from sfumato import workloads
from sfumato.ask.question import QUESTIONS
from sfumato.learn import HOMES
from sfumato.learn.question import Learn
from sfumato.papers.query_release.geometry.build import METHODS as SHAPES
from sfumato.papers.query_release.geometry.question import Shaped
from sfumato.questions import (
    Count,
    Distribution,
    GroupAudit,
    GroupBy,
    Histogram,
    Mean,
    People,
    Quantiles,
    Question,
    Sum,
    Variance,
)
from sfumato.questions.distribution.choice import METHODS as CURVES
from sfumato.questions.popular.question import METHODS as FINDERS
from sfumato.questions.popular.question import Popular
from sfumato.questions.quantiles.choice import METHODS as RANKS
from sfumato.questions.queries.question import Queries
from sfumato.questions.synopsis.methods import METHODS as SYNOPSES
from sfumato.questions.synopsis.question import Synopsize
from sfumato.questions.synthesis.methods import METHODS as MODELS
from sfumato.questions.synthesis.question import Synthesize
from sfumato.sql.select import Select
from sfumato.table.schema import Schema
from sfumato.workload.builders import marginals
from sfumato.workload.workload import Workload


def built(schema: Schema) -> dict[str, Workload]:
    """Return a workload by every builder."""
    bits = ("ill", "half")
    pairs = workloads.marginals(schema, width=2, columns=("ill", "scar", "job"))
    return {
        "marginals": pairs,
        "conjunctions": workloads.conjunctions(schema, width=2, columns=bits),
        "parities": workloads.parities(schema, width=2, columns=bits),
        "prefixes": workloads.prefixes(schema, "decade"),
        "ranges": workloads.ranges(schema, "decade"),
        "predicates": workloads.predicates(schema, ["ill = true and job = 'b'", "job = 'a'"]),
        "matrix": workloads.matrix(schema, "job", [[1, 0, "1/2"], [0, 1, 1]]),
        "together": workloads.together(pairs, workloads.prefixes(schema, "decade")),
    }


def every_question(schema: Schema) -> dict[str, Question]:
    """Return all of them by name, for the columns of `worlds.COLUMNS`."""
    bits = ("ill", "scar", "age>=4")
    few = marginals(schema, sets=[("ill", "job"), ("ill",)])
    binary = marginals(schema, sets=[("ill", "scar"), ("ill",)])
    return {
        "Count()": Count(),
        "Count(where)": Count("age > 3"),
        "Count(public where)": Count("ward = 'n'"),
        "Count(missing)": Count("pay is null"),
        "People()": People(),
        "People(where)": People("age > 3"),
        "People by": People("ill = true", ("job", "ward")),
        "Sum": Sum("pay"),
        "Sum(where)": Sum("pay", "job = 'b'"),
        "Mean": Mean("age"),
        "Mean(where)": Mean("pay", "ill = true"),
        "Mean of a truth value": Mean("scar", "ward = 'n'"),
        "Variance": Variance("age"),
        "Histogram": Histogram("age"),
        "Histogram of two": Histogram(("job", "ward"), "ill = true"),
        "Histogram of a month": Histogram(("month", "ill")),
        "Histogram of a number and its bins": Histogram(("decade", "half")),
        "Histogram private text": Histogram("town", "ill = true", keys="private"),
        "Histogram private large": Histogram("address", keys="private"),
        "Histogram private two": Histogram(("address", "age"), keys="private"),
        "GroupAudit": GroupAudit("ill", ("job", "ward"), "scar", favourable=True, deserving=True),
        "GroupAudit where": GroupAudit("scar", "job", favourable=True, where="ill = true"),
        "GroupAudit score": GroupAudit("ill", "job", "scar", favourable=True, deserving=True, score="half"),
        "GroupAudit score alone": GroupAudit(None, "job", "scar", deserving=True, score="decade"),
        "GroupBy": GroupBy("job", [Count(), Mean("pay")]),
        "GroupBy decade": GroupBy("decade", [Sum("pay")], "ward = 'n'"),
        "GroupBy private": GroupBy("town", [Count(), Mean("age")], keys="private"),
        **{f"Quantiles {method}": Quantiles("age", ("0.25", "0.5"), method=method) for method in RANKS},
        "Quantiles unmeasured": Quantiles("age", ("0.25", "0.5"), measured=False),
        "Quantiles of one": Quantiles("address", ("0.5",)),
        "Quantiles text": Quantiles("town", ("0.5",)),
        "Quantiles where": Quantiles("pay", ("0.5",), "scar = true"),
        **{f"Distribution {method}": Distribution("age", method=method) for method in CURVES},
        "Distribution large": Distribution("address"),
        "Distribution where": Distribution("age", "ill = true"),
        "Queries": Queries(few),
        "Queries of a number and its bins": Queries(marginals(schema, sets=[("age", "ill"), ("half",), ("decade",)])),
        "Queries of every column": Queries(marginals(schema, width=1, columns=("ill", "scar", "job"))),
        **{f"Queries by {builder}": Queries(workload) for builder, workload in built(schema).items()},
        **{
            f"Shaped {method}": Shaped(binary, method)
            for method in ("auto", *SHAPES, "recursive")
            if method != "linear"
        },
        "Shaped linear": Shaped(marginals(schema, sets=[("ill",)]), "linear"),
        **{
            f"Popular {engine}": Popular(("address", "age", "job"), method=engine)
            for engine in FINDERS
            if engine != "tree"
        },
        "Popular tree": Popular(("age", "job", "caller", "called"), method="tree"),
        "Synthesize auto": Synthesize(columns=("age", "ill", "job")),
        **{f"Synthesize {method}": Synthesize(few, method=method) for method in MODELS if method != "auto"},
        **{f"Synopsize {m}": Synopsize(m, columns=bits) for m in SYNOPSES if m not in ("cuts", "labels")},
        "Synopsize labels": Synopsize("labels", columns=bits, options={"width": 2, "queries": 6}),
        "Synopsize cuts by hubs": Synopsize("cuts", columns=("caller", "called"), options={"by": "hubs"}),
        "Synopsize cuts by pairs": Synopsize("cuts", columns=("caller", "called"), options={"by": "pairs"}),
        "Select": Select("SELECT job, SUM(pay) FROM data WHERE age > 3 GROUP BY job"),
        **LEARNERS,
    }


LEARNERS: dict[str, Question] = {
    "Learn PrivateThreshold": Learn("PrivateThreshold", "age", "ill"),
    "Learn PrivateBox": Learn("PrivateBox", ("age", "caller"), "ill"),
    "Learn PrivateLinearClassifier": Learn("PrivateLinearClassifier", ("age", "job"), "ill"),
    "Learn PrivateLinearClassifier labels": Learn("PrivateLinearClassifier", ("age", "ill"), "job"),
    "Learn PrivateLinearRegressor": Learn("PrivateLinearRegressor", ("job", "ill"), "age"),
    "Learn PrivateLinearClassifier where": Learn("PrivateLinearClassifier", ("age", "job"), "ill", where="age > 3"),
    "Learn PrivateLinearRegressor where": Learn("PrivateLinearRegressor", ("job",), "age", where="scar = true"),
    "Learn PrivatePoint": Learn("PrivatePoint", "age", "ill"),
    "Learn PrivatePoint tree": Learn("PrivatePoint", ("age", "caller"), "ill", options={"method": "tree"}),
    "Learn PrivatePoint exponential": Learn("PrivatePoint", "age", "ill", options={"method": "exponential"}),
    "Learn ExponentialLearner": Learn(
        "ExponentialLearner", ("age", "job"), "ill", options={"concepts": ("age >= 3", "job = 'b'")}
    ),
    "Learn LabelPrivate": Learn("LabelPrivate", ("level",), "ill"),
    "Learn RobustHalfspace": Learn("RobustHalfspace", ("age", "caller"), "ill"),
    "Learn SanitizeThenLearn cells": Learn("SanitizeThenLearn", ("age", "job"), "ill"),
    "Learn SanitizeThenLearn points": Learn(
        "SanitizeThenLearn", ("age", "address"), "ill", options={"method": "points"}
    ),
    "Learn SanitizeThenLearn medians": Learn("SanitizeThenLearn", "age", "ill", options={"method": "medians"}),
    "Learn SanitizeThenLearn model": Learn("SanitizeThenLearn", ("job", "caller"), "ill", options={"method": "model"}),
    "Learn SemiPrivate": Learn("SemiPrivate", ("age",), "ill", options={"pool": ((1,), (4,), (6,))}),
}
NO_LEARNERS = {
    "Boxes",
    "ConditionRule",
    "FittedRule",
    "IntervalRule",
    "Learn",
    "Learned",
    "Rule",
    "fit_synthetic",
    "rule_from_json",
}
"""Names of `sfumato.learn` that are no learners: families of rules, rules, and the question itself."""


def uncovered(schema: Schema) -> list[str]:
    """Return what is registered and never asked here."""
    asked = every_question(schema).values()
    shipped = {kind for kind in QUESTIONS if QUESTIONS[kind].__module__.startswith("sfumato.")}
    kinds = sorted(shipped - {question.kind for question in asked})
    learners = {question.learner for question in asked if isinstance(question, Learn)}
    missing = sorted(set(HOMES) - learners - NO_LEARNERS)
    shapes = ("auto", *SHAPES, "recursive")
    ways = {Quantiles: RANKS, Distribution: CURVES, Synthesize: MODELS, Synopsize: SYNOPSES, Shaped: shapes}
    for kind, listed in ways.items():
        used = {question.method for question in asked if isinstance(question, kind)}
        missing += [f"{kind.__name__} {method}" for method in listed if method not in used]
    finders = {question.method for question in asked if isinstance(question, Popular)}
    missing += [f"Popular {engine}" for engine in FINDERS if engine not in finders]
    builders = {name for name, made in getmembers(workloads, isfunction) if made.__module__ == workloads.__name__}
    missing += sorted(name for name in builders - set(built(schema)) if not name.startswith("_"))
    return [*kinds, *missing]
