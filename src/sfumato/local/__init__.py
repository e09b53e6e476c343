"""The local model: devices send randomized reports, and only what many of them hold can be seen.

>>> from sfumato import Pure, domain, local
>>> plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=4))
>>> report = plan.client().report("word")
>>> server = plan.server()
>>> server.ingest(report)
1
"""

from sfumato.local import browser, structure
from sfumato.papers.heavy_hitters.bitstogram import BitstogramMethod, bitstogram_method
from sfumato.local.client import Client
from sfumato.papers.heavy_hitters.codes import UniqueListCode
from sfumato.local.coins import noise_weight
from sfumato.local.collector import Collected, Collector, Intake, envelope, envelopes, read_collection
from sfumato.papers.heavy_hitters.comparators import LocalHash, UnaryEncoding, local_hash, unary_encoding
from sfumato.local.device import Device
from sfumato.local.engines import aggregate
from sfumato.papers.heavy_hitters.expander import ExpanderMethod, expander_method
from sfumato.papers.heavy_hitters.expander_paper import PaperSizes, PaperSketch, paper_sketch
from sfumato.local.hadamard import HadamardResponse, hadamard_response
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram, hashtogram
from sfumato.local.items import Bytes, Items, raw
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.method import Method, Role
from sfumato.local.oracle import Oracle
from sfumato.local.plan import Plan, read_plan
from sfumato.local.planning import plan
from sfumato.local.popular import Item, MeanEstimate, Popular, Shares, nearest_distribution
from sfumato.local.response import MeanResponse, Response, mean_response, response
from sfumato.local.seed import Seed
from sfumato.local.server import Server
from sfumato.local.sketch import load
from sfumato.local.wire import Refused, Wire

__all__ = [
    "BitstogramMethod",
    "Bytes",
    "Client",
    "Collected",
    "Collector",
    "Device",
    "ExpanderMethod",
    "HadamardResponse",
    "Hashtogram",
    "Intake",
    "Item",
    "Items",
    "LinearHash",
    "LocalHash",
    "MeanEstimate",
    "MeanResponse",
    "Method",
    "Oracle",
    "PaperSizes",
    "PaperSketch",
    "Plan",
    "Popular",
    "Refused",
    "Response",
    "Role",
    "Seed",
    "Server",
    "Shares",
    "UnaryEncoding",
    "UniqueListCode",
    "Wire",
    "aggregate",
    "bitstogram_method",
    "browser",
    "envelope",
    "envelopes",
    "expander_method",
    "hadamard_response",
    "hashtogram",
    "linear_hash",
    "load",
    "local_hash",
    "mean_response",
    "nearest_distribution",
    "noise_weight",
    "paper_sketch",
    "plan",
    "raw",
    "read_collection",
    "read_plan",
    "response",
    "structure",
    "unary_encoding",
]
