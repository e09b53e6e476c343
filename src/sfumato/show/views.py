"""How an object shows itself: plain text where it is printed, a small page in a notebook, from one description."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

from sfumato.show.drawing import Drawing
from sfumato.show.pages import html
from sfumato.show.tables import Table, table

SHOWN_ROWS = 40
DIGITS = 6
UNKNOWN = "not known"
"""What stands in place of a number that tells nothing."""


def readable(value: Any, width: float | None = None) -> str:
    """Return a number as people read it: no exponent, thousands divided, as many digits as its `width` leaves certain.

    >>> readable(27538), readable(27538.61, width=60.0), readable(36.42713, width=0.5), readable(0.25)
    ('27,538', '27,539', '36.43', '0.25')
    >>> readable(150000.3), readable(10.5), readable(10.0)
    ('150,000', '10.5', '10')
    """
    if value is None:
        return "missing"
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral) or (isinstance(value, Fraction) and value.denominator == 1):
        return f"{int(value):,}"
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    if width and math.isfinite(width):
        return f"{number:,.{min(12, max(0, 1 - math.floor(math.log10(width))))}f}"
    places = DIGITS if not number else DIGITS - 1 - math.floor(math.log10(abs(number)))
    if places > 12:
        return f"{number:.3g}"
    # Zeros behind the point say nothing; those of a whole number are its size.
    return f"{number:,.{places}f}".rstrip("0").rstrip(".") if places > 0 else f"{number:,.0f}"


def released_table(
    title: str,
    keys: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    most: int = SHOWN_ROWS,
    unknown: Mapping[str, Sequence[bool]] = MappingProxyType({}),
) -> Table:
    """Return a released table for people: keys as they are, numbers with their 95 % intervals beside them.

    Numbers that are marked in `unknown` tell nothing: the table says so, and their interval what is possible.

    >>> columns = {"mean of age": (3.5,), "mean of age, low": (0,), "mean of age, high": (120,)}
    >>> released_table("", (), columns, unknown={"mean of age": (True,)}).rows
    (('not known', '0 to 120'),)
    """
    shown: dict[str, list[str]] = {}
    length = min(most, len(next(iter(columns.values()), ())))
    columns = {name: cells[:length] for name, cells in columns.items()}
    for name, cells in columns.items():
        if name in keys:
            shown[name] = _marked([key_text(cell) for cell in cells], unknown.get(name))
        elif not _is_end(name, columns):
            ends = _ends(name, columns, length)
            widths = [None] * length if ends is None else [_width(low, high) for low, high in zip(*ends, strict=True)]
            said = [readable(cell, width) for cell, width in zip(cells[:length], widths, strict=True)]
            shown[name] = _marked(said, unknown.get(name))
            if ends is not None:
                beside = "95 % interval" if f"{name}, low" not in columns else f"{name}, 95 %"
                pairs = zip(*ends, widths, strict=True)
                shown[beside] = [_between(low, high, width) for low, high, width in pairs]
    rows = list(zip(*shown.values(), strict=True))
    return table(title, list(shown), rows)


def _between(low: Any, high: Any, width: float | None) -> str:
    """Return an interval; a quotient whose denominator may be zero has none."""
    return UNKNOWN if low is None and high is None else f"{readable(low, width)} to {readable(high, width)}"


def _marked(said: list[str], unknown: Sequence[bool] | None) -> list[str]:
    return said if unknown is None else [UNKNOWN if unknown[place] else one for place, one in enumerate(said)]


def key_text(cell: Any) -> str:
    """Return what a row is about, for people: a year or a code is no amount, so it has no thousands.

    >>> key_text(None), key_text(2024), key_text(Fraction(1, 2))
    ('missing', '2024', '0.5')
    """
    if isinstance(cell, (Fraction, float)):
        return f"{float(cell):.12g}"
    return "missing" if cell is None else str(cell)


def first_sentence(note: str) -> str:
    """Return how a note begins: below a picture there is room for what is so, not for what to do.

    >>> first_sentence("A person counts as at most 3 rows. If some have more, counts are too low.")
    'A person counts as at most 3 rows.'
    """
    note = re.sub(r"; (interval\(0\.95, together=True\)|with --together).*$", "", note)
    return re.split(r"(?<=[\w)'])\. (?=[A-Z])", note, maxsplit=1)[0].removesuffix(".") + "."


def _width(low: Any, high: Any) -> float | None:
    known = isinstance(low, Real) and isinstance(high, Real)
    return float(high) - float(low) if known else None


def _ends(name: str, columns: Mapping[str, Sequence[Any]], length: int) -> tuple[Sequence[Any], Sequence[Any]] | None:
    for low, high in ((f"{name}, low", f"{name}, high"), ("low", "high")):
        if low in columns and high in columns:
            return columns[low][:length], columns[high][:length]
    return None


def _is_end(name: str, columns: Mapping[str, Sequence[Any]]) -> bool:
    base = name.removesuffix(", low").removesuffix(", high")
    return (base != name and base in columns) or (name in ("low", "high") and len(columns) > 2)


@dataclass(frozen=True)
class View:
    """What an object shows of itself: a title, sentences, tables, and sentences behind them; pictures on a page."""

    title: str
    tables: tuple[Table, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pictures: tuple[Drawing, ...] = ()

    def text(self) -> str:
        """Return it as plain text."""
        parts = [self.title, *self.before, *(f"{one.text()}\n" for one in self.tables), *self.after]
        return "\n".join(part for part in parts if part).rstrip()

    def html(self) -> str:
        """Return it as a small page for a notebook."""
        said, told = map(_Sentence, self.before), map(_Sentence, self.after)
        return html(self.title, [*said, *self.tables, *self.pictures, *told])


@dataclass(frozen=True)
class _Sentence:
    said: str

    def html(self) -> str:
        return f"<p>{escape(self.said)}</p>"


class Viewed:
    """Something that people hold: it prints as a view, and a notebook shows it as a page."""

    @abstractmethod
    def view(self) -> View:
        """Return what is shown of it."""

    def __str__(self) -> str:
        return self.view().text()

    def _repr_html_(self) -> str:
        return self.view().html()
