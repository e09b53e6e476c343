"""Durable budgets: what everything answered about some people may cost, and what it has cost so far."""

from sfumato.ledger.budget import Budget, Limit
from sfumato.ledger.guarantee import UNBOUNDED, Unbounded
from sfumato.ledger.history import Entry
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.plan import PlannedReleases
from sfumato.ledger.readings import Odometer, Reading, Statement
from sfumato.ledger.reservation import Break, Conversation, Preview, Reservation
from sfumato.ledger.verify import Verification
from sfumato.moved import moved

__all__ = [
    "UNBOUNDED",
    "Break",
    "Budget",
    "Conversation",
    "Entry",
    "Ledger",
    "Limit",
    "Odometer",
    "PlannedReleases",
    "Preview",
    "Reading",
    "Reservation",
    "Statement",
    "Unbounded",
    "Verification",
]

__getattr__ = moved(__name__, {"Plan": "sfumato.ledger.PlannedReleases"})
