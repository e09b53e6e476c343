"""What may be planned: tasks, described by public facts only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import Number, exact, positive_integer
from sfumato.exact.rational import show
from sfumato.words import Understood

MOST_BITS = 1 << 20
"""Domains wider than this are refused: writing their size out would take a while."""


@dataclass(frozen=True)
class Task(metaclass=Understood):
    """Something to learn or to release; subclasses say what, in `words` with their numbers, which are public."""

    words: ClassVar[str] = ""

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
        shown = {part.name: getattr(self, part.name) for part in fields(self)}
        return self.words.format(**shown | {"candidates": _power(shown.get("candidates", 0))})


@dataclass(frozen=True)
class ChooseBest(Task):
    """Choose one of so many candidates by a count; accuracy is the share of people by which it may miss the best."""

    words: ClassVar[str] = "the best of {candidates} candidates"
    candidates: int


@dataclass(frozen=True)
class LearnPoint(Task):
    """Learn for which single value out of 2^bits the label is yes; accuracy is the error on new people."""

    words: ClassVar[str] = "one value of {bits} bits"
    bits: int


@dataclass(frozen=True)
class LearnThreshold(Task):
    """Learn from which of 2^bits values on the label changes; accuracy is the error on new people.

    If no cut-off need fit (`realizable=False`), accuracy is the error above that of the best one.
    """

    words: ClassVar[str] = "a cut-off among values of {bits} bits"
    bits: int
    realizable: bool = True


@dataclass(frozen=True)
class LearnBox(Task):
    """Learn a box: an interval in each of so many dimensions of `bits` bits each."""

    words: ClassVar[str] = "a box in {dimensions} dimensions of {bits} bits"
    dimensions: int
    bits: int


@dataclass(frozen=True)
class LearnFinite(Task):
    """Learn one of so many listed rules of which one fits; its VC dimension, if known, lowers the sample."""

    words: ClassVar[str] = "one of {candidates} rules"
    candidates: int
    vc_dimension: int | None = None


@dataclass(frozen=True)
class LearnLabels(Task):
    """Learn a rule of a class of this VC dimension where only labels are private.

    With `pool=True` features are private too, and a public pool of unlabelled features stands beside them.
    """

    vc_dimension: int
    pool: bool = False

    @property
    def name(self) -> str:
        """The task in words."""
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

    @property
    def name(self) -> str:
        """The task in words."""
        return f"a halfspace over {self.features} features out of {_power(self.candidates)}"


@dataclass(frozen=True)
class CountPoints(Task):
    """Release the share of people at every one of 2^bits values, or in every set of at most `largest` values."""

    bits: int
    largest: int = 1

    @property
    def name(self) -> str:
        """The task in words."""
        of = "every value" if self.largest == 1 else f"every set of {self.largest} values"
        return f"shares of {of} out of {self.bits} bits"


@dataclass(frozen=True)
class FindRecords(Task):
    """Release the frequent records of so many yes-or-no columns with their shares."""

    words: ClassVar[str] = "frequent records of {columns} yes-or-no columns"
    columns: int


@dataclass(frozen=True)
class EstimateDistribution(Task):
    """Release the share of people up to every one of 2^bits ordered values."""

    words: ClassVar[str] = "the distribution of a column of {bits} bits"
    bits: int


@dataclass(frozen=True)
class EstimateQuantiles(Task):
    """Release so many quantiles of a column of 2^bits values; accuracy is the share of people a rank may be off."""

    words: ClassVar[str] = "{count} quantiles of a column of {bits} bits"
    bits: int
    count: int = 1


def _power(number: int) -> str:
    """Return a number, or a power of two if it is a long one."""
    return str(number) if number < 10**7 else f"2^{number.bit_length() - 1}"
