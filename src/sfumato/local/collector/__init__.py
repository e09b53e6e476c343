"""The collector: reports in their envelopes come in, are safe on the disk, count once, and become a sketch."""

from sfumato.local.collector.collection import Collected, read_collection
from sfumato.local.collector.collector import Batch, Collector
from sfumato.local.collector.collectors import CollectorSet
from sfumato.local.collector.envelope import envelope, envelopes
from sfumato.local.collector.intake import Intake

__all__ = ["Batch", "Collected", "Collector", "CollectorSet", "Intake", "envelope", "envelopes", "read_collection"]
