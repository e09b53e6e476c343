"""Texts in the order of their bytes, as whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

BASE = 257


@dataclass(frozen=True)
class TextOrder:
    """A number for every string of at most `max_bytes` bytes, growing with their order.

    The number has one digit for every byte: 0 where the text has ended, else the byte plus 1. Most numbers are no
    UTF-8; they are read as the longest text that they start with, which comes before them.

    >>> order = TextOrder(4)
    >>> order.place("aa") < order.place("ab") < order.place("b"), order.text(order.place("naï"))
    (True, 'naï')
    """

    max_bytes: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(BASE**self.max_bytes)

    def place(self, text: str) -> int:
        """Return the number of a text that fits."""
        found = 0
        for byte in text.encode("utf-8"):
            found = found * BASE + byte + 1
        return int(found * BASE ** (self.max_bytes - len(text.encode("utf-8"))))

    def text(self, place: int) -> str:
        """Return the text of a number, or the longest text that it starts with."""
        digits = []
        for _ in range(self.max_bytes):
            place, digit = divmod(place, BASE)
            digits.append(digit)
        digits.reverse()
        ended = digits.index(0) if 0 in digits else len(digits)
        data = bytes(digit - 1 for digit in digits[:ended])
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as broken:
            return data[: broken.start].decode("utf-8")
