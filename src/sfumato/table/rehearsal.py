"""Random rows that a schema allows: for trying a question out without touching a private cell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.domain import Categories, Domain, Text
from sfumato.exact import positive_integer
from sfumato.noise import Noise
from sfumato.table.schema import Schema

PEOPLE = 1000
"""So many people are made up where their number is not public."""
MOST_PEOPLE = 100_000
MOST_CELLS = 2_000_000
"""More cells would take longer to make up than anybody waits for something free."""
WORDS = ("apple", "bread", "cherry", "dew", "ember", "fern", "grain", "hazel")


def people_of(public: int | None, wanted: int | None, columns: int) -> tuple[int, str]:
    """Return how many people to make up and a sentence about it; errors are those of as many people as there are.

    >>> people_of(200, None, 3)
    (200, 'The made-up rows are of 200 people, as many as in your table, which is public.')
    """
    most = min(MOST_PEOPLE, max(PEOPLE, MOST_CELLS // max(1, columns)))
    count = positive_integer(wanted, "people") if wanted is not None else min(public or PEOPLE, most)
    made = f"The made-up rows are of {count:,} people"
    if not public:
        return count, f"{made}; how many your table has is private, and real errors differ."
    if count == public:
        return count, f"{made}, as many as in your table, which is public."
    return count, f"{made}, and your table has {public:,}: real errors differ."


def random_rows(schema: Schema, people: int, noise: Noise) -> Any:
    """Return an Arrow table of uniformly random cells, missing ones too, one row for each of `people` people."""
    import pyarrow

    count = positive_integer(people, "people")
    columns: dict[str, Any] = {}
    for name, column in schema.columns.items():
        if isinstance(column, Domain):
            columns[name] = _cells(column, count, noise)
    if schema.person is not None:
        columns[schema.person] = list(range(count))
    return pyarrow.table(columns)


def _cells(domain: Domain, count: int, noise: Noise) -> list[Any]:
    if isinstance(domain, Text):
        words = [*WORDS, None] if domain.may_be_missing else list(WORDS)
        return [words[place] for place in noise.uniform(len(words), count).tolist()]
    assert domain.size is not None
    cells = [domain.decode(domain.first + place) for place in noise.uniform(domain.size, count).tolist()]
    if isinstance(domain, Categories) and not domain.is_text:
        # The level of unlisted numbers is called by a word, and a column of a table is of one type.
        unlisted = max(int(value) for value in domain.values) + 1
        return [unlisted if isinstance(cell, str) else cell for cell in cells]
    return [float(cell) if isinstance(cell, Fraction) else cell for cell in cells]
