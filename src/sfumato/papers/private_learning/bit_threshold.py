"""A cut on a number whose bits are attributes of their own: protects every single bit, not the number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, NotProvable, ParameterError, UnsupportedSpend
from sfumato.exact.search import smallest_between
from sfumato.learn.cells import Codes, rounded_up
from sfumato.learn.estimator import PrivateLearner, learner
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.frequent_point import count_error, space_of
from sfumato.learn.rules import Rule, about
from sfumato.learn.sampling import nearly_consistent
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Bound, Cost, Loss, Pure
from sfumato.privacy.per_attribute import PerAttribute
from sfumato.select import Exponential, exponential
from sfumato.totals.column_tree.histogram import PopularCounts
from sfumato.totals.column_tree.planner import plan_popular
from sfumato.workload.records import Records
from sfumato.workload.space import Space

MOST_BITS = 62


@dataclass(frozen=True, kw_only=True)
class BitCutRule(Rule):
    """Holds where the bits, the highest first, make a number of at least `cut`."""

    kind: ClassVar[str] = "bit cut"
    cut: int

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare the numbers with the cut."""
        return np.asarray(numbers(codes - self._firsts()) >= self.cut, dtype=bool)

    def _firsts(self) -> NDArray[np.int64]:
        return np.array([domain.first for domain in self.domains], dtype=np.int64)

    def says(self) -> str:
        """Write the cut in bits."""
        bits = len(self.features)
        if self.cut >> bits:
            return "nothing"
        return f"the bits {', '.join(self.features)} make at least {self.cut:0{bits}b}"


def numbers(bits: Codes) -> NDArray[np.int64]:
    """Return the number of every row of bits.

    >>> numbers(np.array([[1, 0, 1], [0, 1, 1]])).tolist()
    [5, 3]
    """
    found = np.zeros(len(bits), dtype=np.int64)
    for place in range(bits.shape[1]):
        found = 2 * found + bits[:, place].astype(np.int64)
    return found


def polarities(values: NDArray[np.int64], labels: NDArray[np.int64], counts: NDArray[np.int64], bits: int) -> list[int]:
    """Return for every length 0 … bits the largest min(#label 0, #label 1) over all prefixes of that length.

    It never rises with the length, and one replaced person moves each by at most one.

    >>> ones = np.ones(4, dtype=np.int64)
    >>> polarities(np.array([0, 1, 2, 3]), np.array([0, 1, 0, 1]), ones, 2)
    [2, 1, 0]
    """
    found = []
    for length in range(bits + 1):
        prefixes, where = np.unique(values >> (bits - length), return_inverse=True)
        totals = np.zeros((2, len(prefixes)), dtype=np.int64)
        np.add.at(totals, (labels, where.ravel()), counts)
        found.append(int(totals.min(axis=0).max(initial=0)))
    return found


@dataclass(frozen=True, kw_only=True)
class PrefixLength(Mechanism):
    """Search by halving for the longest prefix over which both labels are still frequent (PDP-PREFIX, its length).

    Input: the numbers of `polarities`. Each of at most ceil(log2(bits + 1)) probes adds discrete Laplace noise of
    `scale` to a number that one person moves by at most one. Promise, for any changed attributes: probes/scale.
    Value: the length; 0 is never probed.
    """

    spec: ClassVar[str] = "PDP-THRESH"

    bits: int
    scale: Fraction
    least: int

    @property
    def probes(self) -> int:
        """How often it looks at most."""
        return math.ceil(math.log2(self.bits + 1))

    def loss(self) -> Loss:
        """Return 1/scale for every probe."""
        return Loss.flat(self.probes * Cost.pure(1 / self.scale), self.reads)

    def run(self, exact: Sequence[int], noise: Noise) -> int:
        """Halve."""

        def is_few(length: int) -> bool:
            return exact[length] + noise.draw(DiscreteLaplace(self.scale)) < self.least

        return smallest_between(0, self.bits + 1, is_few) - 1


@dataclass(frozen=True, kw_only=True)
class BitCut(Mechanism):
    """Count the label, find a prefix that both labels share, choose a cut below it (PDP-THRESH, repaired).

    Promise, replace-one: a third of `epsilon` for the count, charged to the label alone; a third for the prefix, half
    of it for any change and half for each changed attribute; a third for the last choice, for any change. So a single
    bit costs at most epsilon; a whole person costs more, and that is stated too. The prefix is searched among records
    of the length that was released, so the largest loss over all lengths is charged.

    Printed outputs for almost constant labels are swapped; the printed cut of 1.5 gamma misses what is guaranteed.
    Value: the cut, a number of [0, 2^bits].
    """

    spec: ClassVar[str] = "PDP-THRESH"

    space: Space
    people: int
    epsilon: Fraction
    accuracy: Fraction
    failure: Fraction
    count_scale: Fraction
    lengths: PrefixLength
    choice: Exponential

    @property
    def bits(self) -> int:
        """How many bits there are."""
        return len(self.space.names) - 1

    def loss(self) -> Loss:
        """Return the sum of the parts."""
        names = self.space.reads(self.space.names)
        counted = Loss.flat(Cost.pure(1 / self.count_scale), frozenset({self.space.names[-1]}))
        each = self.search_spend().epsilon
        listed = PerAttribute(tuple((name, Cost.pure(each)) for name in names), Cost.pure(each * len(names)))
        return counted + self.lengths.loss() + Loss(listed) + self.choice.loss()

    def search_spend(self) -> Pure:
        """Return what the search for prefixes may cost for each attribute."""
        return Pure(self.epsilon / 6).per_attribute()

    def run(self, exact: Sample, noise: Noise) -> int:
        """Count, search, choose."""
        places = exact.codes - np.array([domain.first for domain in self.space.domains[:-1]], dtype=np.int64)
        values = numbers(places)
        ones = int(exact.counts[exact.labels == 1].sum()) + noise.draw(DiscreteLaplace(self.count_scale))
        margin = self.accuracy * self.people / 2
        if ones <= margin:
            return 1 << self.bits
        if ones >= self.people - margin:
            return 0
        length = self.lengths.run(polarities(values, exact.labels, exact.counts, self.bits), noise)
        prefix, length = self._prefix(replace(exact, codes=places), length, noise)
        cuts = candidates(prefix, length, self.bits)
        right = [int(exact.counts[(values >= cut) == (exact.labels == 1)].sum()) for cut in cuts]
        return cuts[int(self.choice.run(np.array(right, dtype=np.int64), noise))]

    def _prefix(self, exact: Sample, length: int, noise: Noise) -> tuple[int, int]:
        """Return the prefix of this length that both labels share most, or the empty one."""
        names = (*self.space.names[:length], self.space.names[-1])
        counts = _search(self.space, names, self.people, self.search_spend(), self.failure) if length else None
        if counts is None:
            return 0, 0
        rows = np.column_stack([exact.codes[:, :length], exact.labels]).astype(np.int64)
        codes, where = np.unique(rows, axis=0, return_inverse=True)
        totals = np.zeros(len(codes), dtype=np.int64)
        np.add.at(totals, where.ravel(), exact.counts)
        found = counts.run(Records(counts.hitters.tree.space, np.asfortranarray(codes), totals), noise)
        seen = dict(zip(found.records, found.counts, strict=True))
        shared = {record[:-1]: min(seen.get((*record[:-1], 0), 0), seen.get((*record[:-1], 1), 0)) for record in seen}
        best = min(shared, key=lambda record: (-shared[record], record), default=None)
        if best is None or 10 * shared[best] < Fraction(12, 10) * self.accuracy * self.people:
            return 0, 0
        return int(numbers(np.array([best]))[0]), length


def candidates(prefix: int, length: int, bits: int) -> list[int]:
    """Return the cuts below a prefix that are tried: its first number, its middle, its last, and the one after.

    >>> candidates(0b10, 2, 4), candidates(0b101, 3, 3)
    ([8, 10, 11, 12], [5, 6])
    """
    rest = bits - length
    first = prefix << rest
    last = first + (1 << rest) - 1
    middle = first + (1 << max(rest - 1, 0))
    return sorted({first, middle, last, last + 1})


@lru_cache(maxsize=256)
def _search(space: Space, names: tuple[str, ...], people: int, spend: Pure, failure: Fraction) -> PopularCounts | None:
    """Return the search among records of the released length, None where none can be made."""
    places = space.places(names)
    part = Space(
        names,
        tuple(space.sizes[place] for place in places),
        tuple(space.attributes[place] for place in places),
        tuple(space.domains[place] for place in places),
    )
    try:
        return plan_popular(part, spend, people, failure=failure)
    except (NotProvable, DomainTooLarge):
        return None


@learner
class BitThreshold(PrivateLearner):
    """Learn a cut on a number given by its bits, the highest first, with a pure spend for each attribute.

    It pays for the logarithm of the number of bits, where `PrivateThreshold` pays for their number. Protecting one bit
    of a salary is not protecting the salary: read `loss_.person` before you use it.

    Spec: PDP-THRESH.
    """

    def _plan(self, facts: LearningFacts, people: int, spend: Bound) -> BitCut:
        return self._cut(facts, people, spend, float(self.accuracy), float(self.failure))

    def _cut(self, facts: LearningFacts, people: int, spend: Bound, accuracy: float, failure: float) -> BitCut:
        if not isinstance(spend, Pure) or spend.unit != "attribute" or spend.epsilon == 0:
            raise UnsupportedSpend(
                f"BitThreshold spends per attribute, and {spend!r} does not; write Pure(1).per_attribute()."
            )
        if any(size != 2 for size in facts.sizes()) or len(facts.features) > MOST_BITS:
            raise ParameterError(
                f"Every feature is one bit, and there are at most {MOST_BITS}; write domains=booleans()."
            )
        third, bits = spend.epsilon / 3, len(facts.features)
        alpha = Fraction(accuracy).limit_denominator(10**6)
        probes = math.ceil(math.log2(bits + 1))
        lengths = PrefixLength(
            bits=bits,
            scale=2 * probes / third,
            least=math.ceil(Fraction(3, 2) * alpha / 10 * people),
            reads=facts.reads,
        )
        return BitCut(
            space=space_of(facts),
            people=people,
            epsilon=spend.epsilon,
            accuracy=alpha,
            failure=Fraction(failure).limit_denominator(10**6) / 4,
            count_scale=1 / third,
            lengths=lengths,
            choice=exponential(Pure(third), reads=facts.reads),
            reads=facts.reads,
        )

    def _rule(self, facts: LearningFacts, value: Any) -> Rule:
        return BitCutRule(**about(facts), cut=int(value))

    def _needed(self, facts: LearningFacts, spend: Bound, accuracy: float, failure: float) -> int:
        people = rounded_up(nearly_consistent(accuracy, failure / 4, 1, None))
        for _ in range(6):
            plan = self._cut(facts, people, spend, accuracy, failure)
            probes = plan.lengths.probes
            probing = float(plan.lengths.scale) * math.log(4 * probes / failure)
            counts = _search(plan.space, plan.space.names, people, plan.search_spend(), plan.failure)
            listing = count_error(counts, people, failure / 2) if counts is not None else float(people)
            # Both must be below a hundredth of the accuracy: a tenth of gamma, which is a tenth of the accuracy.
            larger = max(people, rounded_up(100 / accuracy * max(probing, listing)))
            if larger == people:
                break
            people = larger
        return people
