"""A conversation that a service holds, with the methods of one in the same process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sfumato.errors import LedgerError
from sfumato.model.base import Model, model_from_json
from sfumato.privacy import Loss
from sfumato.questions.conversation.keeping import plan_from_json
from sfumato.questions.conversation.priors import Prior
from sfumato.questions.conversation.queries import read_queries, read_query
from sfumato.questions.conversation.reply import Progress, Reply, draw_progress, progress_view
from sfumato.serve.conditions import MOST_CONDITIONS, condition_json
from sfumato.show.views import View, Viewed
from sfumato.workload.space import Space

if TYPE_CHECKING:
    from sfumato.serve.remote import Remote

MOST_BYTES = 48 * 1024
"""So much of a long list of conditions is sent at a time."""


def prior_json(prior: Prior | str | None) -> Any:
    """Return where a conversation begins, as it is sent."""
    if isinstance(prior, Mapping):
        return {name: np.asarray(law).tolist() for name, law in prior.items()}
    return prior.to_json() if isinstance(prior, Model) else prior


class RemoteConversation(Viewed):
    """A conversation that a service holds: questions one by one, everything paid for when it was opened."""

    def __init__(self, curator: Remote, opened: Mapping[str, Any]) -> None:
        self._curator = curator
        self._schema, self._space = curator.schema, Space.of(curator.schema, opened["columns"])
        self._closed = False
        self.name: str = opened["conversation"]
        self.loss = Loss.from_json(opened["loss"])
        self.plan = plan_from_json(opened["plan"], self.loss.profile.names())
        self.progress = Progress(**opened["progress"])

    def view(self) -> View:
        """Return how far it has come."""
        return progress_view(self.progress)

    def __repr__(self) -> str:
        return str(self)

    def ask(self, query: Any) -> Reply:
        """Answer one query: SQL text such as "age > 40 AND sex = 'Male'", a predicate, a linear query, a block."""
        return self._asked([self._written(query)])[0]

    def ask_all(self, queries: Any) -> list[Reply]:
        """Answer a list of queries, a block or a workload in their order."""
        return self._asked(self._listed(queries))

    def learn(self, queries: Any) -> Model:
        """Ask up to 1000 queries again and again, and return the model: synthetic data for them."""
        found = self._post("/learn", self._listed(queries))
        self.progress = Progress(**found["progress"])
        return model_from_json(found["model"], self._schema)

    @property
    def model(self) -> Model:
        """The distribution learned so far: marginals, rows, files; free."""
        return model_from_json(self._learned()["model"], self._schema)

    @property
    def history(self) -> list[list[float]]:
        """Where each correction was made, as a number of queries, and by how much the model was wrong there."""
        found: list[list[float]] = self._learned()["history"]
        return found

    def picture(self) -> Any:
        """Return a picture of the corrections so far: how many, and how wrong the model was."""
        found = self._learned()
        return draw_progress(self.name, self.plan, found["history"], Progress(**found["progress"]))

    def _learned(self) -> dict[str, Any]:
        return dict(self._curator._get(f"/conversations/{quote(self.name)}/file.json"))

    def _listed(self, queries: Any) -> list[Any]:
        if isinstance(queries, (list, tuple)):
            return [self._written(query) for query in queries]
        return [condition_json(query) for query in read_queries(queries, self._space, self._schema)]

    def _written(self, query: Any) -> Any:
        """Return a query as it is sent; what cannot be asked is refused here, before anything of a list is."""
        found = read_query(query, self._space, self._schema)
        return query if isinstance(query, str) else condition_json(found)

    def _asked(self, listed: Sequence[Any]) -> list[Reply]:
        replies: list[Reply] = []
        for few in _parts(listed):
            found = self._post("", few)
            self.progress = Progress(**found["progress"])
            replies += [Reply(**{**one, "progress": Progress(**one["progress"])}) for one in found["replies"]]
        return replies

    def _post(self, path: str, conditions: Sequence[Any]) -> dict[str, Any]:
        if self._closed:
            raise LedgerError(f"The conversation {self.name!r} is closed; open it again by its name to go on.")
        return dict(
            self._curator._post(f"/conversations/{quote(self.name)}{path}", {"conditions": list(conditions)})[1]
        )

    def close(self) -> None:
        """Ask no more; the service keeps it, and its model stays readable."""
        self._closed = True

    def __enter__(self) -> RemoteConversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parts(listed: Sequence[Any]) -> Iterator[list[Any]]:
    """Divide a long list into requests that a service takes."""
    few: list[Any] = []
    size = 0
    for one in listed:
        more = len(json.dumps(one)) + 2
        if few and (len(few) == MOST_CONDITIONS or size + more > MOST_BYTES):
            yield few
            few, size = [], 0
        few.append(one)
        size += more
    if few:
        yield few
