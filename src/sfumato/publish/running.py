"""Running totals with exact noise: one release a period, for as long as was declared (PB-CONTINUAL)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.mechanism import Interaction
from sfumato.noise import Noise, RoundedNormal
from sfumato.privacy import Cost, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.matrix import EXACT, Factor, candidates
from sfumato.publish.segments import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_VARIANCE = 10**18


@dataclass(frozen=True)
class Claim:
    """What the noise must be good for: whoever adds up to `counts[t]` units in period t costs at most `most`.

    `moves` is how far one unit moves the total of one period; `most` is a rho, or the epsilon of a pure spend.
    """

    counts: tuple[int, ...]
    moves: Sensitivity
    most: Fraction


@dataclass(frozen=True, kw_only=True)
class Continual(Interaction):
    """What totals that run on share, whatever their noise: a unit of one period is paid for once, over all steps."""

    @abstractmethod
    def single(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of whoever is there in one period."""

    @abstractmethod
    def entry(self, read: Sequence[Any], noise: Noise) -> NDArray[np.int64]:
        """Return what the period that was read last adds to the release."""

    def loss(self) -> Loss:
        """Return what one unit in one period costs over the whole conversation."""
        return Loss.flat(self.single(), self.reads, self.relation)

    def start(self, noise: Noise) -> dict[str, Any]:
        """Return the state before the first period."""
        return {"read": []}

    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        """Take the totals of the next period, and release what they add."""
        import numpy as np

        read = [*state["read"], np.ravel(exact).tolist()]
        return {"read": read}, tuple(np.ravel(self.entry(read, noise)).tolist()), True


@dataclass(frozen=True, kw_only=True)
class RunningTotals(Continual):
    """Totals that run on: after each period an estimate of everything so far, and of every window.

    Releases m_t = Σ_j C_tj x_j + z_t for the exact integers x_j of the periods up to t, with rounded Gaussian noise of
    one public variance. For a unit that is one period's data of one person the whole conversation costs
    rho = max_j |C e_j|² · l2² / (2 variance) under the relation of its gauge, whatever the data do in answer to earlier
    releases; `cost(counts)` is the price of one that spans several periods. Time: t products a step.
    """

    spec: ClassVar[str] = "PB-CONTINUAL"
    weighed: ClassVar[bool] = True

    factor: Factor
    variance: int
    moves: Sensitivity

    @cached_property
    def law(self) -> RoundedNormal:
        """The noise of every entry."""
        return RoundedNormal(Fraction(self.variance))

    @property
    def periods(self) -> int:
        """How many periods it spans."""
        return self.factor.periods

    def single(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of whoever is there in one period, the dearest of them."""
        return self._cost(self.factor.one_period, moves)

    def cost(self, counts: Sequence[int], moves: Sensitivity | None = None) -> Cost:
        """Return the price of whoever has up to `counts[t]` units in period t: |C n|² l2² / (2 variance)."""
        return self._cost(self.factor.shift(counts), moves)

    def _cost(self, shift: int, moves: Sensitivity | None = None) -> Cost:
        far = (self.moves if moves is None else moves).l2_squared
        return Cost.gaussian(shift * far / self.variance)

    def entries(self, period: int) -> int:
        """Return how many numbers a key has in a period: one."""
        return 1

    @cached_property
    def most(self) -> int:
        """What a total of one period is clamped to, in its units: far above any number of rows."""
        return EXACT // self.factor.longest_row

    def entry(self, read: Sequence[Any], noise: Noise) -> NDArray[np.int64]:
        """Return the release of the period that was read last; `read` holds the totals of all periods so far."""
        import numpy as np

        row = self.factor.matrix[len(read) - 1]
        found = np.zeros(np.size(read[-1]), np.int64)
        for place, total in enumerate(read):
            if row[place]:
                found += row[place] * np.clip(np.ravel(total).astype(np.int64), -self.most, self.most)
        return found + noise.draw(self.law, found.size)

    def segment(self, released: Sequence[Any], keys: int) -> Segment:
        """Return what was released so far, as something that estimates can be made of."""
        import numpy as np

        return Segment(self.factor, self.variance, np.array(released, np.int64).reshape(len(released), keys))


def least_noise(
    periods: int, claims: Sequence[Claim], window: int | None = None, plain: bool = False, gap: int = 1
) -> tuple[Factor, int]:
    """Return the matrix and the least whole variance that keep every claim.

    With one claim on single periods the band is that of the target: all periods, or its window. With more, it is the
    band that gives the least mean variance. `plain` columns are for people who come back, `gap` or more periods apart.
    All of it is arithmetic on public numbers.
    """
    single = len(claims) == 1 and max(claims[0].counts, default=0) == 1 == sum(claims[0].counts)
    bands = [window or periods] if single else candidates(periods, window, gap)
    bands = [min(band, periods) for band in bands]
    offers = [(factor, _variance(factor, claims)) for factor in (Factor(periods, band, plain) for band in bands)]
    factor, variance = min(offers, key=lambda offer: offer[1] * float(offer[0].spread(window).mean()))
    if variance > LARGEST_VARIANCE:
        raise ParameterError(
            "The spend of this running total is too small for noise that can be drawn exactly; write a spend "
            f"{math.ceil(variance / LARGEST_VARIANCE)} times as large, or allow fewer rows a person."
        )
    return factor, variance


def _variance(factor: Factor, claims: Sequence[Claim]) -> int:
    found = 1
    for claim in claims:
        one = sum(claim.counts) == 1
        shift = factor.one_period if one else factor.shift(claim.counts)
        found = max(found, math.ceil(shift * claim.moves.l2_squared / (2 * claim.most)))
    return found
