"""Tables for the tests of conversations, made from a seed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Budget, Ledger, Noise, Relation, Schema
from sfumato.errors import AccuracyWarning
from sfumato.questions.conversation import Conversation, open_conversation
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from tests.imputed import categories, integers

SPEND, LIMIT = Approximate(1, 1e-9), Approximate(4, 1e-6)
COLUMNS = {"age": integers(0, 63), "income": categories("<=50K", ">50K"), "hours": integers(0, 15)}


def rows(people: int, seed: int = 1) -> Any:
    """Return people whose income depends on age and hours."""
    noise = Noise(insecure_seed=seed)
    first, second, coin = (noise.uniform(64, people) for _ in range(3))
    age = np.minimum(first, second)
    hours = np.minimum(noise.uniform(16, people), noise.uniform(16, people) + 4)
    rich = coin < age // 2 + hours
    return pyarrow.table({"age": age, "income": np.where(rich, ">50K", "<=50K"), "hours": hours})


def opened(people: int = 50_000, seed: int = 1) -> Table:
    """Return the table."""
    return open_table(rows(people, seed), Schema(COLUMNS), snapshot="2026")


def ledger(place: Any = None, relation: Relation = REPLACE_ONE, limit: Approximate = LIMIT) -> Ledger:
    """Return a ledger for it."""
    schema = Schema(COLUMNS)
    return Ledger(place, Budget(person=limit).about(schema.secrets), schema=schema.fingerprint, relation=relation)


def talk(table: Table, book: Ledger, relation: Relation = REPLACE_ONE, **options: Any) -> Conversation:
    """Open a conversation; small ones are advised against, which has a test of its own.

    Coins come from a key and from the conversation's name: with a seed the name is given too, so that it is the same
    in every run.
    """
    if "noise" in options:
        options = {"name": "talk", **options}
    setting = Basis(table.schema, table.people, relation)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(Noise on each of|With .* rows and this spend)", AccuracyWarning)
        return open_conversation(table, book, setting, **{"queries": 1000, "spend": SPEND, **options})


def space(*sizes: int) -> Space:
    """Return columns c0, c1, … of these sizes."""
    return Space.of(Schema({f"c{place}": integers(0, size - 1) for place, size in enumerate(sizes)}))


__all__ = ["ADD_REMOVE", "COLUMNS", "SPEND", "ledger", "opened", "rows", "space", "talk"]


def records_of(table: Table, space: Space) -> Records:
    """Return the exact rows of a table, to compare with."""
    return Records.of(space, Basis(table.schema, table.people).gauge(Rows(space.names)).read(table))
