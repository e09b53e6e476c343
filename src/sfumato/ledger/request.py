"""A request as it is checked, compared and stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.ledger.amounts import ranges_to_text
from sfumato.ledger.budget import require_known
from sfumato.ledger.chain import canonical, digest
from sfumato.ledger.slots import SlotCharge
from sfumato.ledger.terms import Terms
from sfumato.privacy import Bound, Loss
from sfumato.privacy.bounds import require_bound

if TYPE_CHECKING:
    from sfumato.mechanism import Event

Losses = Loss | Sequence[Loss]
"""A loss, or several certificates of the same mechanism of which each limit takes the first that fits."""

LONGEST_ID = 200
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Request:
    """What is asked for: public, and the same whenever it is asked again."""

    id: str
    event: dict[str, Any]
    losses: tuple[Loss, ...]
    question: str | None
    analyst: str | None
    spend: Bound | None = None
    slots: tuple[SlotCharge, ...] = ()

    @cached_property
    def written(self) -> dict[str, Any]:
        """What decides whether two requests are the same, and what the chain keeps, as JSON."""
        return {
            "event": self.event,
            "loss": [loss.to_json() for loss in self.losses],
            "question": self.question,
            "analyst": self.analyst,
            **({"slots": [charge.to_json() for charge in self.slots]} if self.slots else {}),
        }

    @property
    def fingerprint(self) -> str:
        """Equal for equal requests, whichever version asks: what a loss says of Gaussians follows from the event."""
        return fingerprint_of(self.written)

    def body(self, charges: dict[str, list[int]], at: str, by_slot: dict[str, dict[str, list[str]]]) -> str:
        """Return the row of the chain: the request, its exact charges by limit, what was allowed, and when it came.

        Time and spend are for people who read the history; they decide nothing, and a retry may differ in them.
        """
        listed = {charge: ranges_to_text(places) for charge, places in charges.items()}
        spend = None if self.spend is None else self.spend.to_json()
        slots = {"slot_charges": by_slot} if by_slot else {}
        return canonical({**self.written, "charges": listed, "at": at, "spend": spend, **slots})


def fingerprint_of(written: Mapping[str, Any]) -> str:
    """Return the fingerprint of a request, from what it is or from the row that the chain keeps of it."""
    asked = {name: written[name] for name in ("event", "loss", "question", "analyst", "slots") if name in written}
    return digest(canonical(without_gauss(asked)))


def without_gauss(record: Any) -> Any:
    """Return the JSON of losses as versions wrote it that knew no Gaussian charges."""
    whole = [record]
    copied: list[Any] = [whole]
    while copied:  # A loop and not a recursion: every request is compared, and is a tree of many small parts.
        holder = copied.pop()
        for place, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(part, dict):
                kept = dict(part)
                if "curve" in kept and "leak" in kept:
                    kept.pop("gauss", None)
                copied.append(kept)
            elif isinstance(part, list):
                copied.append(list(part))
            else:
                continue
            holder[place] = copied[-1]
    return whole[0]


def check_id(request_id: str) -> None:
    """Refuse what is no id of a request."""
    if not isinstance(request_id, str) or not 0 < len(request_id) <= LONGEST_ID:
        raise ParameterError(
            f"A request id is a text of 1 to {LONGEST_ID} characters, its own for every request; write 'ask-17', say."
        )
    if _UNSTORABLE.search(request_id):
        raise ParameterError("A request id is a text that databases can store; leave NUL and halves of characters out.")


def request_of(
    terms: Terms,
    request_id: str,
    event: Event,
    loss: Losses,
    *,
    question: str | None,
    analyst: str | None,
    spend: Bound | None = None,
    slots: tuple[SlotCharge, ...] = (),
) -> Request:
    """Check a request against public facts; who asks is checked where it is charged, by the quotas that then stand."""
    check_id(request_id)
    if not hasattr(event, "to_json"):
        raise ParameterError(f"An event is needed, not {type(event).__name__}; write mechanism.event().")
    if question is not None and not isinstance(question, str):
        raise ParameterError("A question key is a text, the canonical form of the question with its snapshot.")
    allowed = None if spend is None else require_bound(spend)
    for charge in slots:
        losses_of(terms, charge.losses)
    return Request(request_id, event.to_json(), losses_of(terms, loss), question, analyst, allowed, slots)


def losses_of(terms: Terms, loss: Losses) -> tuple[Loss, ...]:
    """Return the alternative losses of a request, checked: relation, known attributes."""
    losses = (loss,) if isinstance(loss, Loss) else tuple(loss) if isinstance(loss, (list, tuple)) else ()
    if not losses or not all(isinstance(one, Loss) for one in losses):
        what = "a bound" if isinstance(loss, Bound) else type(loss).__name__
        raise ParameterError(f"A reservation is charged by a Loss, not by {what}; write mechanism.loss().")
    for one in losses:
        terms.relation.require(one.relation)
        if terms.budget.secrets is not None:
            require_known(terms.budget.secrets, one.profile.names())
    return losses


def asker_of(terms: Terms, analyst: str | None) -> str | None:
    """Return who asks: where anybody has a budget, nobody asks past it by giving no name (SM-SEAL)."""
    if analyst is None and terms.askers:
        raise ParameterError(
            f"Say who asks with analyst=; those who have a budget are {', '.join(sorted(terms.askers))}. Who runs "
            "the ledger may have one too, declared when it is made."
        )
    return analyst_of(terms, analyst)


def analyst_of(terms: Terms, analyst: str | None) -> str | None:
    """Return the analyst, who must have a budget if any analyst has one."""
    if analyst is not None and terms.askers and analyst not in terms.askers:
        raise ParameterError(
            f"{analyst!r} has no budget in this ledger; those who have one are {', '.join(sorted(terms.askers))}."
        )
    return analyst
