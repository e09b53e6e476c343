"""Exact numbers: rationals from what people type, infinity, and certified enclosures of the rest."""

from sfumato.exact.enclosure import enclose_up, rational_ball, significant_up, unit_down, unit_up
from sfumato.exact.infinity import INFINITY, Extended, Infinity
from sfumato.exact.rational import (
    Number,
    above_zero,
    at_least_zero,
    between_zero_and_one,
    exact,
    float_log,
    from_text,
    positive_integer,
    to_text,
)

__all__ = [
    "INFINITY",
    "Extended",
    "Infinity",
    "Number",
    "above_zero",
    "at_least_zero",
    "between_zero_and_one",
    "enclose_up",
    "exact",
    "float_log",
    "from_text",
    "positive_integer",
    "rational_ball",
    "significant_up",
    "to_text",
    "unit_down",
    "unit_up",
]
