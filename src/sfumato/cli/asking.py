"""What `sfumato query` and `sfumato ledger preview` do: open, read the question, preview, rehearse or ask."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.answer import Answer, number
from sfumato.cli.hints import in_shell
from sfumato.cli.questions import read_question
from sfumato.cli.spends import read_bound
from sfumato.curator import Curator, curate
from sfumato.errors import ParameterError
from sfumato.exact import to_text
from sfumato.ledger import Ledger
from sfumato.ledger.wording import shown
from sfumato.privacy import Loss
from sfumato.table.schema import Schema

DELTA = "1e-6"


@dataclass(frozen=True)
class Found:
    """What came out: an answer, or what one would cost."""

    loss: Loss
    said: str
    fits: bool
    answer: Answer | None = None
    rehearsed: bool = False
    together: bool = False
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; the table stands beside the exact form of the answer."""
        person = {"person_epsilon": to_text(self.loss.person.epsilon_at(DELTA)), "at_delta": DELTA}
        if self.answer is None:
            return {"fits": self.fits, "text": self.said, "loss": self.loss.to_json(), **person}
        frame = self.answer.framed(self.together)
        columns = {name: [_json(cell) for cell in column] for name, column in frame.columns.items()}
        return {"table": columns, "rehearsed": self.rehearsed, **person, **self.answer.to_json()}

    def text(self) -> str:
        """Return the answer for people: a table, its cost, what is left."""
        assert self.answer is not None
        if not self.rehearsed:
            return "\n".join([in_shell(self.answer.view(self.together).text()), *self.notes])
        played = replace(self.answer, remaining={}).view(self.together).text()
        return "\n".join(
            [
                "On made-up rows: it shows the shape and the error, nothing else.",
                in_shell(played).split("\nIt cost ")[0],
                f"Nothing was spent. It would cost {cost_text(self.loss)}.",
            ]
        )


def cost_text(loss: Loss) -> str:
    """Return a loss in a few words, the person first.

    >>> from sfumato import Cost
    >>> cost_text(Loss.flat(Cost.pure("1/10"), reads={"age"}))
    'a person epsilon 0.1 at delta 1e-6; it reads age'
    """
    person = shown(loss.person.epsilon_at(DELTA), up=True)
    names = sorted(loss.profile.names())
    return f"a person epsilon {person} at delta {DELTA}" + (f"; it reads {', '.join(names)}" if names else "")


def preview_text(found: Found) -> str:
    """Say whether a question fits, and what it would cost."""
    return f"{found.said} It would cost {cost_text(found.loss)}."


def ask(
    data: str,
    schema: Path,
    question: str,
    ledger: str,
    spend: str | None,
    *,
    snapshot: str = "",
    same_data: bool = False,
    analyst: str | None = None,
    table: str | None = None,
    private: Path | None = None,
    keep_head: Path | None = None,
    preview: bool = False,
    rehearse: bool = False,
    together: bool = False,
) -> Found:
    """Answer a question; everything that can be wrong with it is said before the ledger is charged."""
    described = Schema.load(schema)
    asked = read_question(question, described)
    bound = None if spend is None else read_bound(spend)
    if bound is None and (preview or rehearse):
        raise ParameterError("A preview needs a spend to look at; write for example --spend 'Pure(0.1)'.")
    with Ledger(ledger, schema=described.fingerprint, private=private, keep_head=keep_head) as book:
        curator: Curator = curate(data, described, ledger=book, snapshot=snapshot, same_data=same_data, table=table)
        with curator.table:
            if bound is not None and preview:
                seen = curator.preview(asked, bound, analyst=analyst)
                return Found(curator.loss(asked, bound), seen.text, seen.fits)
            if bound is not None and rehearse:
                played = curator.rehearse(asked, bound)
                return Found(played.loss, "", True, played, rehearsed=True, together=together)
            answer = curator.ask(asked, bound, analyst=analyst)
            return Found(answer.loss, "", True, answer, together=together, notes=curator.notes)


def _json(cell: Any) -> Any:
    plain = number(cell)
    return plain if isinstance(plain, (int, float, str, bool)) else json.loads(json.dumps(plain, default=str))
