"""Opening a table and its ledger together, in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.curator.curator import Curator
from sfumato.errors import LedgerError, PaidAgainWarning, ParameterError, SchemaError, warn
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.keeping import Keep
from sfumato.ledger.sources import snapshot_of
from sfumato.privacy import Bound, Relation
from sfumato.privacy.bounds import require_bound
from sfumato.table.data import Table, open_table
from sfumato.table.database import Database, accepted, load
from sfumato.table.drafting import Draft
from sfumato.table.own import open_database
from sfumato.table.resources import STORAGE_LEVELS, Resources
from sfumato.table.schema import Schema
from sfumato.words import understood

PAID_AGAIN_HERE = (
    "This ledger has answers about earlier openings, and these data cannot be recognised: they are the new snapshot "
    "{own!r}, and whatever is asked again is paid again. Write snapshot='2026-03', say, in curate, the same name for "
    "the same data at every opening."
)


@understood
def curate(
    source: Any,
    schema: Schema | Database | Mapping[str, Any] | str | Path,
    budget: Budget | Bound | None = None,
    *,
    ledger: str | Path | Ledger | None = None,
    snapshot: str = "",
    same_data: bool = False,
    table: str | None = None,
    population: str | None = None,
    analysts: Mapping[str, Budget | Bound] | None = None,
    relation: Relation | None = None,
    keep_head: Keep | None = None,
    private: str | Path | None = None,
    memory_limit: str | int | None = None,
    temp_directory: str | Path | None = None,
    storage: str = STORAGE_LEVELS[0],
    most_rows: int | None = None,
) -> Curator:
    """Open a table and its ledger in one line, in memory or on disk.

    `source` is a file, a frame, a database or a cluster table; `schema` a Schema or the path of one in TOML. For a
    `Database` the sources are a mapping from its tables, and questions are asked by `curator.sql`.
    `budget` the limits of everything that will be answered, a single bound for the whole person or a `Budget`.
    `ledger` is a path or an address, without it the ledger is in memory and gone when the program ends.
    A question asked again of the same state of the data is free. Files are recognised by place, size and time of
    change, as long as the ledger has a private directory; frames, servers and clusters are new at every opening, unless
    you name their state by `snapshot`. A name belongs to one file; `same_data` says that another holds the same.
    `analysts` have budgets of their own under the one of all. A new ledger speaks of REPLACE_ONE neighbours, or
    of those that `relation` names. `keep_head` is where the end of the ledger's chain is kept, best on another disk, so
    that a ledger which was rolled back or rewritten is noticed. `private` is a directory where a draw in progress is
    kept, so that a kill does not lose it: beside a ledger's file by default, to be named for PostgreSQL.
    `memory_limit`, `temp_directory` and `storage` say what an engine may use of the machine, and `most_rows` how many
    rows there are at most, as everybody may know; see `Resources`.

    >>> from sfumato import Pure
    >>> from sfumato.domain import categories, integers
    >>> import pyarrow
    >>> people = pyarrow.table({"age": [34, 71, 25], "sex": ["Male", "Female", "Female"]})
    >>> described = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")})
    >>> with curate(people, described, Pure(1)) as curator:
    ...     curator.count().value, curator.count("age > 30", spend=Pure(0.5)).loss.person.epsilon
    (3, Fraction(1, 2))
    """
    if isinstance(source, (Schema, Database, Draft)) or (
        isinstance(source, (str, Path)) and str(source).lower().endswith(".toml")
    ):
        raise SchemaError(
            "The data come first and the schema second, and they are swapped here; write curate('people.csv', "
            "'people.toml', Pure(3))."
        )
    described = _schema(schema)
    resources = Resources(memory_limit, temp_directory, storage, most_rows)
    opened = _opened(source, described, table, resources)
    try:
        if isinstance(ledger, Ledger):
            book = _given(ledger, described, relation, [budget, population, analysts, keep_head, private])
        else:
            more = {"population": population, "relation": relation, "keep_head": keep_head, "private": private}
            book = _ledger(ledger, described, budget, analysts, **more)
        if (kept := described.as_kept(book.schema)) is not described:
            opened.close()
            opened = _opened(source, kept, table, resources)
        opened.snapshot = snapshot_of(book, opened.identity, snapshot, same_data)
        curator = Curator(opened, book, book.relation)
        curator.unnamed = not snapshot and (opened.identity is None or book.private is None)
        if curator.unnamed and book.place != "memory" and _has_paid(book):
            warn(PAID_AGAIN_HERE.format(own=opened.snapshot), PaidAgainWarning)
        return curator
    except BaseException:
        opened.close()
        raise


def _opened(source: Any, described: Schema | Database, table: str | None, resources: Resources) -> Table:
    if isinstance(described, Database):
        return open_database(source, described, resources=resources)
    return open_table(source, described, table=table, resources=resources)


def _has_paid(book: Ledger) -> bool:
    """Tell whether anything was charged; a ledger of periods alone has no sums for a lifetime."""
    if book.budget.person is not None:
        return any(book.spent().sums)
    return any(not entry.person.is_zero for entry in book.history())


def _given(ledger: Ledger, schema: Schema, relation: Relation | None, rest: Sequence[object]) -> Ledger:
    if any(part is not None for part in rest):
        raise ParameterError(
            "An open ledger has its budget already; leave budget, population, analysts, keep_head and private out."
        )
    if relation not in (None, ledger.relation):
        raise LedgerError(
            f"The ledger speaks of {ledger.relation!r} neighbours, not of {relation!r}; leave relation= out."
        )
    known = ledger.budget.secrets
    if known is not None and known != schema.secrets:
        raise LedgerError(
            "The ledger was made for a schema with other attributes; open it with the schema that it was made for."
        )
    ledger.use_schema(accepted(schema))
    return ledger


def _schema(schema: Any) -> Any:
    if isinstance(schema, (Schema, Database)):
        return schema
    if isinstance(schema, (str, Path)):
        return load(schema)
    if isinstance(schema, Mapping):
        return Schema(schema)
    if isinstance(schema, Draft):
        compared = ", once its candidates are compared with what is publicly known," if schema.looked else ""
        filled = f" {schema.to_do}" if schema.missing else ""
        line = f"draft{'.confirm()' if schema.looked else ''}.schema()"
        raise SchemaError(f"A draft is no schema yet; write {line}{compared} and give that to curate.{filled}")
    raise SchemaError(f"A schema is a Schema or the path of a TOML file, not {type(schema).__name__}.")


def _ledger(
    place: str | Path | None,
    schema: Schema,
    budget: Budget | Bound | None,
    analysts: Mapping[str, Budget | Bound] | None,
    **rest: Any,
) -> Ledger:
    if budget is None and place is None:
        raise ParameterError(
            "A ledger in memory is new, so it needs limits; write curate(source, schema, Pure(3)), or "
            "Budget(person=Pure(3), each_attribute=Pure(1))."
        )
    limits = None if budget is None else _budget(budget, schema)
    own = None if analysts is None else {name: _budget(part, schema) for name, part in analysts.items()}
    return Ledger(place, limits, schema=accepted(schema), analysts=own, **rest)


def _budget(budget: Budget | Bound, schema: Schema) -> Budget:
    limits = budget if isinstance(budget, Budget) else Budget(person=require_bound(budget, "A budget"))
    return limits.about(schema.secrets)
