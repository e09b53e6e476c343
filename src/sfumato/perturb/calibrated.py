"""From a spend and sensitivities to the mechanism that fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from typing import Any

from sfumato.errors import CertificationError, ParameterError, UnsupportedSpend
from sfumato.exact import Number
from sfumato.noise.laws.chosen import law_of
from sfumato.perturb.additive import AdditiveNoise, AttributeMoves, as_sensitivity
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Everything, Relation, attributes, require_bound
from sfumato.privacy.calibrate import Gaussians, choose
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.privacy.sensitivity import sensitivity as bounds_on


def calibrate(
    spend: Bound,
    sensitivity: Number | Sensitivity | None = None,
    *,
    l1: Number | None = None,
    l2_squared: Number | None = None,
    largest: Number | None = None,
    changed: int | None = None,
    by_attribute: Mapping[str, Number | Sensitivity] | None = None,
    draws: int = 1,
    failure: Number = 0.05,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
    gaussians: Gaussians = "wide",
) -> AdditiveNoise:
    """Return the noise with the smallest error that fits a spend: one call from a bound to a mechanism.

    The sensitivities bound how far the exact integers of two neighbours under `relation` lie apart: `sensitivity`
    for one number; for a vector `l1` (sum), `l2_squared` (sum of squares), `largest` (one coordinate), `changed`
    (how many coordinates), of which what is missing is derived. `draws` is how many noisy numbers matter together
    and `failure` how often their largest error may be larger than the best one; both only guide the choice.

    Pure gives discrete Laplace noise, Concentrated Gaussian, Truncated Gaussian or sinh-normal, Approximate whichever
    of the three is best. Gaussian noise is rounded from a variance of 4 on, because a rounded Gaussian costs exactly
    what it spends, and discrete below (`gaussians` says otherwise, see `privacy.calibrate.Gaussians`). A spend
    `.per_attribute()` is calibrated to `by_attribute`, which bounds how far each attribute alone can move the numbers
    (a plain number covers every move of that l1), and to that of a replaced person without it.

    Promise: `calibrate(spend, …).loss().within(spend)`, checked on the exact numbers before anything is returned.
    Spec: QR-LAP, AC-GAUSS, PDP:C-13, PDP:C-14, TCDP-SINH. Time: microseconds for Pure and Concentrated; up to a second
    the first time, then nothing, for the others.

    >>> from sfumato import Concentrated, Pure
    >>> calibrate(Pure(0.5), sensitivity=1).law
    DiscreteLaplace(scale=Fraction(2, 1))
    >>> calibrate(Concentrated(0.1), l1=2, l2_squared=2, largest=1).law
    RoundedNormal(variance=Fraction(10, 1))
    """
    bound = require_bound(spend)
    person = _person(sensitivity, l1, l2_squared, largest, changed)
    replaced = person if relation is REPLACE_ONE else person.times(2)
    singles = {name: as_sensitivity(moves).narrow(replaced) for name, moves in (by_attribute or {}).items()}
    named = attributes(reads) if not isinstance(reads, Everything) or not singles else frozenset(singles)
    moves = person if bound.unit == "person" else _attribute(replaced, singles, named)
    given: dict[str, Any] = {
        "person": person,
        "singles": tuple(singles.items()),
        "draws": draws,
        "failure": failure,
        "relation": relation,
        "reads": named,
        "gaussians": gaussians,
    }
    try:
        hash((bound, moves, *given.values()))
    except TypeError:  # what is no number at all is said where it is read
        return _calibrated.__wrapped__(bound, moves, **given)
    return _calibrated(bound, moves, **given)


@lru_cache(maxsize=1 << 10, typed=True)
def _calibrated(
    bound: Bound,
    moves: Sensitivity,
    *,
    person: Sensitivity,
    singles: AttributeMoves,
    draws: int,
    failure: Number,
    relation: Relation,
    reads: frozenset[str] | Everything,
    gaussians: Gaussians,
) -> AdditiveNoise:
    """Return the noise for public numbers, found and priced once: the same ones are calibrated for again and again."""
    mechanism = AdditiveNoise(
        law=law_of(choose(bound, moves, draws, failure, gaussians)),
        sensitivity=person,
        by_attribute=singles,
        relation=relation,
        reads=reads,
    )
    if not mechanism.loss().within(bound):
        raise CertificationError(f"The noise found for {bound!r} does not provably fit it; please report this.")
    return mechanism


def _person(
    scalar: Number | Sensitivity | None,
    l1: Number | None,
    l2_squared: Number | None,
    largest: Number | None,
    changed: int | None,
) -> Sensitivity:
    if isinstance(scalar, Sensitivity):
        return scalar
    return bounds_on(scalar, l1=l1, l2_squared=l2_squared, largest=largest, changed=changed)


def _attribute(
    replaced: Sensitivity, singles: Mapping[str, Sensitivity], reads: frozenset[str] | Everything
) -> Sensitivity:
    """Return bounds that hold whichever single attribute changes."""
    if isinstance(reads, Everything):
        raise ParameterError(
            "A per-attribute spend needs the attributes by name; give reads={'age', …}, or by_attribute={'age': 1, …}."
        )
    if not reads:
        raise UnsupportedSpend(
            "No single attribute moves this number, only whole people do, so no spend per attribute pays for it; "
            "spend per person."
        )
    return reduce(Sensitivity.cover, (singles.get(name, replaced) for name in sorted(reads)))
