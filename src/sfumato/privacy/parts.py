"""Sums and choices as they are stored: what curves and Gaussian charges that are made of others have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar


class Written(Protocol):
    """What has a JSON form."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""


Part = TypeVar("Part", bound=Written)


class OfParts:
    """A sum of parts, each with its multiplicity."""

    parts: tuple[tuple[int, Any], ...]

    def parameters(self) -> dict[str, Any]:
        """Return the parts with their counts."""
        return {"parts": [[count, part.to_json()] for count, part in self.parts]}


class OfChoices:
    """One of several, or the best of them."""

    choices: tuple[Any, ...]

    def parameters(self) -> dict[str, Any]:
        """Return the choices."""
        return {"choices": [choice.to_json() for choice in self.choices]}


def in_order(counts: Mapping[Part, int]) -> tuple[tuple[int, Part], ...]:
    """Return parts with their counts in an order of their own, so that equal sums are equal however they came about."""
    ordered = sorted(counts.items(), key=lambda item: json.dumps(item[0].to_json(), sort_keys=True))
    return tuple((count, part) for part, count in ordered)


def summed(counts: Mapping[Part, int], nothing: Part, together: Callable[[tuple[tuple[int, Part], ...]], Part]) -> Part:
    """Return a sum in canonical form: nothing, a part that stands alone, or all of them `together` in order."""
    if not counts:
        return nothing
    if list(counts.values()) == [1]:
        return next(iter(counts))
    return together(in_order(counts))
