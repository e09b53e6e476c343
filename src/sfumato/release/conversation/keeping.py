"""What is kept of a conversation, so that it can go on after a restart."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from sfumato.errors import LedgerError
from sfumato.ledger import Ledger
from sfumato.privacy import Attributes
from sfumato.release.conversation.guesses import checking_from_json
from sfumato.release.conversation.plan import Plan


@dataclass
class InLedger:
    """Keeps the state of one conversation in a ledger; of two who go on with it, the first to write wins."""

    ledger: Ledger
    name: str
    step: int = 0

    def save(self, state: dict[str, Any], answer: int | None = None) -> None:
        """Store the state and the answer that changed it, before anybody sees it."""
        said = None if answer is None else str(answer).encode()
        content = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 1)
        self.step = self.ledger.save_state(self.name, self.step, content, said)

    def resumed(self, reservation: str) -> dict[str, Any]:
        """Return the stored state; one correction is set aside for whoever may still be at work on the last one.

        If it was not closed nobody knows how many queries were answered since: the most that can have been.
        """
        if reservation == "committed":
            raise LedgerError(
                f"The name {self.name!r} belongs to an answer, not to a conversation; choose another one."
            )
        found = self.ledger.load_state(self.name)
        self.step = found.step
        kept: dict[str, Any] = json.loads(zlib.decompress(found.state))
        checking = kept["checking"]
        if not kept["clean"]:
            kept["checking"] = {**checking, "left": max(0, checking["left"] - 1)}
            kept["asked"] = max(kept["asked"], kept["mark"])
        return {**kept, "clean": False}


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a JSON object that `plan_from_json` reads back."""
    record = {part.name: getattr(plan, part.name) for part in fields(plan)}
    return {**record, "checking": plan.checking.to_json(), "failure": str(plan.failure)}


def plan_from_json(record: Mapping[str, Any], reads: Attributes) -> Plan:
    """Read what `plan_json` wrote; `reads` is the same as when it was written."""
    values = dict(record)
    values.update(checking=checking_from_json(record["checking"], reads), failure=Fraction(record["failure"]))
    return Plan(**values)
