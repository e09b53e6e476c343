"""The ways to make synthetic data, by name; other rooms add theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.ask.prepared import Prepared
from sfumato.privacy import Bound
from sfumato.registry import Registry
from sfumato.table.gauge import Basis

if TYPE_CHECKING:
    from sfumato.workload.workload import Workload

Method = Callable[[Basis, Bound, "Workload", Mapping[str, Any]], Prepared]
"""From public facts, a spend, a workload and options to what runs; `made["model"]` of its answer is a model's JSON."""

METHODS: Registry[Method] = Registry(
    "method",
    "methods",
    {
        "auto": "sfumato.questions.synthesis.question",
        "mwem": "sfumato.papers.query_release.weights",
        "pdp-mwem": "sfumato.papers.partial_dp.method",
        "barak": "sfumato.papers.query_release.weights",
        "agnostic": "sfumato.papers.query_release.learning.agnostic",
    },
)
"""The question's own way, which it takes itself, and the papers' algorithms, in rooms that are loaded when needed."""
