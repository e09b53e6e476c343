"""Columns that follow from another one: a model of both pays for one attribute twice, and its rows contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sfumato.domain import Bins, Derived
from sfumato.errors import SchemaError
from sfumato.table.schema import Schema


class _Repeated(NamedTuple):
    """Two columns of one attribute, the one to leave out, and what rows show without it."""

    both: tuple[str, str]
    dropped: str
    instead: str


def require_one_of_each(schema: Schema, names: Sequence[str]) -> None:
    """Refuse a column beside its own bins, and two kinds of bins of one column; say what to leave out.

    >>> from sfumato import bins, integers
    >>> schema = Schema({"age": integers(0, 99), "decade": bins("age", step=10)})
    >>> require_one_of_each(schema, ["decade"])
    """
    found = _repeated(schema, names)
    if found is None:
        return
    left = one_of_each(schema, names)
    dropped = [repr(name) for name in names if name not in left]
    first, second = found.both
    raise SchemaError(
        f"{first!r} and {second!r} show the same attribute: a model of both pays for it twice, and its rows contradict "
        f"themselves. Leave {' and '.join(dropped)} out, columns={left!r}; {found.instead}."
    )


def one_of_each(schema: Schema, names: Sequence[str]) -> list[str]:
    """Return columns of which no two show the same attribute: bins in place of their base.

    >>> from sfumato import bins, integers
    >>> schema = Schema({"age": integers(0, 99), "decade": bins("age", step=10), "pay": integers(0, 9)})
    >>> one_of_each(schema, schema.names)
    ['decade', 'pay']
    """
    left = list(names)
    while (further := _repeated(schema, left)) is not None:
        left.remove(further.dropped)
    return left


def _repeated(schema: Schema, names: Sequence[str]) -> _Repeated | None:
    """Return the first two columns that show one attribute and cannot stand in one row of a model."""
    binned: dict[str, str] = {}
    for name in names:
        domain = schema.domain(name)
        if not isinstance(domain, Derived):
            continue
        base, in_bins = domain.rule.of, isinstance(domain.rule, Bins)
        if base in names and in_bins:
            return _Repeated((base, name), base, f"rows then show {base!r} too, with a value inside each bin")
        if base in names:
            return _Repeated((base, name), name, f"it follows from {base!r}")
        if in_bins and base in binned:
            pair = (binned[base], name)
            fewer = min(pair, key=lambda one: schema.domain(one).size or 0)
            return _Repeated(pair, fewer, f"rows then show {base!r}, from which all its bins follow")
        if in_bins:
            binned[base] = name
    return None
