"""Multiplicative weights: the papers' synthesizers, one loop and one model behind all of them."""

from sfumato.release.synthesis.methods import register
from sfumato.release.weights.barak import Barak
from sfumato.release.weights.candidates import Candidates
from sfumato.release.weights.evidence import Fitting
from sfumato.release.weights.methods import METHODS, PartialOptions
from sfumato.release.weights.mwem import MultiplicativeWeights
from sfumato.release.weights.partial import AttributeWeights
from sfumato.release.weights.planning import Options, error_bound, plan_rounds

__all__ = [
    "METHODS",
    "AttributeWeights",
    "Barak",
    "Candidates",
    "Fitting",
    "MultiplicativeWeights",
    "Options",
    "PartialOptions",
    "error_bound",
    "plan_rounds",
]

for _name, _method in METHODS.items():
    register(_name, _method)
