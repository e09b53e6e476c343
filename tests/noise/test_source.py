"""Keys: fresh for every call, never shared by copies, threads or processes."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.errors import ParameterError
from sfumato.noise import Noise
from sfumato.noise import source as source_module
from sfumato.noise.source import KeyStream, SeededSource, SystemSource, bits, integer, words
from tests.noise.scripted import Scripted


def sample(noise: Noise) -> list[int]:
    return noise.uniform(2**62, size=4).tolist()


def test_words_are_the_little_endian_key_stream_of_aes_256():
    key = bytes(range(32))
    stream = KeyStream(lambda: key)
    expected = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(80))
    got = words(stream, 3).tolist() + words(stream, 7).tolist()
    assert got == list(struct.unpack("<10Q", expected))


def test_a_used_up_key_is_followed_by_another(monkeypatch):
    monkeypatch.setattr(source_module, "REKEY_BYTES", 32)
    keys = iter([bytes(32), bytes([1] * 32), bytes([2] * 32)])
    used = [words(KeyStream(lambda: next(keys)), 4).tolist() for _ in range(2)]
    assert used[0] != used[1]
    keys = iter([bytes(32), bytes([1] * 32)])
    stream = KeyStream(lambda: next(keys))
    assert [words(stream, 4).tolist(), words(stream, 4).tolist()] == used


def test_bits_and_integers_read_whole_words():
    assert bits(Scripted([0xF000000000000000, 0xABC]), 4) == 0xF
    assert bits(Scripted([1, 0x8000000000000000]), 65) == 3
    stream = Scripted([2**63, 2**62])
    # Three values need two bits; the pattern 10 is a value, 11 would be drawn again.
    assert integer(stream, 3) == 2
    assert stream.read == 1
    stream = Scripted([2**64 - 1, 0])
    assert integer(stream, 3) == 0
    assert stream.read == 2
    assert integer(Scripted(), 1) == 0


def test_every_call_has_its_own_key():
    noise = Noise()
    assert len({tuple(sample(noise)) for _ in range(50)}) == 50


def test_a_seed_repeats_call_by_call():
    one, two, other = Noise(insecure_seed=5), Noise(insecure_seed=5), Noise(insecure_seed=6)
    first = [sample(one), sample(one)]
    assert first == [sample(two), sample(two)]
    assert first[0] != first[1]
    assert first[0] != sample(other)


@pytest.mark.parametrize("seed", [True, 1.5, "seven", None.__class__])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ParameterError, match="write for example insecure_seed=7"):
        Noise(insecure_seed=seed)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda noise: pickle.loads(pickle.dumps(noise))])
def test_copies_share_nothing_but_a_seed(duplicate):
    noise = Noise()
    assert sample(duplicate(noise)) != sample(noise)
    seeded = Noise(insecure_seed=3)
    sample(seeded)
    assert sample(duplicate(seeded)) == sample(seeded)


def test_a_shallow_copy_of_a_seeded_noise_counts_on_with_it():
    seeded, again = Noise(insecure_seed=3), Noise(insecure_seed=3)
    assert [sample(copy.copy(seeded)), sample(seeded)] == [sample(again), sample(again)]
    noise = Noise()
    assert sample(copy.copy(noise)) != sample(noise)


def test_a_forked_child_draws_other_noise():
    noise = Noise()
    noise.discrete_laplace(10, size=10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, struct.pack("4q", *sample(noise)))
        os._exit(0)
    mine = sample(noise)
    os.waitpid(child, 0)
    theirs = list(struct.unpack("4q", os.read(read, 32)))
    assert set(mine).isdisjoint(theirs)


def _several(noise: Noise) -> list[int]:
    return noise.discrete_laplace(10**6, size=5).tolist() + sample(noise)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_draw_different_noise(method):
    noise = Noise()
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map(_several, [noise] * 4, chunksize=1)
    assert len({tuple(draw) for draw in [*found, _several(noise)]}) == 5


def test_threads_draw_different_noise_and_share_tables():
    noise = Noise()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tuple(_several(noise)), range(32)))
    assert len(set(found)) == 32


def test_threads_never_share_a_seeded_call():
    noise = Noise(insecure_seed=1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tuple(sample(noise)), range(64)))
    again = Noise(insecure_seed=1)
    assert sorted(found) == sorted(tuple(sample(again)) for _ in range(64))


def test_streams_are_of_the_two_kinds_only():
    assert not vars(SystemSource())
    assert sorted(vars(SeededSource(1))) == ["_calls", "_seed"]
    assert np.all(words(SystemSource().stream(), 1000)[1:] != words(SystemSource().stream(), 1000)[1:])
