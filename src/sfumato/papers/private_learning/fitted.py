"""Classifiers of scikit-learn that are fitted on rows that were already released, so that fitting them is free."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier

from sfumato.domain import Booleans, Categories, Domain
from sfumato.errors import ParameterError
from sfumato.learn.cells import Codes
from sfumato.learn.facts import LearningFacts
from sfumato.learn.rules import Rule, about

Row = tuple[int, ...]
LARGEST_LIST = 256
"""Categories of longer lists are not given a column each."""


@dataclass(frozen=True)
class Recipe:
    """A classifier of scikit-learn before it is fitted, as JSON: its class and the parameters that were changed."""

    path: str
    parameters: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, classifier: Any) -> Recipe:
        """Return the recipe of a classifier, refusing what could not be stored and made again.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> Recipe.of(DecisionTreeClassifier(max_depth=2)).parameters
        (('max_depth', 2),)
        """
        kind = type(classifier)
        path = f"{kind.__module__}.{kind.__qualname__}"
        if (
            not isinstance(classifier, BaseEstimator)
            or not is_classifier(classifier)
            or not path.startswith("sklearn.")
        ):
            raise ParameterError(
                f"{kind.__name__} is no classifier of scikit-learn; write for example LogisticRegression()."
            )
        plain = kind().get_params(deep=False)
        changed = {name: value for name, value in classifier.get_params(deep=False).items() if value != plain[name]}
        for name, value in changed.items():
            if not isinstance(value, (bool, int, float, str, type(None))):
                raise ParameterError(
                    f"The parameter {name!r} of {kind.__name__} is stored as JSON, and {type(value).__name__} is none; "
                    "take a classifier with plain parameters."
                )
        return cls(path, tuple(sorted(changed.items())))

    def classifier(self) -> Any:
        """Return the classifier, unfitted."""
        module, _, name = self.path.rpartition(".")
        if not module.startswith("sklearn."):
            raise ParameterError(f"{self.path!r} is no classifier of scikit-learn, and nothing else is loaded.")
        kind = getattr(import_module(module), name, None)
        if not isinstance(kind, type) or not issubclass(kind, BaseEstimator):
            raise ParameterError(f"scikit-learn has no {self.path!r}.")
        return kind(**dict(self.parameters))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        return {"classifier": self.path, "parameters": dict(self.parameters)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Recipe:
        """Read what `to_json` wrote."""
        return cls(str(record["classifier"]), tuple(sorted(dict(record["parameters"]).items())))


def design(codes: Codes, domains: tuple[Domain, ...]) -> NDArray[np.float64]:
    """Return numbers for a classifier: each list of categories as columns of 0 and 1, all else scaled to [0, 1].

    Scales come from the domains, never from the rows.

    >>> from sfumato.domain import categories, integers
    >>> domains = (integers(0, 10, missing=0), categories("a", "b", "c", missing="a"))
    >>> design(np.array([[5, 1], [10, 0]]), domains).tolist()
    [[0.5, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    """
    columns = []
    for place, domain in enumerate(domains):
        codes_here = codes[:, place]
        size = domain.size or 1
        if isinstance(domain, Categories) and not isinstance(domain, Booleans) and size <= LARGEST_LIST:
            columns.append((codes_here[:, None] == np.arange(domain.first, domain.first + size)).astype(np.float64))
        else:
            scaled = (codes_here - domain.first).astype(np.float64) / max(1, size - 1)
            columns.append(scaled[:, None])
    return np.concatenate(columns, axis=1)


class Fitted:
    """A fitted classifier, or a constant where there is only one label to learn from."""

    def __init__(
        self, recipe: Recipe, rows: NDArray[np.float64], labels: NDArray[np.int64], weights: Any = None
    ) -> None:
        self.constant = int(labels[0]) if len(np.unique(labels)) == 1 else None
        self.model: Any = None
        if self.constant is None:
            self.model = recipe.classifier()
            if self.model.get_params(deep=False).get("random_state", 0) is None:
                self.model.set_params(random_state=0)  # the rule is fitted again elsewhere, and must be the same
            with warnings.catch_warnings():
                # What scikit-learn thinks of the fit is said of released rows; a rule is returned all the same.
                warnings.simplefilter("ignore")
                if weights is None:
                    self.model.fit(rows, labels)
                else:
                    self.model.fit(rows, labels, sample_weight=weights)

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell for each row whether the label is the second one."""
        if self.constant is not None:
            return np.full(len(rows), self.constant == 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(np.asarray(self.model.predict(rows)) == 1, dtype=bool)


@dataclass(frozen=True, kw_only=True)
class FittedRule(Rule):
    """What a classifier of scikit-learn says after it was fitted on released rows.

    The rows, how many people stand for each, and how many of these have the second label are part of the rule, so that
    it can be stored without a pickle and fitted again anywhere.
    """

    kind: ClassVar[str] = "fitted"
    path: str
    parameters: tuple[tuple[str, Any], ...]
    rows: tuple[Row, ...]
    counts: tuple[int, ...]
    ones: tuple[int, ...]

    @cached_property
    def model(self) -> Fitted:
        """The classifier, fitted once."""
        total, ones = np.array(self.counts, dtype=np.int64), np.array(self.ones, dtype=np.int64)
        if len(self.rows) == 0:
            return Fitted(self.recipe, np.zeros((1, 1)), np.zeros(1, dtype=np.int64))
        matrix = design(np.array(self.rows), self.domains)
        labels = np.repeat([0, 1], len(self.rows))
        weights = np.concatenate([total - ones, ones])
        kept = weights > 0
        both = np.concatenate([matrix, matrix])
        plain = bool((weights[kept] == 1).all())
        return Fitted(self.recipe, both[kept], labels[kept], None if plain else weights[kept].astype(np.float64))

    @property
    def recipe(self) -> Recipe:
        """The classifier before it is fitted."""
        return Recipe(self.path, self.parameters)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Ask the classifier."""
        return self.model.predict(design(codes, self.domains))

    def says(self) -> str:
        """Name the classifier."""
        return f"{self.path.rpartition('.')[2]} fitted on {sum(self.counts)} released rows says so"


def fitted_rule(
    facts: LearningFacts, recipe: Recipe, rows: tuple[Row, ...], counts: tuple[int, ...], ones: tuple[int, ...]
) -> FittedRule:
    """Return the rule of a classifier and the released rows."""
    return FittedRule(
        **about(facts), path=recipe.path, parameters=recipe.parameters, rows=rows, counts=counts, ones=ones
    )


def spread(points: Codes, most: int) -> tuple[Row, ...]:
    """Return at most so many distinct rows, in an order that a hash decides: public, and all over the place."""
    distinct = {tuple(map(int, row)) for row in points.tolist()}
    return tuple(sorted(distinct, key=lambda row: hashlib.sha256(repr(row).encode()).digest())[:most])
