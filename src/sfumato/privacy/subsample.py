"""Amplification by subsampling: what a mechanism costs when it sees a secret random sample of the people.

Two schemes are proved. *Without replacement*: a uniform subset of a public size, replace-one neighbours.
*Poisson*: everybody is drawn on their own with the same rate, add-remove neighbours. In both the sample is
fresh for every run and is never released. Shuffled epochs are neither, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import NotProvable, ParameterError, RelationMismatch
from sfumato.exact import INFINITY, Extended, Infinity, exact, positive_integer, rational_ball, to_text
from sfumato.exact.enclosure import Ball
from sfumato.privacy.cost import Cost
from sfumato.privacy.curve import Curve, curve_from_json, orders, register
from sfumato.privacy.derived import least
from sfumato.privacy.forms import PureCurve
from sfumato.privacy.gauss import Exactly, OnSample, Randomized
from sfumato.privacy.relations import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.privacy.sampled_moments import gaussian_moment
from sfumato.privacy.sampling import binomial_bound, numeric_bound, pure_bound
from sfumato.privacy.sampling_theorems import refuse, theorem12

RELATIONS: Mapping[str, Relation] = {"without_replacement": REPLACE_ONE, "poisson": ADD_REMOVE}
CURVES = {"best": "TCDP:C-SUBX", "binomial": "TCDP:C-SUBWBK", "numeric": "TCDP:C-SUBNUM"}
DENSE_ORDERS = 64
"""Up to here the supremum looks at every whole order, beyond it at orders that grow geometrically."""


@dataclass(frozen=True)
class Subsampled(Curve):
    """The curve of a mechanism that is run on a sample of `sample` of `population` people (TCDP:C-SUBX).

    `best` is the smallest of everything proved, order by order, the curve without sampling included; whole
    orders come from the binomial expansion, those between from the convexity of (a-1)·D_a. `gaussian` is mu² where the
    noise is known to be Gaussian, which a curve alone does not prove: then whole orders have moments of their own
    (AC-SAMPLE), under the neighbours of `relation`, those of the scheme if it is not said.
    """

    form: ClassVar[str] = "subsampled"
    base: Curve
    population: int
    sample: int
    scheme: str = "without_replacement"
    method: str = "best"
    gaussian: Fraction | None = None
    relation: Relation | None = None

    def __post_init__(self) -> None:
        checked_rate(self.population, self.sample)
        if self.scheme not in RELATIONS or self.method not in CURVES:
            raise ParameterError(f"No curve is known for {self.scheme!r} by {self.method!r}.")

    @property
    def rate(self) -> Fraction:
        """The public probability of a person to be in the sample."""
        return Fraction(self.sample, self.population)

    def ball(self, order: Fraction) -> Ball | None:
        """Return the bound, which is already a rational on the safe side."""
        bound = self._bound(order)
        return None if isinstance(bound, Infinity) else rational_ball(bound)

    def _bound(self, order: Fraction) -> Extended:
        if self.method == "numeric":
            return self._numeric(order)
        between = self._between(order)
        if self.method == "binomial":
            return between
        direct = self._numeric(order) if isinstance(between, Infinity) else between
        return min(self.base.at(order), direct)

    def _numeric(self, order: Fraction) -> Extended:
        found = numeric_bound(self.base, self.rate, order)
        return INFINITY if found is None else found / (order - 1)

    def _between(self, order: Fraction) -> Extended:
        """Interpolate bounds on (a-1)·D_a, which is convex and 0 at order 1, between whole orders."""
        low = math.floor(order)
        below = self._moment(low)
        if low == order:
            return below if isinstance(below, Infinity) else below / (order - 1)
        above = self._moment(low + 1)
        if isinstance(below, Infinity) or isinstance(above, Infinity):
            return INFINITY
        return ((low + 1 - order) * below + (order - low) * above) / (order - 1)

    def _moment(self, order: int) -> Extended:
        """Bound (a-1)·D_a at a whole order."""
        if order == 1:
            return Fraction(0)
        if order > self.base.end:
            return INFINITY
        presence = (self.relation or RELATIONS[self.scheme]) is ADD_REMOVE
        found = binomial_bound(self.base, self.rate, order, presence)
        bound: Extended = INFINITY if found is None else found
        if self.method != "best":
            return bound
        bound = min(bound, (order - 1) * self.base.at(order))
        if self.gaussian is None:
            return bound
        own = gaussian_moment(self.gaussian, self.rate, order, both=not presence)
        return bound if own is None else min(bound, own)

    def supremum(self, omega: Extended) -> Extended:
        """Return the smaller of the unsampled supremum and a certificate over finitely many orders."""
        unsampled = self.base.supremum(omega) if self.method == "best" else INFINITY
        if isinstance(omega, Infinity) or omega > self.end:
            return unsampled
        if self.method == "numeric":
            return self.certified_rho(omega)
        return min(unsampled, self._certificate(omega))

    def _certificate(self, omega: Fraction) -> Extended:
        """Bound tau(a)/a up to omega from whole orders.

        On (1, 2] the bound on (a-1)·D_a is a line through (1, 0). Between whole orders k and k+1 it is a chord,
        and a chord of a(a-1) exceeds it by at most 1/4: hence the factor. Far out D_a is simply monotone.
        """
        last = math.ceil(omega) if math.ceil(omega) <= self.end else math.floor(self.end)
        worst: Extended = self._moment(2) if last >= 2 else Fraction(0)
        k, before = 2, worst
        while k < last and not isinstance(worst, Infinity):
            step = max(1, k // DENSE_ORDERS)
            following = min(last, k + step)
            after = self._moment(following)
            if step > 1:
                bound = _over(after, (following - 1) * k)
            else:
                chord = max(_over(before, k * (k - 1)), _over(after, k * (k + 1)))
                bound = chord * (1 + Fraction(1, 4 * k * (k - 1)))
            worst = max(worst, bound)
            k, before = following, after
        return max(worst, self._remainder(Fraction(max(last, 1)), omega)) if last < omega else worst

    def _remainder(self, start: Fraction, omega: Fraction) -> Extended:
        """Certify the orders above the last whole one on a grid."""
        worst: Extended = Fraction(0)
        below = start
        for order in orders(omega / start):
            value = self.at(order * start)
            worst = max(worst, _over(value, below))
            below = order * start
        return worst

    @property
    def end(self) -> Extended:
        """Where the base ends; by the binomial expansion alone at the last whole order before."""
        end = self.base.end
        return end if self.method != "binomial" or isinstance(end, Infinity) else Fraction(math.floor(end))

    def parameters(self) -> dict[str, Any]:
        """Return the base curve and the public facts of the sample."""
        record = {
            "base": self.base.to_json(),
            "population": self.population,
            "sample": self.sample,
            "scheme": self.scheme,
            "method": self.method,
        }
        if self.gaussian is not None:
            record["gaussian"] = to_text(self.gaussian)
        return record if self.relation is None else {**record, "relation": self.relation.value}


def _over(value: Extended, divisor: Fraction | int) -> Extended:
    return value if isinstance(value, Infinity) else value / divisor


@register("subsampled")
def _read_subsampled(record: dict[str, Any]) -> Curve:
    return Subsampled(
        curve_from_json(record["base"]),
        positive_integer(record["population"], "population"),
        positive_integer(record["sample"], "sample"),
        record["scheme"],
        record["method"],
        exact(record["gaussian"], "gaussian") if "gaussian" in record else None,
        Relation(record["relation"]) if "relation" in record else None,
    )


@dataclass(frozen=True)
class Amplified:
    """The cost after sampling, the theorem that proves it, and the numbers that went into it."""

    cost: Cost
    theorem: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def subsample(
    base: Cost | Curve,
    population: int,
    sample: int,
    scheme: str | None = None,
    *,
    relation: Relation = REPLACE_ONE,
    method: str = "best",
    presence: Cost | None = None,
) -> Amplified:
    """Return what a mechanism costs on a fresh, secret, uniform sample of the people (TCDP-SUB).

    `base` is its cost on the sample, for the neighbours that `relation` names. Without replacement the subset
    has a public size; with "poisson" everybody is drawn with the rate sample/population. The sample must
    never be released, and a mechanism that looks at positions must see it in random order.

    `method` is "best" (the smallest bound proved, order by order), or one theorem: "binomial", "numeric",
    "theorem12". A Poisson sample under replace-one neighbours is proved for Gaussian noise only; there a person may
    also enter or leave the sample, and `presence` is what that costs on the sample.

    >>> amplified = subsample(Cost.pure(1), 1000, 10, "without_replacement")
    >>> round(float(amplified.cost.epsilon), 6), amplified.theorem
    (0.017037, 'TCDP:C-SUBX')
    """
    rate = checked_rate(population, sample)
    chosen = checked_scheme(scheme, relation, presence is not None)
    cost = base if isinstance(base, Cost) else Cost(INFINITY, _curve(base))
    numbers = {"population": population, "sample": sample, "rate": rate, "scheme": chosen}
    if method in ("theorem11", "lemma15"):
        refuse(method, cost.curve, rate)
    if method not in (*CURVES, "theorem12"):
        raise ParameterError(f"method must be 'best', 'binomial', 'numeric' or 'theorem12', and {method!r} is none.")
    if cost.is_zero or sample == population:
        return Amplified(cost, "none", numbers)
    if cost.leak:
        return Amplified(_leaking(cost, rate), "TCDP:C-SUBDP", numbers)
    if method == "theorem12":
        line, found = theorem12(cost.curve, rate)
        return Amplified(Cost(INFINITY, line), "TCDP:C-SUB12", numbers | found)
    if presence is not None:
        cost = _wider(cost, presence)
    noise = cost.gauss.amount if method == "best" and isinstance(cost.gauss, Exactly) else None
    unusual = None if relation is RELATIONS[chosen] else relation
    curve = Subsampled(cost.curve, population, sample, chosen, method, noise, unusual)
    if noise is not None:
        return Amplified(Cost(INFINITY, curve, gauss=OnSample(noise, rate, relation)), "AC-SAMPLE", numbers)
    if method != "best" or isinstance(cost.epsilon, Infinity):
        return Amplified(Cost(INFINITY, curve), CURVES[method], numbers)
    epsilon = pure_bound(cost.epsilon, rate)
    amplified = Cost(epsilon, least((curve, PureCurve(epsilon))), gauss=Randomized(epsilon))
    return Amplified(amplified, CURVES[method], numbers)


def _wider(inside: Cost, presence: Cost) -> Cost:
    """Return the Gaussian cost that covers a changed record and one that enters or leaves."""
    if not isinstance(inside.gauss, Exactly) or not isinstance(presence.gauss, Exactly):
        raise NotProvable(
            "A Poisson sample under replace-one neighbours is proved for Gaussian noise of public variance only; draw "
            "a sample of a public size and write 'without_replacement'.",
            {"scheme": "poisson"},
        )
    return Cost.gaussian(max(inside.gauss.amount, presence.gauss.amount))


def _curve(base: object) -> Curve:
    if not isinstance(base, Curve):
        raise ParameterError(f"Only a cost or a Rényi curve can be amplified, not {type(base).__name__}.")
    return base


def checked_rate(population: int, sample: int) -> Fraction:
    """Return the sampling rate, refusing a sample that is empty or larger than the population."""
    everybody, some = positive_integer(population, "population"), positive_integer(sample, "sample")
    if some > everybody:
        raise ParameterError(f"sample must be at most population, and {some} is above {everybody}.")
    return Fraction(some, everybody)


def checked_scheme(scheme: str | None, relation: Relation, presence: bool = False) -> str:
    """Return a scheme that is proved, with the neighbours for which it is proved.

    `presence` says that it is known what a record costs that enters or leaves the sample.
    """
    if scheme is None:
        raise ParameterError("Say how the sample is drawn: scheme='without_replacement' or scheme='poisson'.")
    if scheme not in RELATIONS:
        raise NotProvable(
            f"Nothing is proved for the scheme {scheme!r}; batches of a shuffled epoch are no fresh samples. "
            "Draw a new subset for every run and write 'without_replacement', or write 'poisson'.",
            {"scheme": scheme},
        )
    if presence and scheme == "poisson" and relation is REPLACE_ONE:
        return scheme
    if not isinstance(relation, Relation) or relation is not RELATIONS[scheme]:
        other = next(name for name in RELATIONS if name != scheme)
        raise RelationMismatch(
            f"The scheme {scheme!r} is proved for {RELATIONS[scheme].value} neighbours; state the loss for them by "
            f"relation={RELATIONS[scheme].name}, or draw the other kind of sample and write {other!r}."
        )
    return scheme


def _leaking(cost: Cost, rate: Fraction) -> Cost:
    """Amplify (epsilon, delta) to (log(1 + s(e^epsilon - 1)), s·delta) (TCDP:C-SUBDP)."""
    if isinstance(cost.epsilon, Infinity):
        raise NotProvable(
            "A cost with a leak and no epsilon cannot be amplified; use a mechanism without leak.", {"leak": cost.leak}
        )
    return Cost.leaking(pure_bound(cost.epsilon, rate), rate * cost.leak)
