"""What an analyst sees of a value, as something that can be counted.

Two values are one outcome only if nobody who sees them could tell them apart by content or by order: the
order of a mapping is part of what is released, and can leak.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, cast

import numpy as np

from sfumato.errors import ParameterError

_PLAIN = (int, str, type(None), Fraction, bytes, Enum)
_OFTEN = frozenset({int, bool, str, type(None), Fraction, bytes})
"""The plain types themselves: every path of a law freezes its outcome, and most parts of it are one of these."""


def freeze(value: Any) -> Hashable:
    """Return `value` as a hashable outcome.

    Sequences and arrays become tuples, mappings tuples of their items in order, dataclasses their name and
    their fields in order.

    >>> freeze([3, {"b": 1, "a": 2}])
    (3, (('b', 1), ('a', 2)))
    >>> freeze({"a": 2, "b": 1}) == freeze({"b": 1, "a": 2})
    False
    """
    kind = type(value)
    if kind in _OFTEN:
        return cast("Hashable", value)
    if kind is tuple or kind is list:
        return tuple([freeze(part) for part in value])
    if kind is np.ndarray and value.ndim == 1 and value.dtype.kind in "iub":
        return tuple(value.tolist())
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return tuple([freeze(part) for part in value])
    if isinstance(value, float):
        return _freeze_float(value)
    if isinstance(value, Mapping):
        return tuple([(freeze(key), freeze(part)) for key, part in value.items()])
    if isinstance(value, (set, frozenset)):
        return frozenset(freeze(part) for part in value)
    if hasattr(value, "tolist"):
        return freeze(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *(freeze(getattr(value, part.name)) for part in fields(value)))
    raise ParameterError(
        f"A value of type {type(value).__name__} cannot be audited; let the mechanism return numbers, text, "
        "NOTHING, or sequences, mappings, arrays and dataclasses of these."
    )


def name(data: Any) -> Hashable:
    """Return something equal for equal inputs; what cannot be frozen, such as an analyst, is itself only."""
    try:
        return (type(data).__name__, freeze(data))
    except ParameterError:
        return id(data)


def _freeze_float(value: float) -> Hashable:
    """Return a float so that equal outcomes look equal: NaN differs from itself, and -0.0 shows its sign."""
    if math.isnan(value) or (value == 0 and math.copysign(1, value) < 0):
        return ("float", str(value))
    return value
