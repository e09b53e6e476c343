"""A fair classifier around any scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sfumato.errors import ParameterError, told_once, warn
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.gaps import filled, labelled, medians, of_one_type
from sfumato.fair.grid import Floats, Integers, binary_rows
from sfumato.fair.mapping.coin import decide, new_key
from sfumato.fair.mapping.extension import Cascade, Interpolation, Landmarks, LipschitzRule, landmark_rule
from sfumato.fair.mapping.mapping import fair_mapping
from sfumato.fair.mapping.student import Anchored, can_follow, fit_student
from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.pairs.emptiness import said_of_emptiness
from sfumato.fair.people import select_rows
from sfumato.fair.repair import repair_scores
from sfumato.noise import Noise
from sfumato.words import one_of

NEARLY_CONSTANT = 0.1
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
    metric : a `fair.Metric` made from features, or weights by column such as {"age": 0.1}, from which one is made when
        the classifier is fitted; by default `Metric.typical`, under which half of all pairs are closer than 1.
    kappa : how steep the probabilities may be; 1 is the metric itself.
    method : "score" follows the estimator's probabilities for everybody as far as the metric allows (two classes; more
        are solved as by "program"); "program" minimises the expected error that the estimator predicts; "repair" stays
        as near as possible to the estimator's probabilities of the people in the fit (two classes).
    anchors : for "score", whether the repaired scores of the people in the fit bound those of others (True), only a
        smooth rule decides (False), or whichever predicts a fifth of the people kept aside better (None).
    solve_for : how many people the program is solved for; the others are reached by exact extension.
    insecure_seed : fixes the key, for tests only.

    Missing numbers count as the median of their column in the fit, for the estimator and for the metric, in `fit` and
    in `predict` alike, and a warning says so. Who has no label is left out of the fit, with a warning.

    Attributes
    ----------
    medians_ : what a missing number of each column counts as.
    vacuous_ : the share of pairs of people in the fit for whom the metric allows any difference at all.

    """

    _told: ClassVar[set[str] | None] = None
    """What was warned of in copies of one classifier, which share it; None of one that was written down."""

    def __init__(
        self,
        estimator: Any = None,
        metric: Metric | Mapping[str | int, float] | None = None,
        *,
        kappa: float = 1.0,
        method: str = "score",
        anchors: bool | None = None,
        solve_for: int = 2000,
        insecure_seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.kappa = kappa
        self.method = method
        self.anchors = anchors
        self.solve_for = solve_for
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FairClassifier:  # noqa: N803
        """Fit the estimator, then the fair rule on top of it; the estimator itself is never used to decide."""
        with told_once(self._told):
            return self._fit(X, y, sample_weight)

    def __sklearn_clone__(self) -> FairClassifier:
        """Return a copy without what was fitted, which warns once together with all others, as one for every fold."""
        made: FairClassifier = super().__sklearn_clone__()
        told = self._told if self._told is not None else self.__dict__.setdefault("_of_copies", set())
        made.__dict__["_told"] = told
        return made

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> FairClassifier:  # noqa: N803
        self._check_parameters()
        table, labels = _check_fit(self, X, y)
        weights = _checked_weights(sample_weight, len(labels))
        there = labelled(labels)
        if len(there) < len(labels):
            table, labels = select_rows(table, there), of_one_type(labels[there])
            weights = None if weights is None else weights[there]
        _check_classes(labels)
        if weights is not None and not weights.all():
            # Somebody of no weight is nobody, to the classes and to the metric too.
            there = np.flatnonzero(weights)
            table, labels, weights = select_rows(table, there), labels[there], weights[there]
        table = self._filled(table)
        self.classes_: Any = np.unique(labels)
        self.estimator_ = self._fitted_estimator(table, labels, weights)
        metric = self._scaled_metric(table)
        chosen = self._chosen(metric.size)
        people = _Fitted(select_rows(table, chosen), labels[chosen], None if weights is None else weights[chosen])
        scores = self._scores(people.table)
        self.metric_ = metric.subset(chosen)
        self.vacuous_ = vacuous_share(self.metric_)
        self.rule_ = self._rule(self.metric_, scores, people)
        _warn_of_emptiness(self, scores)
        noise = Noise() if self.insecure_seed is None else Noise(insecure_seed=self.insecure_seed)
        self.key_ = new_key(noise)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the fair probabilities, one column a class; these carry the promise."""
        with told_once(self._told):
            return self._probabilities(_check_predict(self, X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Draw each person's class from `predict_proba`, the same whenever the same features are asked."""
        with told_once(self._told):
            table = _check_predict(self, X)
            return self.classes_[decide(self._probabilities(table), table, self.key_)]

    def __sklearn_tags__(self) -> Any:
        """Say that missing numbers are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _probabilities(self, table: Any) -> Floats:
        people = self.metric_.of(table)
        if self.rule_ is None:
            return np.ones((people.size, 1))
        return self.rule_.probabilities(people)

    def _filled(self, table: Any) -> Any:
        self.medians_ = medians(table)
        return filled(table, self.medians_)

    def _check_parameters(self) -> None:
        one_of("method", self.method, ("score", "program", "repair"))
        if not np.isfinite(self.kappa) or self.kappa <= 0:
            raise ParameterError(f"kappa must be a finite number above zero, and {self.kappa} is not.")
        if self.solve_for < 2:
            raise ParameterError("solve_for must be at least 2 people.")

    def _fitted_estimator(self, table: Any, labels: Any, weights: Floats | None) -> Any:
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression

        if len(self.classes_) < 2:
            return None
        base = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        if not hasattr(base, "predict_proba"):
            raise ParameterError(
                f"{type(base).__name__} gives no probabilities; wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        return base.fit(table, labels) if weights is None else base.fit(table, labels, sample_weight=weights)

    def _scaled_metric(self, table: Any) -> Metric:
        if self.metric is None:
            metric = Metric.typical(table)
        elif isinstance(self.metric, Metric):
            _require_names(self.metric.columns, table)
            metric = self.metric.of(table)
        else:
            _require_names(tuple(self.metric), table)
            metric = Metric.from_features(table, self.metric)
        return metric if self.kappa == 1.0 else metric.scaled(self.kappa)

    def _chosen(self, people: int) -> Integers:
        """Return the people to solve for: all, or an even spread over the rows as they come."""
        if people <= self.solve_for or (self.method in ("score", "repair") and len(self.classes_) == 2):
            return np.arange(people)
        return np.unique(np.linspace(0, people - 1, self.solve_for).astype(np.int64))

    def _scores(self, table: Any) -> Floats:
        if self.estimator_ is None:
            return np.ones((len(np.asarray(table)), 1))
        return np.asarray(self.estimator_.predict_proba(table), dtype=np.float64)

    def _rule(self, metric: Metric, scores: Floats, people: _Fitted) -> LipschitzRule | None:
        if scores.shape[1] == 1:
            return None
        if scores.shape[1] == 2 and self.method == "repair":
            repaired = binary_rows(repair_scores(scores[:, 1], metric))[:, 1]
            return Interpolation(metric, repaired, None)
        if self.method == "repair":
            raise ParameterError('method="repair" is for two classes; write method="program" for more.')
        if scores.shape[1] == 2 and self.method == "score":
            return self._score_rule(metric, scores[:, 1], people)
        if scores.shape[1] == 2:
            return fair_mapping(metric, 1.0 - scores, weights=people.weights).rule()
        return _best_of(metric, 1.0 - scores)

    def _score_rule(self, metric: Metric, scores: Floats, people: _Fitted) -> LipschitzRule:
        """Return the rule that follows the scores; without coordinates, halfway between what repaired people allow."""
        if not can_follow(metric):
            return Interpolation(metric, binary_rows(repair_scores(scores, metric))[:, 1], None)
        assert isinstance(metric, PointMetric)
        anchored = self._anchors_help(metric, people) if self.anchors is None else bool(self.anchors)
        return _following(metric, scores, people.given_weights, anchored)

    def _anchors_help(self, metric: PointMetric, people: _Fitted) -> bool:
        """Tell which rule predicts a fifth of the people better when it has not seen them; the promise is the same."""
        aside = Noise(insecure_seed=people.size).uniform(5, people.size) == 0
        kept = ~aside
        if len(np.unique(people.labels[kept])) < 2 or not aside.any():
            return False
        rows = np.flatnonzero(kept)
        part = people.subset(rows)
        learned = self._fitted_estimator(part.table, part.labels, part.weights)
        scores = np.asarray(learned.predict_proba(part.table), dtype=np.float64)[:, 1]
        good = people.labels[aside] == self.classes_[1]
        weight = people.given_weights[aside]
        others = metric.subset(np.flatnonzero(aside))
        losses = []
        for anchored in (False, True):
            rule = _following(metric.subset(rows), scores, part.given_weights, anchored)
            chance = np.clip(rule.probabilities(others)[:, 1], 1e-6, 1 - 1e-6)
            losses.append(float(weight @ np.where(good, -np.log(chance), -np.log1p(-chance))))
        return losses[1] < losses[0]


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The people of a fit: their table, labels, and weights if there are any."""

    table: Any
    labels: Any
    weights: Floats | None

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def given_weights(self) -> Floats:
        return np.ones(self.size) if self.weights is None else self.weights

    def subset(self, rows: Integers) -> _Fitted:
        return _Fitted(
            select_rows(self.table, rows), self.labels[rows], None if self.weights is None else self.weights[rows]
        )


def _following(metric: PointMetric, scores: Floats, weights: Floats, anchored: bool) -> LipschitzRule:
    student = fit_student(metric, scores, weights)
    if not anchored:
        return student
    return Anchored(metric, binary_rows(repair_scores(scores, metric))[:, 1], student)


def vacuous_share(metric: Metric) -> float:
    """Return for which share of pairs of (at most 2,000 of) the people a metric allows any difference.

    >>> vacuous_share(Metric.from_scores([0.0, 0.5, 3.0]))
    0.6666666666666666
    """
    rows = np.unique(np.linspace(0, metric.size - 1, min(metric.size, 2000)).astype(np.int64))
    apart = metric.subset(rows).block()[np.triu_indices(len(rows), 1)]
    return float((apart >= 1).mean()) if len(apart) else 0.0


def _warn_of_emptiness(model: FairClassifier, scores: Floats) -> None:
    if empty := said_of_emptiness(model.vacuous_):
        warn(empty, FairnessWarning)
    if model.rule_ is None or scores.shape[1] != 2:
        return
    spread = np.subtract(*np.quantile(model.rule_.probabilities(model.metric_)[:, 1], [0.75, 0.25]))
    if spread < NEARLY_CONSTANT * np.subtract(*np.quantile(scores[:, 1], [0.75, 0.25])):
        warn(
            "The rule is almost one probability for everybody: under this metric people are too close to each other. "
            "Raise kappa, or give larger weights.",
            FairnessWarning,
        )


def _checked_weights(weights: Any, people: int) -> Floats | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (people,) or not np.all(np.isfinite(array)) or array.min() < 0 or array.sum() == 0:
        raise ParameterError(f"sample_weight must be {people} finite numbers, not negative and not all zero.")
    return array


def _require_names(columns: Sequence[Any], table: Any) -> None:
    """Refuse a matrix where the metric reads columns by name: after a scaler they would be in other units as well."""
    if not _is_table(table) and any(isinstance(name, str) for name in columns):
        raise ParameterError(
            f"The metric reads columns by name ({', '.join(map(str, columns[:3]))}), and the people come as a "
            "matrix; put the scaler inside: FairClassifier(make_pipeline(StandardScaler(), estimator), metric)."
        )


def _check_fit(estimator: FairClassifier, people: Any, target: Any) -> tuple[Any, Any]:
    """Return table and labels; tables keep their columns, so that text reaches the wrapped estimator."""
    from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

    if target is None:
        raise ParameterError("FairClassifier requires y to be passed, but the target y is None.")
    if _is_table(people):
        validate_data(estimator, people, skip_check_array=True)
        table: Any = people
    else:
        table = validate_data(estimator, people, dtype=np.float64, ensure_all_finite="allow-nan")
    labels = column_or_1d(target, warn=True)
    check_consistent_length(table, labels)
    return table, np.asarray(labels)


def _check_classes(labels: Any) -> None:
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import check_classification_targets

    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)


def _check_predict(estimator: FairClassifier, people: Any) -> Any:
    """Return the people to decide about, with what is missing at the medians of the fit."""
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(estimator)
    if _is_table(people):
        validate_data(estimator, people, reset=False, skip_check_array=True)
        return filled(people, estimator.medians_)
    table = validate_data(estimator, people, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
    return filled(table, estimator.medians_)


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
        warn(
            "Under this metric the fair rule is hardly better than one distribution for everybody: people are too "
            "close to each other for so many classes. Raise kappa or sharpen the metric.",
            FairnessWarning,
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
