"""Fair mappings: the program, its solvers, exact feasibility, and rules for people not seen when solving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.fair.mapping.extension import Cascade, Interpolation, Landmarks, landmark_rule
    from sfumato.fair.mapping.mapping import FairMapping, fair_mapping
    from sfumato.fair.mapping.problem import Parity

__getattr__, __dir__ = later(
    __name__,
    {
        "Cascade": "sfumato.fair.mapping.extension",
        "FairMapping": "sfumato.fair.mapping.mapping",
        "Interpolation": "sfumato.fair.mapping.extension",
        "Landmarks": "sfumato.fair.mapping.extension",
        "Parity": "sfumato.fair.mapping.problem",
        "fair_mapping": "sfumato.fair.mapping.mapping",
        "landmark_rule": "sfumato.fair.mapping.extension",
    },
)
"""Each name's module is loaded when it is first used: whoever imports one module of the folder loads no other."""


__all__ = ["Cascade", "FairMapping", "Interpolation", "Landmarks", "Parity", "fair_mapping", "landmark_rule"]
