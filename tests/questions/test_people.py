"""Numbers of different people: exact ones by plain Python, what they cost, and what is public about them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Budget, People, Pure, Schema, curate
from sfumato.domain import categories, integers
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.table import measure
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.order import keyed_hash, limbs, person_limbs
from sfumato.table.where import read_where

COLUMNS = {"ward": categories("n", "s", "w", missing="n"), "age": integers(0, 9, missing=0)}
VISITS = [(1, "n", 3), (1, "n", 8), (1, "s", 9), (2, "s", 2), (2, "w", 9), (3, "w", 1), (3, "n", 1), (3, "s", 1)]
ROWS = pyarrow.table({"id": [v[0] for v in VISITS], "ward": [v[1] for v in VISITS], "age": [v[2] for v in VISITS]})


def counted(groups: int | None, keep: Any) -> list[int]:
    """Count people by ward in plain Python; with a limit in the first wards of each in the keyed order."""
    wards: dict[int, set[int]] = defaultdict(set)
    for who, ward, age in VISITS:
        if keep(age):
            wards[who].add("nsw".index(ward))
    found = [0, 0, 0]
    for who, codes in wards.items():
        order = sorted(codes, key=lambda code: (keyed_hash(person_limbs(who) + limbs(code, 0, 2), "groups "), code))
        for code in order[:groups]:
            found[code] += 1
    return found


@pytest.mark.parametrize("groups", [None, 1, 2])
@pytest.mark.parametrize("where", [None, "age > 1"])
def test_people_are_counted_once_in_each_cell(groups: int | None, where: str | None) -> None:
    schema = Schema(COLUMNS, "id", 2, groups)
    with open_table(ROWS, schema) as table:
        basis = Basis(schema, table.people)
        (by,) = basis.gauge(measure.People(("ward",), read_where(where, schema))).read(table)
        assert by.tolist() == counted(groups, lambda age: where is None or age > 1)
        (alone,) = basis.gauge(measure.People((), read_where(where, schema))).read(table)
        assert alone == (3 if where is None else 2)


def test_a_curator_counts_people() -> None:
    with curate(ROWS, Schema(COLUMNS, "id", 2), Budget(Pure(200))) as curator:
        assert curator.people().value == 3
        assert curator.people("age > 1", spend=Pure(60)).value == 2
        answer = curator.people(by="ward", spend=Pure(60))
        assert answer.value["people"] == (2, 3, 2) and answer.loss.person.epsilon == 60
        low, high = answer.interval()["people, low"], answer.interval()["people, high"]
        assert all(one <= n <= two for one, n, two in zip(low, (2, 3, 2), high, strict=True))
        again = sf.questions.question_from_json(People("age > 1", "ward").to_json(), curator.schema)
        assert again == People("age > 1", "ward").canonical(curator.schema)


def test_where_people_come_and_go_their_number_costs() -> None:
    with curate(ROWS, Schema(COLUMNS, "id", 2), Budget(Pure(5)), relation=ADD_REMOVE) as curator:
        with pytest.raises(ParameterError, match="costs something"):
            curator.people()
        answer = curator.people(spend=Pure(1))
        assert answer.loss.person.epsilon == 1
        with pytest.raises(UnsupportedSpend, match="only whole people"):
            curator.people(spend=Pure(1).per_attribute())


def test_a_whole_number_lies_between_the_ends_of_its_interval() -> None:
    """Weighed rows count in fractions: the number is rounded, and so are the ends, outwards."""
    with curate(ROWS, Schema(COLUMNS, "id", 2), Budget(Pure(900))) as curator:
        for answer in (curator.histogram("ward", spend=Pure(300)), curator.people(by="ward", spend=Pure(300))):
            name = list(answer.value.columns)[-1]
            ends = zip(answer.interval()[f"{name}, low"], answer.interval()[f"{name}, high"], strict=True)
            for number, (low, high) in zip(answer.value[name], ends, strict=True):
                assert low <= number <= high and isinstance(low, int) and isinstance(high, int)


def test_who_has_two_rows_where_one_was_declared_is_an_empty_row() -> None:
    schema = Schema(COLUMNS, "id", row_key=())
    with curate(ROWS, schema, Budget(Pure(900))) as curator:
        answer = curator.people("age > 1", spend=Pure(300))
        assert answer.value == 0 and "every cell is missing" in answer.notes[1]
