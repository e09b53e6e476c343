"""Categories, truth values, and text without a list."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

from sfumato.domain.base import SKIP, Domain
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import positive_integer
from sfumato.words import SHOWN, nearest

TRUE_TEXT = r" *(?:[Tt][Rr][Uu][Ee]|[Tt]|[Yy][Ee][Ss]|[Yy]|1) *"
FALSE_TEXT = r" *(?:[Ff][Aa][Ll][Ss][Ee]|[Ff]|[Nn][Oo]|[Nn]|0) *"
"""The words for true and false in a text cell, spelled letter by letter: engines fold case differently."""

OTHER = "other"
"""The level of cells that are none of the categories, and the word that joins the missing ones to it."""

Label = str | int
"""A category: text or a whole number, all of one kind in a column."""


@dataclass(frozen=True)
class Categories(Domain):
    """A list of categories in a fixed order; the code is the place in the list.

    Two levels follow the list: a cell that is none of the categories becomes 'other', an empty one stays missing.
    `other` names a listed category for the first level instead, `missing` one for the second; `missing="other"` makes
    them one. Whole numbers match text cells that spell them.

    >>> country = Categories(("Mexico", "Peru"))
    >>> country.encode("Peru"), country.decode(country.encode("Chile")), country.decode(country.encode(None))
    (1, 'other', None)
    >>> country.size, Categories(("Mexico", "Peru"), missing="other").size
    (4, 3)

    A list with `missing` and without `other` has no further level: an unlisted cell becomes the first category. With
    both, `other` may be a category that is not listed. That is how schemas were written before cells could be missing.

    >>> Categories(("Mexico", "Peru"), other="elsewhere", missing="elsewhere").labels
    ('Mexico', 'Peru', 'elsewhere')
    """

    kind: ClassVar[str] = "category"
    values: tuple[Label, ...]
    other: Label | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        _check_labels(self.values if self.other in (None, OTHER) else (*self.values, self.other))
        if len(set(self.values)) != len(self.values):
            raise ParameterError("The same category is listed twice; list each one once.")
        asked = self._asked_missing()
        if self.other is not None and self.other not in self.values and asked is None:
            raise ParameterError(
                f"other={self.other!r} is none of the categories; list it among them, or leave other= out: unlisted "
                f"cells then have a level {OTHER!r} of their own."
            )
        object.__setattr__(self, "missing", asked)
        if asked is not None:
            object.__setattr__(self, "missing", self.decode(self.code(asked)))

    def _asked_missing(self) -> Label | None:
        """Return the category that stands for missing cells; a listed one called 'skip' is meant before the word."""
        if self.missing is None or self.missing is False:
            return None
        if isinstance(self.missing, str) and self.missing not in (*self.values, self.other):
            if self.missing == SKIP:
                return None
            if self.missing == OTHER and self.other is not None:
                return self.other
        return self.missing

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """All categories in the order of their codes; that of unlisted cells last, if it is not in the list."""
        if self.other is not None:
            return self.values if self.other in self.values else (*self.values, self.other)
        apart = self.missing is None or self.missing == OTHER
        return (*self.values, OTHER) if apart and OTHER not in self.values else self.values

    @property
    def first(self) -> int:
        """Codes start at 0."""
        return 0

    @property
    def highest(self) -> int:
        """The place of the last category."""
        return len(self.labels) - 1

    @property
    def other_code(self) -> int:
        """The code of a cell that is none of the categories."""
        if self.other is not None:
            return self._codes[self.other]
        return self._codes[OTHER] if self.missing is None or self.missing == OTHER else 0

    @property
    def is_text(self) -> bool:
        """Whether the categories are text rather than whole numbers."""
        return isinstance(self.values[0], str)

    @cached_property
    def _codes(self) -> dict[Label, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _written(self) -> dict[str, int]:
        """The codes of the categories as text spells them; the level of unlisted cells has no spelling of its own."""
        return {str(label): self._codes[label] for label in self.listed}

    @property
    def listed(self) -> tuple[Label, ...]:
        """The categories that a cell can name: all of them, but for a level that stands behind the list."""
        return self.labels if self.other is not None else self.values

    def encode(self, value: Any) -> int:
        """Return the place of the category; an unlisted cell becomes `other`, an empty one `missing`."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self.missing_code
        if isinstance(value, str):
            return self._written.get(value, self.other_code)
        whole = not self.is_text and isinstance(value, (Integral, float)) and value == value // 1
        return self._codes.get(int(value), self.other_code) if whole else self.other_code

    def decode(self, code: int) -> Label | None:
        """Return the category at a place."""
        return None if self.is_missing(code) else self.labels[self._check_code(code)]

    def place(self, value: Any) -> int | None:
        """Return the place of a listed category, and None of anything else, at the same price."""
        fits = not isinstance(value, bool) and isinstance(value, (str, Integral))
        return self._codes.get(value) if fits else None

    def code(self, value: Any) -> int:
        """Accept a listed category, and suggest the nearest one otherwise."""
        if (found := self.place(value)) is not None:
            return found
        hint = nearest(str(value), (str(label) for label in self.labels))
        if hint.startswith("did"):  # what is near in letters may be far in meaning
            listed = ", ".join(repr(str(label)) for label in self.labels[:SHOWN])
            hint += f" There is {listed}{', …' if len(self.labels) > SHOWN else ''}."
        kind = "text" if self.is_text else "a whole number"
        wrong = isinstance(value, str) is not self.is_text
        raise ParameterError(f"{value!r} is none of the categories; " + (f"they are {kind}." if wrong else hint))

    def filled(self, value: Any) -> Categories:
        """Return the categories with one of them for missing cells; unlisted ones keep the level that they have."""
        return replace(self, other=self.labels[self.other_code], missing=value)

    def to_json(self) -> dict[str, Any]:
        """Return the list, `other` if there is one, and the missing category."""
        other = {} if self.other is None else {"other": self.other}
        # Where a category is itself called "skip", the word in a file means that one, and false means none of them.
        skip: Any = False if SKIP in self.labels else SKIP
        return self._record(values=list(self.values), **other, missing=skip if self.missing is None else self.missing)

    @property
    def ordered(self) -> bool:
        """Whether the categories are whole numbers in their order, such as marks from 1 to 5."""
        return all(isinstance(label, int) for label in self.labels) and list(self.labels) == sorted(
            map(int, self.labels)
        )

    def require_order(self, column: str, of: str) -> None:
        """Refuse what needs an order: that of the list means nothing, and 'other' stands behind all of them."""
        if not self.ordered:
            numbers = self.scoring(column) if self.is_text else ", or declare it as whole numbers, integers(low, high)"
            raise SchemaError(
                f"{column!r} lists categories, which have no order, so it has no {of}; ask for a histogram, "
                f"Histogram({column!r}){numbers}."
            )

    def scoring(self, column: str) -> str:
        """Return how answers that have an order are made numbers of, as the end of a sentence; none for numbers."""
        if not self.is_text or len(self.values) < 2:
            return ""
        name = column if column.isidentifier() else '"{}"'.format(column.replace('"', '""'))
        texts = [str(value).replace("'", "''") for value in self.values[:2]]
        branches = " ".join(f"WHEN {name} = '{text}' THEN {place}" for place, text in enumerate(texts, 1))
        rest = " …" if len(self.values) > 2 else ""
        return f", or score them in SQL, by AVG(CASE {branches}{rest} END) or MEDIAN of it"


def _check_labels(labels: tuple[Any, ...]) -> None:
    if not labels:
        raise ParameterError("A category column needs its categories; write categories('red', 'green').")
    for label in labels:
        if isinstance(label, (list, tuple, set)):
            listed = ", ".join(map(repr, label))
            raise ParameterError(f"Categories are written one by one, not as a list; write categories({listed}).")
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            raise ParameterError(f"{label!r} is no category; write text or whole numbers, or use booleans().")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ParameterError("Categories are all text or all whole numbers; write them in one way.")
    if any(not isinstance(label, str) and abs(label) >= 2**62 for label in labels):
        raise ParameterError("A whole number beyond 2^62 is no category; write it as text.")


@dataclass(frozen=True)
class Booleans(Domain):
    """False and true, with codes 0 and 1; a missing cell has code 2 unless `missing` says what it counts as.

    >>> Booleans().encode("Yes"), Booleans().encode(None), Booleans(missing=False).encode(None), Booleans().decode(1)
    (1, 2, 0, True)
    """

    kind: ClassVar[str] = "boolean"

    def __post_init__(self) -> None:
        self._settle_missing()

    @property
    def first(self) -> int:
        """The code of false."""
        return 0

    @property
    def highest(self) -> int:
        """The code of true."""
        return 1

    def encode(self, value: Any) -> int:
        """Read truth values, 0 and 1, and the usual words; anything else becomes `missing`."""
        if isinstance(value, str):
            if re.fullmatch(TRUE_TEXT, value):
                return 1
            return 0 if re.fullmatch(FALSE_TEXT, value) else self.missing_code
        if isinstance(value, (bool, Integral)) and value in (0, 1):
            return int(value)
        # numpy's booleans are no integers, but they know how to become one.
        return int(value) if type(value).__name__ in ("bool", "bool_") else self.missing_code

    def decode(self, code: int) -> bool | None:
        """Return False or True."""
        return None if self.is_missing(code) else bool(self._check_code(code))

    def code(self, value: Any) -> int:
        """Accept what a cell may say: true and false, yes and no, 1 and 0; anything else is refused."""
        code = self.encode(value) if self.missing is None else Booleans().encode(value)
        if code not in (0, 1):
            raise ParameterError(f"{value!r} is no truth value; write true or false.")
        return code

    def to_json(self) -> dict[str, Any]:
        """Return the missing value."""
        return self._record(missing=SKIP if self.missing is None else self.missing)


@dataclass(frozen=True)
class Text(Domain):
    """Any UTF-8 text of at most `max_bytes` bytes; longer text is cut before the character that does not fit.

    The code is the text's bytes read as one large integer, so there are far too many to list. A missing cell differs
    from an empty one; its code is 0.

    >>> note = Text(4)
    >>> note.decode(note.encode("naïve")), note.size
    ('naï', None)
    """

    kind: ClassVar[str] = "text"
    max_bytes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_bytes", positive_integer(self.max_bytes, "max_bytes"))
        self._settle_missing()

    @property
    def first(self) -> int:
        """The code of a missing cell, or of the empty text."""
        return 0 if self.may_be_missing else 1

    @property
    def highest(self) -> None:
        """There is no practical bound."""
        return None

    @property
    def missing_code(self) -> int:
        """The code that null becomes; no text has the code 0."""
        return 0 if self.may_be_missing else self.code(self.missing)

    def cut(self, text: str) -> str:
        """Return the text without what does not fit; half a surrogate pair, which is no text, is dropped."""
        return text.encode("utf-8", "ignore")[: self.max_bytes].decode("utf-8", "ignore")

    def encode(self, value: Any) -> int:
        """Cut to `max_bytes` and read the bytes as a number; what is no text becomes `missing`."""
        text = self.cut(value) if isinstance(value, str) else self.missing
        return 0 if text is None else int.from_bytes(b"\x01" + text.encode("utf-8"), "big")

    def decode(self, code: int) -> str | None:
        """Return the text of a code."""
        if self.is_missing(code):
            return None
        data = int(code).to_bytes((int(code).bit_length() + 7) // 8, "big")
        if data[:1] != b"\x01" or len(data) > self.max_bytes + 1:
            raise ParameterError("This number is no code of a text that fits the column.")
        return data[1:].decode("utf-8")

    def code(self, value: Any) -> int:
        """Accept text that fits uncut."""
        if not isinstance(value, str):
            instead = "write the text itself" if value is None else "write it in quotes"
            raise ParameterError(f"{value!r} is no text; {instead}.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ParameterError(
                "The text is no UTF-8: it holds half of a surrogate pair; write whole characters."
            ) from None
        if self.cut(value) != value:
            raise ParameterError(
                f"The text is longer than the {self.max_bytes} bytes that fit; cut it to these, or declare more: "
                "text(max_bytes=…)."
            )
        return self.encode(value)

    def to_json(self) -> dict[str, Any]:
        """Return the length and the missing text."""
        return self._record(max_bytes=self.max_bytes, missing=SKIP if self.missing is None else self.missing)
