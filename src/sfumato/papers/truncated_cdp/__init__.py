"""Truncated concentrated differential privacy: choices with an obvious answer, by ladders of noise.

What the product uses of it (truncated bounds, sinh-normal noise) is in the core; `report` shows a cost from all sides.

Its story, with a runnable example for every identifier, is docs/papers/truncated-cdp.md.
"""

from sfumato.papers.truncated_cdp.obvious_answer import Obvious, obvious

__all__ = ["Obvious", "obvious"]
