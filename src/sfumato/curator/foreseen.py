"""What a question would do, before it is paid for: whether it fits, and how wrong its answer would be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sfumato.ask.asked import Asked
from sfumato.ask.expected import Expected
from sfumato.curator.before import as_answered
from sfumato.errors import AccuracyWarning, SfumatoError
from sfumato.ledger import Ledger, Preview
from sfumato.privacy import Bound
from sfumato.show.titles import title_of
from sfumato.show.views import View
from sfumato.table.gauge import Basis

LISTED = 12
"""So many questions of a list have a line of their own."""


@dataclass(frozen=True, repr=False)
class Foreseen(Preview):
    """What a request would do, and the error that its answer is expected to have; looking at it costs nothing.

    `expected` is the largest error of a list whose questions are of one kind; `errors` are sentences, one a line.
    """

    expected: Expected | None = None
    errors: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """How wrong the answer is expected to be, from public facts."""
        return "\n".join(self.errors)

    def view(self) -> View:
        """Return whether it fits, what refuses it, and how wrong the answer would be."""
        return replace(super().view(), after=self.errors)

    def __repr__(self) -> str:
        return str(self)


def weighed(ledger: Ledger, basis: Basis, asked: Asked, spend: Bound, snapshot: str, *, analyst: str | None) -> Preview:
    """Say what asking this would do: it is looked for by the key, and by the record, that `ask` hands to the ledger."""
    _, asked, key = as_answered(ledger, basis, asked, spend, snapshot)
    return ledger.foresee(asked.event(snapshot), asked.losses(spend), key, analyst)


def foreseen(basis: Basis, asked: Asked, spend: Bound, seen: Preview, limit: Bound | None) -> Foreseen:
    """Return what a request would do, with how wrong its answers are expected to be; `limit` is that on a person."""
    found = _expected(basis, asked, spend)
    largest = _largest(asked, found)
    text = seen.text
    if len(found) > 1 and seen.fits:  # what is refused tells nothing
        text = f"{text} {asked.total(spend, limit)}"
    text = " ".join([text, *dict.fromkeys(said for question in asked.questions if (said := question.taken()))])
    # What a question counts cells as, beside the schema, is something to know before it is paid for.
    text = " ".join([text, *dict.fromkeys(said for one in asked.prepared for said in one.told.values() if said)])
    errors = tuple(_said(asked, found, largest))
    return Foreseen(seen.fits, seen.breaks, seen.closes, text, seen.free, expected=largest, errors=errors)


def expected_of(basis: Basis, asked: Asked, spend: Bound) -> Expected | None:
    """Return the expected error, of a list of one kind of questions the largest; None if it is not known."""
    return _largest(asked, _expected(basis, asked, spend))


def _expected(basis: Basis, asked: Asked, spend: Bound) -> list[Expected | None]:
    """Return the expected error of each question, whose noise is that of what will run."""
    part = spend.split(len(asked.questions))
    found: list[Expected | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # said when the question was planned
        for question, prepared in zip(asked.questions, asked.prepared, strict=True):
            try:
                found.append(question.expected(basis, part, prepared))
            except SfumatoError:
                found.append(None)  # an even part does not pay for it; the list is planned otherwise
    return found


def _largest(asked: Asked, found: Sequence[Expected | None]) -> Expected | None:
    known = [one for one in found if one is not None]
    # Errors of a mean and of a count are no two sizes of one thing.
    alike = len({question.kind for question in asked.questions}) == 1 and len({one.unit for one in known}) == 1
    return max(known, key=lambda one: one.size) if alike and len(known) == len(found) else None


def _said(asked: Asked, found: Sequence[Expected | None], largest: Expected | None) -> Iterator[str]:
    """Yield how wrong the answers will be: one sentence for questions of one kind, else a line for each."""
    each = len(found) > 1
    if largest is not None:
        yield f"Each of the {len(found)}: {largest.text}" if each else largest.text
    elif not each:
        yield asked.questions[0].not_foreseen(asked.prepared[0])
    else:
        for question, form, one in list(zip(asked.questions, asked.forms, found, strict=True))[:LISTED]:
            yield f"{title_of(form)}: {question.unforeseen if one is None else one.text}"
        if len(found) > LISTED:
            yield f"Preview the other {len(found) - LISTED} on their own to see their errors."
