"""A first schema from column types alone; ranges and categories are left to somebody who knows the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sfumato.domain import SKIP, nearest
from sfumato.errors import SchemaError
from sfumato.table.schema import FILL, Schema, unfilled
from sfumato.table.source import open_source
from sfumato.table.toml import write_toml

_HEADER = """\
# A draft from the types of the columns. Ranges and categories are public facts: write what you know about such
# data in general, never what you see in these. Replace every "{fill}", and remove the
# line of person if every row is one person. Columns that no question needs can be removed. A missing cell is left out
# of sums and means and counted on its own; write missing = 0, say, where it means a value. Beside person, write
# row_key = [] if everybody has one row, or row_key = ["visit"] for a column that tells a person's rows apart and says
# nothing else: then an attribute costs only what it shows.

"""


@dataclass(frozen=True)
class Draft:
    """A schema with gaps. `missing` lists them, `fill` fills some, `schema` hands it over once none is left.

    >>> draft = Draft({"person": "id", "columns": {"age": {"type": "integer", "low": FILL, "high": FILL}}})
    >>> draft.missing
    ('columns.age.low', 'columns.age.high')
    >>> draft.fill(age={"low": 17, "high": 90}).schema().names
    ('age',)
    """

    record: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", MappingProxyType(dict(self.record)))

    @property
    def missing(self) -> tuple[str, ...]:
        """What must still be filled in, as dotted names."""
        return tuple(unfilled(self.record))

    def fill(self, *, person: str | None = FILL, **columns: Mapping[str, Any]) -> Draft:
        """Return the draft with more filled in; `person=None` says that every row is one person."""
        record = {**self.record, "columns": dict(self.record["columns"])}
        if person is None:
            record.pop("person", None)
        elif person != FILL:
            record["person"] = person
            record["columns"].pop(person, None)
        for name, known in columns.items():
            if name not in record["columns"]:
                raise SchemaError(f"The draft has no column {name!r}; {nearest(name, record['columns'])}")
            before = record["columns"][name]
            fresh = known.get("type", before["type"]) != before["type"]
            record["columns"][name] = dict(known) if fresh else {**before, **known}
        return Draft(record)

    def to_toml(self) -> str:
        """Return the draft as TOML with a note on what to do."""
        return _HEADER.format(fill=FILL) + write_toml(self.record)

    def schema(self) -> Schema:
        """Return the schema, or refuse with the list of what is missing."""
        return Schema.from_json(self.record)


def draft_schema(source: Any, *, table: str | None = None) -> Draft:
    """Draft a schema from the column types of a source; not one cell is looked at.

    In a CSV file every column is text, so every column is drafted as a category.
    """
    opened = open_source(source, table=table)
    columns = {}
    try:
        for name, kind in opened.table.schema().items():
            column = _column(kind)
            if column is not None:
                columns[name] = column
    finally:
        opened.close()
    if not columns:
        raise SchemaError("No column of this source has a type that a schema can describe.")
    return Draft({"person": FILL, "rows_per_person": 1, "columns": columns})


def _column(kind: Any) -> dict[str, Any] | None:
    if kind.is_boolean():
        return {"type": "boolean", "missing": SKIP}
    if kind.is_integer():
        return {"type": "integer", "low": FILL, "high": FILL, "missing": SKIP}
    if kind.is_floating() or kind.is_decimal():
        return {"type": "fixed", "low": FILL, "high": FILL, "step": FILL, "missing": SKIP}
    if kind.is_date() or kind.is_timestamp():
        return {"type": "date", "earliest": FILL, "latest": FILL, "missing": SKIP}
    if kind.is_string():
        return {"type": "category", "values": [FILL], "missing": SKIP}
    return None
