"""Noise shaped to a workload: K-norm, its cheaper cousins, the recursive mechanism, and the choice among them."""

from sfumato.release.geometry.build import shaped
from sfumato.release.geometry.choose import Candidate, Choice, choose_additive
from sfumato.release.geometry.recursive import RecursiveNoise
from sfumato.release.geometry.shaped import Predicted, ShapedNoise

__all__ = ["Candidate", "Choice", "Predicted", "RecursiveNoise", "ShapedNoise", "choose_additive", "shaped"]
