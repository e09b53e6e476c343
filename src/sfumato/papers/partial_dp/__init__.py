"""Partial differential privacy: a promise for each attribute of a person.

What the product uses of it (profiles, attribute limits, the tree of columns) is in the core; here are the synthesizer
that spends by attribute in multiplicative weights (PDP-MWEM) and halfspaces that no single feature sways (PDP-HALF).

Its story, with a runnable example for every identifier, is docs/papers/partial-dp.md.
"""

from sfumato.papers.partial_dp.attribute_weights import AttributeWeights
from sfumato.papers.partial_dp.method import PartialOptions, people_needed

__all__ = ["AttributeWeights", "PartialOptions", "people_needed"]
