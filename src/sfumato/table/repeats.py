"""How many rows a person has, as a look found it: which number of them to propose, and what each number loses.

Nothing here is private: it is for the eyes of a curator who consented to a look.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from sfumato.table.names import MODELS_NEED_ONE, PERHAPS, ROWS_PROPOSED

ROUND_ROWS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
COVERED = 0.9
"""The part of the people whose rows all count at least, at the number of rows a person that is proposed."""
MOST_COVERED = 0.99
"""Noise is made for everybody: what the last people in a hundred have beyond this point is not worth it."""
NOISE = 2
"""What noise moves a count by at epsilon 1, for every row that a person may have: 2 rows, where people are replaced."""

Sizes = Mapping[int, int]
"""How many people have each number of rows."""


def proposed_rows(sizes: Sizes) -> int:
    """Return a round number of rows a person: at most about what 99 of 100 people have, fewer where few rows are lost.

    >>> proposed_rows({1: 900, 5: 80, 16: 12, 50: 8}), proposed_rows({2: 95, 10: 1})
    (15, 2)
    """
    enough = next((size for size in ROUND_ROWS if size >= _point(COVERED, sizes)), ROUND_ROWS[-1])
    # Rows that are lost and noise both move a count; together they move it least.
    best = min(ROUND_ROWS, key=lambda size: _rows_lost(size, sizes) + NOISE * size)
    return max(enough, min(best, _nearest(_point(MOST_COVERED, sizes))))


def whose_rows(name: str, sizes: Sizes, most: int | None = None) -> tuple[dict[str, Any], str]:
    """Return the lines of a schema about people and their rows, and what was noticed of them."""
    if most is None and max(sizes, default=1) == 1:
        said = f"{ROWS_PROPOSED} 1 nothing is lost: everybody in {name} has one row, so row_key = [] is proposed."
        return {"person": name, "rows_per_person": 1, "row_key": []}, said
    rows = proposed_rows(sizes) if most is None else most
    return {"person": name, "rows_per_person": rows}, rows_told(name, rows, sizes)


_ASKED = re.compile(r"Then write draft\.fill\(person=(.*), rows_per_person=(\d+)\)\.$")


def asked_about(name: str, sizes: Sizes) -> str:
    """Ask whether a column that repeats is the person, with the line to write in Python."""
    return (
        f"{name} {PERHAPS} {min(sizes)} to {max(sizes)} times: is it the person? Then write "
        f"draft.fill(person={name!r}, rows_per_person={proposed_rows(sizes)})."
    )


def asked_in_file(said: str) -> str:
    """Return a note with the lines to write in the file where it asks whose rows they are."""
    return _ASKED.sub(
        lambda found: (
            f"Then write person = {json.dumps(ast.literal_eval(found[1]), ensure_ascii=False)} and "
            f"rows_per_person = {found[2]}."
        ),
        said,
    )


def asked_in_turn(said: str) -> str:
    """Return a note without a line to write, for whoever is asked next whose rows they are."""
    return _ASKED.sub("Then name it below.", said)


def rows_told(name: str, most: int, sizes: Sizes) -> str:
    """Say what a number of rows a person loses, and what others would lose and mean for the noise."""
    lost = _rows_lost(most, sizes)
    if not lost:
        said = f"{ROWS_PROPOSED} {most} all rows count of everybody in {name}, and none is lost"
    else:
        said = (
            f"{ROWS_PROPOSED} {most} all rows count of {_who(most, sizes)} in {name}: {_part(lost, sizes)} of all rows "
            f"are lost, and none with {max(sizes)}; the rows of people with more are weighed down, so totals of rows "
            "come out too low, by more than their intervals say. A larger number counts more rows and means more noise"
        )
    return f"{said}; numbers of people (`people`) need none.{_others(most, sizes)} {MODELS_NEED_ONE}"


def _point(part: float, sizes: Sizes) -> int:
    """Return how many rows this part of the people have at most."""
    place, seen = math.floor(part * (sum(sizes.values()) - 1)), 0
    for size in sorted(sizes):
        seen += sizes[size]
        if seen > place:
            return size
    return 1


def _nearest(rows: float) -> int:
    return min(ROUND_ROWS, key=lambda size: abs(math.log(size / rows)))


def _rows_lost(most: int, sizes: Sizes) -> int:
    return sum((size - most) * people for size, people in sizes.items() if size > most)


def _part(lost: int, sizes: Sizes) -> str:
    return f"{100 * lost / sum(size * people for size, people in sizes.items()):.2g} %"


def _who(most: int, sizes: Sizes) -> str:
    """Say of whom all rows count: never of all where it is all but a few.

    >>> _who(10, {1: 5999, 50: 1}), _who(2, {1: 90, 2: 5, 8: 5})
    ('all but 1 in 6,000 people', '95 % of the people')
    """
    people, more = sum(sizes.values()), sum(found for size, found in sizes.items() if size > most)
    if more / people >= 0.01:
        return f"{math.floor(100 * (1 - more / people))} % of the people"
    return f"all but 1 in {people // more:,} people"


def _others(most: int, sizes: Sizes) -> str:
    """Say what other numbers lose, and how much noise they mean beside this one.

    >>> _others(10, {1: 900, 8: 80, 16: 20})
    ' Other numbers: 5 loses 25 % of all rows, with 0.5 times the noise; 16 loses 0 %, 1.6 times.'
    """
    largest = max(sizes)
    round_ones = {_nearest(part) for part in (most / 2, 2 * most)}
    shown = sorted(size for size in {*round_ones, largest} if size != most and size <= largest)
    if not shown or largest == 1:
        return ""
    first, *rest = [(size, _part(_rows_lost(size, sizes), sizes), f"{size / most:.2g} times") for size in shown]
    listed = [f"{first[0]} loses {first[1]} of all rows, with {first[2]} the noise"]
    listed += [f"{size} loses {lost}, {times}" for size, lost, times in rest]
    return f" Other numbers: {'; '.join(listed)}."
