"""The two questions a planner answers: how many people does it take, and what will so many people give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import Number, positive_integer
from sfumato.exact.search import narrowed
from sfumato.plan import learners, sanitizers, tasks
from sfumato.plan.floors import Impossible, floors, sentences
from sfumato.plan.requirement import Asked, Requirement, asked
from sfumato.privacy import Bound
from sfumato.privacy.bounds import require_bound
from sfumato.show import Table
from sfumato.words import understood

METHODS: dict[type[tasks.Task], Callable[[Any, Asked], list[Requirement]]] = {
    tasks.ChooseBest: learners.choose_best,
    tasks.LearnPoint: learners.learn_point,
    tasks.LearnThreshold: learners.learn_threshold,
    tasks.LearnBox: learners.learn_box,
    tasks.LearnFinite: learners.learn_finite,
    tasks.LearnLabels: learners.learn_labels,
    tasks.LearnHalfspace: learners.learn_halfspace,
    tasks.CountPoints: sanitizers.count_points,
    tasks.FindRecords: sanitizers.find_records,
    tasks.EstimateDistribution: sanitizers.estimate_distribution,
    tasks.EstimateQuantiles: sanitizers.estimate_quantiles,
}
"""What each kind of task can be done by."""


@dataclass(frozen=True)
class SampleSize:
    """How many people a task needs: each method's number and formula, the floor beside it, and what else is known."""

    task: tasks.Task
    spend: Bound
    accuracy: float
    failure: float
    methods: tuple[Requirement, ...]
    floors: tuple[Impossible, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> Requirement:
        """The method that needs fewest people, demonstrators aside."""
        return self.methods[0]

    @property
    def people(self) -> float:
        """How many people the best method needs."""
        return self.best.people

    @property
    def formula(self) -> str:
        """How that number is worked out."""
        return self.best.formula

    @property
    def floor(self) -> float:
        """How many people everything of its kind needs; 0 where nothing is known."""
        return self.floors[0].people if self.floors else 0.0

    def table(self) -> Table:
        """Return the methods side by side."""
        rows = tuple(
            (
                found.method + (" (demonstrator)" if found.demonstrator else ""),
                _shown(found.people),
                _shown(found.privacy),
                _shown(found.sampling),
                found.spec,
                found.run,
            )
            for found in self.methods
        )
        title = (
            f"{self.task.name} within {self.accuracy:g}, except with probability {self.failure:g}, at {self.spend!r}"
        )
        return Table(title, ("method", "people", "for privacy", "for sampling", "proved in", "run"), rows)

    def __str__(self) -> str:
        return "\n".join(
            [str(self.table()), "", f"{self.best.method}: {self.formula}", *map(str, self.floors), *self.notes]
        )

    def _repr_html_(self) -> str:
        from sfumato.show.pages import html

        return html("People needed", [self.table()])


@dataclass(frozen=True)
class Predicted:
    """The accuracy that one method is proved to reach; None if so many people prove nothing."""

    method: str
    accuracy: float | None
    formula: str
    spec: str
    run: str
    demonstrator: bool = False


@dataclass(frozen=True)
class Comparison:
    """What so many people give: the accuracy of each method, best first, and what nothing can beat."""

    task: tasks.Task
    spend: Bound
    people: int
    failure: float
    methods: tuple[Predicted, ...]
    impossible: float
    notes: tuple[str, ...]

    @property
    def best(self) -> Predicted:
        """The method that is most accurate."""
        return self.methods[0]

    def table(self) -> Table:
        """Return the methods side by side."""
        rows = tuple(
            (found.method, "nothing" if found.accuracy is None else f"{found.accuracy:.3g}", found.spec, found.run)
            for found in self.methods
        )
        title = f"{self.task.name} from {self.people} people, at {self.spend!r}"
        return Table(title, ("method", "error at most", "proved in", "run"), rows)

    def __str__(self) -> str:
        beside = [f"Nothing of its kind errs by less than {self.impossible:.3g}."] if self.impossible else []
        return "\n".join([str(self.table()), "", *beside, *self.notes])

    def _repr_html_(self) -> str:
        from sfumato.show.pages import html

        return html("Accuracy to expect", [self.table()])


@understood
def sample_size(task: tasks.Task, *, spend: Bound, accuracy: Number, failure: Number = 0.05) -> SampleSize:
    """Return how many people a task needs, by every method that this spend allows, and what nobody can do with fewer.

    Public arithmetic: no data are read and nothing is spent. The numbers are proved upper bounds; methods are often
    better than proved.

    >>> from sfumato import Pure
    >>> found = sample_size(tasks.LearnThreshold(64), spend=Pure(1), accuracy=0.01)
    >>> found.people, found.floor
    (19221.0, 541.0)
    """
    wanted = asked(require_bound(spend), accuracy, failure)
    found = sorted(_methods(task, wanted), key=lambda one: (one.demonstrator, one.people))
    return SampleSize(
        task=task,
        spend=wanted.spend,
        accuracy=wanted.accuracy,
        failure=wanted.failure,
        methods=tuple(found),
        floors=tuple(floors(task, wanted)),
        notes=tuple(sentences(task, wanted)),
    )


@understood
def compare(task: tasks.Task, people: int, spend: Bound, *, failure: Number = 0.05) -> Comparison:
    """Return the accuracy that each method reaches with so many people, and the one that nothing can beat.

    >>> from sfumato import Approximate
    >>> found = compare(tasks.LearnPoint(64), 1000, Approximate(1, 1e-6))
    >>> [(one.method, round(one.accuracy, 3)) for one in found.methods if one.accuracy]
    [('stable', 0.068), ('exponential', 0.192)]
    """
    number, bound = positive_integer(people, "people"), require_bound(spend)
    middle = asked(bound, 0.25, failure)
    names = [one.method for one in _methods(task, middle)]
    reached = {name: _reached(task, name, middle, number) for name in names}
    found = [
        Predicted(one.method, reached[one.method], one.formula, one.spec, one.run, one.demonstrator)
        for one in _methods(task, middle)
    ]
    found.sort(key=lambda one: math.inf if one.accuracy is None else one.accuracy)
    return Comparison(
        task=task,
        spend=bound,
        people=number,
        failure=middle.failure,
        methods=tuple(found),
        impossible=_impossible(task, middle, number),
        notes=tuple(sentences(task, middle)),
    )


def _methods(task: tasks.Task, wanted: Asked) -> list[Requirement]:
    if type(task) not in METHODS:
        kinds = ", ".join(kind.__name__ for kind in METHODS)
        raise ParameterError(
            f"A task is one of {kinds}, not {type(task).__name__}; write plan.LearnThreshold(bits=64)."
        )
    return METHODS[type(task)](task, wanted)


def _reached(task: tasks.Task, method: str, wanted: Asked, people: int) -> float | None:
    """Return the smallest accuracy for which a method needs at most so many people, to three digits."""

    def enough(accuracy: float) -> bool:
        tried = Asked(wanted.spend, accuracy, wanted.failure)
        return any(one.people <= people for one in _methods(task, tried) if one.method == method)

    return _boundary(enough, people)


def _impossible(task: tasks.Task, wanted: Asked, people: int) -> float:
    """Return the accuracy below which a floor excludes so many people; 0 if none does."""

    def allowed(accuracy: float) -> bool:
        return all(one.people <= people for one in floors(task, Asked(wanted.spend, accuracy, wanted.failure)))

    if allowed(1 / (2 * people)):
        return 0.0
    return _boundary(allowed, people) or 1.0


def _boundary(holds: Callable[[float], bool], people: int) -> float | None:
    """Return the least accuracy that holds, taking for granted that larger ones do too; None if none below 1 does.

    Half a person is the finest accuracy that is looked at.
    """
    low, high = -math.log(2 * people), math.log(0.999)
    if not holds(math.exp(high)):
        return None
    _, found = narrowed(low, high, lambda middle: holds(math.exp(middle)), lambda low, high: high - low <= 1e-3)
    return math.exp(found)


def _shown(number: float) -> str:
    return f"{math.ceil(number - 1e-9 * number):,}" if math.isfinite(number) else "none"
