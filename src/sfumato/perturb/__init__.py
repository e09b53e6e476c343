"""Noise on exact integers: one mechanism for counts, sums and vectors of them."""

from sfumato.perturb.additive import AdditiveNoise
from sfumato.perturb.calibrated import calibrate
from sfumato.perturb.subsampled import Subsampled
from sfumato.privacy.sensitivity import Sensitivity, sensitivity

__all__ = ["AdditiveNoise", "Sensitivity", "Subsampled", "calibrate", "sensitivity"]
