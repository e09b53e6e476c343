"""HTTP services of sfumato; they need the extra `serve`: pip install 'sfumato[serve]'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.serve.collector import collector_app

MISSING = "The HTTP collector needs more packages; run pip install 'sfumato[serve]'."


def __getattr__(name: str) -> Any:
    """Load the service when it is first used, and say what to install if that fails."""
    if name != "collector_app":
        raise AttributeError(f"sfumato.serve has no {name!r}; it has collector_app.")
    try:
        from sfumato.serve import collector
    except ImportError as missing:
        raise ImportError(MISSING) from missing
    return collector.collector_app


__all__ = ["collector_app"]
