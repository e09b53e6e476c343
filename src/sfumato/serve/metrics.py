"""What a collector tells its operator: numbers of reports by plan and reason, in the text format of Prometheus.

No ids, no addresses, no values of reports: every label is the digest of a public plan or a word of this page.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from sfumato.local.check import role_test
from sfumato.local.collector import Collector, CollectorSet, Intake

Line = tuple[str, dict[str, str], float]
_HELP = {
    "sfumato_reports_total": ("counter", "Reports by plan and what became of them."),
    "sfumato_role_chi_square": ("gauge", "How far the reports by role are from the plan; see the page on checks."),
    "sfumato_role_freedom": ("gauge", "The degrees of freedom of that number."),
    "sfumato_waiting_requests": ("gauge", "Requests that wait for the disk."),
    "sfumato_refused_requests_total": ("counter", "Requests that were not let in, by reason."),
    "sfumato_free_bytes": ("gauge", "Free bytes of the disk."),
}


def metrics_text(collectors: Collector | CollectorSet, waiting: int, refused: dict[str, int]) -> str:
    """Return the numbers as text."""
    lines: list[Line] = [("sfumato_waiting_requests", {}, waiting)]
    lines += [("sfumato_refused_requests_total", {"reason": reason}, count) for reason, count in refused.items()]
    lines.append(("sfumato_free_bytes", {}, shutil.disk_usage(collectors.place).free))
    if isinstance(collectors, Collector):
        lines += _of_plan(collectors)
    else:
        for plan in collectors.plans:
            lines += _of_plan(collectors.collector(plan.digest.hex()))
        lines += _counted({"plan": "none"}, collectors.strange)
    return _written(lines)


def _of_plan(collector: Collector) -> list[Line]:
    labels = {"plan": collector.plan.digest.hex()}
    lines = _counted(labels, collector.intake)
    test = role_test(collector.server())
    if test is not None:
        lines.append(("sfumato_role_chi_square", labels, test.statistic))
        lines.append(("sfumato_role_freedom", labels, test.freedom))
    return lines


def _counted(labels: dict[str, str], intake: Intake) -> list[Line]:
    counts = {
        "accepted": intake.accepted,
        "duplicate": intake.duplicates,
        "late": intake.late,
        "envelope": intake.envelope,
        **vars(intake.refused),
    }
    return [("sfumato_reports_total", {**labels, "result": result}, count) for result, count in counts.items()]


def _written(lines: Iterable[Line]) -> str:
    by_name: dict[str, list[str]] = {}
    for name, labels, value in lines:
        inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
        by_name.setdefault(name, []).append(f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}")
    parts = []
    for name, said in by_name.items():
        kind, about = _HELP[name]
        parts += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *said]
    return "\n".join(parts) + "\n"
