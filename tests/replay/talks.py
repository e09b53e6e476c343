"""Conversations on neighbouring tables: what is checked moves as little as is paid for, and nothing else moves at all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sfumato.curator.curator import Curator
from sfumato.errors import AccuracyWarning, SfumatoError
from sfumato.ledger import Ledger
from sfumato.noise import Noise
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Bound, Loss, Relation
from sfumato.questions.conversation.guesses import Checked, Checking, Guesses
from tests.replay.frozen import PLENTY, masked
from tests.replay.seam import Changed, Table

DOMAIN = ("age", "job", "scar")
QUERIES = (
    "age > 3", "age > 3 AND job = 'b'", "scar = true", "scar IS NULL", "job = 'c' OR age = 0", "age >= 0", "job <> 'a'",
    "age = 7 AND scar = true",
)  # fmt: skip
CORRECTED = 3
"""Every third query is corrected."""


@dataclass
class Talk:
    """What one conversation checked against the data, and all that an analyst and a ledger saw of it."""

    seen: str = ""
    exact: list[Any] = field(default_factory=list)
    sensitivity: int = 0
    loss: Loss | None = None

    def allowed(self, changed: Changed) -> int:
        """Return how far a change may move what is compared, in rows: nothing that is not charged moves it."""
        assert self.loss is not None
        cost = self.loss.person if changed is None else self.loss.at(changed)
        return 0 if cost.is_zero else self.sensitivity

    def moved(self, other: Talk) -> int:
        """Return how far the exact values moved, in rows: of a query, or of all rows where these were counted."""
        pairs = zip(self.exact, other.exact, strict=True)
        return max((int(np.ceil(np.abs(one - two).max() / unit)) for (one, unit), (two, _) in pairs), default=0)


@contextmanager
def answered(talk: Talk) -> Iterator[None]:
    """Let every comparison end as it would for any other table, and keep what was compared."""
    patch = pytest.MonkeyPatch()

    def step(
        checking: Checking, state: dict[str, Any], exact: Guesses, _: Noise
    ) -> tuple[dict[str, Any], Checked, bool]:
        talk.sensitivity = checking.sensitivity
        talk.exact.append((np.asarray(exact.values), exact.unit))
        at = CORRECTED - 1
        if state["left"] <= 0 or len(exact.guesses) <= at:
            return state, Checked(len(exact.guesses)), False
        answer = int(exact.guesses[at]) + exact.unit
        return {**state, "left": state["left"] - 1}, Checked(at, answer), True

    def counted(noise: AdditiveNoise, exact: Any, _: Noise) -> Any:
        talk.exact.append((np.asarray([exact]), 1))
        return np.int64(10_000)

    patch.setattr(Checking, "step", step)
    patch.setattr(AdditiveNoise, "run", counted)
    try:
        yield
    finally:
        patch.undo()


def talked(table: Table, spend: Bound, relation: Relation) -> Talk:
    """Hold a conversation whose comparisons all end alike."""
    talk = Talk()
    shown: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as told, answered(talk):
        warnings.simplefilter("always", AccuracyWarning)
        limits = PLENTY.about(table.schema.secrets)
        with Ledger(None, limits, schema=table.schema.fingerprint, relation=relation) as ledger:
            curator = Curator(table, ledger, relation)
            try:
                with curator.converse(DOMAIN, queries=50, spend=spend, name="talk") as conversation:
                    shown["replies"] = [repr(reply) for reply in conversation.ask_all(list(QUERIES))]
                    shown["one"] = [repr(conversation.ask(query)) for query in QUERIES[:2]]
                    shown["plan"], shown["view"] = repr(conversation.plan), str(conversation)
                    talk.loss = conversation.loss
                    shown["loss"] = talk.loss.to_json()
                    shown["model"] = np.asarray(conversation.model.marginal(("age",))).tolist()
            except SfumatoError as refused:
                shown["refused"] = [type(refused).__name__, str(refused)]
            shown["remaining"] = curator.remaining()
            shown["history"] = [repr(entry) for entry in ledger.history()]
    shown["warned"] = [str(one.message) for one in told]
    talk.seen = masked(json.dumps(shown, sort_keys=True, default=repr))
    return talk
