"""Guilty and innocent populations for each check of the catalogue of evils."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.fair.audits.case import Case, make_case
from sfumato.fair.metric.base import Metric
from sfumato.noise import Noise

PEOPLE = 4000


@dataclass
class Population:
    people: dict[str, Any]
    chance: np.ndarray
    inside: np.ndarray
    weights: dict[str, float]
    merit: np.ndarray | None = None
    segments: np.ndarray | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def case(self) -> Case:
        metric = Metric.from_features(self.people, self.weights)
        chance = np.clip(self.chance, 0, 1)
        return make_case(
            chance, self.people, self.inside, metric=metric, label=self.merit, segments=self.segments, group="True",
            favourable=None,
        )  # fmt: skip

    def decided(self, seed: int) -> Case:
        """The same people where only drawn decisions are known, and merit only as a label."""
        metric = Metric.from_features(self.people, self.weights)
        decisions = (Draws(seed).uniform() < np.clip(self.chance, 0, 1)).astype(int)
        label = None if self.merit is None else (self.merit > 0).astype(float)
        return make_case(
            decisions, self.people, self.inside, metric=metric, label=label, segments=self.segments,
            group="True", favourable=1,
        )  # fmt: skip


class Draws:
    def __init__(self, seed: int) -> None:
        self.noise = Noise(insecure_seed=seed)

    def normal(self) -> np.ndarray:
        return ndtri((self.noise.uniform(1 << 50, PEOPLE) + 0.5) / 2.0**50)

    def uniform(self) -> np.ndarray:
        return self.noise.uniform(1 << 50, PEOPLE) / 2.0**50


def base(seed: int, share: float) -> tuple[Draws, np.ndarray, np.ndarray, np.ndarray]:
    """A skill that both groups have alike, a hobby that means nothing, and the chance that skill deserves."""
    draws = Draws(seed)
    skill, hobby = draws.normal(), draws.normal()
    inside = draws.uniform() < share
    return draws, skill, hobby, inside


def make(code: str, guilty: bool, seed: int, share: float = 0.35) -> Population:
    """Return people of whom a share is in the group that the guilty harm."""
    draws, skill, hobby, inside = base(seed, share)
    deserved = 0.5 + 0.15 * skill
    chance = deserved + 0.05 * draws.normal()
    weights = {"skill": 0.2}
    people: dict[str, Any] = {"skill": skill, "hobby": hobby}
    merit = skill + 0.5 * draws.normal()
    segments = None
    if code == "E1" and guilty:
        chance = chance - 0.12 * inside
    if code == "E2":
        people["club"] = draws.normal() + 1.5 * inside
        chance = chance - 0.06 * people["club"] * guilty
    if code == "E3":
        share = (np.arange(40) + 0.5) / 40
        home = draws.noise.uniform(40, PEOPLE)
        inside = draws.uniform() < share[home]
        segments = home
        people["home"] = home.astype(float)
        chance = chance - 0.2 * share[home] * guilty
    if code == "E4":
        district = draws.uniform() < np.where(inside, 0.3, 0.05)
        people["district"] = np.where(district, "north", "south")
        chance = np.where(district & guilty, 0.05, chance)
    if code == "E4 by two cuts":
        # Neither the north nor the night shift is refused as a whole; the north's night shift is, and is the group's.
        north, night = draws.uniform() < 0.4, draws.uniform() < 0.4
        inside = draws.uniform() < np.where(north & night, 0.8, 0.25)
        people |= {"district": np.where(north, "north", "south"), "shift": np.where(night, "night", "day")}
        chance = np.where(north & night & guilty, 0.05, chance)
    if code == "E5" and guilty:
        chance = np.where(inside, 0.5 - 0.15 * skill, chance)
    if code == "E6" and guilty:
        top = ~inside & (merit > np.quantile(merit[~inside], 0.95))
        chance = np.where(top & (draws.uniform() < 0.2), 0.05, chance)
    if code == "E6 by label" and guilty:
        chance = np.where(~inside & (merit > 0) & (draws.uniform() < 0.3), 0.02, chance)
    if code == "E7" and guilty:
        chance = chance - 0.3 * (inside & (hobby > 0.7))
    if code == "E8" and guilty:
        merit = np.where(inside, -skill, skill) + 0.5 * draws.normal()
    if code == "E9":
        people["accent"] = draws.normal() + 3.0 * inside
        weights = {"skill": 0.2, **({"accent": 0.3} if guilty else {})}
    return Population(people, chance, inside, weights, merit, segments)
