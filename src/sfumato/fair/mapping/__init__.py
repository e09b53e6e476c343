"""Fair mappings: the program, its solvers, exact feasibility, and rules for people not seen when solving."""

from sfumato.fair.mapping.extension import Cascade, Interpolation, Landmarks, landmark_rule
from sfumato.fair.mapping.mapping import FairMapping, fair_mapping
from sfumato.fair.mapping.problem import Parity

__all__ = ["Cascade", "FairMapping", "Interpolation", "Landmarks", "Parity", "fair_mapping", "landmark_rule"]
