"""Conversations as a curator opens them: from nothing, from a public prior, or from a model that is bought first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.curator.foreseen import weighed
from sfumato.curator.planning import planned
from sfumato.curator.words import refuse_unknown
from sfumato.errors import BudgetExceeded, DomainTooLarge, LedgerError, ParameterError
from sfumato.ledger.largest import scaled
from sfumato.model.base import MOST_CELLS, Model
from sfumato.model.factored import Component, Factored
from sfumato.privacy import Approximate, Bound, Cost, Loss, require_bound
from sfumato.questions.conversation import Conversation, Prior, open_conversation
from sfumato.questions.conversation.opening import OTHERWISE, check_conversation
from sfumato.questions.synthesis import Synthesize
from sfumato.select.fit import pure_epsilon
from sfumato.table.measure import Rows
from sfumato.workload.space import Space

if TYPE_CHECKING:
    from sfumato.curator.shorthands import Shorthands

MODELLED = Fraction(7, 8)
"""What a model gets of a spend; the rest pays corrections."""
EVEN = Fraction(1, 1024)
"""How much of the even distribution is mixed into a model, so that nothing is impossible."""


def open_talk(
    curator: Shorthands,
    domain: Sequence[str] | None,
    spend: Bound,
    prior: Prior | str | None,
    **options: Any,
) -> Conversation:
    """Open a conversation; with `prior="model"` a model of its columns is bought, or found in the ledger, before."""
    refuse_unknown("converse", open_conversation, options)
    if curator.basis.people == 0:
        raise ParameterError(
            "There is nobody in this table, so there are no rows to talk about; check the source and the person column."
        )
    if prior != "model":
        if isinstance(prior, str) and prior != "even":
            raise ParameterError(f"prior= is 'model', 'even', a model, or a law by column; {prior!r} is none of them.")
        public = None if isinstance(prior, str) else prior
        return open_conversation(
            curator.table,
            curator.ledger,
            curator.basis,
            domain=domain,
            spend=spend,
            prior=public,
            compared=prior is None,
            **options,
        )
    if options.get("peak") is not None:
        raise ParameterError("With peak= a prior is one law for each column; leave prior='model' out, or peak=.")
    question, first, rest = model_first(curator, domain, spend)
    space = Space.of(curator.schema, question.columns)
    check_conversation(curator.basis, domain=domain, spend=rest, **options)
    _require_both(curator, question, (first, rest), options)
    model = curator.ask(question, first, analyst=options.get("analyst")).value
    start = possible(model, space)
    return open_conversation(
        curator.table, curator.ledger, curator.basis, domain=domain, spend=rest, prior=start, **options
    )


def model_first(curator: Shorthands, domain: Sequence[str] | None, spend: Bound) -> tuple[Synthesize, Bound, Bound]:
    """Return the model that a conversation starts from with `prior="model"`, and what each of the two may cost."""
    space = Space.of(curator.schema, domain)
    if space.cells > MOST_CELLS:
        raise DomainTooLarge(
            f"A conversation starts from a model of at most {MOST_CELLS} combinations, and these columns have "
            f"{space.cells}; name fewer in domain=, or leave prior= out.",
            method="domain",
        )
    first, rest = parted(require_bound(spend))
    return Synthesize(columns=space.names), first, rest


def parted(spend: Bound) -> tuple[Bound, Bound]:
    """Return what buys the model and what buys corrections; together they are within the spend (PDP:C-7).

    >>> parted(Approximate(8, "1/1024"))
    (Approximate(7, 7/8192), Approximate(1, 1/8192))
    """
    first, rest = scaled(spend, MODELLED), scaled(spend, 1 - MODELLED)
    if isinstance(spend, Approximate):
        return _leaking(first, spend.delta * MODELLED), _leaking(rest, spend.delta * (1 - MODELLED))
    return first, rest


def _leaking(spend: Bound, delta: Fraction) -> Bound:
    assert isinstance(spend, Approximate)
    return replace(spend, delta=delta)


def possible(model: Model, space: Space) -> Factored:
    """Return the model with a little of the even distribution: no combination has less than EVEN/cells."""
    chances = model.marginal(space.names)
    mixed = float(1 - EVEN) * chances / chances.sum() + float(EVEN) / space.cells
    return Factored(space, model.total, (Component(space.names, np.log(mixed)),))


def _require_both(
    curator: Shorthands, model: Synthesize, parts: tuple[Bound, Bound], options: Mapping[str, Any]
) -> None:
    """Refuse a conversation that would not fit beside its model, before either is paid; what is stored is free."""
    name, analyst = options.get("name"), options.get("analyst")
    if name is not None and _begun(curator, name):
        if not _kept(curator, model, parts[0], analyst):  # it began elsewhere, and a model bought here would not help
            raise LedgerError(OTHERWISE.format(name=name))
        return
    pure = options.get("method") == "pure"
    seen = curator.ledger.preview(both_losses(curator, model, parts, analyst=analyst, pure=pure), analyst)
    if not seen.fits:
        raise BudgetExceeded(seen.text, seen.breaks)


def both_losses(
    curator: Shorthands, model: Synthesize, parts: tuple[Bound, Bound], *, analyst: str | None, pure: bool = False
) -> list[Loss]:
    """Return what a conversation and its model cost together, as certificates of which a ledger takes one.

    A model that is stored costs nothing more.
    """
    first, rest = parts
    gauge = curator.basis.gauge(Rows(model.columns or ()))
    bought = gauge.priced(rest)
    if isinstance(bought, Approximate) and not pure:
        cost = Cost.leaking(bought.epsilon, bought.delta)
    else:
        cost = Cost.pure(pure_epsilon(bought))
    talk = gauge.charge(Loss.flat(cost, gauge.charged, gauge.relation))
    if _kept(curator, model, first, analyst):
        return [talk]
    asked = planned(curator.basis, model, first)
    asked.check_new()
    return [loss + talk for loss in asked.losses(first)]


def _kept(curator: Shorthands, model: Synthesize, spend: Bound, analyst: str | None) -> bool:
    """Tell whether a model was paid for before, of this state of the data."""
    asked = planned(curator.basis, model, spend)
    return weighed(curator.ledger, curator.basis, asked, spend, curator.table.snapshot, analyst=analyst).free


def _begun(curator: Shorthands, name: str) -> bool:
    try:
        curator.ledger.stored(name)
    except LedgerError:
        return False
    return True
