"""Parts of the population that one or two cuts describe: the leaves of shallow trees over the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.people import as_floats, cells, column_names, holds_numbers, typed

SMALLEST_SEGMENT = 30
SMALLEST_SHARE = 0.01
MOST_CUTS = 200
COMMON_CATEGORIES = 20
PART = 1 << 16

Segment = tuple[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Leaves:
    """All sizeable parts that one cut or two describe.

    Which parts there are follows from the features alone, never from who is protected or how anybody is treated: a
    test over them is controlled by their number. Half of its level goes to single cuts, half to pairs of cuts.
    """

    names: list[str]
    masks: NDArray[np.bool_]
    paired: Integers
    first: Integers
    second: Integers

    def __len__(self) -> int:
        return len(self.names) + len(self.first)

    @cached_property
    def repeats(self) -> Floats:
        """Return by what each leaf's p-value is multiplied, so that all together are one test."""
        single, pairs = len(self.names), len(self.first)
        return np.repeat([float(single), float(pairs)], [single, pairs]) * (2.0 if single and pairs else 1.0)

    def totals(self, values: Floats) -> Floats:
        """Return the sum of everybody's value in each leaf."""
        crossed = _crossed(self.masks[self.paired], values)
        return np.concatenate([_alone(self.masks, values), crossed[self.first, self.second]])

    def name(self, leaf: int) -> str:
        """Return a leaf's cuts in words."""
        return " and ".join(self.names[cut] for cut in self._cuts(leaf))

    def mask(self, leaf: int) -> NDArray[np.bool_]:
        """Return who is in a leaf."""
        return np.asarray(self.masks[self._cuts(leaf)].all(axis=0))

    def _cuts(self, leaf: int) -> list[int]:
        pair = leaf - len(self.names)
        return [leaf] if pair < 0 else [int(self.paired[self.first[pair]]), int(self.paired[self.second[pair]])]


def leaves(segments: list[Segment], people: int) -> Leaves:
    """Return the sizeable parts by one cut, and by two of which neither is idle.

    With more than 200 cuts, pairs are made of the 200 that split the people most evenly.

    >>> old, far = np.arange(160) < 80, np.arange(160) % 2 == 0
    >>> found = leaves([("old", old), ("far", far), ("old again", old)], 160)
    >>> [found.name(leaf) for leaf in range(len(found))]
    ['old', 'far', 'old again', 'old and far', 'far and old again']
    """
    least = max(SMALLEST_SEGMENT, SMALLEST_SHARE * people)
    kept = [(name, mask) for name, mask in segments if least <= mask.sum() < people]
    masks = np.array([mask for _, mask in kept], dtype=bool).reshape(len(kept), people)
    size = masks.sum(axis=1)
    paired = np.sort(np.argsort(np.abs(2 * size - people), kind="stable")[:MOST_CUTS])
    both = _crossed(masks[paired], np.ones(people))
    first, second = np.triu_indices(len(paired), 1)
    smaller = np.minimum(size[paired][first], size[paired][second])
    keep = (both[first, second] >= least) & (both[first, second] < smaller)
    return Leaves([name for name, _ in kept], masks, paired, first[keep], second[keep])


def _alone(masks: NDArray[np.bool_], values: Floats) -> Floats:
    return np.array([values[mask].sum() for mask in masks], dtype=np.float64)


def _crossed(masks: NDArray[np.bool_], values: Floats) -> Floats:
    """Return for every two masks the sum of the values of those in both, a part of the people at a time."""
    total = np.zeros((len(masks), len(masks)))
    for start in range(0, masks.shape[1], PART):
        part = masks[:, start : start + PART].astype(np.float64)
        total += (part * values[start : start + PART]) @ part.T
    return total


def declared_and_features(case: Case) -> list[Segment]:
    """Return the declared segments, and the quarters and categories of every feature."""
    if case.segments is None:
        return features(case)
    declared = [(f"{case.segments_name} = {label}", case.segments == label) for label in np.unique(case.segments)]
    rest = [part for part in features(case) if part[0] not in {name for name, _ in declared}]
    return declared + rest


def features(case: Case) -> list[Segment]:
    """Return the quarters and categories of every feature; see `Case.apart` for what is none."""
    return [
        part for name in column_names(case.people) if name not in case.apart
        for part in feature_segments(name, cells(case.people, name))
    ]  # fmt: skip


def feature_segments(name: str | int, values: NDArray[Any]) -> list[Segment]:
    """Return the quarters of a number, or the common categories of a text column."""
    values = typed(values, name)
    if holds_numbers(values):
        numbers = as_floats(values)
        cuts = np.unique(np.nanquantile(numbers, [0.25, 0.5, 0.75]))
        return [(f"{name} ≤ {cut:g}", numbers <= cut) for cut in cuts] + [
            (f"{name} > {cut:g}", numbers > cut) for cut in cuts
        ]
    text = np.array([str(value) for value in values.tolist()])
    labels, sizes = np.unique(text, return_counts=True)
    return [(f"{name} = {label}", text == label) for label in labels[np.argsort(-sizes)][:COMMON_CATEGORIES]]
