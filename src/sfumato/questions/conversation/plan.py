"""All public numbers of a conversation, and what they advise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from sfumato.bounds import random_queries_error, sampling_error
from sfumato.privacy import REPLACE_ONE
from sfumato.questions.conversation.guesses import Checking

Verdict = Literal["converse", "answer", "synthesize"]
Counted = Literal["people", "rows"]


@dataclass(frozen=True)
class ConversationPlan:
    """All public numbers of a conversation.

    `error` is the largest error of an answer, as a part of the people, while corrections are left: with probability
    1 - `failure`, for `queries` queries. `noise_margin` is how far, in counts, a noisy value then strays, `gain` the
    least error, in counts, of a guess that is corrected, `learning_margin` how much of a miss the model takes for
    noise, `slack` what is allowed for a noisy number of people and for a sampled support. `direct` is the error of
    noise on every query instead. `cells` is how many rows are possible, `pure` whether the spend is a pure one.

    `people` is the public number, or a paid count of them: every number of a plan may be shown. Where somebody may have
    several rows it is the number of rows, and so are all counts; `counted` says which.
    """

    checking: Checking
    people: int
    queries: int
    failure: Fraction
    gain: int
    noise_margin: int
    learning_margin: int
    slack: int
    error: float
    direct: float
    verdict: Verdict
    practical: bool = False
    cells: int = 1
    pure: bool = False

    @property
    def updates(self) -> int:
        """How many corrections are paid for."""
        return self.checking.updates

    @property
    def counted(self) -> Counted:
        """What is counted: people where each of them has one row, rows elsewhere."""
        return "people" if self.checking.sensitivity == 1 else "rows"

    @property
    def sampling(self) -> float:
        """The error that drawing the people at random leaves in so many shares anyway (LB-SAMPLE)."""
        return sampling_error(self.people, self.queries, self.failure)

    @cached_property
    def floor(self) -> float:
        """An error that some set of so many queries forces on every mechanism with this spend (LB-PACK-RAND).

        It is proved for a pure spend where people are replaced and each has one row; 0 elsewhere, which excludes
        nothing. No floor with a constant is known for other spends.
        """
        checking = self.checking
        if not self.pure or checking.relation is not REPLACE_ONE or checking.sensitivity > 1:
            return 0.0
        epsilon = checking.loss().person.epsilon
        assert isinstance(epsilon, Fraction)
        return random_queries_error(self.people, self.cells, self.queries, epsilon).value

    @property
    def advice(self) -> str:
        """Say whether a conversation is the right tool, and what nothing can beat, from public facts only."""
        return " ".join(part for part in (self._judged(), self._beside_sampling(), self._beside_floor()) if part)

    def _judged(self) -> str:
        if self.verdict == "answer":
            return (
                f"Noise on each of {self.queries} queries errs by {self.direct:.3g} at most, less than the "
                f"{min(self.error, 1):.3g} of a conversation; if the queries are known, ask them at once with "
                "curator.answer."
            )
        if self.verdict == "synthesize":
            instead = "or spend more" if self.practical else "spend more, or set practical=True"
            return (
                f"With {self.people} rows and this spend a conversation may err by {min(self.error, 1):.3g}, which "
                f"says next to nothing; write curator.synthesize(…), {instead}."
            )
        return f"Each of {self.queries} answers errs by {self.error:.3g} at most, while corrections are left."

    def _beside_sampling(self) -> str:
        error, chance = min(self.error, self.direct), self.sampling
        if chance >= 1 or self.counted == "rows":  # rows of one person are not drawn apart
            return ""
        free = "so privacy is nearly free" if error <= chance else f"{error / chance:.2g} times less than privacy costs"
        moved = f"the luck of the draw moves the answers by {chance:.3g} anyway, {free}"
        return f"Where these people are a sample of more, {moved}."

    def _beside_floor(self) -> str:
        if not self.floor:
            return ""
        said = f"Some lists of {self.queries} queries no pure mechanism answers within {self.floor:.2g} on every table"
        if self.practical:  # its error is no promise for every table, so it is not compared with one
            return f"{said}; a practical plan counts on a table that is easier than the worst."
        error = min(self.error, 1.0)
        return f"{said}: an error of {error:.3g} is within {error / self.floor:.1f} of the best that any can promise."
