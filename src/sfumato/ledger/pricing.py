"""What a loss costs under thousands of limits, computed once per *kind* of limit.

All pairs of 100 columns are 4950 limits. For most losses they fall into a handful of kinds (two read columns,
one, none), so each set of attributes gets a signature that determines `loss.at(set)`, and the cost of a
signature is asked for once, from the loss itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfumato.errors import NotProvable
from sfumato.exact import INFINITY
from sfumato.privacy import (
    Attributes,
    ByCount,
    Cost,
    Cover,
    Everything,
    Flat,
    Loss,
    Minimum,
    PerAttribute,
    Profile,
    Stated,
    Sum,
    Tree,
    Weighted,
)
from sfumato.privacy.forms import UNKNOWN
from sfumato.privacy.together import Together, exact_totals

UNBOUNDED_COST = Cost(INFINITY, UNKNOWN)
"""The cost of what nothing is proved about: it fits under no limit."""


class Signature:
    """Tells which sets of attributes a profile cannot tell apart.

    `token(name)` says what one attribute means to the profile, None if nothing; `join(tokens)` is the signature
    of a set. Two sets with equal signatures have equal costs.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile = profile.base if isinstance(profile, Together) else profile
        self.parts: list[Signature] = []
        if isinstance(profile, Sum):
            self.parts = [Signature(part) for _, part in profile.parts]
        elif isinstance(profile, Minimum):
            self.parts = [Signature(part) for part in profile.choices]

    @cached_property
    def token(self) -> Callable[[str], Any]:
        """What says what one attribute means to the profile, None if it is not read; a ledger asks it for everyone."""
        match self.profile:
            case Flat(reads=Everything()):
                return lambda name: True
            case Flat(reads=frozenset(reads)) | ByCount(reads=frozenset(reads)):
                return lambda name: True if name in reads else None
            case Cover() | Tree():
                masks, always = self._masks, self._always
                return lambda name: masks.get(name, 0) | always or None
            case Weighted(weights=weights):
                return dict(weights).get
            case Sum() | Minimum():
                return self._tokens
            case PerAttribute():
                names = self.profile.names()
                return lambda name: name if name in names else None
            case Stated():
                return self._stated.get
        return lambda name: name

    def _tokens(self, name: str) -> Any:
        tokens = tuple([part.token(name) for part in self.parts])
        return None if all(token is None for token in tokens) else tokens

    def join(self, tokens: list[Any]) -> Hashable:
        """Return the signature of several attributes from their tokens; None tokens are left out."""
        match self.profile:
            case Flat():
                return bool(tokens)
            case ByCount():
                return len(tokens)
            case Cover():
                touched = 0
                for token in tokens:
                    touched |= token
                return tuple((touched & mask).bit_count() for mask in self._by_cost)
            case Tree():
                touched = 0
                for token in tokens:
                    touched |= token
                return touched
            case Weighted():
                return tuple(sorted(tokens))
            case Sum() | Minimum():
                columns = zip(*tokens, strict=True) if tokens else ([] for _ in self.parts)
                return tuple(
                    part.join([token for token in column if token is not None])
                    for part, column in zip(self.parts, columns, strict=True)
                )
        return tuple(sorted(tokens))

    @cached_property
    def _stated(self) -> dict[str, tuple[int, int]]:
        """For each attribute the number of its cost, equal costs sharing one, and the sets that hold it, a bit each."""
        assert isinstance(self.profile, Stated)
        numbers: dict[Cost, int] = {}
        return {
            name: (
                numbers.setdefault(cost, len(numbers)),
                sum(1 << place for place, (names, _) in enumerate(self.profile.together) if name in names),
            )
            for name, cost in self.profile.singles
        }

    @cached_property
    def _nodes(self) -> tuple[tuple[Attributes, Cost], ...]:
        if isinstance(self.profile, Tree):
            return tuple(self.profile.nodes)
        return self.profile.parts if isinstance(self.profile, Cover) else ()

    @cached_property
    def _masks(self) -> dict[str, int]:
        """For each attribute the parts that read it, one bit each."""
        masks: dict[str, int] = {}
        for place, (reads, _) in enumerate(self._nodes):
            for name in () if isinstance(reads, Everything) else reads:
                masks[name] = masks.get(name, 0) | 1 << place
        return masks

    @cached_property
    def _always(self) -> int:
        """The parts that read everything."""
        return sum(1 << place for place, (reads, _) in enumerate(self._nodes) if isinstance(reads, Everything))

    @cached_property
    def _by_cost(self) -> list[int]:
        """For each distinct cost the parts that have it: only how many of them are touched matters."""
        masks: dict[Cost, int] = {}
        for place, (_, cost) in enumerate(self._nodes):
            masks[cost] = masks.get(cost, 0) | 1 << place
        return list(masks.values())


class Prices:
    """The costs of one loss, for any set of attributes and any number of people.

    >>> prices = Prices(Loss.flat(Cost.pure("1/10"), reads={"age"}))
    >>> prices.at(frozenset({"age", "sex"}), 2).epsilon, prices.at(frozenset({"sex"}), 1).is_zero
    (Fraction(1, 5), True)
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self._signature = Signature(loss.profile)
        self._numbers: dict[Any, int] = {}
        self._tokens: list[Any] = []
        self._alone: list[str] = []
        self._kinds: dict[str, int] = {}
        self._costs: dict[Hashable, Cost] = {}
        self._by_signature: dict[Hashable, Cost] = {}
        self._groups: dict[int, Loss | None] = {1: loss}

    def at(self, names: Attributes, people: int) -> Cost:
        """Return the cost when these attributes of so many people change."""
        key = self.key(names, people)
        cost = self._costs.get(key)
        if cost is None:
            signature = key if isinstance(names, Everything) else (people, self._signature_of(key[1:]))
            if signature not in self._by_signature:
                self._by_signature[signature] = self._compute(names, people)
            cost = self._costs[key] = self._by_signature[signature]
        return cost

    def totals(self, names: Attributes, people: int, delta: Fraction, left: Fraction) -> Iterator[Cost]:
        """Yield what a fixed list costs as one (epsilon, leak) release, nothing for any other loss (AC-PLAN)."""
        cost = self.at(names, people)
        if isinstance(self.loss.profile, Together) and cost is not UNBOUNDED_COST:
            yield from exact_totals(cost, delta, left)

    def key(self, names: Attributes, people: int) -> tuple[Any, ...]:
        """Return what is equal for two sets only if their costs are; quick, because it is asked for every limit."""
        if isinstance(names, Everything):
            return people, names
        kinds = self._kinds
        try:
            return people, *sorted([kinds[name] for name in names])
        except KeyError:
            return people, *sorted(map(self.kind, names))

    def _signature_of(self, kinds: tuple[int, ...]) -> Hashable:
        # `loss.at` also compares with the union of the single attributes, so their signatures count too.
        met = [kind for kind in kinds if self._tokens[kind] is not None]
        return self._signature.join([self._tokens[kind] for kind in met]), tuple(sorted(self._alone[k] for k in met))

    def kind(self, name: str) -> int:
        """Return a number that attributes share only if they mean the same to the loss."""
        kind = self._kinds.get(name)
        if kind is None:
            token = self._signature.token(name)
            kind = self._kinds[name] = self._numbers.setdefault(token, len(self._tokens))
            if kind == len(self._tokens):
                self._tokens.append(token)
                self._alone.append("" if token is None else repr(self._signature.join([token])))
        return kind

    def _compute(self, names: Attributes, people: int) -> Cost:
        try:
            single = self.loss.at(names)
        except NotProvable:
            return UNBOUNDED_COST  # a leak under add-remove neighbours may have no form for changed attributes
        if people == 1 or single.is_zero:
            return single
        if people not in self._groups:
            self._groups[people] = _group(self.loss, people)
        group = self._groups[people]
        return UNBOUNDED_COST if group is None else group.at(names)

    def touched(self, names: Iterable[str]) -> list[str]:
        """Return those of the attributes that the loss reads."""
        return [name for name in names if self._tokens[self.kind(name)] is not None]


def _group(loss: Loss, people: int) -> Loss | None:
    try:
        return loss.for_group(people)
    except NotProvable:
        return None
