"""Synopses: one small private sketch answers every conjunction, parity or cut."""

from sfumato.release.synopsis.base import Synopsis, synopsis_from_json
from sfumato.release.synopsis.binary import Bits, one_hot
from sfumato.release.synopsis.plan import Plan, Way, plan_parities, plan_synopsis
from sfumato.release.synopsis.queries import Conjunctions, Cuts, Parities
from sfumato.release.synopsis.question import Synopsize

__all__ = [
    "Bits",
    "Conjunctions",
    "Cuts",
    "Parities",
    "Plan",
    "Synopsis",
    "Synopsize",
    "Way",
    "one_hot",
    "plan_parities",
    "plan_synopsis",
    "synopsis_from_json",
]
