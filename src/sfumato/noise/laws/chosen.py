"""From the noise that a bound asks for to the law that is drawn."""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE, Priced
from sfumato.noise.laws.gaussian import DiscreteGaussian
from sfumato.noise.laws.laplace import DiscreteLaplace
from sfumato.noise.laws.normal import RoundedNormal
from sfumato.noise.laws.sinh import SinhNormal
from sfumato.privacy.calibrate import GaussianParameters, LaplaceParameters, Parameters, RoundedParameters


def law_of(parameters: Parameters) -> Priced:
    """Return the law with these parameters; noise below what the sampler can draw is rounded up."""
    match parameters:
        case LaplaceParameters():
            _require_drawable(parameters.scale, LARGEST_SCALE)
            return DiscreteLaplace(max(parameters.scale, SMALLEST_SCALE))
        case GaussianParameters():
            _require_drawable(parameters.variance, LARGEST_SCALE**2)
            return DiscreteGaussian(max(parameters.variance, SMALLEST_SCALE**2))
        case RoundedParameters():
            _require_drawable(parameters.variance, LARGEST_SCALE**2)
            return RoundedNormal(max(parameters.variance, SMALLEST_SCALE**2))
        case _:
            return SinhNormal(parameters.variance, parameters.bend)


def _require_drawable(size: Fraction, largest: Fraction) -> None:
    """Refuse noise that is too large to be drawn, of a spend that is next to nothing for what one person moves."""
    if size > largest:
        raise ParameterError(
            f"So small a spend needs noise with a scale above {float(LARGEST_SCALE):g}, in which every answer would "
            "drown; spend more, or measure in larger units."
        )
