"""A look at the data, by a curator who consents to it: candidates for a schema. Outside of every promise.

Nothing here is private. What comes out is for the curator's eyes, and becomes public only by being confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError
from sfumato.table.candidates import Candidate, candidate_of
from sfumato.table.engine import Source
from sfumato.table.failures import guarded
from sfumato.table.names import FILL, MODELS_NEED_ONE, ROWS_PROPOSED, is_person, may_be_person, names_somebody
from sfumato.table.reading import all_readable

MOST_ROWS = 100_000
"""Of a longer table every k-th row is looked at, so that about as many are."""

ROUND_ROWS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
COVERED = 0.9
"""The part of the people whose rows all count at least, at the number of rows a person that is proposed."""
NOISE = 2
"""What noise moves a count by at epsilon 1, for every row that a person may have: 2 rows, where people are replaced."""
DIFFERS = 0.95
"""A key that differs in so many rows tells rows apart, not people."""

Notes = dict[str, list[str]]


def looked(source: Source, kinds: Mapping[str, Any]) -> tuple[dict[str, Any], Notes]:
    """Return a drafted schema with candidates read from the data, and what was noticed on the way."""
    with source.turn:
        opened = guarded(lambda: all_readable(source, list(kinds)))
        rows = int(opened.table.count().to_pyarrow().as_py())
        if rows == 0:
            raise SchemaError(
                "There is no row to look at; leave the look out, and fill in the draft from what you know."
            )
        cells = guarded(lambda: _sampled(opened.table, rows))
        notes: Notes = {"": [f"{_sample_size(rows)} rows were looked at."]}
        person, whose = _person(opened.table, list(cells), rows, notes)
    columns: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    others = {name: values for name, values in cells.items() if name != person}
    for name, found in _candidates(others).items():
        if found.record is None:
            left_out.append(f"{name}: {' '.join(found.notes)}")
            continue
        columns[name] = found.record
        if found.notes:
            notes[name] = list(found.notes)
    notes[""] += [f"Left out is {said}" for said in left_out]
    notes[""] += [
        f"Left out is {name}: its type is none that a schema can describe." for name in kinds if name not in cells
    ]
    if not columns:
        raise SchemaError(" ".join(["No column is left that a schema could describe.", *notes[""]]))
    return {**whose, "columns": columns}, notes


def _candidates(cells: Mapping[str, Sequence[Any]]) -> dict[str, Candidate]:
    """Return what each column could be; where its own cells do not tell the mark before decimals, others may."""
    found = {name: _told(name, values) or candidate_of(name, values) for name, values in cells.items()}
    fixed = [one.record for one in found.values() if one.record is not None and one.record["type"] == "fixed"]
    marks = {record.get("decimal", ".") for record in fixed} - {FILL}
    if len(marks) == 1 and any(record.get("decimal") == FILL for record in fixed):
        (mark,) = marks
        return {name: _told(name, values) or candidate_of(name, values, mark) for name, values in cells.items()}
    return found


def _sample_size(rows: int) -> str:
    every = -(-rows // MOST_ROWS)
    return f"All {rows:,}" if every == 1 else f"Every {every}th of {rows:,}"


def _sampled(table: Any, rows: int) -> dict[str, list[Any]]:
    import ibis

    every = -(-rows // MOST_ROWS)
    if every > 1:
        numbered = table.mutate(sfumato_row=ibis.row_number())
        table = numbered.filter(numbered.sfumato_row % every == 0).drop("sfumato_row")
    found = table.to_pyarrow()
    return {name: found.column(name).to_pylist() for name in found.column_names}


def _told(name: str, values: Sequence[Any]) -> Candidate | None:
    """Return that a column is to be left out, where its name says enough."""
    if names_somebody(name):
        return Candidate(None, ("by its name it names or reaches a person, which no statistic needs.",))
    if may_be_person(name) and len(set(values)) > DIFFERS * len(values):
        return Candidate(None, ("it is a key that differs in nearly every row.",))
    return None


def _person(table: Any, names: Sequence[str], rows: int, notes: Notes) -> tuple[str | None, dict[str, Any]]:
    """Return the column that tells people apart, and how many rows a person has."""
    sure = [name for name in names if is_person(name)]
    perhaps = [name for name in names if may_be_person(name) and not is_person(name)]
    for name in [*sure, *perhaps]:
        people, counts = _rows_by_person(table, name)
        if name in sure or people < rows * DIFFERS:
            return name, _rows_a_person(name, people, counts, notes)
    notes[""].append(
        "No column tells people apart, so every row is taken for one person; write person if that is wrong."
    )
    return None, {"rows_per_person": 1}


def _rows_by_person(table: Any, name: str) -> tuple[int, dict[int, int]]:
    """Return how many people there are, and how many of them have each number of rows."""
    counted = table.filter(table[name].notnull()).group_by(name).aggregate(sfumato_rows=lambda found: found.count())
    sizes = counted.group_by("sfumato_rows").aggregate(sfumato_people=lambda found: found.count()).to_pyarrow()
    pairs = zip(sizes["sfumato_rows"].to_pylist(), sizes["sfumato_people"].to_pylist(), strict=True)
    counts = {int(size): int(people) for size, people in pairs}
    return sum(counts.values()), counts


def _lost(most: int, counts: Mapping[int, int]) -> str:
    """Say which part of the rows a number of rows a person loses, and which number loses none."""
    rows, lost = sum(size * people for size, people in counts.items()), _rows_lost(most, counts)
    if not lost:
        return ", and none is lost"
    return (
        f": {100 * lost / rows:.2g} % of all rows are lost, and none with {max(counts)}; the rows of people with more "
        "are weighed down, so totals of rows come out too low, by more than their intervals say. A larger number "
        "counts more rows and means more noise"
    )


def _rows_lost(most: int, counts: Mapping[int, int]) -> int:
    return sum((size - most) * people for size, people in counts.items() if size > most)


def _rows_a_person(name: str, people: int, counts: Mapping[int, int], notes: Notes) -> dict[str, Any]:
    if not counts or max(counts) == 1:
        notes[""].append(f"Everybody in {name} has one row, so row_key = [] is proposed.")
        return {"person": name, "rows_per_person": 1, "row_key": []}

    def covered(most: int) -> float:
        return sum(found for size, found in counts.items() if size <= most) / people

    enough = next((size for size in ROUND_ROWS if covered(size) >= COVERED), ROUND_ROWS[-1])
    # Rows that are lost and noise both move a count; together they move it least.
    most = max(enough, min(ROUND_ROWS, key=lambda size: _rows_lost(size, counts) + NOISE * size))
    notes[""].append(
        f"{ROWS_PROPOSED} {most} all rows count of {100 * covered(most):.0f} % of the people in {name}"
        f"{_lost(most, counts)}; numbers of people, people(), need none. {MODELS_NEED_ONE}"
    )
    return {"person": name, "rows_per_person": most}
