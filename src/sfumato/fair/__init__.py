"""Treat similar people similarly, and prove it.

`Metric` says who is similar to whom; `fair_mapping` and `FairClassifier` decide under it; `audit` inspects what others
decide. Folders: `metric` (who is similar), `mapping` (fair decisions), `groups` (two groups), `audits` (inspections),
`pairs` (work on all pairs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.fair.audits import AuditReport, PrivateAudit, audit, lipschitz_audit, private_audit
    from sfumato.fair.audits.files import audit_file, compare_file
    from sfumato.fair.audits.group_report import GroupReport, group_report
    from sfumato.fair.caution import FairnessWarning
    from sfumato.fair.classifier import FairClassifier
    from sfumato.fair.groups import (
        affirmative_mapping,
        bias_bound,
        earthmover,
        parity_gap,
        read_bias,
    )
    from sfumato.fair.mapping import FairMapping, Parity, fair_mapping, landmark_rule
    from sfumato.fair.metric import Metric, assign_counterparts, elicit_metric, learn_from_triplets, learn_metric
    from sfumato.fair.pairs.certificate import Certificate, certify
    from sfumato.fair.repair import repair_cost, repair_probabilities, repair_scores

__getattr__, __dir__ = later(
    __name__,
    {
        "AuditReport": "sfumato.fair.audits.report",
        "Certificate": "sfumato.fair.pairs.certificate",
        "FairClassifier": "sfumato.fair.classifier",
        "FairMapping": "sfumato.fair.mapping.mapping",
        "FairnessWarning": "sfumato.fair.caution",
        "GroupReport": "sfumato.fair.audits.group_report",
        "Metric": "sfumato.fair.metric.base",
        "Parity": "sfumato.fair.mapping.problem",
        "PrivateAudit": "sfumato.fair.audits.private",
        "adjust_metric": "sfumato.papers.query_release.fairness.adjust",
        "affirmative_mapping": "sfumato.fair.groups.affirmative",
        "assign_counterparts": "sfumato.fair.metric.ranks",
        "audit": "sfumato.fair.audits.run",
        "audit_file": "sfumato.fair.audits.files",
        "bias_bound": "sfumato.fair.groups.bias",
        "certify": "sfumato.fair.pairs.certificate",
        "compare_file": "sfumato.fair.audits.files",
        "doubling_dimension": "sfumato.papers.query_release.fairness.exponential",
        "earthmover": "sfumato.fair.groups.earth",
        "elicit_metric": "sfumato.fair.metric.experts",
        "exponential_mapping": "sfumato.papers.query_release.fairness.exponential",
        "fair_mapping": "sfumato.fair.mapping.mapping",
        "group_report": "sfumato.fair.audits.group_report",
        "landmark_rule": "sfumato.fair.mapping.extension",
        "learn_from_triplets": "sfumato.fair.metric.experts",
        "learn_metric": "sfumato.fair.metric.experts",
        "lipschitz_audit": "sfumato.fair.audits.lipschitz",
        "mean_distance_bound": "sfumato.papers.query_release.fairness.exponential",
        "optimal_dp_mechanism": "sfumato.papers.query_release.fairness.optimal",
        "packing_lower_bound": "sfumato.papers.query_release.fairness.exponential",
        "parity_gap": "sfumato.fair.groups.parity",
        "parity_without_cross": "sfumato.papers.query_release.fairness.adjust",
        "private_audit": "sfumato.fair.audits.private",
        "read_bias": "sfumato.fair.groups.bias",
        "repair_cost": "sfumato.fair.repair",
        "repair_probabilities": "sfumato.fair.repair",
        "repair_scores": "sfumato.fair.repair",
    },
)
"""Each name's module is loaded when it is first used: scikit-learn and POT are slow to import."""


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
    "compare_file",
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
