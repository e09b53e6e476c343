"""What every value domain offers: codes for values, values for codes, a place in JSON."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from sfumato.errors import ParameterError
from sfumato.words import Understood

SKIP: Literal["skip"] = "skip"
"""What is written for `missing` where a missing cell is a value of its own, which sums and means pass over."""


@dataclass(frozen=True, kw_only=True)
class Domain(metaclass=Understood):
    """A public set of values, each with an integer code.

    `encode` is total: a value that does not belong is repaired on its own, so data never raises. `code` is
    strict: it reads what a person wrote and refuses what is no value of the domain.

    `missing` is the value that null and NaN become. Where it is None they stay missing: a level of its own, whose
    code follows that of the highest value and decodes to None. Codes of a finite domain are the integers from `first`
    to `last`, that level included; cells that are there have the codes `present`, in the order of their values.
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
    def highest(self) -> int | None:
        """The largest code of a cell that is there, or None when there is no practical bound."""

    @property
    def may_be_missing(self) -> bool:
        """Whether a cell may be missing; otherwise null and NaN become the value `missing`."""
        return self.missing is None

    @property
    def last(self) -> int | None:
        """The largest code, or None when there is no practical bound; if cells may be missing it is theirs."""
        highest = self.highest
        return None if highest is None else highest + self.may_be_missing

    @property
    def present(self) -> range | None:
        """The codes of cells that are there, growing with their values, or None when they cannot be listed."""
        return None if self.highest is None else range(self.first, self.highest + 1)

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
        if not self.may_be_missing:
            return self.code(self.missing)
        last = self.last
        assert last is not None
        return last

    @property
    def other_code(self) -> int | None:
        """The code of a cell that is none of the listed values; None where the domain has no list."""
        return None

    def is_missing(self, code: int) -> bool:
        """Tell whether a code is the level of missing cells."""
        return self.may_be_missing and code == self.missing_code

    def filled(self, value: Any) -> Domain:
        """Return the domain in which missing cells count as a value; the codes of all others stay as they are."""
        return replace(self, missing=value)

    def _settle_missing(self) -> None:
        """Read the declared `missing`: "skip" or nothing keeps missing cells apart, a value stands for them."""
        asked = None if isinstance(self.missing, str) and self.missing == SKIP else self.missing
        object.__setattr__(self, "missing", None)
        if asked is None:
            return
        try:
            object.__setattr__(self, "missing", self.decode(self.code(asked)))
        except ParameterError as refused:
            raise ParameterError(
                f"missing is 'skip' or a value of the column, and {asked!r} is neither: {refused}"
            ) from None

    def _record(self, **parts: Any) -> dict[str, Any]:
        record = {"type": self.kind, **parts}
        return {**record, "public": True} if self.public else record

    def _check_code(self, code: int) -> int:
        first, last = self.first, self.last
        if code < first or (last is not None and code > last):
            raise ParameterError(f"{code} is no code of this column; its codes are {first} to {last}.")
        return int(code)


class Ranged:
    """What domains share whose codes are the whole numbers of a range."""

    low: int
    high: int

    @property
    def first(self) -> int:
        """The smallest code."""
        return self.low

    @property
    def highest(self) -> int:
        """The largest code of a value that is there."""
        return self.high
