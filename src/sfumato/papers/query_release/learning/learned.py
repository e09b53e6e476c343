"""A learner trained on privately answered queries becomes a release of all of them (RL-PRIVLEARN)."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import between_zero_and_one, positive_integer
from sfumato.questions.synopsis.base import Floats
from sfumato.words import one_of

Method = Literal["auto", "regression", "threshold"]
Learner = Any
"""Anything with `fit(X, y)` and `predict(X)`, such as an estimator of scikit-learn."""

Hypothesis = Callable[[Floats], Floats]

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Training:
    """Public queries as a learner sees them, their noisy shares, and the variance of the noise in each."""

    features: Floats
    shares: Floats
    variance: float

    @property
    def default(self) -> float:
        """What is answered where a learner fails: the mean of the noisy shares, a number that was released."""
        return float(np.clip(self.shares.mean(), 0.0, 1.0)) if len(self.shares) else 0.5

    def part(self, chosen: NDArray[np.bool_]) -> Training:
        """Return some of the queries."""
        return Training(self.features[chosen], self.shares[chosen], self.variance)


@dataclass(frozen=True)
class Reduction:
    """How a learner is used. "regression" trains it on the noisy shares themselves.

    "threshold" is the reduction of the thesis: k = ⌈3/accuracy⌉ classifiers, each of which learns whether shares are
    above one of the thresholds i/(k + 1), from the queries that are not too close to it to tell; the share of a query
    is how many of them say yes, over k + 1. The thesis prints this last step the wrong way round (Figure 7.2, step 4).
    Where less than half of `bad_fraction` of the queries are clear, nearly all shares are near the threshold, and it
    is the answer. "auto" takes thresholds for classifiers and regression for everything else.
    """

    method: Method = "auto"
    accuracy: float = 0.1
    bad_fraction: float = 0.1

    def __post_init__(self) -> None:
        one_of("method", self.method, ("auto", "regression", "threshold"))
        object.__setattr__(self, "accuracy", float(between_zero_and_one(self.accuracy, "accuracy")))
        object.__setattr__(self, "bad_fraction", float(between_zero_and_one(self.bad_fraction, "bad_fraction")))

    def learn(self, learner: Learner, training: Training) -> Learned:
        """Train the learner; whatever it does wrong is repaired by the default and not shown."""
        by_threshold = self.method == "threshold" or (self.method == "auto" and is_classifier(learner))
        return self._thresholds(learner, training) if by_threshold else _regression(learner, training)

    def _thresholds(self, learner: Learner, training: Training) -> Learned:
        count = math.ceil(3 / self.accuracy)
        margin = self.accuracy / 7 * 2 / 3
        hypotheses: list[Hypothesis | bool] = []
        repaired = False
        for place in range(1, count + 1):
            level = place / (count + 1)
            above, below = training.shares >= level + margin, training.shares <= level - margin
            clear = above | below
            if clear.mean() < self.bad_fraction / 2:
                return Learned(lambda asked, level=level: np.full(len(asked), level), repaired)  # type: ignore[misc]
            labels = above[clear]
            if labels.all() or not labels.any():
                hypotheses.append(bool(labels.all()))
                continue
            fitted = _fitted(learner, training.features[clear], labels.astype(np.int64))
            repaired |= fitted is None
            # A threshold that could not be learned says what most queries say.
            hypotheses.append(bool(labels.mean() >= 0.5) if fitted is None else fitted)
        return Learned(lambda asked: aggregate(hypotheses, asked), repaired)


@dataclass(frozen=True)
class Learned:
    """What a learner found: a function from features to shares, and whether it had to be repaired."""

    predict: Hypothesis = field(repr=False)
    repaired: bool


def aggregate(hypotheses: list[Hypothesis | bool], asked: Floats) -> Floats:
    """Return how many of the thresholds each query is above, over one more than there are.

    Hypothesis i says whether a share is at least i/(k + 1), so it is 1 for small i and 0 for large; a single wrong
    one moves the sum by one step only.

    >>> aggregate([True, True, False], np.zeros((1, 2)))
    array([0.5])
    """
    votes = np.zeros(len(asked))
    for one in hypotheses:
        votes += float(one) if isinstance(one, bool) else np.clip(one(asked), 0.0, 1.0)
    return votes / (len(hypotheses) + 1)


def _regression(learner: Learner, training: Training) -> Learned:
    fitted = _fitted(learner, training.features, training.shares)
    if fitted is None:
        return Learned(lambda asked: np.full(len(asked), training.default), True)
    return Learned(fitted, False)


def _fitted(learner: Learner, features: Floats, labels: NDArray[Any]) -> Hypothesis | None:
    """Train a copy of a learner; None if it raises. Its warnings and errors speak of noisy data and stay inside."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            own = copy.deepcopy(learner)
            fitted = own.fit(features, labels)
            model = own if fitted is None else fitted
    except Exception:
        return None
    return lambda asked: _predicted(model, asked)


def _predicted(model: Any, asked: Floats) -> Floats:
    """Return what a trained learner predicts; NaN where it fails."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = np.asarray(model.predict(asked), dtype=np.float64).reshape(len(asked))
    except Exception:
        return np.full(len(asked), np.nan)
    return np.where(np.isfinite(found), found, np.nan)


def is_classifier(learner: Learner) -> bool:
    """Tell whether a learner predicts classes, by scikit-learn's word for it or by its probabilities."""
    try:
        from sklearn.base import BaseEstimator
        from sklearn.base import is_classifier as known
    except ImportError:
        return hasattr(learner, "predict_proba")
    return bool(known(learner)) if isinstance(learner, BaseEstimator) else hasattr(learner, "predict_proba")


def require_learner(learner: Learner) -> None:
    """Refuse what cannot learn; that is a public fact."""
    if isinstance(learner, type) or not all(callable(getattr(learner, name, None)) for name in ("fit", "predict")):
        raise ParameterError(
            "A learner has fit(X, y) and predict(X); give an estimator such as sklearn.linear_model.Ridge()."
        )


@dataclass(frozen=True, eq=False)
class LearnedAnswers:
    """Shares of queries from a trained learner: `answer(features)`, one query a row.

    `repaired` says that the learner failed where it was trained, and the default stands in for it. `error` is about
    the root mean squared error of a fresh random query, from queries that were left out in training; it costs nothing.
    """

    training: Training
    learned: Learned
    error: float
    judged: bool = False

    @property
    def repaired(self) -> bool:
        """Whether the learner failed and was replaced."""
        return self.learned.repaired

    def answer(self, features: Any) -> Floats:
        """Return a share between 0 and 1 for every query; where the learner gives no number, the default."""
        return np.clip(self.raw(np.asarray(features, dtype=np.float64)), 0.0, 1.0)

    def raw(self, features: Floats) -> Floats:
        """Return the shares as the learner gives them."""
        found = self.learned.predict(features)
        return np.where(np.isfinite(found), found, self.training.default)


def learn_answers(
    training: Training, learner: Learner, reduction: Reduction | None = None, *, folds: int = FOLDS
) -> LearnedAnswers:
    """Train a learner on noisy shares, and judge it by queries that it has not seen; all of this is free."""
    require_learner(learner)
    how = Reduction() if reduction is None else reduction
    learned = how.learn(learner, training)
    parts = positive_integer(folds, "folds")
    judged = parts >= 2 and len(training.shares) >= 2 * parts
    return LearnedAnswers(training, learned, _judged(how, learner, training, parts, judged), judged)


def _judged(how: Reduction, learner: Learner, training: Training, folds: int, judged: bool) -> float:
    """Return about the error of a fresh query: the error on queries left out, less what is only their own noise."""
    size = len(training.shares)
    if not judged:
        return math.sqrt(training.variance + float(np.var(training.shares)))
    fold = np.arange(size) * 2654435761 % 2**32 % folds
    squares = 0.0
    for one in range(folds):
        rest = training.part(fold != one)
        found = LearnedAnswers(rest, how.learn(learner, rest), 0.0).answer(training.features[fold == one])
        squares += float(((found - training.shares[fold == one]) ** 2).sum())
    return without_noise(squares / size, training)


def without_noise(missed: float, training: Training) -> float:
    """Return the error of a fresh query from the mean square by which queries left out were missed."""
    # Of so few noisy squares the mean is itself uncertain by about this part of their variance: never promise less.
    least = training.variance * math.sqrt(5 / len(training.shares))
    return math.sqrt(max(missed - training.variance, least))
