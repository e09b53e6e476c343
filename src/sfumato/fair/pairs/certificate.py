"""Certificates: is everybody treated within their distance, and on how many pairs was that looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import CertificationError
from sfumato.fair.grid import Integers, check_probabilities
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.divergence import check_distance
from sfumato.fair.pairs.scan import Scan, sampled_excess, scan_pairs
from sfumato.noise import Noise

ALL_PAIRS = "all pairs"
SAMPLED = "sampled, lower bound"


@dataclass(frozen=True)
class Certificate:
    """The outcome of a check that trusts no solver.

    `ok` means that no pair that was looked at is treated more differently than its distance allows, in arithmetic
    rounded against us. `coverage` says which pairs: "all pairs", or "sampled, lower bound" when `ratio` may be larger
    elsewhere.
    """

    ok: bool
    coverage: str
    pairs: int
    violating: int
    ratio: float
    excess: float
    worst_pair: tuple[int, int]
    distance: str

    def require(self) -> Certificate:
        """Return this certificate, or raise CertificationError if it failed."""
        if not self.ok:
            raise CertificationError(
                f"The mapping treats people {self.worst_pair[0]} and {self.worst_pair[1]} differently by "
                f"{self.excess:.3g} more than their distance allows; it is withheld."
            )
        return self

    def __str__(self) -> str:
        verdict = (
            "fair" if self.ok else f"not fair: {self.violating} pairs too different, the worst by {self.excess:.3g}"
        )
        return f"{verdict} ({self.coverage}: {self.pairs}; Lipschitz constant {self.ratio:.6g})"


def certify(metric: Metric, probabilities: object, distance: str = "tv", *, sample: int | None = None) -> Certificate:
    """Check a mapping on all pairs, or on `sample` random ones and say so.

    `probabilities` has one distribution a row, or is the vector of the second of two outcomes.

    >>> from sfumato.fair.metric import Metric
    >>> print(certify(Metric.from_scores([0.0, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])))
    fair (all pairs: 1; Lipschitz constant 1)
    """
    check_distance(distance)
    rows = check_probabilities(probabilities, metric.size)
    if sample is None:
        return of_scan(scan_pairs(metric, rows, distance), distance)
    first, second = random_pairs(metric.size, sample)
    treated, apart = sampled_excess(metric, rows, distance, first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.nan_to_num(treated - apart, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        ratio = np.nan_to_num(treated / apart, nan=0.0, posinf=np.inf)
    place = int(over.argmax()) if len(over) else 0
    pair = (int(first[place]), int(second[place])) if len(over) else (0, 0)
    violating = int((over > 0).sum())
    worst = float(over.max(initial=-np.inf))
    return Certificate(
        violating == 0, SAMPLED, len(over), violating, float(ratio.max(initial=0.0)), worst, pair, distance
    )


def of_scan(scan: Scan, distance: str) -> Certificate:
    """Return the certificate of a scan of all pairs."""
    person = int(scan.excess.argmax())
    pair = (person, int(scan.partner[person]))
    return Certificate(
        scan.violating == 0, ALL_PAIRS, scan.pairs, scan.violating, scan.ratio, scan.worst, pair, distance
    )


def random_pairs(people: int, count: int, insecure_seed: int = 0) -> tuple[Integers, Integers]:
    """Return random pairs of different people; the seed is fixed so that a report can be repeated."""
    if people < 2:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    noise = Noise(insecure_seed=insecure_seed)
    first = noise.uniform(people, count)
    second = noise.uniform(people - 1, count)
    return first, second + (second >= first)
