"""What is kept of a conversation, so that it goes on after a restart as if nothing had happened (SM-STORE)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypeVar

from sfumato.ask.packing import pack, unpack
from sfumato.errors import LedgerError, Overtaken, Unfinished
from sfumato.ledger import stepping, wording
from sfumato.ledger.lifecycle import Seal
from sfumato.ledger.running import Coins
from sfumato.ledger.stepping import DeadStep, Stepwise
from sfumato.noise import Noise
from sfumato.privacy import Attributes
from sfumato.questions.conversation.guesses import checking_from_json
from sfumato.questions.conversation.plan import ConversationPlan
from sfumato.questions.conversation.steps import (
    DEAD,
    Claim,
    Outcome,
    Standing,
    claim_from,
    outcome_from,
    state_bytes,
    state_from,
)
from sfumato.table.schema import Schema
from sfumato.workload.records import Tabled

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """What a conversation is made from: `read` the rows, a `key` for coins, and `begin` from rows to a first state."""

    schema: Schema
    read: Callable[[], Tabled]
    key: Callable[[], bytes]
    begin: Callable[[Tabled, Noise], dict[str, Any]]


@dataclass(frozen=True)
class Held:
    """What is drawn from: the rows as they were frozen, and the coins of their key."""

    seal: Seal
    records: Tabled
    coins: Coins

    def noise(self, number: int) -> Noise:
        """Return the coins of a step."""
        return self.coins.noise(step=number)


class InLedger:
    """Keeps one conversation in a ledger: rows and key frozen on the side of the data, steps and states in the ledger.

    Of two who go on with it, whoever opened it last wins; both would draw the same, so nothing is lost by it.
    """

    def __init__(self, steps: Stepwise, source: Source, give_up: bool = False) -> None:
        self._steps, self._source, self._give_up = steps, source, give_up
        self._held: Held | None = None
        self._step = self.number = 0
        self._owner, self._owns = f"{Noise().uniform(1 << 64):016x}", False

    def resume(self) -> Standing:
        """Return where the conversation stands, and take it over; one that was never begun begins here.

        Whoever has it goes on with it after an interrupt, unless somebody else has taken it over in the meantime.
        """
        standing = self._resumed()
        self._owns = True
        return standing

    def _resumed(self) -> Standing:
        found = self._steps.standing()
        self._step, self.number = found.step, found.steps[-1].number if found.steps else 0
        if found.state is None:
            held = self._drawable(found) or self._freeze()
            return Standing(self._begun(held), held.records.table, held.noise)
        state = state_from(found.state)
        if self._owns and state.get("owner") != self._owner:
            raise Overtaken(wording.OVERTAKEN.format(id=self._steps.id))
        told = [(claim_from(one.asked), outcome_from(one.outcome)) for one in found.steps if one.outcome is not None]
        if not state["checking"]["left"]:
            self._release(self._steps.kept())  # a kill may have left something
            return Standing(state, None, _no_coins, told)
        under_way, given_up = _under_way(found, state), self._give_up and found.pending is not None
        self._give_up = False
        drawable = self._drawable(found, given_up) if under_way else None
        if drawable is not None:
            pending = None if found.pending is None else claim_from(found.pending.asked)
            self.save({**state, "clean": False})
            return Standing(state, drawable.records.table, drawable.noise, told, pending)
        state = self._let_go_of(found, state, under_way)
        if found.pending is not None:
            told.append((claim_from(found.pending.asked), DEAD))
        if not state["checking"]["left"]:
            return Standing(state, None, _no_coins, told)
        held = self._freeze()
        return Standing(state, held.records.table, held.noise, told)

    def _drawable(self, found: stepping.Standing, given_up: bool = False) -> Held | None:
        """Return what was frozen, None if it is given up, or gone and nothing can wait for it."""
        if found.seal is None or given_up:
            return None
        if self._held is None or self._held.seal != found.seal:
            frozen = self._steps.thaw(found.seal, opening=found.state is None)
            if isinstance(frozen, str):
                if found.state is None or (found.pending is not None and found.seal.seal is not None):
                    raise Unfinished(frozen)
                return None
            self._held = self._hold(found.seal, frozen.content, frozen.coins)
        return self._held

    def _let_go_of(self, found: stepping.Standing, state: dict[str, Any], under_way: bool) -> dict[str, Any]:
        """Store that nothing is under way any more; a step that nobody can draw is dead, and costs a correction.

        Its outcome may be what ended it, so it counts as the correction that it may have been.
        """
        lost = found.pending is not None or (under_way and found.seal is None)
        if lost:
            checking = state["checking"]
            state = {**state, "checking": {**checking, "left": checking["left"] - 1}}
            # An earlier version wrote the number of queries ahead, and not each step.
            state["asked"] = max(state["asked"], state.get("mark", 0))
        self.save({**state, "clean": True}, None if found.pending is None else DEAD, over=True)
        return state

    def _freeze(self) -> Held:
        content = self._steps.read(lambda: pack(self._source.read()))
        frozen, seal = self._steps.freeze(self._step, content, self._source.key())
        # Drawn from as it was packed: a second attempt has nothing else, so the first has not either.
        self._held = self._hold(seal, frozen.content, frozen.coins)
        return self._held

    def _hold(self, seal: Seal, content: bytes, coins: Coins) -> Held:
        return Held(seal, unpack(content, self._source.schema), coins)

    def _begun(self, held: Held) -> dict[str, Any]:
        """Draw and store the first state; an error of that draw is the end of the conversation."""
        try:
            state: dict[str, Any] = self.draw(lambda: self._source.begin(held.records, held.noise(0)))
        except DeadStep:
            self._steps.bury()
        else:
            self.save(state)
            return state
        raise LedgerError(wording.DEAD)

    def say(self, claim: Claim, last: Outcome | None, keep: bool) -> None:
        """Say what the next step asks, and what came of the last one."""
        settled = None if last is None else last.to_bytes()
        self._steps.say(self._step, self.number + 1, claim.to_bytes(), last=settled, keep=keep)
        self.number += 1

    def save(self, state: dict[str, Any], outcome: Outcome | None = None, over: bool = False) -> None:
        """Store the state, what came of the step that led to it, and the answer, before anybody sees them.

        If it is `over`, what was frozen is erased, and so is what somebody froze and never drew from.
        """
        left = self._steps.kept() if over else []
        answer = None if outcome is None or outcome.answer is None else str(outcome.answer).encode()
        settled = None if outcome is None else outcome.to_bytes()
        content = state_bytes({**state, "owner": self._owner})
        self._step = self._steps.save(self._step, content, answer, number=self.number, outcome=settled)
        if over:
            # What was there before is nobody's now: what is frozen after this state is written after it.
            self._release(left)

    def _release(self, seals: Iterable[str]) -> None:
        for seal in seals:
            self._steps.release(seal)
        self._held = None

    def draw(self, draw: Callable[[], T]) -> T:
        """Call a draw, and raise `DeadStep` if it failed by itself."""
        return self._steps.draw(draw)


def _under_way(found: stepping.Standing, state: Mapping[str, Any]) -> bool:
    """Tell whether coins may have been thrown since the conversation was last closed."""
    opened_since = found.seal is not None and found.seal.step == found.step
    return opened_since or not state["clean"]


def _no_coins(number: int) -> Noise:
    raise AssertionError("No coin is thrown once no correction is left.")


def plan_json(plan: ConversationPlan) -> dict[str, Any]:
    """Return a JSON object that `plan_from_json` reads back."""
    record = {part.name: getattr(plan, part.name) for part in fields(plan)}
    return {**record, "checking": plan.checking.to_json(), "failure": str(plan.failure)}


def plan_from_json(record: Mapping[str, Any], reads: Attributes) -> ConversationPlan:
    """Read what `plan_json` wrote; `reads` is the same as when it was written."""
    values = dict(record)
    values.update(checking=checking_from_json(record["checking"], reads), failure=Fraction(record["failure"]))
    return ConversationPlan(**values)
