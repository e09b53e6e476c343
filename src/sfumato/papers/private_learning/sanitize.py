"""Release labelled rows once, then learn any rule from them: sanitization implies learning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.ask.prepared import Prepared
from sfumato.domain import Booleans, Categories, Domain, integers
from sfumato.errors import ParameterError
from sfumato.learn.cells import rounded_up
from sfumato.learn.concepts import OfConcepts
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.rules import Rule
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.papers.private_learning.families import Family
from sfumato.papers.private_learning.fitted import Recipe, fitted_rule
from sfumato.papers.private_learning.labellings import concepts_from_json, concepts_to_json, family_from
from sfumato.papers.private_learning.sanitized import (
    CellRows,
    MedianRows,
    PointRows,
    Rows,
    cell_rows,
    median_rows,
    merged,
    ordered,
    point_rows,
    unsigned,
)
from sfumato.privacy import Bound, Loss
from sfumato.questions.synthesis.question import Synthesize
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.words import one_of
from sfumato.workload.records import Records
from sfumato.workload.space import Space

SANITIZERS = ("auto", "cells", "points", "medians", "model")
BINS = 64
"""Into how many parts a model cuts a long range of numbers."""
FEW_CELLS = 4096
"""Up to so many cells every one of them is counted, unless said otherwise."""


@dataclass(frozen=True, kw_only=True)
class ModelRows(Mechanism):
    """Fit a model of features and label to noisy tables, and return rows that are sampled from it.

    Promise: that of the measurements (PL-SAN2LEARN by `Synthesize`); the model, its rows and the rule are free.
    """

    spec: ClassVar[str] = "PL-SAN2LEARN"

    facts: LearningFacts
    people: int
    spend: Bound

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many neighbouring codes of each feature the model takes for one; more than one for long numbers only."""
        sizes = zip(self.facts.domains, self.facts.sizes(), strict=True)
        return tuple(1 if isinstance(domain, (Categories, Booleans)) else -(-size // BINS) for domain, size in sizes)

    @cached_property
    def schema(self) -> Schema:
        """The columns of the model: coarse features, and the label."""
        columns: dict[str, Domain] = {}
        for name, domain, width in zip(self.facts.features, self.facts.domains, self.widths, strict=True):
            columns[name] = domain if width == 1 else integers(0, ((domain.size or 1) - 1) // width, missing=0)
        return Schema({**columns, self.facts.target: self.facts.labels})

    @cached_property
    def prepared(self) -> Prepared:
        """The question for a model, made ready."""
        basis = Basis(self.schema, self.people, gaussians=self.facts.gaussians)
        return Synthesize(measured=False).plan(basis, self.spend)

    def loss(self) -> Loss:
        """Return the loss of the measurements."""
        return self.prepared.mechanism.loss()

    def event(self) -> Event:
        """Return the event of the measurements."""
        inner = self.prepared.mechanism.event()
        return Event(type(self).__name__, self.spec, {"measurements": inner.to_json(), "people": self.people})

    def run(self, exact: Sample, noise: Noise) -> Rows:
        """Measure, fit, sample as many rows as there are people; a row stands in the middle of its codes."""
        firsts = np.array([domain.first for domain in (*self.facts.domains, self.facts.labels)], dtype=object)
        widths = np.array([*self.widths, 1], dtype=object)
        table = np.concatenate([exact.codes.astype(object), exact.labels[:, None]], axis=1)
        coarse = ((table - firsts) // widths).astype(np.int64)
        codes, where = np.unique(coarse, axis=0, return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, where.ravel(), exact.counts)
        space = Space.of(self.schema, tuple(self.schema.columns))
        raw = self.prepared.mechanism.run(Records(space, np.asfortranarray(codes), counts), noise)
        model = Synthesize().value(self.prepared.finish(raw))
        sampled, numbers = np.unique(model.codes(max(1, self.people), noise), axis=0, return_counts=True)
        rows = sampled.astype(object) * widths + widths // 2 + firsts
        lasts = [domain.first + (domain.size or 1) - 1 for domain in (*self.facts.domains, self.facts.labels)]
        inside = np.minimum(rows, np.array(lasts, dtype=object)).tolist()
        return merged((tuple(row[:-1]), row[-1], count) for row, count in zip(inside, numbers.tolist(), strict=True))


@learner
class SanitizeThenLearn(PrivateLearner, OfConcepts):
    """Release labelled rows once, then learn whatever you like from them: also where no rule fits all labels.

    `method` is how rows are released: "cells" counts every cell of features and label with noise (short domains),
    "points" only the large ones of them (long domains), "medians" releases the distribution of one ordered feature for
    either label (domains of 2^64 and more), "model" fits a model to noisy tables of all pairs of columns and samples
    rows from it (many features). "auto" decides by public facts. `concepts` is what is learned from the rows, for free:
    a class as for `LabelPrivate`, or any classifier of scikit-learn.

    Spec: PL-SAN2LEARN. Time: that of the release and of the classifier.

    >>> from sfumato import Noise, Pure, integers
    >>> ages = [[age] for age in range(18, 90)] * 60
    >>> ill = [age >= 65 for (age,) in ages]
    >>> learner = SanitizeThenLearn(
    ...     "cuts", Pure(1), integers(0, 120, missing=0), (False, True), noise=Noise(insecure_seed=1), accuracy=0.5
    ... )
    >>> print(learner.fit(ages, ill).rule_)
    True if x0 >= 65, otherwise False
    """

    json_parameters: ClassVar[tuple[str, ...]] = ("accuracy", "failure", "concepts", "method")
    forms: ClassVar[Mapping[str, Any]] = {"concepts": (concepts_to_json, concepts_from_json)}
    stored: ClassVar[Mapping[str, str]] = {"method": "sanitizer"}

    _: KW_ONLY
    method: str = "auto"

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> Mechanism:
        self._class()
        match self._method(facts):
            case "cells":
                return cell_rows(facts, spend)
            case "points":
                return point_rows(facts, spend)
            case "medians":
                return median_rows(facts, spend, float(self.accuracy))
        return ModelRows(facts=facts, people=people, spend=spend, reads=facts.reads)

    def _class(self) -> Family | Recipe:
        return family_from(self.concepts, None)

    def _method(self, facts: LearningFacts) -> str:
        """Return the name of the release, decided by domains alone."""
        one_of("method", self.method, SANITIZERS)
        if self.method == "medians" and not ordered(facts):
            raise ParameterError(
                "Medians release the distribution of one ordered feature; write method='model' for several, or "
                "'cells' for categories."
            )
        if self.method != "auto":
            return self.method
        cells = 2 * math.prod(facts.sizes())
        if cells <= FEW_CELLS:
            return "cells"
        return "medians" if ordered(facts) else "model"

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        family = self._class()
        if isinstance(family, Recipe):
            return fitted_rule(facts, family, *unsigned(value))
        released = released_sample(facts, value)
        listed = family.listed(released.codes, facts)
        return family.rule(facts, listed.value(int(listed.right(released).argmax())))

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        """Return how many people make the rule worse than the best one, on the same people, by at most the accuracy.

        It is worse by at most twice the largest error of the released error of a rule: a sum of noise over the rows,
        for medians also the people who stand at the end of their cell. Of a model nothing is proved, so 1 is returned.
        """
        mechanism = self._plan(facts, 1, spend)
        if isinstance(mechanism, PointRows):
            return rounded_up(4 * (mechanism.noise.threshold + mechanism.noise.noise.error(1 - failure, 2)) / accuracy)
        if isinstance(mechanism, CellRows):
            rows = math.prod(mechanism.sizes)
            family = self._class()
            ways = rows * math.log(2) if isinstance(family, Recipe) else family.log_count(rows, len(mechanism.sizes))
            return rounded_up(2 / accuracy * mechanism.noise.law.sum_width(rows, math.log(2 / failure) + ways))
        if isinstance(mechanism, MedianRows):
            tree = mechanism.tree
            cells = 2 ** (tree.levels + 1) - 1
            lost = (math.log(tree.last - tree.first + 1) + math.log(2 * cells / failure)) / (2 * float(tree.rate))
            noise = tree.counts.law.sum_width(cells, math.log(8 * cells / failure))
            return rounded_up((8 * lost + 4 * noise) / (0.75 * accuracy))
        return 1


def released_sample(facts: LearningFacts, value: Rows) -> Sample:
    """Return released rows as a sample: each row once for either label; one made-up row if nothing was released."""
    rows, counts, ones = value
    if not rows:
        return Sample.of([[domain.first for domain in facts.domains]], [0], [1])
    total, second = np.array(counts, dtype=np.int64), np.array(ones, dtype=np.int64)
    codes = np.array(rows, dtype=object if any(abs(cell) >= 2**62 for row in rows for cell in row) else np.int64)
    both = np.concatenate([codes, codes])
    return Sample.of(both, np.repeat([0, 1], len(rows)), np.concatenate([total - second, second]))
