"""From the noise that a bound asks for to the law that is drawn."""

from __future__ import annotations

from sfumato.noise.laws.base import SMALLEST_SCALE, Priced
from sfumato.noise.laws.gaussian import DiscreteGaussian
from sfumato.noise.laws.laplace import DiscreteLaplace
from sfumato.noise.laws.normal import RoundedNormal
from sfumato.noise.laws.sinh import SinhNormal
from sfumato.privacy.calibrate import GaussianParameters, LaplaceParameters, Parameters, RoundedParameters


def law_of(parameters: Parameters) -> Priced:
    """Return the law with these parameters; noise below what the sampler can draw is rounded up."""
    match parameters:
        case LaplaceParameters():
            return DiscreteLaplace(max(parameters.scale, SMALLEST_SCALE))
        case GaussianParameters():
            return DiscreteGaussian(max(parameters.variance, SMALLEST_SCALE**2))
        case RoundedParameters():
            return RoundedNormal(max(parameters.variance, SMALLEST_SCALE**2))
        case _:
            return SinhNormal(parameters.variance, parameters.bend)
