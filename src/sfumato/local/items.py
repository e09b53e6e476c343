"""Items as numbers of a fixed size, and back: the codes of `sfumato.domain`, exact or not at all (ENC-DOM)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.domain import Booleans, Categories, Domain, Integers, Text, domain_from_json
from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import positive_integer

MOST_BITS = 1024
"""The longest item; what is longer has no chance to be found among any number of people."""

LONG_ITEM_BITS = 12 * 8 + 1
"""Up to this length of an item what is said of finding it was seen to hold; beyond it is said to be doubtful."""


@dataclass(frozen=True)
class Bytes(Domain):
    """Any bytes, at most `max_bytes` of them.

    >>> Bytes(4).decode(Bytes(4).code(b"ab"))
    b'ab'
    """

    kind: ClassVar[str] = "bytes"
    max_bytes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_bytes", positive_integer(self.max_bytes, "max_bytes"))

    @property
    def first(self) -> int:
        """The code of no bytes at all."""
        return 1

    @property
    def highest(self) -> None:
        """There is no practical bound."""
        return None

    @property
    def may_be_missing(self) -> bool:
        """A device has an item or sends none."""
        return False

    def encode(self, value: Any) -> int:
        """Cut to `max_bytes`; what is no bytes becomes none."""
        data = bytes(value)[: self.max_bytes] if isinstance(value, (bytes, bytearray)) else b""
        return int.from_bytes(b"\x01" + data, "big")

    def decode(self, code: int) -> bytes:
        """Return the bytes of a code."""
        data = int(code).to_bytes((int(code).bit_length() + 7) // 8, "big")
        if data[:1] != b"\x01" or len(data) > self.max_bytes + 1:
            raise ParameterError("This number is no code of bytes that fit.")
        return data[1:]

    def code(self, value: Any) -> int:
        """Accept bytes that fit uncut."""
        if not isinstance(value, (bytes, bytearray)):
            raise ParameterError(f"An item of type {type(value).__name__} is no bytes; write it as b'...'.")
        if len(value) > self.max_bytes:
            raise ParameterError(f"The item is longer than the {self.max_bytes} bytes of the plan.")
        return self.encode(value)

    def to_json(self) -> dict[str, Any]:
        """Return the length."""
        return self._record(max_bytes=self.max_bytes)


def raw(*, max_bytes: int) -> Bytes:
    """Any bytes, at most `max_bytes` of them.

    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=100_000, spend=Pure(4), items=local.raw(max_bytes=4))
    >>> plan.check(b"ab")
    b'ab'
    """
    return Bytes(max_bytes)


def composed(text: str) -> str:
    r"""Return text in the normal form NFC, in which the same letters are the same bytes on every device.

    >>> len("e\u0301"), len(composed("e\u0301"))
    (2, 1)
    """
    return unicodedata.normalize("NFC", text)


LARGEST_DOUBLE = 2**53 - 1
"""Up to here a double is one whole number and no other; JavaScript calls these the safe ones."""


def as_whole(value: Any) -> Any:
    """Return the whole number that a float is, as it is for a device whose language knows only floats; else the value.

    A column of whole numbers becomes one of floats as soon as it has a gap.

    >>> as_whole(30.0), as_whole(30.5), as_whole(2.0**53), as_whole("30")
    (30, 30.5, 9007199254740992.0, '30')
    """
    if not isinstance(value, (float, np.floating)):
        return value
    number = float(value)
    return int(number) if abs(number) <= LARGEST_DOUBLE and number.is_integer() else value


@dataclass(frozen=True)
class Items:
    """The items of a plan as integers of `bits` bits; what does not fit exactly has no code.

    >>> from sfumato import domain
    >>> words = Items(domain.text(max_bytes=3))
    >>> words.bits, words.code("abc"), words.value(words.code("abc")), words.code("abcd"), words.code(None)
    (25, 23159395, 'abc', None, None)
    """

    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ParameterError(
                f"items must be a domain, not {type(self.domain).__name__}; write for example text(max_bytes=24) or "
                "integers(0, 2**32 - 1)."
            )
        object.__setattr__(self, "domain", _always_there(self.domain))
        if self.bits > MOST_BITS:
            raise ParameterError(f"Items have at most {MOST_BITS} bits, and these have {self.bits}; allow fewer bytes.")

    @cached_property
    def bits(self) -> int:
        """The length of a code."""
        if isinstance(self.domain, (Text, Bytes)):
            return 8 * self.domain.max_bytes + 1
        size = self.domain.size
        if size is None:
            raise ParameterError("Items need a domain of known size; write for example text(max_bytes=24).")
        return max(1, (size - 1).bit_length())

    @property
    def row_bytes(self) -> int:
        """How many bytes hold a code."""
        return -(-self.bits // 8)

    @cached_property
    def _base(self) -> int:
        return 0 if self.domain.last is None else self.domain.first

    def code(self, value: Any) -> int | None:
        """Return the code of an item, or None if it does not fit; never raises, whatever the item."""
        try:
            if isinstance(self.domain, (Integers, Categories)):
                value = as_whole(value)
            if isinstance(self.domain, Categories):
                # Asking for the code of an unlisted one would search the list for what is spelled like it.
                return self.domain.place(composed(str(value)) if isinstance(value, str) else value)
            return self.strict(value)
        except Exception:
            # An item may be any object, with any behaviour; whether it fits must not show.
            return None

    def strict(self, value: Any) -> int:
        """Return the code of an item, refusing with a sentence what does not fit; for developers only."""
        if isinstance(value, str):
            value = composed(str(value))
        elif isinstance(self.domain, (Integers, Categories)):
            value = as_whole(value)
        if isinstance(self.domain, Booleans) and not isinstance(value, bool):
            # Devices of all languages agree on these two; words and 1 for them are for tables.
            raise ParameterError(f"{value!r} is no truth value; write True or False.")
        return self.domain.code(value) - self._base

    def value(self, code: int) -> Any:
        """Return the item of a code, or None if the code stands for none."""
        try:
            value = self.domain.decode(code + self._base)
            return value if self.domain.code(value) == code + self._base else None
        except (SfumatoError, ValueError):
            return None

    def rows(self, values: Any) -> tuple[Any, Any]:
        """Return the codes of many items as a table of bytes, filled from the left, and which items fit."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and isinstance(self.domain, Integers):
            return self._integer_rows(values.ravel(), self.domain)
        if not isinstance(values, Iterable):
            raise ParameterError(f"Items come in a list, one for each device, not as {type(values).__name__}.")
        listed: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
        known: dict[Any, int] = {}
        codes: list[int] = [0]
        places = np.fromiter((self._place(value, known, codes) for value in listed), dtype=np.int64, count=len(listed))
        width, shift = self.row_bytes, 8 * self.row_bytes - self.bits
        packed = b"".join((code << shift).to_bytes(width, "big") for code in codes)
        distinct = np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)
        return distinct[places], places > 0

    def _place(self, value: Any, known: dict[Any, int], codes: list[int]) -> int:
        """Return where the code of a value is kept; 0 is the place of what does not fit."""
        try:
            # True and 1 are equal, but not equally an item; so the type is part of the name.
            name = (type(value), value)
            place = known.get(name)
        except Exception:
            # Whatever cannot be looked up is no item of any domain here, but is judged like any other.
            return self._add(self.code(value), codes)
        if place is None:
            place = known[name] = self._add(self.code(value), codes)
        return place

    @staticmethod
    def _add(code: int | None, codes: list[int]) -> int:
        if code is None:
            return 0
        codes.append(code)
        return len(codes) - 1

    def _integer_rows(self, values: Any, domain: Integers) -> tuple[Any, Any]:
        if self.bits > 64 or domain.low < -(2**63) or domain.high >= 2**64:
            return self.rows(list(map(int, values)))
        fits = (values >= domain.low) & (values <= domain.high)
        # Differences are taken modulo 2^64, where they are right whatever the signs.
        base = np.uint64(domain.low % 2**64)
        shift = np.uint64(8 * self.row_bytes - self.bits)
        codes = np.where(fits, values.astype(np.uint64) - base, np.uint64(0)) << shift
        rows = codes.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - self.row_bytes :]
        return np.ascontiguousarray(rows), fits

    def to_json(self) -> dict[str, Any]:
        """Return the domain as JSON."""
        return self.domain.to_json()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Items:
        """Read what `to_json` wrote."""
        if record.get("type") == "bytes":
            return cls(Bytes(record["max_bytes"]))
        return cls(domain_from_json(record))


def _always_there(domain: Domain) -> Domain:
    """Return the domain without a level for missing cells: a device that has no item sends no report."""
    if not domain.may_be_missing:
        return domain
    if isinstance(domain, Text):
        return replace(domain, missing="")
    return replace(domain, missing=domain.decode(domain.first))
