"""Means and variances of which nothing is known: what was drawn for them is left out of tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Columns = Mapping[str, tuple[Any, ...]]


def without_empty(columns: Columns, facts: Mapping[str, Fraction]) -> dict[str, tuple[Any, ...]]:
    """Return the columns without those values whose interval is all that the schema allows; its ends stay.

    It is decided from declared ranges and released numbers alone.

    >>> facts = {"low of age": Fraction(0), "high of age": Fraction(120)}
    >>> columns = {"mean of age": (60, 41), "mean of age, low": (0, 40), "mean of age, high": (120, 42)}
    >>> without_empty(columns, facts)["mean of age"]
    (None, 41)
    """
    return {name: _informed(name, columns, facts) for name in columns}


def _informed(name: str, columns: Columns, facts: Mapping[str, Fraction]) -> tuple[Any, ...]:
    allowed = _allowed(name, facts)
    if allowed is None or f"{name}, low" not in columns:
        return columns[name]
    told = zip(columns[name], columns[f"{name}, low"], columns[f"{name}, high"], strict=True)
    return tuple(None if _covers((low, high), allowed) else value for value, low, high in told)


def _covers(between: tuple[Any, Any], allowed: tuple[Fraction, Fraction]) -> bool:
    low, high = between
    # Ends are shown as floats, so they are compared as such.
    return None not in between and float(low) <= float(allowed[0]) and float(high) >= float(allowed[1])


def _allowed(name: str, facts: Mapping[str, Fraction]) -> tuple[Fraction, Fraction] | None:
    """Return between what a mean or a variance lies whatever the rows are; None of anything else."""
    kind, _, column = name.partition(" of ")
    low, high = facts.get(f"low of {column}"), facts.get(f"high of {column}")
    if low is None or high is None or low == high:
        return None
    if kind == "mean":
        return low, high
    return (Fraction(0), ((high - low) / 2) ** 2) if kind == "variance" else None
