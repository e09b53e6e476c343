"""The best of an ordered domain of any size when the score rises and then falls."""

from sfumato.select.quasiconcave.heaviest_cell import HeaviestCell
from sfumato.select.quasiconcave.interior_point import InteriorPath, InteriorPoint, interior_point
from sfumato.select.quasiconcave.shifted_windows import ShiftedPath, ShiftedWindows, shifted_windows
from sfumato.select.quasiconcave.solve import Solver, depth, solve_quasiconcave
from sfumato.select.quasiconcave.two_covers import CoverPath, TwoCovers, two_covers

__all__ = [
    "CoverPath",
    "HeaviestCell",
    "InteriorPath",
    "InteriorPoint",
    "ShiftedPath",
    "ShiftedWindows",
    "Solver",
    "TwoCovers",
    "depth",
    "interior_point",
    "shifted_windows",
    "solve_quasiconcave",
    "two_covers",
]
