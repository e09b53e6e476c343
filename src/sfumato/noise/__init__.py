"""Exact noise: one source of randomness, and laws that enclose their own probabilities.

No floating point takes part in any decision, delta is exactly 0, and no support is truncated. The promise
rests on uniform bits, hence on AES-256 in counter mode keyed by the operating system.
"""

from sfumato.noise.laws import (
    LAWS,
    Above,
    Between,
    Binomial,
    Chance,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Law,
    Maximum,
    Priced,
    RoundedNormal,
    SinhNormal,
    Top,
    law_from_json,
    require_priced,
)
from sfumato.noise.noise import Noise
from sfumato.noise.source import new_key

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
    "Noise",
    "Priced",
    "RoundedNormal",
    "SinhNormal",
    "Top",
    "law_from_json",
    "new_key",
    "require_priced",
]
