"""Quantiles of an ordered column: one, or several with a joint guarantee."""

from sfumato.moved import moved
from sfumato.questions.quantiles.choice import Chosen, QuantileFacts, choose_quantiles
from sfumato.questions.quantiles.joint import JointQuantiles
from sfumato.questions.quantiles.question import Quantiles

__all__ = ["Chosen", "JointQuantiles", "QuantileFacts", "Quantiles", "choose_quantiles"]

__getattr__ = moved(__name__, {"Facts": "sfumato.questions.quantiles.QuantileFacts"})
