"""Two groups: parity, earthmover distance, the bias that fairness allows, affirmative action."""

from sfumato.fair.groups.adjust import AdjustedMetric, adjust_metric
from sfumato.fair.groups.affirmative import AffirmativeMapping, affirmative_mapping, parity_without_cross
from sfumato.fair.groups.bias import BiasCertificate, BiasReading, bias_bound, read_bias
from sfumato.fair.groups.earth import Earthmover, earthmover
from sfumato.fair.groups.parity import ParityGap, parity_gap

__all__ = [
    "AdjustedMetric",
    "AffirmativeMapping",
    "BiasCertificate",
    "BiasReading",
    "Earthmover",
    "ParityGap",
    "adjust_metric",
    "affirmative_mapping",
    "bias_bound",
    "earthmover",
    "parity_gap",
    "parity_without_cross",
    "read_bias",
]
