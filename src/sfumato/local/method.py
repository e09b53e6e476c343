"""The shape of a method: what each device is asked, and how all answers are read.

A method is public and frozen. Its devices are split into roles: each device draws one role by the integer shares,
never looking at its item, and answers with that role's oracle only, so the whole costs what one oracle costs
(C-SPLIT). An `Encoder` turns an item into the point of a role's oracle; it holds the public randomness.

To add a method: subclass `Method` with a `kind`, give it `roles`, an encoder and a search, add its room to `METHODS`,
and its maker to `choice.MAKERS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato.local.hadamard import HadamardResponse
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash
from sfumato.local.oracle import Oracle
from sfumato.local.response import MeanResponse, Response
from sfumato.local.seed import Seed
from sfumato.registry import Registry

if TYPE_CHECKING:
    from sfumato.local.evidence import Find
    from sfumato.local.server import Server

METHODS: Registry[type[Method]] = Registry(
    "method of a plan",
    "methods",
    {
        "tree": "sfumato.local.tree",
        "list": "sfumato.local.listed",
        "mean": "sfumato.local.listed",
        "expander": "sfumato.papers.heavy_hitters.expander",
        "bitstogram": "sfumato.papers.heavy_hitters.bitstogram",
    },
)
"""What a stored plan may name; a method registers itself under its kind."""

ORACLES: dict[str, type[Oracle]] = {one.kind: one for one in (LinearHash, HadamardResponse, Response, MeanResponse)}


def oracle_from_json(record: Mapping[str, Any]) -> Oracle:
    """Read an oracle of a plan."""
    return ORACLES[record["kind"]].from_json(record)


@dataclass(frozen=True)
class Role:
    """One part of the devices: `share` of them out of the sum of all shares, and the oracle that they answer with."""

    share: int
    oracle: Oracle


class Encoder(Protocol):
    """Items as points of the oracles."""

    def point(self, code: int, role: int) -> Any:
        """Return the point of one item under one role."""
        ...

    def points(self, rows: Any, role: int) -> Any:
        """Return the points of many items, given as rows of bytes."""
        ...


class Method(ABC):
    """What the devices are asked."""

    kind: ClassVar[str]
    """The word for it in a plan."""
    false_items: float = 0.05
    """The probability that an item is listed that nobody holds."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        METHODS.add(cls.kind, cls)

    @property
    @abstractmethod
    def roles(self) -> tuple[Role, ...]:
        """The parts of the devices."""

    @abstractmethod
    def encoder(self, seed: Seed, items: Items) -> Encoder:
        """Return the encoder under a seed."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the method for a plan."""

    @classmethod
    @abstractmethod
    def from_json(cls, record: Mapping[str, Any]) -> Method:
        """Read what `to_json` wrote."""

    @abstractmethod
    def detectable(self, reports: int, probability: float) -> float:
        """Return the share of an item that is found with this probability among so many reports."""

    @abstractmethod
    def search(self, server: Server, false_items: float) -> list[Find]:
        """Return what a sketch shows to be popular; an item that nobody holds at most with this probability."""

    @abstractmethod
    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return the memory that reading a sketch takes beside it; `cell` bytes a count, `row_bytes` an item."""

    @property
    def largest_oracle(self) -> int:
        """The outcomes of the oracle that has most."""
        return max(role.oracle.outcomes for role in self.roles)

    def guaranteed(self, reports: int, probability: float) -> float:
        """Return the share found with this probability if all others hold rivals as popular, by the method's rule."""
        return self.detectable(reports, probability)

    def forgeable(self, reports: int) -> float | None:
        """Return the part of so many reports that can list an item which nobody holds, or None if it is not stated."""
        return None

    def expected(self, reports: int, probability: float) -> float:
        """Return the share found with this probability if popularity falls as 1/rank over 10^5 items."""
        return self.guaranteed(reports, probability)
