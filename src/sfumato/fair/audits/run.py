"""The audit: all checks, the certificates, and how sure they are (FA-AUDIT)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.audits import evils, evils_merit, evils_segment
from sfumato.fair.audits.case import Case, make_case, only_compared, only_labelled
from sfumato.fair.audits.cautions import cautions
from sfumato.fair.audits.findings import LIPSCHITZ, Finding, either
from sfumato.fair.audits.group_counts import UNKNOWN, Treatment, tally
from sfumato.fair.audits.group_report import GroupReport
from sfumato.fair.audits.lipschitz import WORST, LipschitzReport, UnfairPair, lipschitz_audit
from sfumato.fair.audits.report import AuditReport
from sfumato.fair.audits.significance import benjamini_hochberg
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.groups.bias import BiasCertificate, bias_bound
from sfumato.fair.groups.parity import parity_gap
from sfumato.fair.metric.base import Metric
from sfumato.fair.people import column, column_names
from sfumato.fair.repair import repair_cost, repair_scores
from sfumato.noise import Noise
from sfumato.words import understood

BIAS_PEOPLE = 3000
NULL_SHUFFLES = 200
LISTED = 12
LARGE = 1000
"""From here on a number is shown whole."""
NEED_A_LABEL = ("E5", "E6", "E8")


@understood
def audit(
    model: Any,
    people: Any,
    protected: Any,
    *,
    metric: Metric | Mapping[str | int, float] | None = None,
    label: Any = None,
    segments: Any = None,
    group: Any = None,
    favourable: Any = None,
    deserving: Any = None,
    features: str | Sequence[str | int] | None = None,
    alpha: float = 0.05,
) -> AuditReport:
    """Audit a model, a table of decisions or a black-box function for unfair treatment.

    `model` is a fitted classifier with `predict_proba`, a function from a table to probabilities, a vector or matrix of
    probabilities, or a vector of realised decisions; `people` is the table it was asked about. `protected` names the
    protected column, or is that column. Of two groups either may be harmed, and all checks look for harm to both;
    `group` names the one to ask about instead, and must be given where there are more than two. Whose group is missing
    is counted and left out of all comparisons. `favourable` is the good outcome: it must be named where there are
    decisions, and is the last class of a classifier or a matrix if not. `metric` says who is similar to whom, as a
    `Metric` or as weights by column; without it only group figures are possible. `label` (true merit) and
    `segments` (such as the zip code) name columns or are arrays, for the checks that need them; where the label is
    one of two words, `deserving` is the good one. Whose decision or chance is missing was not refused, and is left
    out too. Whose label is missing is left out of what needs one, and the report says how many that are. `features`
    names the columns that describe people, by default all but the protected one, the label and keys such as
    `customer_id` whose values all differ (unless the metric reads them): leave out what the rule itself made, such as
    its score.
    `alpha` is the share of false alarms tolerated among what is raised.

    >>> import numpy as np
    >>> score = np.linspace(0, 1, 200)
    >>> report = audit(score / 2, {"score": score}, np.arange(200) % 2, metric=Metric.from_scores(score))
    >>> report.ok, report.lipschitz.kappa < 0.51
    (True, True)
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, and {alpha} does not; write for example 0.05.")
    whole = make_case(
        model, people, protected, metric=metric, label=label, segments=segments, group=group,
        favourable=favourable, deserving=deserving, features=features,
    )  # fmt: skip
    case = only_compared(whole)
    findings = run_checks(case)
    lipschitz = _lipschitz(case)
    groups = _group_report(whole, alpha)
    raised = [*groups.raised, *raise_findings(findings, alpha)]
    if lipschitz is not None and not lipschitz.ok and not case.only_decisions:
        raised.append(LIPSCHITZ)
    outside = ~case.inside
    gap = parity_gap(case.probabilities, case.inside, outside)
    bias, used, seen = _bias(case)
    repair = None
    if case.metric is not None and not case.only_decisions:
        repaired = repair_scores(case.favourable, case.metric.capped(1.0))
        repair = repair_cost(case.favourable, repaired)
    rates = (float(case.favourable[case.inside].mean()), float(case.favourable[outside].mean()))
    return AuditReport(
        case.size, case.group_names, (int(case.inside.sum()), int(outside.sum())), rates, gap, tuple(findings),
        tuple(raised), alpha, lipschitz, bias, used, seen, repair, _side_by_side(case, lipschitz), case.only_decisions,
        groups, case.both, int((whole.labels == UNKNOWN).sum()),
    )  # fmt: skip


def _group_report(case: Case, alpha: float) -> GroupReport:
    """Return the figures of all groups of the protected column; error rates where merit is a label of 0 and 1."""
    labelled = None if case.merit is None else ~np.isnan(case.merit)
    binary = case.merit is not None and bool(np.isin(case.merit[labelled], (0.0, 1.0)).all())
    treatment = Treatment(
        case.favourable, case.only_decisions, case.merit == 1.0 if binary and case.merit is not None else None,
        labelled=labelled,
    )  # fmt: skip
    tallied = tally({case.protected_name: case.labels}, 1, treatment)
    return GroupReport(
        tallied, (), 1 - alpha, checks=NEED_A_LABEL, favourable=case.good, others=case.not_good, cautions=cautions(case)
    )


def run_checks(case: Case) -> list[Finding]:
    """Return the findings of E1 to E9; shuffles are seeded, so that a report can be repeated.

    E3 to E6 look for harm to one group. Nobody has to guess which: where the case says so, they are made for both.
    """
    noise = Noise(insecure_seed=11)
    labelled = only_labelled(case)
    return [
        evils.blatant(case),
        evils.redundant_encoding(case),
        _for_either(lambda asked: evils.redlining(asked, noise), case),
        _for_either(evils_segment.cutting_off, case),
        _for_either(lambda asked: evils_merit.self_fulfilling(asked, noise), labelled),
        _for_either(evils_merit.reverse_tokenism, labelled),
        evils_segment.subset_targeting(case, noise),
        evils_merit.reduced_utility(labelled),
        evils_merit.metric_abuse(case),
    ]


def _for_either(check: Callable[[Case], Finding], case: Case) -> Finding:
    first = check(case)
    return either(first, replace(check(case.turned), group=case.others)) if case.both else first


def raise_findings(findings: list[Finding], alpha: float) -> list[str]:
    """Return the codes of what is significant among all checks that ran, and larger than tolerated."""
    ran = [finding for finding in findings if finding.p_value is not None]
    stands = benjamini_hochberg([float(finding.p_value or 0.0) for finding in ran], alpha)
    return [finding.code for finding, stand in zip(ran, stands, strict=True) if stand and finding.large]


def _lipschitz(case: Case) -> LipschitzReport | None:
    if case.metric is None:
        return None
    labels = np.where(case.inside, case.group_names[0], case.group_names[1])
    # A realised decision hides its probability; the share among neighbours estimates it.
    rows: Floats = np.stack([1 - case.smoothed, case.smoothed], axis=1) if case.only_decisions else case.probabilities
    return lipschitz_audit(rows, case.metric, groups=labels)


def _bias(case: Case) -> tuple[BiasCertificate | None, int, float]:
    """Return the bias certificate, on an even sample of both groups where they are large, and the sample's own gap."""
    if case.metric is None:
        return None, 0, 0.0
    first, second = (_spread(np.flatnonzero(mask), BIAS_PEOPLE // 2) for mask in (case.inside, ~case.inside))
    chosen = np.concatenate([first, second])
    groups = np.arange(len(first)), np.arange(len(first), len(chosen))
    bound = bias_bound(case.metric.subset(chosen), *groups, shuffles=NULL_SHUFFLES)
    return bound, len(chosen), parity_gap(case.probabilities[chosen], *groups).value


def _spread(members: Integers, most: int) -> Integers:
    if len(members) <= most:
        return members
    return members[np.linspace(0, len(members) - 1, most).astype(np.int64)]


def _apart(case: Case) -> list[UnfairPair]:
    """Return neighbours of whom one got the good decision and one did not, first where those around differ most."""
    assert case.metric is not None
    first = np.repeat(np.arange(case.size), case.near.shape[1])
    second = case.near.ravel()
    kept = (case.favourable[first] > case.favourable[second]).nonzero()[0]
    first, second = first[kept], second[kept]
    around = np.abs(case.smoothed[first] - case.smoothed[second])
    distance = case.metric.between(first, second)
    found: dict[int, UnfairPair] = {}
    for place in np.argsort(np.minimum(distance, 1.0) - around, kind="stable").tolist():
        one, two = int(first[place]), int(second[place])
        found.setdefault(one, UnfairPair(one, two, float(distance[place]), float(around[place])))
        if len(found) == WORST:
            break
    return list(found.values())


def _side_by_side(case: Case, lipschitz: LipschitzReport | None) -> tuple[dict[str, Any], ...]:
    if lipschitz is None or case.metric is None:
        return ()
    names = column_names(case.people)
    read = [name for name in case.metric.columns if name in names]
    rest = [name for name in names if name not in read]
    columns = {name: column(case.people, name) for name in [*read, *rest][:LISTED]}
    out = []
    for pair in _apart(case) if case.only_decisions else lipschitz.worst:
        features = {
            str(name): (_shown(values[pair.first]), _shown(values[pair.second])) for name, values in columns.items()
        }
        chances = (float(case.favourable[pair.first]), float(case.favourable[pair.second]))
        first, second = (int(case.table_rows[place]) for place in (pair.first, pair.second))
        out.append({
            "first": first, "second": second, "distance": pair.distance, "difference": pair.difference,
            "chances": chances, "features": features,
            # Of decisions, what is compared: a decision differs from another one by chance too.
            "around": (float(case.smoothed[pair.first]), float(case.smoothed[pair.second])),
        })  # fmt: skip
    return tuple(out)


def _shown(value: Any) -> str:
    if not isinstance(value, (float, np.floating)):
        return str(value)
    return f"{value:,.0f}" if abs(float(value)) >= LARGE else f"{value:.4g}"
