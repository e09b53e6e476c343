"""Tables of `python -m bench.learners`: private labels, the label of Adult, halfspaces."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from bench.environments import run
from sfumato import Noise, Pure
from sfumato.errors import AccuracyWarning
from sfumato.learn import LabelPrivate, RobustHalfspace, SanitizeThenLearn
from sfumato.learn.facts import Sample
from sfumato.papers.private_learning.families import Cuts
from sfumato.papers.private_learning.fitted import design
from sfumato.papers.private_learning.label import LabelResponse
from sfumato.papers.private_learning.sanitize import released_sample
from sfumato.privacy.coins import noise_weight

TOP = 2**62 - 1
ADULT = Path(__file__).parent.parent / "examples" / "data"
PEER = Path(__file__).parent / "peers" / "diffprivlib_learners.py"
PACKAGES = ["diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3"]
FEATURES = ["age", "education_num", "marital_status", "occupation", "sex", "hours_per_week", "capital_gain"]


def quietly(learner: Any, sample: Sample, features: Any, seed: int) -> tuple[Any, float]:
    """Return a fitted learner and the CPU seconds that it took."""
    learner.noise = Noise(insecure_seed=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        learner.fit_sample(learner.facts(features), sample)
        return learner, time.process_time() - start


def response_cut(codes: np.ndarray, labels: np.ndarray, epsilon: Any, facts: Any, seed: int) -> Any:
    """Return the best cut on labels after randomized response."""
    response = LabelResponse(weight=noise_weight(Pure(epsilon).epsilon, 2), reads=frozenset({"y"}))
    released = released_sample(facts, response.run(Sample.of(codes, labels), Noise(insecure_seed=seed)))
    listed = Cuts().listed(released.codes, facts)
    return Cuts().rule(facts, listed.value(int(listed.right(released).argmax())))


def beside(samples: list[tuple[np.ndarray, ...]], epsilon: float) -> dict[str, float]:
    """Return the mean errors of diffprivlib's classifiers on samples in [0, 1], each person protected at epsilon."""
    with tempfile.TemporaryDirectory() as place:
        paths = []
        for number, (codes, truth, fresh, actual) in enumerate(samples):
            path = str(Path(place) / f"{number}.npz")
            np.savez(path, x=codes.astype(float), y=truth, test_x=fresh.astype(float), test_y=actual)
            paths.append(path)
        found = run("diffprivlib-models", PACKAGES, PEER, str(epsilon), *paths)["errors"]
    return {name: float(np.mean([errors[name] for errors in found])) for name in found[0]}


def labels(quick: bool) -> None:
    """A cut over 2^62 values from 4000 public features and private labels."""
    people, seeds = 4000, 8 if quick else 60
    print(f"\nPrivate labels: a cut over 2^62 values, {people} people, {seeds} runs; 90 % of errors are below.\n")
    print("| epsilon | choosing | randomized response, best cut | CPU s of choosing |\n|---|---|---|---|")
    for epsilon in ("0.05", "0.1", "0.25", "0.5", "1", "2"):
        found: dict[str, list[float]] = {"choice": [], "response": [], "seconds": []}
        for seed in range(seeds):
            generator = np.random.default_rng((seed, 7))
            codes = generator.integers(0, TOP, size=(people, 1))
            fresh = generator.integers(0, TOP, size=(20_000, 1))
            truth = fresh[:, 0] >= TOP // 3
            learner = LabelPrivate("cuts", Pure(epsilon), sf.integers(0, TOP, missing=0, public=True), (0, 1))
            sample = Sample.of(codes, codes[:, 0] >= TOP // 3)
            learner, seconds = quietly(learner, sample, 1, seed)
            other = response_cut(codes, codes[:, 0] >= TOP // 3, epsilon, learner.facts(1), seed)
            found["choice"].append(float(np.mean(learner.rule_.holds(fresh) != truth)))
            found["response"].append(float(np.mean(other.holds(fresh) != truth)))
            found["seconds"].append(seconds)
        high = {name: float(np.quantile(numbers, 0.9)) for name, numbers in found.items()}
        print(
            f"| {epsilon} | {high['choice']:.4f} | {high['response']:.4f} | {np.mean(found['seconds']):.3f} |",
            flush=True,
        )


def adult_rows() -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the schema of Adult, codes of the features, and which incomes are high; shuffled once and for all."""
    from pyarrow import parquet

    schema = sf.Schema.load(ADULT / "adult.toml")
    table = parquet.read_table(ADULT / "adult.parquet")
    columns = [[schema.domain(name).encode(cell) for cell in table.column(name).to_pylist()] for name in FEATURES]
    codes = np.array(columns, dtype=np.int64).T
    high = np.array([cell == ">50K" for cell in table.column("income").to_pylist()]).astype(np.int64)
    order = np.random.default_rng(1).permutation(len(codes))
    return schema, codes[order], high[order]


def adult(quick: bool) -> None:
    """Adult's label: public features and private labels, or everything private."""
    from dataclasses import replace

    from sklearn.linear_model import LogisticRegression

    schema, codes, high = adult_rows()
    cut = len(codes) * 3 // 4
    train, test = Sample.of(codes[:cut], high[:cut]), (codes[cut:], high[cut:] == 1)
    private = [schema.domain(name) for name in FEATURES]
    public = [replace(domain, public=True) for domain in private]
    plain = LogisticRegression(max_iter=2000).fit(design(codes[:cut], tuple(private)), high[:cut])
    best = float(np.mean((plain.predict(design(test[0], tuple(private))) == 1) != test[1]))
    print(
        f"\nAdult's label from {len(FEATURES)} features, {cut} people, errors on {len(codes) - cut} others: nobody is"
    )
    print(f"rich {np.mean(test[1]):.4f}, logistic regression without privacy {best:.4f}.\n")
    print(
        "| epsilon | labels private: a cut | labels private: logistic | all private: model, logistic | "
        "all private: dpl tree | dpl forest | dpl naive Bayes | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    matrices = tuple(design(part, tuple(private)) for part in (codes[:cut], codes[cut:]))
    logistic = LogisticRegression(max_iter=2000)
    for epsilon in ("0.1", "1") if quick else ("0.05", "0.1", "0.5", "1", "2"):
        shown, spent = [], []
        makers: list[Callable[[], Any]] = [
            lambda: LabelPrivate("cuts", Pure(epsilon), public, (0, 1)),  # noqa: B023
            lambda: LabelPrivate(logistic, Pure(epsilon), public, (0, 1)),  # noqa: B023
            lambda: SanitizeThenLearn(logistic, Pure(epsilon), private, (0, 1), method="model"),  # noqa: B023
        ]
        for make in makers:
            errors = []
            for seed in range(1 if quick else 3):
                learner, seconds = quietly(make(), train, FEATURES, seed)
                errors.append(float(np.mean(learner.rule_.holds(test[0]) != test[1])))
                spent.append(seconds)
            shown.append(f"{np.mean(errors):.4f}")
        peers = beside([(matrices[0], high[:cut], matrices[1], high[cut:])] * (1 if quick else 3), float(epsilon))
        shown += [f"{peers[name]:.4f}" for name in ("tree", "forest", "naive Bayes")]
        print(f"| {epsilon} | {' | '.join(shown)} | {np.mean(spent):.1f} |", flush=True)


def voters(people: int, features: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return people whose features vote for their label, for or against, one feature in five at random."""
    against = np.arange(features) % 3 == 0
    truth = generator.integers(0, 2, size=people)
    codes = np.where(
        generator.random((people, features)) < 0.2, generator.integers(0, 2, (people, features)), truth[:, None]
    )
    return np.where(against, 1 - codes, codes), truth


def halfspaces(quick: bool) -> None:
    """Halfspaces per attribute and per person at the same epsilon."""
    seeds = 3 if quick else 10
    print(f"\nHalfspaces: features that vote, epsilon 1/4, {seeds} runs; mean error on fresh people.\n")
    print(
        "| features | people | per attribute | its loss for the person | per person | dpl forest | "
        "dpl naive Bayes | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for features, numbers in ((9, (30, 100, 300, 1000)), (40, (30, 100, 300, 1000))):
        for people in numbers[1:3] if quick else numbers:
            errors: dict[str, list[float]] = {"attribute": [], "person": []}
            cost, spent, samples = 0.0, [], []
            for seed in range(seeds):
                generator = np.random.default_rng((seed, people, features))
                codes, truth = voters(people, features, generator)
                fresh, actual = voters(5000, features, generator)
                samples.append((codes, truth, fresh, actual))
                for spend in (Pure("0.25").per_attribute(), Pure("0.25")):
                    learner = RobustHalfspace(spend, sf.booleans(missing=False), (0, 1), margin=0.4, kept=0.1)
                    learner, seconds = quietly(learner, Sample.of(codes, truth), features, seed)
                    errors[spend.unit].append(float(np.mean(learner.rule_.holds(fresh) != (actual == 1))))
                    spent.append(seconds)
                    if spend.unit == "attribute":
                        cost = float(learner.loss_.person.epsilon)
            peers = beside(samples[:3], 0.25)
            print(
                f"| {features} | {people} | {np.mean(errors['attribute']):.3f} | {cost:.2f} | "
                f"{np.mean(errors['person']):.3f} | {peers['forest']:.3f} | {peers['naive Bayes']:.3f} | "
                f"{np.mean(spent):.2f} |",
                flush=True,
            )


TABLES: dict[str, Callable[[bool], None]] = {"labels": labels, "adult": adult, "halfspaces": halfspaces}
