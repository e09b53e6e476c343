"""Where randomness comes from: AES-256 in counter mode, with a fresh key for every draw call.

Nothing outlives a call. There is no buffer of future noise to steal, no state that a fork, a thread or
a pickle could duplicate, and no lock. This is the only module that asks the operating system for
randomness. The exception is a source with a key of its own, from which the same draws can be made again:
it stays in the thread that made it, and copies of it are refused.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Words = NDArray[np.uint64]

KEY_BYTES = 32
REKEY_BYTES = 1 << 30
"""One key encrypts at most this much, far from where counter mode could be told from random bits."""
DIRECT_BYTES = 64
"""Up to so many bytes are taken from the operating system directly: less work than setting up a cipher."""

_counter_lock = threading.Lock()


def load() -> None:
    """Load the packages that a draw needs, so that one that cannot be loaded is noticed before anything is paid."""
    import cryptography.hazmat.primitives.ciphers  # noqa: F401  the key stream
    import flint  # noqa: F401  certified enclosures


class Stream(Protocol):
    """Uniform bits for one draw call, read in order and never twice."""

    def fill(self, words: Words) -> None:
        """Overwrite every word with 64 fresh uniform bits."""


class KeyStream:
    """The words of one key, read as little-endian; a new key follows when one is used up."""

    def __init__(self, next_key: Callable[[], bytes]) -> None:
        self._next_key = next_key
        self._left = 0
        self._encryptor: Any = None

    def fill(self, words: Words) -> None:
        """Overwrite every word with 64 fresh uniform bits."""
        if not words.size:
            return
        if words.nbytes > self._left:
            self._rekey(words.nbytes)
        self._encryptor.update_into(bytes(words.nbytes), words.view(np.uint8))
        self._left -= words.nbytes
        if sys.byteorder == "big":
            words.byteswap(inplace=True)

    def _rekey(self, needed: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # A key is used for one stream only, so its counter may start at zero.
        cipher = Cipher(algorithms.AES(self._next_key()), modes.CTR(bytes(16)))
        self._encryptor = cipher.encryptor()
        self._left = max(REKEY_BYTES, needed)


class SystemStream(KeyStream):
    """The words of a key from the operating system; a few words come from the system itself, which is quicker."""

    def __init__(self) -> None:
        super().__init__(lambda: os.urandom(KEY_BYTES))

    def fill(self, words: Words) -> None:
        """Overwrite every word with 64 fresh uniform bits."""
        if words.nbytes <= DIRECT_BYTES:
            words[:] = np.frombuffer(os.urandom(words.nbytes), dtype=np.uint64)
        else:
            super().fill(words)


class SystemSource:
    """Keys from the operating system; copies, forks and threads never share one."""

    def stream(self) -> KeyStream:
        """Return fresh words for one draw call."""
        return SystemStream()


class SeededSource:
    """Keys from a number, for tests: whoever knows the seed knows all the noise.

    The words of call number i depend on the seed and on i only. A copy, a pickle or a forked child
    starts from the same call number and repeats the same draws.
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ParameterError(
                f"insecure_seed must be a whole number, not {type(seed).__name__}; "
                f"write for example insecure_seed=7, or leave it out for real noise."
            )
        self._seed = int(seed)
        self._calls = 0

    def stream(self) -> KeyStream:
        """Return the words of the next call."""
        with _counter_lock:
            call = self._calls
            self._calls += 1
        number = iter(range(sys.maxsize))
        return KeyStream(lambda: self._key(call, next(number)))

    def _key(self, call: int, number: int) -> bytes:
        return hashlib.sha256(f"sfumato/{self._seed}/{call}/{number}".encode()).digest()


class KeyedSource:
    """Keys from a secret key and public names: whoever has both makes the same draws again, and nobody else can.

    The words of call number i depend on the key, the names and i only, whatever else the process does.
    """

    def __init__(self, key: bytes, names: Sequence[str | int]) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ParameterError(f"key must be {KEY_BYTES} bytes that nobody knows, such as new_key() gives.")
        # JSON keeps names apart whatever they contain; the key comes first and is always of the same length.
        self._prefix = b"sfumato noise 1\n" + key + json.dumps(list(names)).encode()
        self._calls = 0
        self._home = (os.getpid(), threading.get_ident())

    def stream(self) -> KeyStream:
        """Return the words of the next call."""
        if (os.getpid(), threading.get_ident()) != self._home:
            # Two threads would draw in an order that no second run could repeat; a forked child would repeat coins.
            raise RuntimeError("Noise with a key draws in the process and the thread that made it, and in no other.")
        call = self._calls
        self._calls += 1
        blocks = itertools.count()
        return KeyStream(lambda: self._subkey(call, next(blocks)))

    def _subkey(self, call: int, block: int) -> bytes:
        return hashlib.sha256(self._prefix + f"/{call}/{block}".encode()).digest()

    def __reduce__(self) -> str:
        # A copy would throw the same coins again for something else.
        raise TypeError("Noise with a key is not copied: the same coins must not be thrown for two things.")


def new_key() -> bytes:
    """Return a key for `KeyedSource` from the operating system."""
    return os.urandom(KEY_BYTES)


def words(stream: Stream, count: int) -> Words:
    """Return `count` fresh words."""
    fresh = np.empty(count, dtype=np.uint64)
    stream.fill(fresh)
    return fresh


def bits(stream: Stream, count: int) -> int:
    """Return an integer of `count` uniform bits; whole words are read, the first one leads."""
    if isinstance(stream, SystemStream) and count <= 8 * DIRECT_BYTES:
        return int.from_bytes(os.urandom(-(-count // 8)), "big") >> (-count % 8)
    number = 0
    for word in words(stream, -(-count // 64)).tolist():
        number = number << 64 | word
    return number >> (-count % 64)


def integer(stream: Stream, bound: int) -> int:
    """Return a uniform integer of [0, bound), for a bound of any size."""
    width = (bound - 1).bit_length()
    while True:
        number = bits(stream, width)
        if number < bound:
            return number
