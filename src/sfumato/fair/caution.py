"""The one kind of warning that fairness gives."""

from __future__ import annotations


class FairnessWarning(UserWarning):
    """The result holds, but it may not mean what it seems to mean; the sentence says why and what to do."""
