"""How numbers are written in text: the mark before decimals, what groups thousands, and a unit beside them.

A way of writing becomes anchored regular expressions, the same for Python and for every engine. What is written in
another way is no number: where commas divide decimals, 1.5 is missing, and is never taken for fifteen or for one and
a half.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.errors import ParameterError

NUMBER_TEXT = r" *([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?) *"
"""The one grammar of a number in a text cell; engines differ on everything that it leaves out."""

KEYS = ("decimal", "thousands", "unit")
"""What a column of numbers may say about the way they are written."""

_BLANK = "[ \u00a0\u202f]"
_MARKS = {".": "[.]", ",": "[,]"}
_GROUPS = {**_MARKS, " ": _BLANK, "'": "['\u2019]"}
_LONGEST_UNIT = 8


@dataclass(frozen=True)
class Figures:
    """A way of writing numbers.

    >>> Figures(",", ".", "€").read("1.234,50 €"), Figures(",").read("1.5"), Figures(unit="$").read("-$5.25")
    (1234.5, None, -5.25)
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in _MARKS:
            raise ParameterError(f"decimal is '.' or ',', the mark before decimals, and {self.decimal!r} is neither.")
        if self.thousands not in ("", *_GROUPS):
            raise ParameterError(
                f"thousands is ',', '.', ' ' or \"'\", what groups the digits of 1,000, and {self.thousands!r} is none."
            )
        if self.thousands == self.decimal:
            raise ParameterError(
                f"{self.decimal!r} cannot divide both decimals and thousands; write decimal = ',' beside "
                "thousands = '.', or decimal = '.' beside thousands = ','."
            )
        unit: Any = self.unit
        if not isinstance(unit, str) or len(unit) > _LONGEST_UNIT or re.search(r"[0-9+.,'\s-]", unit):
            raise ParameterError(
                f"unit is the sign or word that stands beside every number, such as '%' or 'CHF', and {unit!r} is not."
            )

    @property
    def plain(self) -> bool:
        """Whether numbers are written as every computer reads them."""
        return self == Figures()

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The regular expressions of a whole cell, of which any may match; their first group holds the number."""
        if self.plain:
            return (NUMBER_TEXT,)
        number = f"([+-]?{self._amount})"
        if not self.unit:
            return (f"{_BLANK}*{number}{_BLANK}*",)
        return (f"{_BLANK}*{number}{_BLANK}*{self._sign}{_BLANK}*", f"{_BLANK}*{self._sign}{_BLANK}*{number}{_BLANK}*")

    @cached_property
    def below_zero(self) -> tuple[str, ...]:
        """Those of amounts whose unit says that they are below zero, as Excel writes them: -$5 and ($5) or (5 €).

        Their first group holds the amount without its sign.
        """
        if not self.unit:
            return ()
        before, behind = f"{self._sign}{_BLANK}*({self._amount})", f"({self._amount}){_BLANK}*{self._sign}"
        return (
            f"{_BLANK}*-{_BLANK}*{before}{_BLANK}*",
            *(f"{_BLANK}*[(]{_BLANK}*{inside}{_BLANK}*[)]{_BLANK}*" for inside in (before, behind)),
        )

    @property
    def _amount(self) -> str:
        whole = "[0-9]{1,30}"
        if self.thousands:
            whole = f"(?:[1-9][0-9]{{0,2}}(?:{_GROUPS[self.thousands]}[0-9]{{3}}){{1,9}}|{whole})"
        return f"{whole}(?:{_MARKS[self.decimal]}[0-9]{{1,30}})?(?:[eE][+-]?[0-9]{{1,2}})?"

    @property
    def _sign(self) -> str:
        return "".join(sign if sign.isalnum() else f"\\{sign}" if sign in "^\\]" else f"[{sign}]" for sign in self.unit)

    @property
    def grouping(self) -> str | None:
        """The regular expression of what groups thousands, None where nothing does."""
        return _GROUPS[self.thousands] if self.thousands else None

    def read(self, text: str) -> float | None:
        """Return the number that a text says, None where it is written otherwise."""
        for factor, patterns in ((1, self.patterns), (-1, self.below_zero)):
            for pattern in patterns:
                matched = re.fullmatch(pattern, text)
                if matched:
                    number = re.sub(self.grouping, "", matched[1]) if self.grouping else matched[1]
                    return factor * float(number.replace(self.decimal, "."))
        return None

    def to_json(self) -> dict[str, str]:
        """Return what differs from the usual way."""
        usual = Figures()
        return {key: getattr(self, key) for key in KEYS if getattr(self, key) != getattr(usual, key)}
