"""Conversations that wait for a curator: asked for by whoever would hold them, decided, then opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sfumato.noise import new_key
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import DECLINED, MOST_WAITING, TOO_MANY, WAITING
from sfumato.serve.problems import Denied
from sfumato.serve.store import Store, now
from sfumato.serve.store import openings as table

APPROVED = "approved"
SAID = {
    WAITING: "It waits for a curator, who approves or declines it; nothing is spent until then.",
    APPROVED: "A curator approved it; it is charged when you open it.",
    DECLINED: "A curator declined it; nothing was spent.",
}


@dataclass(frozen=True)
class Opening:
    """A conversation that somebody asked a curator for."""

    id: str
    dataset: str
    name: str
    key: str
    form: str
    """The terms that are decided about, as JSON: others under the same key are another conversation."""
    state: str
    decided: str
    created: float
    changed: float


class Openings:
    """All conversations that were above the threshold; an approval is a permission, and charges nothing by itself."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def of(self, dataset: str, name: str, key: str) -> Opening | None:
        """Return what became of a conversation that had to wait, None if it did not."""
        query = sa.select(table).where(table.c.dataset == dataset, table.c.name == name, table.c.key == key)
        row = self.store.row(query)
        return None if row is None else Opening(**row._mapping)

    def get(self, dataset: str, opening: str) -> Opening | None:
        """Return one by its id."""
        row = self.store.row(sa.select(table).where(table.c.dataset == dataset, table.c.id == opening))
        return None if row is None else Opening(**row._mapping)

    def waiting(self, dataset: str) -> list[Opening]:
        """Return what waits, newest first."""
        query = sa.select(table).where(table.c.dataset == dataset, table.c.state == WAITING)
        return [Opening(**row._mapping) for row in self.store.rows(query.order_by(table.c.created.desc()).limit(200))]

    def _require_room(self, dataset: str, name: str) -> None:
        """Refuse one more of somebody who lets many wait."""
        mine = sa.select(table.c.id).where(table.c.dataset == dataset, table.c.name == name, table.c.state == WAITING)
        if len(self.store.rows(mine.limit(MOST_WAITING))) == MOST_WAITING:
            raise Denied(409, TOO_MANY)

    def mine(self, dataset: str, name: str) -> list[Opening]:
        """Return somebody's own, newest first."""
        query = sa.select(table).where(table.c.dataset == dataset, table.c.name == name)
        return [Opening(**row._mapping) for row in self.store.rows(query.order_by(table.c.created.desc()).limit(200))]

    def add(self, dataset: str, name: str, key: str, form: str) -> Opening:
        """Let a conversation wait, once."""
        self._require_room(dataset, name)
        moment = now()
        values: dict[str, Any] = {
            "id": new_key()[:16].hex(),
            "dataset": dataset,
            "name": name,
            "key": key,
            "form": form,
            "state": WAITING,
            "decided": "",
            "created": moment,
            "changed": moment,
        }
        self.store.add_once(table, values)
        found = self.of(dataset, name, key)
        assert found is not None
        return found

    def decide(self, opening: Opening, curator: Identity, approve: bool) -> Opening:
        """Approve or decline what waits; of two curators the first decides."""
        changed = sa.update(table).where(table.c.id == opening.id, table.c.state == WAITING)
        state = APPROVED if approve else DECLINED
        if self.store.run(changed.values(state=state, decided=curator.name, changed=now())) != 1:
            raise Denied(409, "This conversation does not wait for anybody any more.")
        found = self.get(opening.dataset, opening.id)
        assert found is not None
        return found

    def withdraw(self, opening: Opening) -> None:
        """Take back what still waits."""
        if self.store.run(sa.delete(table).where(table.c.id == opening.id, table.c.state == WAITING)) != 1:
            raise Denied(409, "It does not wait any more: it was decided.")
