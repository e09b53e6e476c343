"""What is worked out before a request costs anything: the mechanisms, their loss, and the name of the question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.ask.asked import Asked
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.errors import ParameterError
from sfumato.privacy import Bound, Pure
from sfumato.privacy.bounds import require_bound
from sfumato.table.gauge import Basis


def planned(basis: Basis, question: Question | Sequence[Question], spend: Bound | None) -> Asked:
    """Prepare everything from public facts; whatever is wrong with a request is said here, before it costs."""
    given: Any = question
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, Question) else [given]
    if not listed or not all(isinstance(one, Question) for one in listed):
        raise ParameterError("ask takes a question or a list of questions; write ask(Histogram('age'), Pure(0.1)).")
    canonical = tuple(one.canonical(basis.schema) for one in listed)
    if spend is None:
        return Asked(canonical, tuple(_free(basis, one) for one in canonical), basis.schema)
    bound = require_bound(spend)
    prepared = _prepared(basis, canonical, bound.split(len(canonical)))
    paid = sum(not one.loss().person.is_zero for one in prepared)
    if 0 < paid < len(canonical):
        prepared = _prepared(basis, canonical, bound.split(paid))
    return Asked(canonical, prepared, basis.schema)


def _prepared(basis: Basis, questions: Sequence[Question], part: Bound) -> tuple[Prepared, ...]:
    return tuple(one.prepare(basis, part) for one in questions)


def _free(basis: Basis, question: Question) -> Prepared:
    """Prepare a question that is asked without a spend; only what nobody moves is free."""
    prepared = question.prepare(basis, Pure(1))
    if not prepared.loss().person.is_zero:
        raise ParameterError(
            f"{question.kind} depends on people, so it costs something; write for example spend=Pure(0.1), or "
            "curator.share(0.1) for a tenth of what is left."
        )
    return prepared


def key_of(basis: Basis, asked: Asked, spend: Bound | None, snapshot: str) -> str:
    """Return what is equal for equal questions at equal spends of the same state of the data."""
    facts = {
        "questions": list(asked.forms),
        "spend": None if spend is None else spend.to_json(),
        "snapshot": snapshot,
        "schema": basis.schema.fingerprint,
        "relation": basis.relation.value,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
