"""Treat similar people similarly, and prove it.

`Metric` says who is similar to whom; `fair_mapping` and `FairClassifier` decide under it; `audit` inspects what others
decide. Folders: `metric` (who is similar), `mapping` (fair decisions), `groups` (two groups), `audits` (inspections),
`pairs` (work on all pairs).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.fair.audits import AuditReport, PrivateAudit, audit, lipschitz_audit, private_audit
    from sfumato.fair.audits.files import audit_file
    from sfumato.fair.audits.group_report import GroupReport, group_report
    from sfumato.fair.caution import FairnessWarning
    from sfumato.fair.classifier import FairClassifier
    from sfumato.fair.groups import (
        adjust_metric,
        affirmative_mapping,
        bias_bound,
        earthmover,
        parity_gap,
        parity_without_cross,
        read_bias,
    )
    from sfumato.fair.mapping import FairMapping, Parity, fair_mapping, landmark_rule
    from sfumato.fair.mapping.exponential import (
        doubling_dimension,
        exponential_mapping,
        mean_distance_bound,
        packing_lower_bound,
    )
    from sfumato.fair.mapping.private import optimal_dp_mechanism
    from sfumato.fair.metric import Metric, assign_counterparts, elicit_metric, learn_from_triplets, learn_metric
    from sfumato.fair.pairs.certificate import Certificate, certify
    from sfumato.fair.repair import repair_cost, repair_probabilities, repair_scores

_LATER = {
    "AuditReport": "audits",
    "Certificate": "pairs.certificate",
    "FairClassifier": "classifier",
    "FairMapping": "mapping",
    "FairnessWarning": "caution",
    "GroupReport": "audits.group_report",
    "Metric": "metric",
    "Parity": "mapping",
    "PrivateAudit": "audits",
    "adjust_metric": "groups",
    "affirmative_mapping": "groups",
    "assign_counterparts": "metric",
    "audit": "audits",
    "audit_file": "audits.files",
    "bias_bound": "groups",
    "certify": "pairs.certificate",
    "doubling_dimension": "mapping.exponential",
    "earthmover": "groups",
    "elicit_metric": "metric",
    "exponential_mapping": "mapping.exponential",
    "fair_mapping": "mapping",
    "group_report": "audits.group_report",
    "landmark_rule": "mapping",
    "learn_from_triplets": "metric",
    "learn_metric": "metric",
    "lipschitz_audit": "audits",
    "mean_distance_bound": "mapping.exponential",
    "optimal_dp_mechanism": "mapping.private",
    "packing_lower_bound": "mapping.exponential",
    "parity_gap": "groups",
    "parity_without_cross": "groups",
    "private_audit": "audits",
    "read_bias": "groups",
    "repair_cost": "repair",
    "repair_probabilities": "repair",
    "repair_scores": "repair",
}


def __getattr__(name: str) -> Any:
    """Load a name's module when it is first used: scikit-learn and POT are slow to import."""
    if name not in _LATER:
        raise AttributeError(f"sfumato.fair has no {name!r}; see dir(sfumato.fair) for what there is.")
    return getattr(import_module(f"sfumato.fair.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AuditReport",
    "Certificate",
    "FairClassifier",
    "FairMapping",
    "FairnessWarning",
    "GroupReport",
    "Metric",
    "Parity",
    "PrivateAudit",
    "adjust_metric",
    "affirmative_mapping",
    "assign_counterparts",
    "audit",
    "audit_file",
    "bias_bound",
    "certify",
    "doubling_dimension",
    "earthmover",
    "elicit_metric",
    "exponential_mapping",
    "fair_mapping",
    "group_report",
    "landmark_rule",
    "learn_from_triplets",
    "learn_metric",
    "lipschitz_audit",
    "mean_distance_bound",
    "optimal_dp_mechanism",
    "packing_lower_bound",
    "parity_gap",
    "parity_without_cross",
    "private_audit",
    "read_bias",
    "repair_cost",
    "repair_probabilities",
    "repair_scores",
]
