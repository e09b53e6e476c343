"""The object that most people hold: a table, a ledger, and questions."""

from sfumato.curator.curator import Curator
from sfumato.curator.opening import curate

__all__ = ["Curator", "curate"]
