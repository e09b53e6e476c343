"""The one shape of a private learner: public arguments, `fit` on private rows, a rule and its loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from sfumato.ask.question import fits
from sfumato.domain import Booleans, Categories, Derived, Domain, nearest
from sfumato.errors import CertificationError, ParameterError, SchemaError, told_once, warn
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.learn.cells import (
    check_label_type,
    encoded,
    feature_columns,
    label_column,
    label_domain,
    listed,
    warn_of_rounding,
    warn_of_text,
)
from sfumato.learn.facts import LearningFacts, Sample, joined, require_filled
from sfumato.learn.labels import labels_of_column
from sfumato.learn.rules import Learned
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, Bound, Loss
from sfumato.privacy.bounds import require_bound
from sfumato.words import understood

Kind = TypeVar("Kind", bound=type)


@dataclass_transform(eq_default=False)
def learner(kind: Kind) -> Kind:
    """Make a constructor from the fields of a learner, as scikit-learn wants it; a sentence says what does not fit."""
    made: Any = dataclass(eq=False, repr=False)(kind)
    made.__init__ = understood(made.__init__)
    return cast(Kind, made)


@learner
class PrivateModel(BaseEstimator):  # type: ignore[misc]
    """What every private learner is: public arguments, `fit` on private rows, a rule and what it cost.

    Neighbours are tables of the same length in which one person's features and label are replaced; the number of
    people is public. Private cells never raise: each is repaired on its own. A subclass says what a label may be
    (`label_values`, `labels_in`, `of_labels`) and writes `_plan` (the mechanism, from public facts), `_rule` (what its
    value means) and `_warn` (too few people).
    """

    json_parameters: ClassVar[tuple[str, ...]] = ()
    """The parameters that a ledger stores; a subclass lists its own beside these."""
    stored: ClassVar[Mapping[str, str]] = {}
    """Under which earlier word ledgers keep a parameter that has another name now."""
    forms: ClassVar[Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {}
    """How parameters that are no JSON are written, and read."""
    counts_rows: ClassVar[bool] = False
    """Whether it counts rows with noise where their number is private: filtered ones, several a person."""
    _told: ClassVar[set[str] | None] = None
    """What was warned of in copies of one learner, which share it; None of a learner that was written down."""

    spend: Bound | None = None
    domains: Domain | Sequence[Domain] | None = None
    _: KW_ONLY
    noise: Noise | None = None

    # What a learner is

    @abstractmethod
    def label_values(self) -> Domain:
        """Return what a label may be, as the arguments say it."""

    @classmethod
    @abstractmethod
    def labels_in(cls, column: Domain, classes: Sequence[Any] | None) -> Domain:
        """Return what a label may be where a schema has a domain for its column."""

    @classmethod
    @abstractmethod
    def of_labels(cls, labels: Domain) -> dict[str, Any]:
        """Return the argument that says this of the label."""

    @abstractmethod
    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        """Return what runs on a `Sample`, made from public facts only."""

    @abstractmethod
    def _rule(self, facts: LearningFacts, value: Any) -> Learned:
        """Return the rule that the mechanism's value stands for."""

    def _plan_for(self, facts: LearningFacts, sample: Sample, spend: Bound) -> Mechanism:
        """Return what runs on this sample; only learners whose features are public look at more than its size."""
        return self._plan(facts, sample.people, spend)

    # What a user calls

    @understood
    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn a rule from rows X and labels y; `loss_` says what it cost."""
        with told_once(self._told):
            facts, sample = self._read(X, y)
            return self.fit_sample(facts, sample)

    def __sklearn_clone__(self) -> Self:
        """Return a copy without what was fitted, as searches and cross-validation make one for every fold."""
        made: Self = super().__sklearn_clone__()
        told = self._told if self._told is not None else self.__dict__.setdefault("_of_copies", set())
        made.__dict__["_told"] = told
        return made

    def fit_sample(self, facts: LearningFacts, sample: Sample) -> Self:
        """Learn from exact integers: what `fit` and `curator.learn` do once the cells are codes."""
        spend = self._spend()
        self._warn(facts, sample.people, spend)
        mechanism = settled(self._plan_for(facts, sample, spend), spend)
        value = mechanism(sample, deepcopy(self.noise))
        return self.keep(facts, mechanism.loss(), self.rule(facts, value).known_by(mechanism))

    def keep(self, facts: LearningFacts, loss: Loss, rule: Learned) -> Self:
        """Become fitted: with a rule that was drawn here, or that a ledger stored."""
        self.loss_ = loss
        self.rule_ = rule
        self.n_features_in_ = len(facts.features)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return a label for each row, from the rule alone; this is free."""
        found: NDArray[Any] = self.checked_rule(X).predict(X)
        return found

    def checked_rule(self, rows: Any) -> Any:
        """Return the fitted rule once X has the shape of a fit's."""
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self, "rule_")
        feature_columns(rows)  # says what to do with one dimension, before the features are counted
        validate_data(self, rows, reset=False, skip_check_array=True)
        return self.rule_

    def mechanism(self, people: int, features: int | Sequence[str] | None = None) -> Mechanism:
        """Return what a fit on so many people would run; `mechanism(1000).loss()` is what it would cost."""
        spend = self._spend()
        self._check()
        return settled(self._plan(self.facts(features), positive_integer(people, "people"), spend), spend)

    def planned(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        """Return what runs for a table with these public facts, and warn if it has too few people."""
        self._warn(facts, people, spend)
        return settled(self._plan(facts, people, spend), spend)

    def foreseen(self, facts: LearningFacts, people: int, spend: Bound) -> Any:
        """Return how near a fit will come to the same model without privacy; None of learners that do not know it."""
        return None

    def rule(self, facts: LearningFacts, value: Any) -> Learned:
        """Return the rule that a released value stands for."""
        return self._rule(facts, value)

    def options(self) -> dict[str, Any]:
        """Return the learner's own parameters as JSON, for a ledger; `read_options` reads them back."""
        return {
            self.stored.get(name, name): self.forms.get(name, (_stored, None))[0](getattr(self, name))
            for name in self.json_parameters
        }

    def for_features(self, features: Sequence[str]) -> Self:
        """Return the learner for a question about these features; one with a public table of its own reads it so."""
        return self

    @classmethod
    def read_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that `options` wrote, refusing what the learner does not have."""
        now = {earlier: name for name, earlier in cls.stored.items()}
        found = {now.get(name, name): value for name, value in options.items()}
        for name in found:
            if name not in cls.json_parameters:
                raise ParameterError(f"{cls.__name__} has no {name!r}; {nearest(name, cls.json_parameters)}")
        return {name: cls.forms[name][1](value) if name in cls.forms else value for name, value in found.items()}

    def facts(self, features: int | Sequence[str] | None = None, target: str = "y") -> LearningFacts:
        """Return the public facts of a fit on these features: their number or names, by default those of `domains`.

        A learner that was fitted by a curator has the domains and labels of the schema.
        """
        if self.domains is None and hasattr(self, "rule_"):
            known = {"domains": list(self.rule_.domains), **self.of_labels(self.rule_.labels)}
            return type(self)(**{**self.get_params(deep=False), **known}).facts(features or self.rule_.features, target)
        names = self._names(features)
        domains = self._domains(len(names))
        if target in names:
            raise ParameterError(
                f"{target!r} is both a feature and the label; give the label another name, as in y.rename('label')."
            )
        private = {name for name, domain in zip(names, domains, strict=True) if not domain.public}
        labels = self.label_values()
        require_filled((*names, target), (*domains, labels))
        return LearningFacts(names, domains, labels, target, frozenset({*private, target}))

    # Public facts, checked

    def _check(self) -> None:
        """Refuse parameters that say nothing; a subclass has its own."""

    def _spend(self) -> Bound:
        if self.spend is None:
            raise ParameterError(f"A fit costs something; write {type(self).__name__}(spend=Pure(1), ...).")
        return require_bound(self.spend)

    def _names(self, features: int | Sequence[str] | None) -> tuple[str, ...]:
        if features is None:
            many = len(self.domains) if isinstance(self.domains, (list, tuple)) else 1
            features = getattr(self, "n_features_in_", many)
        if isinstance(features, (int, np.integer)):
            return tuple(f"x{place}" for place in range(positive_integer(features, "features")))
        names = (features,) if isinstance(features, str) else tuple(str(name) for name in features)
        if not names or len(set(names)) != len(names):
            raise ParameterError("Features have names, each its own; name every column once.")
        return names

    def _domains(self, features: int) -> tuple[Domain, ...]:
        given = self.domains
        if isinstance(given, Domain):
            found: tuple[Any, ...] = (given,) * features
        elif isinstance(given, (list, tuple)) and given:
            found = tuple(given)
        elif isinstance(given, Mapping):
            raise ParameterError(
                "domains= is a list in the order of the columns of X, not a dict of names; write "
                "domains=[integers(0, 120), fixed(0, 1, step=0.01)], or one domain for all features."
            )
        else:
            raise ParameterError(
                "What a feature may hold is public and is written down, never read from X; write "
                "domains=[integers(0, 120), fixed(0, 1, step=0.01)], or one domain for all features."
            )
        if len(found) != features:
            raise ParameterError(f"There are {features} features and {len(found)} domains; write one domain for each.")
        for domain in found:
            if isinstance(domain, Derived):
                raise SchemaError("A derived column has no domain of its own; learn from the column it is made from.")
            if not isinstance(domain, Domain):
                raise ParameterError(f"{domain!r} is no domain; write for example integers(0, 120).")
        return found

    # Private rows, repaired

    def _read(self, rows: Any, labels: Any) -> tuple[LearningFacts, Sample]:
        """Return public facts and exact integers; raises on shapes and arguments, never on a cell."""
        from sklearn.utils.validation import validate_data

        marks = label_column(labels)
        columns = feature_columns(rows)
        _check_shape(columns, marks)
        validate_data(self, rows, skip_check_array=True)
        self._domains(len(columns))  # arrays have their own, whatever a curator's schema said before
        facts = self.facts(getattr(self, "feature_names_in_", len(columns)), _target(labels))
        check_label_type(labels, facts.labels)
        warn_of_text(rows, facts.domains)
        warn_of_rounding(rows, labels, facts.domains, facts.labels)
        codes = joined(
            [encoded(column, domain) for column, domain in zip(columns, facts.domains, strict=True)], facts.domains
        )
        return facts, Sample.of(codes, encoded(marks, facts.labels))

    @abstractmethod
    def _warn(self, facts: LearningFacts, people: int, spend: Bound) -> None:
        """Warn, from public facts, where there are too few people for anything useful."""

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn cannot see: any cell is read, random."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = True
        return tags


@learner
class PrivateLearner(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A classifier that is differentially private in all rows it is fitted on: of two labels, unless it says more.

    Every learner takes `spend`, `domains`, `classes`, `accuracy`, `failure` and `noise`:

    Parameters
    ----------
    spend : what the fit may cost, such as `Pure(1)`.
    domains : one `sfumato.domain` for each feature, or one for all of them; public, never read from X.
    classes : the labels, public, as they stand in y; a label that is none of them counts as the first one, and text
        where the classes are numbers (or the other way round) is refused by the type of y.
    accuracy, failure : the error that is wanted, and how often it may be missed; privacy does not depend on them.
    noise : a `Noise`, for tests; every fit starts from a copy of it. By default every fit draws fresh noise.

    Attributes
    ----------
    rule_ : the rule, frozen, readable, JSON. `predict` uses it alone.
    loss_ : what the fit cost.

    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure")
    most_labels: ClassVar[int] = 2
    """How many labels it can tell apart."""
    instead: ClassVar[str] = ""
    """What needs fewer people, in a sentence behind the warning that there are too few; nothing where nothing does."""

    classes: Sequence[Any] | None = None
    _: KW_ONLY
    accuracy: Number = 0.1
    failure: Number = 0.05

    @abstractmethod
    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        """Return how many people are enough for an error of `accuracy`, except with probability `failure`."""

    def label_values(self) -> Booleans | Categories:
        """Return the labels that were named."""
        return label_domain(self.classes, self.most_labels)

    @classmethod
    def labels_in(cls, column: Domain, classes: Sequence[Any] | None) -> Booleans | Categories:
        """Return the labels of a schema's column: those named, or all values that it has, if there are few."""
        return labels_of_column(column, classes, cls.most_labels)

    @classmethod
    def of_labels(cls, labels: Domain) -> dict[str, Any]:
        """Return the labels as `classes`."""
        return {"classes": listed(labels)}

    def keep(self, facts: LearningFacts, loss: Loss, rule: Learned) -> Self:
        """Become fitted, with the labels that scikit-learn looks for."""
        super().keep(facts, loss, rule)
        self.classes_ = np.array(rule.classes)
        return self

    def needed(
        self, accuracy: Number | None = None, failure: Number | None = None, *, features: int | None = None
    ) -> int:
        """Return how many people are enough for this accuracy by the proved bound; public arithmetic, free."""
        return self._needed(self.facts(features), self._spend(), *self._goal(accuracy, failure))

    def _check(self) -> None:
        self._goal(None, None)

    def _goal(self, accuracy: Number | None, failure: Number | None) -> tuple[float, float]:
        wanted = between_zero_and_one(self.accuracy if accuracy is None else accuracy, "accuracy")
        missed = between_zero_and_one(self.failure if failure is None else failure, "failure")
        return float(wanted), float(missed)

    def _warn(self, facts: LearningFacts, people: int, spend: Bound) -> None:
        accuracy, failure = self._goal(None, None)
        needed = self._needed(facts, spend, accuracy, failure)
        if people < needed:
            warn(
                f"An error of at most {accuracy:g} is proved from {needed} people on, and there are "
                f"{people}; the rule is private, but it need not be good. Spend more, or ask for less accuracy."
                f"{self.instead and ' ' + self.instead}"
            )

    def __sklearn_tags__(self) -> Any:
        """Say how many labels there are, and that a score need not be good."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.classes is not None and len(self.classes) > 2
        tags.classifier_tags.poor_score = True
        return tags


def settled(mechanism: Mechanism, spend: Bound) -> Mechanism:
    """Return the mechanism once its own loss is proved to be within the spend."""
    if mechanism.reads is EVERYTHING and spend.unit == "attribute":
        raise ParameterError("A spend per attribute needs named attributes; give the mechanism reads=.")
    if not fits(mechanism.loss(), spend):
        raise CertificationError(
            f"The loss of this {type(mechanism).__name__} does not provably fit {spend!r}; please report it."
        )
    return mechanism


def _check_shape(columns: Sequence[NDArray[Any]], labels: NDArray[Any]) -> None:
    if not columns:
        raise ParameterError(
            f"Found array with 0 feature(s) (shape=({len(labels)}, 0)) while a minimum of 1 is required."
        )
    if len(columns[0]) != len(labels):
        raise ParameterError(
            f"Found input variables with inconsistent numbers of samples: {[len(columns[0]), len(labels)]}; X and y "
            "have one row a person each."
        )
    if len(labels) == 0:
        raise ParameterError("Found array with 0 sample(s) while a minimum of 1 is required; there is nobody in X.")


def _stored(value: Any) -> Any:
    return str(value) if isinstance(value, (Fraction, Decimal)) else value


def _target(labels: Any) -> str:
    name = getattr(labels, "name", None)
    return name if isinstance(name, str) and name else "y"
