"""The plan: everything public about a collection, fixed before anybody is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import Number, between_zero_and_one
from sfumato.exact.rational import show
from sfumato.local.durable import UNREADABLE, read_bytes
from sfumato.local.items import Items
from sfumato.local.listed import MeanMethod
from sfumato.local.method import METHODS, Encoder, Method
from sfumato.local.seed import Seed
from sfumato.local.shapes import check_shapes
from sfumato.local.wire import TAG_BYTES, Wire
from sfumato.privacy import Loss, Pure, bound_from_json

if TYPE_CHECKING:
    from sfumato.local.client import Client
    from sfumato.local.server import Server

FORMAT = 1
FOUND = 0.9
"""The probability with which an item of the detectable share is found."""


@dataclass(frozen=True)
class Plan:
    """A collection: who is asked what, at which spend, under which seed. Make one with `sfumato.local.plan`.

    `spend` bounds what one device loses over all of its `reports` under this plan. The plan is public. `why` says why
    this method was chosen; a saved plan carries it, but it is no part of what the plan's digest names.

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

    def __post_init__(self) -> None:
        if not self.loss().within(self.spend):
            raise ParameterError(
                f"The coins of this plan spend {show(self.loss().person.epsilon)}, more than its spend {self.spend!r}; "
                "do not use it."
            )
        check_shapes(self)

    def loss(self) -> Loss:
        """Return what one device loses, with all of its reports together: exact, from the integers of the coins."""
        return self.reports * self.report_loss()

    def report_loss(self) -> Loss:
        """Return what one report costs: as much as the dearest role, for a device serves one only (C-SPLIT)."""
        different = {role.oracle: None for role in self.method.roles}
        return max((oracle.loss() for oracle in different), key=lambda loss: loss.person.epsilon)

    def client(self) -> Client:
        """Return what a device runs."""
        from sfumato.local.client import Client

        return Client(plan=self)

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
    def floor(self) -> float:
        """The share that no protocol can find: on some data every one of one round errs by as much (LB-BAYES)."""
        from sfumato.bounds import local_count_floor

        return local_count_floor(self.users, self.spend.epsilon).value / self.users

    def detectable_at(self, probability: Number) -> float:
        """Return the share of an item that is found with this probability."""
        chance = float(between_zero_and_one(probability, "probability"))
        return self.method.detectable(self.users * self.reports, chance)

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
            "format": FORMAT,
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
            if record["format"] != FORMAT:
                raise ParameterError(
                    f"This plan has format {str(record['format'])[:20]!r}, and this version reads {FORMAT}; install "
                    "the version of sfumato that made it, or make the plan again."
                )
            spend = bound_from_json(dict(record["spend"]))
            if not isinstance(spend, Pure):
                raise ParameterError(
                    f"The spend of a local plan is pure, and this one says {spend!r}; make it again with for example "
                    "spend=Pure(2)."
                )
            method = METHODS[record["method"]["kind"]].from_json(record["method"])
            seed = Seed(bytes.fromhex(record["seed"]))
            why = str(record.get("why", ""))
            made = cls(record["users"], spend, Items.from_json(record["items"]), method, seed, record["reports"], why)
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

    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON text, with the tag that its reports carry."""
        target = Path(path)
        target.write_text(json.dumps(self.to_record(), indent=1) + "\n", encoding="utf-8")
        return target

    def __str__(self) -> str:
        plural = "s" if self.reports > 1 else ""
        lines = [
            f"{self.users} users send {self.reports} report{plural} of {self.report_bytes} bytes each.",
            f"One device loses at most epsilon {show(self.loss().person.epsilon)}. {self.spend.explain()}",
        ]
        if not isinstance(self.method, MeanMethod):
            lines.append(f"An item of {self.detectable:.3%} of the users is found with probability {FOUND:.0%}.")
            lines.append(f"No protocol can find a share below {self.floor:.3%} among so many users at this spend.")
        if self.why:
            lines.append(self.why)
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
        record = json.loads(read_bytes(path, "plan").decode("utf-8"))
    except SfumatoError:
        raise
    except UNREADABLE:
        raise ParameterError(f"{Path(path).name} is no plan: it is no JSON text. Take what Plan.save wrote.") from None
    return Plan.from_json(record)
