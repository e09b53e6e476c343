"""Tools that try to break a promise: exact laws of the code that ships, samples, adaptive analysts."""

from sfumato.audit.adaptive import ReleaseKind, worst_adaptive
from sfumato.audit.attacks import Attack, attack
from sfumato.audit.certificates import Certificate, certified_grid, certify
from sfumato.audit.checks import Neighbours, check
from sfumato.audit.conversations import law_of_interaction
from sfumato.audit.divergences import Comparison, Interval, hockey_stick, max_divergence, renyi
from sfumato.audit.laws import FiniteLaw, law
from sfumato.audit.reconstruction import Reconstruction, reconstruct
from sfumato.audit.reports import Finding, Report
from sfumato.moved import moved

__all__ = [
    "Attack",
    "Certificate",
    "Comparison",
    "Finding",
    "FiniteLaw",
    "Interval",
    "Neighbours",
    "Reconstruction",
    "ReleaseKind",
    "Report",
    "attack",
    "certified_grid",
    "certify",
    "check",
    "hockey_stick",
    "law",
    "law_of_interaction",
    "max_divergence",
    "reconstruct",
    "renyi",
    "worst_adaptive",
]

__getattr__ = moved(__name__, {"Release": "sfumato.audit.ReleaseKind"})
