"""Decisions that are the same when asked twice: the coin is a keyed hash of the person's features."""

from __future__ import annotations

import hashlib
import hmac
import math
from typing import Any

import numpy as np

from sfumato.fair.grid import Floats, Integers
from sfumato.fair.people import column, column_names, is_numeric, people_count
from sfumato.noise import Noise

KEY_BYTES = 32
_SCALE = 400
_BITS = 256


def new_key(noise: Noise | None = None) -> bytes:
    """Return a fresh secret key for coins."""
    source = Noise() if noise is None else noise
    return int(source.uniform(1 << (8 * KEY_BYTES))).to_bytes(KEY_BYTES, "big")


def decide(probabilities: Floats, people: Any, key: bytes) -> Integers:
    """Draw each person's outcome with a coin that depends on the key and on that person's features only.

    The law of a decision over the key is exactly the row of probabilities: the coin has 256 bits and is compared with
    whole numbers.
    """
    fingerprints = row_bytes(people)
    return np.array(
        [_draw(row, mark, key) for row, mark in zip(probabilities, fingerprints, strict=True)], dtype=np.int64
    )


def _draw(row: Floats, mark: bytes, key: bytes) -> int:
    parts = [int(math.ldexp(value, _SCALE)) for value in row.tolist()]
    coin = int.from_bytes(hmac.new(key, mark, hashlib.sha256).digest(), "big")
    place = (coin * sum(parts)) >> _BITS
    for outcome, part in enumerate(parts):
        place -= part
        if place < 0:
            return outcome
    return len(parts) - 1


def row_bytes(people: Any) -> list[bytes]:
    """Return a fingerprint of each person: the same for the same features, whatever table they come in.

    >>> row_bytes([[1, 2]]) == row_bytes(np.array([[1.0, 2.0]]))
    True
    """
    marks = [b""] * people_count(people)
    for name in column_names(people):
        values = column(people, name)
        if is_numeric(values):
            # Adding zero turns -0.0 into 0.0, which is the same feature.
            texts = [number.tobytes() for number in (values.astype(np.float64) + 0.0)]
        else:
            texts = [str(value).encode() for value in values.tolist()]
        marks = [mark + len(text).to_bytes(4, "big") + text for mark, text in zip(marks, texts, strict=True)]
    return marks
