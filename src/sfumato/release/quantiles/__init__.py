"""Quantiles of an ordered column: one, or several with a joint guarantee."""

from sfumato.release.quantiles.choice import Chosen, Facts, choose_quantiles
from sfumato.release.quantiles.joint import JointQuantiles
from sfumato.release.quantiles.question import Quantiles

__all__ = ["Chosen", "Facts", "JointQuantiles", "Quantiles", "choose_quantiles"]
