"""Inspect a model, a table of decisions or a function: Lipschitz audit, nine checks, report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.fair.audits.lipschitz import LipschitzReport, lipschitz_audit
    from sfumato.fair.audits.private import PrivateAudit, private_audit
    from sfumato.fair.audits.report import AuditReport
    from sfumato.fair.audits.run import audit

__getattr__, __dir__ = later(
    __name__,
    {
        "AuditReport": "sfumato.fair.audits.report",
        "LipschitzReport": "sfumato.fair.audits.lipschitz",
        "PrivateAudit": "sfumato.fair.audits.private",
        "audit": "sfumato.fair.audits.run",
        "lipschitz_audit": "sfumato.fair.audits.lipschitz",
        "private_audit": "sfumato.fair.audits.private",
    },
)
"""Each name's module is loaded when it is first used: whoever imports one module of the folder loads no other."""


__all__ = ["AuditReport", "LipschitzReport", "PrivateAudit", "audit", "lipschitz_audit", "private_audit"]
