"""A known list of candidates, and the mean of a bounded number: one role, one oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge
from sfumato.local.hadamard import hadamard_response
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.method import Method, Role, oracle_from_json
from sfumato.local.oracle import Oracle
from sfumato.local.response import mean_response, response
from sfumato.local.seed import Seed, words
from sfumato.privacy import Pure

if TYPE_CHECKING:
    from sfumato.local.popular import Popular
    from sfumato.local.server import Server

MOST_CANDIDATES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ListMethod(Method):
    """The share of every candidate of a list, by one oracle."""

    kind: ClassVar[str] = "list"

    oracle: Oracle
    candidates: int

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """Everybody."""
        return (Role(1, self.oracle),)

    def encoder(self, seed: Seed, items: Items) -> ListEncoder:
        """Return the places of the candidates, hashed where the oracle hashes."""
        return ListEncoder(self.oracle, seed.key("candidate"), items.bits)

    def detectable(self, reports: int, probability: float) -> float:
        """Return the share that differs from zero, over all candidates at once, with this probability."""
        from scipy.special import ndtri

        level = float(-ndtri(0.05 / max(1, self.candidates)))
        return (level + float(ndtri(probability))) * self.oracle.deviation(reports) / reports

    def search(self, server: Server, false_items: float) -> Popular:
        """Return the candidates whose share is above zero beyond noise."""
        return server.shares().popular(false_items)

    def to_json(self) -> dict[str, Any]:
        """Return the oracle and the number of candidates."""
        return {"kind": self.kind, "candidates": self.candidates, "oracle": self.oracle.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ListMethod:
        """Read what `to_json` wrote."""
        return cls(oracle=oracle_from_json(record["oracle"]), candidates=record["candidates"])


class MeanMethod(ListMethod):
    """The mean of a number between public bounds."""

    kind: ClassVar[str] = "mean"


class ListEncoder:
    """Candidates by their place in the list."""

    def __init__(self, oracle: Oracle, key: bytes, bits: int) -> None:
        self.hashed = oracle.symbol_bits if isinstance(oracle, LinearHash) else 0
        self.key = key
        self.bits = bits

    def point(self, code: int, role: int) -> Any:
        """Return the place, or its hash."""
        return words(self.key, code.to_bytes(4, "big")) if self.hashed else code

    def points(self, rows: Any, role: int) -> Any:
        """Return the places in rows of bytes, or their hashes."""
        numbers = np.zeros(len(rows), dtype=np.int64)
        for place in range(rows.shape[1]):
            numbers = numbers << 8 | rows[:, place]
        return self.places(numbers >> (8 * rows.shape[1] - self.bits))

    def places(self, numbers: Any) -> Any:
        """Return the points of candidates given by their places."""
        if not self.hashed:
            return numbers
        from sfumato.local.kernels.hashing import digest_rows

        rows = np.asarray(numbers).astype(">u4").view(np.uint8).reshape(-1, 4)
        return digest_rows(self.key, rows, self.hashed)


def list_method(spend: Pure, candidates: int, oracle: str = "best") -> ListMethod:
    """Return the method for a list; by default with the oracle of the smallest error."""
    if candidates > MOST_CANDIDATES:
        raise DomainTooLarge(
            f"A list of {candidates} candidates is too long to estimate one by one; leave candidates= out and give "
            "items=, which finds the popular ones.",
            method="items=",
        )
    makers: dict[str, Any] = {
        "response": lambda: response(spend, max(2, candidates)),
        "linear": lambda: linear_hash(spend, min(max(16 * candidates, 1 << 10).bit_length(), 24)),
        "hadamard": lambda: hadamard_response(spend, candidates),
    }
    if oracle != "best":
        return ListMethod(oracle=makers[oracle](), candidates=candidates)
    chosen: Oracle = min((makers["response"](), makers["linear"]()), key=lambda one: one.deviation(1.0))
    return ListMethod(oracle=chosen, candidates=candidates)


def mean_method(spend: Pure, steps: int) -> MeanMethod:
    """Return the method for a mean over a grid of `steps` steps."""
    return MeanMethod(oracle=mean_response(spend, steps), candidates=2)
