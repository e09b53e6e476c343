"""Multiplicative weights: the papers' synthesizers, one loop and one model behind all of them."""

from sfumato.papers.query_release.weights.barak import Barak
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.methods import METHODS
from sfumato.papers.query_release.weights.mwem import MultiplicativeWeights
from sfumato.papers.query_release.weights.planning import Options, error_bound, plan_rounds
from sfumato.questions.synthesis import methods

__all__ = [
    "METHODS",
    "Barak",
    "Candidates",
    "Fitting",
    "MultiplicativeWeights",
    "Options",
    "error_bound",
    "plan_rounds",
]

for _name, _method in METHODS.items():
    methods.METHODS.add(_name, _method)
