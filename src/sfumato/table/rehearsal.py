"""Random rows that a schema allows: for trying a question out without touching a private cell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.domain import Categories, Domain, Text
from sfumato.exact import positive_integer
from sfumato.noise import Noise
from sfumato.table.schema import Schema

WORDS = ("apple", "bread", "cherry", "dew", "ember", "fern", "grain", "hazel")


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
