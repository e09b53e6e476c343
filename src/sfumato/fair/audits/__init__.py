"""Inspect a model, a table of decisions or a function: Lipschitz audit, nine checks, report."""

from sfumato.fair.audits.lipschitz import LipschitzReport, lipschitz_audit
from sfumato.fair.audits.private import PrivateAudit, private_audit
from sfumato.fair.audits.report import AuditReport
from sfumato.fair.audits.run import audit

__all__ = ["AuditReport", "LipschitzReport", "PrivateAudit", "audit", "lipschitz_audit", "private_audit"]
