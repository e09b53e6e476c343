"""Tables of people: a public schema, any source, repaired cells, bounded people, exact integers.

>>> from sfumato.domain import categories, integers
>>> from sfumato.table import Basis, Found, Schema, read_where
>>> schema = Schema({"age": integers(17, 90), "sex": categories("Female", "Male")}, person="id")
>>> Basis(schema, 1000).gauge(Found(("sex",), where=read_where("age > 40", schema))).sensitivity().l1
Fraction(2, 1)
"""

from sfumato.table.bounding import SCALE, Bounding, Way, bounding_of
from sfumato.table.data import Table, open_table
from sfumato.table.drafting import Draft, draft
from sfumato.table.engine import Source
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Found, Measure, Occurring, Ordered, People, Rows, Totals
from sfumato.table.names import FILL
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate
from sfumato.table.schema import Schema
from sfumato.table.source import open_source
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.view import View
from sfumato.table.where import read_where, where_table

__all__ = [
    "COUNT",
    "EVERY_ROW",
    "FILL",
    "NO_ROW",
    "SCALE",
    "Basis",
    "Bounding",
    "Draft",
    "Found",
    "Gauge",
    "Measure",
    "Occurring",
    "Ordered",
    "Part",
    "People",
    "Power",
    "Predicate",
    "Rows",
    "Schema",
    "Source",
    "Table",
    "Totals",
    "View",
    "Way",
    "bounding_of",
    "draft",
    "open_source",
    "open_table",
    "read_where",
    "where_table",
]
