"""The columns that a workload speaks of: how many codes each has, and whose attribute it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from sfumato.domain import Domain, nearest
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.table.schema import Schema

LISTED = 2**22
"""Up to so many cells a table is written out."""


@dataclass(frozen=True)
class Space:
    """Some columns in a fixed order, each with finitely many codes 0 … size - 1, those of missing cells among them.

    `attributes` names the private attribute that a column shows, None for a public column; two columns may show
    the same one, such as an age and its decade. `domains` turn a code into a value: decode(domain.first + code).

    >>> from sfumato.domain import bins, categories, integers
    >>> schema = Schema({"age": integers(17, 90), "sex": categories("Female", "Male"), "decade": bins("age", step=10)})
    >>> space = Space.of(schema, ["sex", "decade"])
    >>> space.sizes, space.attributes, space.cells, space.value("decade", 2)
    ((4, 10), ('sex', 'age'), 40, 30)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    attributes: tuple[str | None, ...]
    domains: tuple[Domain, ...]

    @classmethod
    def of(cls, schema: Schema, names: Iterable[str] | None = None) -> Space:
        """Return the space of some columns of a schema, by default of all; text columns are refused."""
        require_schema(schema)
        listed = schema.names if names is None else column_names(names, "columns")
        if not listed:
            raise SchemaError(f"A workload needs at least one column; {nearest('', schema.names)}")
        if len(set(listed)) != len(listed):
            raise SchemaError("The same column is listed twice; list each one once.")
        domains = tuple(schema.domain(name) for name in listed)
        for name, domain in zip(listed, domains, strict=True):
            if domain.size is None:
                raise SchemaError(_listing_text(name, listed, schema))
        private = frozenset(schema.attributes)
        bases = tuple(schema.base(name) for name in listed)
        shown = tuple(base if base in private else None for base in bases)
        return cls(listed, tuple(domain.size or 1 for domain in domains), shown, domains)

    @property
    def cells(self) -> int:
        """How many combinations of codes there are; it may be a huge number."""
        return prod(self.sizes)

    @cached_property
    def _axes(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def places(self, names: Iterable[str], inside: str = "this workload") -> tuple[int, ...]:
        """Return the places of some columns, in the order in which they are asked for.

        `inside` is what a refusal says that they are missing from.
        """
        found = []
        for name in names:
            if name not in self._axes:
                raise SchemaError(f"There is no column {name!r} in {inside}; {nearest(str(name), self.names)}")
            found.append(self._axes[name])
        return tuple(found)

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the number of codes of some columns."""
        return tuple(self.sizes[place] for place in self.places(names))

    def listed(self, names: Sequence[str], most: int = LISTED) -> tuple[int, ...]:
        """Return the shape of a table that is to be written out, refusing one that is too large."""
        shape = self.shape(names)
        if prod(shape) > most:
            raise DomainTooLarge(
                f"A table over {', '.join(names)} has {prod(shape)} cells, more than {most}; ask for fewer columns at a"
                " time (width=2), or derive coarser bins in the schema.",
                method="width=2",
            )
        return shape

    def reads(self, names: Iterable[str]) -> frozenset[str]:
        """Return the private attributes that some columns show; a column of one value shows nothing."""
        shown = ((self.attributes[place], self.sizes[place]) for place in self.places(names))
        return frozenset(attribute for attribute, size in shown if attribute is not None and size > 1)

    def value(self, name: str, code: int) -> Any:
        """Return the value of a code of a column."""
        domain = self.domains[self.places((name,))[0]]
        return domain.decode(domain.first + int(code))

    def values(self, name: str) -> list[Any]:
        """Return the values of all codes of a column, in the order of the codes."""
        domain = self.domains[self.places((name,))[0]]
        return [domain.decode(domain.first + code) for code in range(domain.size or 0)]

    def to_json(self) -> dict[str, Any]:
        """Return the names of the columns; the schema knows the rest."""
        return {"columns": list(self.names)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], schema: Schema) -> Space:
        """Read what `to_json` wrote."""
        return cls.of(schema, record["columns"])


def require_schema(schema: object) -> None:
    """Refuse what is no schema, before it is read as one."""
    if not isinstance(schema, Schema):
        raise ParameterError(
            f"A workload is made from the schema of a table, not from a {type(schema).__name__}; write for example "
            "workloads.marginals(curator.schema, width=2)."
        )


def column_names(names: object, argument: str) -> tuple[str, ...]:
    """Return names of columns from one name or a list of them.

    >>> column_names("age", "columns"), column_names(["age", "sex"], "columns")
    (('age',), ('age', 'sex'))
    """
    listed = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise ParameterError(
            f"{argument}= names columns, and {names!r} is no list of names; write for example "
            f"{argument}=['age', 'sex']."
        )
    return listed


def _listing_text(name: str, listed: Sequence[str], schema: Schema) -> str:
    """Say why a column of text cannot be counted cell by cell, and which columns can."""
    finite = [other for other in listed if schema.domain(other).size is not None]
    others = finite or [other for other in schema.names if schema.domain(other).size is not None]
    leave = f"leave it out by columns={finite!r}" if finite else f"ask about columns={others!r}"
    advice = f"{leave}, or declare it" if others else "declare it"
    return f"{name!r} holds text, whose values cannot be listed; {advice} as categories with other=."
