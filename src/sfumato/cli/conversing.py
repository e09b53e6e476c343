"""`sfumato converse`: conditions one after the other, of which only those are paid for that a model gets wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.answer import Frame
from sfumato.cli.asking import Desk, drawn
from sfumato.cli.writing import write_json, write_table
from sfumato.errors import SfumatoError
from sfumato.ledger.typed import read_bound
from sfumato.questions.conversation import Conversation
from sfumato.questions.conversation.queries import read_query
from sfumato.questions.conversation.reply import Progress, Reply
from sfumato.show.progress import tracked
from sfumato.table.schema import Schema
from sfumato.workload.space import Space

PROMPT = "condition> "


@dataclass
class Talk:
    """The replies so far, and what is left to correct."""

    name: str = ""
    conditions: list[str] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    progress: Progress | None = None

    @property
    def counted(self) -> str:
        """What shares are of: people where each has one row, rows elsewhere."""
        return self.replies[0].counted if self.replies else "people"

    @property
    def frame(self) -> Frame:
        """One row for each condition."""
        return Frame(
            ("condition",),
            {
                "condition": tuple(self.conditions),
                "share": tuple(reply.value for reply in self.replies),
                "error": tuple(reply.error for reply in self.replies),
                self.counted: tuple(reply.count for reply in self.replies),
                "answered from": tuple(reply.source for reply in self.replies),
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        left = None if self.progress is None else self.progress._asdict()
        return {"name": self.name, "table": self.frame.to_json(), "progress": left}

    def write(self, out: Path) -> str:
        """Write the replies as the file's ending says."""
        if out.suffix.lower() == ".json":
            return write_json(self.to_json(), out)
        return write_table(self.frame.to_arrow(), out)

    def text(self) -> str:
        """Return the replies for a terminal."""
        if not self.replies:
            return "Nothing was asked."
        assert self.progress is not None
        left = f"{self.progress.corrected} corrections paid for so far, {self.progress.left} left; name: {self.name}"
        return f"{drawn(self.frame, f'Replies: a share of the {self.counted}, and how far it may be off')}\n{left}"


def converse(
    desk: Desk,
    conditions: Sequence[str],
    spend: str,
    *,
    columns: Sequence[str] | None,
    queries: int,
    name: str | None,
    prior: str | None = None,
) -> Talk:
    """Ask all conditions; those of the command line, or those of standard input until it ends.

    What is not typed one by one is read before anything is reserved.
    """
    described, bound = Schema.load(desk.schema), read_bound(spend)
    space = Space.of(described, columns)
    interactive = not conditions and sys.stdin.isatty()
    listed = [] if interactive else list(conditions) or [line.strip() for line in sys.stdin if line.strip()]
    for condition in listed:
        read_query(condition, space, described)
    talk = Talk()
    with (
        desk.open(described) as curator,
        curator.converse(
            columns, queries=queries, spend=bound, name=name, analyst=desk.opened.analyst, prior=prior
        ) as conversation,
    ):
        talk.name = conversation.name
        for condition, reply in _typed(conversation) if interactive else _asked(conversation, listed):
            talk.conditions.append(condition)
            talk.replies.append(reply)
        talk.progress = conversation.progress
    return talk


def _asked(conversation: Conversation, conditions: Sequence[str]) -> Iterator[tuple[str, Reply]]:
    for condition in tracked(conditions, "Asking", len(conditions)):
        yield condition, conversation.ask(condition)


def _typed(conversation: Conversation) -> Iterator[tuple[str, Reply]]:
    """Answer each condition as it is typed; a mistake is said and costs nothing."""
    while True:
        try:
            condition = input(PROMPT).strip()
        except EOFError:
            return
        if not condition:
            continue
        try:
            reply = conversation.ask(condition)
        except SfumatoError as problem:
            print(f"Error: {problem}", file=sys.stderr)
            continue
        told = "nothing is promised" if reply.error is None else f"± {reply.error:.4f}"
        print(f"{reply.value:.4f} {told} ({reply.source})", file=sys.stderr)
        yield condition, reply
