"""Released integers and the law of the noise in them: how far it may have moved each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.exact import Number, between_zero_and_one, rational_ball, to_text
from sfumato.exact.enclosure import precision
from sfumato.exact.search import smallest, smallest_between
from sfumato.noise import Law, Priced, law_from_json


def half_width(law: Law, confidence: Number) -> int:
    """Return the least t such that symmetric noise stays within -t … t with at least this probability.

    >>> from sfumato.noise import DiscreteLaplace
    >>> half_width(DiscreteLaplace(10), 0.95)
    30
    """
    return _half_width(law, between_zero_and_one(confidence, "confidence"))


@lru_cache(maxsize=1024)
def _half_width(law: Law, confidence: Fraction) -> int:
    outside = (1 - confidence) / 2
    with precision(128):
        return max(0, smallest(lambda bound: bool(law.tail(bound) <= rational_ball(outside))))


def one_sided_width(law: Law, confidence: Number) -> int:
    """Return the least t >= 0 such that symmetric noise is below -t with at most the rest of this probability.

    A number that was released then lies at most t below the number without its noise.

    >>> from sfumato.noise import DiscreteLaplace
    >>> one_sided_width(DiscreteLaplace(12.5), 0.95), one_sided_width(DiscreteLaplace(1.25), 0.95)
    (29, 3)
    """
    return _half_width(law, 1 - 2 * (1 - between_zero_and_one(confidence, "confidence")))


@lru_cache(maxsize=4096)
def _lowest(law: Law, threshold: int, released: int, confidence: Fraction) -> int:
    """Return the least count, not below 0, for which so high a number among those published is no surprise.

    A number is published only from the threshold on, so that of small counts only those with large noise are seen:
    what counts is P[count + noise >= released | count + noise >= threshold].
    """
    outside = (1 - confidence) / 2

    def plausible(count: int) -> bool:
        with precision(128):
            rare = rational_ball(outside) * law.tail(threshold - 1 - count)
            return bool(law.tail(released - 1 - count) >= rare)

    # Far above the threshold nothing is hidden, and the plain interval is right to many digits.
    near = threshold + 8 * _half_width(law, confidence)
    if released > near:
        return max(0, _lowest(law, threshold, near, confidence) + released - near)
    return smallest_between(-1, released, plausible)


@dataclass(frozen=True)
class NoisyPart:
    """Integers that were released, the law of the noise in each, and what one integer step is worth.

    Without a law the numbers are exact, because they are public or because they were chosen, not perturbed. With a
    threshold only numbers from there on were released, and counts are zero or more.
    """

    name: str
    released: tuple[int, ...]
    law: Priced | None
    unit: Fraction = Fraction(1)
    threshold: int | None = None

    def values(self) -> tuple[Fraction, ...]:
        """Return the released numbers in the unit of the question."""
        return tuple(number * self.unit for number in self.released)

    def width(self, confidence: Fraction) -> Fraction:
        """Return the half-width of an interval for one of the numbers; 0 if no noise was added."""
        return Fraction(0) if self.law is None else half_width(self.law, confidence) * self.unit

    def between(self, cell: int, confidence: Fraction) -> tuple[Fraction, Fraction]:
        """Return an interval for one of the numbers without its noise, given that it was released."""
        number, width = self.released[cell], self.width(confidence)
        low = number * self.unit - width
        if self.law is not None and self.threshold is not None:
            low = min(low, _lowest(self.law, self.threshold, number, confidence) * self.unit)
        return low, number * self.unit + width

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers."""
        law = None if self.law is None else self.law.to_json()
        shown = {"name": self.name, "released": list(self.released), "law": law, "unit": to_text(self.unit)}
        return shown if self.threshold is None else {**shown, "threshold": self.threshold}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> NoisyPart:
        """Read what `to_json` wrote."""
        law = None if record["law"] is None else law_from_json(record["law"])
        released, unit = tuple(record["released"]), Fraction(record["unit"])
        return cls(record["name"], released, law, unit, record.get("threshold"))
