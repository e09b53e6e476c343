"""The plan: everything public about a collection, fixed before anybody is asked."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.durable import UNREADABLE, read_bytes
from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.written import rounded
from sfumato.local.items import LONG_ITEM_BITS, Items
from sfumato.local.listed import LIST_PART, ListMethod, MeanMethod
from sfumato.local.method import METHODS, Encoder, Method
from sfumato.local.seed import Seed
from sfumato.local.shapes import check_shapes
from sfumato.local.trust import MOST_SPENT, Validity, require_affordable, require_pinned
from sfumato.local.wire import TAG_BYTES, Wire
from sfumato.privacy import Approximate, Bound, Loss, Pure, bound_from_json, require_bound
from sfumato.words import understood

if TYPE_CHECKING:
    from sfumato.local.client import Client
    from sfumato.local.linear import LinearHash
    from sfumato.local.server import Server

FORMAT, DATED_FORMAT = 1, 2
"""A plan that says when it is valid, or of which epoch it is, has the second one; every other plan the first."""
FOUND = 0.9
"""The probability with which an item of the detectable share is found."""
HOPEFUL = (
    "As items may have more than 12 bytes, that is too hopeful where many of them are all just popular enough (20 of "
    "35 such rivals were found in a simulation of 24 bytes), and intervals of what is found are not promised. Simulate "
    "your own case, or plan for shorter items."
)
LISTED = 1000
"""For a public list of so many candidates a printed plan says what it finds."""


@dataclass(frozen=True)
class Plan:
    """A collection: who is asked what, at which spend, under which seed. Make one with `sfumato.local.plan`.

    `spend` bounds what one device loses over all of its `reports` under this plan. The plan is public. `why` says why
    this method was chosen; a saved plan carries it, but it is no part of what the plan's digest names. `valid` may say
    from which day to which day devices answer it.

    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"])
    >>> plan.report_bytes, plan.loss().person.epsilon <= 1, plan.check("red")
    (6, True, 'red')
    """

    users: int
    spend: Pure
    items: Items
    method: Method
    seed: Seed
    reports: int = 1
    why: str = field(default="", compare=False)
    valid: Validity = field(default_factory=Validity)

    def __post_init__(self) -> None:
        if not self.loss().within(self.spend):
            spent = rounded(self.loss().person.epsilon, up=True, digits=6)
            raise ParameterError(
                f"The coins of this plan spend {spent}, more than its spend {self.spend!r}; do not use it."
            )
        check_shapes(self)

    def loss(self) -> Loss:
        """Return what one device loses, with all of its reports together: exact, from the integers of the coins."""
        return self.reports * self.report_loss()

    def report_loss(self) -> Loss:
        """Return what one report costs: as much as the dearest role, for a device serves one only (C-SPLIT)."""
        different = {role.oracle: None for role in self.method.roles}
        return max((oracle.loss() for oracle in different), key=lambda loss: loss.person.epsilon)

    def shuffled(self, honest: int | None = None, delta: Number | None = None, *, linked: bool = True) -> Approximate:
        """Return what one person loses towards whoever sees only the shuffled reports (LO-SHUFFLE).

        Relation: the person takes part either way, with one item or another. `honest` is a lower bound, fixed before,
        on how many different devices, the person's own included, follow this very plan and reach the same batch once;
        it is not the number of users. It needs a relay that does all that docs/local.md says, and whom everybody
        trusts; towards the relay itself, and in every ledger, the local epsilon stays. With `reports` above 1, say
        `linked=False` only if the reports of one device have nothing in common that shows they are of one device.

        >>> from sfumato import Pure, domain, local
        >>> plan = local.plan(users=100_000, spend=Pure(4), items=domain.integers(0, 2**32 - 1), seed=bytes(32))
        >>> f"{float(plan.shuffled(honest=100_000, delta=1e-8).epsilon):.2f}"
        '0.22'
        """
        from sfumato.local.shuffle import checked, shuffled_loss

        devices, leak = checked(honest, delta, self.users)
        odds = max(role.oracle.odds for role in self.method.roles)
        local = self.loss().person.epsilon
        assert isinstance(local, Fraction)
        together = shuffled_loss(odds**self.reports, local, devices, leak)
        if linked or self.reports == 1:
            return together
        each = shuffled_loss(odds, local / self.reports, devices, leak / self.reports)
        return min(together, Approximate(self.reports * each.epsilon, leak), key=lambda bound: bound.epsilon)

    @understood
    def client(self, *, each: Bound = MOST_SPENT, pinned: Collection[str] | None = None) -> Client:
        """Return what a device runs, unless the plan costs it more than `each`, all of its reports together.

        `pinned` are the digests of the plans, as hexadecimal text, that the device may answer: ship them with its
        program. Without them whoever publishes plans can give every device a plan, and so a mark, of its own.
        """
        from sfumato.local.client import Client

        most = require_bound(each)
        if not isinstance(most, Pure):
            raise ParameterError(f"each= is a pure bound, not {most!r}; write for example each=Pure(8).")
        require_affordable(self, most)
        require_pinned(self, pinned)
        return Client(plan=self, pinned=pinned is not None)

    def server(self) -> Server:
        """Return an empty sketch that takes reports."""
        from sfumato.local.server import Server

        return Server(self)

    def check(self, item: Any) -> Any:
        """Return the item as a server would show it, or refuse with the reason why it does not fit.

        For developers, with made-up items. A refusal tells about the item; a client never refuses.
        """
        return self.items.value(self.items.strict(item))

    @property
    def detectable(self) -> float:
        """The share of an item that is found with probability 0.9, if all users report."""
        return self.detectable_at(FOUND)

    @property
    def expected_error(self) -> float:
        """The largest standard error that the mean can have, whatever the numbers are, if all users report."""
        from sfumato.local.means import expected_error

        if not isinstance(self.method, MeanMethod):
            raise ParameterError("Only a plan with numbers= has the error of a mean; ask this one for detectable.")
        return expected_error(self)

    @property
    def floor(self) -> float:
        """The share that no protocol can find: on some data every one of one round errs by as much (LB-BAYES)."""
        from sfumato.bounds import local_count_floor

        return local_count_floor(self.users, self.spend.epsilon).value / self.users

    def detectable_at(self, probability: Number) -> float:
        """Return the share of an item that is found with this probability."""
        chance = float(between_zero_and_one(probability, "probability"))
        return self.method.detectable(self.users * self.reports, chance)

    def detectable_listed(self, candidates: int, probability: Number = FOUND) -> float:
        """Return the share of a candidate that `popular(candidates=…)` lists with this probability, of so many.

        It is reckoned for a candidate that shares no beginning with another one, and for what `popular` gives a list of
        `false_items`.
        """
        from sfumato.local.cutoffs import listed_share

        chance = between_zero_and_one(probability, "probability")
        oracle, log_chance = self._listing(candidates)
        return listed_share(oracle, self._counting, log_chance, float(chance))

    def forgeable_listed(self, candidates: int) -> float:
        """Return the part of the reports that suffices, if made up, to list one of so many candidates falsely.

        That is less than `forgeable` says of the open search, as the cut of a list is lower: about every second time.
        """
        from sfumato.local.cutoffs import cutoff

        oracle, log_chance = self._listing(candidates)
        return oracle.signal * cutoff(oracle, self._counting, log_chance) / (self.users * self.reports)

    def _listing(self, candidates: int) -> tuple[LinearHash, float]:
        """Return the oracle by which a list of so many is read, and the logarithm of the chance that each has."""
        from sfumato.local.linear import LinearHash

        count = positive_integer(candidates, "candidates")
        if isinstance(self.method, MeanMethod):
            raise ParameterError("A plan with numbers= has a mean and lists no items; ask for expected_error.")
        oracle = self.method.roles[-1].oracle
        if not self.searches or not isinstance(oracle, LinearHash):
            raise ParameterError("This plan has a list of its own; ask for detectable_at(probability).")
        return oracle, math.log(self.method.false_items * LIST_PART / count)

    @property
    def _counting(self) -> int:
        """How many of the planned reports speak of whole items or their prefixes."""
        from sfumato.local.tree import TreeMethod

        shares = [role.share for role in self.method.roles]
        counting = sum(shares if isinstance(self.method, TreeMethod) else shares[-2:])
        return self.users * self.reports * counting // sum(shares)

    @property
    def influence(self) -> float:
        """How many users one made-up report counts for, at most, in the share of an item (LO-FORGED).

        Of an item that begins like others that are asked with it it is a little more: `PopularItem.influence` says it.
        """
        oracle = self.method.roles[-1].oracle
        used = self._counting / (self.users * self.reports)
        return 1 / (oracle.signal * used)

    @property
    def searches(self) -> bool:
        """Whether popular items are searched for, so that a public list can be given when the reports are read."""
        from sfumato.local.linear import LinearHash

        return not isinstance(self.method, ListMethod) and isinstance(self.method.roles[-1].oracle, LinearHash)

    @property
    def hopeful(self) -> bool:
        """Whether items are so long that what is said of finding them, and their intervals, may be too hopeful."""
        return not isinstance(self.method, ListMethod) and self.items.bits > LONG_ITEM_BITS

    @property
    def forgeable(self) -> float | None:
        """The part of the reports that suffices, if made up, to list an item that nobody holds; None if not stated."""
        return self.method.forgeable(self.users * self.reports)

    @cached_property
    def encoder(self) -> Encoder:
        """Items as points, under the seed."""
        return self.method.encoder(self.seed, self.items)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the reports of each role begin among all numbers, and where the last ones end."""
        sizes = [role.oracle.outcomes for role in self.method.roles]
        return (0, *np.cumsum(sizes).tolist())

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The running sums of the shares."""
        return (0, *np.cumsum([role.share for role in self.method.roles]).tolist())

    @cached_property
    def even(self) -> int:
        """The number of outcomes of every role, or 0 if they differ."""
        sizes = {role.oracle.outcomes for role in self.method.roles}
        return sizes.pop() if len(sizes) == 1 else 0

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the plan's JSON, keys sorted and no spaces."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()

    @cached_property
    def wire(self) -> Wire:
        """The format of the reports."""
        return Wire(self.digest[:TAG_BYTES], self.offsets[-1])

    @property
    def report_bytes(self) -> int:
        """The length of a report."""
        return self.wire.report_bytes

    @property
    def sketch_bytes(self) -> int:
        """The memory of a server."""
        return 8 * self.offsets[-1]

    @property
    def decoding_bytes(self) -> int:
        """The memory that decoding takes beside the sketch, at most."""
        from sfumato.local.memory import decoding_bytes

        return decoding_bytes(self)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON; the same plan always gives the same text, which its digest names."""
        return {
            "format": DATED_FORMAT if self.valid.to_json() else FORMAT,
            **self.valid.to_json(),
            "users": self.users,
            "spend": self.spend.to_json(),
            "reports": self.reports,
            "items": self.items.to_json(),
            "method": self.method.to_json(),
            "seed": self.seed.value.hex(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Plan:
        """Read what `to_json` wrote, and check that its coins keep its spend."""
        try:
            if record["format"] not in (FORMAT, DATED_FORMAT):
                raise ParameterError(
                    f"This plan has format {str(record['format'])[:20]!r}, and this version reads {FORMAT} and "
                    f"{DATED_FORMAT}; install the version of sfumato that made it, or make the plan again."
                )
            valid = Validity.from_json(record)
            if (record["format"] == DATED_FORMAT) != bool(valid.to_json()):
                raise ParameterError("A plan of format 2 says when it is valid, and one of format 1 does not.")
            spend = bound_from_json(dict(record["spend"]))
            if not isinstance(spend, Pure):
                raise ParameterError(
                    f"The spend of a local plan is pure, and this one says {spend!r}; make it again with for example "
                    "spend=Pure(2)."
                )
            method = METHODS[record["method"]["kind"]].from_json(record["method"])
            seed = Seed(bytes.fromhex(record["seed"]))
            why = str(record.get("why", ""))
            items = Items.from_json(record["items"])
            made = cls(record["users"], spend, items, method, seed, record["reports"], why, valid)
            if record.get("tag", made.wire.tag.hex()) != made.wire.tag.hex():
                raise ParameterError(
                    "This plan was changed after it was saved: its tag does not belong to it. Take another copy."
                )
            return made
        except SfumatoError:
            raise
        except Exception as reason:
            # Whatever is wrong with it is public, and is told in one way.
            raise ParameterError(
                f"This is no plan ({type(reason).__name__} at {str(reason)[:60]}); take what Plan.save wrote."
            ) from None

    def to_record(self) -> dict[str, Any]:
        """Return what a saved plan holds: its JSON, the tag that its reports carry, and why its method was chosen."""
        return {**self.to_json(), "tag": self.wire.tag.hex(), **({"why": self.why} if self.why else {})}

    @understood
    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON text, with the tag that its reports carry."""
        target = Path(path)
        target.write_text(json.dumps(self.to_record(), indent=1) + "\n", encoding="utf-8")
        return target

    def _forging(self) -> str:
        counted = f"{self.influence:.3g}"
        said = f"A made-up report counts as at most {counted} user{'' if counted == '1' else 's'}"
        if self.searches:
            said += " (beside items that begin alike: as many as the share says)"
        if self.forgeable is None:
            return f"{said}."
        return f"{said}; {self.forgeable:.2%} of all reports, made up, can list an item that nobody holds."

    def _items_said(self) -> list[str]:
        lines = [f"An item of {self.detectable:.3%} of the users is found with probability {FOUND:.0%}."]
        if self.hopeful:
            lines.append(HOPEFUL)
        if self.searches:
            listed = self.detectable_listed(LISTED)
            lines.append(
                f"Of a public list of {LISTED} that is given at reading, one of {listed:.3%} is found as surely."
            )
        floor = f"No protocol can find a share below {self.floor:.3%} among so many users at this spend."
        return [*lines, floor, self._forging()]

    def _mean_said(self) -> str:
        from sfumato.local.means import ends

        low, high = ends(self)
        error = self.expected_error
        return (
            f"The mean will have a standard error of at most {error:.3g}, which is {error / (high - low):.3%} of the "
            f"range from {low:g} to {high:g}. A number that does not fit sends noise, which counts as "
            f"{(low + high) / 2:g}: round numbers and cut them to the range on the device."
        )

    def __str__(self) -> str:
        plural = "s" if self.reports > 1 else ""
        send = "user sends" if self.users == 1 else "users send"
        loss = rounded(self.loss().person.epsilon, up=True, digits=6)
        lines = [
            f"{self.users} {send} {self.reports} report{plural} of {self.report_bytes} bytes each.",
            f"One device loses at most epsilon {loss}. {self.spend.explain()}",
        ]
        lines += [self._mean_said()] if isinstance(self.method, MeanMethod) else self._items_said()
        if self.why:
            lines.append(self.why)
        if self.valid.to_json():
            lines.append(str(self.valid))
        sketch, decoding = (size / 2**20 for size in (self.sketch_bytes, self.decoding_bytes))
        return "\n".join([*lines, f"A server needs {sketch:.1f} MiB, and to decode at most {decoding:.0f} MiB more."])


def read_plan(path: str | Path) -> Plan:
    """Read a plan that was saved.

    >>> import tempfile
    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     local.read_plan(plan.save(f"{place}/colours.plan")) == plan
    True
    """
    try:
        record = json.loads(read_bytes(path, "plan").decode("utf-8-sig"))
    except SfumatoError:
        raise
    except UNREADABLE:
        raise ParameterError(f"{Path(path).name} is no plan: it is no JSON text. Take what Plan.save wrote.") from None
    return Plan.from_json(record)
