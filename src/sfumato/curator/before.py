"""What was answered before a schema had its newest derived columns, found again by what it was drawn under."""

from __future__ import annotations

from dataclasses import replace

from sfumato.ask.asked import PLAIN, Asked
from sfumato.curator.finishing import same_event
from sfumato.curator.planning import key_of, planned
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger
from sfumato.privacy import Bound
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema

NAMES_ITS_COLUMNS = frozenset((*PLAIN, "People", "Quantiles", "Distribution", "Popular"))
"""Questions that read the columns they name and no others; what a model is of follows from all columns there are."""


def as_answered(
    ledger: Ledger, basis: Basis, asked: Asked, spend: Bound | None, snapshot: str
) -> tuple[Basis, Asked, str]:
    """Return a request as it was answered before, with the facts and the key that it went by; else as it is.

    A derived column that a question does not name changes neither which rows count nor what is read of them. What was
    asked under the schema without it is planned under that schema again, whole, as if that one had been opened, and
    taken only if the public record of the draw is the same.
    """
    own = key_of(basis, asked, spend, snapshot)
    schema = basis.schema
    if not isinstance(schema, Schema) or not all(one.kind in NAMES_ITS_COLUMNS for one in asked.questions):
        return basis, asked, own
    # Without a derived column there is no other key, and the ledger looks for this one where it charges.
    if len(schema.shorter) == 1 or ledger.knows(own):
        return basis, asked, own
    for shorter in schema.shorter[1:]:
        then = replace(basis, schema=shorter)
        key = key_of(then, asked, spend, snapshot)
        if not ledger.knows(key):
            continue
        try:
            before = planned(then, list(asked.questions), spend)
        except SfumatoError:
            continue  # it names a column that is not there
        if before.forms == asked.forms and same_event(before, snapshot, asked.event(snapshot).to_json()):
            return then, before, key
    return basis, asked, own
