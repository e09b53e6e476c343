"""The distributions that sfumato draws from, each enclosing its own probabilities."""

from sfumato.noise.laws.base import LAWS, Law, Peaked, Priced, Smooth, law_from_json, require_priced
from sfumato.noise.laws.binomial import Above, Binomial, Chance, Top
from sfumato.noise.laws.derived import Between, Maximum
from sfumato.noise.laws.gaussian import DiscreteGaussian
from sfumato.noise.laws.laplace import DiscreteLaplace, Geometric
from sfumato.noise.laws.normal import PrivateNormal, RoundedNormal
from sfumato.noise.laws.sinh import SinhNormal

__all__ = [
    "LAWS",
    "Above",
    "Between",
    "Binomial",
    "Chance",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Geometric",
    "Law",
    "Maximum",
    "Peaked",
    "Priced",
    "PrivateNormal",
    "RoundedNormal",
    "SinhNormal",
    "Smooth",
    "Top",
    "law_from_json",
    "require_priced",
]
