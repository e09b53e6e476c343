"""What nobody can do: floors beside each requirement, and sentences where constants are not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.bounds import (
    histogram_people,
    histogram_people_per_attribute,
    histogram_people_pure,
    selection_gap,
    threshold_people,
)
from sfumato.bounds.learning import (
    LEARNING_WARNINGS,
    median_people_pure,
    proper_learner_people_pure,
    sanitizer_people_by_dimension,
    sanitizer_people_pure,
)
from sfumato.plan import tasks
from sfumato.plan.rates import curve
from sfumato.plan.requirement import Asked
from sfumato.privacy import Approximate, Pure


@dataclass(frozen=True)
class Impossible:
    """A number of people below which nothing of a kind works: which kind, and where it is proved."""

    people: float
    kind: str
    spec: str

    def __str__(self) -> str:
        return f"No {self.kind} can do this with fewer than {self.people:.0f} people ({self.spec})."


def floors(task: tasks.Task, asked: Asked) -> list[Impossible]:
    """Return the floors that hold for this spend, highest first; none where nothing is excluded."""
    if isinstance(asked.spend, Pure):
        found = _per_attribute(task, asked) if asked.spend.unit == "attribute" else _pure(task, asked)
    else:
        found = _concentrated(task, asked)
    return sorted((floor for floor in found if floor.people > 1), key=lambda floor: -floor.people)


def sentences(task: tasks.Task, asked: Asked) -> list[str]:
    """Return what is known up to constants only, and what is not known."""
    names: list[str] = []
    pure = isinstance(asked.spend, Pure) and asked.spend.unit == "person"
    match task:
        case tasks.LearnPoint():
            names = ["W-IMPROPER"] if pure else []
        case tasks.LearnThreshold():
            names = ["W-THRESH"] if pure else []
        case tasks.LearnBox():
            names = ["W-RECT"] if pure else []
        case tasks.LearnLabels():
            names = ["W-PAC"]
        case tasks.LearnHalfspace():
            names = ["LB-HALF"] if asked.spend.unit == "person" else []
        case tasks.CountPoints():
            names = ["W-KSAN"] if pure and task.largest > 1 else []
        case tasks.FindRecords():
            names = ["LB-DIST"] if pure else []
        case tasks.EstimateDistribution():
            names = ["W-COMB"] if pure else []
    if isinstance(asked.spend, Approximate):
        names.append("APPROXIMATE")
    return [*_order(task, asked), *(LEARNING_WARNINGS[name] for name in names)]


def _pure(task: tasks.Task, asked: Asked) -> list[Impossible]:
    epsilon, accuracy, failure = asked.epsilon, asked.accuracy, asked.failure
    learner, release = "pure learner whose rule is of the class", "pure release"
    match task:
        case tasks.LearnPoint(bits):
            floor = proper_learner_people_pure(bits, epsilon, accuracy, failure)
            return [Impossible(floor.value, learner, "W-POINT")]
        case tasks.LearnThreshold(bits):
            floor = proper_learner_people_pure(bits, epsilon, accuracy, failure, concept="threshold")
            return [Impossible(floor.value, learner, "W-THRESH")]
        case tasks.CountPoints() | tasks.EstimateDistribution() | tasks.FindRecords() if accuracy < 0.5:
            return _pure_release(task, asked, release)
        case tasks.EstimateQuantiles(bits) if accuracy < 0.5:
            floor = median_people_pure(2**bits, epsilon, accuracy, failure)
            return [Impossible(floor.value, "pure release of a median", "W-PACK")]
    return []


def _pure_release(task: tasks.Task, asked: Asked, release: str) -> list[Impossible]:
    epsilon, accuracy, failure = asked.epsilon, asked.accuracy, asked.failure
    bits = task.columns if isinstance(task, tasks.FindRecords) else task.bits  # type: ignore[attr-defined]
    floor = sanitizer_people_pure(2**bits, epsilon, accuracy, failure)
    found = [Impossible(floor.value, release, "W-PACK")]
    if isinstance(task, tasks.CountPoints) and task.largest > 1:
        dimension = sanitizer_people_by_dimension(min(task.largest, 2**bits), epsilon, accuracy, failure)
        found.append(Impossible(dimension.value, release, "W-VCSAN"))
    if isinstance(task, tasks.FindRecords):
        columns = histogram_people_pure(task.columns, epsilon, accuracy, 1 - failure)
        found.append(Impossible(columns.value, release, "PDP:LB-HIST-STD"))
    return found


def _per_attribute(task: tasks.Task, asked: Asked) -> list[Impossible]:
    if isinstance(task, tasks.FindRecords) and asked.accuracy < 0.5:
        floor = histogram_people_per_attribute(task.columns, asked.epsilon, asked.accuracy, 1 - asked.failure)
        return [Impossible(floor.value, "release that protects single attributes", "PDP:LB-HIST")]
    return []


def _concentrated(task: tasks.Task, asked: Asked) -> list[Impossible]:
    numbers = curve(asked.spend)
    if numbers is None or asked.accuracy >= 0.5 or asked.failure > 0.5:
        return []
    if isinstance(task, tasks.CountPoints):
        floor = histogram_people(2**task.bits, *numbers)
        return [Impossible(floor.value, "release within this bound", "TCDP:LB-HIST")]
    return []


def _order(task: tasks.Task, asked: Asked) -> list[str]:
    """Return the order of what is needed, kind by kind of bound, where the constant is not known."""
    numbers = curve(asked.spend)
    if isinstance(asked.spend, Pure):
        known: dict[str, Any] = {"epsilon": asked.spend.epsilon}
    elif isinstance(asked.spend, Approximate):
        known = {"epsilon": asked.spend.epsilon, "delta": asked.spend.delta}
    elif numbers is not None:
        known = {"rho": numbers[0], "omega": numbers[1]}
    if isinstance(task, tasks.ChooseBest):
        gap = selection_gap(task.candidates, **known).value
        return [f"Nothing at this bound names the best with a lead of less than the order of {gap:.3g} (LB-SELECT)."]
    if isinstance(task, (tasks.EstimateDistribution, tasks.EstimateQuantiles)) and "delta" not in known:
        floor = threshold_people(2**task.bits, **known)
        if "reachable" in floor.binding:
            return [f"People of the order of {floor.value:.3g} suffice for some accuracy at this bound (LB-THR)."]
        return [f"No accuracy at all is reached below people of the order of {floor.value:.3g} (LB-THR)."]
    return []
