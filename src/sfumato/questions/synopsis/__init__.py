"""Synopses: one small private sketch answers every conjunction, parity or cut."""

from sfumato.moved import moved
from sfumato.questions.synopsis.base import Synopsis, synopsis_from_json
from sfumato.questions.synopsis.binary import Bits, one_hot
from sfumato.questions.synopsis.plan import SynopsisPlan, Way, plan_parities, plan_synopsis
from sfumato.questions.synopsis.queries import Conjunctions, Cuts, Parities
from sfumato.questions.synopsis.question import Synopsize

__all__ = [
    "Bits",
    "Conjunctions",
    "Cuts",
    "Parities",
    "Synopsis",
    "SynopsisPlan",
    "Synopsize",
    "Way",
    "one_hot",
    "plan_parities",
    "plan_synopsis",
    "synopsis_from_json",
]

__getattr__ = moved(__name__, {"Plan": "sfumato.questions.synopsis.SynopsisPlan"})
