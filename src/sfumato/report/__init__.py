"""Reports on a ledger: what is guaranteed, what has been used, what an adversary could guess (PDP-REPORT)."""

from sfumato.moved import moved
from sfumato.report.evidence import Evidence, evidence
from sfumato.report.figures import Meaning, ReportLine
from sfumato.report.questionnaire import QUESTIONS, Finding, Level, Question
from sfumato.report.threat import ThreatReport, sizes, threats
from sfumato.report.worst import Worst

__all__ = [
    "QUESTIONS",
    "Evidence",
    "Finding",
    "Level",
    "Meaning",
    "Question",
    "ReportLine",
    "ThreatReport",
    "Worst",
    "evidence",
    "sizes",
    "threats",
]

__getattr__ = moved(__name__, {"Row": "sfumato.report.ReportLine"})
