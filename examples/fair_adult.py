"""Who would be offered a better loan: audit a model on UCI Adult, make it fair, and see what that costs.

    python examples/fair_adult.py [people]

Writes out/fair-adult.html (the audit) and out/fair-adult.svg (the price of fairness).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sfumato import fair
from sfumato.show import Line, Panel, picture

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

# Distance 1 is "very different": sixty years of age, eight steps of education, forty hours a week, …
WEIGHTS = {
    "age": 1 / 60,
    "education_num": 1 / 8,
    "hours_per_week": 1 / 40,
    "capital_gain": 1 / 20_000,
    "occupation": 0.25,
}
NUMBERS = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
KAPPAS = (0.25, 0.5, 1.0, 2.0, 4.0)


def people_and_target(count: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return people without their income, and whether it is above 50K."""
    adult = pd.read_parquet(HERE / "data" / "adult.parquet").iloc[:count]
    target = (adult["income"] == ">50K").to_numpy().astype(int)
    return adult.drop(columns=["person", "income", "fnlwgt"]).fillna("missing"), target


def blind_model(people: pd.DataFrame) -> Any:
    """Return a logistic regression that never sees sex or race."""
    words = [name for name in people.columns if name not in (*NUMBERS, "sex", "race")]
    columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), words))
    return make_pipeline(columns, LogisticRegression(max_iter=500))


def halves(people: pd.DataFrame) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return masks of the people to learn from and of those kept aside."""
    even = np.arange(len(people)) % 2 == 0
    return even, ~even


def right(chance: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> float:
    """Return how often decisions drawn from these chances are right."""
    return float(chance[np.arange(len(target)), target].mean())


def price_of_fairness(
    people: pd.DataFrame, target: np.ndarray[Any, Any], metric: fair.Metric
) -> dict[float, tuple[float, float]]:
    """Return accuracy of drawn decisions and parity gap on people kept aside, for growing steepness kappa."""
    train, test = halves(people)
    woman = (people["sex"] == "Female").to_numpy()[test]
    found = {}
    for kappa in KAPPAS:
        # Decisions are drawn here, so the program, which makes them as right as it can, serves better than scores.
        model = fair.FairClassifier(
            blind_model(people), metric, kappa=kappa, method="program", solve_for=3000, insecure_seed=1
        )
        with warnings.catch_warnings():
            # With a steep kappa most people are far apart, and the classifier says how little it then promises.
            warnings.simplefilter("ignore", fair.FairnessWarning)
            chance = model.fit(people[train], target[train]).predict_proba(people[test])
        found[kappa] = (right(chance, target[test]), fair.parity_gap(chance, woman, ~woman).value)
    return found


def tell_prices(people: pd.DataFrame, target: np.ndarray[Any, Any], metric: fair.Metric, out: Path) -> None:
    """Print and draw what fairness costs on people kept aside, next to the model and to one decision for all."""
    train, test = halves(people)
    woman = (people["sex"] == "Female").to_numpy()[test]
    chance = blind_model(people).fit(people[train], target[train]).predict_proba(people[test])
    sharp = float((chance.argmax(axis=1) == target[test]).mean())
    gap = fair.parity_gap(chance, woman, ~woman).value
    alike = float(max(target[test].mean(), 1 - target[test].mean()))
    print(f"Right on people kept aside: one decision for all {alike:.3f}; the model {sharp:.3f}, which breaks the")
    print(f"promise at every threshold; the model's chances, drawn, {right(chance, target[test]):.3f} (gap {gap:.3f}).")
    prices = price_of_fairness(people, target, metric)
    for kappa, (accuracy, parity) in prices.items():
        print(f"Fair classifier, kappa {kappa:>4}: right {accuracy:.3f}, parity gap {parity:.3f}")
    steep = list(prices)
    ends = [steep[0], steep[-1]]
    drawn = picture(
        "What treating similar people similarly costs on UCI Adult",
        [
            Panel("kappa: how steep decisions may be", "share of wrong decisions",
                  (Line("fair classifier", steep, [1 - prices[k][0] for k in steep]),
                   Line("one for all", ends, [1 - alike] * 2, "other"),
                   Line("model, unfair", ends, [1 - sharp] * 2, "claim"))),
            Panel("kappa: how steep decisions may be", "parity gap between the sexes",
                  (Line("fair classifier", steep, [prices[k][1] for k in steep]),
                   Line("the model's chances", ends, [gap] * 2, "other"))),
        ],
    )  # fmt: skip
    drawn.save(out / "fair-adult.png")
    print(f"Written: {drawn.save(out / 'fair-adult.svg')}")


def main(count: int = 6000, out: Path = OUT) -> None:
    """Audit, repair, and draw the price."""
    out.mkdir(exist_ok=True)
    people, target = people_and_target(count)
    metric = fair.Metric.from_features(people, WEIGHTS)
    model = blind_model(people).fit(people, target)
    report = fair.audit(model, people, "sex", metric=metric, label=target, segments="native_country")
    print(report)
    print(f"Written: {report.save(out / 'fair-adult.html')}")

    chance = model.predict_proba(people)[:, 1]
    repaired = fair.repair_scores(chance, metric)
    cost = fair.repair_cost(chance, repaired)
    print(f"Repair to kappa 1 moves nobody's chance by more than {cost.largest:.3f}, on average by {cost.mean:.3f}.")
    tell_prices(people, target, metric, out)


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:2]])
