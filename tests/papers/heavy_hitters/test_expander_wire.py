"""The page on the bytes of reports is enough: points of the expander sketch and of the bitstogram, written from it."""

from __future__ import annotations

import hashlib
import struct

import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.local.whitening import Whitening
from sfumato.papers.heavy_hitters.bitstogram import bitstogram_method
from sfumato.papers.heavy_hitters.expander import expander_method


def words(key, message):
    return struct.unpack(">8I", hashlib.sha256(key + message).digest())


def key(seed, label, number):
    return hashlib.sha256(b"sfumato local 1" + seed + f"{label}/{number}".encode()).digest()[:16]


def row(code, bits):
    width = -(-bits // 8)
    return (code << (8 * width - bits)).to_bytes(width, "big")


def bitstogram_point(seed, method, code, role):
    bits = method["item_bits"]
    number, place = divmod(role, bits)
    if number >= method["repetitions"]:
        return words(key(seed, "whole", role - bits * method["repetitions"]), row(code, bits))
    bucket = words(key(seed, "bucket", number), row(code, bits))[0] % (1 << method["bucket_bits"])
    bit = code >> (bits - 1 - place) & 1
    return words(key(seed, "bit", role), (2 * bucket + bit).to_bytes(4, "big"))


def times(one, other, bits):
    product, polynomial = 0, {8: 0x11D, 4: 0x13}[bits]
    while other:
        product ^= one if other & 1 else 0
        one = one << 1 ^ (polynomial if one >> (bits - 1) else 0)
        other >>= 1
    return product


def expander_point(seed, method, white, code, role):
    bits, count, size, label_bits = (method[name] for name in ("item_bits", "coordinates", "symbol_bits", "label_bits"))
    if role >= count:
        return words(key(seed, "whole", role - count), row(code, bits))
    hashes = [words(key(seed, "expander", 0) + bytes([j]), row(white, bits)) for j in range(3)]

    def label(m):
        word, inside = divmod(m, 32 // label_bits)
        return hashes[word // 7][word % 7] >> (inside * label_bits) & ((1 << label_bits) - 1)

    symbols = -(-bits // size)
    padded = white << (symbols * size - bits)
    point = 1
    for _ in range(role):
        point = times(point, 2, size)
    cell = 0
    for place in range(symbols):
        cell = times(cell, point, size) ^ (padded >> (size * (symbols - 1 - place)) & ((1 << size) - 1))
    for offset in method["offsets"]:
        cell = cell << label_bits | label((role + offset) % count)
    cell = cell << label_bits | label(role)
    cell = cell << method["bucket_bits"] | hashes[0][7] % (1 << method["bucket_bits"])
    blocks, columns = 1 << method["cells"]["block_bits"], 1 << method["cells"]["column_bits"]
    return cell if cell < blocks * (columns - 1) else cell - blocks


def plan_of(method, bits):
    items = domain.integers(0, 2**bits - 1)
    return local.plan(users=60_000, spend=Pure(4), items=items, method=method, seed=bytes(range(32)))


@pytest.mark.parametrize(("bits", "max_cells"), [(30, 1 << 17), (61, 1 << 20)])
def test_the_points_of_an_expander_sketch(bits, max_cells):
    plan = plan_of(expander_method(Pure(4), bits, 60_000, max_cells=max_cells), bits)
    record, white = plan.to_json(), Whitening(plan.seed, bits)
    for code in Noise(insecure_seed=1).uniform(1 << bits, 5).tolist():
        for role in range(len(plan.method.roles)):
            mine = expander_point(bytes(range(32)), record["method"], white.apply(code), code, role)
            assert mine == plan.encoder.point(code, role)


def test_the_points_of_a_bitstogram():
    plan = plan_of(bitstogram_method(Pure(4), 13, 60_000), 13)
    for code in (0, 1, 5000, 8191):
        for role in range(len(plan.method.roles)):
            assert bitstogram_point(bytes(range(32)), plan.to_json()["method"], code, role) == plan.encoder.point(
                code, role
            )
