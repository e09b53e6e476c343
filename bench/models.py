"""Private linear models on real tables, beside the same models without privacy, synthetic rows and diffprivlib.

    python -m bench.models DATA [--splits 2] [--draws 3] [--synthetic] [--peers] [--bars] [--only two several numbers]
        [--tables adult …]

DATA is a directory with adult.parquet, compas.parquet and nltcs.csv; other tables come with scikit-learn and with PyPI
packages, in an environment of their own. Areas under the curve, accuracies and R² are those of people who were set
aside (a third, at most 12,000 in all); `nu` is the noise ratio that `expected_quality` speaks of, from public facts.
`--bars` says behind the table which bars of MD-LINEAR hold for two labels. Everything that a bar needs:

    python -m bench.models DATA --splits 3 --draws 6 --synthetic --peers --bars --only two
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import sfumato as sf
from bench.environments import run as run_peer
from bench.models_tables import Task, numbers, several_labels, two_labels
from sfumato.learn import PrivateLinearClassifier, PrivateLinearRegressor, fit_synthetic
from sfumato.learn.linear_rows import Coordinates

PEER = Path(__file__).with_name("peers") / "diffprivlib_linear.py"
SPENDS = {"pure 1": sf.Pure(1), "(1, 1e-6)": sf.Approximate(1, "1e-6")}


def plain(task: Task, train: Any, model: Any) -> Any:
    """Return the model without privacy, its columns prepared as anybody would."""
    words = [name for name, one in task.domains.items() if isinstance(one, sf.domain.Categories)]
    rest = [name for name in task.features if name not in words]
    columns = [("words", OneHotEncoder(handle_unknown="ignore"), words), ("numbers", StandardScaler(), rest)]
    return make_pipeline(ColumnTransformer(columns), model).fit(train[task.features], train[task.target])


def private(task: Task, spend: Any) -> Any:
    """Return the private model of a task."""
    kind = PrivateLinearClassifier if isinstance(task.values, tuple) else PrivateLinearRegressor
    return kind(spend, [task.domains[name] for name in task.features], task.values)


def score(task: Task, model: Any, test: Any) -> float:
    """Return the area under the curve of two labels, the accuracy of several, R² of a number."""
    people, truth = test[task.features], test[task.target]
    if not isinstance(task.values, tuple):
        return float(r2_score(truth, model.predict(people)))
    if len(task.values) > 2:
        return float(accuracy_score(truth, model.predict(people)))
    return float(roc_auc_score(truth == task.values[1], model.predict_proba(people)[:, 1]))


def synthetic(task: Task, train: Any, spend: Any) -> Any:
    """Return logistic regression on made-up rows, numbers in sixteen bins of their public range."""
    labels = sf.categories(*(str(one) for one in task.values), missing=str(task.values[0]))
    written = train[task.target].map({one: str(one) for one in task.values})
    frame = train[[*task.features, task.target]].assign(**{task.target: written})
    schema = sf.Schema({**task.domains, task.target: labels})
    with sf.curate(frame, schema, sf.Budget(person=spend)) as curator:
        model = curator.synthesize(spend=spend).value
    return fit_synthetic(LogisticRegression(max_iter=300), model, task.target)


class AsText:
    """A model whose labels are written as text, for people whose labels are not."""

    def __init__(self, model: Any, task: Task) -> None:
        self.model, self.task = model, task

    def predict_proba(self, people: Any) -> Any:
        """Return the probabilities in the order of the task's labels."""
        order = [list(self.model.classes_).index(str(one)) for one in self.task.values]
        return self.model.predict_proba(people)[:, order]


def ratio(task: Task, spend: Any, people: int) -> float:
    """Return the noise ratio that the learner itself states."""
    return float(private(task, spend).expected_quality(people, task.features).split("noise ratio ")[1].rstrip(")"))


def scaled(task: Task, frame: Any) -> Any:
    """Return features in [-1, 1] by their public bounds, as a peer without domains needs them."""
    from sfumato.learn.cells import encoded

    parts = [
        Coordinates.of(name, one).scaled(encoded(frame[name].to_numpy(), one), 1 << 10)
        for name, one in task.domains.items()
    ]
    return np.hstack(parts) / (1 << 10)


def by_peer(task: Task, splits: int, draws: int) -> float:
    """Return the mean area of diffprivlib's logistic regression at epsilon 1."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for seed in range(splits):
            train, test = task.split(seed)
            path = Path(folder) / f"{seed}.npz"
            labels = [(part[task.target] == task.values[1]).to_numpy().astype(int) for part in (train, test)]
            np.savez(path, x=scaled(task, train), y=labels[0], test_x=scaled(task, test), test_y=labels[1])
            paths.append(str(path))
        packages = ["diffprivlib", "scikit-learn<1.6", "pandas", "pyarrow"]
        return float(np.mean(run_peer("diffprivlib", packages, PEER, "1", str(draws), *paths)["areas"]))


@dataclass
class Measured:
    """What bars of two labels are about: areas under the curve, and log losses above those without privacy."""

    name: str
    plain: float
    ratios: dict[str, float] = field(default_factory=dict)
    areas: dict[str, list[float]] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    beside: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of each other way its mean area, and that of the private model on the same splits at the same spend."""

    def bars(self) -> Iterator[tuple[str, float, float]]:
        """Yield what is wanted, what was measured, and the least that holds; bars that nu takes away are left out."""
        for name, nu in self.ratios.items():
            mean, worst = float(np.mean(self.areas[name])), min(self.areas[name])
            wanted = {"pure 1": ((0.03, 0.020),), "(1, 1e-6)": ((0.016, 0.010), (0.05, 0.025))}[name]
            for most, below in wanted:
                if nu <= most:
                    yield f"{name}, nu {nu:.3f}: plain less {below:g}", mean, self.plain - below
                    break
            if nu <= 0.016:
                yield f"{name}, nu {nu:.3f}: worst draw, plain less 0.04", worst, self.plain - 0.04
            if nu <= 0.04:
                yield f"{name}, nu {nu:.3f}: minus the log loss above plain", -float(np.mean(self.losses[name])), -0.03
        for name, (theirs, ours) in self.beside.items():
            spend = "pure 1" if name.startswith("diffprivlib") else "(1, 1e-6)"
            if self.ratios[spend] <= 0.05:
                least = theirs if name.startswith("diffprivlib") else theirs - 0.01
                yield f"{spend}, nu {self.ratios[spend]:.3f}: beside {name} ({theirs:.3f})", ours, least


def excess(task: Task, model: Any, base: Any, test: Any) -> float:
    """Return how far the log loss of two labels is above that of the model without privacy."""
    people, truth = test[task.features], test[task.target] == task.values[1]
    private_loss, plain_loss = (log_loss(truth, one.predict_proba(people)[:, 1]) for one in (model, base))
    return float(private_loss - plain_loss)


def row(task: Task, arguments: Any, measured: list[Measured]) -> list[str]:
    """Measure one table, and keep what bars need."""
    started = time.process_time()
    base = LogisticRegression(max_iter=500) if isinstance(task.values, tuple) else LinearRegression()
    splits = [task.split(seed) for seed in range(arguments.splits)]
    without = [plain(task, train, base) for train, _ in splits]
    best = np.mean([score(task, model, test) for model, (_, test) in zip(without, splits, strict=True)])
    two = isinstance(task.values, tuple) and len(task.values) == 2
    kept = Measured(task.name, float(best))
    people, width = len(splits[0][0]), 1 + sum(Coordinates.of(name, one).width for name, one in task.domains.items())
    found = [f"{task.name}{' (aside)' if task.aside else ''}", f"{people:,}, {width - 1}", f"{best:.3f}"]
    for name, spend in SPENDS.items():
        drawn, losses = [], []
        for (train, test), plainly in zip(splits, without, strict=True):
            for _ in range(arguments.draws):
                model = private(task, spend).fit(train[task.features], train[task.target])
                drawn.append(score(task, model, test))
                losses += [excess(task, model, plainly, test)] if two else []
        kept.ratios[name], kept.areas[name], kept.losses[name] = ratio(task, spend, people), drawn, losses
        found.append(f"{kept.ratios[name]:.3f}: {np.mean(drawn):.3f} ({min(drawn):.3f})")
    if arguments.synthetic:
        spend = SPENDS["(1, 1e-6)"]
        drawn = (
            [score(task, AsText(synthetic(task, train, spend), task), test) for train, test in splits[:2]]
            if two
            else []
        )
        found.append(f"{np.mean(drawn):.3f}" if drawn else "")
        if drawn:
            same = kept.areas["(1, 1e-6)"][: 2 * arguments.draws]
            kept.beside["synthetic rows"] = float(np.mean(drawn)), float(np.mean(same))
    if arguments.peers:
        theirs = by_peer(task, arguments.splits, arguments.draws) if two else float("nan")
        found.append(f"{theirs:.3f}" if two else "")
        kept.beside.update({"diffprivlib": (theirs, float(np.mean(kept.areas["pure 1"])))} if two else {})
    if two:
        measured.append(kept)
    return [*found, f"{time.process_time() - started:.0f}"]


def main() -> None:
    """Print one table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--bars", action="store_true", help="say which bars hold")
    parser.add_argument("--only", nargs="*", default=["two", "several", "numbers"])
    parser.add_argument("--tables", nargs="*", help="only tables with these names")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kinds = {"two": two_labels, "several": several_labels, "numbers": numbers}
    more = ["synthetic, (1, 1e-6)"] * arguments.synthetic + ["diffprivlib, 1"] * arguments.peers
    head = ["table", "people, p", "plain", *(f"{name}: nu: mean (worst)" for name in SPENDS), *more, "CPU s"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    measured: list[Measured] = []
    for kind in arguments.only:
        for make in kinds[kind](arguments.data):
            task = make()
            if arguments.tables is None or task.name in arguments.tables:
                print(f"| {' | '.join(row(task, arguments, measured))} |", flush=True)
    if arguments.bars:
        print("\n| table | bar | measured | at least | holds |\n|---|---|---|---|---|")
        for one in measured:
            for bar, found, least in one.bars():
                print(f"| {one.name} | {bar} | {found:.3f} | {least:.3f} | {'yes' if found >= least else 'NO'} |")


if __name__ == "__main__":
    main()
