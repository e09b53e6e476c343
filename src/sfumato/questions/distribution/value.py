"""A distribution that was released: rows between any two values, quantiles, made-up values, all of it free."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.answer import Frame, Released, number
from sfumato.domain.base import Domain
from sfumato.domain.derived import Derivation
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.domain.records import column_from_json, domain_from_json
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer
from sfumato.noise import Noise
from sfumato.questions.distribution.band import Band, band_of
from sfumato.show.views import View, Viewed

if TYPE_CHECKING:
    from sfumato.show import Drawing

USUAL = Fraction(95, 100)
UP_TO = "share up to"
"""The heading of the curve: it adds up, so that its last line is 1."""


@dataclass(frozen=True)
class DistributionEstimate(Viewed):
    """How the rows are spread over an ordered column: a curve that rises, and a band around it.

    Between two places that were measured the rows are taken to be spread evenly; the band does not assume it. It
    covers the noise and the choice of places, everywhere at once, at least as often as its confidence says; it does
    not cover sampling. Everything here is computed from what was released, so it costs nothing.
    """

    released: Released

    def view(self) -> View:
        """Return the curve at the places that were measured, with the band around it."""
        return self.to_frame().view()

    @property
    def method(self) -> str:
        """How it was made: `medians`, `tree`, `histogram` or `windows`."""
        return str(self.released.made["method"])

    @property
    def why(self) -> str:
        """Why this method was taken, in a sentence."""
        return str(self.released.made["why"])

    @cached_property
    def domain(self) -> Domain:
        """The public domain of the column."""
        made = self.released.made
        if "base" not in made:
            return domain_from_json(made["domain"])
        rule = column_from_json(made["domain"])
        assert isinstance(rule, Derivation)
        return rule.as_stored(domain_from_json(made["base"]))

    @cached_property
    def _bands(self) -> dict[Fraction, Band]:
        return {}

    def _band(self, confidence: Number = USUAL) -> Band:
        chance = between_zero_and_one(confidence, "confidence")
        if chance not in self._bands:
            self._bands[chance] = band_of(self.released, chance)
        return self._bands[chance]

    @property
    def rows(self) -> Any:
        """The number of rows: public, or an estimate."""
        return number(self._band().rows[-1])

    # Shares and counts

    def cdf(self, value: Any) -> float:
        """Return the share of rows with at most this value."""
        return self._band().share(self._edge(value))

    def band(self, value: Any, confidence: Number = USUAL) -> tuple[float, float]:
        """Return a range for the share of rows with at most this value; all of them hold at once."""
        return self._band(confidence).share_between(self._edge(value))

    def query(self, low: Any, high: Any) -> Any:
        """Return about how many rows lie from `low` to `high`, both included."""
        start, end = self._range(low, high)
        return float(self._band().below(end) - self._band().below(start))

    def between(self, low: Any, high: Any, confidence: Number = USUAL) -> tuple[float, float]:
        """Return a range for the number of rows from `low` to `high`; all of them hold at once."""
        start, end = self._range(low, high)
        band = self._band(confidence)
        (least, most), (under, over) = band.below_between(start), band.below_between(end)
        return float(max(under - most, Fraction(0))), float(over - least)

    def quantile(self, probability: Number) -> Any:
        """Return the value up to which this part of the rows lies."""
        return self.domain.decode(self._band().code_at(between_zero_and_one(probability, "probability")))

    def quantile_band(self, probability: Number, confidence: Number = USUAL) -> tuple[Any, Any]:
        """Return two values between which the quantile lies; all quantiles do at once."""
        low, high = self._band(confidence).codes_around(between_zero_and_one(probability, "probability"))
        return self.domain.decode(low), self.domain.decode(high)

    def synthetic(self, count: int, noise: Noise | None = None) -> list[Any]:
        """Draw made-up values from the curve; none of them is anybody's."""
        codes = self._band().draw(positive_integer(count, "count"), Noise() if noise is None else noise)
        return [self.domain.decode(code) for code in codes]

    # Ways to look at it

    def to_frame(self, confidence: Number = USUAL) -> Frame:
        """Return the places that were measured: value, share of rows up to it, and the band."""
        band = self._band(confidence)
        name = str(self.released.made["column"])
        keys = (name if name not in (UP_TO, "low", "high") else f"value of {name}",)
        values = tuple(self.domain.decode(edge - 1) for edge in band.edges[1:])
        ends = [band.share_between(edge) for edge in band.edges[1:]]
        shares = tuple(band.share(edge) for edge in band.edges[1:])
        low, high = tuple(one for one, _ in ends), tuple(two for _, two in ends)
        return Frame(keys, {keys[0]: values, UP_TO: shares, "low": low, "high": high}, curve=True)

    def to_json(self) -> dict[str, Any]:
        """Return all that was released."""
        return self.released.to_json()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> DistributionEstimate:
        """Read what `to_json` wrote."""
        return cls(Released.from_json(record))

    def plot(self, confidence: Number = USUAL, path: str | Path | None = None) -> Drawing:
        """Return the picture of the curve with its band; with a path, also write it there."""
        from sfumato.show.bands import band_chart

        band = self._band(confidence)
        places, shares, low, high = [], [], [], []
        for start, end in pairwise(band.shown()):
            # In a cell the band is flat: what is known at its two ends.
            least, most = band.share_between(start)[0], band.share_between(end)[1]
            for edge in (start, end):
                places.append(self._place(edge))
                shares.append(band.share(edge))
                low.append(least)
                high.append(most)
        column = str(self.released.made["column"])
        sure = f"{100 * float(between_zero_and_one(confidence, 'confidence')):g} % band"
        labels = (column, f"share of rows up to it, and {sure}")
        drawing = band_chart(f"Distribution of {column}", labels, places, shares, low, high)
        if path is not None:
            drawing.save(path)
        return drawing

    def _repr_svg_(self) -> str:
        return self.plot().svg()

    # From values to codes

    def _place(self, edge: int) -> Any:
        """Return where an edge stands on the axis: the value of its code, the end of the range beyond the last one."""
        last = self.domain.highest
        assert last is not None
        value = self.domain.decode(min(edge, last))
        return float(value) if isinstance(value, (int, Fraction)) and not isinstance(value, bool) else value

    def _edge(self, value: Any) -> int:
        """Return the first code above a value; numbers may lie anywhere, between two codes or outside of all."""
        step = self._step(value)
        if step is None:
            return self.domain.code(value) + 1
        return self._clamped(math.floor(exact(value, "value") / step) + 1)

    def _range(self, low: Any, high: Any) -> tuple[int, int]:
        """Return the first code from `low` on, and the first one above `high`."""
        step = self._step(low)
        start = self.domain.code(low) if step is None else self._clamped(math.ceil(exact(low, "value") / step))
        end = self._edge(high)
        if start > end:
            raise ParameterError("low lies above high; write the smaller one first.")
        return start, end

    def _step(self, value: Any) -> Fraction | None:
        """Return what one code is worth, for a number in a column of numbers."""
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float, Fraction, Decimal, np.number)):
            return None
        if isinstance(self.domain, FixedPoint):
            return self.domain.step
        return Fraction(1) if isinstance(self.domain, Integers) else None

    def _clamped(self, edge: int) -> int:
        assert self.domain.highest is not None
        return min(max(edge, self.domain.first), self.domain.highest + 1)
