"""All that left the house for one question, as it is stored and read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from sfumato.answer.frame import Frame
from sfumato.answer.measured import NoisyPart
from sfumato.exact import from_text, to_text

Made = TypeVar("Made")


@dataclass(frozen=True)
class Released:
    """All that left the house for one question: measured integers, one for each cell of its keys.

    `facts` are public numbers that reading needs, such as the range of a column. `made` is JSON computed from what was
    released alone, such as a fitted model: it saves computing it again.
    """

    parts: tuple[NoisyPart, ...]
    keys: tuple[str, ...] = ()
    cells: tuple[tuple[Any, ...], ...] = ((),)
    facts: Mapping[str, Fraction] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what is made from what was released, worked out the first time that it is asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        found: Made = self._kept[name]
        return found

    def part(self, name: str) -> NoisyPart:
        """Return the part of this name."""
        return next(part for part in self.parts if part.name == name)

    def frame(self, columns: Mapping[str, tuple[Any, ...]]) -> Frame:
        """Return a table with these columns beside the keys; a key of the same name keeps it."""
        keyed = {name: tuple(cell[place] for cell in self.cells) for place, name in enumerate(self.keys)}
        beside = {f"noisy {name}" if name in keyed else name: column for name, column in columns.items()}
        return Frame(self.keys, {**keyed, **beside})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers; keys are numbers, text, booleans, or tagged fractions and dates."""
        shown = {
            "keys": list(self.keys),
            "cells": [[_key(value) for value in cell] for cell in self.cells],
            "parts": [part.to_json() for part in self.parts],
            "facts": {name: to_text(fact) for name, fact in self.facts.items()},
        }
        return {**shown, "made": dict(self.made)} if self.made else shown

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Released:
        """Read what `to_json` wrote."""
        cells = tuple(tuple(_unkey(value) for value in cell) for cell in record["cells"])
        facts = {name: Fraction(fact) for name, fact in record["facts"].items()}
        parts = tuple(map(NoisyPart.from_json, record["parts"]))
        return cls(parts, tuple(record["keys"]), cells, facts, record.get("made", {}))


def _key(value: Any) -> Any:
    if isinstance(value, Fraction):
        return {"fraction": to_text(value)}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _unkey(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "time" in value:
        return datetime.fromisoformat(value["time"])
    return from_text(value["fraction"]) if "fraction" in value else date.fromisoformat(value["date"])
