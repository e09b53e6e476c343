"""Measured against claimed: the exact laws of neighbouring inputs and the loss that a mechanism states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.audit.branching import BranchTable
from sfumato.audit.conversations import Conversations
from sfumato.audit.divergences import Comparison, Interval
from sfumato.audit.laws import MOST_PATHS, FiniteLaw, Run, enumerate_paths, table
from sfumato.audit.outcomes import name
from sfumato.audit.reports import Finding, Report, Sight
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Infinity, Number, exact
from sfumato.mechanism import Interaction
from sfumato.privacy import EVERYTHING, Attributes, Bound, Cost, Loss, attributes
from sfumato.privacy.gauss import Randomized
from sfumato.privacy.gaussian import gaussian_delta

TAIL = Fraction(1, 10**9)
LARGEST_ORDER = Fraction(512)
_ORDERS = 48
_SHOWN_OUTCOMES = 8
_PROFILE = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Epsilons at which a Gaussian charge is compared, in standard deviations of the privacy loss."""
_LOOSE_EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring inputs that differ in these attributes of one person only (PDP-AUDIT).

    The claim for them is the loss of those attributes, which may be far below the one of the whole person.
    """

    exact: Any
    other: Any
    attributes: frozenset[str] | None = None

    @property
    def changed(self) -> Attributes:
        """The attributes that differ; the whole record if none are named."""
        return EVERYTHING if self.attributes is None else attributes(self.attributes)


def check(
    mechanism: Run | Interaction,
    pairs: Iterable[tuple[Any, Any] | Neighbours],
    claim: Loss | Cost | Bound | None = None,
    *,
    tail: Number | None = None,
    orders: Sequence[Number] | None = None,
    paths: int = MOST_PATHS,
    lightest: Number = 0,
) -> Report:
    """Enumerate the mechanism on neighbouring inputs and compare what it loses with what it claims.

    Every pair is measured in both orders. A claim of (epsilon, curve, leak, gauss) is broken when a *proved lower
    bound* exceeds it: the max divergence exceeds epsilon, a Rényi divergence its curve or a delta the Gaussian's (all
    three without leak), or delta at epsilon exceeds the leak. So a broken promise is a proof, with the outcomes that
    show it, and a kept one is a proof for these pairs up to the tail that was left out.

    `claim` is the loss of the mechanism itself unless another one is to be tested. By default `tail` is
    1e-9, or a thousandth of the smallest claimed leak. `orders` are about fifty from 1.001 up to the end of
    the curve or 512.

    >>> from sfumato import Pure
    >>> def randomized_response(bit, noise):
    ...     return bit if noise.bernoulli("3/4") else 1 - bit
    >>> check(randomized_response, [(0, 1)], claim=Pure("1.0987")).ok
    True
    >>> print(check(randomized_response, [(0, 1)], claim=Pure(1), orders=[2]).worst)
    Rényi divergence of order 2: 0.847298 where 0.735326 is claimed (1.152 times), inputs 0 | 1, outcome 0
    """
    neighbours = [_neighbours(pair) for pair in pairs]
    if not neighbours:
        raise ParameterError("There are no pairs to check; write for example [(5, 6)].")
    costs = [_cost(mechanism, claim, pair) for pair in neighbours]
    chosen = _tail(costs) if tail is None else tail
    return measured(Laws(mechanism, table(chosen), paths, lightest), neighbours, costs, orders)


class Laws:
    """The laws of one mechanism, each enumerated once; inputs stay alive as long as it is asked about them."""

    def __init__(self, mechanism: Run | Interaction, draws: BranchTable, paths: int, lightest: Number = 0) -> None:
        self.name = getattr(mechanism, "__name__", type(mechanism).__name__)
        self._known: dict[Any, FiniteLaw] = {}
        self._enumerate: Callable[[Any], FiniteLaw]
        if isinstance(mechanism, Interaction):
            self._enumerate = lambda data: Conversations(mechanism, draws, paths, lightest).law(data)
        else:
            self._enumerate = lambda data: enumerate_paths(mechanism, data, draws, paths, lightest)

    def of(self, data: Any) -> FiniteLaw:
        """Return the law of what the mechanism makes of an input."""
        key = name(data)
        if key not in self._known:
            self._known[key] = self._enumerate(data)
        return self._known[key]


def measured(
    laws: Laws, neighbours: Sequence[Neighbours], costs: Sequence[Cost], orders: Sequence[Number] | None
) -> Report:
    """Compare laws of neighbouring inputs with a cost for each pair: `check`, for who asks of the same laws again."""
    return Report(_sights(laws, neighbours, costs, orders), name=laws.name)


def _neighbours(pair: Any) -> Neighbours:
    if isinstance(pair, Neighbours):
        return pair
    if isinstance(pair, tuple) and len(pair) == 2:
        return Neighbours(*pair)
    raise ParameterError("A pair is a tuple of two inputs or Neighbours(exact, other, attributes).")


def _cost(mechanism: Any, claim: Loss | Cost | Bound | None, pair: Neighbours) -> Cost:
    stated = mechanism.loss() if claim is None and hasattr(mechanism, "loss") else claim
    if isinstance(stated, Loss):
        return stated.at(pair.changed)
    if isinstance(stated, Cost):
        return stated
    if isinstance(stated, Bound):
        return Cost.of(stated)
    raise ParameterError("What is claimed must be a Loss, a Cost or a bound; write for example claim=Pure(1).")


def _tail(costs: Sequence[Cost]) -> Fraction:
    return min([TAIL, *(cost.leak / 1000 for cost in costs if cost.leak > 0)])


def _sights(
    laws: Laws, neighbours: Sequence[Neighbours], costs: Sequence[Cost], orders: Sequence[Number] | None
) -> Iterator[Sight]:
    for pair, cost in zip(neighbours, costs, strict=True):
        first, second = laws.of(pair.exact), laws.of(pair.other)
        at = _orders(cost) if orders is None else [exact(order, "order") for order in orders]
        yield _sight(pair, (pair.exact, pair.other), cost, at, Comparison(first, second))
        yield _sight(pair, (pair.other, pair.exact), cost, at, Comparison(second, first))


def _sight(
    pair: Neighbours, inputs: tuple[Any, Any], cost: Cost, orders: Sequence[Fraction], compared: Comparison
) -> Sight:
    findings = [
        Finding(measure, at, bounds.lower, claimed, inputs)
        for measure, at, bounds, claimed in _comparisons(cost, orders, compared)
    ]
    worst = max(findings, key=lambda found: found.ratio)
    telling = compared.witness(_level(worst))[:_SHOWN_OUTCOMES]
    return Sight(pair.changed, cost, compared, tuple(findings), replace(worst, outcomes=tuple(telling)))


def _comparisons(
    cost: Cost, orders: Sequence[Fraction], compared: Comparison
) -> Iterator[tuple[str, Fraction | None, Interval, Any]]:
    """List what the claim bounds: name of the measure, order or epsilon, proved bounds, claim."""
    if cost.leak == 0:
        yield "max divergence", None, compared.max_divergence(), cost.epsilon
        for order, bounds in zip(orders, compared.renyi(orders), strict=True):
            yield "Rényi divergence", order, bounds, cost.tau(order)
        for epsilon, claimed in _profile(cost):
            yield "delta", epsilon, compared.hockey_stick(epsilon), claimed
    elif isinstance(cost.epsilon, Infinity):
        for epsilon in _LOOSE_EPSILONS:
            yield "delta", epsilon, compared.hockey_stick(epsilon), cost.delta_at(epsilon)
    else:
        yield "delta", cost.epsilon, compared.hockey_stick(cost.epsilon), cost.leak


def _profile(cost: Cost) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield epsilons with the deltas that the Gaussian charge claims; a pure release's own epsilon says more."""
    amount = INFINITY if isinstance(cost.gauss, Randomized) else cost.gauss.at(Fraction(0))
    if isinstance(amount, Fraction) and amount:
        for step in _PROFILE:
            epsilon = Fraction(step * math.sqrt(amount)).limit_denominator(1 << 20)
            yield epsilon, gaussian_delta(amount, epsilon)


def _level(found: Finding) -> float:
    """Return the log-ratio above which an outcome speaks against the claim."""
    if found.measure == "delta":
        return float(found.at or 0)
    return float(found.claimed)


def _orders(cost: Cost) -> list[Fraction]:
    """Return orders from 1.001 to the end of the curve or 512, dense near 1; each is exactly a float."""
    end = cost.curve.end
    last = LARGEST_ORDER if isinstance(end, Infinity) else min(end, LARGEST_ORDER)
    if last <= 1:
        return []
    steps = [math.exp(step / (_ORDERS - 1)) for step in range(_ORDERS)]
    least = math.log(min(1e-3, float(last - 1) / 2))
    most = math.log(float(last - 1))
    exponents = [least + (most - least) * math.log(step) for step in steps[:-1]]
    return [*(1 + Fraction(math.exp(exponent)).limit_denominator(1 << 20) for exponent in exponents), last]
