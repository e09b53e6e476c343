"""Private logistic regression in the shape of scikit-learn: probabilities, coefficients, and what the fit cost."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import AccuracyWarning
from sfumato.learn.cells import Codes, feature_columns, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts
from sfumato.learn.linear_steps import (
    BINS,
    Coordinates,
    Grid,
    LinearSteps,
    coordinates_of,
    linear_steps,
    noise_ratio,
    standardised_cells,
    table_deviation,
)
from sfumato.learn.rules import Rule, about
from sfumato.privacy import Bound, Loss

QUALITY = (
    (0.012, "within about a point of the same model without privacy"),
    (0.04, "one to two points below the same model without privacy"),
    (0.2, "several points below the same model without privacy"),
)
"""Measured: how far below the plain model the area under the curve lies, by the noise ratio."""


@dataclass(frozen=True, kw_only=True)
class LinearRule(Rule):
    """Holds where the probability of the second label is at least one half."""

    kind: ClassVar[str] = "linear"
    cell: int
    centre: tuple[int, ...]
    deviation: tuple[int, ...]
    direction: tuple[int, ...]
    slope: int
    offset: int
    table: tuple[int, ...]
    deviation_of_count: int = 0
    """The standard deviation of the noise in a count of the table, rounded up; 0 in rules that did not store it."""

    SHARP: ClassVar[int] = 1 << 20
    """Slope and offset count in these units."""

    def scores(self, codes: Codes) -> NDArray[np.float64]:
        """Return the log-odds of the second label."""
        grid = Grid(cell=self.cell)
        parts = [
            Coordinates.of(name, domain).scaled(codes[:, place], grid.cell)
            for place, (name, domain) in enumerate(zip(self.features, self.domains, strict=True))
        ]
        standard = standardised_cells(
            np.hstack(parts), np.array(self.centre, np.int64), np.array(self.deviation, np.int64), grid.unit
        )
        score = (standard @ np.array(self.direction, np.int64)) / float(grid.unit << 16)
        return np.asarray((self.slope * score + self.offset) / self.SHARP)

    def probabilities(self, rows: Any) -> NDArray[np.float64]:
        """Return the probability of each label, one row a person."""
        second = 1 / (1 + np.exp(-np.clip(self.scores(self.encode(rows)), -700, 700)))
        return np.stack([1 - second, second], axis=1)

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return `probabilities`, under the name that scikit-learn has for it; columns are in the order of classes."""
        return self.probabilities(rows)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare the log-odds with zero."""
        return np.asarray(self.scores(codes) >= 0)

    def says(self) -> str:
        """Name the features that move the score most."""
        size: dict[str, int] = {}
        place = 0
        for name, domain in zip(self.features, self.domains, strict=True):
            width = Coordinates.of(name, domain).width
            size[name] = max((abs(weight) for weight in self.direction[place : place + width]), default=0)
            place += width
        strongest = sorted(size, key=lambda name: -size[name])[:3]
        return f"a score of {', '.join(strongest)}{' and others' if len(size) > 3 else ''} is high enough"

    @property
    def area(self) -> float:
        """The area under the curve among the people of the fit, from the noisy table (Mann and Whitney).

        A rough figure: scores stand in 16 bins, where equal ones count half, and these are the people it was fitted
        to. It is nan where one of the labels has hardly more people in the table than the noise makes up.
        """
        return self._area[0]

    @property
    def area_interval(self) -> tuple[float, float]:
        """Where the area of the same table without noise lies, about 95 % of the time (two deviations)."""
        area, deviation = self._area
        if math.isnan(area):
            return math.nan, math.nan
        return max(0.0, area - 2 * deviation), min(1.0, area + 2 * deviation)

    @property
    def rare_label(self) -> Any:
        """The label that the released table does not show to be there; None where it shows both."""
        least = max(1.0, 2 * self.deviation_of_count * math.sqrt(BINS))
        few = [place for place, total in enumerate(self._counts.sum(axis=0)) if total < least]
        return self.classes[few[-1]] if few else None

    @property
    def _counts(self) -> NDArray[np.float64]:
        return np.array(self.table, np.float64).reshape(BINS, 2)

    @property
    def _area(self) -> tuple[float, float]:
        """Return the area and its deviation by the noise, to the first order."""
        if self.rare_label is not None:
            return math.nan, math.nan
        losers, winners = self._counts.T
        pairs = losers.sum() * winners.sum()
        below = np.cumsum(losers) - losers / 2
        above = winners.sum() - np.cumsum(winners) + winners / 2
        area = float((winners * below).sum() / pairs)
        slopes = np.concatenate([above - area * winners.sum(), below - area * losers.sum()]) / pairs
        return min(1.0, max(0.0, area)), self.deviation_of_count * float(np.linalg.norm(slopes))


def _calibrated(table: NDArray[np.float64], lean: float) -> tuple[float, float]:
    """Return slope and offset of a logistic fit of label on bin middles; noise never turns the ranking round."""
    counts = np.maximum(table, 0.0)
    middles = (np.arange(BINS) + 0.5) * 6 / BINS - 3
    total, good = counts.sum(axis=1), counts[:, 1]
    slope, offset = 1.0, lean
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(slope * middles + offset, -30, 30)))
        weight = total * chance * (1 - chance)
        push = np.array([((good - total * chance) * middles).sum(), (good - total * chance).sum()])
        matrix = np.array(
            [[(weight * middles**2).sum(), (weight * middles).sum()], [(weight * middles).sum(), weight.sum()]]
        )
        change = np.linalg.solve(matrix + 1e-3 * np.eye(2), push)
        length = float(np.linalg.norm(change))
        change = change / max(1.0, length)
        slope, offset = max(0.02, slope + float(change[0])), max(-30.0, min(30.0, offset + float(change[1])))
    return slope, offset


@learner
class PrivateLinearClassifier(PrivateLearner):
    """Logistic regression of two labels, private in every row: the plain classifier to begin with.

    One reading of means and spreads puts features on one scale, a few noisy gradient steps find the direction, and a
    small table of scores by label calibrates the probabilities. Numbers, truth values and categories (up to 64) are
    features; dates and money are numbers. `expected_quality(people)` says beforehand, from public facts, how near it
    will come to the same model without privacy; with too little it warns.

    Spec: MD-LINEAR. Time: rows · coordinates · steps: a million rows of 50 columns in seconds.

    Attributes
    ----------
    auc_ : area under the curve among the people of the fit, from a noisy table of 16 bins of the score by label: a
        rough figure. nan, with a warning, where that table does not show both labels.
    auc_interval_ : where that area lies without noise, about 95 % of the time (privacy noise only).
    coef_, intercept_ : the log-odds in the units of the features, without the clipping of far values;
        `coordinate_names_` says which coefficient is whose.

    >>> from sfumato import Noise, Pure, integers
    >>> people = [[age, hours] for age in range(20, 80) for hours in range(0, 60)] * 3
    >>> rich = ["yes" if age + hours > 90 else "no" for age, hours in people]
    >>> number = integers(0, 99, missing=0)
    >>> learner = PrivateLinearClassifier(Pure(1), [number, number], ("no", "yes"), noise=Noise(insecure_seed=1))
    >>> fitted = learner.fit(people, rich)
    >>> fitted.predict([[25, 5], [75, 55]]).tolist(), round(fitted.auc_, 2) > 0.95
    (['no', 'yes'], True)

    """

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> LinearSteps:
        coordinates = coordinates_of(facts)
        return linear_steps(coordinates, people, spend, facts)

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        cell, centre, deviation, direction, counts = value
        table = np.array(counts, np.float64).reshape(BINS, 2)
        winners, losers = max(1.0, table[:, 1].sum()), max(1.0, table[:, 0].sum())
        slope, offset = _calibrated(table, math.log(winners / losers))
        sharp = LinearRule.SHARP
        return LinearRule(
            **about(facts), cell=cell, centre=tuple(centre), deviation=tuple(deviation), direction=tuple(direction),
            slope=round(slope * sharp), offset=round(offset * sharp), table=tuple(int(count) for count in counts),
            deviation_of_count=math.ceil(table_deviation(self._spend())),
        )  # fmt: skip

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        width = 1 + sum(one.width for one in coordinates_of(facts))
        return rounded_up(noise_ratio(width, 1, spend) / QUALITY[1][0])

    def _warn(self, facts: LearningFacts, people: int, spend: Bound) -> None:
        ratio = noise_ratio(1 + sum(one.width for one in coordinates_of(facts)), people, spend)
        if ratio > QUALITY[-1][0]:
            warnings.warn(
                f"With {people} people this spend buys mostly noise: the rule is private, and hardly better than a "
                f"guess. {self._needed(facts, spend, 0.1, 0.05)} people are enough; spend more, or use fewer features.",
                AccuracyWarning,
                stacklevel=4,
            )

    def expected_quality(self, people: int, features: int | Sequence[str] | None = None) -> str:
        """Return how near the model will come to one without privacy; from public facts, free."""
        width = 1 + sum(one.width for one in coordinates_of(self.facts(features)))
        ratio = noise_ratio(width, people, self._spend())
        words = [said for most, said in QUALITY if ratio <= most]
        return f"{words[0] if words else 'mostly noise'} (noise ratio {ratio:.3g})"

    def keep(self, facts: LearningFacts, loss: Loss, rule: Rule) -> PrivateLinearClassifier:
        """Become fitted, with coefficients that can be read."""
        super().keep(facts, loss, rule)
        assert isinstance(rule, LinearRule)
        self.auc_, self.auc_interval_ = rule.area, rule.area_interval
        if rule.rare_label is not None:
            warnings.warn(
                f"The released numbers do not show that anybody has the label {rule.rare_label!r}, so that auc_ is nan "
                f"and the rule hardly better than a guess. A label that is neither of classes={rule.classes!r} counts "
                "as the first; compare them with what stands in y, or spend more.",
                AccuracyWarning,
                stacklevel=4,
            )
        self.coordinate_names_, self.coef_, self.intercept_ = _coefficients(rule)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each label, from the rule alone; this is free."""
        return self._checked_rule(X).probabilities(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the log-odds of the second label."""
        rule = self._checked_rule(X)
        return rule.scores(rule.encode(X))

    def _checked_rule(self, rows: Any) -> LinearRule:
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self, "rule_")
        feature_columns(rows)
        validate_data(self, rows, reset=False, skip_check_array=True)
        assert isinstance(self.rule_, LinearRule)
        return self.rule_


def _coefficients(rule: LinearRule) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return names, coefficients and intercept in the units of the features: the score where nothing is clipped."""
    grid = Grid(cell=rule.cell)
    slope = rule.slope / rule.SHARP
    names: list[str] = []
    found: list[float] = []
    intercept, place = rule.offset / rule.SHARP, 0
    for name, domain in zip(rule.features, rule.domains, strict=True):
        one = Coordinates.of(name, domain)
        for level in range(one.width):
            each = slope * rule.direction[place] / (1 << 16) / rule.deviation[place]
            intercept -= each * rule.centre[place]
            if one.levels:
                names.append(f"{name}={domain.decode(domain.first + level)}")
                found.append(2 * grid.cell * each)
                intercept -= grid.cell * each
            else:
                names.append(name)
                low, high = (_number(domain.decode(code), code) for code in (one.first, one.last))
                found.append(2 * grid.cell * each / (high - low) if high > low else 0.0)
                intercept -= grid.cell * each * (high + low) / (high - low) if high > low else 0.0
            place += 1
    return names, np.array([found]), np.array([intercept])


def _number(value: Any, code: int) -> float:
    """Return a value as a number; truth values and categories count as their codes, dates as their days."""
    return float(value) if isinstance(value, (int, float, Fraction)) else float(code)
