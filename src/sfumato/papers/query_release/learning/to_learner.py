"""From a release to a learner: the query of a class that agrees best with a label, read from a synopsis for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import nearest
from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.noise import Noise
from sfumato.questions.synopsis.base import Floats, Synopsis
from sfumato.questions.synopsis.queries import Conjunctions

MOST_QUERIES = 2**18
"""More queries of a class than this are tried at random."""


@dataclass(frozen=True)
class LearnedRule:
    """A conjunction that predicts a label: true where every column of `ones` is one and every one of `zeros` is zero.

    `agreement` is about the share of all people for whom rule and label are equal. It is the best of many noisy
    numbers, so it promises a little too much.
    """

    columns: tuple[str, ...]
    label: str
    ones: tuple[str, ...]
    zeros: tuple[str, ...]
    agreement: float

    def predict(self, rows: Any) -> NDArray[np.bool_]:
        """Return the label of every row: a matrix with one column for each of `columns`, ones and zeros."""
        given = np.asarray(rows)
        if given.ndim != 2 or given.shape[1] != len(self.columns):
            raise ParameterError(f"Rows have {len(self.columns)} columns: {', '.join(self.columns)}.")
        found = np.ones(len(given), dtype=bool)
        for names, wanted in ((self.ones, True), (self.zeros, False)):
            for name in names:
                found &= (given[:, self.columns.index(name)] == 1) == wanted
        return found

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        return {
            "columns": list(self.columns),
            "label": self.label,
            "ones": list(self.ones),
            "zeros": list(self.zeros),
            "agreement": self.agreement,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> LearnedRule:
        """Read what `to_json` wrote."""
        parts = (tuple(record[name]) for name in ("ones", "zeros"))
        ones, zeros = parts
        return cls(tuple(record["columns"]), record["label"], ones, zeros, float(record["agreement"]))


def learn_from_release(
    synopsis: Synopsis,
    label: str,
    *,
    width: int = 2,
    negations: bool = False,
    queries: Conjunctions | None = None,
    seed: int = 0,
) -> LearnedRule:
    """Return the conjunction of up to `width` columns that agrees best with the column `label` (RL-A2L).

    The synopsis answers each query together with the label, and together with its opposite; the rule is the one with
    the largest difference. If every answer is right to a, the rule is the best of its class to 4a: a difference of two
    answers is right to 2a, and two differences are compared (Theorem 6.5.8 prints 2a). Nothing is spent: all numbers
    come from the synopsis. `queries` lists other candidates, over all columns of the synopsis; without it
    all conjunctions are tried, or a public random choice of them where they are more than 2^18.

    The synopsis must answer conjunctions with negations, such as those of "fourier" and "marginals".
    """
    if label not in synopsis.columns:
        raise ParameterError(f"There is no column {label!r} in this synopsis; {nearest(label, synopsis.columns)}")
    place = synopsis.columns.index(label)
    size = len(synopsis.columns)
    asked = _candidates(size, place, width, negations, seed) if queries is None else queries
    if asked.size != size or (asked.places == place).any():
        raise ParameterError("queries speak of the columns of the synopsis, and none of them names the label.")
    yes, no = (synopsis.answer(_with(asked, place, negated)) for negated in (False, True))
    best, gain = best_query(yes, no)
    opposite = float(synopsis.answer(Conjunctions.make([[place]], size, [[True]]))[0])
    literals = [
        (synopsis.columns[at], bool(negated))
        for at, negated in zip(asked.places[best].tolist(), asked.negated[best].tolist(), strict=True)
        if at >= 0
    ]
    return LearnedRule(
        tuple(name for name in synopsis.columns if name != label),
        label,
        tuple(name for name, negated in literals if not negated),
        tuple(name for name, negated in literals if negated),
        float(np.clip(gain + opposite, 0.0, 1.0)),
    )


def best_query(positives: Floats, negatives: Floats) -> tuple[int, float]:
    """Return the query of a class that agrees best with a label, and by how much (RL-A2L, Theorem 6.5.8).

    `positives` are the shares of all people who fulfil each query and have the label, `negatives` of those who fulfil
    it and do not: two releases of the same class. Of equal ones the first is taken.

    >>> best_query(np.array([0.2, 0.4]), np.array([0.1, 0.1]))[0]
    1
    """
    gains = np.asarray(positives, dtype=np.float64) - np.asarray(negatives, dtype=np.float64)
    if gains.ndim != 1 or not len(gains):
        raise ParameterError("A class has at least one query; give one answer for each, in two rows of equal length.")
    best = int(np.argmax(gains))
    return best, float(gains[best])


def _with(asked: Conjunctions, place: int, negated: bool) -> Conjunctions:
    """Return every query together with the label, or with its opposite."""
    column = np.full((len(asked), 1), place, dtype=np.int32)
    flags = np.full((len(asked), 1), negated, dtype=bool)
    return Conjunctions.make(
        np.concatenate((asked.places, column), axis=1), asked.size, np.concatenate((asked.negated, flags), axis=1)
    )


def _candidates(size: int, label: int, width: int, negations: bool, seed: int) -> Conjunctions:
    """Return all conjunctions of other columns up to a width, or a public random choice of them."""
    if not 1 <= positive_integer(width, "width") <= size - 1:
        raise ParameterError(f"width runs from 1 to {size - 1}, the number of columns beside the label.")
    tables, flags = [], []
    for one in range(1, width + 1):
        signs = 1 << one if negations else 1
        if comb(size - 1, one) * signs * width <= MOST_QUERIES:
            places = Conjunctions.every(size - 1, one).places
            coins = [np.full(places.shape, False) | _bits(sign, one) for sign in range(signs)]
            places, drawn = np.tile(places, (signs, 1)), np.concatenate(coins)
        else:
            noise = Noise(insecure_seed=seed)
            random = Conjunctions.random(size - 1, one, MOST_QUERIES // width, negations=negations, noise=noise)
            places, drawn = random.places, random.negated
        filler = ((0, 0), (0, width - one))
        tables.append(np.pad(places + (places >= label), filler, constant_values=-1))
        flags.append(np.pad(drawn, filler, constant_values=False))
    return Conjunctions.make(np.concatenate(tables), size, np.concatenate(flags))


def _bits(number: int, count: int) -> NDArray[np.bool_]:
    return np.array([number >> place & 1 for place in range(count)], dtype=bool)
