"""Sanitization implies learning as it is printed: sizes released, classes padded, and each sanitized.

A demonstrator. `SanitizeThenLearn` needs neither sizes nor padding, and costs a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.learn.facts import Sample
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.private_learning.fitted import Row
from sfumato.privacy import Cost, Loss


@dataclass(frozen=True, kw_only=True)
class PaddedClasses(Mechanism):
    """Release a noisy number of people of the first label, bring either class to its public size, sanitize both.

    `sanitizer` takes a tuple of rows of fixed length, and its loss is for tuples that differ in one place. A class that
    is too long loses its last people, one that is too short gets copies of `dummy`; then it is shuffled. A flipped
    label takes a record out of one class and shifts all that follow, so that without the shuffle tuples could differ
    everywhere, and a sanitizer that looks at places would cost more. The print shuffles later, after it has cut classes
    into blocks, which is too late.

    Promise, replace-one, `people` public: 1/scale for the number and twice the loss of the sanitizer, three times an
    equal epsilon where the print counts six (PL-SAN2LEARN). Value: the size of the first class, and what came out of
    either; an empty class is not sanitized, as its size is known. Time: that of the sanitizer.
    """

    spec: ClassVar[str] = "PL-SAN2LEARN"

    people: int
    scale: Fraction
    sanitizer: Mechanism
    dummy: Row

    def loss(self) -> Loss:
        """Return the loss of the number and of two runs."""
        counted = Loss.flat(Cost.pure(1 / self.scale), self.reads, self.relation)
        return counted + 2 * Loss.flat(self.sanitizer.loss().person, self.reads, self.relation)

    def run(self, exact: Sample, noise: Noise) -> tuple[int, Any, Any]:
        """Count, pad, shuffle, sanitize."""
        classes: list[list[Row]] = [[], []]
        for codes, label, count in zip(exact.codes.tolist(), exact.labels.tolist(), exact.counts.tolist(), strict=True):
            classes[label] += [tuple(codes)] * count
        drawn = len(classes[0]) + noise.draw(DiscreteLaplace(self.scale))
        first = min(max(drawn, 0), self.people)
        sizes = (first, self.people - first)
        return first, *(self._sanitized(rows, size, noise) for rows, size in zip(classes, sizes, strict=True))

    def _sanitized(self, rows: list[Row], size: int, noise: Noise) -> Any:
        if size == 0:
            return NOTHING
        return self.sanitizer.run(self._placed([*rows[:size], *[self.dummy] * (size - len(rows))], noise), noise)

    def _placed(self, rows: list[Row], noise: Noise) -> tuple[Row, ...]:
        return tuple(rows[place] for place in noise.permutation(len(rows)))
