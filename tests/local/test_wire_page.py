"""A second client, written from docs/local-wire.md alone with plain integers, against the published vectors."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from itertools import accumulate

import pytest

from sfumato.local.vectors import SHIPPED

VECTORS = json.loads(SHIPPED.read_text())


def key(seed, label, number):
    return hashlib.sha256(b"sfumato local 1" + seed + f"{label}/{number}".encode()).digest()[:16]


def words(key, message):
    digest = hashlib.sha256(key + message).digest()
    return [int.from_bytes(digest[4 * i : 4 * i + 4], "big") for i in range(8)]


def code_of(items, item):
    """Return (bits, code or None)."""
    if items["type"] == "text":
        bits = 8 * items["max_bytes"] + 1
        if not isinstance(item, str):
            return bits, None
        data = unicodedata.normalize("NFC", item).encode()
        return bits, int.from_bytes(b"\x01" + data, "big") if len(data) <= items["max_bytes"] else None
    if items["type"] == "integer":
        bits = (items["high"] - items["low"]).bit_length()
        fits = isinstance(item, int) and items["low"] <= item <= items["high"]
        return bits, item - items["low"] if fits else None
    values = items["values"]
    return (len(values) - 1).bit_length(), values.index(item) if item in values else None


def independent(rows):
    rank = []
    for row in rows:
        left = row
        for pivot in rank:
            left = min(left, left ^ pivot)
        if not left:
            return False
        rank.append(left)
    return True


def whiten(seed, bits, code):
    width = -(-bits // 8)
    for number in range(1000):
        secret = key(seed, "whiten", number)
        stream = b"".join(
            hashlib.sha256(secret + i.to_bytes(4, "big")).digest() for i in range((bits + 1) * width // 32 + 1)
        )
        rows = [
            int.from_bytes(stream[i * width : (i + 1) * width], "big") >> (8 * width - bits) for i in range(bits + 1)
        ]
        if independent(rows[:-1]):
            break
    white = rows[-1]
    for place in range(bits):
        if code >> (bits - 1 - place) & 1:
            white ^= rows[place]
    return white


def point_of(seed, method, bits, code, role):
    levels = method["levels"]
    level = min(role, len(levels) - 1)
    length = levels[level]
    child_bits = min(4, length) if level == 0 else levels[level] - levels[level - 1]
    prefix = whiten(seed, bits, code) >> (bits - length)
    parent, child = prefix >> child_bits, prefix & ((1 << child_bits) - 1)
    parent_bits = length - child_bits
    message = (parent << (-parent_bits % 8)).to_bytes(-(-parent_bits // 8), "big")
    first, second = words(key(seed, "level", role), message), words(key(seed, "child", role), bytes([child]))
    return [a ^ b for a, b in zip(first, second, strict=True)]


def report(vector, item, drawn, coin):
    plan = vector["plan"]
    seed, method, oracle = bytes.fromhex(plan["seed"]), plan["method"], plan["method"]["oracle"]
    shares = method.get("shares", [1])
    size = 1 << oracle["table_bits"] if oracle["kind"] == "linear" else oracle["answers"]
    turn, value = divmod(drawn, size)
    role = next(place for place, total in enumerate(accumulate(shares)) if total > turn)
    bits, code = code_of(plan["items"], item)
    if coin >= int(oracle["weight"]) and code is not None:
        if oracle["kind"] == "linear":
            columns = oracle["table_bits"] - oracle["symbol_bits"]
            a = value & ((1 << columns) - 1)
            point = point_of(seed, method, bits, code, role)
            b = [bin(word & a).count("1") % 2 ^ word >> 31 for word in point[: oracle["symbol_bits"]]]
            value = a + (sum(bit << place for place, bit in enumerate(b)) << columns)
        else:
            value = code
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    width = max(1, -(-(size * len(shares) - 1).bit_length() // 8))
    return bytes([1]) + hashlib.sha256(text.encode()).digest()[:4] + (role * size + value).to_bytes(width, "big")


# The other plans are read by the JavaScript client, and their points by test_expander_wire.
@pytest.mark.parametrize("vector", VECTORS["plans"][:4], ids=["text", "words", "small", "list"])
def test_the_page_describes_the_client(vector):
    seed = bytes.fromhex(vector["plan"]["seed"])
    for one in vector["codes"]:
        bits, code = code_of(vector["plan"]["items"], one["item"])
        assert (None if code is None else str(code)) == one["code"]
        if "whitened" in one:
            assert str(whiten(seed, bits, code)) == one["whitened"]
            assert (
                point_of(seed, vector["plan"]["method"], bits, code, 1)[: len(one["words of role 1"])]
                == one["words of role 1"]
            )
    for one in vector["reports"]:
        made = report(vector, one["item"], int(one["drawn"]), int(one["coin"]))
        assert made.hex() == one["report"] and len(made) == vector["report_bytes"]


def test_the_vectors_cover_noise_speech_and_silence():
    for vector in VECTORS["plans"]:
        coins = [int(one["coin"]) for one in vector["reports"]]
        assert 0 in coins and 2**63 - 1 in coins
        assert any(one["code"] is None for one in vector["codes"])
