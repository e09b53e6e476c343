"""What every value domain offers: codes for values, values for codes, a place in JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

from sfumato.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Domain(ABC):
    """A public set of values, each with an integer code.

    `encode` is total: a value that does not belong is repaired on its own, so data never raises. `code` is
    strict: it reads what a person wrote and refuses what is no value of the domain. Codes of a finite domain
    are the integers from `first` to `last`. `missing` is the value that null and NaN become.
    """

    kind: ClassVar[str]
    """The word that stands for this domain in TOML and JSON."""

    missing: Any = None
    public: bool = field(default=False)
    """Whether everybody knows this column already, so that reading it costs nothing."""

    @property
    @abstractmethod
    def first(self) -> int:
        """The smallest code."""

    @property
    @abstractmethod
    def last(self) -> int | None:
        """The largest code, or None when there is no practical bound."""

    @property
    def size(self) -> int | None:
        """How many codes there are, or None when they cannot be listed."""
        return None if self.last is None else self.last - self.first + 1

    @abstractmethod
    def encode(self, value: Any) -> int:
        """Return the code of a value, repaired if need be; never raises."""

    @abstractmethod
    def decode(self, code: int) -> Any:
        """Return the value of a code."""

    @abstractmethod
    def code(self, value: Any) -> int:
        """Return the code of a value of the domain, refusing every other one."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `domain_from_json` reads back."""

    @property
    def missing_code(self) -> int:
        """The code that null and NaN become."""
        return self.code(self.missing)

    def _record(self, **parts: Any) -> dict[str, Any]:
        record = {"type": self.kind, **parts}
        return {**record, "public": True} if self.public else record

    def _check_code(self, code: int) -> int:
        if code < self.first or (self.last is not None and code > self.last):
            raise ParameterError(f"{code} is no code of this column; its codes are {self.first} to {self.last}.")
        return int(code)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names what was probably meant, or everything there is.

    >>> nearest("aeg", ["age", "sex"])
    "did you mean 'age'?"
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(one) for one in names[:12]) + (", …" if len(names) > 12 else "")
    return f"there is {shown}." if names else "there is none."
