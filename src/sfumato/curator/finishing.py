"""From a stored draw to what is shown: fits, pictures and tables, any number of times, free."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sfumato.answer import Answer, Released
from sfumato.ask.asked import Asked
from sfumato.ask.packing import is_packed, unpack
from sfumato.ask.question import Question, question_from_json
from sfumato.curator.labels import clipped, labels_of
from sfumato.curator.planning import key_of, planned
from sfumato.errors import FitError, LedgerError, SfumatoError
from sfumato.ledger import Ledger, Reservation
from sfumato.ledger.history import Entry
from sfumato.mechanism import Event
from sfumato.privacy import Bound, Loss
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema

NOISE_GROWS = (
    "Noise grows with rows_per_person = {rows}: where a value is not known, a smaller one in the schema, or a larger "
    "spend, would show more."
)
"""What an answer says of which a part is not known."""

EARLIER = "It was drawn by an earlier version, or of other public facts, and is shown as it was shown then."
"""What an answer says that is not computed again."""

_log = logging.getLogger(__name__)


def read_answer(record: Mapping[str, Any], schema: Any) -> Answer:
    """Read what `Answer.to_json` wrote, under the schema that its question was asked of."""
    event = record["event"]
    return Answer(
        question_from_json(record["question"], schema),
        Released.from_json(record["released"]),
        Loss.from_json(record["loss"]),
        Event(event["name"], event["spec"], event["parameters"], event["version"]),
        record["remaining"],
        record["reused"],
        rehearsed=record.get("rehearsed", False),
        remarks=tuple(record.get("remarks", ())),
        labels=labels_of(record["released"].get("keys", ()), schema),
    )


def answers_of(
    ledger: Ledger,
    asked: Asked,
    kept: Reservation,
    snapshot: str,
    *,
    again: bool = False,
    remarks: tuple[str, ...] = (),
) -> list[Answer]:
    """Return the answers to a committed request; `again` computes afresh what was kept from an earlier time."""
    assert kept.answer is not None
    raw: Sequence[Any] = [None] * len(asked.questions)
    if is_packed(kept.answer):
        raw = unpack(kept.answer, asked.schema)
        released = _released(ledger, asked, kept, raw, again)
    else:
        # Earlier versions stored what they had finished, and no draw.
        released = [Released.from_json(record) for record in json.loads(kept.answer)]
    left = {reading.name: reading.brief for reading in kept.readings or ledger.readings()}
    parts = zip(asked.questions, asked.prepared, asked.events(snapshot), released, raw, strict=True)
    return [
        Answer(
            question,
            found,
            prepared.loss(),
            event,
            left,
            kept.reused,
            drawn,
            kept.id,
            remarks=(*_drowned(question, found, asked.schema), *clipped(found, asked.schema), *remarks),
            labels=labels_of(found.keys, asked.schema),
        )
        for question, prepared, event, found, drawn in parts
    ]


def _drowned(question: Question, released: Released, schema: Any) -> tuple[str, ...]:
    """Say what would show more where nothing is known: the rules of the schema alone would be read as more rows."""
    rows = getattr(schema, "rows_per_person", 1)
    if rows < 2 or not any(map(any, question.unknown(released).values())):
        return ()
    return (NOISE_GROWS.format(rows=rows),)


def _released(ledger: Ledger, asked: Asked, kept: Reservation, raw: Sequence[Any], again: bool) -> list[Released]:
    request = kept.id
    found = _kept_shown(ledger, request) if kept.reused and not again else None
    if found is not None:
        return found
    shown, content = _finished(asked, request, raw)
    if content is None:
        return list(shown)
    ledger.keep_finished(request, content.encode())
    return [Released.from_json(record) for record in json.loads(content)]  # as it will be read next time


def _kept_shown(ledger: Ledger, request: str) -> list[Released] | None:
    """Return what was kept to save the time of computing it; what cannot be read is as if it were not there."""
    found = ledger.finished(request)
    try:
        return None if found is None else [Released.from_json(record) for record in json.loads(found)]
    except (ValueError, TypeError, LookupError, AttributeError, SfumatoError):
        return None


def _finished(asked: Asked, request: str, raw: Sequence[Any]) -> tuple[tuple[Released, ...], str | None]:
    """Return what is shown, and as JSON where it took some computing: only that is worth a transaction."""
    try:
        shown = asked.finish(raw)
        made = any(released.made for released in shown)
        return shown, json.dumps([one.to_json() for one in shown], separators=(",", ":")) if made else None
    except Exception:
        _log.exception("What was drawn for the request %r could not be finished.", request)
    # Raised outside the handler, so that nothing of the cause travels with it.
    raise FitError(
        f"The answer was drawn and stored, but what is shown of it could not be computed; curator.refit({request!r}) "
        "tries again and costs nothing, and the raw draw is in this error's .raw. The operator's log says what went "
        "wrong.",
        request,
        raw,
    )


def asked_before(basis: Basis, entry: Entry, key: str | None, open_snapshot: str) -> Asked:
    """Prepare a stored request again, from what the ledger keeps of it: never with the facts of another state.

    `key` is what the question went by when it was asked: its schema is part of it, with all derived and public columns.
    """
    own = str(entry.event["parameters"].get("snapshot", ""))
    questions = _questions(entry.event, basis)
    now = _as_it_was(basis, entry, own == open_snapshot)
    for then in (now, replace(now, contrasts=not now.contrasts), replace(now, clamps=not now.clamps)):
        asked = planned(then, questions, entry.spend)
        if key is not None and key != key_of(then, asked, entry.spend, own):
            asked = _under_shorter(then, asked, entry.spend, own, key) or asked
            if key != key_of(replace(then, schema=asked.schema), asked, entry.spend, own):
                continue
        if same_event(asked, own, entry.event):
            return asked
    raise LedgerError(
        f"The request {entry.id!r} was drawn by another version, or when other public facts held (columns that are "
        "derived, public tables), so that its draw would be read wrongly; use the version and schema that drew it."
    )


def _under_shorter(basis: Basis, asked: Asked, spend: Bound | None, snapshot: str, key: str) -> Asked | None:
    """Plan a request under the schema that its key speaks of: one without some derived columns of today's."""
    schema = basis.schema
    for shorter in schema.shorter[1:] if isinstance(schema, Schema) else ():
        then = replace(basis, schema=shorter)
        if key == key_of(then, asked, spend, snapshot):
            with suppress(SfumatoError):  # it names a column that was not there
                return planned(then, list(asked.questions), spend)
    return None


def as_drawn(ledger: Ledger, basis: Basis, asked: Asked, kept: Reservation, snapshot: str) -> Asked:
    """Return what a stored answer was drawn by, which need not be what the same question would be drawn by now.

    Of equal questions at equal spends an earlier version, a spend that says how its delta is divided, or a frame with
    other people under the same name may have made another plan; law, loss and event are those of the draw.
    """
    if _people(asked.event(snapshot).to_json()) == _people(kept.event) and same_event(asked, snapshot, kept.event):
        return asked
    entry = ledger.entry(kept.id)
    assert entry is not None
    return asked_before(basis, entry, kept.question_key, snapshot)


def as_shown(ledger: Ledger, basis: Basis, kept: Reservation) -> list[Answer] | None:
    """Return an answer as the version that drew it has shown it, None if that was not kept; lists are not told apart.

    What it cost is what the ledger was charged.
    """
    questions, found = _questions(kept.event, basis), _kept_shown(ledger, kept.id)
    if len(questions) != 1 or found is None:
        return None
    event = Event(*(kept.event[part] for part in ("name", "spec", "parameters", "version")))
    left = {reading.name: reading.brief for reading in kept.readings or ledger.readings()}
    return [Answer(questions[0], found[0], kept.loss[0], event, left, kept.reused, None, kept.id, remarks=(EARLIER,))]


def _as_it_was(basis: Basis, entry: Entry, is_open: bool) -> Basis:
    """Return the public facts with the number of people of the state that a request was asked of."""
    parameters = entry.event["parameters"]
    told = _people(entry.event)
    if basis.people is None or (is_open and not told):
        return basis
    if len(told) != 1:
        raise LedgerError(
            f"The request {entry.id!r} was answered about the state {parameters.get('snapshot', '')!r} of the data, by "
            "a version that did not keep how many people that has; open that state, with snapshot= and its name."
        )
    return replace(basis, people=told.pop())


def _people(event: Mapping[str, Any]) -> set[int]:
    """Return how many people an event says that there were, nothing if it does not: earlier versions did not."""
    return {part["people"] for part in _parts(event["parameters"]) if part.get("people") is not None}


def _parts(parameters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part["parameters"] for part in parameters["parts"]] if "parts" in parameters else [parameters]


def same_event(asked: Asked, snapshot: str, stored: Mapping[str, Any]) -> bool:
    """Tell whether a stored event is that of these questions of a state of the data; in what words does not count."""
    return bool(_without_notes(asked.event(snapshot).to_json()) == _without_notes(stored))


def _without_notes(event: Mapping[str, Any]) -> Any:
    """Return what decides how a draw is read: the words in which rules are told may differ from version to version.

    How many people there were is compared by `_as_it_was`: earlier versions did not keep it.
    """
    parameters = dict(event["parameters"])
    parameters.pop("notes", None)
    parameters.pop("people", None)
    if "parts" in parameters:
        parameters["parts"] = [_without_notes(part) for part in parameters["parts"]]
    return json.loads(json.dumps({**event, "parameters": parameters}))


def _questions(event: Mapping[str, Any], basis: Basis) -> list[Question]:
    parts = _parts(event.get("parameters", {}))
    if not all("question" in part for part in parts):
        raise LedgerError("Only requests that ask a question can be finished again; conversations keep their model.")
    return [question_from_json(part["question"], basis.schema) for part in parts]
