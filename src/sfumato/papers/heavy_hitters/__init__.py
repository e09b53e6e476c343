"""Heavy hitters under local privacy: the sketches of the papers, their codes, and the structure of local protocols.

What the product uses of it (the soft tree, the frequency oracles, lists and means) is `sfumato.local`.
"""

from sfumato.papers.heavy_hitters import structure
from sfumato.papers.heavy_hitters.bitstogram import BitstogramMethod, bitstogram_method
from sfumato.papers.heavy_hitters.codes import UniqueListCode
from sfumato.papers.heavy_hitters.comparators import LocalHash, UnaryEncoding, local_hash, unary_encoding
from sfumato.papers.heavy_hitters.expander import ExpanderMethod, expander_method
from sfumato.papers.heavy_hitters.expander_paper import PaperSizes, PaperSketch, paper_sketch
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram, hashtogram

__all__ = [
    "BitstogramMethod",
    "ExpanderMethod",
    "Hashtogram",
    "LocalHash",
    "PaperSizes",
    "PaperSketch",
    "UnaryEncoding",
    "UniqueListCode",
    "bitstogram_method",
    "expander_method",
    "hashtogram",
    "local_hash",
    "paper_sketch",
    "structure",
    "unary_encoding",
]
