"""The one loop of the family: choose what the model gets wrong, measure it, learn; data only behind the meter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from sfumato.exact import positive_integer
from sfumato.mechanism import Event
from sfumato.model.factored import Factored
from sfumato.noise import Priced
from sfumato.papers.query_release.weights.candidates import Candidates, Integers
from sfumato.papers.query_release.weights.learner import Learner, Round
from sfumato.papers.query_release.weights.meter import GRID, Chooser, Metered, noise_cost
from sfumato.privacy import Cost
from sfumato.privacy.sensitivity import Sensitivity


class Stage(Protocol):
    """How a round looks at the data: its choice, and the noise of its measurements."""

    @property
    def chooser(self) -> Chooser:
        """The choice of candidates."""
        ...

    @property
    def moves(self) -> Sensitivity:
        """How far the numbers of one candidate move."""
        ...

    def law(self, candidate: int) -> Priced:
        """Return the noise with which a candidate is measured."""
        ...

    def measuring(self) -> Cost:
        """Return what is planned for the measurements of a round."""
        ...


@dataclass(frozen=True)
class OneLaw:
    """Measures what was chosen, at most `planned` candidates, with noise of one law."""

    chooser: Chooser
    noise: Priced
    moves: Sensitivity
    planned: int = 1

    def law(self, candidate: int) -> Priced:
        """Return the one law."""
        return self.noise

    def measuring(self) -> Cost:
        """Return the cost of so many measurements."""
        return self.planned * noise_cost(self.noise, self.moves)


@dataclass(frozen=True)
class Transcript:
    """All that a run released: the noisy number of rows, a noisy histogram, and the rounds.

    The model is a function of these; it is kept beside them so that it need not be learned twice.
    """

    total: int | None
    start: tuple[int, ...]
    rounds: tuple[Round, ...]

    def with_model(self, model: Factored) -> Transcript:
        """Keep the model that was learned from the rounds; it is no part of what is released."""
        self.__dict__["model"] = model
        return self


def one_round(metered: Metered, learner: Learner, stage: Stage, number: int = 0) -> Round:
    """Run a round; what it sees of the model is public, what it sees of the data is paid for."""
    predicted = learner.predicted()
    bias = table_bias(learner.candidates, stage) if learner.candidates.tables else None
    chosen = metered.choose(predicted, stage.chooser, bias, learner.allowed())
    laws = tuple(stage.law(candidate) for candidate in chosen)
    done = Round(chosen, metered.measure(chosen, laws, stage.moves, stage.measuring()), number)
    learner.learn(done, laws)
    return done


def table_bias(candidates: Candidates, stage: Stage) -> Integers:
    """Return what noise alone adds to the distance of a table, in parts of a person: large tables are not better."""
    noise = GRID * stage.law(0).size()
    return np.asarray(np.rint(noise * np.diff(candidates.starts)), dtype=np.int64)


def fixed_rounds(metered: Metered, learner: Learner, stage: Stage, rounds: int) -> tuple[Round, ...]:
    """Run a fixed number of equal rounds."""
    return tuple(one_round(metered, learner, stage) for _ in range(rounds))


def doubling_rounds(
    metered: Metered, learner: Learner, stage_of: Callable[[int], Stage], rounds: int
) -> tuple[Round, ...]:
    """Run cheap rounds first; when one finds nothing above its noise, double what a round may spend.

    Whether a round found something is read from what it released. The filter refuses the round that would pass the
    limit, and then the run ends (QR-MWEM, improvement 3).
    """
    done: list[Round] = []
    number = 0
    while len(done) < rounds:
        stage = stage_of(number)
        if not metered.affords(stage.chooser.cost(), stage.measuring()):
            break
        predicted = learner.predicted()
        found = one_round(metered, learner, stage, number)
        done.append(found)
        slots = learner.candidates.slots(found.chosen[0])
        gap = np.abs(np.array(found.values[0]) - predicted[slots]).max()
        if gap < 2 * stage.law(found.chosen[0]).size():
            number += 1
    return tuple(done)


def rows_move(rows: int) -> Sensitivity:
    """Return how far the number of rows moves with one person."""
    return Sensitivity(Fraction(rows), Fraction(rows**2), Fraction(rows), 1)


def law_json(law: Priced | None) -> Any:
    """Return a law as the name and the numbers that an event shows."""
    return None if law is None else law.described()


def shown(event: Event, parameters: dict[str, Any]) -> Event:
    """Return an event with some of its parameters written so that JSON can hold them."""
    return Event(event.name, event.spec, {**event.parameters, **parameters}, event.version)


def checked_rounds(rounds: Any) -> int:
    """Return a number of rounds, refusing what is none."""
    return positive_integer(rounds, "rounds")
