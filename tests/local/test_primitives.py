"""Seeds, codes, whitening, coins: deterministic, exact, invertible."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Noise, domain
from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.local import Items, Seed, noise_weight, raw
from sfumato.local.kernels.hashing import LONGEST, digest_rows
from sfumato.local.seed import words
from sfumato.local.whitening import Whitening
from sfumato.privacy.coins import COIN, loss_of, odds

SEED = Seed(bytes(range(32)))


def test_fresh_seeds_differ_and_have_32_bytes():
    assert Seed.fresh() != Seed.fresh()
    assert Seed.fresh(Noise(insecure_seed=1)) == Seed.fresh(Noise(insecure_seed=1))


@pytest.mark.parametrize("wrong", [b"short", "text" * 8, None, bytes(33)])
def test_a_seed_of_another_size_is_refused(wrong):
    with pytest.raises(ParameterError, match="32 bytes"):
        Seed(wrong)


def test_keys_and_streams_are_sha256_as_documented():
    key = hashlib.sha256(b"sfumato local 1" + SEED.value + b"level/3").digest()[:16]
    assert SEED.key("level", 3) == key
    stream = hashlib.sha256(key + bytes(4)).digest() + hashlib.sha256(key + bytes([0, 0, 0, 1])).digest()
    assert SEED.stream("level", 3, 40) == stream[:40]


@given(st.binary(max_size=LONGEST), st.integers(0, 16))
@settings(max_examples=60, deadline=None)
def test_the_kernel_is_sha256(message, key_bytes):
    key = message[:key_bytes]
    rows = np.frombuffer(message[key_bytes:], dtype=np.uint8).reshape(1, -1)
    assert digest_rows(key, rows, 8)[0].tolist() == list(words(key, message[key_bytes:]))


@given(st.text(max_size=12))
@settings(max_examples=200, deadline=None)
def test_text_that_fits_comes_back(text):
    import unicodedata

    items = Items(domain.text(max_bytes=12))
    normal = unicodedata.normalize("NFC", text)
    code = items.code(text)
    if len(normal.encode("utf-8", "replace")) <= 12 and not any("\ud800" <= c <= "\udfff" for c in normal):
        assert code is not None and items.value(code) == normal and code < 1 << items.bits
    else:
        assert code is None


@given(st.binary(max_size=6))
@settings(max_examples=100, deadline=None)
def test_bytes_come_back(data):
    items = Items(raw(max_bytes=4))
    code = items.code(data)
    assert (code is None) == (len(data) > 4)
    assert code is None or (items.value(code) == data and code < 1 << items.bits)


class Hostile:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None

    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "wrong", [None, 7.5, float("nan"), "seven", b"7", True, [1], -6, 2**40 + 1, Hostile(), {}, 10**40]
)
def test_what_does_not_fit_has_no_code_and_never_raises(wrong):
    items = Items(domain.integers(-5, 2**40))
    assert items.code(wrong) is None
    _, fits = items.rows([wrong, 3])
    assert fits.tolist() == [False, True]


def test_rows_of_arrays_are_those_of_lists():
    for low, high in ((-5, 2**40), (0, 2**64 - 1), (-(2**63), 2**63 - 1), (10, 20)):
        items = Items(domain.integers(low, high))
        values = [low, high, low + 3, high - 1]
        array = np.array(values, dtype=np.uint64 if high >= 2**63 else np.int64)
        rows, fits = items.rows(array)
        listed, fitting = items.rows(values)
        assert fits.all() and fitting.all() and (rows == listed).all()
        outside = np.array([low - 1 if low > -(2**63) else low, high + 1 if high < 2**63 - 1 else high])
        if high < 2**62 and low > -(2**62):
            assert not items.rows(outside)[1].any()


def test_unbounded_or_oversized_items_are_refused():
    with pytest.raises(ParameterError, match="domain"):
        Items("text")
    with pytest.raises(ParameterError, match="bits"):
        Items(domain.text(max_bytes=1000))


@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 64, 193])
def test_whitening_is_a_bijection_and_the_rows_agree(bits):
    white = Whitening(SEED, bits)
    noise = Noise(insecure_seed=bits)
    codes = list(range(1 << bits)) if bits <= 9 else [noise.uniform(1 << bits) for _ in range(50)]
    images = [white.apply(code) for code in codes]
    assert len(set(images)) == len(set(codes)) and all(image < 1 << bits for image in images)
    assert [white.invert(image) for image in images] == codes
    width = -(-bits // 8)
    rows = np.frombuffer(b"".join((code << white.padding).to_bytes(width, "big") for code in codes), dtype=np.uint8)
    packed = white.apply_rows(rows.reshape(-1, width))
    assert [int.from_bytes(row.tobytes(), "big") >> white.padding for row in packed] == images


def test_whitening_spreads_small_numbers():
    white = Whitening(SEED, 64)
    heads = {white.apply(code) >> 48 for code in range(2000)}
    assert len(heads) > 1900


@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "1/3", "0.5", "1", "2", "4", "8", "16"])
@pytest.mark.parametrize("spread", [2, 3, 4, 64, 256])
def test_realised_epsilon_is_just_below_the_requested_one(epsilon, spread):
    wanted = Fraction(epsilon)
    weight = noise_weight(wanted, spread)
    assert loss_of(weight, spread) <= wanted
    with precision(400):
        assert bool(rational_ball(odds(weight, spread)) <= rational_ball(wanted).exp())
        # The next smaller weight would spend more than was asked for.
        assert bool(rational_ball(odds(weight - 1, spread)) > rational_ball(wanted).exp())
    assert 0 < weight < COIN


@pytest.mark.parametrize("epsilon", [0, "0.00001", 17, 1000])
def test_absurd_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        noise_weight(Fraction(epsilon), 2)
