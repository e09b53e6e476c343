"""Quantiles of an ordered column: one, or several with a joint guarantee."""

from sfumato.questions.quantiles.choice import Chosen, Facts, choose_quantiles
from sfumato.questions.quantiles.joint import JointQuantiles
from sfumato.questions.quantiles.question import Quantiles

__all__ = ["Chosen", "Facts", "JointQuantiles", "Quantiles", "choose_quantiles"]
