"""`Synopsize("labels", …)`: random queries with noisy shares, ready for any learner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import Frame, NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.noise import Noise
from sfumato.papers.enough_people import FAILURE, say_of_few
from sfumato.papers.query_release.learning.labels import BinaryQueries, Counted, Labels
from sfumato.papers.query_release.learning.learned import (
    FOLDS,
    Learned,
    LearnedAnswers,
    Learner,
    Method,
    Reduction,
    Training,
    learn_answers,
    without_noise,
)
from sfumato.papers.query_release.learning.learned_synopsis import LearnedSynopsis
from sfumato.papers.query_release.learning.ridge import PolynomialRidge
from sfumato.papers.query_release.weights.planning import COUNT_SHARE, amounts
from sfumato.papers.query_release.weights.rounds import rows_move
from sfumato.perturb import calibrate
from sfumato.privacy import Bound
from sfumato.privacy.calibrate import Gaussians
from sfumato.privacy.sensitivity import sensitivity
from sfumato.questions.synopsis.base import (
    Floats,
    Synopsis,
    packed_floats,
    packed_integers,
    unpacked_floats,
    unpacked_integers,
)
from sfumato.questions.synopsis.binary import Bits
from sfumato.questions.synopsis.methods import register
from sfumato.questions.synopsis.queries import Conjunctions, Subsets, pack, unpack
from sfumato.table.gauge import Basis
from sfumato.words import understood

FEWEST, MOST = 20, 2000
UNKNOWN = 200
"""The default number of queries where the number of people is not public."""
SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Synopsis):
    """Random queries and their noisy shares: `fit(learner)` turns any learner into a synopsis of all queries.

    By itself it answers with ridge regression on pairs of columns. `features(queries)` and `shares` are there to train
    with by hand, too: whatever is computed from them is free.
    """

    kind: ClassVar[str] = "labels"
    unsaid: ClassVar[str] = (
        "stderr and interval are the error of a random query like those that were asked to train on; others, such as "
        "single columns, may be off by several times that."
    )
    columns: tuple[str, ...]
    people: float
    queries: BinaryQueries
    shares: Floats
    deviation: float

    @cached_property
    def training(self) -> Training:
        """The queries as a learner sees them, with their noisy shares."""
        return Training(self.queries.features(), self.shares, self.deviation**2)

    @understood
    def fit(
        self,
        learner: Learner,
        *,
        method: Method = "auto",
        accuracy: float = 0.1,
        bad_fraction: float = 0.1,
        folds: int = FOLDS,
    ) -> LearnedSynopsis:
        """Train a learner on the noisy shares; see `Reduction` for the methods. Free, however often it is done."""
        reduction = Reduction(method, accuracy, bad_fraction)
        return LearnedSynopsis(self, learn_answers(self.training, learner, reduction, folds=folds))

    @cached_property
    def _ridge(self) -> LearnedSynopsis:
        training = self.training
        ridge = PolynomialRidge(2).fit(training.features, training.shares)
        error = without_noise(ridge.missed_, training)
        return LearnedSynopsis(self, LearnedAnswers(training, Learned(ridge.predict, False), error, judged=True))

    def features(self, queries: Any) -> Floats:
        """Return queries as a learner sees them: 1 for a column that has to be one, -1 for zero, 0 elsewhere."""
        if isinstance(queries, Subsets):
            return queries.flags().astype(np.float64)
        asked = queries if isinstance(queries, Conjunctions) else Conjunctions.of(self.columns, queries)
        ones, zeros = asked.dense()
        if ones.shape[1] != len(self.columns):
            raise ParameterError(f"These queries speak of {ones.shape[1]} columns, and there are {len(self.columns)}.")
        return ones.astype(np.float64) - zeros

    def _shares(self, queries: Any) -> Floats:
        return self._ridge._shares(queries)

    def stderr(self, queries: Any) -> Floats:
        """Return about the error of a fresh random query."""
        return self._ridge.stderr(queries)

    def to_frame(self) -> Frame:
        """Return the first queries and their noisy shares."""
        names = [
            " and ".join(
                name if sign > 0 else f"not {name}" for name, sign in zip(self.columns, row, strict=True) if sign
            )
            for row in self.queries.features()[:SHOWN]
        ]
        return Frame(("query",), {"query": tuple(names), "share": tuple(self.shares[:SHOWN].tolist())})

    def _record(self) -> dict[str, Any]:
        words = [pack(flags).view(np.int64) for flags in (self.queries.ones, self.queries.zeros)]
        return {
            "size": len(self.columns),
            "ones": packed_integers(words[0]),
            "zeros": packed_integers(words[1]),
            "predicate": self.queries.predicate,
            "least": self.queries.least,
            "shares": packed_floats(self.shares),
            "deviation": self.deviation,
        }

    @classmethod
    def _read(cls, columns: tuple[str, ...], people: float, record: Mapping[str, Any]) -> Labelled:
        size = int(record["size"])
        flags = [
            unpack(unpacked_integers(record[name]).reshape(-1, -(-size // 64)).view(np.uint64), size)
            for name in ("ones", "zeros")
        ]
        queries = BinaryQueries(flags[0], flags[1], record["predicate"], int(record["least"]))
        return cls(columns, people, queries, unpacked_floats(record["shares"]), float(record["deviation"]))


@dataclass(frozen=True)
class LabelOptions:
    """Which queries are answered privately, to learn the others from.

    `queries` random ones of `width` columns, each literal negated by a coin with `negations`; `predicate` is
    "conjunction", "disjunction", "parity" or "at least" (`least` of the columns). `seed` is public.
    """

    width: int = 3
    queries: int | None = None
    predicate: str = "conjunction"
    least: int = 2
    negations: bool = False
    seed: int = 0

    def drawn(self, size: int, count: int) -> BinaryQueries:
        """Return the queries: public, always the same, each once."""
        noise = Noise(insecure_seed=self.seed)
        asked = Conjunctions.random(size, self.width, count, negations=self.negations, noise=noise)
        return BinaryQueries(*asked.dense(), self.predicate, self.least).distinct()


def labels(basis: Basis, spend: Bound, columns: tuple[str, ...] | None, options: Mapping[str, Any]) -> Prepared:
    """Prepare noisy counts of random queries (RL-PRIVLEARN, RL-TO); all bounds, both relations."""
    wanted = LabelOptions(**options)
    bits = Bits.of(basis.schema, columns)
    gauge = basis.gauge(bits.measure)
    bound = gauge.priced(spend)
    mechanism = plan_labels(
        wanted.drawn(len(bits), _count(wanted, bound, gauge.total, len(bits))),
        bound,
        people=gauge.total,
        rows=gauge.rows,
        gaussians=gauge.gaussians,
        relation=gauge.relation,
        reads=gauge.charged,
    )
    _say_of_few(mechanism)

    def finish(found: Counted) -> Released:
        made = labelled(mechanism, found, bits.names)
        released = {"synopsis": made.to_json(), "error": made.deviation}
        return Released((NoisyPart("counts", found.counts, mechanism.law),), made=released)

    return Prepared(gauge, mechanism, finish, bits.read, holds=bits.holds)


def plan_labels(
    about: Any,
    spend: Bound,
    *,
    people: int | None,
    rows: int = 1,
    gaussians: Gaussians = "wide",
    **options: Any,
) -> Labels:
    """Return noisy counts of public queries for a spend; a part of it buys the number of rows where it is private."""
    from sfumato.ledger.largest import scaled
    from sfumato.select.fit import positive_spend, settle

    bound = positive_spend(spend, "labels")
    count_law, rest = None, bound
    if people is None:
        pure = amounts(bound)[0]
        count_law = pure.part(COUNT_SHARE).law(rows_move(rows))
        rest = scaled(bound, 1 - COUNT_SHARE)
    move, size = about.step * rows, about.size
    noise = calibrate(rest, sensitivity(largest=move, changed=size), draws=size, gaussians=gaussians, **options)
    return settle(Labels(about=about, law=noise.law, rows=rows, people=people, count_law=count_law, **options), bound)


def people_needed(mechanism: Labels, accuracy: float = Reduction().accuracy, failure: float = FAILURE) -> int:
    """Return from how many people on all noise is below accuracy/21, except with this probability (RL-PRIVLEARN).

    Then the thresholds of `fit(method="threshold")`, each learned without a mistake, answer a query within two thirds
    of the accuracy.
    """
    noise = mechanism.one.error(1 - failure, coordinates=mechanism.about.size)
    return math.ceil(21 * noise / (accuracy * mechanism.about.step))


def _say_of_few(mechanism: Labels) -> None:
    accuracy = Reduction().accuracy
    say_of_few(
        f"That thresholds which are learned without a mistake answer within {2 * accuracy / 3:.2g}, in 19 of 20 runs,",
        people_needed(mechanism),
        mechanism.people,
        f"Write fewer than these queries={mechanism.about.size}, spend more, or look at stderr, which is judged by "
        "queries that were left out: of regression, the default, nothing is proved. "
        "method='auto' needs far fewer people.",
    )


def labelled(mechanism: Labels, found: Counted, columns: tuple[str, ...]) -> Labelled:
    """Return released counts as shares to learn from."""
    assert isinstance(mechanism.about, BinaryQueries)
    people = mechanism.divisor(found)
    scale = 1 / (people * mechanism.about.step)
    shares = np.array(found.counts, dtype=np.float64) * scale
    return Labelled(columns, float(people), mechanism.about, shares, math.sqrt(mechanism.law.spread()) * scale)


def _count(wanted: LabelOptions, spend: Bound, people: int | None, size: int) -> int:
    """Return how many queries are answered: enough for pairs of columns, and few enough for the noise."""
    if not 1 <= positive_integer(wanted.width, "width") <= size:
        raise ParameterError(
            f"width is {wanted.width}, and there are {size} binary columns; write a width from 1 to that."
        )
    if wanted.queries is not None:
        return positive_integer(wanted.queries, "queries")
    if people is None:
        return UNKNOWN
    amount = amounts(spend)[0]
    epsilon = float(amount.size) if amount.pure else math.sqrt(2 * float(amount.size))
    return max(FEWEST, min(MOST, 20 * (1 + size + size * (size - 1) // 2), int(epsilon * people / 20)))


register("labels", labels, tuple(part.name for part in fields(LabelOptions)))
