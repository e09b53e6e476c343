"""What may be planned: tasks, described by public facts only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import Number, exact, positive_integer
from sfumato.exact.rational import show

MOST_BITS = 1 << 20
"""Domains wider than this are refused: writing their size out would take a while."""


@dataclass(frozen=True)
class Task(ABC):
    """Something to learn or to release; subclasses say what, in numbers that are public."""

    def __post_init__(self) -> None:
        """Refuse numbers that are not whole and above zero, in the order in which they are written."""
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(part.default, bool) or (value is None and part.default is None):
                continue
            number = positive_integer(value, part.name)
            if part.name == "bits":
                if number > MOST_BITS:
                    raise ParameterError(f"bits may be at most {MOST_BITS}, and {number} is more.")
                object.__setattr__(self, "bits", number)

    @property
    def name(self) -> str:
        """The task in words."""
        return self._words()

    @abstractmethod
    def _words(self) -> str: ...


@dataclass(frozen=True)
class ChooseBest(Task):
    """Choose one of so many candidates by a count; accuracy is the share of people by which it may miss the best."""

    candidates: int

    def _words(self) -> str:
        return f"the best of {_power(self.candidates)} candidates"


@dataclass(frozen=True)
class LearnPoint(Task):
    """Learn for which single value out of 2^bits the label is yes; accuracy is the error on new people."""

    bits: int

    def _words(self) -> str:
        return f"one value of {self.bits} bits"


@dataclass(frozen=True)
class LearnThreshold(Task):
    """Learn from which of 2^bits values on the label changes; accuracy is the error on new people.

    If no cut-off need fit (`realizable=False`), accuracy is the error above that of the best one.
    """

    bits: int
    realizable: bool = True

    def _words(self) -> str:
        return f"a cut-off among values of {self.bits} bits"


@dataclass(frozen=True)
class LearnBox(Task):
    """Learn a box: an interval in each of so many dimensions of `bits` bits each."""

    dimensions: int
    bits: int

    def _words(self) -> str:
        return f"a box in {self.dimensions} dimensions of {self.bits} bits"


@dataclass(frozen=True)
class LearnFinite(Task):
    """Learn one of so many listed rules of which one fits; its VC dimension, if known, lowers the sample."""

    candidates: int
    vc_dimension: int | None = None

    def _words(self) -> str:
        return f"one of {_power(self.candidates)} rules"


@dataclass(frozen=True)
class LearnLabels(Task):
    """Learn a rule of a class of this VC dimension where only labels are private.

    With `pool=True` features are private too, and a public pool of unlabelled features stands beside them.
    """

    vc_dimension: int
    pool: bool = False

    def _words(self) -> str:
        beside = "a public pool beside private people" if self.pool else "public features and private labels"
        return f"a rule of VC dimension {self.vc_dimension} from {beside}"


@dataclass(frozen=True)
class LearnHalfspace(Task):
    """Learn a halfspace over yes-or-no features, out of `candidates` listed ones, that tolerates flipped features.

    `margin` is the share of features whose flips count as an error while learning, `kept` the smaller share that the
    rule is to tolerate afterwards. Accuracy is the robust error above that of the best candidate.
    """

    features: int
    candidates: int
    margin: Fraction
    kept: Fraction

    def __init__(self, features: int, candidates: int, margin: Number = 0.4, kept: Number = 0.1) -> None:
        object.__setattr__(self, "features", positive_integer(features, "features"))
        object.__setattr__(self, "candidates", positive_integer(candidates, "candidates"))
        object.__setattr__(self, "margin", exact(margin, "margin"))
        object.__setattr__(self, "kept", exact(kept, "kept"))
        if not 0 <= self.kept < self.margin <= 1:
            raise ParameterError(
                f"kept must be at least 0 and below margin, which is at most 1; {show(self.kept)} and "
                f"{show(self.margin)} are not. Write for example margin=0.4, kept=0.1."
            )

    def _words(self) -> str:
        return f"a halfspace over {self.features} features out of {_power(self.candidates)}"


@dataclass(frozen=True)
class CountPoints(Task):
    """Release the share of people at every one of 2^bits values, or in every set of at most `largest` values."""

    bits: int
    largest: int = 1

    def _words(self) -> str:
        of = "every value" if self.largest == 1 else f"every set of {self.largest} values"
        return f"shares of {of} out of {self.bits} bits"


@dataclass(frozen=True)
class FindRecords(Task):
    """Release the frequent records of so many yes-or-no columns with their shares."""

    columns: int

    def _words(self) -> str:
        return f"frequent records of {self.columns} yes-or-no columns"


@dataclass(frozen=True)
class EstimateDistribution(Task):
    """Release the share of people up to every one of 2^bits ordered values."""

    bits: int

    def _words(self) -> str:
        return f"the distribution of a column of {self.bits} bits"


@dataclass(frozen=True)
class EstimateQuantiles(Task):
    """Release so many quantiles of a column of 2^bits values; accuracy is the share of people a rank may be off."""

    bits: int
    count: int = 1

    def _words(self) -> str:
        return f"{self.count} quantiles of a column of {self.bits} bits"


def _power(number: int) -> str:
    """Return a number, or a power of two if it is a long one."""
    return str(number) if number < 10**7 else f"2^{number.bit_length() - 1}"
