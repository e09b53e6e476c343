"""A fair classifier around any scikit-learn classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sfumato.errors import ParameterError
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.grid import Floats, Integers, binary_rows
from sfumato.fair.mapping.coin import decide, new_key
from sfumato.fair.mapping.extension import Cascade, Interpolation, Landmarks, LipschitzRule, landmark_rule
from sfumato.fair.mapping.mapping import fair_mapping
from sfumato.fair.metric.base import Metric
from sfumato.fair.people import select_rows
from sfumato.fair.repair import repair_scores
from sfumato.noise import Noise

SPLIT_SLACK = 1e-6
"""The share of the distance that each split of a cascade leaves for rounding."""


class FairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Treat similar people similarly: a classifier whose probabilities differ by at most kappa · d(x, y).

    The promise holds for all people, seen or not: total variation of `predict_proba(x)` and `predict_proba(y)` is at
    most kappa times the metric's distance (capped at 1). `predict` draws the decision with a coin made from a key of
    the fit and the person's features: asking twice gives the same decision. Taking the likelier class instead would
    break the promise, because two people at 0.49 and 0.51 would get certain and opposite decisions.

    Parameters
    ----------
    estimator : a scikit-learn classifier with `predict_proba`; by default logistic regression.
    metric : a `fair.Metric` made from features; by default every feature's standard deviation counts as 1.
    kappa : how steep the probabilities may be; 1 is the metric itself.
    method : "program" minimises the expected error that the estimator predicts, "repair" stays as near as possible to
        the estimator's probabilities (two classes only).
    solve_for : how many people the program is solved for; the others are reached by exact extension.
    insecure_seed : fixes the key, for tests only.

    """

    def __init__(
        self,
        estimator: Any = None,
        metric: Metric | None = None,
        *,
        kappa: float = 1.0,
        method: str = "program",
        solve_for: int = 2000,
        insecure_seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.kappa = kappa
        self.method = method
        self.solve_for = solve_for
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any) -> FairClassifier:  # noqa: N803
        """Fit the estimator, then the fair rule on top of it; the estimator itself is never used to decide."""
        self._check_parameters()
        table, labels = _check_fit(self, X, y)
        self.classes_: Any = np.unique(labels)
        self.estimator_ = self._fitted_estimator(table, labels)
        metric = self._scaled_metric(table)
        chosen = self._chosen(metric.size)
        scores = self._scores(select_rows(table, chosen))
        self.metric_ = metric.subset(chosen)
        self.rule_ = self._rule(self.metric_, scores)
        noise = Noise() if self.insecure_seed is None else Noise(insecure_seed=self.insecure_seed)
        self.key_ = new_key(noise)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the fair probabilities, one column a class; these carry the promise."""
        table = _check_predict(self, X)
        people = self.metric_.of(table)
        if self.rule_ is None:
            return np.ones((people.size, 1))
        return self.rule_.probabilities(people)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Draw each person's class from `predict_proba`, the same whenever the same features are asked."""
        probabilities = self.predict_proba(X)
        return self.classes_[decide(probabilities, _check_predict(self, X), self.key_)]

    def _check_parameters(self) -> None:
        if self.method not in ("program", "repair"):
            raise ParameterError(f'method must be "program" or "repair", and {self.method!r} is neither.')
        if not np.isfinite(self.kappa) or self.kappa <= 0:
            raise ParameterError(f"kappa must be a finite number above zero, and {self.kappa} is not.")
        if self.solve_for < 2:
            raise ParameterError("solve_for must be at least 2 people.")

    def _fitted_estimator(self, table: Any, labels: Any) -> Any:
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression

        if len(self.classes_) < 2:
            return None
        base = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        if not hasattr(base, "predict_proba"):
            raise ParameterError(
                f"{type(base).__name__} gives no probabilities; wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        return base.fit(table, labels)

    def _scaled_metric(self, table: Any) -> Metric:
        metric = Metric.from_features(table) if self.metric is None else self.metric.of(table)
        return metric if self.kappa == 1.0 else metric.scaled(self.kappa)

    def _chosen(self, people: int) -> Integers:
        """Return the people to solve for: all, or an even spread over the rows as they come."""
        if people <= self.solve_for or self.method == "repair":
            return np.arange(people)
        return np.unique(np.linspace(0, people - 1, self.solve_for).astype(np.int64))

    def _scores(self, table: Any) -> Floats:
        if self.estimator_ is None:
            return np.ones((len(np.asarray(table)), 1))
        return np.asarray(self.estimator_.predict_proba(table), dtype=np.float64)

    def _rule(self, metric: Metric, scores: Floats) -> LipschitzRule | None:
        if scores.shape[1] == 1:
            return None
        if scores.shape[1] == 2 and self.method == "repair":
            repaired = binary_rows(repair_scores(scores[:, 1], metric))[:, 1]
            return Interpolation(metric, repaired, None)
        if self.method == "repair":
            raise ParameterError('method="repair" is for two classes; write method="program" for more.')
        if scores.shape[1] == 2:
            return fair_mapping(metric, 1.0 - scores).rule()
        return _best_of(metric, 1.0 - scores)


def _check_fit(estimator: FairClassifier, people: Any, target: Any) -> tuple[Any, Any]:
    """Return table and labels; tables keep their columns, so that text reaches the wrapped estimator."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

    if target is None:
        raise ParameterError("FairClassifier requires y to be passed, but the target y is None.")
    if _is_table(people):
        validate_data(estimator, people, skip_check_array=True)
        labels = column_or_1d(target, warn=True)
        check_consistent_length(people, labels)
        table: Any = people
    else:
        table, labels = validate_data(estimator, people, target, dtype=np.float64)
    check_classification_targets(labels)
    return table, np.asarray(labels)


def _check_predict(estimator: FairClassifier, people: Any) -> Any:
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(estimator)
    if _is_table(people):
        validate_data(estimator, people, reset=False, skip_check_array=True)
        return people
    return validate_data(estimator, people, reset=False, dtype=np.float64)


def _is_table(people: Any) -> bool:
    return hasattr(people, "columns") and hasattr(people, "shape")


def _best_of(metric: Metric, loss: Floats) -> LipschitzRule:
    """Return the cheaper of a cascade of splits and a landmark rule; both hold for everybody."""
    order = tuple(int(place) for place in np.argsort(-loss.mean(axis=0), kind="stable"))
    cascade, _ = fit_cascade(metric, loss, order, depth(len(order)))
    spread = np.unique(np.linspace(0, metric.size - 1, min(metric.size, 200)).astype(np.int64))
    landmarks: Landmarks = landmark_rule(metric, loss, spread)
    price = {id(rule): float((rule.probabilities(metric) * loss).sum(axis=1).mean()) for rule in (cascade, landmarks)}
    best: LipschitzRule = cascade if price[id(cascade)] <= price[id(landmarks)] else landmarks
    if price[id(best)] > 0.999 * float(loss.mean(axis=0).min()) > float(loss.min(axis=1).mean()):
        warnings.warn(
            "Under this metric the fair rule is hardly better than one distribution for everybody: people are too "
            "close to each other for so many classes. Raise kappa or sharpen the metric.",
            FairnessWarning,
            stacklevel=4,
        )
    return best


def depth(outcomes: int) -> int:
    """Return the levels of a balanced tree."""
    return int(np.ceil(np.log2(outcomes)))


def fit_cascade(metric: Metric, loss: Floats, outcomes: tuple[int, ...], levels: int) -> tuple[Cascade, Floats]:
    """Return a tree of fair splits over the outcomes, fitted from the leaves up, and its loss for each person."""
    half = len(outcomes) // 2
    left, right = outcomes[:half], outcomes[half:]
    children: list[Cascade | None] = []
    prices: list[Floats] = []
    for part in (left, right):
        if len(part) == 1:
            children.append(None)
            prices.append(loss[:, part[0]])
        else:
            child, price = fit_cascade(metric, loss, part, levels)
            children.append(child)
            prices.append(price)
    narrow = metric.scaled((1 - SPLIT_SLACK) / levels)
    mapping = fair_mapping(narrow, np.stack(prices, axis=1))
    split = Interpolation(narrow.capped(1.0), mapping.probabilities[:, 1], float(mapping.problem.best_constant()[1]))
    here = (mapping.probabilities * np.stack(prices, axis=1)).sum(axis=1)
    return Cascade(left, right, split, children[0], children[1], loss.shape[1]), here
