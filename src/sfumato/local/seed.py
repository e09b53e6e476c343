"""Public randomness: everything that clients and servers share is SHA-256 of one public seed (PUBSEED).

Privacy never depends on it. It decides which items share a cell, so the estimates need a seed that was drawn
independently of the data.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.noise import Noise

SEED_BYTES = 32
KEY_BYTES = 16
_DOMAIN = b"sfumato local 1"
_EIGHT_WORDS = struct.Struct(">8I").unpack


@dataclass(frozen=True)
class Seed:
    """The 32 public bytes of one collection.

    >>> Seed(bytes(32)).key("level", 0).hex()
    'bb642398160f2e6f6b9aa7478c7b0802'
    """

    value: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.value, bytes) or len(self.value) != SEED_BYTES:
            raise ParameterError("A seed is 32 bytes; leave seed= out to have a fresh one drawn.")

    @classmethod
    def fresh(cls, noise: Noise | None = None) -> Seed:
        """Draw a seed."""
        return cls((noise or Noise()).uniform(1 << 8 * SEED_BYTES).to_bytes(SEED_BYTES, "big"))

    def key(self, label: str, number: int = 0) -> bytes:
        """Return 16 bytes for one purpose: SHA-256("sfumato local 1" + seed + label + "/" + number), cut."""
        return hashlib.sha256(_DOMAIN + self.value + f"{label}/{number}".encode()).digest()[:KEY_BYTES]

    def stream(self, label: str, number: int, count: int) -> bytes:
        """Return `count` bytes: SHA-256(key + counter) for the counters 0, 1, … of four bytes each."""
        key = self.key(label, number)
        blocks = (hashlib.sha256(key + block.to_bytes(4, "big")).digest() for block in range(-(-count // 32)))
        return b"".join(blocks)[:count]


def words(key: bytes, message: bytes) -> tuple[int, ...]:
    """Return SHA-256(key + message) as eight words of 32 bits.

    >>> [f"{word:08x}" for word in words(b"", b"abc")[:2]]
    ['ba7816bf', '8f01cfea']
    """
    return _EIGHT_WORDS(hashlib.sha256(key + message).digest())
