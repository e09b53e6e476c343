"""The sparse vector technique: which of many queries exceed a threshold, paying only for those that do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, positive_integer
from sfumato.mechanism import NOTHING, Interaction
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.fit import drawable, positive_spend, pure_epsilon, score_sensitivity, settle
from sfumato.select.scores import whole

PARTS = 1024


@dataclass(frozen=True)
class Reply:
    """Whether a query came out above the threshold, and its answer with fresh noise if answers were paid for."""

    above: bool
    answer: int | None = None

    def __bool__(self) -> bool:
        return self.above


@dataclass(frozen=True, kw_only=True)
class SparseVector(Interaction):
    """Compare each query, with noise, with one noisy threshold; stop after `positives` queries above it.

    Promise, for `relation` neighbours, every query moving by at most s = `sensitivity`, chosen by any adaptive
    analyst: the whole stream of replies satisfies log P/P' <= s/threshold_scale + 2·c·s/query_scale +
    c·s/answer_scale with c = `positives` (QR:C-13); if all queries are `monotone` the 2 is a 1. The noise of
    the threshold is drawn once; an answer has noise of its own. Releasing the value that was compared instead
    is private for no epsilon at all (QR:D3).

    The state is JSON and secret: it holds the noisy threshold. Once the last positive is gone every query is
    answered NOTHING, without a look at the data. Time and memory O(1) a query, for any number of queries.
    """

    spec: ClassVar[str] = "QR:C-13"

    positives: int
    threshold: int = 0
    sensitivity: int = 1
    monotone: bool = False
    threshold_scale: Fraction
    query_scale: Fraction
    answer_scale: Fraction | None = None

    def loss(self) -> Loss:
        """Return the pure cost of the three noises."""
        reach = self.positives * self.sensitivity
        epsilon = self.sensitivity / self.threshold_scale + (1 if self.monotone else 2) * reach / self.query_scale
        if self.answer_scale is not None:
            epsilon += reach / self.answer_scale
        return Loss.flat(Cost.pure(epsilon), self.reads, self.relation)

    def start(self, noise: Noise) -> dict[str, Any]:
        """Draw the noise of the threshold, once."""
        level = self.threshold + noise.draw(DiscreteLaplace(self.threshold_scale))
        return {"level": level, "left": self.positives}

    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        """Compare one query; only a positive changes the state."""
        if state["left"] <= 0:
            return state, NOTHING, False
        value = whole(exact, "Queries")
        if value + noise.draw(DiscreteLaplace(self.query_scale)) < state["level"]:
            return state, Reply(above=False), False
        after = {"level": state["level"], "left": state["left"] - 1}
        return after, Reply(above=True, answer=self._answer(value, noise)), True

    def _answer(self, value: int, noise: Noise) -> int | None:
        if self.answer_scale is None:
            return None
        return value + noise.draw(DiscreteLaplace(self.answer_scale))


def sparse_vector(
    spend: Bound,
    positives: int,
    sensitivity: int = 1,
    *,
    threshold: int = 0,
    answers: Number = 0,
    monotone: bool = False,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> SparseVector:
    """Return the sparse vector technique for a spend: any number of queries, `positives` of them above (QR:C-13).

    `answers` is the share of the spend that buys fresh noisy answers for the positives (0: none). The rest is
    split 1 : (2c)^(2/3) between threshold and queries (1 : c^(2/3) if monotone), which is best.

    >>> from sfumato import Noise, Pure
    >>> probe, noise = sparse_vector(Pure(1), positives=1, threshold=100), Noise(insecure_seed=3)
    >>> state = probe.start(noise)
    >>> replies = []
    >>> for query in (10, 20, 400, 15):
    ...     state, reply, changed = probe.step(state, query, noise)
    ...     replies.append(bool(reply))
    >>> replies, state["left"]
    ([False, False, True, False], 0)
    """
    bound = positive_spend(spend, "sparse_vector")
    amount = score_sensitivity(sensitivity, monotone, relation)
    count = positive_integer(positives, "positives")
    share = at_least_zero(answers, "answers")
    if share >= 1:
        raise ParameterError("answers is a share of the spend below 1; write for example answers=0.3.")
    if isinstance(threshold, bool) or not isinstance(threshold, int):
        raise ParameterError("threshold must be a whole number, like the queries it is compared with.")
    total = pure_epsilon(bound)
    compare = total * (1 - share)
    reach = count * amount * (1 if monotone else 2)
    first = Fraction(max(1, round(PARTS / (1 + (reach / amount) ** (2 / 3)))), PARTS)
    mechanism = SparseVector(
        positives=count,
        threshold=threshold,
        sensitivity=amount,
        monotone=monotone,
        threshold_scale=drawable(amount / (compare * first)),
        query_scale=drawable(reach / (compare * (1 - first))),
        answer_scale=drawable(count * amount / (total * share)) if share else None,
        relation=relation,
        reads=attributes(reads),
    )
    return settle(mechanism, bound)
