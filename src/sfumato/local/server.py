"""The collector's side: a mergeable table of counts, and what it says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import AccuracyWarning, ParameterError, SketchError, warn
from sfumato.exact import Number, between_zero_and_one
from sfumato.local.check import Check, check_reports
from sfumato.local.finds import found_items, named_items, plain_items
from sfumato.local.linear import LinearHash
from sfumato.local.listed import LIST_PART, ListMethod, MeanMethod
from sfumato.local.means import read_mean
from sfumato.local.plan import Plan
from sfumato.local.popular import MeanEstimate, Popular, PopularItem, Shares
from sfumato.local.wire import Refused
from sfumato.show.progress import watched

MOST_CANDIDATES = 1 << 22
"""A longer list is not read."""
SELDOM_EQUAL = 1000
"""Two sketches of so many reports that hold the same counts are hardly two collections: it is told, not refused."""


class Server:
    """A sketch: how often each report came. The same for every order and every split of the reports.

    `accepted` reports are in it; `refused` ones are only counted.

    >>> from sfumato import Noise, Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(4), candidates=["red", "green", "blue"])
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports(["red"] * 1000, Noise(insecure_seed=1)))
    1000
    >>> server.ingest(b"hello"), server.accepted, server.refused.length
    (0, 1000, 1)
    >>> [item.value for item in server.popular()]
    ['red']
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.counts = np.zeros(plan.offsets[-1], dtype=np.int64)
        self.accepted = 0
        self.refused = Refused()

    def ingest(self, reports: Any) -> int:
        """Add one report (bytes), a table of bytes with one a row, an Arrow column, or any iterable of reports.

        Returns how many were accepted. A report of another length, version or plan, or with a number out of range, is
        counted as refused. If an iterable fails half way, nothing of it is counted.
        """
        accepted, refused = self.plan.wire.count(reports, self.counts)
        self.accepted += accepted
        self.refused += refused
        return accepted

    def merge(self, other: Server) -> None:
        """Add another sketch of the same plan."""
        if not isinstance(other, Server) or other.plan.digest != self.plan.digest:
            raise SketchError("Only sketches of the same plan can be merged; nothing was changed.")
        if other is self:
            raise SketchError(
                "A sketch is not merged with itself, which would count its reports twice; merge another one."
            )
        _warn_of_copies([self, other])
        self.counts += other.counts
        self.accepted += other.accepted
        self.refused += other.refused

    def save(self, path: str | Path) -> Path:
        """Write plan and counts, with a checksum."""
        from sfumato.local.sketch import write

        return write(path, self)

    def tally(self, role: int) -> Any:
        """Return the counts of one role's reports."""
        return self.counts[self.plan.offsets[role] : self.plan.offsets[role + 1]]

    def popular(self, false_items: Number | None = None, *, candidates: Iterable[Any] | None = None) -> Popular:
        """Return the popular items, the most popular first, with shares from all reports.

        `false_items` is the probability that an item is listed that nobody holds, by default the plan's; `Popular`
        says for which methods it is proved. `candidates` is a public list, not made from these reports: of its items
        much rarer ones are found, beside what the search finds without it. Then nine tenths of `false_items` go to the
        list and one to the search. Candidates that do not fit the plan are counted as `unfit`.

        >>> from sfumato import Noise, Pure, domain, local
        >>> plan = local.plan(users=20_000, spend=Pure(5), items=domain.text(max_bytes=5), seed=bytes(32))
        >>> server = plan.server()
        >>> held = ["apple"] * 6_000 + ["fig"] * 100 + [f"{n}" for n in range(13_900)]
        >>> server.ingest(plan.client().reports(held, Noise(insecure_seed=1)))
        20000
        >>> [item.value for item in server.popular()]
        ['apple']
        >>> [item.value for item in server.popular(candidates=["fig", "kiwi"])]
        ['apple', 'fig']
        """
        method = self.plan.method
        given = method.false_items if false_items is None else false_items
        chance = float(between_zero_and_one(given, "false_items"))
        if isinstance(method, ListMethod) and not isinstance(method, MeanMethod):
            if candidates is not None:
                raise ParameterError(
                    "This plan has a list of its own; leave candidates= out, or ask for estimate(items)."
                )
            found = self._chosen(list(range(method.candidates)), chance)
            return Popular(tuple(sorted(found, key=lambda item: -item.share)), chance, self.accepted)
        codes, unfit = _fitting(self.plan, candidates)
        listed = chance * LIST_PART if codes else 0.0
        with watched("Decoding"):
            items, tests = found_items(self, method.search(self, chance - listed), codes, listed)
        check = check_reports(self, tests)
        for alarm in check.alarms:
            warn(alarm)
        ranked = tuple(sorted(items, key=lambda item: -item.share))
        return Popular(ranked, chance, self.accepted, unfit, check, self.plan.hopeful)

    def check(self) -> Check:
        """Return whether the reports look as if devices had made them; it decodes what the plan asks for."""
        if isinstance(self.plan.method, ListMethod):
            return check_reports(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            found = self.popular().check
        assert found is not None
        return found

    def estimate(self, items: Iterable[Any]) -> Shares:
        """Return the shares of these items, whether they are popular or not, unbiased and in this order.

        They are read from all reports. Each interval holds for one item that was named before looking; among many some
        will look popular by chance, and `estimate(…).popular()` allows for that. An item that does not fit the plan is
        refused. Popular items that you do not name widen the error of the others: name them, too, or ask for
        `popular(candidates=…)`, which takes them out.

        >>> from sfumato import Noise, Pure, domain, local
        >>> plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=2), seed=bytes(32))
        >>> server = plan.server()
        >>> server.ingest(plan.client().reports(["a"] * 60_000 + ["b"] * 40_000, Noise(insecure_seed=1)))
        100000
        >>> [(item.value, f"{abs(item.share):.2f}") for item in server.estimate(["b", "zz"])]
        [('b', '0.40'), ('zz', '0.00')]
        """
        if isinstance(self.plan.method, MeanMethod):
            raise ParameterError(f"This plan estimates no items; {_asks(self.plan)}.")
        codes = _codes(self.plan, items)
        different = list(dict.fromkeys(codes))
        made = dict(zip(different, self._items(different), strict=True))
        return self._shares([made[code] for code in codes], different, whole=False)

    def shares(self) -> Shares:
        """Return the share of every candidate, unbiased."""
        method = self.plan.method
        if not isinstance(method, ListMethod) or isinstance(method, MeanMethod):
            raise ParameterError(f"Only a plan with candidates= estimates every candidate; {_asks(self.plan)}.")
        codes = list(range(method.candidates))
        return self._shares(self._items(codes), codes, whole=True)

    def _items(self, codes: list[int]) -> list[PopularItem]:
        """Return the shares of different codes."""
        if not codes:
            return []
        hashed = isinstance(self.plan.method.roles[-1].oracle, LinearHash)
        return named_items(self, codes) if hashed else plain_items(self, codes)

    def _shares(self, items: list[PopularItem], codes: list[int], whole: bool) -> Shares:
        chosen = partial(self._chosen, codes)
        return Shares(tuple(items), self.accepted, self.plan.method.false_items, whole, chosen)

    def _chosen(self, codes: list[int], chance: float) -> list[PopularItem]:
        """Return the popular ones of different codes."""
        method = self.plan.method
        if not isinstance(method.roles[-1].oracle, LinearHash):
            return plain_items(self, codes, chance)
        # What a search finds is peeled from the list, and not shown unless it is on it.
        finds = [] if isinstance(method, ListMethod) else method.search(self, chance)
        known = set(codes)
        found, _ = found_items(self, finds, codes, chance)
        return [item for item in found if item.listed or self.plan.items.strict(item.value) in known]

    def mean(self) -> MeanEstimate:
        """Return the mean of the numbers, unbiased if all of them fit; one that does not counts as the middle."""
        if not isinstance(self.plan.method, MeanMethod):
            raise ParameterError(f"Only a plan with numbers= has a mean; {_asks(self.plan)}.")
        return read_mean(self)


def combine(servers: Sequence[Server], items: Iterable[Any]) -> Shares:
    """Return the shares of named items over several epochs together: their sketches, of different plans, do not merge.

    Each epoch counts by its reports; the noise of the epochs is independent, so each sketch is given once: the same one
    twice is refused, and copies of one are told by an `AccuracyWarning`. Do not name items that these epochs showed:
    what the first one found is combined over the later ones.

    >>> from sfumato import Noise, Pure, domain, local
    >>> servers = []
    >>> for epoch in (1, 2):
    ...     plan = local.plan(users=50_000, spend=Pure(4), items=domain.text(max_bytes=2), seed=bytes([epoch] * 32))
    ...     servers.append(plan.server())
    ...     _ = servers[-1].ingest(plan.client().reports(["a"] * 10_000 * epoch, Noise(insecure_seed=epoch)))
    >>> [(item.value, f"{abs(item.share):.1f}") for item in local.combine(servers, ["a", "b"])]
    [('a', '1.0'), ('b', '0.0')]
    """
    if isinstance(servers, Server) or not servers or not all(isinstance(one, Server) for one in servers):
        raise ParameterError("combine() takes a list of servers, at least one; write combine([first, second], items).")
    if len({id(server) for server in servers}) < len(servers):
        raise SketchError(
            "A sketch is not combined with itself, which would count its reports twice and claim an error that is too "
            "small; give each one once."
        )
    _warn_of_copies(servers)
    named = list(_listed(items))
    said = [server.estimate(named) for server in servers]
    total = sum(one.reports for one in said)
    weights = [one.reports / total if total else 0.0 for one in said]
    made = [_combined(parts, weights) for parts in zip(*said, strict=True)]
    return Shares(tuple(made), total, min(one.false_items for one in said), whole=False)


def _combined(parts: Sequence[PopularItem], weights: Sequence[float]) -> PopularItem:
    """Return one item over several epochs, each with its weight; an epoch without reports has none."""
    counted = [(item, weight) for item, weight in zip(parts, weights, strict=True) if weight]
    if not counted:
        return PopularItem(parts[0].value, 0.0, math.inf)
    share = sum(weight * item.share for item, weight in counted)
    error = math.sqrt(sum((weight * item.error) ** 2 for item, weight in counted))
    # A report of any epoch moves the sum of all as it moves its own.
    most = max((item.influence for item, _ in counted if item.influence is not None), default=None)
    return PopularItem(parts[0].value, share, error, share / error, influence=most)


def _warn_of_copies(servers: Sequence[Server]) -> None:
    """Say that two sketches hold the very same counts; reports carry no ids in them, so nobody can know."""
    seen: dict[tuple[bytes, int], list[Server]] = {}
    for server in servers:
        alike = seen.setdefault((server.plan.digest, server.accepted), [])
        if server.accepted >= SELDOM_EQUAL and any(np.array_equal(server.counts, other.counts) for other in alike):
            warn(
                f"Two of these sketches hold exactly the same counts of {server.accepted} reports. If one is a copy of "
                "the other, its reports count twice, and the true error is larger than the one shown; give each once."
            )
            return
        alike.append(server)


def _asks(plan: Plan) -> str:
    """Say what the server of a plan can be asked."""
    if isinstance(plan.method, MeanMethod):
        return "ask this one for mean()"
    if isinstance(plan.method, ListMethod):
        return "ask this one for shares(), estimate(items) or popular()"
    return "ask this one for popular() or estimate(items)"


def _codes(plan: Plan, items: Iterable[Any]) -> list[int]:
    return [_placed_code(plan, item, place) for place, item in enumerate(_listed(items), 1)]


def _placed_code(plan: Plan, item: Any, place: int) -> int:
    try:
        return plan.items.strict(item)
    except ParameterError as reason:
        raise ParameterError(f"Item {place} of the list does not fit the plan. {reason}") from None


def _listed(items: Iterable[Any]) -> Iterable[Any]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise ParameterError("estimate() takes a list of items; write estimate([item]) for one.")
    return items


def _fitting(plan: Plan, candidates: Iterable[Any] | None) -> tuple[list[int], int]:
    """Return the different codes of a list of candidates, and how many of them do not fit the plan."""
    if candidates is None:
        return [], 0
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise ParameterError("candidates= is a list of items; write candidates=[item] for one.")
    codes = [plan.items.code(item) for item in candidates]
    fitting = list(dict.fromkeys(code for code in codes if code is not None))
    if len(fitting) > MOST_CANDIDATES:
        raise ParameterError(
            f"A list has at most {MOST_CANDIDATES} candidates, and this one {len(fitting)}; shorten it."
        )
    return fitting, sum(code is None for code in codes)
