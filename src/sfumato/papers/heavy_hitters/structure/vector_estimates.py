"""What the reports of a vector response say about single bits and about pairs of bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable, ParameterError
from sfumato.papers.heavy_hitters.structure.vector import Reports, VectorResponse

LEAST_SIGNAL = 1e-6
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VectorReader:
    """Unbiased estimates from a table of reports, one row a device.

    A device whose input was no vector of bits counts as one that holds each bit with probability one half.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.papers.heavy_hitters.structure import vector_response
    >>> response = vector_response(Pure(4), bits=4)
    >>> held = [[1, 1, 0, 0]] * 4_000 + [[1, 0, 0, 0]] * 4_000
    >>> reader = VectorReader(response, response.run_many(held, Noise(insecure_seed=1)))
    >>> share, error = reader.both(0, 1)
    >>> round(share, 1), error < 0.02
    (0.5, True)
    """

    response: VectorResponse
    reports: Reports

    def means(self) -> Floats:
        """Return the share of devices that hold a 1, for every bit; it may leave [0, 1]."""
        wrong = self.response.moments[0]
        return np.asarray((self.reports.mean(axis=0) - wrong) / self.response.signal, dtype=np.float64)

    def errors(self) -> Floats:
        """Return the standard errors of `means`, as the spread of the reports shows them."""
        spread = self.reports.std(axis=0) / math.sqrt(len(self.reports))
        return np.asarray(spread / self.response.signal, dtype=np.float64)

    def both(self, first: int, second: int) -> tuple[float, float]:
        """Return the share of devices that hold a 1 at both places, with its standard error."""
        for place in (first, second):
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < self.response.bits:
                raise ParameterError(f"A place is a whole number from 0 to {self.response.bits - 1}, not {place!r}.")
        if first == second:
            raise ParameterError("first and second must differ; the share of one bit is in means().")
        parity_signal = self.response.pair_signal
        if abs(parity_signal) < LEAST_SIGNAL:
            raise NotProvable("These reports carry no signal about pairs; choose fewer bits or a larger spend.")
        heard, other = (self.reports[:, place].astype(np.float64) for place in (first, second))
        singles = (heard + other - 2 * self.response.moments[0]) / self.response.signal
        parity = (1 - 2 * heard) * (1 - 2 * other) / parity_signal
        each = (singles - (1 - parity) / 2) / 2
        return float(each.mean()), float(each.std() / math.sqrt(len(each)))


def read_vectors(response: VectorResponse, reports: Any) -> VectorReader:
    """Return a reader of the reports; rows that are no reports are left out.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.papers.heavy_hitters.structure import vector_response
    >>> response = vector_response(Pure(4), bits=8)
    >>> held = [[1, 1, 0, 0, 0, 0, 0, 0]] * 20_000
    >>> read_vectors(response, response.run_many(held, Noise(insecure_seed=1))).means().round(1) + 0.0
    array([1., 1., 0., 0., 0., 0., 0., 0.])
    """
    if response.signal < LEAST_SIGNAL:
        raise NotProvable("These reports carry no signal; choose fewer bits or a larger spend.")
    table = np.asarray(reports)
    if table.ndim != 2 or table.shape[1] != response.bits:
        raise ParameterError(f"reports must be a table of {response.bits} columns, one row a device.")
    legal = ((table == 0) | (table == 1)).all(axis=1)
    if not legal.any():
        raise ParameterError("There is no report to read; collect at least one.")
    return VectorReader(response, table[legal].astype(np.uint8))
