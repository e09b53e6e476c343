"""The Gaussian coordinate of a cost: how much of a Gaussian's mu² a release uses up beside a reserve (AC-GDP).

`at(reserve)` is a charge c such that the release, followed by Gaussian noise of mu² = v for any v of at least the
reserve, is no worse than Gaussian noise of mu² = v + c alone. Charges add up whatever was chosen after whatever answer.
A larger reserve never raises a charge.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, from_text, rational_ball, to_text
from sfumato.exact.enclosure import FIRST_BITS, LAST_BITS, UNIT_BITS, Ball, middle, precision
from sfumato.privacy.parts import OfChoices, OfParts, summed
from sfumato.privacy.relations import Relation

RESERVES = (Fraction(1, 200), Fraction(1, 50), Fraction(1, 20), Fraction(1, 8))
"""Reserves beside which a fixed sum is tried, as parts of what it costs without one."""


class Gauss(ABC):
    """A charge for every reserve, in a closed set of forms that can be stored."""

    form: ClassVar[str]

    @abstractmethod
    def at(self, reserve: Fraction) -> Extended:
        """Return the charge beside this reserve, exact or rounded up to a multiple of 2^-64."""

    @abstractmethod
    def group(self, people: int) -> Gauss:
        """Return the charge for `people` people who change together."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON."""

    def covering(self) -> Extended:
        """Return the mu² of a Gaussian that covers the release, if it is known beforehand: with the best reserve tried.

        A release that is covered beside a reserve is covered by reserve and charge together.
        """
        alone = self.at(Fraction(0))
        if isinstance(alone, Infinity):
            return alone
        return min(alone, *(reserve + self.at(reserve) for reserve in (alone * part for part in RESERVES)))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `gauss_from_json` reads back exactly."""
        return {"form": self.form, **self.parameters()}

    def __add__(self, other: Gauss) -> Gauss:
        return added(((1, self), (1, other)))

    def __mul__(self, count: int) -> Gauss:
        return added(((count, self),))

    __rmul__ = __mul__


@dataclass(frozen=True)
class Exactly(Gauss):
    """Gaussian noise of public width, rounded: exactly mu² (AC-GAUSS), whatever the reserve."""

    form: ClassVar[str] = "exactly"
    amount: Fraction

    def at(self, reserve: Fraction) -> Extended:
        """Return mu² itself."""
        return self.amount

    def covering(self) -> Extended:
        """Return mu² itself: no reserve is of use."""
        return self.amount

    def group(self, people: int) -> Gauss:
        """Return k²·mu²: distances add up."""
        return Exactly(people**2 * self.amount)

    def parameters(self) -> dict[str, Any]:
        """Return mu²."""
        return {"amount": to_text(self.amount)}


@dataclass(frozen=True)
class Randomized(Gauss):
    """Any pure release: randomized response of the same epsilon is the worst of them (AC-GDP, Lemma 2)."""

    form: ClassVar[str] = "randomized"
    epsilon: Fraction

    def at(self, reserve: Fraction) -> Extended:
        """Return the least charge, in closed form, rounded up."""
        return randomized_charge(self.epsilon, reserve)

    def group(self, people: int) -> Gauss:
        """Return the charge of k·epsilon."""
        return Randomized(people * self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """Return epsilon."""
        return {"epsilon": to_text(self.epsilon)}


@dataclass(frozen=True)
class OnSample(Gauss):
    """Rounded Gaussian noise on a fresh, secret sample of the people at a public rate (AC-SAMPLE).

    One such release uses up as much as without the sample: the tails of its loss are those of the unsampled noise. What
    the sample gains is seen in the Rényi curve, and in full where a list is accounted for together. `told` says that
    only `Revealed` is proved, as for a smaller set of attributes; else it is about a whole person.
    """

    form: ClassVar[str] = "on_sample"
    amount: Fraction
    rate: Fraction
    relation: Relation
    told: bool = False

    def at(self, reserve: Fraction) -> Extended:
        """Return mu² of the noise itself: sampling mixes pairs with equal ones, so it never hurts."""
        return self.amount

    def group(self, people: int) -> Gauss:
        """Forget the sample: several people are drawn or not in several ways."""
        return Exactly(people**2 * self.amount)

    def parameters(self) -> dict[str, Any]:
        """Return mu², the rate, the neighbours, and whether it is told who was drawn."""
        record = {"amount": to_text(self.amount), "rate": to_text(self.rate)}
        return {**record, "relation": self.relation.value, "told": self.told}


@dataclass(frozen=True)
class Unknown(Gauss):
    """No Gaussian bounds the release: it closes the Gaussian route of a limit for good."""

    form: ClassVar[str] = "unknown"

    def at(self, reserve: Fraction) -> Extended:
        """Return infinity."""
        return INFINITY

    def group(self, people: int) -> Gauss:
        """Return the same."""
        return self

    def parameters(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


NONE = Exactly(Fraction(0))
"""What does not look at the data."""
UNKNOWN_GAUSS = Unknown()


@dataclass(frozen=True)
class Added(OfParts, Gauss):
    """Releases one after the other, each with its multiplicity. Made by `added`."""

    form: ClassVar[str] = "added"
    parts: tuple[tuple[int, Gauss], ...]

    def at(self, reserve: Fraction) -> Extended:
        """Add the charges."""
        amount: Extended = Fraction(0)
        for count, part in self.parts:
            amount = amount + part.at(reserve) * count
        return amount

    def group(self, people: int) -> Gauss:
        """Add the charges of the groups: each release holds for itself."""
        return added((count, part.group(people)) for count, part in self.parts)


def added(parts: Iterable[tuple[int, Gauss]]) -> Gauss:
    """Add charges in a canonical form, so that equal histories in any order are equal.

    >>> added([(2, Exactly(Fraction(1, 4))), (1, Exactly(Fraction(1, 2)))])
    Exactly(amount=Fraction(1, 1))
    """
    counts: dict[Gauss, int] = {}
    amount = Fraction(0)
    pending = list(parts)
    while pending:
        count, part = pending.pop()
        if not count or part == NONE:
            continue
        if isinstance(part, Unknown):
            return UNKNOWN_GAUSS
        if isinstance(part, Added):
            pending.extend((count * inner, one) for inner, one in part.parts)
        elif isinstance(part, Exactly):
            amount += count * part.amount
        else:
            counts[part] = counts.get(part, 0) + count
    if amount:
        counts[Exactly(amount)] = 1
    return summed(counts, NONE, Added)


@dataclass(frozen=True)
class Smallest(OfChoices, Gauss):
    """Several bounds on one release, all of one certificate: the smallest holds. Made by `smallest`."""

    form: ClassVar[str] = "smallest"
    choices: tuple[Gauss, ...]

    def at(self, reserve: Fraction) -> Extended:
        """Return the smallest charge."""
        return min(choice.at(reserve) for choice in self.choices)

    def group(self, people: int) -> Gauss:
        """Return the smallest of the groups' charges."""
        return smallest(choice.group(people) for choice in self.choices)


def smallest(choices: Iterable[Gauss]) -> Gauss:
    """Return the smallest of several bounds on one release."""
    found = [choice for choice in dict.fromkeys(choices) if not isinstance(choice, Unknown)]
    least = _alike(found, min)
    if least is not None:
        return least
    return Smallest(tuple(found)) if found else UNKNOWN_GAUSS


@dataclass(frozen=True)
class Largest(OfChoices, Gauss):
    """One of several releases happens, and it is not known which: the largest charge covers it. Made by `largest`."""

    form: ClassVar[str] = "largest"
    choices: tuple[Gauss, ...]

    def at(self, reserve: Fraction) -> Extended:
        """Return the largest charge."""
        return max(choice.at(reserve) for choice in self.choices)

    def group(self, people: int) -> Gauss:
        """Return nothing known: the steps of a group may be of different kinds."""
        return UNKNOWN_GAUSS


def largest(choices: Iterable[Gauss]) -> Gauss:
    """Return what covers each of several releases."""
    found = list(dict.fromkeys(choices))
    if any(isinstance(choice, Unknown) for choice in found):
        return UNKNOWN_GAUSS
    most = _alike(found, max)
    return Largest(tuple(found)) if most is None else most


def _alike(found: list[Gauss], pick: Any) -> Gauss | None:
    """Return the smallest or largest of charges of one kind, None if they are of several."""
    if len(found) == 1:
        return found[0]
    exact = [choice.amount for choice in found if isinstance(choice, Exactly)]
    if found and len(exact) == len(found):
        return Exactly(pick(exact))
    pure = [choice.epsilon for choice in found if isinstance(choice, Randomized)]
    return Randomized(pick(pure)) if found and len(pure) == len(found) else None


def gauss_from_json(record: dict[str, Any] | None) -> Gauss:
    """Read what `Gauss.to_json` wrote; nothing stored means nothing known."""
    if record is None:
        return UNKNOWN_GAUSS
    match record["form"]:
        case "exactly":
            return Exactly(_fraction(record["amount"]))
        case "randomized":
            return Randomized(_fraction(record["epsilon"]))
        case "unknown":
            return UNKNOWN_GAUSS
        case "on_sample":
            relation = Relation(record["relation"])
            return OnSample(_fraction(record["amount"]), _fraction(record["rate"]), relation, record["told"])
        case "added":
            return Added(tuple((int(count), gauss_from_json(part)) for count, part in record["parts"]))
        case "smallest":
            return Smallest(tuple(map(gauss_from_json, record["choices"])))
        case "largest":
            return Largest(tuple(map(gauss_from_json, record["choices"])))
    raise ParameterError(
        f"No Gaussian charge is called {record['form']!r}; it was stored by a newer version of sfumato."
    )


def _fraction(text: str) -> Fraction:
    value = from_text(text)
    if isinstance(value, Infinity) or value < 0:
        raise ParameterError(f"A Gaussian charge is a finite number of at least 0, and {text} is none.")
    return value


@lru_cache(maxsize=1 << 14)
def randomized_charge(epsilon: Fraction, reserve: Fraction) -> Extended:
    """Return the least c of randomized response beside a reserve v0, a multiple of 2^-64, rounded up (Lemma 2).

    It solves 2 Phi(sqrt(v0 + c)/2) - 1 = T, where T is the total variation of randomized response and a Gaussian
    of mu² = v0 together, in complements: erfc(sqrt((v0 + c)/8)) = 1 - T.

    >>> round(float(randomized_charge(Fraction(1), Fraction(0))), 9)
    1.517911191
    """
    if epsilon == 0:
        return Fraction(0)
    bits = FIRST_BITS + UNIT_BITS
    while bits <= 2 * LAST_BITS:
        with precision(bits):
            rest = _missed(epsilon, reserve)
            if rest > 0:
                units = _units(rest, reserve)
                for more in range(4):
                    charge = Fraction(units + more, 1 << UNIT_BITS)
                    if (rational_ball((reserve + charge) / 8).sqrt()).erfc() <= rest:
                        return charge
        bits *= 2
    return INFINITY


def _missed(epsilon: Fraction, reserve: Fraction) -> Ball:
    """Enclose 1 - T."""
    import flint

    eps = rational_ball(epsilon)
    if reserve == 0:
        return 2 / (1 + eps.exp())
    s, root = rational_ball(reserve).sqrt(), flint.arb(2).sqrt()
    truth, lie = 1 / (1 + (-eps).exp()), 1 / (1 + eps.exp())
    return truth * ((eps / s + s / 2) / root).erfc() + lie * (2 - ((eps / s - s / 2) / root).erfc())


def _units(rest: Ball, reserve: Fraction) -> int:
    """Return 2^64·c, about, for the c with erfc(sqrt((reserve + c)/8)) = rest.

    Newton on the logarithm of erfc, which is concave: after its first step it comes from the right and overshoots no
    more. Whether the answer is right is decided by the caller.
    """
    import flint

    target, half_root_pi = flint.arb(rest.mid()).log(), flint.arb.pi().sqrt() / 2
    y = flint.arb(0)
    for _ in range(64):
        here = y.erfc()
        step = (here.log() - target) * here * half_root_pi * (y * y).exp()
        y = flint.arb((y + step).mid())
        if abs(float(step)) < 2.0**-90:
            break
    scaled = (8 * y * y - rational_ball(reserve)) * flint.arb(2) ** UNIT_BITS
    return max(0, math.ceil(middle(scaled)))
