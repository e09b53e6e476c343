"""Codes without privacy: Reed–Solomon, and the unique-list-recoverable code of the expander sketch."""

from sfumato.papers.heavy_hitters.codes.graph import best_offsets, second_eigenvalue
from sfumato.papers.heavy_hitters.codes.reed_solomon import Field, ReedSolomon
from sfumato.papers.heavy_hitters.codes.unique_list import DECODERS, UniqueListCode

__all__ = ["DECODERS", "Field", "ReedSolomon", "UniqueListCode", "best_offsets", "second_eigenvalue"]
