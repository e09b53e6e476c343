"""What a conversation is asked, as it comes over the wire: a condition as text, or a linear query in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError
from sfumato.questions.conversation.queries import Box, LinearQuery, Weighted

MOST_CONDITIONS = 1000
UNREADABLE = (
    f'Ask {{"conditions": ["age > 40"]}}: 1 to {MOST_CONDITIONS} texts, each as behind WHERE, or queries such as '
    '{"columns": ["age"], "lows": [0], "highs": [40]} in codes, or {"columns": ["sex"], "numbers": [1, 3], '
    '"denominator": 3}.'
)
BOX, WEIGHTED = {"columns", "lows", "highs"}, {"columns", "numbers", "denominator"}


def read_conditions(given: Any) -> list[str | LinearQuery]:
    """Return what a body asks; the schema decides afterwards whether it can be asked."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_CONDITIONS:
        raise ParameterError(UNREADABLE)
    return [one if isinstance(one, str) else _query(one) for one in given]


def _query(record: Any) -> LinearQuery:
    """Return a query; how far one row moves it is worked out here, and never believed."""
    if not isinstance(record, Mapping) or set(record) not in (BOX, WEIGHTED):
        raise ParameterError(UNREADABLE)
    names = _listed(record["columns"], str)
    if len(set(names)) < len(names):
        raise ParameterError("A query names each of its columns once.")
    if set(record) == BOX:
        return Box(names, _listed(record["lows"], int), _listed(record["highs"], int))
    (denominator,) = _listed([record["denominator"]], int)
    return Weighted.of(names, _listed(record["numbers"], int), denominator)


def _listed(given: Any, kind: type) -> tuple[Any, ...]:
    if not isinstance(given, list) or not all(type(one) is kind for one in given):  # a truth value is no number
        raise ParameterError(UNREADABLE)
    return tuple(given)


def condition_json(query: LinearQuery) -> dict[str, Any]:
    """Return a query as `read_conditions` reads it."""
    if isinstance(query, Box):
        return {
            "columns": list(query.columns),
            "lows": list(map(int, query.lows)),
            "highs": list(map(int, query.highs)),
        }
    numbers = (query.numbers + query.offset).ravel().tolist()
    return {"columns": list(query.columns), "numbers": numbers, "denominator": int(query.denominator)}
