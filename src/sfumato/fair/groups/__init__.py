"""Two groups: parity, earthmover distance, the bias that fairness allows, affirmative action."""

from sfumato.fair.groups.affirmative import AffirmativeMapping, affirmative_mapping
from sfumato.fair.groups.bias import BiasCertificate, BiasReading, bias_bound, read_bias
from sfumato.fair.groups.earth import Earthmover, earthmover
from sfumato.fair.groups.parity import ParityGap, parity_gap

__all__ = [
    "AffirmativeMapping",
    "BiasCertificate",
    "BiasReading",
    "Earthmover",
    "ParityGap",
    "affirmative_mapping",
    "bias_bound",
    "earthmover",
    "parity_gap",
    "read_bias",
]
