"""Learners of the papers that are private and correct, and need more people than the ones to use; for study."""

from sfumato.learn.experimental.bit_threshold import BitThreshold
from sfumato.learn.experimental.kearns_box import KearnsBox
from sfumato.learn.experimental.padded import PaddedClasses

__all__ = ["BitThreshold", "KearnsBox", "PaddedClasses"]
