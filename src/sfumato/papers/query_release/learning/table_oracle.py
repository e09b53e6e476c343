"""The threshold oracle over a table: every distinct condition is booked in the ledger of a curator (RL-TO)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.question import Where
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer
from sfumato.papers.query_release.learning.oracle import Verdict, noise_needed, verdict_of, warn_of_few
from sfumato.perturb import calibrate
from sfumato.privacy import Bound, require_bound
from sfumato.questions.counts.people import People

if TYPE_CHECKING:
    from sfumato.curator import Curator


class TableOracle:
    """A conversation with the threshold oracle about a table; make one with `open_oracle`.

    A condition is asked of the curator as a number of people, at the same part of the spend each time. So the ledger
    books it before the table is read, keeps the draw, and gives the same one free for the same condition, also in
    another spelling, after a restart and to another session. What it gave for nothing takes no slot.
    """

    def __init__(self, curator: Curator, part: Bound, slots: int, people: int, tolerance: Fraction) -> None:
        self._curator, self._part, self._people, self._tolerance = curator, part, people, tolerance
        self._known: dict[People, Fraction] = {}
        self.left = slots
        """How many distinct conditions may still be asked."""

    def ask(self, where: Where, threshold: Number) -> Verdict:
        """Compare the share of the people who fulfil a condition with a threshold; refused from its text alone."""
        level = exact(threshold, "threshold")
        if not 0 <= level <= 1:
            raise ParameterError("threshold is a share of the people, from 0 to 1; write for example 0.25.")
        question = People(where=where).canonical(self._curator.schema)
        if question not in self._known:
            if self.left <= 0:
                return Verdict(None, None, 0)
            answer = self._curator.ask(question, self._part)
            self.left -= not answer.reused
            self._known[question] = Fraction(int(answer.released.parts[0].values()[0]))
        return verdict_of(self._known[question] / self._people, level, self._tolerance, self.left)


def open_oracle(
    curator: Curator,
    spend: Bound,
    slots: int,
    *,
    tolerance: Number = Fraction(1, 20),
    failure: Number = Fraction(1, 20),
) -> TableOracle:
    """Open the threshold oracle on a curator's table, for so many distinct conditions within a spend (RL-TO).

    Conditions that are never asked are never paid for. Where the number of people is private, a part of the spend as
    large as that of one condition buys it here. An `AccuracyWarning` says when the theorem needs more people than
    there are: before anything is spent if their number is public.

    >>> import pyarrow
    >>> from sfumato import Pure, Schema, booleans, curate
    >>> days = pyarrow.table({"rain": [True, True, False] * 1000})
    >>> with curate(days, Schema({"rain": booleans()}), Pure(1)) as curator:
    ...     oracle = open_oracle(curator, Pure(1), slots=4)
    ...     found = [oracle.ask("rain = true", level).above for level in (0.25, 0.5, 0.9)]
    >>> found, oracle.left
    ([True, True, False], 3)
    """
    count, width = positive_integer(slots, "slots"), between_zero_and_one(tolerance, "tolerance")
    people, relation = curator.basis.people, curator.basis.relation
    part = require_bound(spend).split(count if people is not None else count + 1)
    if people is None:
        people = max(1, int(curator.ask(People(), part).value))
    chance = 1 - between_zero_and_one(failure, "failure")
    # One person moves a number of people by one, whatever the condition and whatever the number of their rows.
    noise = calibrate(part, 1, relation=relation, gaussians=curator.basis.gaussians)
    needed = noise_needed(noise.error(chance, coordinates=count), width)
    warn_of_few(count, people, needed, width)
    return TableOracle(curator, part, count, people, width)
