"""Learn from data about people without exposing any of them.

>>> from sfumato import Noise, Pure, perturb
>>> count = perturb.calibrate(Pure(0.5), sensitivity=1)
>>> count.loss().person.epsilon
Fraction(1, 2)
>>> isinstance(count(1234, Noise(insecure_seed=1)), int)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.privacy import (
    ADD_REMOVE,
    EVERYTHING,
    REPLACE_ONE,
    Approximate,
    Concentrated,
    Cost,
    Loss,
    Pure,
    Relation,
    Truncated,
)

if TYPE_CHECKING:
    from sfumato import audit, bounds, errors, perturb, privacy, select, show
    from sfumato.mechanism import NOTHING, Event, Interaction, Mechanism
    from sfumato.noise import Noise

__version__ = "0.1.0"

_LATER = {
    "NOTHING": "sfumato.mechanism",
    "Event": "sfumato.mechanism",
    "Interaction": "sfumato.mechanism",
    "Mechanism": "sfumato.mechanism",
    "Noise": "sfumato.noise",
}
_ROOMS = ("audit", "bounds", "errors", "perturb", "privacy", "select", "show")


def __getattr__(name: str) -> Any:
    """Load what needs heavy packages when it is first used, so that importing sfumato stays quick."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _ROOMS:
        return import_module(f"sfumato.{name}")
    raise AttributeError(f"sfumato has no {name!r}; see dir(sfumato) for what there is.")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "ADD_REMOVE",
    "EVERYTHING",
    "NOTHING",
    "REPLACE_ONE",
    "Approximate",
    "Concentrated",
    "Cost",
    "Event",
    "Interaction",
    "Loss",
    "Mechanism",
    "Noise",
    "Pure",
    "Relation",
    "Truncated",
    "audit",
    "bounds",
    "errors",
    "perturb",
    "privacy",
    "select",
    "show",
]
