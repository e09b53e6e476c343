"""What is worked out before a request costs anything: the mechanisms, their loss, and the name of the question."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.ask.asked import Asked
from sfumato.ask.prepared import Exact, Prepared, Several
from sfumato.ask.question import Question
from sfumato.errors import AccuracyWarning, ParameterError, SfumatoError
from sfumato.exact import float_log
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Approximate, Bound, Pure
from sfumato.privacy.bounds import require_bound
from sfumato.privacy.even_parts import even_part
from sfumato.table.gauge import Basis

NARROWEST = 1e-300
"""Noise narrower than this is none, for the comparison of widths."""


def planned(basis: Basis, question: Question | Sequence[Question], spend: Bound | None) -> Asked:
    """Prepare everything from public facts; whatever is wrong with a request is said here, before it costs."""
    given: Any = question
    if isinstance(given, Bound) or (isinstance(given, type) and issubclass(given, Bound)):
        raise ParameterError("The question comes first and the spend second; write ask(Histogram('age'), Pure(0.1)).")
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, Question) else [given]
    if not listed or not all(isinstance(one, Question) for one in listed):
        raise ParameterError("ask takes a question or a list of questions; write ask(Histogram('age'), Pure(0.1)).")
    canonical = tuple(one.canonical(basis.schema) for one in listed)
    if spend is None:
        return Asked(canonical, tuple(_free(basis, one) for one in canonical), basis.schema)
    bound = require_bound(spend)
    prepared = _prepared(basis, canonical, bound)
    paid = sum(not one.loss().person.is_zero for one in prepared)
    if 0 < paid < len(canonical):
        prepared = _prepared(basis, canonical, bound, paid)
    return Asked(canonical, prepared, basis.schema)


def _prepared(
    basis: Basis, questions: Sequence[Question], spend: Bound, paid: int | None = None
) -> tuple[Prepared, ...]:
    """Prepare each question with an even part of the spend, which so many of them share; a list as sharply as it can.

    A list is fixed before the data are touched, so its questions may have as little noise as its exact total allows
    (AC-PLAN): with Gaussian noise where that is better on the whole.
    """
    many = len(questions) if paid is None else paid
    part = spend.split(many)
    evenly = tuple(one.prepare(basis, part) for one in questions)
    if many == 1 or not basis.exact_lists or not isinstance(spend, Approximate) or spend.divided:
        return evenly
    assert isinstance(part, Approximate)
    if not part.epsilon or all(one.loss().person.is_zero for one in evenly):
        return evenly
    offers = [_Offer(evenly, part.epsilon), *_sharper(basis, questions, spend, evenly)]
    return min(offers, key=lambda offer: offer.noise).prepared


@dataclass(frozen=True)
class _Offer:
    """A list made ready; `scale` is the epsilon of those questions whose noise has no width."""

    prepared: tuple[Prepared, ...]
    scale: Fraction

    @property
    def noise(self) -> float:
        """How wide its noise is on the whole: the sum of logarithms."""
        alone = -float_log(self.scale)
        widths = (_width(one) for one in self.prepared if not one.loss().person.is_zero)
        return sum(alone if width is None else width for width in widths)


def _sharper(
    basis: Basis, questions: Sequence[Question], spend: Approximate, evenly: Sequence[Prepared]
) -> Iterator[_Offer]:
    """Yield a list with parts of its exact total: by whatever noise its questions take, and by Gaussians where added.

    Where a question answers a Gaussian part with something else, the list is not proved to fit and is not offered.
    """
    moved = [not one.loss().person.is_zero for one in evenly]
    able = [paid and _width(one) is not None for paid, one in zip(moved, evenly, strict=True)]
    nobody = [False] * len(able)
    kinds = [able] if all(able) else [nobody] if not any(able) else [able, nobody]
    for smooth in kinds:
        part = even_part(spend, sum(smooth), sum(moved) - sum(smooth))
        if part is None:
            continue
        bounds: list[Bound] = [part.gaussian if one else part.other for one in smooth]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AccuracyWarning)  # said once, for the even parts
                found = tuple(one.prepare(basis, bound) for one, bound in zip(questions, bounds, strict=True))
        except SfumatoError:
            continue  # by public facts, as all of this: such a part does not serve a question of the list
        amounts = [made.loss().person.gauss.at(Fraction(0)) for made, one in zip(found, smooth, strict=True) if one]
        if all(amount <= 2 * part.gaussian.rho for amount in amounts):
            yield _Offer(found, part.other.epsilon)


def _width(prepared: Prepared) -> float | None:
    """Return the logarithm of the deviation of added noise, of several releases their mean; None if it is none."""
    mechanism = prepared.mechanism
    listed = mechanism.mechanisms if isinstance(mechanism, Several) else (mechanism,)
    noisy = [one.law for one in listed if isinstance(one, AdditiveNoise)]
    if not noisy or not all(isinstance(one, (AdditiveNoise, Exact)) for one in listed):
        return None
    return sum(math.log(max(law.deviation(), NARROWEST)) for law in noisy) / len(noisy)


def _free(basis: Basis, question: Question) -> Prepared:
    """Prepare a question that is asked without a spend; only what nobody moves is free."""
    prepared = question.prepare(basis, Pure(1))
    if not prepared.loss().person.is_zero:
        raise ParameterError(
            "This question depends on people, so it costs something; write for example spend=Pure(0.1), or "
            "curator.share(0.1) for a tenth of what is left."
        )
    return prepared


def key_of(basis: Basis, asked: Asked, spend: Bound | None, snapshot: str) -> str:
    """Return what is equal for equal questions at equal spends of the same state of the data."""
    facts = {
        "questions": list(asked.forms),
        "spend": None if spend is None else spend.asked(),
        "snapshot": snapshot,
        "schema": basis.schema.fingerprint,
        "relation": basis.relation.value,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
