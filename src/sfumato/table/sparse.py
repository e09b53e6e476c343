"""Several exact totals of the cells that occur, for keys that nobody can list: in arrays, one line a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Domain
from sfumato.table.predicate import Predicate
from sfumato.table.statistics import COUNT, Part, Power, packed, part_name, read_total, sparse

if TYPE_CHECKING:
    from sfumato.table.boxes import Box
    from sfumato.table.view import View

Cell = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Sparse(Mapping[Cell, tuple[int, ...]]):
    """The cells that occur, sorted by their codes, and the totals of each; to look at, a mapping from codes to totals.

    Codes are a matrix of 64-bit integers, or of Python integers where a column holds text. Totals are one array each.
    """

    codes: Any
    totals: tuple[Any, ...]

    @classmethod
    def of(cls, found: Mapping[Cell, Any], totals: int = 1) -> Sparse:
        """Return a mapping from codes to one total or several in this form; one that has it already is returned.

        `totals` says how many there are of each cell, where no cell occurs.
        """
        if isinstance(found, Sparse):
            return found
        cells = sorted(found)
        lines = [line if isinstance(line, tuple) else (line,) for line in (found[cell] for cell in cells)]
        known = len(lines[0]) if lines else totals
        columns = tuple(integers([line[place] for line in lines]) for place in range(known))
        codes = np.empty((len(cells), len(cells[0]) if cells else 1), object)
        for place, cell in enumerate(cells):
            codes[place, :] = cell
        return cls(codes, columns)

    def keys_at(self, places: Any) -> list[Cell]:
        """Return the codes of some cells."""
        return list(map(tuple, self.codes[places].tolist()))

    @cached_property
    def _lines(self) -> dict[Cell, tuple[int, ...]]:
        values = zip(*(total.tolist() for total in self.totals), strict=True)
        return dict(zip(self.keys_at(slice(None)), values, strict=True))

    def __getitem__(self, cell: Cell) -> tuple[int, ...]:
        return self._lines[cell]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return "Sparse()"  # how many cells there are is private


def integers(numbers: Sequence[int]) -> Any:
    """Return integers as an array, of Python integers where they do not fit 64 bits."""
    wide = any(not -(2**63) <= number < 2**63 for number in numbers)
    found = np.empty(len(numbers), object if wide else np.int64)
    found[:] = numbers
    return found


def sparse_totals(view: View, keys: Sequence[str], parts: Sequence[Part], where: Predicate) -> Sparse:
    """Return for every cell that occurs the totals of some parts, in one pass."""
    from sfumato.table.view import with_counts

    asked = list(dict.fromkeys(_bare(part) for part in with_counts([*parts, COUNT])))
    answer = view._ask(tuple(keys), asked, where, as_cells=False)
    domains = {name: view.table.schema.domain(name) for name in keys}
    codes, totals = _lines(answer, domains, asked)
    return Sparse(codes, tuple(_centred(part, totals) for part in parts))


def sparse_shares(view: View, keys: Sequence[str], boxes: Sequence[Box], where: Predicate, groups: int) -> Sparse:
    """Return for every cell that occurs how many people are in it, and their clamped totals, of each person's first."""
    answer = view.shares_found(tuple(keys), boxes, where, groups)
    domains = {name: view.table.schema.domain(name) for name in keys}
    asked: list[Any] = [COUNT, *enumerate(boxes)]
    codes, totals = _lines(answer, domains, asked)
    return Sparse(codes, tuple(totals[one] for one in asked))


def _lines(answer: Any, domains: Mapping[str, Domain], asked: Sequence[Part]) -> tuple[Any, dict[Part, Any]]:
    """Return sorted codes, and the totals of every part in their order."""
    if any(domain.last is None for domain in domains.values()):
        # Text is cut to its bytes cell by cell, and cells may merge.
        found = {part: sparse(answer, part_name(place), domains) for place, part in enumerate(asked)}
        cells = list(found[COUNT])
        codes = np.empty((len(cells), len(domains)), object)
        for place, cell in enumerate(cells):
            codes[place, :] = cell
        return codes, {part: integers([totals[cell] for cell in cells]) for part, totals in found.items()}
    columns = [answer.column(name).to_numpy().astype(np.int64) for name in domains]
    arranged = np.lexsort(packed(columns, list(domains.values()))[::-1])
    codes = np.stack([column[arranged] for column in columns], axis=1)
    return codes, {part: read_total(answer, part_name(place))[arranged] for place, part in enumerate(asked)}


def _bare(part: Part) -> Part:
    """Return the part as an engine adds it up: sums are centred afterwards."""
    return Part(Power.SUM, part.column) if part.power is Power.SUM else part


def _centred(part: Part, totals: Mapping[Part, Any]) -> Any:
    value = totals[_bare(part)]
    if part.power is not Power.SUM or not part.center:
        return value
    # In Python integers: a centre times a count may pass 64 bits on the way.
    exact = value.astype(object) - part.center * totals[Part(Power.PRESENT, part.column)].astype(object)
    return integers(exact.tolist())
