"""Intervals cover at the rate they state, and are not wider than they need to be; on exact integers, fixed seeds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.answer import Frame
from sfumato.ask.prepared import Prepared
from sfumato.privacy import Bound
from sfumato.questions import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT
from tests.imputed import integers

RUNS = 2_000
LEVEL = Fraction(95, 100)
SCHEMA = Schema({"key": integers(0, 3), "side": integers(0, 1), "value": integers(0, 20)})
ONE = Basis(SCHEMA, 400)
MANY = Basis(Schema(dict(SCHEMA.columns), "person", 3), 400)
SPENDS: list[Bound] = [Pure(1), Concentrated("0.1"), Truncated("0.1", 5), Approximate(1, 1e-6)]


class Rows:
    """A view of 400 fixed rows, each a whole one."""

    def __init__(self, scale: int = 1) -> None:
        place = np.arange(400)
        self.codes = {"key": place % 7 % 4, "side": place % 3 % 2, "value": (place * 11) % 21}
        self.scale, self.table = scale, SimpleNamespace(schema=SCHEMA)

    def totals(self, keys: Any, measures: Any, where: Any) -> list[Any]:
        kept = self.codes["side"] == 1 if "side" in str(where) else np.ones(400, bool)
        found = []
        for measure in measures:
            one = 1 if measure == COUNT else (self.codes[measure.column] - measure.center) ** measure.power.value
            weights = self.scale * one * kept
            cells = self.codes[keys[0]] if keys else np.zeros(400, int)
            sums = np.bincount(cells, weights, minlength=4 if keys else 1).astype(np.int64)
            found.append(sums if keys else sums[0])
        return found

    def distribution(self, column: str, where: Any) -> tuple[Any, Any]:
        codes, counts = np.unique(self.codes[column], return_counts=True)
        return codes, counts * self.scale


def least_hits(runs: int, rate: Fraction, alarm: float = 1e-8) -> int:
    """Return the hits below which a binomial of this rate falls with probability `alarm` at most."""
    return int(binom.ppf(alarm, runs, float(rate)))


LEAST = least_hits(RUNS, LEVEL)


def given(prepared: Prepared, view: Any) -> Any:
    """Return what the mechanism is given when a view hands out the integers."""
    return prepared.arrange(prepared.gauge.measure.query(view))


def truth(question: Question, prepared: Prepared, view: Any) -> Any:
    """Return the value without noise, by the question's own formula."""
    return question.value(prepared.finish(given(prepared, view)))


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return table.rows() if isinstance(table, Frame) else [tuple(table)]


@pytest.mark.parametrize(
    "spend", [SPENDS[0], *(pytest.param(one, marks=pytest.mark.audit) for one in SPENDS[1:])], ids=repr
)
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(ONE, id="one"),
        pytest.param(replace(ONE, relation=ADD_REMOVE), id="add", marks=pytest.mark.audit),
        pytest.param(MANY, id="many", marks=pytest.mark.audit),
    ],
)
@pytest.mark.parametrize(
    "question", [Count("side = 1"), Sum("value"), Mean("value", "side = 1"), Variance("value")], ids=lambda q: q.kind
)
def test_numbers(question: Question, setting: Basis, spend: Bound) -> None:
    prepared = question.prepare(setting, spend)
    view = Rows(prepared.gauge.rule.scale)
    exact, noise = given(prepared, view), Noise(insecure_seed=5)
    true = truth(question, prepared, view)
    every = tuple(np.repeat(np.asarray(part, object)[np.newaxis], RUNS, axis=0) for part in exact)
    drawn = zip(*prepared.mechanism.run(every, noise), strict=True)
    hits, seen, widths, errors = 0, 0, [], []
    for raw in drawn:
        released = prepared.finish(raw)
        low, high = question.interval(released, LEVEL)
        hits, seen = hits + (low <= true <= high), seen + 1
        widths.append(float(high - low))
        errors.append(abs(float(question.value(released) - true)))
    assert seen == RUNS and hits >= LEAST, f"{hits} of {RUNS}"
    wide = 2 if isinstance(question, (Count, Sum, Mean)) else 7
    # The interval is about as wide as the 95 % quantile of the errors, twice; the totals of a variance share the risk.
    assert np.median(widths) <= wide * 1.15 * max(np.quantile(errors, 0.95), 1)


@pytest.mark.parametrize("spend", [SPENDS[0], pytest.param(SPENDS[1], marks=pytest.mark.audit)], ids=repr)
def test_tables(spend: Bound) -> None:
    for question in (Histogram("key"), GroupBy("key", [Count(), Mean("value")])):
        prepared = question.prepare(ONE, spend)
        exact, noise = given(prepared, Rows()), Noise(insecure_seed=7)
        true = truth(question, prepared, Rows())
        hits = dict.fromkeys(list(true.columns)[1:], 0)
        for _ in range(RUNS // 4):
            found = question.interval(prepared.finish(prepared.mechanism.run(exact, noise)), LEVEL)
            for name in hits:
                ends = zip(found[f"{name}, low"], true[name], found[f"{name}, high"], strict=True)
                hits[name] += sum(low <= middle <= high for low, middle, high in ends)
        assert min(hits.values()) >= LEAST, hits


@pytest.mark.parametrize(("method", "runs", "loose"), [("split", RUNS // 2, 4), ("auto", RUNS // 8, 9)])
def test_ranks_of_quantiles(method: str, runs: int, loose: int) -> None:
    question = Quantiles("value", [0.1, 0.5, 0.9], method=method)
    prepared = question.prepare(ONE, Pure(1))
    exact, noise = given(prepared, Rows()), Noise(insecure_seed=3)
    values = np.sort(Rows().codes["value"])
    hits, errors = 0, []
    for _ in range(runs):
        released = prepared.finish(prepared.mechanism.run(exact, noise))
        (allowed,) = set(question.interval(released, LEVEL)["rank error"])
        off = [_rank_error(values, code, float(chance)) for chance, code in question.value(released).rows()]
        hits += max(off) <= allowed
        errors.append(max(off))
    assert hits >= least_hits(runs, LEVEL)
    assert allowed <= loose * np.quantile(errors, 0.95), (
        "the bound holds for the worst table and may be loose, not absurd"
    )


def _rank_error(values: Any, code: int, chance: float) -> float:
    below, up_to = np.searchsorted(values, code, "left"), np.searchsorted(values, code, "right")
    wanted = chance * len(values)
    return float(max(0, below - wanted, wanted - up_to))


@pytest.mark.parametrize(
    ("question", "setting", "spend"),
    [
        (Histogram("value", keys="private"), ONE, Approximate(1, 1e-3)),
        (Histogram("value", keys="private"), ONE, Pure(1)),
        pytest.param(Histogram("value", keys="private"), ONE, Concentrated("0.1"), marks=pytest.mark.audit),
    ],
    ids=["found", "large, pure", "large, concentrated"],
)
def test_counts_of_keys_that_were_published(question: Histogram, setting: Basis, spend: Bound) -> None:
    """Of the keys that are published at least 95 % are covered, small ones that only luck made visible too."""
    prepared = question.prepare(setting, spend)
    mechanism, noise = prepared.mechanism, Noise(insecure_seed=11)
    threshold = prepared.finish(()).parts[0].threshold if isinstance(spend, Pure | Concentrated) else None
    threshold = threshold or mechanism.counts.threshold  # type: ignore[attr-defined]
    for count in (1, threshold - 5, threshold, threshold + 5, threshold + 60):
        hits = published = wide = 0
        for _ in range(60 if count < threshold - 4 else 12):
            exact: Any = dict.fromkeys(range(21), count)
            if isinstance(spend, Approximate):
                exact = {(place,): (count,) for place in range(21)}
            released = prepared.finish(mechanism.run(exact, noise))
            for low, high in list(zip(*list(question.interval(released, LEVEL).columns.values())[1:], strict=True)):
                hits, published = hits + (low <= count <= high), published + 1
                wide += high - low
        assert hits >= least_hits(published, LEVEL), (count, hits, published)
        if count == threshold + 60:
            assert wide / published <= 2.3 * released.parts[0].width(LEVEL), "far from the threshold nothing is hidden"


def test_an_interval_needs_a_confidence_between_zero_and_one() -> None:
    from sfumato.answer import Answer
    from sfumato.errors import ParameterError

    prepared = Count("side = 1").prepare(ONE, Pure(1))
    released = prepared.finish(prepared.mechanism.run(given(prepared, Rows()), Noise(insecure_seed=1)))
    answer = Answer(Count("side = 1"), released, prepared.mechanism.loss(), prepared.mechanism.event())
    assert answer.interval(0.5)[0] > answer.interval(0.999)[0]
    for wrong in (0, 1, 95):
        with pytest.raises(ParameterError, match="confidence"):
            answer.interval(wrong)
