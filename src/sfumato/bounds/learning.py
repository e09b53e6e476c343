"""How many people learners and sanitizers need with a pure bound (W-PACK, W-VCSAN, W-KPOINT, W-POINT, W-THRESH)."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.bounds.floors import ROUNDING, Floor, positive, whole
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer
from sfumato.exact.rational import show

LEARNING_WARNINGS = {
    "W-COMB": (
        "A pure sanitizer within 1/8 needs people of the order log(separated points) + VC dimension; that is tight up "
        "to log(VC dimension), and the constant is not known."
    ),
    "W-KSAN": (
        "A pure sanitizer for all sets of k points out of 2^d needs people of the order k·d/epsilon; with labels, of "
        "the order k·d/(accuracy·epsilon). The constants that the proof gives are too small to be of use."
    ),
    "W-RECT": (
        "A pure learner of boxes, whatever form its rule has, needs people of the order dimensions·bits; the constant "
        "is not known."
    ),
    "W-THRESH": (
        "Even a pure learner that may answer with any rule needs people of the order of the number of bits to learn a "
        "cut-off; the constant is not known. The number beside it holds for rules that are a cut-off."
    ),
    "W-IMPROPER": (
        "A pure learner of single points needs only a handful of people if its rule need not be a point; such rules "
        "say yes to a huge number of points, so they are not built here."
    ),
    "W-PAC": (
        "Any learner, private or not, needs people of the order VC dimension/accuracy; with private labels or a public "
        "pool of features it still needs labels of the order of the VC dimension."
    ),
    "LB-PAC": (
        "A pure proper learner of points or cut-offs that protects whole persons needs people of the order "
        "bits/(epsilon·accuracy); one that protects single bits needs only the logarithm of that number of bits."
    ),
    "LB-DIST": (
        "With a pure bound for whole persons, a distribution over d bits within a squared error of 0.1 needs people "
        "of the order d/epsilon."
    ),
    "LB-HALF": (
        "With a bound for whole persons the error of a halfspace over d features grows in proportion to d; with one "
        "for single features and a margin it need not grow at all."
    ),
    "LB-MARG": (
        "At equal error on marginals of k columns, a bound for one attribute is about sqrt(columns/k) times smaller "
        "than the one for the whole person; both should be reported."
    ),
    "APPROXIMATE": (
        "No number of people is known below which an approximate bound makes this impossible; none is claimed."
    ),
}
"""What is known up to constants only: sentences for planners, never numbers."""


def sanitizer_people_pure(separated: int, epsilon: Number, accuracy: Number, failure: Number) -> Floor:
    """Return how many people a pure sanitizer needs, at least, for a class that tells `separated` points apart.

    To a planner: with fewer, no epsilon-private mechanism under replace-one answers all queries of the class within
    `accuracy` of the truth except with probability `failure`, synthetic or not. W-PACK:
    n >= (L/epsilon - 1)/(2·accuracy), L = log((separated - 1)·(1 - failure)/failure): floor(2·accuracy·n) + 1 copies
    of a point can be told from the copies of another. The print goes through synthetic databases and loses half.

    >>> sanitizer_people_pure(2**64, 1, 0.01, 0.05).value
    2316.0
    """
    return _packed(positive_integer(separated, "separated"), epsilon, accuracy, failure, 1, "packing of single points")


def median_people_pure(values: int, epsilon: Number, accuracy: Number, failure: Number) -> Floor:
    """Return how many people a pure median over so many ordered values needs, at least.

    To a planner: with fewer, no epsilon-private mechanism under replace-one returns a value whose rank is within
    accuracy·n of the middle except with probability `failure`. The packing of W-PACK: floor(2·accuracy·n) + 2 people
    share an inner value and the others stand at the two ends in equal numbers, so that only the shared value is good.

    >>> median_people_pure(2**64, 1, 0.01, 0.05).value
    2266.0
    """
    return _packed(positive_integer(values, "values") - 2, epsilon, accuracy, failure, 2, "packing of shared values")


def _packed(  # noqa: PLR0917
    tables: int, epsilon: Number, accuracy: Number, failure: Number, more: int, name: str
) -> Floor:
    """Return the floor of W-PACK: so many tables, each floor(2·accuracy·n) + `more` people away from the others."""
    missed, error = between_zero_and_one(failure, "failure"), _below(accuracy, Fraction(1, 2))
    if tables < 2:
        return Floor(0.0, name)
    odds = math.log(tables - 1) + math.log(float((1 - missed) / missed))
    return Floor(whole((odds / positive(epsilon, "epsilon") - more) / (2 * error)), name)


def sanitizer_people_by_dimension(vc_dimension: int, epsilon: Number, accuracy: Number, failure: Number) -> Floor:
    """Return how many people a pure sanitizer needs, at least, by the VC dimension of its class (W-VCSAN).

    To a planner: with VC/2 people or fewer, no epsilon-private mechanism under replace-one answers all queries of the
    class within less than (1 - failure·(1 + e^epsilon))/(2·(1 - failure)·(1 + e^epsilon)) of the truth except with
    probability `failure`. From a failure of 1/(1 + e^epsilon) on nothing is excluded: randomized response of a single
    record is right that often. Print's 1/(4 + 16·epsilon), for all failures, is not true.

    >>> sanitizer_people_by_dimension(100, 1, 0.11, 0.05).value, sanitizer_people_by_dimension(100, 1, 0.11, 0.1).value
    (51.0, 0.0)
    """
    dimension, error = positive_integer(vc_dimension, "vc_dimension"), _below(accuracy, Fraction(1))
    missed = float(between_zero_and_one(failure, "failure"))
    # 1/(1 + e^epsilon), how often a randomized response of epsilon lies, in a form that no large epsilon overflows.
    lies = math.exp(-positive(epsilon, "epsilon"))
    lies = lies / (1 + lies)
    reached = (lies - missed) / (2 * (1 - missed))
    return Floor(float(dimension // 2 + 1) if error < reached - ROUNDING else 0.0, "shattered points")


def proper_learner_people_pure(
    bits: int, epsilon: Number, accuracy: Number, failure: Number = 0.5, *, concept: str = "point", points: int = 1
) -> Floor:
    """Return how many people a pure learner needs, at least, if its rule is itself one of the class.

    To a planner: with fewer, no epsilon-private proper learner errs by at most `accuracy` except with probability
    `failure` (any of at most one half) on all distributions over 2^bits values. `concept` is "point" (one value, or a
    set of `points` values) or "threshold". W-KPOINT, W-POINT, W-THRESH: n >= log((N - 1)/3)/(8·accuracy·epsilon), N
    being the number of concepts of which no distribution of the packing lets two be good: 2^bits - 1 points,
    2^bits - 2 cut-offs, ((2^bits - 1)/(4·e²·k))^(k/2) sets. Said only from where the proof holds:
    above 5·log(4)/(3·accuracy), for accuracies below 1/5.

    >>> proper_learner_people_pure(64, 1, 0.01).value
    541.0
    """
    width, error = positive_integer(bits, "bits"), _below(accuracy, Fraction(1))
    missed, members = between_zero_and_one(failure, "failure"), positive_integer(points, "points")
    binding = f"packing of {concept}s"
    count = _log_packing(width, concept, members)
    if error >= 0.2 or 2 * missed > 1 or count <= math.log(4):
        return Floor(0.0, binding)
    people = (count + math.log1p(-math.exp(-count)) - math.log(3)) / (8 * error * positive(epsilon, "epsilon"))
    return Floor(whole(people), binding) if people > 5 * math.log(4) / (3 * error) else Floor(0.0, binding)


def _log_packing(bits: int, concept: str, points: int) -> float:
    """Return the logarithm of the number of concepts in the packing, minus infinity where the proof has none."""
    if concept == "threshold":
        return math.log(2**bits - 2) if bits > 1 else -math.inf
    if concept != "point":
        raise ParameterError(f"concept must be 'point' or 'threshold', and {concept!r} is neither.")
    if points == 1:
        return math.log(2**bits - 1)
    if bits * math.log(2) < 1.1 * math.log(points):
        return -math.inf
    return points / 2 * (math.log(2**bits - 1) - math.log(4 * points) - 2)


def _below(accuracy: Number, most: Fraction) -> float:
    error = exact(accuracy, "accuracy")
    if not 0 < error < most:
        raise ParameterError(
            f"accuracy must lie strictly between 0 and {show(most)}, and {show(error)} does not; write 0.05, say."
        )
    return float(error)
