"""What a question would do, before it is paid for: whether it fits, and how wrong its answer would be."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.ask.expected import Expected
from sfumato.ask.question import Question
from sfumato.errors import AccuracyWarning, SfumatoError
from sfumato.ledger import Preview
from sfumato.privacy import Bound
from sfumato.show.views import View
from sfumato.table.gauge import Basis

NOT_KNOWN = "How wrong it will be is not known beforehand; the answer says it, and rehearse shows it on made-up rows."


@dataclass(frozen=True, repr=False)
class Foreseen(Preview):
    """What a request would do, and the error that its answer is expected to have; looking at it costs nothing."""

    expected: Expected | None = None

    @property
    def error(self) -> str:
        """How wrong the answer is expected to be, from public facts."""
        return NOT_KNOWN if self.expected is None else self.expected.text

    def view(self) -> View:
        """Return whether it fits, what refuses it, and how wrong the answer would be."""
        return replace(super().view(), after=(self.error,))

    def __repr__(self) -> str:
        return str(self)


def expected_of(basis: Basis, questions: Sequence[Question], spend: Bound) -> Expected | None:
    """Return the expected error, of a list, whose questions share the spend evenly, the largest; None if not known."""
    part = spend.split(len(questions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # said when the question was planned
        try:
            found = [question.expected(basis, part) for question in questions]
        except SfumatoError:
            return None  # an even part does not pay for one of them; the list is planned otherwise
    known = [one for one in found if one is not None]
    if len(known) < len(found) or len({one.unit for one in known}) != 1:
        return None
    return max(known, key=lambda one: one.size)
