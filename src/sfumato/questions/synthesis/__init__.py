"""Synthetic data: measure low-way tables once, fit a model to the noisy numbers."""

from sfumato.questions.synthesis.question import Synthesize

__all__ = ["Synthesize"]
