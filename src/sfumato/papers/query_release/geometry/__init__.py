"""Noise shaped to a workload: K-norm, its cheaper cousins, the recursive mechanism, and the choice among them."""

from sfumato.papers.query_release.geometry.build import shaped
from sfumato.papers.query_release.geometry.choose import Candidate, Choice, choose_additive
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise
from sfumato.papers.query_release.geometry.shaped import Predicted, ShapedNoise

__all__ = ["Candidate", "Choice", "Predicted", "RecursiveNoise", "ShapedNoise", "choose_additive", "shaped"]
