"""A known list of candidates, and the mean of a bounded number: one role, one oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import between_zero_and_one, positive_integer
from sfumato.local.hadamard import hadamard_response
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.memory import LISTED
from sfumato.local.method import Method, Role, oracle_from_json
from sfumato.local.oracle import Oracle
from sfumato.local.response import mean_response, response
from sfumato.local.seed import Seed, words
from sfumato.privacy import Pure
from sfumato.words import one_of

if TYPE_CHECKING:
    from sfumato.local.evidence import Find
    from sfumato.local.server import Server

MOST_CANDIDATES = 1 << 20
FALSE_ITEMS = 0.05
"""The probability of a listed candidate that nobody holds, unless a plan says another one."""
LIST_PART = 0.9
"""The part of `false_items` that a list gets beside a search. The cut of a search among 2^bits items hardly moves with
its chance, that of a list does: at 97 bits and 5000 candidates the one rises by 1 %, the other falls by 3 %."""
ORACLES = ("best", "response", "linear", "hadamard")


@dataclass(frozen=True, kw_only=True)
class ListMethod(Method):
    """The share of every candidate of a list, by one oracle.

    `false_items` is the probability that `popular()` lists a candidate that nobody holds.
    """

    kind: ClassVar[str] = "list"

    oracle: Oracle
    candidates: int
    false_items: float = FALSE_ITEMS

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """Everybody."""
        return (Role(1, self.oracle),)

    def encoder(self, seed: Seed, items: Items) -> ListEncoder:
        """Return the places of the candidates, hashed where the oracle hashes."""
        return ListEncoder(self.oracle, seed.key("candidate"), items.bits)

    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return the memory of the transformed table and of the list."""
        return 2 * cell * self.largest_oracle + LISTED * self.candidates

    def detectable(self, reports: int, probability: float) -> float:
        """Return the share that differs from zero, over all candidates at once, with this probability."""
        from scipy.special import ndtri

        level = float(-ndtri(self.false_items / max(1, self.candidates)))
        return (level + float(ndtri(probability))) * self.oracle.deviation(reports) / reports

    def search(self, server: Server, false_items: float) -> list[Find]:
        """Refuse: every candidate is read, and none has to be searched for."""
        raise ParameterError("A plan with candidates= searches for nothing; ask for shares() or popular().")

    def to_json(self) -> dict[str, Any]:
        """Return the oracle, the number of candidates, and the chance of a false one where it is not the usual one."""
        record = {"kind": self.kind, "candidates": self.candidates, "oracle": self.oracle.to_json()}
        # Left out where it is the usual one: plans that were made before it could be said keep their digest.
        return record if self.false_items == FALSE_ITEMS else {**record, "false_items": self.false_items}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ListMethod:
        """Read what `to_json` wrote."""
        return cls(
            oracle=oracle_from_json(record["oracle"]),
            candidates=record["candidates"],
            false_items=record.get("false_items", FALSE_ITEMS),
        )


class MeanMethod(ListMethod):
    """The mean of a number between public bounds."""

    kind: ClassVar[str] = "mean"

    def detectable(self, reports: int, probability: float) -> float:
        """Refuse: there are no items to be found."""
        raise ParameterError("A plan with numbers= has a mean and finds no items; ask for expected_error.")

    def search(self, server: Server, false_items: float) -> list[Find]:
        """Refuse: there are no items to be found."""
        raise ParameterError("A plan with numbers= has a mean and no items; ask for mean().")

    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return nothing: a mean is read as it is."""
        return 0


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


def list_method(spend: Pure, candidates: int, method: str = "best", *, false_items: float = FALSE_ITEMS) -> ListMethod:
    """Return the method for a list; by default with the oracle of the smallest error.

    >>> from sfumato import Pure
    >>> list_method(Pure(1), 3).oracle.kind, list_method(Pure(1), 5000).oracle.kind
    ('response', 'linear')
    """
    candidates = positive_integer(candidates, "candidates")
    chance = float(between_zero_and_one(false_items, "false_items"))
    one_of("method", method, ORACLES)
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
    if method != "best":
        return ListMethod(oracle=makers[method](), candidates=candidates, false_items=chance)
    chosen: Oracle = min((makers["response"](), makers["linear"]()), key=lambda one: one.deviation(1.0))
    return ListMethod(oracle=chosen, candidates=candidates, false_items=chance)


def mean_method(spend: Pure, steps: int) -> MeanMethod:
    """Return the method for a mean over a grid of `steps` steps."""
    return MeanMethod(oracle=mean_response(spend, steps), candidates=2)
