"""What may make an audit mean something else than it seems to: cells and rows that are read, and not as was meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.fair.audits.group_counts import UNKNOWN, noted
from sfumato.fair.people import as_text, cells, column_names, holds_numbers, strays, typed
from sfumato.table.names import is_person
from sfumato.words import alike

if TYPE_CHECKING:
    from sfumato.fair.audits.case import Case

LISTED = 5
ROWS_OF_A_PERSON = 20
"""A column whose values stand in more rows than that on average may be a size or a kind, though named like people."""


def cautions(case: Case) -> tuple[str, ...]:
    """Return what a reader of an audit of plain rows should know of them, a sentence each."""
    return tuple(_found(case))


def _found(case: Case) -> Iterator[str]:
    said = spelled_apart(case.protected_name, np.unique(case.labels))
    yield from (said,) if said else ()
    yield from said_of_decisions(case.good, case.not_good)
    for name in column_names(case.people):
        values = cells(case.people, name)
        if isinstance(name, str) and name.strip() and name != case.protected_column and is_person(name):
            yield from _rows_of_people(name, values)
        if name not in case.apart:
            yield from _no_numbers(name, values)
    if case.keys:
        are, they = ("is a key", "it is") if len(case.keys) == 1 else ("are keys", "they are")
        yield (
            f"{_listed(map(repr, case.keys))} {are} by name, and all values differ, so {they} no feature here; name "
            "all features, features=[…], to have it otherwise."
        )


def spelled_apart(name: str, values: Iterable[Any]) -> str:
    """Return which groups differ only in capitals or blanks, in a sentence; nothing where none do.

    >>> spelled_apart("sex", ["f", "F", "m"])
    "Some values of 'sex' differ only in capitals or blanks, and count apart ('F' and 'f'); make them equal before."
    """
    found = alike(str(value) for value in set(values) if value != UNKNOWN)
    if not found:
        return ""
    shown = _listed(" and ".join(map(repr, same)) for same in sorted(found))
    return (
        f"Some values of {name!r} differ only in capitals or blanks, and count apart ({shown}); make them equal before."
    )


def said_of_decisions(good: str, others: Iterable[str]) -> tuple[str, ...]:
    """Return the same of decisions."""
    said = spelled_apart("the decision", [good, *others]).replace("'the decision'", "the decision")
    return (said,) if said else ()


def _rows_of_people(name: str, values: Any) -> Iterator[str]:
    texts = as_text(values)
    filled = texts[noted(texts)]
    people = len(np.unique(filled))
    if people * ROWS_OF_A_PERSON < len(filled):
        yield (
            f"{name!r} holds {people:,} different values in {len(filled):,} rows. If it is a size or a kind, all is "
            "well; if it says whose row it is, intervals and p-values are too narrow: they assume one row a person, so "
            "keep one row each."
        )
    elif people < len(filled):
        yield (
            f"{name!r} holds {people:,} different values in {len(filled):,} rows, so some people seem to have several: "
            "every row counts as a person here, and intervals and p-values assume one row a person; keep one row each."
        )


def _no_numbers(name: str | int, values: Any) -> Iterator[str]:
    values = typed(values, name)
    places = strays(values) if holds_numbers(values) else ()
    if len(places):
        shown = _listed(repr(str(word)) for word in dict.fromkeys(values[places].tolist()))
        cells_are = "1 cell that is no number" if len(places) == 1 else f"{len(places):,} cells that are no numbers"
        yield (
            f"{name!r} has {cells_are} ({shown}); most are, so it is taken as numbers and the others as missing; clean "
            "them or leave them empty."
        )


def _listed(words: Iterable[str]) -> str:
    found = list(words)
    return ", ".join(found[:LISTED]) + (", …" if len(found) > LISTED else "")
