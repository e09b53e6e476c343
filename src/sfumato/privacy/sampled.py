"""Subsampling per attribute: a profile for a mechanism that sees a random sample of the people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, exact, positive_integer, rational_ball, to_text
from sfumato.exact.enclosure import Ball
from sfumato.privacy.attributes import EVERYTHING, Attributes, Everything
from sfumato.privacy.combined import Minimum
from sfumato.privacy.cost import Cost
from sfumato.privacy.curve import Curve, register
from sfumato.privacy.gauss import Exactly, OnSample
from sfumato.privacy.loss import Loss
from sfumato.privacy.profile import Flat, Profile, profile_from_json
from sfumato.privacy.relations import ADD_REMOVE, Relation
from sfumato.privacy.sampling import attribute_bound
from sfumato.privacy.subsample import RELATIONS, checked_rate, checked_scheme, subsample


@dataclass(frozen=True)
class RevealedCurve(Curve):
    """The curve of Gaussian noise on a sample, for some attributes, if it were told who was drawn (AC-SAMPLE).

    tau(a) = log(1 - q + q e^{a(a-1)m/2})/(a - 1); tau(a)/a rises, because log(1 - q + q e^t) is convex and 0 at 0.
    """

    form: ClassVar[str] = "revealed"
    gaussian: Fraction
    rate: Fraction

    def ball(self, order: Fraction) -> Ball | None:
        """Enclose the closed form."""
        grown = rational_ball(order * (order - 1) * self.gaussian / 2).expm1()
        return (rational_ball(self.rate) * grown).log1p() / rational_ball(order - 1)

    def supremum(self, omega: Extended) -> Extended:
        """Return the value at omega over omega, towards infinity that of the noise alone."""
        if isinstance(omega, Infinity):
            return self.gaussian / 2
        last = self.at(omega)
        return last if isinstance(last, Infinity) else last / omega

    @property
    def end(self) -> Extended:
        """No order is infinite."""
        return INFINITY

    def parameters(self) -> dict[str, Any]:
        """Return mu² and the rate."""
        return {"gaussian": to_text(self.gaussian), "rate": to_text(self.rate)}


@register("revealed")
def _read_revealed(record: dict[str, Any]) -> Curve:
    return RevealedCurve(exact(record["gaussian"], "gaussian"), exact(record["rate"], "rate"))


def revealed(own: Cost, rate: Fraction, relation: Relation) -> Cost:
    """Return what some attributes cost on a sample if it were told who was drawn, from their Gaussian cost."""
    assert isinstance(own.gauss, Exactly)
    m = own.gauss.amount
    return Cost(INFINITY, RevealedCurve(m, rate), gauss=OnSample(m, rate, relation, told=True))


@dataclass(frozen=True)
class Sampled(Profile):
    """A release on a fresh, secret, uniform sample that is smaller than the population (PDP:C-18, AC-SAMPLE).

    In and out of the sample differ by a whole record, so an attribute's loss shrinks less than a person's: by the
    person's own figure, by that of noise which tells who was drawn, or not at all. Never by the attribute's distance
    and the rate together.
    """

    shape: ClassVar[str] = "sampled"
    base: Profile
    population: int
    sample: int
    scheme: str = "without_replacement"

    def __post_init__(self) -> None:
        if checked_rate(self.population, self.sample) == 1:
            raise ParameterError("A sample of everybody is no sample: sample must be below population.")

    @property
    def _relation(self) -> Relation:
        return RELATIONS[self.scheme]

    @property
    def _person(self) -> Cost:
        whole = self.base.at(EVERYTHING)
        return subsample(whole, self.population, self.sample, self.scheme, relation=self._relation).cost

    def at(self, changed: Attributes) -> Cost:
        """Return the best of: the person's amplified cost, the attributes' own, the attributes' amplified one."""
        own = self.base.at(changed)
        if own.is_zero:
            return own
        person = self._person
        if isinstance(changed, Everything) or own.leak or person.leak or self._relation is ADD_REMOVE:
            return person
        whole = self.base.at(EVERYTHING).epsilon
        rate = checked_rate(self.population, self.sample)
        better = person.merge(own)
        if isinstance(own.gauss, Exactly):
            better = better.merge(revealed(own, rate, self._relation))
        if isinstance(own.epsilon, Infinity) or isinstance(whole, Infinity):
            return better
        return better.merge(Cost.pure(attribute_bound(own.epsilon, whole, rate)))

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Under add-remove neighbours a changed attribute is two steps, or what the release states for it.

        The person's amplified cost is about being there, so it says nothing about a change by itself.
        """
        steps = super().changing(changed, relation)
        if self._relation is not ADD_REMOVE or isinstance(changed, Everything) or steps.leak or steps.is_zero:
            return steps
        own = self.base.changing(changed, relation)
        if own.leak or not isinstance(own.gauss, Exactly):
            return steps
        return steps.merge(own).merge(revealed(own, checked_rate(self.population, self.sample), relation))

    def map(self, people: int) -> Profile:
        """Return the person's group cost, and never more than the group cost without sampling."""
        if people == 1:
            return self
        amplified = Flat(self._person.for_group(people))
        unsampled = self.base.map(people)
        return amplified if amplified.cost.leak else Minimum((amplified, unsampled))

    def names(self) -> frozenset[str]:
        """Return what the release mentions."""
        return self.base.names()

    def parameters(self) -> dict[str, Any]:
        """Return the release and the public facts of the sample."""
        record = {"base": self.base.to_json(), "population": self.population, "sample": self.sample}
        return record if self.scheme == "without_replacement" else {**record, "scheme": self.scheme}


def sampled_from_json(record: dict[str, Any]) -> Sampled:
    """Read what `Sampled.to_json` wrote."""
    return Sampled(
        profile_from_json(record["base"]),
        positive_integer(record["population"], "population"),
        positive_integer(record["sample"], "sample"),
        record.get("scheme", "without_replacement"),
    )


def subsample_loss(loss: Loss, population: int, sample: int, scheme: str | None = None) -> Loss:
    """Return the loss of a mechanism on a fresh, secret sample, for persons and attributes (AC-SAMPLE, TCDP-SUB).

    The mechanism must not depend on the order of the records, or see them in random order. Under
    add-remove neighbours, for Poisson samples, an attribute's change is two steps, or what the loss states for it.

    >>> from sfumato.privacy import ByCount
    >>> loss = Loss(ByCount((Cost.pure(1), Cost.pure(2)), frozenset({"age", "sex"})))
    >>> sampled = subsample_loss(loss, 10, 1, "without_replacement")
    >>> round(float(sampled.at("age").epsilon), 4), round(float(sampled.person.epsilon), 4)
    (0.3355, 0.494)
    """
    chosen = checked_scheme(scheme, loss.relation)
    if checked_rate(population, sample) == 1:
        return loss
    return Loss(Sampled(loss.profile, population, sample, chosen), loss.relation)
