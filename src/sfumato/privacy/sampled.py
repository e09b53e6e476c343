"""Subsampling per attribute: a profile for a mechanism that sees a random sample of the people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import Infinity, positive_integer
from sfumato.privacy.attributes import EVERYTHING, Attributes, Everything
from sfumato.privacy.combined import Minimum
from sfumato.privacy.cost import Cost
from sfumato.privacy.loss import Loss
from sfumato.privacy.profile import Flat, Profile, profile_from_json
from sfumato.privacy.relations import REPLACE_ONE
from sfumato.privacy.sampling import attribute_bound
from sfumato.privacy.subsample import checked_rate, checked_scheme, subsample


@dataclass(frozen=True)
class Sampled(Profile):
    """A release on a uniform sample of fixed size, without replacement, smaller than the population (PDP:C-18).

    In and out of the sample differ by a whole record, so an attribute's loss shrinks less than a person's,
    and not at all where the person's pure loss is infinite.
    """

    shape: ClassVar[str] = "sampled"
    base: Profile
    population: int
    sample: int

    def __post_init__(self) -> None:
        if checked_rate(self.population, self.sample) == 1:
            raise ParameterError("A sample of everybody is no sample: sample must be below population.")

    @property
    def _person(self) -> Cost:
        return subsample(self.base.at(EVERYTHING), self.population, self.sample, "without_replacement").cost

    def at(self, changed: Attributes) -> Cost:
        """Return the best of: the person's amplified cost, the attributes' own, the attributes' amplified one."""
        own = self.base.at(changed)
        if own.is_zero:
            return own
        person = self._person
        if isinstance(changed, Everything) or own.leak or person.leak:
            return person
        whole = self.base.at(EVERYTHING).epsilon
        better = person.merge(own)
        if isinstance(own.epsilon, Infinity) or isinstance(whole, Infinity):
            return better
        rate = checked_rate(self.population, self.sample)
        return better.merge(Cost.pure(attribute_bound(own.epsilon, whole, rate)))

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
        return {"base": self.base.to_json(), "population": self.population, "sample": self.sample}


def sampled_from_json(record: dict[str, Any]) -> Sampled:
    """Read what `Sampled.to_json` wrote."""
    return Sampled(
        profile_from_json(record["base"]),
        positive_integer(record["population"], "population"),
        positive_integer(record["sample"], "sample"),
    )


def subsample_loss(loss: Loss, population: int, sample: int, scheme: str | None = None) -> Loss:
    """Return the loss of a mechanism run on a fresh, secret, uniform sample, for persons and attributes.

    The mechanism must not depend on the order of the records, or see them in random order. Poisson samples
    are amplified for persons only.

    >>> from sfumato.privacy import ByCount
    >>> loss = Loss(ByCount((Cost.pure(1), Cost.pure(2)), frozenset({"age", "sex"})))
    >>> sampled = subsample_loss(loss, 10, 1, "without_replacement")
    >>> round(float(sampled.at("age").epsilon), 4), round(float(sampled.person.epsilon), 4)
    (0.3355, 0.494)
    """
    chosen = checked_scheme(scheme, loss.relation)
    if checked_rate(population, sample) == 1:
        return loss
    if chosen == "without_replacement":
        return Loss(Sampled(loss.profile, population, sample), REPLACE_ONE)
    reads = loss.profile.reads if isinstance(loss.profile, Flat) else EVERYTHING
    amplified = subsample(loss.person, population, sample, chosen, relation=loss.relation).cost
    return Loss(Flat(amplified, reads), loss.relation)
