"""Choices that are private and proved, and that no one should prefer: their constants are worse than the defaults'."""

from sfumato.select.experimental.deep_covers import deep_covers
from sfumato.select.experimental.general_interior import GeneralInterior, general_interior, ranks

__all__ = ["GeneralInterior", "deep_covers", "general_interior", "ranks"]
