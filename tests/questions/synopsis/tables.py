"""Tables of correlated bits for the tests of synopses, and the true answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow

from sfumato import Noise, Schema
from sfumato.questions.synopsis import Conjunctions
from tests.imputed import booleans


def mixture(people: int, size: int, seed: int, kinds: int = 4) -> Any:
    """Return bits of people of a few kinds, each with habits of its own."""
    noise = Noise(insecure_seed=seed)
    kind = noise.uniform(kinds, people)
    habits = noise.uniform(100, kinds * size).reshape(kinds, size)
    return noise.uniform(100, people * size).reshape(people, size) < habits[kind]


def schema_of(size: int) -> Schema:
    return Schema({f"c{place}": booleans() for place in range(size)})


def table_of(bits: Any) -> pyarrow.Table:
    return pyarrow.table({f"c{place}": bits[:, place] for place in range(bits.shape[1])})


def true_shares(bits: Any, queries: Conjunctions) -> Any:
    ones, zeros = queries.dense()
    return np.array(
        [(bits[:, one].all(axis=1) & ~bits[:, zero].any(axis=1)).mean() for one, zero in zip(ones, zeros, strict=True)]
    )


def rms(errors: Any) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
