"""Tables of people: a public schema, any source, repaired cells, bounded people, exact integers.

>>> from sfumato.domain import categories, integers
>>> from sfumato.table import Bounding, Schema, Way, read_where, table_sensitivity
>>> schema = Schema({"age": integers(17, 90), "sex": categories("Female", "Male")}, person="id")
>>> table_sensitivity(schema, Bounding(Way.PICK), keys=["sex"], where="age > 40").l1
Fraction(2, 1)
"""

from sfumato.table.bounding import SCALE, Bounding, Way, bounding_of
from sfumato.table.data import Table, open_table
from sfumato.table.draft import Draft, draft_schema
from sfumato.table.engine import Source
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate
from sfumato.table.schema import FILL, Schema
from sfumato.table.sensitivity import NOTHING_MOVES, table_sensitivity
from sfumato.table.source import open_source
from sfumato.table.statistics import COUNT, Measure, Power
from sfumato.table.view import View
from sfumato.table.where import read_where, where_table

__all__ = [
    "COUNT",
    "EVERY_ROW",
    "FILL",
    "NOTHING_MOVES",
    "NO_ROW",
    "SCALE",
    "Bounding",
    "Draft",
    "Measure",
    "Power",
    "Predicate",
    "Schema",
    "Source",
    "Table",
    "View",
    "Way",
    "bounding_of",
    "draft_schema",
    "open_source",
    "open_table",
    "read_where",
    "table_sensitivity",
    "where_table",
]
