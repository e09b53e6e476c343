"""Private logistic and linear regression in the shape of scikit-learn: predictions, coefficients, what the fit cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sfumato.domain import Domain, FixedPoint, Integers
from sfumato.errors import ParameterError, warn
from sfumato.exact import Number
from sfumato.learn.cells import rounded_up
from sfumato.learn.estimator import PrivateLearner, PrivateModel, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.linear_aims import SPAN
from sfumato.learn.linear_quality import Foreseen, foreseen
from sfumato.learn.linear_rows import BINS, coordinates_of
from sfumato.learn.linear_rules import (
    NO_BETTER,
    Floats,
    LinearLabels,
    LinearModel,
    LinearNumber,
    LinearRule,
    calibrated,
    coefficients,
    target_ends,
)
from sfumato.learn.linear_shares import table_deviation
from sfumato.learn.linear_steps import CountedSteps, LinearSteps, counted_steps, linear_steps
from sfumato.learn.rules import Learned, about
from sfumato.privacy import Bound, Loss


class Linear:
    """What both linear learners know from public facts: their mechanism, and how good it will be."""

    counts_rows: ClassVar[bool] = True

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> LinearSteps | CountedSteps:
        coordinates = coordinates_of(facts)
        if not facts.presence.counted:
            return linear_steps(coordinates, people, spend, facts)
        alone = foreseen(facts, 1, spend)
        least, enough = (rounded_up(alone.ratio / ratio) for ratio in (alone.least, alone.enough))
        return counted_steps(coordinates, spend, facts, least=least, enough=enough)

    def foreseen(self, facts: LearningFacts, people: int, spend: Bound) -> Foreseen:
        """Return how near a fit will come to the same model without privacy."""
        return foreseen(facts, people, spend)

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float = 0.1, failure: float = 0.05) -> int:
        alone = foreseen(facts, 1, spend)
        return rounded_up(alone.ratio / alone.enough)

    def _warn(self, facts: LearningFacts, people: int, spend: Bound) -> None:
        if not facts.presence.counted and foreseen(facts, people, spend).points is None:
            warn(
                f"With {people} people this spend buys much noise: the rule is private, and may be no better than a "
                f"guess. {self._needed(facts, spend)} people are enough; spend more, or use fewer features."
            )

    def _keep_doubts(self, rule: LinearModel) -> None:
        """Say which coefficients are known, and warn of features that the released numbers show in one place only."""
        self.coef_known_ = np.array([one.place not in rule.faint for one in rule.axes()])
        for said in rule.narrow_features():
            warn(said)


def _counted(
    model: PrivateModel, features: int | Sequence[str] | None, called: str = "needed(features=64)"
) -> LearningFacts:
    """Return the public facts once it is known how many features there are: one domain may stand for any number."""
    if features is None and isinstance(model.domains, Domain) and not hasattr(model, "n_features_in_"):
        raise ParameterError(f"One domain stands for all features; say how many: {called}.")
    return model.facts(features)


def _with_rows(facts: LearningFacts, value: Any) -> tuple[Any, int]:
    """Return a value without the number of rows that was released at its end, and that; 0 where it is public."""
    return (value[:-1], int(value[-1])) if facts.presence.counted else (value, 0)


def _quality(model: PrivateModel, people: int, features: int | Sequence[str] | None) -> str:
    facts = _counted(model, features, "expected_quality(people, features=64)")
    return foreseen(facts, people, model._spend()).text


@learner
class PrivateLinearClassifier(Linear, PrivateLearner):
    """Logistic regression of two to 32 labels, private in every row: the plain classifier to begin with.

    One reading of means and spreads puts features on one scale, a few noisy gradient steps find the weights, and for
    two labels a small table of scores by label calibrates the probabilities. Numbers, truth values and categories (up
    to 64) are features; dates and money are numbers. `expected_quality(people)` says beforehand, from public facts, how
    near it will come to the same model without privacy; with too little it warns.

    Spec: MD-LINEAR. Time: rows · coordinates · steps · labels: a million rows of 50 columns in seconds.

    Attributes
    ----------
    auc_ : of two labels, the area under the curve among the people of the fit, from a noisy table of 16 bins of the
        score by label: a rough figure. nan, with a warning, where that table does not show both labels.
    auc_interval_ : where that area lies without noise, about 95 % of the time (privacy noise only).
    coef_, intercept_ : the log-odds (of several labels the score of each) in the units of the features, without the
        clipping of far values; `coordinate_names_` says which coefficient is whose, `coef_known_` where people have
        more say in it than noise, by the released numbers.

    >>> from sfumato import Noise, Pure, integers
    >>> people = [[age, hours] for age in range(20, 80) for hours in range(0, 60)] * 3
    >>> rich = ["yes" if age + hours > 90 else "no" for age, hours in people]
    >>> number = integers(0, 99, missing=0)
    >>> learner = PrivateLinearClassifier(Pure(1), [number, number], ("no", "yes"), noise=Noise(insecure_seed=1))
    >>> fitted = learner.fit(people, rich)
    >>> fitted.predict([[25, 5], [75, 55]]).tolist(), round(fitted.auc_, 2) > 0.95
    (['no', 'yes'], True)

    """

    most_labels: ClassVar[int] = 32

    def _rule(self, facts: LearningFacts, value: Any) -> Learned:
        value, people = _with_rows(facts, value)
        cell, centre, deviation, weights, counts, *later = value
        # Draws of the first version end here: they hold coordinates within two deviations, and no shares of labels.
        *shares, reach = later or (2,)
        shared = {**about(facts), "cell": cell, "centre": tuple(centre), "deviation": tuple(deviation), "reach": reach,
                  "rows": people}  # fmt: skip
        if not counts:
            found, noise = (tuple(shares[0][:-1]), shares[0][-1]) if shares else ((), 0)
            return LinearLabels(**shared, weights=tuple(weights), people_by_label=found, deviation_of_count=noise)
        table = np.array(counts, np.float64).reshape(BINS, 2)
        winners, losers = max(1.0, table[:, 1].sum()), max(1.0, table[:, 0].sum())
        slope, offset = calibrated(table, math.log(winners / losers))
        sharp = LinearRule.SHARP
        return LinearRule(
            **shared, direction=tuple(weights), slope=round(slope * sharp), offset=round(offset * sharp),
            table=tuple(int(count) for count in counts),
            deviation_of_count=math.ceil(table_deviation(self._spend(), facts)),
        )  # fmt: skip

    def expected_quality(self, people: int, features: int | Sequence[str] | None = None) -> str:
        """Return how near the model will come to one without privacy; from public facts, free.

        `features` says how many there are where one domain stands for all of them.
        """
        return _quality(self, people, features)

    def needed(
        self, accuracy: Number | None = None, failure: Number | None = None, *, features: int | None = None
    ) -> int:
        """Return from how many people on the noise is small beside what everybody says together; free.

        `features` says how many there are where one domain stands for all of them.
        """
        return self._needed(_counted(self, features), self._spend(), *self._goal(accuracy, failure))

    def fit_sample(self, facts: LearningFacts, sample: Sample) -> Self:
        """Learn from exact integers, and warn where the released figure may be that of a guess, as an answer does."""
        super().fit_sample(facts, sample)
        rule = self.rule_
        if isinstance(rule, LinearRule) and rule.rare_label is None and NO_BETTER in rule.figures():
            said = f"{' '.join(rule.figures())} Compare classes={rule.classes!r} with what stands in y."
            warn(said)
        return self

    def keep(self, facts: LearningFacts, loss: Loss, rule: Learned) -> Self:
        """Become fitted, with coefficients that can be read."""
        super().keep(facts, loss, rule)
        assert isinstance(rule, (LinearRule, LinearLabels))
        if isinstance(rule, LinearRule):
            self._keep_area(rule)
            slope = rule.slope / rule.SHARP
            heads = slope * np.array([rule.direction], np.float64) / (1 << 16)
            constants = np.array([rule.offset / rule.SHARP])
        else:
            _warn_of_label(rule)
            heads, constants = _heads(rule)
        self.coordinate_names_, self.coef_, self.intercept_ = coefficients(rule, heads, constants)
        self._keep_doubts(rule)
        return self

    def _keep_area(self, rule: LinearRule) -> None:
        self.auc_, self.auc_interval_ = rule.area, rule.area_interval
        _warn_of_label(rule)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each label, from the rule alone; this is free."""
        found: Floats = self.checked_rule(X).probabilities(X)
        return found

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the log-odds of the second of two labels, or the score of every label."""
        rule = self.checked_rule(X)
        found: Floats = rule.scores(rule.encode(X))
        return found


@learner
class PrivateLinearRegressor(RegressorMixin, Linear, PrivateModel):  # type: ignore[misc]
    """Linear regression, private in every row: the plain model of a number to begin with.

    As `PrivateLinearClassifier`: one reading of means and spreads, of the target's too, a few noisy gradient steps on
    squares, whose residuals are cut off at three deviations of the target, and a small table of how far predictions are
    off. Predictions stay within the range of the target.

    Spec: MD-LINEAR. Time: rows · coordinates · steps.

    Parameters
    ----------
    spend : what the fit may cost, such as `Pure(1)`.
    domains : one `sfumato.domain` for each feature, or one for all of them; public, never read from X.
    target : the domain of the number, such as `integers(0, 90)`; public, never read from y. A number out of range is
        moved into it.
    noise : a `Noise`, for tests; every fit starts from a copy of it. By default every fit draws fresh noise.

    Attributes
    ----------
    coef_, intercept_ : in the units of the target for a unit of each feature, without the clipping of far values;
        `coordinate_names_` says which coefficient is whose, `coef_known_` where people have more say in it than noise.
    rule_, loss_ : the model, frozen, readable, JSON, and what the fit cost.

    >>> from sfumato import Noise, Pure, integers
    >>> people = [[age, hours] for age in range(20, 80) for hours in range(0, 60)] * 3
    >>> pay = [10 * age + 5 * hours for age, hours in people]
    >>> number = integers(0, 99, missing=0)
    >>> target = integers(0, 2000, missing=0)
    >>> model = PrivateLinearRegressor(Pure(1), [number, number], target, noise=Noise(insecure_seed=1)).fit(people, pay)
    >>> model.score(people, pay) > 0.9
    True

    """

    target: Domain | None = None

    def label_values(self) -> Domain:
        """Return the domain of the target."""
        if not isinstance(self.target, Domain):
            raise ParameterError(
                "What the target may be is public and is written down, never read from y; write "
                "target=integers(0, 90), or fixed(0, 1000, step=0.01)."
            )
        return self.labels_in(self.target, None)

    @classmethod
    def labels_in(cls, column: Domain, classes: Sequence[Any] | None) -> Domain:
        """Return the domain of a schema's column, which must be one of numbers."""
        if classes is not None:
            raise ParameterError("A regression has no classes; take PrivateLinearClassifier for labels.")
        if not isinstance(column, (Integers, FixedPoint)):
            raise ParameterError(
                "The target of a regression is a number: integers or fixed point. Turn a date into days since another "
                "one, and take PrivateLinearClassifier for labels."
            )
        return column

    @classmethod
    def of_labels(cls, labels: Domain) -> dict[str, Any]:
        """Return the domain as `target`."""
        return {"target": labels}

    def _rule(self, facts: LearningFacts, value: Any) -> Learned:
        value, people = _with_rows(facts, value)
        cell, centre, deviation, weights, counts, scale, *later = value
        return LinearNumber(
            **about(facts), rows=people, cell=cell, centre=tuple(centre), deviation=tuple(deviation),
            weights=tuple(weights), reach=later[0] if later else 2,
            scale=(scale[0], scale[1], scale[2]), table=tuple(int(count) for count in counts),
            deviation_of_count=math.ceil(table_deviation(self._spend(), facts)),
        )  # fmt: skip

    def expected_quality(self, people: int, features: int | Sequence[str] | None = None) -> str:
        """Return how near the model will come to one without privacy; from public facts, free.

        `features` says how many there are where one domain stands for all of them.
        """
        return _quality(self, people, features)

    def needed(self, *, features: int | None = None) -> int:
        """Return from how many people on the noise is small beside what everybody says together; free.

        `features` says how many there are where one domain stands for all of them.
        """
        return self._needed(_counted(self, features), self._spend())

    def keep(self, facts: LearningFacts, loss: Loss, rule: Learned) -> Self:
        """Become fitted, with coefficients that can be read."""
        super().keep(facts, loss, rule)
        assert isinstance(rule, LinearNumber)
        low, high = target_ends(rule)
        mean, deviation, doubt = rule.scale
        if deviation**2 < 2 * doubt * rule.cell:  # a spread that noise alone may have made
            _warn_of_range(rule)
        unit = (high - low) / (2 * rule.cell)
        heads, constants = _heads(rule)
        constants = low + unit * (rule.cell + mean + SPAN * deviation * constants)
        self.coordinate_names_, found, intercept = coefficients(rule, unit * SPAN * deviation * heads, constants)
        self.coef_, self.intercept_ = found[0], float(intercept[0])
        self._keep_doubts(rule)
        return self

    def predict_interval(self, X: Any, confidence: Number = Fraction(9, 10)) -> NDArray[np.float64]:  # noqa: N803
        """Return where the numbers of people like those of the fit lie so often: low and high, one row a person; free.

        From the released table of how far predictions were off, taken over everybody: about right on average, and not
        for every kind of person by itself. Within a bin of that table it is interpolated.
        """
        found: Floats = self.checked_rule(X).intervals(X, confidence)
        return found

    def __sklearn_tags__(self) -> Any:
        """Say that a score need not be good."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _warn_of_label(rule: LinearRule | LinearLabels) -> None:
    """Warn of a label that the released numbers do not show to be there."""
    if rule.rare_label is None:
        return
    said = f"The released numbers do not show that anybody has the label {rule.rare_label!r}"
    if len(rule.classes) == 2:
        said += (
            ", so that auc_ is nan and nothing is known of how good the rule is: either y holds none of "
            f"classes={rule.classes!r}, and what is neither counts as the first, or the noise of that table is too "
            "large; compare them with what stands in y, or spend more."
        )
    else:
        said += (
            f". A label that is none of classes={rule.classes!r} counts as the first; compare them with what stands in "
            "y, or spend more."
        )
    warn(said)


def _warn_of_range(rule: LinearNumber) -> None:
    low, high = target_ends(rule)
    warn(
        f"The released numbers do not show that the target spreads over its range, {low:g} to {high:g}, at all, and "
        "noise for so wide a range may move the mean by as much as people differ: predictions may be worse than one "
        "number for everybody. Write a narrower range from what you know, or spend more."
    )


def _heads(rule: LinearLabels | LinearNumber) -> tuple[Floats, Floats]:
    """Return weights of the coordinates, one row a score, and the constants."""
    width = 1 + len(rule.centre)
    table = np.array(rule.weights, np.float64).reshape(-1, width) / (1 << 16)
    return table[:, 1:], table[:, 0]
