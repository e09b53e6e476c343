"""Two more classes of rules: a list that is written down, and whatever a classifier of scikit-learn can reproduce."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.learn.cells import Codes
from sfumato.learn.concepts import concept_rule
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule, rule_from_json
from sfumato.papers.private_learning.families import FAMILIES, Boxes, Counts, Family, Listed, Value, family_of
from sfumato.papers.private_learning.fitted import Fitted, Recipe, Row, design, fitted_rule, spread

MOST_FITS = 20_000
"""More fits of a classifier are not tried; how many are needed depends on public points alone."""


@dataclass(frozen=True)
class RuleList(Family):
    """Rules that are written down: conditions as in SQL, or rules of another learner."""

    name: ClassVar[str] = "list"
    concepts: tuple[str | Rule, ...]

    def rules(self, facts: LearningFacts) -> tuple[Rule, ...]:
        """Return the rules for these features."""
        return tuple(concept_rule(concept, facts) for concept in self.concepts)

    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return the first rule for each way of labelling the points."""
        found: dict[bytes, tuple[int, Rule]] = {}
        for place, rule in enumerate(self.rules(facts)):
            found.setdefault(rule.holds(points).tobytes(), (place, rule))
        return _ListedRules(list(found.values()))

    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the rule of this place."""
        return self.rules(facts)[value[0]]

    def log_count(self, points: float, features: int) -> float:
        """As many as there are rules, or as there are labellings."""
        return min(math.log(len(self.concepts)), points * math.log(2))


class _ListedRules(Listed):
    def __init__(self, rules: list[tuple[int, Rule]]) -> None:
        self.rules = rules

    def right(self, sample: Sample) -> Counts:
        right = [sample.counts[rule.holds(sample.codes) == (sample.labels == 1)].sum() for _, rule in self.rules]
        return np.array(right, dtype=np.int64)

    def value(self, place: int) -> Value:
        return (self.rules[place][0],)


@dataclass(frozen=True)
class Reproducible(Family):
    """Whatever a classifier says after it was fitted on some labelling of `points` public rows that it reproduces."""

    name: ClassVar[str] = "classifier"
    recipe: Recipe
    points: int = 12

    def listed(self, points: Codes, facts: LearningFacts) -> Listed:
        """Return one fitted classifier for each labelling that it can reproduce, going back where it cannot."""
        rows = spread(points, self.points)
        matrix = design(np.array(rows), facts.domains)
        fits = _Fits(self.recipe, matrix)
        return _ListedFits(facts, rows, list(fits.labellings()))

    def rule(self, facts: LearningFacts, value: Value) -> Rule:
        """Return the classifier, fitted on its labelling."""
        rows, labels = value
        return fitted_rule(facts, self.recipe, rows, (1,) * len(rows), labels)

    def log_count(self, points: float, features: int) -> float:
        """At most all labellings of the rows that are used."""
        return min(points, self.points) * math.log(2)


class _Fits:
    """Labellings of rows that a classifier reproduces, one row after the other."""

    def __init__(self, recipe: Recipe, matrix: Any) -> None:
        self.recipe, self.matrix, self.left = recipe, matrix, MOST_FITS

    def labellings(self) -> Iterator[tuple[Row, Fitted]]:
        start = [self._fit((label,)) for label in (0, 1)]
        pending: list[tuple[Row, Fitted]] = [
            ((label,), model) for label, model in zip((1, 0), reversed(start), strict=True)
        ]
        while pending:
            labels, model = pending.pop()
            if len(labels) == len(self.matrix):
                yield labels, model
                continue
            for label in (1, 0):
                longer = (*labels, label)
                fitted = self._fit(longer)
                if fitted.predict(self.matrix[: len(longer)]).astype(int).tolist() == list(longer):
                    pending.append((longer, fitted))

    def _fit(self, labels: Row) -> Fitted:
        if self.left == 0:
            raise DomainTooLarge(
                f"This classifier reproduces too many labellings of the public rows to try them in {MOST_FITS} fits; "
                "list fewer rows, or leave listing= out.",
                method="listing=None",
            )
        self.left -= 1
        return Fitted(self.recipe, self.matrix[: len(labels)], np.array(labels, dtype=np.int64))


class _ListedFits(Listed):
    def __init__(self, facts: LearningFacts, rows: tuple[Row, ...], found: list[tuple[Row, Fitted]]) -> None:
        self.domains, self.rows, self.found = facts.domains, rows, found

    def right(self, sample: Sample) -> Counts:
        matrix, truth = design(sample.codes, self.domains), sample.labels == 1
        return np.array([sample.counts[model.predict(matrix) == truth].sum() for _, model in self.found], np.int64)

    def value(self, place: int) -> Value:
        return (self.rows, self.found[place][0])


def family_from(concepts: Any, listing: int | None) -> Family | Recipe:
    """Return the class that a user wrote: a name, a family, a list of rules, or a classifier.

    A classifier is listed if `listing` says on how many rows; otherwise its recipe is returned.
    """
    family = family_of(concepts)
    if family is not None:
        return family
    if isinstance(concepts, (list, tuple)) and concepts:
        return RuleList(tuple(concepts))
    if concepts is None or isinstance(concepts, Rule) or not hasattr(concepts, "get_params"):
        raise ParameterError(
            f"The class of rules is public and is written down; write concepts= {', '.join(map(repr, FAMILIES))}, a "
            "list of conditions such as ['x0 >= 3'], or a classifier of scikit-learn."
        )
    recipe = Recipe.of(concepts)
    return recipe if listing is None else Reproducible(recipe, listing)


def concepts_to_json(concepts: Any) -> Any:
    """Return a class of rules as text, or as a list of texts."""
    if isinstance(concepts, Boxes):
        return json.dumps({"family": concepts.name, "ends": concepts.ends})
    if isinstance(concepts, Family):
        return concepts.name
    if isinstance(concepts, (list, tuple)):
        return [json.dumps(rule.to_json()) if isinstance(rule, Rule) else rule for rule in concepts]
    return json.dumps(Recipe.of(concepts).to_json()) if hasattr(concepts, "get_params") else concepts


def family_event(family: Family) -> Any:
    """Return a class of rules as a ledger stores it."""
    match family:
        case RuleList():
            return concepts_to_json(family.concepts)
        case Reproducible():
            return {**family.recipe.to_json(), "points": family.points}
    return concepts_to_json(family)


def concepts_from_json(record: Any) -> Any:
    """Read what `concepts_to_json` wrote."""
    if isinstance(record, (list, tuple)):
        return [rule_from_json(json.loads(one)) if str(one)[:1] == "{" else one for one in record]
    if not isinstance(record, str) or record[:1] != "{":
        return record
    values = json.loads(record)
    if "classifier" in values:
        return Recipe.from_json(values).classifier()
    family = family_of(values.pop("family", "?"))
    return replace(family, **values) if isinstance(family, Boxes) else family
