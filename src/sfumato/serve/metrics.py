"""What a collector tells its operator: numbers of reports by plan and reason, in the text format of Prometheus.

No ids, no addresses, no values of reports: every label is the digest of a public plan or a word of this page.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from sfumato.local.check import role_test
from sfumato.local.collector import Collector, CollectorSet, Intake, read_collection
from sfumato.local.server import Server

Line = tuple[str, dict[str, str], float]
_HELP = {
    "sfumato_reports_total": ("counter", "Reports by plan and what became of them."),
    "sfumato_role_chi_square": ("gauge", "How far the reports by role are from the plan; see the page on checks."),
    "sfumato_role_freedom": ("gauge", "The degrees of freedom of that number."),
    "sfumato_waiting_requests": ("gauge", "Requests that wait for the disk."),
    "sfumato_refused_requests_total": ("counter", "Requests that were not let in, by reason."),
    "sfumato_free_bytes": ("gauge", "Free bytes of the disk."),
}


READ_EVERY = 30.0
"""A collection of several processes is read as a whole at most once in so many seconds."""


class Together:
    """What all processes have collected into the same directories; reading it takes as long as it is large."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[float, Server, Intake]] = {}

    def of(self, collector: Collector) -> tuple[Server, Intake]:
        """Return the sketch and the numbers of all lanes, an id that came to several of them counted once."""
        known = self._read.get(collector.place)
        if known is None or time.monotonic() - known[0] > READ_EVERY:
            found = read_collection(collector.place)
            known = self._read[collector.place] = time.monotonic(), found.server, found.intake
        return known[1], known[2]


def metrics_text(
    collectors: Collector | CollectorSet, waiting: int, refused: dict[str, int], together: Together | None = None
) -> str:
    """Return the numbers as text; with `together` those of all processes, and what is of this one names it."""
    own = {} if together is None else {"worker": str(os.getpid())}
    lines: list[Line] = [("sfumato_waiting_requests", own, waiting)]
    lines += [("sfumato_refused_requests_total", {**own, "reason": reason}, count) for reason, count in refused.items()]
    lines.append(("sfumato_free_bytes", {}, shutil.disk_usage(collectors.place).free))
    if isinstance(collectors, Collector):
        lines += _of_plan(collectors, together)
    else:
        for plan in collectors.plans:
            lines += _of_plan(collectors.collector(plan.digest.hex()), together)
        lines += _counted({**own, "plan": "none"}, collectors.strange)
    return _written(lines)


def _of_plan(collector: Collector, together: Together | None) -> list[Line]:
    labels = {"plan": collector.plan.digest.hex()}
    server, intake = (collector.server(), collector.intake) if together is None else together.of(collector)
    lines = _counted(labels, intake)
    test = role_test(server)
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
