"""What a statement reads, told from its tree alone (SQ-PARSE, check 3): the columns it names are those it pays for.

A plan knows what every expression in it reads, and a gauge charges for that. Here the same is worked out a second time,
by walking what was written, and the two must agree on every statement: an expression that forgot a part of itself, or a
join that dropped rows for nothing, is caught before anything is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sfumato.errors import CertificationError
from sfumato.grammar import tree
from sfumato.sql.scope import Scope, Written, bare

Reads = frozenset[str]
NOTHING: Reads = frozenset()


def columns_in(node: object) -> Iterator[tree.Column]:
    """Yield all columns that are named somewhere in a part of a tree."""
    if isinstance(node, tree.Column):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from columns_in(part)
    else:
        for name in getattr(node, "__dataclass_fields__", ()):
            yield from columns_in(getattr(node, name))


def conjuncts(node: tree.Expression) -> list[tree.Expression]:
    """Return the conditions that ON joins by AND."""
    node = bare(node)
    whole = isinstance(node, tree.Chain) and set(node.signs) == {"AND"}
    return list(node.parts) if whole and isinstance(node, tree.Chain) else [node]


@dataclass(frozen=True)
class Reader:
    """Works out what parts of one SELECT read."""

    source: tree.Source
    scope: Scope
    pers: Mapping[str, Written]

    def reads(self, node: object) -> Reads:
        """Return the attributes that the columns in a part of the tree read."""
        return NOTHING.union(*(self._column(column) for column in columns_in(node)))

    def presence(self, where: tree.Expression | None) -> Reads:
        """Return the attributes that decide whether a row is there: WHERE, further conditions of ON, dropping joins."""
        found = self.reads(where) | self._row(self.source.table)
        for join in self.source.joins:
            found |= NOTHING if join.left else self._row(join.table) | self.reads(join.on)
        return found

    def _row(self, table: tree.Table) -> Reads:
        """Return what decides whether a table of WITH has a row for somebody."""
        seat = self.scope.seat(table.alias or table.name)
        return self.pers[seat.table].presence if seat.kind == "person" else NOTHING

    def _column(self, column: tree.Column) -> Reads:
        seat, name = self.scope.found(column)
        if seat.kind == "person":
            per = self.pers[seat.table]
            return per.presence | per.items.get(name, NOTHING)
        if seat.kind == "public":
            return self._led(seat.name)
        database = self.scope.database
        private = database.private[seat.table]
        base = private.base(name) if name in private.names else name
        known = (*private.attributes, *database.links_of(seat.table))
        own = frozenset({database.attribute(seat.table, base)}) if base in known else NOTHING
        return own | (NOTHING if seat.kind == "people" else self._led(seat.name))

    def _led(self, name: str) -> Reads:
        """Return what the link reads that leads to a table: the column on the other side of its key."""
        for join in self.source.joins:
            for part in map(bare, conjuncts(join.on)):
                if not isinstance(part, tree.Comparison) or part.sign != "=":
                    continue
                for key, other in ((part.left, part.right), (part.right, part.left)):
                    if self._is_key(bare(key), name) and self._is_link(bare(other)):
                        return self._column(bare(other))  # type: ignore[arg-type]
        if self.scope.flat is None or name != self.scope.flat.anchor.name:
            raise CertificationError(f"Nothing that was written leads to {name!r}; please report it.")
        return NOTHING

    def _is_key(self, node: tree.Expression, name: str) -> bool:
        if not isinstance(node, tree.Column):
            return False
        seat, column = self.scope.found(node)
        return seat.name == name and seat.kind != "person" and column == self.scope.database.key_of(seat.table)

    def _is_link(self, node: tree.Expression) -> bool:
        if not isinstance(node, tree.Column):
            return False
        seat, column = self.scope.found(node)
        return seat.kind != "person" and column in self.scope.database.links_of(seat.table)


def check_charged(planned: Reads, written: Reads, database_attributes: Reads) -> None:
    """Refuse a plan that would charge for other attributes than the statement names."""
    if planned & database_attributes != written & database_attributes:
        apart = sorted((planned ^ written) & database_attributes)
        raise CertificationError(f"The plan and the statement read different columns: {apart}; please report it.")
