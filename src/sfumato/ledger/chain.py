"""The hash chain: append-only rows, each sealed with all rows before it and with the sums after it (SM-SEAL)."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from sfumato.errors import LedgerError, ParameterError
from sfumato.noise import new_key

FIRST = "0" * 64
"""What the first row is chained to."""


def canonical(record: Any) -> str:
    r"""Return the one text of a JSON value; what is no JSON is refused before anything is charged.

    >>> canonical({"b": 1, "a": ["é"]})
    '{"a":["\\u00e9"],"b":1}'
    """
    try:
        return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"An event must be storable as JSON, and this one is not ({problem}); give its parameters as numbers, "
            "texts, lists and mappings."
        ) from None


def digest(content: bytes | str) -> str:
    """Return SHA-256 as text."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def new_mark() -> str:
    """Return a name that nobody else gives: it tells apart what is otherwise written with the same words."""
    return new_key().hex()[:32]


_SUMS_AFTER = re.compile(r'[{,]"sums_after":"([0-9a-f]{64})"}\Z')


def with_sums(body: str, sums: str) -> str:
    """Return the body of a row with the digest of the sums as they stand after it.

    It is always the last entry, so that it is found without reading the rest.

    >>> with_sums("{}", "0" * 64) == '{"sums_after":"' + "0" * 64 + '"}'
    True
    """
    assert body.endswith("}")
    comma = "" if body == "{}" else ","
    return f'{body[:-1]}{comma}"sums_after":"{sums}"}}'


def sums_after(body: str) -> str | None:
    """Return the digest that `with_sums` wrote, None in a row of a version that sealed no sums."""
    found = _SUMS_AFTER.search(body, max(0, len(body) - 96))
    return None if found is None else found[1]


def without_sums(body: str) -> str:
    """Return the body of a row as it was handed in.

    >>> without_sums(with_sums('{"step":1}', "0" * 64)), without_sums(with_sums("{}", "0" * 64))
    ('{"step":1}', '{}')
    """
    found = _SUMS_AFTER.search(body, max(0, len(body) - 96))
    return body if found is None else f"{body[: max(found.start(), 1)]}}}"


@dataclass(frozen=True)
class Row:
    """One thing that happened."""

    number: int
    kind: str
    reservation: str | None
    body: str

    def seal(self, previous: str) -> str:
        """Return the hash of this row and, through `previous`, of everything before it."""
        return digest(canonical([previous, self.number, self.kind, self.reservation, self.body]))


@dataclass(frozen=True)
class Head:
    """The end of a chain: how many rows, and the seal of the last one.

    >>> Head.from_text(Head(3, "ab").to_text())
    Head(length=3, seal='ab')
    """

    length: int
    seal: str

    def to_text(self) -> str:
        """Return what an operator keeps elsewhere."""
        return f"{self.length}:{self.seal}"

    @classmethod
    def from_text(cls, text: str) -> Head:
        """Read what `to_text` wrote."""
        length, colon, seal = str(text).partition(":")
        if not colon or not length.isdecimal():
            raise LedgerError("A head looks like '17:9f86d0…'; give the text that ledger.head showed.")
        return cls(int(length), seal)


UNREADABLE_HISTORY = "The history cannot be read; ledger.verify() says which row was changed."
CHANGED_SUMS = (
    "The sums of the ledger at {place} were changed outside it; run ledger.verify(). Nothing was charged and nothing "
    "is answered. Restore the newest copy."
)
CHANGED_RULES = (
    "The limits of the ledger at {place} are not those that it was made with: a row that fixes them was changed, "
    "removed or put in; run ledger.verify(). Nothing was charged and nothing is answered. Restore the newest copy."
)

ROLLED_BACK = (
    "The ledger at {place} was rolled back: it no longer holds row {row}, which it held before. Answers given since "
    "then are missing from its sums, so it refuses everything. Restore the newest copy; if there is none, only a new "
    "ledger with a new, additional promise can go on."
)
