"""How much of a person counts: weigh rows, or pick rows and groups.

*Weigh* looks at no order: each row of a person with N > r rows counts floor(r·S/N) units instead of S, so the whole
person counts at most r·S. It serves every linear statistic. *Pick* keeps r whole rows of each person: the first ones
in a keyed order of the schema's row key or, where it names none, of their contents. Rows of one person with the same
row key are replaced by one row in which every cell is missing, so that no cell decides which of them counts. All of it
looks at one person's rows only, which is all that privacy needs; with a row key it looks at no attribute either, which
is what promises per attribute need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Text
from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.table.order import engine_text_number, keyed_hash, limbs, person_limbs
from sfumato.table.owners import Owners, owners_of
from sfumato.table.repair import KEY, PERSON
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sfumato.table.engine import Source

WEIGHT = "sfumato_weight"
ORDER = "sfumato_order"
MANY_PARTS = 16
"""From more numbers on the hash of a row is computed in steps that have names."""
SCALE = 2**20
"""Units in which weighed rows are counted."""


class Way(Enum):
    """How a table is cut to what a person may count."""

    ROWS = "rows"
    """Every person has one row; nothing to cut."""
    WEIGH = "weigh"
    PICK = "pick"


@dataclass(frozen=True)
class Bounding:
    """The public rule of what a person counts: at most `rows` whole rows, in units of 1/`scale`, and `groups` groups.

    `key` chooses the order in which rows and groups are picked.
    """

    way: Way
    rows: int = 1
    groups: int | None = None
    scale: int = 1
    key: str = ""

    def __post_init__(self) -> None:
        positive_integer(self.rows, "rows")
        positive_integer(self.scale, "scale")
        if self.scale >= 2**31:
            raise ParameterError("A scale is below 2^31, so that a weight fits 32 bits; write a smaller one.")
        if self.way is not Way.WEIGH and self.scale != 1:
            raise ParameterError("Only weighed rows have a scale; leave scale=1.")
        if self.rows * self.scale >= 2**50:
            raise ParameterError(f"{self.rows} rows a person in units of 1/{self.scale} pass 2^50; allow fewer rows.")

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a JSON object."""
        return {
            "way": self.way.value,
            "rows": self.rows,
            "groups": self.groups,
            "scale": self.scale,
            "key": self.key,
        }


def bounding_of(schema: Schema, *, whole: bool, key: str = "", scale: int = SCALE) -> Bounding:
    """Return the rule that a schema asks for: `whole` rows are picked, others weighed in units of 1/`scale`.

    A table without a person column has one row a person by declaration, and so has one with `row_key=()`.

    >>> from sfumato.domain import integers
    >>> bounding_of(Schema({"age": integers(0, 9)}, person="id", rows_per_person=3), whole=False).scale
    1048576
    """
    if schema.person is None or schema.row_key == ():
        return Bounding(Way.ROWS)
    if whole:
        return Bounding(Way.PICK, schema.rows_per_person, schema.groups_per_person, key=key)
    return Bounding(Way.WEIGH, schema.rows_per_person, schema.groups_per_person, scale, key)


def rows_by_person(coded: ir.Table) -> ir.Table:
    """Return how many rows each person has."""
    return coded.group_by(PERSON).agg(sfumato_rows=coded.count())


def weighed(coded: ir.Table, counted: ir.Table, rule: Bounding) -> ir.Table:
    """Return all rows with their weight in units of 1/scale.

    Only people above the bound are joined: for the others a whole row counts whole.
    """
    import ibis

    total = ibis.literal(rule.rows * rule.scale, "int64")
    heavy = counted.filter(counted.sfumato_rows > rule.rows)
    heavy = heavy.select(sfumato_heavy=heavy[PERSON], sfumato_share=(total // heavy.sfumato_rows).cast("int64"))
    joined = coded.left_join(heavy, [coded[PERSON] == heavy.sfumato_heavy])
    weight = joined.sfumato_share.fill_null(ibis.literal(rule.scale, "int64")).cast("int32")
    return joined.select(*coded.columns, **{WEIGHT: weight})


def weigh_in_memory(table: Any, owners: Owners, rule: Bounding) -> Any:
    """Add the same weights to an Arrow table whose rows these people own: the twin of `weighed`, thrice as fast."""
    import pyarrow as pa

    many = owners.counts > rule.rows
    shares = np.where(many, rule.rows * rule.scale // np.maximum(owners.counts, 1), rule.scale)
    return table.append_column(WEIGHT, pa.array(shares.astype(np.int32)).take(owners.places))


def told_apart(coded: ir.Table, schema: Schema, links: Sequence[str] = ()) -> ir.Table:
    """Put one row in which every cell is missing in place of a person's rows that have the same row key.

    `links` are columns without a domain that become null there.

    Which keys occur twice depends on the keys alone, and no cell decides which of two rows is the one that counts.
    """
    import ibis

    by = [PERSON, KEY] if schema.row_key else [PERSON]
    # The smallest of one cell is the cell itself.
    cells = {name: coded[name].min() for name in (*schema.names, *links)}
    grouped = coded.group_by(by).agg(sfumato_rows=coded.count(), **cells)
    twice = grouped.sfumato_rows > 1
    empty = {
        name: ibis.ifelse(twice, _missing(schema, name, coded[name].type()), grouped[name]) for name in schema.names
    }
    led = {name: ibis.ifelse(twice, ibis.null(coded[name].type()), grouped[name]) for name in links}
    return grouped.select({**empty, **led, **{name: grouped[name] for name in by}})


def _missing(schema: Schema, name: str, kind: Any) -> Any:
    import ibis

    domain = schema.domain(name)
    code = domain.missing if isinstance(domain, Text) else domain.missing_code
    return ibis.null(kind) if code is None else ibis.literal(code, kind)


def ordered(coded: ir.Table, schema: Schema, rule: Bounding, source: Source) -> ir.Table:
    """Add the order in which the rows of a person are picked, a hash of person and row key, or of all contents."""
    parts = _person(coded, source)
    if schema.row_key:
        parts += limbs(engine_text_number(coded[KEY], source.engine.name), 0, 2**60 - 1)
    else:
        for name in sorted(schema.names):
            if schema.base(name) == name:
                parts += _cell(coded, schema, name, source)
    return _hashed(coded, parts, f"rows {rule.key}", source)


def _hashed(table: ir.Table, parts: Sequence[Any], key: str, source: Source) -> ir.Table:
    """Add the hash of some numbers, level by level: Spark reads an expression as text, the slower the deeper it is."""
    kept, holder = table.columns, [table]

    def settle(level: list[Any]) -> list[Any]:
        names = [f"sfumato_hash_{place}" for place in range(len(level))]
        holder[0] = source.named(holder[0].select(*kept, **dict(zip(names, level, strict=True))))
        return [holder[0][name] for name in names]

    # A name for every level pays only where there are many.
    hashed = keyed_hash(parts, key, settle if len(parts) > MANY_PARTS else list)
    return holder[0].select(*kept, **{ORDER: hashed.cast("int32")})


def ordered_groups(grouped: ir.Table, schema: Schema, keys: Sequence[str], rule: Bounding, source: Source) -> ir.Table:
    """Add the order in which the groups of a person are picked, a hash of person and key."""
    parts = _person(grouped, source)
    for name in keys:
        parts += _cell(grouped, schema, name, source)
    return _hashed(grouped, parts, f"groups {rule.key}", source)


def _person(table: ir.Table, source: Source) -> list[Any]:
    person = table[PERSON]
    if person.type().is_string():
        return limbs(engine_text_number(person, source.engine.name), 0, 2**60 - 1)
    return [limb.cast("int64") for limb in person_limbs(person)]


def _cell(table: ir.Table, schema: Schema, name: str, source: Source) -> list[Any]:
    domain = schema.domain(name)
    if isinstance(domain, Text):
        return limbs(engine_text_number(table[name], source.engine.name), 0, 2**60 - 1)
    assert domain.last is not None
    return limbs(table[name].cast("int64"), domain.first, domain.last)


def pick_in_engine(table: ir.Table, limit: int, ties: Sequence[str]) -> ir.Table:
    """Keep the first `limit` rows of each person inside any engine, by position and never by threshold.

    Rows of equal order are told apart by the columns `ties`; rows equal in all of them are the same row.
    """
    import ibis

    window = ibis.window(group_by=PERSON, order_by=[ORDER, *ties])
    placed = table.mutate(sfumato_place=ibis.row_number().over(window))
    return placed.filter(placed.sfumato_place < limit).drop("sfumato_place", ORDER)


def pick_in_memory(table: Any, limit: int, ties: Sequence[str]) -> Any:
    """Keep the same rows of an Arrow table: the twin of `pick_in_engine`, several times faster on one machine."""
    kept, _ = pick_shown(table, limit, ties, one_each(table.column(PERSON)))
    return kept.drop_columns([ORDER])


def one_each(ids: Any) -> Owners:
    """Return whose rows they are, of ids that are too long for one array too."""
    import pyarrow as pa

    found = owners_of(ids) or owners_of(ids.cast(pa.large_string()))
    assert found is not None, "Offsets of 64 bits hold what memory does."
    return found


def pick_shown(table: Any, limit: int, ties: Sequence[str], owners: Owners) -> tuple[Any, Any]:
    """Keep the first `limit` rows of each person, of a table that may lack columns that tell rows of equal order apart.

    Rows of equal order that are equal in all that is there are the same row to whoever reads it. Where they differ and
    a column of `ties` is missing, nothing of their person is kept: such people are returned beside what is, None where
    there is nobody.
    """
    import pyarrow as pa

    order, places = table.column(ORDER).to_numpy(), owners.places.to_numpy()
    known = set(ties) <= set(table.column_names)
    compared = ties if known else [name for name in table.column_names if name not in (PERSON, ORDER)]
    kept = (owners.counts <= limit)[places]
    rows = np.flatnonzero(~kept)
    # Person and order share one integer, so that one sort arranges both.
    packed = (places[rows].astype(np.int64) << 31) | order[rows].astype(np.int64)
    arranged = np.argsort(packed)
    undecided = np.unique(packed[arranged][_differ(rows[arranged], packed[arranged], table, compared)] >> 31)
    if known and len(undecided):
        arranged = np.lexsort([*(_ranks(table.column(name), rows) for name in reversed(ties)), packed])
    owner = packed[arranged] >> 31
    # A row is among the first ones when the row that many places before it is somebody else's.
    early = np.ones(len(owner), bool)
    early[limit:] = owner[limit:] != owner[:-limit]
    left = None
    if not known and len(undecided):
        early &= ~np.isin(owner, undecided)
        left = owners.people.take(pa.array(undecided))
    kept[rows[arranged[early]]] = True
    return table.filter(kept), left


def _ranks(column: Any, rows: Any) -> Any:
    """Return integers in the order of some cells; text by its bytes, as engines compare it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = column.take(pa.array(rows))
    return pc.rank(cells, tiebreaker="dense").to_numpy()


def _differ(rows: Any, packed: Any, table: Any, names: Sequence[str]) -> Any:
    """Return the places of neighbours of equal person and order that differ in some columns: a sort left them open."""
    tied = np.flatnonzero(packed[1:] == packed[:-1])
    found = np.zeros(len(tied), bool)
    for name in names if len(tied) else []:
        ranks = _ranks(table.column(name), np.concatenate([rows[tied], rows[tied + 1]]))
        found |= ranks[: len(tied)] != ranks[len(tied) :]
    return tied[found]
