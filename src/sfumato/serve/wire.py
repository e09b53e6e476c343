"""Errors on the wire: problem documents (RFC 9457) with our sentence as `detail` and our class as `type`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato import errors
from sfumato.errors import BudgetExceeded, DamagedLedger, EngineError, FitError, LedgerError, SfumatoError, Unfinished
from sfumato.privacy import Bound, bound_from_json

URN = "urn:sfumato:error:"
DAMAGED = (
    "The ledger was damaged, or changed by something else; restore it from its newest copy, and compare that with an "
    "end of the chain that was kept elsewhere."
)


def told(error: Exception) -> str:
    """Return an error's sentence; of a damaged ledger without its place, which is the house's own matter."""
    return DAMAGED if isinstance(error, DamagedLedger) else str(error)


def status_of(error: SfumatoError) -> int:
    """Return the status of an error: what the asker can mend is 422, what a limit refuses 409, what may pass 503."""
    if isinstance(error, (Unfinished, EngineError)):
        return 503
    return 409 if isinstance(error, (BudgetExceeded, LedgerError, FitError)) else 422


def problem_of(error: SfumatoError) -> dict[str, Any]:
    """Return the document of an error."""
    extra: dict[str, Any] = {}
    if isinstance(error, BudgetExceeded) and isinstance(error.largest, Bound):
        extra["largest"] = error.largest.to_json()
    return problem(status_of(error), told(error), type(error).__name__, extra)


def problem(
    status: int, detail: str, kind: str = "about:blank", extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a problem document."""
    detail = detail.encode("utf-8", "replace").decode()  # what was typed may hold half a character
    named = f"{URN}{kind}" if hasattr(errors, kind) else "about:blank"
    return {"type": named, "status": status, "detail": detail, **(extra or {})}


def error_from(record: Mapping[str, Any]) -> SfumatoError:
    """Return the error that a problem document speaks of, with the same class and sentence."""
    detail = str(record.get("detail", "The service refused this."))
    kind = getattr(errors, str(record.get("type", "")).removeprefix(URN), None)
    if kind is BudgetExceeded:
        largest = record.get("largest")
        return BudgetExceeded(detail, (), None if largest is None else bound_from_json(largest))
    if kind is EngineError:
        return EngineError(detail, "engine")
    if isinstance(kind, type) and issubclass(kind, SfumatoError):
        return kind(detail)
    return SfumatoError(detail)
