"""A keyed order of rows that every engine agrees on.

Privacy needs no secret here: keeping the first rows of each person in *any* fixed order that looks at that person
only is stable. The key and the mixing serve evenness, so that no group is favoured. One function works on engine
columns, numpy arrays and Python integers alike, because it uses three operators and stays below 2^63.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

LIMB = 2**31 - 1
"""A Mersenne prime: limbs and hashes lie below it, and the product of two of them fits 63 bits."""

LAST_ROUNDS = 3

FAN = 4
"""How many numbers are hashed into one before their hashes are hashed in turn: engines nest expressions, and neither
Ibis nor the engines go a few hundred deep, so that a wide row is a tree and not a chain."""


def keyed_hash(limbs: Sequence[Any], key: str, settle: Callable[[list[Any]], list[Any]] = list) -> Any:
    """Return a number below 2^31 that depends on all limbs, each an integer from 0 to 2^31 - 1.

    Every round is h ← ((h xor x)·a) mod p. Exclusive or is what makes it even: additions instead of it leave a linear
    map, which favours some groups by several percent. The state is used once a round, because an engine expression
    that uses it twice doubles in size with every round. Four limbs become one, and so on up a tree, so that the rounds
    above a limb grow as the logarithm of their number. `settle` is handed the hashes of every level and returns them
    by other names, for engines that read nested text slowly.

    >>> keyed_hash([1, 2], "key") == keyed_hash([1, 2], "key") != keyed_hash([2, 1], "key")
    True
    """
    numbers = _multipliers(key)
    level = list(limbs)
    while len(level) > FAN:
        level = settle([_chained(level[start : start + FAN], numbers) for start in range(0, len(level), FAN)])
    state = _chained(level, numbers)
    for _ in range(LAST_ROUNDS):
        state = ((state ^ next(numbers)) * next(numbers)) % LIMB
    return state


def _chained(parts: Sequence[Any], numbers: Iterator[int]) -> Any:
    """Hash few numbers one after the other."""
    state: Any = next(numbers)
    for part in parts:
        # The column stands first, so that a column's own operators are used.
        state = ((part ^ state) * next(numbers)) % LIMB
    return state


def _multipliers(key: str) -> Iterator[int]:
    for place in count():
        seed = hashlib.sha256(f"sfumato order {place} {key}".encode()).digest()
        yield int.from_bytes(seed[:8], "big") % (LIMB - 1) + 1


def limbs(value: Any, first: int, last: int) -> list[Any]:
    """Split integers of a known range into limbs below 2^31.

    >>> limbs(2**40 + 5, 0, 2**41)
    [5, 512]
    """
    shifted = value if first == 0 else value - first
    bits = (last - first).bit_length()
    if bits <= 31:
        return [shifted]
    return [(shifted >> (31 * place)) & LIMB for place in range((bits + 30) // 31)]


def key_text(cells: Sequence[Any]) -> Any:
    """Return the cells of a row key as one text inside an engine; different keys have different texts.

    Each part says how long it is, so that no two lists of parts read alike; a missing part is a part of its own.
    """
    import ibis

    joined: Any = ibis.literal("")
    for cell in cells:
        written = cell if cell.type().is_string() else cell.cast("string")
        part = written.length().cast("string") + ibis.literal(":") + written
        joined = joined + ibis.ifelse(written.isnull(), ibis.literal("-"), part)
    return joined


def person_limbs(person: Any) -> list[Any]:
    """Split 64-bit integers into limbs, signed ones as their two's complement.

    >>> person_limbs(-1)
    [2147483647, 2147483647, 3]
    """
    return [person & LIMB, (person >> 31) & LIMB, (person >> 62) & 3]


def text_number(text: str) -> int:
    """Return the first 60 bits of a text's MD5, which the engines compute too; for an order, not for secrecy."""
    return int(hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()[:15], 16)


def engine_text_number(text: Any, engine: str) -> Any:
    """Return the same 60 bits inside an engine."""
    import ibis

    digits = text.hexdigest("md5").substr(0, 15)
    if engine == "duckdb":
        return (ibis.literal("0x") + digits).try_cast("int64").fill_null(0)

    @ibis.udf.scalar.builtin(name="conv")  # type: ignore[untyped-decorator]
    def conv(digits: str, before: int, after: int) -> str: ...  # type: ignore[empty-body]

    return conv(digits, 16, 10).try_cast("int64").fill_null(0)
