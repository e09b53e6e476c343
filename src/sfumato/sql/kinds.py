"""What released columns hold, told from public types: what no engine compares or adds is refused before it is paid.

After the noise an engine computes on numbers, texts, dates and truth values. A label compared with a number would fail
there, when the answer is paid for; so kinds are followed through items, HAVING, ORDER BY and outer selects beforehand.
What nobody can tell is left to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date

from sfumato.errors import ParameterError, SfumatoError
from sfumato.grammar import printed, tree
from sfumato.sql.scope import bare
from sfumato.table.expression import Expression
from sfumato.table.where import read_number

ANY = "anything"
NUMBER, TEXT, DATE, TRUTH = "numbers", "texts", "dates", "truth values"
Leaves = Callable[[tree.Expression], str | None]
"""What a released column holds that stands for an expression; None for what is computed from others."""

_OF_KEYS = {"number": NUMBER, "text": TEXT, "date": DATE, "truth": TRUTH}
_OF_LITERALS: dict[type, str] = {tree.Number: NUMBER, tree.Text: TEXT, tree.Moment: DATE, tree.Truth: TRUTH}
_ALIKE = ("LEAST", "GREATEST", "COALESCE", "NULLIF")
_COUNTED = (NUMBER, TRUTH)
"""What an engine computes with and takes for a condition."""


def kind_of_key(key: Expression) -> str:
    """Return what a column of released keys holds; labels are texts or whole numbers, or both where one is "other"."""
    if key.kind == "label":
        texts = {isinstance(label, str) for label in key.labels}
        return ANY if len(texts) != 1 else TEXT if texts == {True} else NUMBER
    return _OF_KEYS.get(key.kind, ANY)


def check_kinds(select: tree.Select, leaves: Leaves, *, outer: bool) -> list[str]:
    """Return what every output of a select holds, refusing what could not be computed after the noise."""
    found = [_kind(item.of, leaves) for item in select.items]
    if outer and select.where is not None:
        _condition(select.where, "WHERE", leaves)
    if select.having is not None:
        _condition(select.having, "HAVING", leaves)
    for part in select.order:
        _kind(part.of, leaves)
    return found


def outer_kinds(select: tree.Select, kinds: Mapping[str, str]) -> list[str]:
    """Return what the outputs of an outer select hold, from what those of the one inside do."""
    known = {name.casefold(): kind for name, kind in kinds.items()}

    def leaves(node: tree.Expression) -> str | None:
        if not isinstance(node, tree.Column):
            return None
        name = node.name
        found = kinds.get(name.text) if name.quoted else known.get(name.text.casefold())
        # What is no output of the one inside is the name of an output here.
        return ANY if found is None else found

    return check_kinds(select, leaves, outer=True)


def _kind(node: tree.Expression, leaves: Leaves) -> str:
    """Return what an expression over released columns holds, refusing what no engine could compute."""
    found = leaves(node) or _OF_LITERALS.get(type(node))
    if found is not None:
        return found
    match node:
        case tree.Brackets(inside):
            return _kind(inside, leaves)
        case tree.Negative(of):
            return _numbers([of], "-", leaves)
        case tree.Chain(parts, signs):
            return _chain(parts, signs, leaves)
        case tree.Extract(_, of):
            _require(of, (DATE,), "EXTRACT", leaves)
            return NUMBER
        case tree.Case(branches, otherwise):
            for condition, _ in branches:
                _condition(condition, "CASE", leaves)
            return _alike([*(value for _, value in branches), *([] if otherwise is None else [otherwise])], leaves)
        case tree.Call(function, arguments) if function in _ALIKE:
            return _alike(arguments, leaves)
        case tree.Call(function, arguments):
            return _numbers(arguments, function, leaves)
        case tree.Aggregate(function, of):
            return _aggregate(function, of, leaves)
    return _truth(node, leaves)


def _truth(node: tree.Expression, leaves: Leaves) -> str:
    match node:
        case tree.Not(of):
            _condition(of, "NOT", leaves)
        case tree.Comparison(_, left, right):
            _alike([left, right], leaves)
        case tree.Between(of, low, high):
            _alike([of, low, high], leaves)
        case tree.In(of, values):
            _alike([of, *values], leaves)
        case tree.Is(of, "NULL"):
            _kind(of, leaves)
        case tree.Is(of, what):
            _condition(of, f"IS {what}", leaves)
        case _:
            return ANY
    return TRUTH


def _chain(parts: Sequence[tree.Expression], signs: Sequence[str], leaves: Leaves) -> str:
    if signs[0] in ("AND", "OR"):
        for part in parts:
            _condition(part, signs[0], leaves)
        return TRUTH
    if DATE in [_kind(part, leaves) for part in parts] and set(signs) <= {"+", "-"}:
        return ANY  # days between two dates, or a date some days away
    return _numbers(parts, signs[0], leaves)


def _aggregate(function: str, of: tree.Expression | None, leaves: Leaves) -> str:
    """Return what an aggregate of an outer select holds."""
    if of is None:
        return NUMBER
    if function in ("SUM", "AVG"):
        return _numbers([of], function, leaves)
    kind = _kind(of, leaves)
    return kind if function in ("MIN", "MAX") else NUMBER


def _numbers(nodes: Sequence[tree.Expression], what: str, leaves: Leaves) -> str:
    for node in nodes:
        _require(node, _COUNTED, what, leaves)
    return NUMBER


def _condition(node: tree.Expression, what: str, leaves: Leaves) -> None:
    _require(node, _COUNTED, what, leaves, "a condition")


def _require(node: tree.Expression, kinds: Sequence[str], what: str, leaves: Leaves, wanted: str | None = None) -> None:
    kind = _kind(node, leaves)
    if kind not in (ANY, *kinds) and not any(_reads_as(node, one) for one in kinds):
        raise ParameterError(
            f"{printed(node)[:60]} holds {kind}, and {what} takes {wanted or kinds[0]}; write one of those."
        )


def _alike(nodes: Sequence[tree.Expression], leaves: Leaves) -> str:
    """Return what several expressions hold that are compared, refusing texts beside numbers and the like."""
    known = [(node, kind) for node in nodes if (kind := _kind(node, leaves)) != ANY]
    # A text in single quotes is read as what it is compared with, where it can be.
    first = next((one for one in known if not isinstance(bare(one[0]), tree.Text)), None)
    if first is None:
        return TEXT if known else ANY
    for node, kind in known:
        if kind != first[1] and not {kind, first[1]} <= {*_COUNTED} and not _reads_as(node, first[1]):
            raise ParameterError(
                f"{printed(first[0])[:60]} holds {first[1]} and {printed(node)[:60]} {kind}, which nothing compares; "
                "write texts in single quotes beside texts, and numbers without beside numbers."
            )
    return first[1]


def _reads_as(node: tree.Expression, kind: str) -> bool:
    """Tell whether an expression is a text in single quotes that an engine reads as a number, a date or a truth."""
    text = bare(node)
    if not isinstance(text, tree.Text):
        return False
    with suppress(SfumatoError, ValueError):
        if kind == NUMBER:
            return read_number(text.value) is not None
        if kind == DATE:
            return date.fromisoformat(text.value) is not None
        return kind == TRUTH and text.value.casefold() in ("true", "false")
    return False
