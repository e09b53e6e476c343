"""The shape of an answer: a value, how far noise may have moved it, what it cost, and what is left.

An answer never holds the true value or the noise. Its interval covers what the noise did, not the luck of who
is in the table; it says so wherever it is shown.
"""

from sfumato.answer.answer import NOISE_ONLY, Answer, Error, ErrorUnit, Reader
from sfumato.answer.frame import Frame, number
from sfumato.answer.measured import NoisyPart, half_width, one_sided_width
from sfumato.answer.released import Released
from sfumato.moved import moved

__all__ = [
    "NOISE_ONLY",
    "Answer",
    "Error",
    "ErrorUnit",
    "Frame",
    "NoisyPart",
    "Reader",
    "Released",
    "half_width",
    "number",
    "one_sided_width",
]

__getattr__ = moved(__name__, {"Measured": "sfumato.answer.NoisyPart"})
