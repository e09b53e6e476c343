"""The same answer on another table: everything that an analyst sees but the noisy values must be the same bytes."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sfumato import Approximate, Budget
from sfumato.ask.question import Question
from sfumato.curator.curator import Curator
from sfumato.errors import AccuracyWarning, SfumatoError
from sfumato.ledger import Ledger
from sfumato.noise import Noise
from sfumato.privacy import Bound, Relation
from sfumato.questions.quantiles import JointQuantiles
from tests.replay.seam import Table

PLENTY = Budget(person=Approximate(100, "1e-3"))
_IDS = re.compile(r"[0-9a-f]{32,64}")
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+Z]+")


@contextmanager
def drawn(kind: type, kept: list[Any]) -> Iterator[None]:
    """Let the outermost run of a mechanism be drawn by a seed and kept; if something is kept already, give it again."""
    patch, run = pytest.MonkeyPatch(), kind.run
    depth = [0]

    def once(mechanism: Any, exact: Any, noise: Any) -> Any:
        if depth[0]:
            return run(mechanism, exact, noise)
        depth[0] += 1
        try:
            if not kept and isinstance(mechanism, JointQuantiles):
                kept.append((0,) * len(mechanism.probabilities))  # quick, where weighed rows are slow
            if not kept:
                kept.append(run(mechanism, exact, Noise(insecure_seed=3)))
            return kept[0]
        finally:
            depth[0] -= 1

    patch.setattr(kind, "run", once)
    try:
        yield
    finally:
        patch.undo()


def seen(table: Table, question: Question, spend: Bound, relation: Relation) -> str:
    """Return all that an analyst sees of one answer, and all that a ledger keeps of it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Ledger(
            None, PLENTY.about(table.schema.secrets), schema=table.schema.fingerprint, relation=relation
        ) as ledger:
            curator = Curator(table, ledger, relation)
            shown: dict[str, Any] = {"people": None if curator.basis.people is None else "public"}
            try:
                answer = curator.ask(question, spend)
                shown["answer"] = answer.to_json()
                shown["html"] = answer._repr_html_()
                shown["notes"] = answer.notes
            except SfumatoError as refused:
                shown["refused"] = [type(refused).__name__, str(refused)]
            shown["remaining"] = curator.remaining()
            shown["curator"] = str(curator)
            shown["history"] = [repr(entry) for entry in ledger.history()]
    shown["warned"] = [str(one.message) for one in told if issubclass(one.category, AccuracyWarning)]
    return masked(json.dumps(shown, sort_keys=True, default=repr))


def masked(text: str) -> str:
    """Hide what differs by right: identities that the operating system draws, and the clock."""
    return _TIMES.sub("TIME", _IDS.sub("ID", text))


def differing(first: str, second: str) -> str:
    """Return where two texts begin to differ."""
    place = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), -1)
    return f"{first[max(0, place - 80) : place + 80]!r} and {second[max(0, place - 80) : place + 80]!r}"
