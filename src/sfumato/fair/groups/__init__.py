"""Two groups: parity, earthmover distance, the bias that fairness allows, affirmative action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.fair.groups.affirmative import AffirmativeMapping, affirmative_mapping
    from sfumato.fair.groups.bias import BiasCertificate, BiasReading, bias_bound, read_bias
    from sfumato.fair.groups.earth import Earthmover, earthmover
    from sfumato.fair.groups.parity import ParityGap, parity_gap

__getattr__, __dir__ = later(
    __name__,
    {
        "AffirmativeMapping": "sfumato.fair.groups.affirmative",
        "BiasCertificate": "sfumato.fair.groups.bias",
        "BiasReading": "sfumato.fair.groups.bias",
        "Earthmover": "sfumato.fair.groups.earth",
        "ParityGap": "sfumato.fair.groups.parity",
        "affirmative_mapping": "sfumato.fair.groups.affirmative",
        "bias_bound": "sfumato.fair.groups.bias",
        "earthmover": "sfumato.fair.groups.earth",
        "parity_gap": "sfumato.fair.groups.parity",
        "read_bias": "sfumato.fair.groups.bias",
    },
)
"""Each name's module is loaded when it is first used: whoever imports one module of the folder loads no other."""


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
