"""Conjunctions of columns so few that all rows can be listed, from a model of them that was fitted to noisy tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.model.base import Model, model_from_json
from sfumato.questions.synopsis.base import REAL, Floats, Form
from sfumato.questions.synopsis.binary import Bits
from sfumato.questions.synopsis.fourier import OfConjunctions
from sfumato.questions.synopsis.inclusion import Prior, inclusion
from sfumato.table.schema import Schema

PAIRS = 2
"""A model is fitted to tables of so many columns, whatever else it is fitted to."""


def share_noise(width: int, pair: float) -> float:
    """Return about the noise in the share of a conjunction, from that in a cell of a table of two columns.

    The share is made of what each pair of its columns adds, and every further column halves that.

    >>> share_noise(2, 0.01), share_noise(4, 0.01)
    (0.01, 0.006123724356957945)
    """
    return pair * math.sqrt(math.comb(width, PAIRS)) / 2 ** (width - PAIRS) if width > PAIRS else pair


def share_bias(width: int) -> float:
    """Return about how far a conjunction is from what tables of two columns say of it, for typical columns."""
    if width <= PAIRS:
        return 0.0
    return inclusion(width, 0, PAIRS, (0.0,) * (PAIRS + 1), ones=True, prior=Prior()).typical


@dataclass(frozen=True, eq=False, repr=False)
class ModelSynopsis(OfConjunctions):
    """Answers every conjunction, of any width and with negations, by adding up the rows of a model.

    The model is that of `Synthesize`: a distribution over all rows, fitted to noisy tables of two columns and more. A
    fit takes noise away, so `stderr`, the noise of the tables, is rather more than what is left of it.
    """

    kind: ClassVar[str] = "model"
    unsaid: ClassVar[str] = (
        "stderr and interval cover the noise of the tables that the model was fitted to, not what a model of them "
        "leaves out of conjunctions of three columns and more."
    )
    parts: ClassVar[Mapping[str, Form]] = {"schema": (dict, dict), "fitted": (dict, dict), "pair": REAL}

    columns: tuple[str, ...]
    people: float
    schema: Mapping[str, Any]
    fitted: Mapping[str, Any]
    pair: float
    """The standard deviation of the noise in a cell of a table of two columns, in rows."""

    @cached_property
    def model(self) -> Model:
        """The distribution that it answers from, to draw rows from as well."""
        return model_from_json(self.fitted, self._schema)

    @cached_property
    def _schema(self) -> Schema:
        return Schema.as_stored(self.schema)

    @cached_property
    def _bits(self) -> Bits:
        return Bits.of(self._schema, self.columns)

    def _shares(self, queries: Any) -> Floats:
        asked = self.queries(queries)
        found = np.empty(len(asked))
        named, which = np.unique(asked.places, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(which.ravel(), minlength=len(named)))
        for places, rows in zip(named.tolist(), np.split(order, ends[:-1]), strict=True):
            bits = [place for place in places if place >= 0]
            wanted = ~asked.negated[rows][:, [place >= 0 for place in places]]
            found[rows] = self._table(bits)[tuple(wanted.T.astype(np.int64))]
        return found

    def _table(self, bits: list[int]) -> Floats:
        """Return the probabilities of what these bits may be, one axis of two for each."""
        if not bits:
            return np.ones(())
        held = self._bits
        sources = sorted({held.sources[bit] for bit in bits})
        names = [held.space.names[source] for source in sources]
        table, order = self.model.marginal(names), []
        for source in sources:
            mine = [bit for bit in bits if held.sources[bit] == source]
            order += mine
            # The first axis is the next column to be turned into bits, and what it becomes goes to the end.
            table = np.tensordot(table, self._patterns(mine, table.shape[0]), axes=(0, 0))
        return np.transpose(table.reshape((2,) * len(order)), [order.index(bit) for bit in bits])

    def _patterns(self, bits: list[int], codes: int) -> NDArray[np.float64]:
        """Return for every code of a column which of all ways in which its bits can be holds."""
        found = np.zeros((codes, 2 ** len(bits)))
        held = np.array([[code in self._bits.codes[bit] for bit in bits] for code in range(codes)], dtype=np.int64)
        found[np.arange(codes), held @ (1 << np.arange(len(bits))[::-1])] = 1.0
        return found

    def stderr(self, queries: Any) -> Floats:
        """Return about the standard deviation of the noise in each answer, from that of the tables."""
        pair = self.pair / max(self.people, 1.0)
        widths = self.queries(queries).widths
        noise = np.array([share_noise(width, pair) for width in range(int(widths.max(initial=0)) + 1)])
        return np.asarray(noise[widths], dtype=np.float64)

    def typical(self, width: float) -> float:
        """Return about the root mean squared error of queries of a width, with what is left out (RL-PLAN)."""
        asked = max(1, round(width))
        return math.hypot(share_noise(asked, self.pair / max(self.people, 1.0)), share_bias(asked))
