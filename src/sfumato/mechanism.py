"""The shape of a mechanism, of an interaction, and of the event that a ledger stores."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import Infinity, to_text
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Attributes, Loss, Relation
from sfumato.privacy.sensitivity import Sensitivity

CODES = "tuple[NDArray[Any], NDArray[Any]]"
"""The annotation of codes that occur, sorted, and how many rows have each."""
_OWN_KINDS = ("Sample", "Records", "StepFunction")
"""Annotations of what this house reads out of a table, which nobody hands over by mistake."""


class Nothing(Enum):
    """The value of a choice that chose nothing; it is an answer like any other."""

    NOTHING = "nothing"

    def __repr__(self) -> str:
        return "NOTHING"

    def __bool__(self) -> bool:
        return False


NOTHING = Nothing.NOTHING


@dataclass(frozen=True)
class Event:
    """What was run: enough to recompute its loss, nothing about the data.

    `name` and `version` say which code, `parameters` are its public numbers, `spec` is the ID of its
    mathematics in `docs/papers.md`.
    """

    name: str
    spec: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers as text."""
        return {
            "name": self.name,
            "spec": self.spec,
            "version": self.version,
            "parameters": plain(self.parameters),
        }


_PLAIN_ALREADY = frozenset((str, int, float, bool, type(None)))
"""Types, and not their subclasses: an Enum of texts is written as its value."""


def plain(value: Any) -> Any:
    """Return a public parameter as JSON; exact numbers become text, mechanisms the event they stand for."""
    if isinstance(value, Promise):
        return value.event().to_json()
    if isinstance(value, (Fraction, Infinity)):
        return to_text(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [part if type(part) in _PLAIN_ALREADY else plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): part if type(part) in _PLAIN_ALREADY else plain(part) for key, part in value.items()}
    return value.to_json() if hasattr(value, "to_json") else value


@dataclass(frozen=True, kw_only=True)
class Promise(ABC):
    """What every mechanism and every interaction states: what it reads, what it is, what it costs."""

    spec: ClassVar[str]
    """The ID of its mathematics."""
    version: ClassVar[int] = 1
    """Raised whenever the law of the output changes."""
    weighed: ClassVar[bool] = False
    """Whether it is made for integers in any unit; all others count whole rows and are never given parts of them."""

    relation: Relation = REPLACE_ONE
    reads: Attributes = EVERYTHING

    @abstractmethod
    def loss(self) -> Loss:
        """Return the promise: the loss for one person and for every set of attributes."""

    def made_for(self) -> Iterator[tuple[Sensitivity, int]]:
        """Yield how far the numbers may move that it adds noise to, and how many units each one is worth."""
        return iter(())

    def event(self) -> Event:
        """Return the public record of this promise: all of its fields."""
        parameters = {part.name: getattr(self, part.name) for part in fields(self)}
        return Event(type(self).__name__, self.spec, parameters, self.version)


class Mechanism(Promise):
    """Exact integers in, one random value out, at the stated loss.

    Never reads a ledger or the clock, and never raises on data.
    """

    @abstractmethod
    def run(self, exact: Any, noise: Noise) -> Any:
        """Draw the value; all randomness comes from `noise`."""

    def __call__(self, exact: Any, noise: Noise | None = None) -> Any:
        """Draw the value, by default with noise that the operating system keys."""
        if noise is not None and not isinstance(noise, Noise):
            raise ParameterError(
                f"noise= is a sfumato.Noise, not {type(noise).__name__}; leave it out, or write "
                "noise=Noise(insecure_seed=7) in a test."
            )
        self._require_input(exact)
        return self.run(exact, Noise() if noise is None else noise)

    def _require_input(self, exact: Any) -> None:
        """Refuse what is of another kind than `run` takes, by its type alone, and say what the docstring says of it."""
        wanted = str(self.run.__annotations__.get("exact", "Any"))
        if _is_of(exact, wanted):
            return
        told = re.search(r"Input: (.*?[.])(?:\s|$)", " ".join((type(self).__doc__ or "").split()))
        said = f"its input is {told[1].removesuffix('.')}" if told else f"it takes {wanted}"
        made = "; numpy.unique(column, return_counts=True) makes them of a column" if wanted == CODES else ""
        raise ParameterError(
            f"{type(self).__name__} runs on exact numbers, and {type(exact).__name__} is none of their kind: {said}"
            f"{made}."
        )


def _is_of(exact: Any, wanted: str) -> bool:
    """Tell whether something is of the kind that an annotation names, as far as these kinds can be told apart.

    >>> _is_of(([1, 2], [3, 4]), CODES), _is_of([1, 2, 3], CODES), _is_of([1], "Mapping[Any, int]"), _is_of(3, "Any")
    (True, False, False, True)
    """
    if wanted == CODES:
        return isinstance(exact, (tuple, list)) and len(exact) == 2
    if wanted.startswith("Mapping["):
        return isinstance(exact, Mapping)
    return wanted not in _OWN_KINDS or wanted in {base.__name__ for base in type(exact).__mro__}


class Interaction(Promise):
    """A conversation: its whole loss is stated at opening, its state is JSON and may hold secrets."""

    @abstractmethod
    def start(self, noise: Noise) -> dict[str, Any]:
        """Return the first state."""

    @abstractmethod
    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        """Answer one query: the next state, the value, and whether the state changed."""
