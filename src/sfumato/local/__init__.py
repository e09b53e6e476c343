"""The local model: devices send randomized reports, and only what many of them hold can be seen.

>>> from sfumato import Pure, domain, local
>>> plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=4))
>>> report = plan.client().report("word")
>>> server = plan.server()
>>> server.ingest(report)
1
"""

from sfumato.local import browser
from sfumato.local.check import Check
from sfumato.local.client import Client
from sfumato.local.collector import Collected, Collector, CollectorSet, Intake, envelope, envelopes, read_collection
from sfumato.local.device import Device
from sfumato.local.engines import aggregate
from sfumato.local.hadamard import HadamardResponse, hadamard_response
from sfumato.local.items import Bytes, Items, raw
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.method import Method, Role
from sfumato.local.oracle import Oracle
from sfumato.local.plan import Plan, read_plan
from sfumato.local.planning import plan
from sfumato.local.popular import MeanEstimate, Popular, PopularItem, Shares, nearest_distribution
from sfumato.local.response import MeanResponse, Response, mean_response, response
from sfumato.local.seed import Seed
from sfumato.local.server import Server, combine
from sfumato.local.sketch import load
from sfumato.local.wire import Refused, Wire
from sfumato.moved import moved
from sfumato.privacy.coins import noise_weight

__all__ = [
    "Bytes",
    "Check",
    "Client",
    "Collected",
    "Collector",
    "CollectorSet",
    "Device",
    "HadamardResponse",
    "Intake",
    "Items",
    "LinearHash",
    "MeanEstimate",
    "MeanResponse",
    "Method",
    "Oracle",
    "Plan",
    "Popular",
    "PopularItem",
    "Refused",
    "Response",
    "Role",
    "Seed",
    "Server",
    "Shares",
    "Wire",
    "aggregate",
    "browser",
    "combine",
    "envelope",
    "envelopes",
    "hadamard_response",
    "linear_hash",
    "load",
    "mean_response",
    "nearest_distribution",
    "noise_weight",
    "plan",
    "raw",
    "read_collection",
    "read_plan",
    "response",
]

__getattr__ = moved(
    __name__,
    {
        "Collectors": "sfumato.local.CollectorSet",
        "Item": "sfumato.local.PopularItem",
        "BitstogramMethod": "sfumato.papers.heavy_hitters.BitstogramMethod",
        "ExpanderMethod": "sfumato.papers.heavy_hitters.ExpanderMethod",
        "Hashtogram": "sfumato.papers.heavy_hitters.Hashtogram",
        "LocalHash": "sfumato.papers.heavy_hitters.LocalHash",
        "PaperSizes": "sfumato.papers.heavy_hitters.PaperSizes",
        "PaperSketch": "sfumato.papers.heavy_hitters.PaperSketch",
        "UnaryEncoding": "sfumato.papers.heavy_hitters.UnaryEncoding",
        "UniqueListCode": "sfumato.papers.heavy_hitters.UniqueListCode",
        "bitstogram_method": "sfumato.papers.heavy_hitters.bitstogram_method",
        "expander_method": "sfumato.papers.heavy_hitters.expander_method",
        "hashtogram": "sfumato.papers.heavy_hitters.hashtogram",
        "local_hash": "sfumato.papers.heavy_hitters.local_hash",
        "paper_sketch": "sfumato.papers.heavy_hitters.paper_sketch",
        "structure": "sfumato.papers.heavy_hitters.structure",
        "unary_encoding": "sfumato.papers.heavy_hitters.unary_encoding",
    },
)
