"""Populations in which nobody is wronged: what an audit raises on them is a false alarm.

Small tables, as a compliance team has them. In all of them the treatment depends on the position under the metric
alone; the designs differ in what else is correlated with the group, and in how much is known about the treatment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.fair.audits.case import Case, make_case
from sfumato.fair.metric.base import Metric
from sfumato.noise import Noise

SMALL = 240
STEEP = 0.25


class Draws:
    """Numbers for one table."""

    def __init__(self, seed: int, people: int = SMALL) -> None:
        self.noise, self.people = Noise(insecure_seed=seed), people

    def uniform(self) -> np.ndarray:
        return self.noise.uniform(1 << 50, self.people) / 2.0**50

    def normal(self) -> np.ndarray:
        return ndtri((self.noise.uniform(1 << 50, self.people) + 0.5) / 2.0**50)

    def coin(self, chance: Any) -> np.ndarray:
        return (self.uniform() < chance).astype(float)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def table(
    draws: Draws, *, shift: float, rule: Callable[[np.ndarray], np.ndarray], decided: bool, label: bool,
    noise: float = 0.0, coarse: bool = False, weights: dict[str, float] | None = None,
) -> Case:  # fmt: skip
    """Return one innocent case: `shift` is how far the group's mean skill lies below the others', in deviations."""
    inside = draws.uniform() < 0.4
    skill = draws.normal() - shift * inside
    if coarse:
        skill = np.round(skill * 1.5) / 1.5
    other, town = draws.normal(), np.floor(8 * sigmoid(skill + draws.normal() - 0.8 * inside)).astype(int)
    chance = np.clip(rule(skill) + noise * draws.normal(), 0, 1)
    treatment: Any = draws.coin(chance).astype(int) if decided else chance
    merit = draws.coin(sigmoid(1.5 * skill)) if label else skill + 0.7 * draws.normal()
    people = {"skill": skill, "other": other, "town": np.array([f"town {name}" for name in town])}
    metric = Metric.from_features(people, weights or {"skill": STEEP})
    return make_case(
        treatment,
        people,
        inside,
        metric=metric,
        label=merit,
        segments="town",
        group="True",
        favourable=1 if decided else None,
    )


def soft(skill: np.ndarray) -> np.ndarray:
    return sigmoid(skill - 0.3)


def mild(skill: np.ndarray) -> np.ndarray:
    return np.clip(0.5 + 0.15 * skill, 0.02, 0.98)


def constant(skill: np.ndarray) -> np.ndarray:
    return np.full(len(skill), 0.4)


def rare(skill: np.ndarray) -> np.ndarray:
    return np.full(len(skill), 0.12)


DESIGNS: dict[str, Callable[[Draws], Case]] = {
    "decisions by lot": lambda d: table(d, shift=0.0, rule=constant, decided=True, label=True),
    "rare decisions by lot, group differs in skill": lambda d: table(d, shift=0.8, rule=rare, decided=True, label=True),
    "decisions by skill, groups alike": lambda d: table(d, shift=0.0, rule=soft, decided=True, label=True),
    "decisions by skill, group differs in skill": lambda d: table(d, shift=0.8, rule=soft, decided=True, label=True),
    "the same, merit a number": lambda d: table(d, shift=0.8, rule=soft, decided=True, label=False),
    "the same, skill in few steps": lambda d: table(d, shift=0.8, rule=soft, decided=True, label=True, coarse=True),
    "the same, a second feature in the metric": lambda d: table(
        d, shift=0.8, rule=soft, decided=True, label=True, weights={"skill": STEEP, "other": 0.1}
    ),
    "probabilities by skill, group differs in skill": lambda d: table(
        d, shift=0.8, rule=mild, decided=False, label=True
    ),
    "the same, with scatter": lambda d: table(d, shift=0.8, rule=mild, decided=False, label=False, noise=0.15),
}
