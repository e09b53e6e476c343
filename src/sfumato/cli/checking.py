"""The curator's own look at the data: how many cells a schema would repair. Outside of every promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.domain import Booleans, Categories, Dates, Domain, FixedPoint, Integers, Text, Times
from sfumato.domain.calendar import DATE_TEXT
from sfumato.domain.labels import FALSE_TEXT, TRUE_TEXT
from sfumato.table.cells import written_number
from sfumato.table.database import Database
from sfumato.table.flat import LINK
from sfumato.table.moments import moment_code, written_day
from sfumato.table.own import open_database
from sfumato.table.reading import readable
from sfumato.table.repair import check_columns
from sfumato.table.resources import Resources
from sfumato.table.schema import Schema
from sfumato.table.source import open_source

NOTICE = "This looks at private cells and protects nobody: for the curator's eyes only, never to be published."


@dataclass(frozen=True)
class Column:
    """How many cells of a column are missing or cannot be read, and how many lie outside of its domain."""

    name: str
    missing: int
    outside: int


@dataclass(frozen=True)
class Check:
    """What a schema does to a table."""

    rows: int
    nobody: int
    people: int
    crowded: int
    repeated: int
    columns: tuple[Column, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "notice": NOTICE,
            "rows": self.rows,
            "rows_without_person": self.nobody,
            "people": self.people,
            "people_with_more_rows_than_count": self.crowded,
            "rows_with_a_repeated_row_key": self.repeated,
            "columns": [vars(column) for column in self.columns],
        }


def check_table(
    data: Any,
    schema: Schema,
    table: str | None = None,
    *,
    among: str | None = None,
    resources: Resources | None = None,
) -> Check:
    """Count what the schema would repair, cell by cell, and who has more rows than count.

    `among` is the name of the table where one source may hold several of a database, `resources` what may be used of
    the machine.
    """
    opened = open_source(data, table=table, among=among).using(resources or Resources())
    try:
        opened = readable(opened, schema)
        check_columns(opened.table, schema, opened.kind)
        return _counted(opened.table, schema)
    finally:
        opened.close()


@dataclass(frozen=True)
class CheckedTable:
    """What a database does to one of its private tables."""

    check: Check
    strangers: int
    """Rows of people who are not in the people table: they belong to nobody."""
    links: dict[str, int]
    """Of every link, how many rows that belong to somebody lead nowhere, or have no cell there."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        told = {name: value for name, value in self.check.to_json().items() if name != "notice"}
        return {**told, "rows_of_people_outside_the_roster": self.strangers, "links_that_lead_nowhere": self.links}


@dataclass(frozen=True)
class CheckedDatabase:
    """What a database does to its tables."""

    people: int
    tables: dict[str, CheckedTable]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        tables = {name: one.to_json() for name, one in self.tables.items()}
        return {"notice": NOTICE, "people": self.people, "tables": tables}

    def text(self, database: Database) -> str:
        """Return the same for people."""
        lines = [NOTICE, f"{self.people} people in the roster."]
        for name, one in self.tables.items():
            told = [f"{name}: {told_of(one.check, database.private[name].rows_per_person)}"]
            told += [f"{one.strangers} rows are of people outside of the roster."] if one.strangers else []
            told += [f"{count} rows lead nowhere by {link}." for link, count in one.links.items() if count]
            lines.append("\n".join(told))
        return "\n\n".join(lines)


def told_of(found: Check, rows_per_person: int) -> str:
    """Return what was counted in one table for people."""
    from sfumato.show import table as draw

    rows = [[column.name, str(column.missing), str(column.outside)] for column in found.columns]
    drawn = draw("Cells that are repaired", ["column", "missing or unreadable", "outside its domain"], rows)
    people = f"{found.rows} rows, {found.nobody} of them without a person; {found.people} people"
    crowded = f"{found.crowded} of them with more than {rows_per_person} rows"
    keys = f" {found.repeated} rows have the row key of another row of the same person." if found.repeated else ""
    return f"{people}, {crowded}.{keys}\n\n{drawn.text()}"


def check_database(
    sources: Mapping[str, Any], database: Database, resources: Resources | None = None
) -> CheckedDatabase:
    """Count what is repaired in every private table, whose rows belong to nobody, and which links lead nowhere."""
    owned = _owned_rows(sources, database, resources)
    opened = open_database(sources, database, resources=resources)
    with opened:
        found: dict[str, CheckedTable] = {}
        for name, schema in database.private.items():
            check = check_table(sources[name], schema, among=name, resources=resources)
            held = opened.held(name)
            links = {link: held[LINK + link].isnull().sum() for link in database.links_of(name)}
            counted = opened.run(held.aggregate(rows=held.count(), **links)).to_pylist()[0]
            # In the people table a person is one row, however many there were; in the others every row is somebody's.
            people = name == database.people_table
            strangers = 0 if people else check.rows - check.nobody - owned.get(name, int(counted["rows"]))
            nowhere = {link: int(counted[link] or 0) for link in links}
            found[name] = CheckedTable(check, strangers, nowhere)
        return CheckedDatabase(opened.people, found)


def _owned_rows(sources: Mapping[str, Any], database: Database, resources: Resources | None) -> dict[str, int]:
    """Return how many rows belong to somebody in those tables of which rows with one key are one, once opened."""
    led = [name for name in database.private if database.key_of(name) is not None]
    if not led:
        return {}
    plain = replace(database, links=tuple(link for link in database.links if link.to not in led))
    opened = open_database(sources, plain, resources=resources)
    with opened:
        return {name: opened.run(opened.held(name).count().as_table()).column(0)[0].as_py() for name in led}


@dataclass(frozen=True)
class CellsRead:
    """How many rows there are; of each column, how many cells it reads, and how many of those it moves to an end."""

    rows: int
    read: dict[str, int]
    moved: dict[str, int]


def read_cells(data: Any, schema: Schema, table: str | None = None, resources: Resources | None = None) -> CellsRead:
    """Return how many cells of each column say something that its domain holds, or that it moves into its range."""
    found = check_table(data, schema, table, resources=resources)
    listed = {column.name: _listed(schema.domain(column.name)) for column in found.columns}
    return CellsRead(
        found.rows,
        {one.name: found.rows - one.missing - (one.outside if listed[one.name] else 0) for one in found.columns},
        {one.name: 0 if listed[one.name] else one.outside for one in found.columns},
    )


def _listed(domain: Domain) -> bool:
    """Tell whether what lies outside of a domain is lost; a number or a day is moved to the nearest end."""
    return isinstance(domain, Categories)


def _counted(table: Any, schema: Schema) -> Check:
    base = [name for name in schema.names if schema.base(name) == name]
    counts: dict[str, Any] = {"rows": table.count()}
    for place, name in enumerate(base):
        missing, outside = _tests(table[name], schema.domain(name))
        counts[f"missing_{place}"] = missing.fill_null(False).sum().fill_null(0)
        counts[f"outside_{place}"] = (outside & ~missing).fill_null(False).sum().fill_null(0)
    found = table.aggregate(**counts).to_pyarrow().to_pylist()[0]
    columns = [
        Column(name, int(found[f"missing_{place}"]), int(found[f"outside_{place}"])) for place, name in enumerate(base)
    ]
    rows = int(found["rows"])
    nobody, people, crowded = _people(table, schema, rows)
    return Check(rows, nobody, people, crowded, _repeated(table, schema), tuple(columns))


def _repeated(table: Any, schema: Schema) -> int:
    """Return how many rows have the person and the row key of another row, so that each such key is one empty row."""
    if schema.person is None or schema.row_key is None:
        return 0
    known = table.filter(table[schema.person].notnull())
    keys = known.group_by([schema.person, *schema.row_key]).agg(sfumato_rows=known.count())
    rows = keys.filter(keys.sfumato_rows > 1).sfumato_rows.sum().to_pyarrow().as_py()
    return int(rows or 0)


def _people(table: Any, schema: Schema, rows: int) -> tuple[int, int, int]:
    """Return rows without a person, people, and people who have more rows than count."""
    if schema.person is None:
        return 0, rows, 0
    person = table[schema.person]
    present = person.notnull() & (person != "") if person.type().is_string() else person.notnull()
    known = table.filter(present).group_by(schema.person).aggregate(sfumato_rows=lambda found: found.count())
    summed = known.aggregate(
        people=known.count(),
        rows=known.sfumato_rows.sum().fill_null(0),
        crowded=(known.sfumato_rows > schema.rows_per_person).sum().fill_null(0),
    )
    counted = summed.to_pyarrow().to_pylist()[0]
    return rows - int(counted["rows"]), int(counted["people"]), int(counted["crowded"])


def _tests(cell: Any, domain: Domain) -> tuple[Any, Any]:
    """Return two conditions: the cell is missing or cannot be read, and it lies outside of the domain."""
    if isinstance(domain, (Integers, FixedPoint)):
        number = written_number(cell, domain.figures) if cell.type().is_string() else cell.cast("float64")
        return number.isnull() | number.isnan(), (number < float(domain.low)) | (number > float(domain.high))
    if isinstance(domain, Categories) and cell.type().is_binary():
        return cell.isnull(), cell.notin([str(value).encode("utf-8") for value in domain.values])
    if isinstance(domain, Categories):
        return cell.isnull(), cell.cast("string").notin([str(value) for value in domain.values])
    if isinstance(domain, Booleans):
        return cell.isnull() | _no_boolean(cell), cell.isnull() & False  # a word that is neither is read as missing
    if isinstance(domain, Times):
        return moment_code(cell, domain).isnull(), cell.isnull() & False
    if isinstance(domain, Dates) and domain.format is not None and cell.type().is_string():
        number = written_day(cell, domain.written)
        return number.isnull(), (number < domain.first) | (number > domain.highest)
    if isinstance(domain, Dates):
        day = cell.re_extract(f"^{DATE_TEXT}\\z", 1).try_cast("date") if cell.type().is_string() else cell.cast("date")
        return day.isnull(), (day < domain.earliest) | (day > domain.latest)
    assert isinstance(domain, Text)
    return cell.isnull(), cell.length() > domain.max_bytes


def _no_boolean(cell: Any) -> Any:
    if cell.type().is_string():
        return ~(cell.re_search(f"^{TRUE_TEXT}\\z") | cell.re_search(f"^{FALSE_TEXT}\\z"))
    return cell.cast("int64").notin([0, 1])
