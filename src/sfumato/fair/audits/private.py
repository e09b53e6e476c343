"""Group figures about private data: the only part of an audit that can be released, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.noise import Noise
from sfumato.privacy import Loss, Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PrivateParity:
    """A noisy table of group by outcome, the parity gap that it shows, and its loss."""

    counts: NDArray[np.int64]
    gap: float
    loss: Loss


def private_parity(
    decisions: object, inside: object, outcomes: int, *, spend: Pure, noise: Noise | None = None
) -> PrivateParity:
    """Return the parity gap from a noisy table: discrete Laplace noise on the 2 × outcomes counts.

    Replacing one person changes two counts by one each. Nothing else of an audit may be released this way: worst
    pairs, intervals, shuffles and searches read the data again. `outcomes` is public; decisions are whole numbers below
    it, and anything else counts as outcome 0.

    >>> noisy = private_parity([0, 1, 1, 0], [True, True, False, False], 2, spend=Pure(1), noise=Noise(insecure_seed=1))
    >>> noisy.counts.shape, noisy.loss.person.epsilon
    ((2, 2), Fraction(1, 1))
    """
    from sfumato import perturb

    if not isinstance(spend, Pure):
        raise ParameterError("spend must be a bound; write for example Pure(0.5).")
    if outcomes < 2:
        raise ParameterError("outcomes is the public number of outcomes, at least 2.")
    codes = np.asarray(decisions, dtype=np.int64)
    mask = np.asarray(inside, dtype=bool)
    codes = np.where((codes >= 0) & (codes < outcomes), codes, 0)
    exact = np.bincount(mask * outcomes + codes, minlength=2 * outcomes)
    mechanism = perturb.calibrate(spend, l1=2, l2_squared=2, largest=1)
    counts = np.asarray(mechanism(exact, noise), dtype=np.int64).reshape(2, outcomes)
    # Post-processing: negative counts are read as none, an empty group as evenly spread.
    positive = np.maximum(counts, 0) + 1e-12
    share = positive / positive.sum(axis=1, keepdims=True)
    return PrivateParity(counts, float(np.abs(share[0] - share[1]).sum() / 2), mechanism.loss())
