"""When windows beat the exponential mechanism over wide domains: python -m bench.crossover

First the losses that are proved at (1, 1e-6) with probability 0.95, then the fewest people with whom 19 of 20 runs
succeed on two inputs: `peak`, two neighbouring values hold a tenth of the people each and all others are at the ends,
which is hard for the exponential mechanism; and `scales`, equally many people at every power of two around the best
cut, which is hard for finding the scale. A run succeeds if it is at most a tenth of the people off.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable

from sfumato import Approximate, Noise, select
from sfumato.mechanism import Mechanism
from sfumato.select.quasiconcave import shifted_windows, two_covers

SPEND = Approximate(1, "1e-6")
ALPHA = 10
METHODS = ("exponential", "two-covers", "shifted-windows")
PRINTED = {
    ("peak", 64): (979, 1207, 930),
    ("peak", 256): (3618, 1207, 882),
    ("peak", 1024): (14827, 1207, 930),
    ("scales", 64): (266, 2307, 1083),
    ("scales", 256): (873, 2570, 1498),
    ("scales", 1024): (3190, 2863, 1668),
}


def mechanism(method: str, bits: int, people: int) -> Mechanism:
    """Return one of the three with `people` as promise and a tenth of them as the loss that does no harm."""
    if method == "exponential":
        return select.exponential(SPEND)
    if method == "two-covers":
        return two_covers(SPEND, 1 << bits, promise=people, alpha="0.1")
    return shifted_windows(SPEND, 1 << bits, promise=people, allowed=people / ALPHA)


def peak(bits: int, people: int) -> tuple[select.StepFunction, int]:
    """Return how many of the people a cut gets right, and the least that is a success."""
    best, held = (1 << bits) // 3, people // ALPHA
    starts = [0, best, best + 1]
    return select.StepFunction(starts, [people - held, people, people - held], 1 << bits), people - held + 1


def scales(bits: int, people: int) -> tuple[select.StepFunction, int]:
    """Return the same for people at all powers of two on both sides of the best cut."""
    best, each = (1 << bits) // 2, people / (2 * (bits - 1))
    right = [(best + (1 << bit), people - math.ceil(each * (bit + 1))) for bit in range(bits - 1)]
    left = [(best + 1 - (1 << bit), people - math.ceil(each * bit)) for bit in range(bits - 2, -1, -1)]
    pieces = [(0, people - math.ceil(each * (bits - 1))), *left, *right]
    starts = [start for start, _ in pieces]
    return select.StepFunction(starts, [score for _, score in pieces], 1 << bits), people - people // ALPHA


def succeeds(
    method: str, made: Callable[[int, int], tuple[select.StepFunction, int]], bits: int, people: int, runs: int
) -> bool:
    """Tell whether 19 of 20 runs find a cut that is good enough."""
    pick = mechanism(method, bits, people)
    score, least = made(bits, people)
    noise = Noise(insecure_seed=people)
    return sum(score(int(pick(score, noise))) >= least for _ in range(runs)) >= 0.95 * runs


def fewest(method: str, made: Callable[[int, int], tuple[select.StepFunction, int]], bits: int, runs: int) -> int:
    """Return the fewest people that do, to four per cent."""
    low, high = 100, 200
    while not succeeds(method, made, bits, high, runs):
        low, high = high, 2 * high
    while high > 1.04 * low:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(method, made, bits, middle, runs) else (middle, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="64 and 256 bits, 40 runs a step")
    quick = parser.parse_args().quick
    widths, runs = ((64, 256), 40) if quick else ((64, 256, 1024), 120)
    warnings.simplefilter("ignore")
    print("Proved loss at (1, 1e-6), 95 %.\n\n| bits | " + " | ".join(METHODS) + " |\n|---|---|---|---|")
    for bits in (64, 128, 192, 256, 512, 1024):
        solvers = [select.solve_quasiconcave(SPEND, 1 << bits, promise=2000, method=method) for method in METHODS]
        print(f"| {bits} | " + " | ".join(f"{solver.shortfall:.0f}" for solver in solvers) + " |")
    print(f"\nFewest people for 19 of 20 successes, {runs} runs a step (in brackets: as specified).\n")
    print("| input | bits | " + " | ".join(METHODS) + " | CPU |\n|---|---|---|---|---|---|")
    for name, made in (("peak", peak), ("scales", scales)):
        for bits in widths:
            start = time.process_time()
            found = [fewest(method, made, bits, runs) for method in METHODS]
            cells = [f"{people} ({told})" for people, told in zip(found, PRINTED[name, bits], strict=True)]
            print(f"| {name} | {bits} | {' | '.join(cells)} | {time.process_time() - start:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
