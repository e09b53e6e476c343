"""Opening a conversation: planned from public facts, reserved as a whole, kept in the ledger, resumed by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import CertificationError, LedgerError, ParameterError, warn
from sfumato.exact import Number, positive_integer
from sfumato.ledger import Ledger
from sfumato.ledger.largest import scaled
from sfumato.ledger.request import check_id
from sfumato.ledger.stepping import Stepwise
from sfumato.mechanism import Event
from sfumato.noise import Noise, new_key
from sfumato.noise.source import load
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import Approximate, Attributes, Bound, Cost, Loss, Pure, require_bound
from sfumato.questions.conversation.beside import model_error
from sfumato.questions.conversation.guesses import ApproximateChecking
from sfumato.questions.conversation.keeping import InLedger, Source, plan_from_json, plan_json
from sfumato.questions.conversation.learner import Learner
from sfumato.questions.conversation.plan import ConversationPlan, Counted
from sfumato.questions.conversation.planning import Method, plan_conversation
from sfumato.questions.conversation.priors import Prior, Start, start_of
from sfumato.questions.conversation.session import Conversation
from sfumato.questions.conversation.support import Support, reduce_support
from sfumato.questions.conversation.tables import require_askable
from sfumato.select.fit import pure_epsilon
from sfumato.table.data import Table
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Rows
from sfumato.workload.floors import possible_rows
from sfumato.workload.records import Records
from sfumato.workload.space import Space

COUNTING = Fraction(1, 50)
"""The part of a spend that buys the number of people where it is not public."""
VERSION = 1
OTHERWISE = (
    "The conversation {name!r} was opened with another schema, domain, spend or state of the data; open it as it was, "
    "or give the new one a name of its own."
)


@dataclass(frozen=True)
class Proposal:
    """A conversation as it is asked for: public facts, and what follows from them."""

    gauge: Gauge
    space: Space
    spend: Bound
    queries: int
    failure: Number
    method: Method
    practical: bool
    surprise: float | None
    start: Start
    support: Mapping[str, Any] | None = None

    @property
    def reads(self) -> Attributes:
        """The attributes that are charged."""
        return self.gauge.charged

    def counting(self) -> AdditiveNoise | None:
        """Return the noisy count of rows where the number is not public."""
        if self.gauge.total is not None:
            return None
        spend = scaled(self.spend, COUNTING)
        bought = Pure(spend.epsilon) if isinstance(spend, Approximate) else spend
        kind, relation = self.gauge.gaussians, self.gauge.relation
        return calibrate(bought, self.gauge.rows, relation=relation, reads=self.reads, gaussians=kind)

    @property
    def talking(self) -> Bound:
        """The spend without what the count of rows costs."""
        return self.spend if self.gauge.total is not None else scaled(self.spend, 1 - COUNTING)

    def plan(self, rows: int, spend: Bound | None = None) -> ConversationPlan:
        """Return the plan for so many rows."""
        counted = self.counting()
        slack = 0 if counted is None else counted.error(0.99)
        if self.support is not None and not self.support["whole"]:
            slack += int(np.ceil(self.support["accuracy"] * rows))
        leaky = isinstance(self.spend, Approximate)
        method = "approximate" if counted and self.method == "auto" and leaky else self.method
        cells = self.space.cells if self.support is None else self.support["draws"]
        plan = plan_conversation(
            spend or self.talking,
            rows,
            cells,
            self.queries,
            self.failure,
            method=method,
            practical=self.practical,
            surprise=self.surprise,
            worst=self.start.surprise if self.support is None or self.support["whole"] else None,
            sensitivity=self.gauge.rows,
            slack=slack,
            relation=self.gauge.relation,
            reads=self.reads,
        )
        # A floor is one for rows that people can have: an age and its decade determine each other.
        return replace(plan, cells=possible_rows(self.space, self.space.names))

    def require_plan(self) -> None:
        """Refuse what has no plan; what has none for one row has none for any number of them, which is paid for."""
        self.plan(max(self.gauge.total or 1, 1))

    def beside(self, plan: ConversationPlan) -> str:
        """Say that a model of the same columns is expected to err less than the plan promises; nothing where it is not.

        It follows from public facts, or from the paid number of rows that the plan was made for.
        """
        found = model_error(self.space.sizes, self.spend, plan.people, self.gauge.rows, self.gauge.relation)
        promised = min(plan.error, 1.0)
        if found is None or found >= promised or plan.verdict == "synthesize":
            return ""
        return (
            f"This conversation promises an error of {promised:.2g}. A model of the same columns at the same spend is "
            f"expected to be off by about {found:.2g} on tables of up to three columns, as far as noise goes: write "
            "curator.synthesize(…), or curator.converse(…, prior='model'), which starts from such a model."
        )

    def losses(self) -> list[Loss]:
        """Return what is reserved, as certificates of which a ledger takes one.

        Where the number of rows is not public the plan waits for it, and all that its spend allows is reserved.
        """
        counted = self.counting()
        if counted is None:
            checking = self.plan(self.gauge.total or 0).checking
            finer = [checking.finer_loss()] if isinstance(checking, ApproximateChecking) else []
            return [self.gauge.charge(loss) for loss in (checking.loss(), *finer)]
        talking = self.talking
        if isinstance(talking, Approximate) and self.method != "pure":
            cost = Cost.leaking(talking.epsilon, talking.delta)
        else:
            cost = Cost.pure(pure_epsilon(talking))
        return [self.gauge.charge(counted.loss() + Loss.flat(cost, self.reads, self.gauge.relation))]

    def begin(self, records: Records, noise: Noise) -> dict[str, Any]:
        """Return the first state: a count of the rows where it is not public, and the secret of the checking."""
        counted = self.counting()
        rows = (self.gauge.total or 0) if counted is None else max(1, int(counted.run(records.total, noise)))
        plan = self.plan(rows)
        return {
            "version": VERSION,
            "plan": plan_json(plan),
            "checking": plan.checking.start(noise),
            "support": self.support,
            "lessons": [],
            "history": [],
            "asked": 0,
            "clean": False,
        }

    def event(self, snapshot: str) -> Event:
        """Return the public record; it is the same whenever the same conversation is opened again."""
        kept = None if self.support is None else {key: part for key, part in self.support.items() if key != "seed"}
        parameters = {
            "domain": list(self.space.names),
            "schema": self.gauge.schema.fingerprint,
            "snapshot": snapshot,
            "people": self.gauge.total,
            "rows": self.gauge.rows,
            "relation": self.gauge.relation,
            "spend": self.spend,
            "queries": self.queries,
            "failure": str(self.failure),
            "method": self.method,
            "practical": self.practical,
            "surprise": None if self.surprise is None else str(self.surprise),
            "prior": self.start.print,
            "support": kept,
        }
        return Event("Conversation", "QR-PMW", parameters, VERSION)


def open_conversation(
    table: Table,
    ledger: Ledger,
    basis: Basis,
    *,
    domain: Iterable[str] | None = None,
    queries: int = 100_000,
    spend: Bound,
    failure: Number = 0.05,
    name: str | None = None,
    analyst: str | None = None,
    practical: bool = True,
    method: Method = "auto",
    surprise: float | None = None,
    prior: Prior | None = None,
    peak: Number | None = None,
    accuracy: Number = 0.05,
    give_up: bool = False,
    compared: bool = False,
    noise: Noise | None = None,
) -> Conversation:
    """Open a conversation about some columns, or go on with the one of this name (QR-PMW, QR-PMWPURE).

    The whole loss is reserved here. Where the plan advises something else, an `AccuracyWarning` says so: before
    anything is reserved if the number of people is public, after the paid count of them if it is not.

    A conversation goes on after a restart, whatever ended it: the ledger holds its model, its corrections and what was
    asked last, and the private directory what is drawn from. Whoever opens it last has it. Only where a step was cut
    short and cannot be drawn here (there is no private directory, or `give_up=True` gives up one that lies elsewhere)
    going on costs one correction. With another schema, domain, spend or state of the data the name is refused.

    `queries` is how many are expected; it decides the error and not the loss. `practical` and `surprise` are as in
    `plan_conversation`. With `peak` the model lives on a sample of the domain (QR-SMOOTH): for domains too large to
    list, and data in which no combination of values holds more than `peak` times its even share.

    `compared` also warns where a model of the same columns is expected to err less than the plan promises (SY-TALK).

    `prior` is where the model starts: a public model, or a law for each of some columns. It must come from elsewhere,
    never from the same data unless they were paid for; a good one saves corrections, a bad one costs some.

    >>> from sfumato import Approximate, Schema, booleans, curate
    >>> import pyarrow
    >>> days = pyarrow.table({"rain": [True, False] * 5000, "wind": [True] * 10000})
    >>> spend = Approximate(2, 1e-6)
    >>> curator = curate(days, Schema({"rain": booleans(), "wind": booleans()}), spend)
    >>> with open_conversation(curator.table, curator.ledger, curator.basis, domain=["rain"], spend=spend) as talk:
    ...     talk.ask("rain = true").error < 0.1
    True
    """
    asked = _proposal(
        basis, domain, spend, prior,
        queries=queries, failure=failure, method=method, practical=practical, surprise=surprise,
    )  # fmt: skip
    space, gauge, start = asked.space, asked.gauge, asked.start
    if peak is not None:
        drawn = reduce_support(asked.space, peak=peak, queries=queries, accuracy=accuracy, noise=noise)
        asked = replace(asked, support=drawn.to_json())
        if prior is not None:
            start.weights()  # refused here, before anything is spent
    wanted = _name(name)
    _require_noise(noise)
    losses, known = asked.losses(), _known(ledger, wanted)
    if not known:
        asked.require_plan()
    if not losses[0].within(asked.spend):
        raise CertificationError(f"This conversation does not provably fit {spend!r}; please report it.")
    if gauge.total is not None:
        _warn_of_leaks(losses[0].person.leak, gauge.total, "people")
        if not known:
            _warn_of_plan(asked.plan(gauge.total), asked if compared else None)
    table.require_unchanged()
    if not known:
        require_askable(space)
        gauge.check(table)
    steps = _opened(ledger, wanted, asked, asked.event(table.snapshot), analyst)
    source = Source(
        basis.schema,
        lambda: Records.of(space, gauge.read(table)),
        new_key if noise is None else lambda: noise.uniform(1 << 256).to_bytes(32, "big"),
        asked.begin,
    )
    keeper = InLedger(steps, source, give_up)
    standing = keeper.resume()
    plan = plan_from_json(standing.state["plan"], asked.reads)
    if gauge.total is None:
        _warn_of_leaks(losses[0].person.leak, plan.people, plan.counted)
        if not known:
            _warn_of_plan(plan, asked if compared else None)
    return Conversation(
        name=wanted,
        plan=plan,
        schema=basis.schema,
        learner=lambda: _learner(asked, plan, standing.state["support"]),
        keeper=keeper,
        standing=standing,
        loss=losses[0],
    )


def check_conversation(
    basis: Basis,
    *,
    domain: Iterable[str] | None,
    queries: int,
    spend: Bound,
    failure: Number = 0.05,
    name: str | None = None,
    practical: bool = True,
    method: Method = "auto",
    surprise: float | None = None,
    noise: Noise | None = None,
    **_: Any,
) -> None:
    """Refuse what no conversation could be opened with, before anything else is paid for it; public facts only."""
    _name(name)
    _require_noise(noise)
    asked = _proposal(
        basis, domain, spend, None,
        queries=queries, failure=failure, method=method, practical=practical, surprise=surprise,
    )  # fmt: skip
    require_askable(asked.space)
    asked.losses()
    asked.require_plan()


def _proposal(
    basis: Basis, domain: Iterable[str] | None, spend: Bound, prior: Prior | None, *, queries: int, **options: Any
) -> Proposal:
    space, count = Space.of(basis.schema, domain), positive_integer(queries, "queries")
    gauge = basis.gauge(Rows(space.names))
    bound = gauge.priced(require_bound(spend))
    return Proposal(gauge, space, bound, count, start=start_of(space, prior), **options)


def _name(name: str | None) -> str:
    """Return the name of a conversation, a fresh one if it has none; it is its request in the ledger."""
    if name is None:
        return new_key()[:16].hex()
    check_id(name)
    return name


def _require_noise(noise: object) -> None:
    if noise is not None and not isinstance(noise, Noise):
        raise ParameterError(f"noise= is a Noise, for tests, and {noise!r} is none; leave it out.")


def _opened(ledger: Ledger, name: str, asked: Proposal, event: Event, analyst: str | None) -> Stepwise:
    load()
    try:
        return ledger.open(
            name,
            event,
            asked.losses(),
            analyst=analyst,
            spend=asked.spend,
            make_loss=lambda part: replace(asked, spend=part).losses()[0],
        )
    except LedgerError as problem:
        if "belongs to another request" not in str(problem):
            raise
    raise LedgerError(OTHERWISE.format(name=name))


def _learner(asked: Proposal, plan: ConversationPlan, support: Mapping[str, Any] | None) -> Learner:
    people, start = plan.people, asked.start
    if support is None or support["whole"]:
        return Learner(start.model(asked.space, people), plan.gain / people, plan.learning_margin / people)
    weights = None if start.print is None else start.weights()
    model = Support(**support).model(asked.space, people, weights)
    return Learner(model, plan.gain / people, plan.learning_margin / people)


def _known(ledger: Ledger, name: str) -> bool:
    """Tell whether there is a conversation of this name to go on with: its advice was given when it was opened."""
    try:
        return ledger.stored(name).state != "reserved"
    except LedgerError:
        return False


def _warn_of_plan(plan: ConversationPlan, compared: Proposal | None) -> None:
    """Say that something else would serve better; where the number of people is private, it has been paid for."""
    for said in (plan.advice if plan.verdict != "converse" else "", compared.beside(plan) if compared else ""):
        if said:
            warn(said)


def _warn_of_leaks(leak: Fraction, number: int, counted: Counted) -> None:
    """Say that delta is so large that a mechanism could show somebody's row; the number is public, or paid for."""
    if leak * number >= 1:
        shown = f"the row of one of the {number} people" if counted == "people" else f"one of the {number} rows"
        warn(
            f"A delta of {float(leak):.2g} is not below 1/{number}: it would allow to show {shown}. Write a delta far "
            f"below, for example {0.01 / number:.1g}."
        )
