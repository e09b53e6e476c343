"""What releases need: shares of all values, frequent records, distributions, quantiles."""

from __future__ import annotations

import math
from functools import cache

from sfumato.learn.sampling import smallest, summed_noise
from sfumato.plan.learners import SOLVER_FORMULAS, SOLVERS
from sfumato.plan.rates import cell_error, rates, solver_losses
from sfumato.plan.requirement import Asked, Requirement
from sfumato.plan.tasks import CountPoints, EstimateDistribution, EstimateQuantiles, FindRecords
from sfumato.plan.trees import tree_people
from sfumato.privacy import Bound, Pure

SELECTION = 0.7
"""The part of a spend that goes to medians; the rest counts people between them (PL-SAN-THRESH-RQ)."""


def count_points(task: CountPoints, asked: Asked) -> list[Requirement]:
    """Return what counts of all values of a huge domain need: noise everywhere, or on what occurs."""
    error = asked.accuracy / task.largest
    spec = "PL-SAN-KPOINT" if task.largest > 1 else "PL-SAN-POINT"
    found = [_everywhere(task, asked, error, spec)]
    bought = rates(asked.spend)
    if bought.delta is not None and 2 * bought.delta < 1:
        found += [_stable(asked, error, spec), _rounds(asked, error)]
    return found


def find_records(task: FindRecords, asked: Asked) -> list[Requirement]:
    """Return what frequent records of many columns need: a tree over the columns, or noise on all records."""
    found = []
    if asked.spend.unit == "person":
        found.append(_everywhere(CountPoints(task.columns), asked, asked.accuracy, "PL-SAN-POINT"))
        bought = rates(asked.spend)
        if bought.delta is not None and 2 * bought.delta < 1:
            found.append(_stable(asked, asked.accuracy, "PL-SAN-POINT"))
    if isinstance(asked.spend, Pure):
        found.append(
            Requirement(
                method="tree",
                privacy=tree_people(task.columns, asked.spend, asked.accuracy, asked.failure),
                sampling=0.0,
                formula="n >= F/accuracy, F the smallest count that the search finds except with probability failure",
                spec="PDP-HH, PDP-HIST",
                run="Popular(columns)",
            )
        )
    return found


def estimate_distribution(task: EstimateDistribution, asked: Asked) -> list[Requirement]:
    """Return what recursive medians need, and what the paper's own sanitizer asks for."""
    found = [_medians(task.bits, asked)]
    bought = rates(asked.spend)
    if bought.delta is not None and 2 * bought.delta < 1:
        found.append(
            Requirement(
                method="as printed",
                privacy=_printed_distribution(task.bits, asked),
                sampling=0.0,
                formula="n >= 8^s·(60c/(accuracy·e))·s·log2(12·s/(b·e·d)), s = log*(bits), c = 77/accuracy, "
                "4c mechanisms of (e, d) in the spend, b = failure/(3c)",
                spec="PL-SAN-THRESH",
                run="papers.private_learning.san_thresholds",
                demonstrator=True,
            )
        )
    return found


def estimate_quantiles(task: EstimateQuantiles, asked: Asked) -> list[Requirement]:
    """Return what quantiles need, one after the other: ranks within accuracy·people, all of them together."""
    each = asked.failure / task.count
    losses = solver_losses(asked.spend, 2**task.bits, each, parts=task.count)
    return [
        Requirement(
            method=name,
            privacy=loss / asked.accuracy,
            sampling=0.0,
            formula=f"n >= D/accuracy, {SOLVER_FORMULAS[name]}, b = failure/count, e a part of the spend that fits "
            "count times",
            spec=f"PL-QUANTILE, {SOLVERS[name]}",
            run="Quantiles(column, probabilities)"
            if name == "exponential"
            else "select.solve_quasiconcave(spend, size)",
        )
        for name, loss in losses.items()
    ]


def _everywhere(task: CountPoints, asked: Asked, error: float, spec: str) -> Requirement:
    """Noise on every cell, of which those are published that no empty cell reaches."""
    half = asked.failure / 2
    highest = cell_error(asked.spend, 2**task.bits, half)
    return Requirement(
        method="noise on all values",
        privacy=smallest(lambda people: highest + _cells_noise(asked.spend, people, half) <= error * people),
        sampling=0.0,
        formula="accuracy·n >= t + z, t the noise that no empty value reaches, z that no value of anybody exceeds; "
        "(2/e)·(bits·ln 2 + ln(2/failure)) and (2/e)·ln(4n/failure) for a pure spend",
        spec=f"{spec}-PURE" if spec == "PL-SAN-POINT" else spec,
        run="Popular(columns, method='laplace')"
        if isinstance(asked.spend, Pure)
        else "Histogram(column, keys='private')",
    )


@cache
def _cells_noise_at(spend: Bound, people: int, failure: float) -> int:
    return cell_error(spend, people, failure)


def _cells_noise(spend: Bound, people: float, failure: float) -> int:
    """Return the noise on as many cells as there are people, their number rounded up to a power of two."""
    return _cells_noise_at(spend, 1 << max(0, math.ceil(math.log2(people))), failure)


def _stable(asked: Asked, error: float, spec: str) -> Requirement:
    bought = rates(asked.spend)
    assert bought.delta is not None
    first = (1 + 2 / bought.stated * (-math.log(2 * bought.delta) + math.log(2 / (error * asked.failure)))) / error
    released = smallest(lambda people: error * people >= 2 / bought.stated * math.log(2 * people / asked.failure))
    return Requirement(
        method="stability",
        privacy=max(first, released),
        sampling=0.0,
        formula="n >= (1/a)·(1 + (2/e)·(ln(1/(2·delta)) + ln(2/(a·failure)))) and a·n >= (2/e)·ln(2n/failure), "
        "a = accuracy/largest",
        spec=f"{spec}-STAB" if spec == "PL-SAN-POINT" else spec,
        run="Histogram(column, keys='private')",
    )


def _rounds(asked: Asked, error: float) -> Requirement:
    """SanPoints with the print's constants: 2/a rounds of choosing."""
    bought = rates(asked.spend)
    assert bought.delta is not None
    each = bought.stated / math.sqrt(32 / error * math.log(5 / bought.delta))
    choosing = 32 / (error * each) * math.log(640 / (error**3 * asked.failure * each * bought.delta))
    counting = 6 / (error**1.5 * bought.stated) * math.log(4 / (error * asked.failure))
    return Requirement(
        method="choosing in rounds",
        privacy=max(choosing, counting * math.sqrt(math.log(5 / bought.delta))),
        sampling=0.0,
        formula="n >= (32/(a·e'))·ln(640/(a³·failure·e'·delta)), e' = e/sqrt((32/a)·ln(5/delta))",
        spec="PL-SAN-POINT",
        run="papers.private_learning.san_points",
        demonstrator=True,
    )


def _medians(bits: int, asked: Asked) -> Requirement:
    """Recursive medians: H levels of exponential choices, then a count of every interval."""
    levels = math.ceil(math.log2(2 / asked.accuracy))
    bins, half = 2 ** (levels + 1) - 1, asked.failure / 2
    # Of a level a replaced person pays twice; the score of a median moves by one half.
    rate = SELECTION * rates(asked.spend, 2 * levels).choice
    loss = (bits * math.log(2) + math.log((2**levels - 1) / half)) / rate
    scale = 2 / ((1 - SELECTION) * rates(asked.spend).noise)
    noise = summed_noise(bins, scale, half / (2 * bins))
    return Requirement(
        method="recursive medians",
        privacy=(2 * loss + noise) / (asked.accuracy - 2.0**-levels),
        sampling=0.0,
        formula="n >= (2·D + Z)/(accuracy - 2^-H), H = ceil(log2(2/accuracy)), "
        "D = (2H/(0.7·e))·(bits·ln 2 + ln(2^H·2/failure)), Z the noise of 2^(H+1) - 1 counts of scale 2/(0.3·e)",
        spec="PL-SAN-THRESH-RQ",
        run="Distribution(column)",
    )


def _printed_distribution(bits: int, asked: Asked) -> float:
    """Return what SanThresholds asks for with its printed constants (Theorem 4.13)."""
    bought = rates(asked.spend)
    assert bought.delta is not None
    calls = math.ceil(77 / asked.accuracy)
    leak = bought.delta / (5 * calls)
    square, linear = 8 * calls, math.sqrt(8 * calls * -math.log(calls * leak))
    each = (-linear + math.sqrt(linear**2 + 4 * square * bought.stated)) / (2 * square)
    stars, missed = iterated_log(bits), asked.failure / (3 * calls)
    inner = math.log2(12 * stars / (missed * each * leak))
    return 8.0**stars * 60 * calls / (asked.accuracy * each) * stars * inner


def iterated_log(bits: int) -> int:
    """Return how often log2 must be taken, rounded up, until at most 1 is left.

    >>> iterated_log(16), iterated_log(64), iterated_log(65536)
    (3, 4, 4)
    """
    left, count = bits, 0
    while left > 1:
        left, count = (left - 1).bit_length(), count + 1
    return count
