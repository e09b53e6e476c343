"""Which mechanism draws several quantiles, decided by public numbers and by the error that it predicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one
from sfumato.privacy import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Attributes, Bound, Concentrated, Relation, Truncated
from sfumato.privacy.bounds import require_bound
from sfumato.questions.quantiles.joint import JointQuantiles
from sfumato.questions.quantiles.measure import zero_place
from sfumato.questions.quantiles.quantile_choice import QuantileChoice, rank_error
from sfumato.select.fit import range_epsilon

Method = Literal["auto", "joint", "halving", "split"]
METHODS = get_args(Method)

UNKNOWN_ROWS = 1 << 28
"""How many units rounding is charged for where their number is not public: more than a machine could weigh."""
MOST_WORK, MOST_CELLS = 1 << 27, 1 << 24
"""The units times the square of the quantiles drawn in one go, and the numbers of 16 bytes kept for them, at most."""
FEW_PARTS = 16
"""Where their number is not public, rows are listed one by one if each counts in so many parts at most."""
MOST_CUTS = 64
"""Where the number of rows is not public, so many quantiles at most are drawn in one go."""


@dataclass(frozen=True, kw_only=True)
class QuantileFacts:
    """What everybody may know: the domain, the quantiles, how much one person counts, and the rows there can be."""

    size: int
    probabilities: tuple[Fraction, ...]
    first: int = 0
    units: int | None = None
    weight: int = 1
    scale: int = 1
    relation: Relation = REPLACE_ONE
    reads: Attributes = EVERYTHING

    @property
    def zero(self) -> int | None:
        """The place from which magnitudes are counted."""
        return zero_place(self.size, self.first)

    @property
    def capacity(self) -> int:
        """The units that rounding is charged for."""
        return UNKNOWN_ROWS if self.units is None else max(self.units, 1)


@dataclass(frozen=True)
class Chosen:
    """A mechanism, the rank error that it is expected to have on well spread values, and why it was taken."""

    mechanism: QuantileChoice | JointQuantiles
    method: Method
    expected: float
    why: str


def choose_quantiles(facts: QuantileFacts, spend: Bound, method: Method = "auto") -> Chosen:
    """Return the mechanism with the smallest expected rank error; no data takes part.

    >>> from sfumato import Pure
    >>> nine = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
    >>> chosen = choose_quantiles(QuantileFacts(size=2**64, probabilities=nine, units=1000), Pure(1))
    >>> chosen.method, round(chosen.expected, 1)
    ('joint', 5.1)
    """
    bound = require_bound(spend)
    if method not in METHODS:
        raise ParameterError(f"There is no method {method!r}; write one of {', '.join(map(repr, METHODS))}.")
    found = list(_candidates(facts, bound, method))
    if not found:
        raise UnsupportedSpend(
            f"{bound!r} is too little for method={method!r}; write a larger spend or method='split'."
        )
    best = min(found, key=lambda chosen: chosen.expected)
    others = [chosen for chosen in found if chosen.method != best.method]
    return replace(best, why=_reason(best, others, len(facts.probabilities)))


def _candidates(facts: QuantileFacts, spend: Bound, method: Method) -> Iterator[Chosen]:
    """Yield what may be taken, the simplest first: of equal ones the first is taken."""
    count = len(facts.probabilities)
    most = math.inf if facts.units is None else facts.units / facts.scale
    if count == 1 or method in ("auto", "split"):
        yield _split(facts, spend, most)
    if count == 1 or method == "split":
        return
    fans = {"auto": _fans(facts), "joint": [count], "halving": [1]}[method]
    if method != "auto" and not _listed(facts, fans[0]):
        raise ParameterError(
            f"method={method!r} draws rows one by one, and rows that are weighed by person count in {facts.scale:,} "
            "parts each; write method='split', or row_key=() in the schema if everybody has one row."
        )
    for fan in fans:
        mechanism = _joint(facts, spend, fan)
        if mechanism is not None:
            named: Method = "joint" if fan >= count else "halving"
            yield Chosen(mechanism, named, min(expected_error(mechanism), most), "")


def _split(facts: QuantileFacts, spend: Bound, most: float) -> Chosen:
    """Give each quantile an equal part of the spend."""
    epsilon = range_epsilon(spend.split(len(facts.probabilities)))
    if epsilon == 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero, such as Pure(0.1).")
    mechanism = QuantileChoice(
        size=facts.size,
        probabilities=facts.probabilities,
        epsilon=epsilon,
        zero=facts.zero,
        weight=facts.weight,
        scale=facts.scale,
        relation=facts.relation,
        reads=facts.reads,
    )
    return Chosen(mechanism, "split", min(1 / float(mechanism.steepness()), most), "")


def _fans(facts: QuantileFacts) -> list[int]:
    """Return how many quantiles may be drawn in one go: all of them, or as many as make 2, 3, … levels."""
    count = len(facts.probabilities)
    depth = math.ceil(math.log2(count + 1))
    fans = sorted({max(1, math.ceil((count + 1) ** (1 / levels)) - 1) for levels in range(1, depth + 1)}, reverse=True)
    if facts.units is None:
        return [fan for fan in fans if fan <= MOST_CUTS and _listed(facts, fan)]
    return [fan for fan in fans if facts.units * fan**2 <= MOST_WORK and facts.units * (fan + 2) <= MOST_CELLS]


def _listed(facts: QuantileFacts, fan: int) -> bool:
    """Tell whether memory holds all units one by one: rows do, unless each counts in a million parts."""
    return facts.scale <= FEW_PARTS or (facts.units is not None and facts.units * (fan + 2) <= MOST_CELLS)


def _joint(facts: QuantileFacts, spend: Bound, fan: int) -> JointQuantiles | None:
    """Return the mechanism that draws `fan` quantiles in one go, or None if rounding leaves nothing of the spend."""
    plain = JointQuantiles(
        size=facts.size,
        probabilities=facts.probabilities,
        epsilon=Fraction(1),
        fan=fan,
        capacity=facts.capacity,
        shift=max(16, min(40, 62 - facts.capacity.bit_length())),
        zero=facts.zero,
        weight=facts.weight,
        scale=facts.scale,
        relation=facts.relation,
        reads=facts.reads,
    )
    levels = list(plain.levels())
    part = range_epsilon(spend.split(len(levels)))
    for factor in _factors(plain, spend):
        mechanism = replace(plain, epsilon=part / factor)
        if mechanism.epsilon > 8 * mechanism.slack and mechanism.loss().within(spend):
            return mechanism
    return None


def _factors(plain: JointQuantiles, spend: Bound) -> Iterable[Fraction]:
    """Return by what the part of one level may have to be divided for the parallel rule, the smallest first."""
    nodes = [plain.between(node) for nodes in plain.levels() for node in nodes]
    entering = max(1 - Fraction(min(parts), sum(parts)) for parts in nodes)
    if plain.relation is ADD_REMOVE:
        # Rounding is charged in full, so a little more than the exact factor may be needed.
        return entering, entering * (1 + 64 * plain.slack), Fraction(1)
    if len(nodes) == 1:
        return (Fraction(1),)
    twice = max(Fraction(1), 2 * entering)
    root = max(Fraction(1), Fraction(math.ceil(math.sqrt(2) * float(entering) * 2**20) + 1, 2**20))
    return (root, twice) if isinstance(spend, (Concentrated, Truncated)) else (twice, twice * (1 + 64 * plain.slack))


def expected_error(mechanism: JointQuantiles) -> float:
    """Return the rank error to expect, on average over the quantiles, if values are spread well.

    Off by e_1, …, e_k rows, cuts weigh exp(-s/2 · sum |e_j - e_(j-1)|), s the steepness: the e_j walk from zero back
    to zero, with steps of scale 2/s. What lies between two cuts takes over their errors in part.
    """
    scale = 2 / float(mechanism.steepness())
    spreads: dict[int, float] = {}
    for nodes in mechanism.levels():
        for node in nodes:
            between, pivots = mechanism.between(node), mechanism.pivots(node)
            low, high = spreads.get(node[0] - 1, 0.0), spreads.get(node[1], 0.0)
            count, passed = len(pivots), 0
            for turn, pivot in enumerate(pivots, start=1):
                passed += between[turn - 1]
                part = passed / sum(between)
                walk = (2 - 2 / (count + 1)) * turn * (count + 1 - turn) / (count + 1)
                spreads[pivot] = math.hypot(scale * math.sqrt(walk), (1 - part) * low + part * high)
    return sum(spreads.values()) / len(spreads) / math.sqrt(2)


def joint_rank_error(
    possible: int, steepness: Fraction, rows: int, fans: Sequence[int], confidence: Number, *, draws: int = 1
) -> int:
    """Return how many rows off its rank every quantile is at most, all together, at this confidence.

    `fans` are the cuts drawn in one go at each level, `draws` how many such draws there are in all at most, `possible`
    the weight of the domain. With k cuts in one go, what is missing or too much between them sums up to at most
    2/s · (k·log(possible · rows) + log(1/f)) + 5k + 1 rows, except with probability f: of c + 1 gaps beside c right
    ranks the room is hardly ever small, the mean of its c-th inverse power is at most rows^c for a value of room 1.
    Errors of ranks are at most half of that sum, and those of the levels add up.

    >>> joint_rank_error(1000, Fraction(1, 2), 10**6, [3], 0.95)
    139
    """
    failure = (1 - between_zero_and_one(confidence, "confidence")) / draws
    found = 0.0
    for fan in fans:
        nats = fan * (math.log(possible) + math.log(max(rows, 1))) - math.log(failure)
        found += (2 * nats / float(steepness) + 5 * fan + 1) / 2
    return min(math.ceil(found), rows)


def _reason(best: Chosen, others: Sequence[Chosen], count: int) -> str:
    rows = f"{best.expected:.3g} rows"
    spread = "on average where values are well spread; more where many rows share a value or the range is mostly empty"
    if count == 1:
        return f"One quantile is drawn by the exponential mechanism; expected to be {rows} off its rank {spread}."
    fan = getattr(best.mechanism, "fan", 1)
    words = {
        "joint": f"all {count} quantiles are drawn together",
        "halving": f"{'the middle quantile is' if fan == 1 else f'{fan} quantiles are'} drawn first, then the rest",
        "split": f"each of {count} quantiles has an equal part of the spend",
    }
    rest = {chosen.method: chosen.expected for chosen in reversed(others)}
    than = ", ".join(f"{error:.3g} by {method}" for method, error in rest.items())
    first = words[best.method]
    return f"{first[0].upper()}{first[1:]}; expected to be {rows} off their ranks" + (
        f", not {than}, {spread}." if than else f" {spread}."
    )


__all__ = [
    "METHODS",
    "Chosen",
    "Method",
    "QuantileFacts",
    "choose_quantiles",
    "expected_error",
    "joint_rank_error",
    "rank_error",
]
