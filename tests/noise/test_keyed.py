"""Noise with a key: the same draws in every process, whatever was drawn there before; never the same coins twice."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sfumato.errors import ParameterError
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, SinhNormal, new_key
from sfumato.noise import source as source_module
from sfumato.noise.samplers import FEW
from sfumato.noise.source import KeyedSource, words

KEY = bytes(range(32))

DRAWS = """
import hashlib, json, sys
from fractions import Fraction
from sfumato.noise import *
def draws(noise):
    found = []
    for law in (DiscreteLaplace("777/7"), DiscreteGaussian(50), SinhNormal(30, 5), Maximum(Geometric(2), 9)):
        found += [noise.draw(law) for _ in range(3)] + noise.draw(law, 5).tolist() + noise.draw(law, 40).tolist()
        found += [noise.draw(law) for _ in range(3)]
    found += [noise.uniform(10**30), noise.bernoulli("1/3"), noise.bernoulli_exp("1/3"), noise.choose([3, 9, 4], 1)]
    found += [noise.permutation(9), noise.subset(10**6, 4), noise.largest(DiscreteLaplace(2), 2**70, 3)]
    found += noise.uniform(7, size=200).tolist()
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()
"""


def _draws(noise: Noise) -> str:
    scope: dict = {}
    exec(DRAWS, scope)
    return scope["draws"](noise)


def test_a_cold_process_and_a_warm_one_draw_the_same():
    for _ in range(2):
        _draws(Noise())  # warm: tables of all these laws are at hand, and tallies are full
        for law in (DiscreteLaplace("777/7"), DiscreteGaussian(50), SinhNormal(30, 5)):
            Noise().draw(law, 2 * FEW)
    warm = _draws(Noise(key=KEY, names=("ask", 0)))
    program = DRAWS + f"print(draws(Noise(key={KEY!r}, names=('ask', 0))))"
    env = {**os.environ, "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "3"}
    cold = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert cold.stdout.strip() == warm
    assert warm == _draws(Noise(key=KEY, names=("ask", 0)))


def test_subkeys_are_those_of_the_page():
    source = KeyedSource(KEY, ("ask", 1, 0))
    prefix = b"sfumato noise 1\n" + KEY + b'["ask", 1, 0]'
    for call in range(2):
        stream = source.stream()
        used = [words(stream, 4).tolist()]
        key = hashlib.sha256(prefix + f"/{call}/0".encode()).digest()
        assert used == [words(source_module.KeyStream(lambda key=key: key), 4).tolist()]


def test_names_keys_calls_and_blocks_have_coins_of_their_own(monkeypatch):
    monkeypatch.setattr(source_module, "REKEY_BYTES", 32)
    seen = set()
    for key in (KEY, new_key(), new_key()):
        for names in ((), ("a",), ("b",), ("a", 0), ("a", 0, 1), ("a0",), (0, "a"), ('a", 0',)):
            source = KeyedSource(key, names)
            for _ in range(2):
                stream = source.stream()
                seen |= {tuple(words(stream, 4).tolist()) for _ in range(2)}
    assert len(seen) == 3 * 8 * 2 * 2


def test_coins_are_not_thrown_twice():
    noise = Noise(key=KEY)
    with pytest.raises(TypeError, match="not copied"):
        copy.deepcopy(noise)
    with pytest.raises(TypeError, match="not copied"):
        pickle.dumps(noise)
    shared = copy.copy(noise)
    assert noise.uniform(2**64) != shared.uniform(2**64)  # one count of calls
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="thread"):
        pool.submit(noise.uniform, 6).result()


@pytest.mark.parametrize("key", [b"short", bytes(33), "0" * 32, bytearray(32)])
def test_a_key_has_32_bytes(key):
    with pytest.raises(ParameterError, match="32 bytes"):
        Noise(key=key)
    with pytest.raises(ParameterError, match="seed"):
        Noise(key=KEY, insecure_seed=1)


def test_one_draw_needs_no_table(monkeypatch):
    monkeypatch.setattr("sfumato.noise.samplers.divide", None)  # building one would fail, and take long
    assert isinstance(Noise(key=KEY).draw(DiscreteLaplace("123457/3")), int)
