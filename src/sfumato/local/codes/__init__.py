"""Codes without privacy: Reed–Solomon, and the unique-list-recoverable code of the expander sketch."""

from sfumato.local.codes.graph import best_offsets, second_eigenvalue
from sfumato.local.codes.reed_solomon import Field, ReedSolomon
from sfumato.local.codes.unique_list import DECODERS, UniqueListCode

__all__ = ["DECODERS", "Field", "ReedSolomon", "UniqueListCode", "best_offsets", "second_eigenvalue"]
