"""What is read and what is drawn is stored exactly: every question, every method, there and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.ask.asked import Asked
from sfumato.ask.packing import LONG, MAGIC, SHAPES, is_packed, pack, unpack
from sfumato.ask.prepared import Prepared
from sfumato.errors import LedgerError
from sfumato.ledger.running import Coins
from sfumato.mechanism import NOTHING
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.questions.every_question import QUESTIONS, SCHEMA, cells, table
from tests.replay.questions import uncovered

COUNTED = {"Mean(where)", *(f"Synopsize {name}" for name in ("parities", "tree", "labels")), "Synthesize mwem"}
"""Questions whose draws hold a paid number of rows where that is not public."""

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in every respect that a mechanism or a fit could notice."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        laid = [(part.dtype, part.shape, part.flags.c_contiguous, part.flags.f_contiguous) for part in (one, other)]
        return laid[0] == laid[1] and one.tobytes() == other.tobytes() if one.dtype != object else _objects(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in dataclasses.fields(one))
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _objects(one: Any, other: Any) -> bool:
    return one.shape == other.shape and all(map(same, one.ravel().tolist(), other.ravel().tolist()))


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with table() as found:
        yield found


def _check(name: str, prepared: Prepared, opened: Any) -> None:
    exact = prepared.exact(opened)
    read = pack(exact)
    thawed = unpack(read, SCHEMA)
    assert same(exact, thawed), f"what is read for {name}"
    raw = prepared.mechanism.run(exact, Noise(key=bytes(32), names=(name,)))
    drawn = pack(raw)
    assert same(raw, unpack(drawn, SCHEMA)), f"what is drawn for {name}"
    assert pack(prepared.mechanism.run(thawed, Noise(key=bytes(32), names=(name,)))) == drawn, f"a second run of {name}"
    shown = [json.dumps(prepared.finish(part).to_json()) for part in (raw, unpack(drawn, SCHEMA))]
    assert shown[0] == shown[1], f"what is shown of {name}"


def test_every_question_there_and_back(opened):
    for relation, wanted in ((REPLACE_ONE, set(QUESTIONS)), (ADD_REMOVE, COUNTED)):
        taken = set()
        for name, prepared in cells(opened, relation, wanted):
            for first in islice(prepared, 1):  # the first spend that it takes
                _check(name, first, opened)
                taken.add(name)
        assert taken == wanted - {"Distribution histogram, a long line"}


@pytest.mark.audit
def test_every_question_at_every_spend_there_and_back(opened):
    for relation in (REPLACE_ONE, ADD_REMOVE):
        for name, prepared in cells(opened, relation):
            for one in prepared:
                _check(name, one, opened)


def test_every_kind_is_walked():
    """Whoever registers a question or a learner adds it to the list, and its shapes to those that can be stored."""
    assert uncovered(SCHEMA) == []


def test_every_shape_exists():
    from sfumato.ask.packing import _parts, _shape

    for name in list(SHAPES):
        assert _parts(_shape(name))


EXAMPLES = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200), "", "é\ud800", 0.1, float("inf"), -0.0,
    b"", b"\x00\xff", Fraction(1, 3), Fraction(-(10**50), 7), NOTHING, (), [], {}, ((),), [()],
    tuple(range(LONG)), list(range(LONG)), tuple(range(LONG - 1)), (2**70,) * LONG, [-(2**70)] * LONG,
    tuple((row, -row) for row in range(LONG)), [(row,) for row in range(LONG)], ((),) * LONG, (True,) * LONG,
    tuple((row, 2**64) for row in range(LONG)), ((1, 2),) * LONG + ((1,),), (0.5,) * LONG, (1, True) * LONG,
    {(row, 1): (row,) for row in range(20)}, {1: 2}, {"b": 1, "a": 2}, {row: -row for row in range(20)},
    np.int64(3), np.float64(0.1), np.bool_(True), np.arange(6), np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(12).reshape(3, 4)[:, ::2], np.array(7), np.zeros((0, 3)),
    np.array([True, False]), np.array([0.1, -0.0]), np.array([2**70, 1], dtype=object), np.array([], dtype=object),
    np.arange(4, dtype=np.uint8), np.arange(4, dtype=np.uint64), np.array([["a", 1]], dtype=object),
]  # fmt: skip


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: repr(value)[:40])
def test_values_there_and_back(value):
    found = unpack(pack(value))
    if isinstance(value, np.ndarray) and not (value.flags.c_contiguous or value.flags.f_contiguous):
        value = np.ascontiguousarray(value)
    assert same(found, value) or (isinstance(value, np.ndarray) and value.dtype == object)
    assert pack(found) == pack(value)
    assert repr(found) == repr(value)


ATOMS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False)
NESTED = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.integers() | st.text(max_size=5), inner),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NESTED)
def test_anything_nested_there_and_back(value):
    assert same(unpack(pack(value)), value)


def test_the_order_of_a_mapping_is_kept():
    assert list(unpack(pack({3: 1, 1: 2, 2: 3}))) == [3, 1, 2]
    assert pack({1: 1, 2: 2}) != pack({2: 2, 1: 1})


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, np.array([1j]), np.array(["text"]), Asked, lambda: 0])
def test_other_shapes_are_not_stored(value):
    with pytest.raises(TypeError, match="not among the shapes"):
        pack(value)


def test_damaged_bytes_are_refused():
    packed = pack((1, np.arange(4)))
    assert is_packed(packed) and not is_packed(b'[{"parts":[]}]')
    for content in (b"", b"[]", packed + b"!", packed.replace(b'"t"', b'"?"')):
        with pytest.raises(LedgerError, match=r"\.$"):
            unpack(content)
    tree = b'["d","os.system",1]'
    with pytest.raises(LedgerError, match="does not know"):
        unpack(MAGIC + len(tree).to_bytes(8, "little") + tree)


def test_what_was_read_is_named_in_the_schema(opened):
    ((_, prepared),) = cells(opened, wanted={"Queries"})
    with pytest.raises(LedgerError, match="schema"):
        unpack(pack(next(prepared).exact(opened)))


def test_coins_of_parts_differ():
    coins = Coins("ask", bytes(32))
    drawn = {coins.noise(part, step).uniform(2**64) for part in range(3) for step in range(3)}
    assert len(drawn) == 9 and "\\x00" not in repr(coins)
