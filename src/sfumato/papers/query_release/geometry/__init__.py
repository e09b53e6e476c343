"""Noise shaped to a workload: K-norm, its cheaper cousins, the recursive mechanism, and the choice among them."""

from sfumato.moved import moved
from sfumato.papers.query_release.geometry.build import shaped
from sfumato.papers.query_release.geometry.choose import Choice, Contender, choose_additive
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise
from sfumato.papers.query_release.geometry.shaped import Predicted, ShapedNoise

__all__ = ["Choice", "Contender", "Predicted", "RecursiveNoise", "ShapedNoise", "choose_additive", "shaped"]

__getattr__ = moved(__name__, {"Candidate": "sfumato.papers.query_release.geometry.Contender"})
