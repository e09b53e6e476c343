"""Private learners: error against the number of people, beside rules without privacy and beside diffprivlib.

python -m bench.learners [--quick] [TABLE ...]

`thresholds`: a cut over 2^62 values, on even data and on the hardest for the exponential mechanism (a tenth of the
people on each of two neighbouring values, the others at the ends). `boxes`: boxes of 2 to 5 features that hold three
tenths of evenly spread people. `needed`: the number of people that the formula asks for an error of 0.1 except with
probability 0.05, and the smallest number that reached it in 20 to 60 runs; hard boxes have all people at their corners
or one step outside. `labels`, `adult` and `halfspaces` are in bench/learners_labels.py. Errors are on fresh people. CPU
seconds are of one fit.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import run
from bench.learners_labels import TABLES as MORE
from sfumato import Approximate, Concentrated, Noise, Pure, integers
from sfumato.errors import AccuracyWarning
from sfumato.learn import PrivateBox, PrivatePoint, PrivateThreshold
from sfumato.learn.facts import Sample

TOP = 2**62 - 1
PEER = Path(__file__).parent / "peers" / "diffprivlib_learners.py"
PACKAGES = ["diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3"]
FRESH = 20_000
ACCURACY, FAILURE = 0.1, 0.05
Data = tuple[np.ndarray, np.ndarray]


def even_cut(people: int, generator: np.random.Generator) -> Data:
    codes = generator.integers(0, TOP, size=(people, 1), endpoint=True)
    return codes, (codes[:, 0] >= TOP // 3).astype(np.int64)


def hard_cut(people: int, generator: np.random.Generator) -> Data:
    cut = TOP // 3
    codes = generator.choice([0, cut - 1, cut, TOP], p=[0.4, 0.1, 0.1, 0.4], size=(people, 1))
    return codes, (codes[:, 0] >= cut).astype(np.int64)


def even_box(features: int) -> Callable[[int, np.random.Generator], Data]:
    half = int(TOP * 0.3 ** (1 / features)) // 2

    def draw(people: int, generator: np.random.Generator) -> Data:
        codes = generator.integers(0, TOP, size=(people, features), endpoint=True)
        return codes, (np.abs(codes - TOP // 2) <= half).all(axis=1).astype(np.int64)

    return draw


def hard_box(features: int) -> Callable[[int, np.random.Generator], Data]:
    """People of the second label at the corners of a box, all others one step outside of one of its sides."""
    low, high = TOP // 3, TOP // 2

    def draw(people: int, generator: np.random.Generator) -> Data:
        codes = np.where(generator.integers(0, 2, size=(people, features)) == 1, high, low)
        labels = (generator.random(people) < 0.2).astype(np.int64)
        side = generator.integers(0, features, size=people)
        outside = np.flatnonzero(labels == 0)
        chosen = codes[outside, side[outside]]
        codes[outside, side[outside]] = np.where(chosen == low, low - 1, high + 1)
        return codes, labels

    return draw


def fitted(learner: Any, codes: np.ndarray, labels: np.ndarray, seed: int) -> tuple[Any, float]:
    learner.noise = Noise(insecure_seed=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        learner.fit_sample(learner.facts(codes.shape[1]), Sample.of(codes, labels))
    return learner.rule_, time.process_time() - start


def error(rule: Any, data: Data) -> float:
    return float(np.mean(rule.holds(data[0]) != (data[1] == 1)))


def without_privacy(codes: np.ndarray, labels: np.ndarray, cut: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return the best cut, or the tightest box."""
    inside = codes[labels == 1]
    if not len(inside):
        return lambda fresh: np.zeros(len(fresh), dtype=bool)
    low, high = inside.min(axis=0), inside.max(axis=0)
    if cut:
        return lambda fresh: fresh[:, 0] >= low[0]
    return lambda fresh: ((fresh >= low) & (fresh <= high)).all(axis=1)


def beside(samples: list[tuple[Data, Data]], epsilon: float) -> dict[str, float]:
    """Return the mean errors of diffprivlib's classifiers on the same samples."""
    with tempfile.TemporaryDirectory() as place:
        paths = []
        for number, ((codes, labels), (fresh, truth)) in enumerate(samples):
            path = str(Path(place) / f"{number}.npz")
            np.savez(path, x=codes / TOP, y=labels, test_x=fresh / TOP, test_y=truth)
            paths.append(path)
        found = run("diffprivlib-models", PACKAGES, PEER, str(epsilon), *paths)["errors"]
    return {name: float(np.mean([errors[name] for errors in found])) for name in found[0]}


def curve(title: str, learner: Any, draw: Any, numbers: list[int], seeds: int, *, cut: bool) -> None:
    for people in numbers:
        samples, errors, spent, plain = [], [], [], []
        for seed in range(seeds):
            generator = np.random.default_rng((seed, people))
            data, fresh = draw(people, generator), draw(FRESH, generator)
            rule, seconds = fitted(learner, *data, seed)
            errors.append(error(rule, fresh))
            spent.append(seconds)
            plain.append(float(np.mean(without_privacy(*data, cut)(fresh[0]) != (fresh[1] == 1))))
            samples.append((data, fresh))
        peers = beside(samples[:5], float(learner.spend.epsilon))
        print(
            f"| {title} | {people:,} | {np.mean(errors):.4f} | {np.quantile(errors, 0.9):.4f} | {np.mean(plain):.4f} | "
            f"{peers['tree']:.3f} | {peers['forest']:.3f} | {peers['naive Bayes']:.3f} | {np.mean(spent):.3f} |",
            flush=True,
        )


def heading() -> None:
    print("| sample | people | error | 90 % | no privacy | dpl tree | dpl forest | dpl naive Bayes | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")


def thresholds(quick: bool) -> None:
    learner = PrivateThreshold(Pure(1), integers(0, TOP, missing=0), (0, 1))
    print(f"\nCuts over 2^62 values, epsilon 1; the formula asks for {learner.needed():,} people at an error of 0.1.\n")
    heading()
    numbers = [300, 3000] if quick else [100, 300, 1000, 3000, 10_000, 100_000]
    for title, draw in (("even", even_cut), ("hard", hard_cut)):
        curve(title, learner, draw, numbers, 5 if quick else 40, cut=True)


def boxes(quick: bool) -> None:
    numbers = [3000, 30_000] if quick else [3000, 10_000, 30_000, 100_000]
    print("\nBoxes over 2^62 values a feature, epsilon 1.\n")
    heading()
    for features in (2, 5) if quick else (2, 3, 4, 5):
        learner = PrivateBox(Pure(1), integers(0, TOP, missing=0), (0, 1))
        curve(f"{features} features", learner, even_box(features), numbers, 3 if quick else 10, cut=False)


def key(people: int, generator: np.random.Generator) -> Data:
    codes = generator.choice([5, TOP], p=[0.15, 0.85], size=(people, 1))
    return codes, (codes[:, 0] == 5).astype(np.int64)


def reached(learner: Any, draw: Any, people: int, seeds: int) -> bool:
    good = 0
    for seed in range(seeds):
        generator = np.random.default_rng((seed, people))
        data, fresh = draw(people, generator), draw(FRESH, generator)
        good += error(fitted(learner, *data, seed)[0], fresh) <= ACCURACY
    return good >= (1 - FAILURE) * seeds


def smallest(learner: Any, draw: Any, seeds: int, most: int) -> int | None:
    """Return the smallest number of people, within a tenth, at which the accuracy is reached; None if `most` fail."""
    if not reached(learner, draw, most, seeds):
        return None
    low, high = most // 64, most
    while high > 1.1 * low:
        middle = int((low * high) ** 0.5)
        low, high = (low, middle) if reached(learner, draw, middle, seeds) else (middle, high)
    return high


def needed(quick: bool) -> None:
    seeds = 20 if quick else 60
    rows: list[tuple[str, Any, Any, int]] = [
        ("cut, Pure(1), hard", PrivateThreshold(Pure(1), integers(0, TOP, missing=0), (0, 1)), hard_cut, seeds),
        (
            "key, Approximate(1, 1e-6)",
            PrivatePoint(Approximate(1, "1e-6"), integers(0, TOP, missing=0), (0, 1)),
            key,
            seeds,
        ),
        ("key, Pure(1)", PrivatePoint(Pure(1), integers(0, TOP, missing=0), (0, 1)), key, seeds),
    ]
    for features in (2,) if quick else (2, 3, 5):
        for spend in (Pure(1), Concentrated("1/8")):
            learner = PrivateBox(spend, integers(0, TOP, missing=0), (0, 1))
            rows.append((f"box of {features}, {spend!r}, hard", learner, hard_box(features), 20))
        if features < 5:  # 400,000 different values in every feature take minutes
            learner = PrivateBox(Pure(1), integers(0, TOP, missing=0), (0, 1))
            rows.append((f"box of {features}, Pure(1), even", learner, even_box(features), 20))
    print("\n| rule | formula | measured | formula / measured |\n|---|---|---|---|")
    for title, learner, draw, runs in rows:
        features = draw(1, np.random.default_rng(0))[0].shape[1]
        formula = learner.needed(ACCURACY, FAILURE, features=features)
        measured = smallest(learner, draw, runs, formula)
        shown = "not reached | " if measured is None else f"{measured:,} | {formula / measured:.1f}"
        print(f"| {title} | {formula:,} | {shown} |", flush=True)


TABLES: dict[str, Callable[[bool], None]] = {"thresholds": thresholds, "boxes": boxes, "needed": needed, **MORE}


def main(arguments: list[str]) -> None:
    names = [name for name in arguments if not name.startswith("-")] or list(TABLES)
    for name in names:
        TABLES[name]("--quick" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
