"""From the costs of single attributes and of the person to a profile that can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfumato.privacy import ByCount, Cost, Cover, Flat, Minimum, Profile, Weighted


def profile(person: Cost, singles: Mapping[str, Cost]) -> Profile:
    """Return what one vector release costs for every set of attributes.

    `singles` are the costs when one attribute alone changes, `person` covers every change. Several attributes
    cost the person, or less by the union bound (PDP:C-4): pure losses add up in the profile itself, the square
    roots of rho add up in `Loss.at`.
    """
    reads = frozenset(singles)
    epsilons = {name: cost.epsilon for name, cost in singles.items()}
    weights = tuple((name, epsilon) for name, epsilon in epsilons.items() if isinstance(epsilon, Fraction))
    if len(weights) == len(singles):
        return Minimum((Flat(person, reads), Weighted(weights)))
    costs = list(dict.fromkeys(singles.values()))
    if len(costs) == 1:
        return ByCount((costs[0], person), reads) if len(reads) > 1 else Flat(costs[0], reads)
    return Minimum((Flat(person, reads), *(_alone(name, cost, person, reads) for name, cost in singles.items())))


def _alone(name: str, cost: Cost, person: Cost, reads: frozenset[str]) -> Profile:
    """Return a bound that is sharp for one attribute: its own cost, and the person's for all others.

    Where both change it says their sum, which is more than the person costs and so true.
    """
    return Cover(((frozenset((name,)), cost), (reads - {name}, person)))
