"""BITSTOGRAM: every bit of the items of a bucket by majority, with the best oracle; a baseline.

The devices are split over repetitions and bits. A device reports the bucket of its item together with one bit of it.
In each bucket the likelier value of every bit makes up one candidate; the last two parts confirm and estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.local.choice import MAKERS
from sfumato.local.confirm import (
    Shares,
    WholeItems,
    confirm,
    confirmed_with,
    even_shares,
    make_roles,
    smallest_share,
    split_reports,
)
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.memory import CANDIDATE
from sfumato.local.method import Method, Role
from sfumato.local.seed import Seed, words
from sfumato.privacy import Pure

if TYPE_CHECKING:
    from sfumato.local.evidence import Find
    from sfumato.local.server import Server

MOST_GROUPS = 1 << 15
MOST_BITS = 256
BUCKET_BITS = range(6, 15)
FAILURE, TRY_FAILURE = 0.1, 0.25
"""How often an item may be missed in all repetitions, and in one of them."""


@dataclass(frozen=True, kw_only=True)
class BitstogramMethod(Method):
    """Popular items, bit by bit in buckets.

    `repetitions` times `item_bits` roles report a bit with its bucket out of 2^`bucket_bits`; two more confirm and
    estimate. All of them use the same oracle.
    """

    kind: ClassVar[str] = "bitstogram"

    oracle: LinearHash
    item_bits: int
    bucket_bits: int
    shares: Shares
    repetitions: int = 1
    false_items: float = 0.05

    def __post_init__(self) -> None:
        if min(self.item_bits, self.repetitions) < 1 or not 0 <= self.bucket_bits <= 20:
            raise ParameterError("item_bits and repetitions are at least 1, and bucket_bits lies between 0 and 20.")
        if self.groups > MOST_GROUPS:
            raise ParameterError(f"repetitions times item_bits is at most {MOST_GROUPS}; repeat less often.")

    @property
    def groups(self) -> int:
        """The number of roles that report a bit."""
        return self.repetitions * self.item_bits

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """One for each bit and repetition, one to confirm, one to estimate."""
        return make_roles(self.oracle, self.oracle, self.groups, self.shares)

    def encoder(self, seed: Seed, items: Items) -> BitstogramEncoder:
        """Return the hashes."""
        if items.bits != self.item_bits:
            raise ParameterError(
                f"This method is for items of {self.item_bits} bits, and these have {items.bits}; write "
                f"bitstogram_method(spend, {items.bits}, reports)."
            )
        return BitstogramEncoder(self, seed, items)

    def search(self, server: Server, false_items: float) -> list[Find]:
        """Read one candidate from every bucket of every repetition, and confirm."""
        encoder = server.plan.encoder
        assert isinstance(encoder, BitstogramEncoder)
        codes = [code for number in range(self.repetitions) for code in _majorities(server, self, encoder, number)]
        return confirm(server, encoder.whole, self.oracle, codes if server.accepted else [], false_items)

    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return the memory of the largest table, twice as much to arrange it, and of all candidates."""
        return 3 * cell * self.largest_oracle + CANDIDATE * (self.repetitions << self.bucket_bits)

    def detectable(self, reports: int, probability: float) -> float:
        """Return the share of which all bits are right in some repetition, and which is confirmed."""
        return _detectable(self, reports, probability, rivals=False)

    def guaranteed(self, reports: int, probability: float) -> float:
        """Return the share found if all other devices hold rivals as popular: a bucket that is shared is lost."""
        return _detectable(self, reports, probability, rivals=True)

    def to_json(self) -> dict[str, Any]:
        """Return oracle and sizes."""
        names = ("item_bits", "bucket_bits", "repetitions", "false_items")
        sizes = {name: getattr(self, name) for name in names}
        return {"kind": self.kind, "oracle": self.oracle.to_json(), "shares": list(self.shares), **sizes}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BitstogramMethod:
        """Read what `to_json` wrote."""
        from sfumato.local.method import oracle_from_json

        oracle = oracle_from_json(record["oracle"])
        if not isinstance(oracle, LinearHash):
            raise ParameterError('A bitstogram asks by linear hashing; give it an oracle of the kind "linear".')
        sizes = {name: value for name, value in record.items() if name not in ("kind", "oracle", "shares")}
        return cls(oracle=oracle, shares=tuple(record["shares"]), **sizes)


class BitstogramEncoder:
    """Items as hashes of bucket and bit, or of the whole item."""

    def __init__(self, method: BitstogramMethod, seed: Seed, items: Items) -> None:
        self.method = method
        self.whole = WholeItems(seed, items)
        self._buckets = [seed.key("bucket", number) for number in range(method.repetitions)]
        self._cells = [seed.key("bit", role) for role in range(method.groups)]
        self._mask = (1 << method.bucket_bits) - 1

    def point(self, code: int, role: int) -> tuple[int, ...]:
        """Return the hash of one item's bucket and bit."""
        if role >= self.method.groups:
            return self.whole.point(code, role - self.method.groups)
        number, place = divmod(role, self.method.item_bits)
        bucket = words(self._buckets[number], self.whole.row(code))[0] & self._mask
        bit = code >> (self.method.item_bits - 1 - place) & 1
        return words(self._cells[role], (bucket << 1 | bit).to_bytes(4, "big"))

    def points(self, rows: Any, role: int) -> Any:
        """Return the hashes of many items."""
        from sfumato.local.kernels.hashing import digest_rows

        if role >= self.method.groups:
            return self.whole.points(rows, role - self.method.groups)
        number, place = divmod(role, self.method.item_bits)
        buckets = digest_rows(self._buckets[number], rows, 1)[:, 0].astype(np.int64) & self._mask
        bits = rows[:, place // 8] >> (7 - place % 8) & 1
        return self.cells(role)[buckets << 1 | bits]

    def cells(self, role: int) -> Any:
        """Return the hashes of all buckets with either bit."""
        from sfumato.local.kernels.hashing import digest_rows

        numbers = np.arange(2 << self.method.bucket_bits, dtype=">u4")
        return digest_rows(self._cells[role], numbers.view(np.uint8).reshape(-1, 4), 8)


def _majorities(server: Server, method: BitstogramMethod, encoder: BitstogramEncoder, number: int) -> list[int]:
    """Return the candidate of every bucket."""
    codes = [0] * (1 << method.bucket_bits)
    for place in range(method.item_bits):
        role = number * method.item_bits + place
        counts = method.oracle.reader(server.tally(role)).counts(encoder.cells(role)).reshape(-1, 2)
        ones = (counts[:, 1] > counts[:, 0]).tolist()
        codes = [code << 1 | one for code, one in zip(codes, ones, strict=True)]
    return codes


@lru_cache(maxsize=256)
def _detectable(method: BitstogramMethod, reports: int, probability: float, *, rivals: bool) -> float:
    from scipy.special import ndtr

    each, checking = split_reports(reports, method.groups, method.shares)
    candidates = method.repetitions << method.bucket_bits

    def recall(share: float) -> float:
        held = share * each
        error = math.sqrt(method.oracle.deviation(each, held) ** 2 + method.oracle.deviation(each) ** 2 + held)
        once = float(ndtr(held / error)) ** method.item_bits
        if rivals:
            # One in 2^bucket_bits of the 1/share rivals falls into the same bucket.
            once *= math.exp(-1 / (max(share, 1e-12) * (1 << method.bucket_bits)))
        confirmed = confirmed_with(method.oracle, checking, candidates, method.false_items, share)
        return (1 - (1 - once) ** method.repetitions) * confirmed

    return smallest_share(recall, probability)


def bitstogram_method(spend: Pure, bits: int, reports: int, *, false_items: float = 0.05) -> BitstogramMethod:
    """Return the bitstogram for items of so many bits and about so many reports.

    There are about sqrt(reports) / 0.25 buckets, and log(1/0.1) / log(1/0.25) repetitions.

    >>> from sfumato import Pure, domain, local
    >>> method = bitstogram_method(Pure(4), bits=32, reports=1_000_000)
    >>> method.repetitions, method.bucket_bits
    (2, 12)
    >>> plan = local.plan(users=1_000_000, spend=Pure(4), items=domain.integers(0, 2**32 - 1), method=method)
    >>> plan.method == method
    True
    """
    if bits > MOST_BITS:
        raise DomainTooLarge(
            f'A bitstogram splits the devices over {bits} bits, too many for any of them; write method="soft".',
            method='method="soft"',
        )
    repetitions = math.ceil(math.log(FAILURE) / math.log(TRY_FAILURE))
    wanted = math.ceil(math.log2(math.sqrt(reports) / TRY_FAILURE))
    # An item adds to others what its hash has in common with theirs, so tables are larger than reports are many.
    table_bits = min(max((reports // (repetitions * bits)).bit_length() + 1, 12), 18)
    return BitstogramMethod(
        oracle=linear_hash(spend, table_bits),
        item_bits=bits,
        bucket_bits=min(max(wanted, BUCKET_BITS[0]), BUCKET_BITS[-1]),
        shares=even_shares(repetitions * bits),
        repetitions=repetitions,
        false_items=false_items,
    )


MAKERS.add("bitstogram", bitstogram_method)
