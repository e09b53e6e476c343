"""Multiplicative weights: the papers' synthesizers, one loop and one model behind all of them."""

from sfumato.questions.synthesis.methods import register
from sfumato.papers.query_release.weights.barak import Barak
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.methods import METHODS, PartialOptions
from sfumato.papers.query_release.weights.mwem import MultiplicativeWeights
from sfumato.papers.partial_dp.attribute_weights import AttributeWeights
from sfumato.papers.query_release.weights.planning import Options, error_bound, plan_rounds

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
