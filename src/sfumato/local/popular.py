"""What a server finds: items with shares and errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.exact import Number, between_zero_and_one


def _half_width(error: float, confidence: Number) -> float:
    from scipy.special import ndtri

    wanted = between_zero_and_one(confidence, "confidence")
    return error * float(ndtri(float(1 + wanted) / 2))


@dataclass(frozen=True)
class Item:
    """An item, the estimated share of the reports that hold it, and the standard error of that share.

    `score` is how many standard errors above zero the evidence is that found it.
    """

    value: Any
    share: float
    error: float
    score: float = 0.0

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Return a range that holds the true share among the reports about this often; it covers their noise."""
        half = _half_width(self.error, confidence)
        return self.share - half, self.share + half


@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased mean and its standard error."""

    value: float
    error: float

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Return a range that holds the mean of the reports' numbers at least about this often."""
        half = _half_width(self.error, confidence)
        return self.value - half, self.value + half


class _List(Sequence[Item]):
    items: tuple[Item, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: Any) -> Any:
        return self.items[place]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the list as JSON."""
        return [vars(item) for item in self.items]


@dataclass(frozen=True)
class Popular(_List):
    """Popular items, the most popular first.

    `false_items` bounds the probability that an item is listed that nobody holds. A search that grows prefixes has
    the same allowance again for look-alikes of a popular item that it missed; one whose candidates are confirmed by
    other devices ("expander", "bitstogram") needs none. `reports` is how many there were.
    """

    items: tuple[Item, ...]
    false_items: float
    reports: int


@dataclass(frozen=True)
class Shares(_List):
    """The shares of all candidates, in the order of the list: unbiased, so they may be below zero."""

    items: tuple[Item, ...]
    reports: int

    @classmethod
    def of(cls, values: Sequence[Any], counts: Any, errors: Any, reports: int) -> Shares:
        """Return shares from counts."""
        made = (
            Item(value, float(count) / reports, float(error) / reports, float(count) / max(float(error), 1e-12))
            for value, count, error in zip(values, counts, errors, strict=True)
        )
        return cls(tuple(made), reports)

    def popular(self, false_items: float = 0.05) -> Popular:
        """Return the candidates whose share is above zero beyond noise, all of them together at this failure."""
        from scipy.special import ndtri

        level = float(-ndtri(false_items / max(1, len(self.items))))
        found = sorted((item for item in self.items if item.score >= level), key=lambda item: -item.share)
        return Popular(tuple(found), false_items, self.reports)

    def consistent(self) -> Shares:
        """Return the nearest shares that are at least zero and add up to one: better to look at, but biased."""
        shares = nearest_distribution(np.array([item.share for item in self.items]))
        items = tuple(replace(item, share=float(share)) for item, share in zip(self.items, shares, strict=True))
        return replace(self, items=items)


def nearest_distribution(shares: Any) -> Any:
    """Return the point of the simplex that is nearest in squared error.

    >>> nearest_distribution(np.array([0.9, 0.3, -0.2])).round(3).tolist()
    [0.8, 0.2, 0.0]
    """
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.maximum(shares - excess[last], 0.0)
