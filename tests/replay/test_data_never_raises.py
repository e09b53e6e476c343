"""Data never raises: whatever cells hold, every question is answered, or refused by public facts before any charge."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sfumato import Approximate, curate
from sfumato.ask.question import Question
from sfumato.curator.curator import Curator
from sfumato.errors import AccuracyWarning, SchemaError, SfumatoError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Bound, Relation
from sfumato.table import repair
from tests.replay import dirt, harness
from tests.replay.questions import every_question
from tests.replay.test_law import sampled
from tests.replay.worlds import World, worlds

WORLDS = {world.name: world for world in worlds()}
WAYS = ("no person", "two rows", "two keyed")
"""Every row is a person; rows are weighed, or picked by their contents; weighed, or picked by their key."""
GATE = {"no person": "arrow", "two rows": "text", "two keyed": "parquet"}
"""Opening takes longer than asking, so the gate opens one source a way."""
RELATIONS = (REPLACE_ONE, ADD_REMOVE)
PLENTY = Approximate(10**6, "1e-1")


class Opened:
    """Curators of a source, dirty, clean and empty, opened when they are first asked."""

    def __init__(self, stack: ExitStack, place: Path) -> None:
        self._stack, self._place = stack, place
        self._found: dict[Any, Curator] = {}

    def curator(self, world: World, source: str, relation: Relation, dirty: bool, people: int) -> Curator:
        """Return one of them."""
        asked = (world.name, source, relation, dirty, people)
        if asked not in self._found:
            made = dirt.SOURCES[source](dirty, people, self._place)
            self._found[asked] = self._stack.enter_context(curate(made, world.schema, PLENTY, relation=relation))
        return self._found[asked]


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Opened]:
    with ExitStack() as stack:
        yield Opened(stack, tmp_path)


def outcome(curator: Curator, question: Question, spend: Bound) -> str:
    """Return all that public facts decide of an answer, or of a refusal; anything else is an error of ours.

    What is charged is answered, and what is refused is not charged.
    """
    before = len(curator.ledger.history())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", AccuracyWarning)
        try:
            answer = curator.ask(question, spend)
        except SfumatoError as refused:
            shown: Any = [type(refused).__name__, str(refused)]
            expected = []
        else:
            parameters = {name: said for name, said in answer.event.parameters.items() if name != "snapshot"}
            shown = [type(question).__name__, parameters, answer.loss.to_json()]
            expected = ["committed"]
    charged = [entry.state for entry in curator.ledger.history()[before:]]
    if charged != expected:
        shown.append(f"charged {charged}, and {'answered' if expected else 'refused'}")
    return json.dumps([shown, sorted({str(one.message) for one in told})], sort_keys=True, default=repr)


def differing(tables: Opened, name: str, way: str, source: str, relation: Relation, spends: int) -> Iterator[str]:
    """Yield where cells decide more than numbers: an error that is none of ours, another outcome, a lost charge."""
    world = WORLDS[way]
    question = every_question(world.schema)[name]
    for spend in harness.chosen_spends(name, world, relation, spends):
        at = f"{name}, {way}, {source}, {relation.value}, {spend!r}"
        sizes = {True: dirt.PEOPLE, False: dirt.PEOPLE}
        try:
            seen = {
                dirty: outcome(tables.curator(world, source, relation, dirty, people), question, spend)
                for dirty, people in sizes.items()
            }
            nobody = outcome(tables.curator(world, source, relation, False, 0), question, spend)
        except Exception as escaped:  # no error of sfumato: whatever it is, a cell decided it
            yield f"{at}: {type(escaped).__name__}"
            continue
        if seen[True] != seen[False]:
            yield f"{at}: {seen[True][:600]} and, without odd cells, {seen[False][:600]}"
        if relation is ADD_REMOVE and nobody != seen[False]:  # their number is private, even if there is none
            yield f"{at}: {nobody[:600]} of nobody, and {seen[False][:600]}"
        yield from (f"{at}: {one[:600]}" for one in (*seen.values(), nobody) if "charged [" in one)


def cell_of(name: str) -> tuple[str, str, Relation]:
    """Return where the gate asks a question, by a hash."""
    digest = hashlib.sha256(f"dirt {name}".encode()).digest()
    return *list(GATE.items())[digest[0] % len(GATE)], RELATIONS[digest[1] % 2]


def test_questions_are_answered_or_refused_by_public_facts(tables):
    """A sixth of all questions, each in one way and of one source."""
    names = [name for name in every_question(WORLDS["no person"].schema) if sampled(name)][::2]
    told = [one for name in names for one in differing(tables, name, *cell_of(name), spends=1)]
    assert not told, "\n".join(told)


@pytest.mark.audit
@pytest.mark.parametrize("source", dirt.SOURCES)
@pytest.mark.parametrize("way", WAYS)
def test_every_question_of_every_way_and_source(tables, way, source):
    names = list(every_question(WORLDS["no person"].schema))
    told = [
        one for name in names for relation in RELATIONS for one in differing(tables, name, way, source, relation, 1)
    ]
    assert not told, "\n".join(told)


def test_an_engine_that_fails_on_a_cell_is_found(tables, monkeypatch):
    """A cast before its clamp."""
    monkeypatch.setattr(repair, "_whole", lambda cell, domain: cell.cast("int8").cast("int64"))
    assert list(differing(tables, "Histogram", "no person", "arrow", ADD_REMOVE, 1))


@pytest.mark.parametrize("name", ["job", "town", "ward", "seen"])
def test_a_file_that_breaks_its_own_format_is_refused_to_whoever_opens_it(name, tmp_path):
    """Text that is no UTF-8 and moments beyond the calendar: before there is a ledger, whatever will be asked."""
    import pyarrow
    from pyarrow import parquet

    kind = pyarrow.timestamp("ms") if name == "seen" else pyarrow.string()
    table = dirt.typed(dirt.clean(True, dirt.STRANGE, 200), {**dirt.KINDS, "seen": pyarrow.timestamp("ms")})
    plain = dirt.typed(dirt.clean(False, {}, 200), {**dirt.KINDS, "seen": pyarrow.timestamp("ms")})
    assert table.schema.field(name).type == kind
    parquet.write_table(
        plain.set_column(plain.schema.get_field_index(name), name, table.column(name)), tmp_path / "a.parquet"
    )
    ledger = tmp_path / "ledger.db"
    with pytest.raises(SchemaError, match=f"'{name}' breaks the format"):
        curate(tmp_path / "a.parquet", WORLDS["no person"].schema, PLENTY, ledger=ledger)
    assert not ledger.exists()
