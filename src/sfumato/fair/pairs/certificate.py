"""Certificates: is everybody treated within their distance, and on how many pairs was that looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import CertificationError
from sfumato.fair.grid import Integers, check_probabilities
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.divergence import check_distance
from sfumato.fair.pairs.emptiness import middle_spread, nothing_asked, said_of_emptiness
from sfumato.fair.pairs.scan import Scan, sampled_excess, scan_pairs
from sfumato.noise import Noise

ALL_PAIRS = "all pairs"
SAMPLED = "sampled, lower bound"


@dataclass(frozen=True)
class Certificate:
    """The outcome of a check that trusts no solver.

    `ok` means that no pair that was looked at is treated more differently than its distance allows, in arithmetic
    rounded against us. `coverage` says which pairs: "all pairs", or "sampled, lower bound" when `ratio` may be larger
    elsewhere. `vacuous` is the share of these pairs who may be treated in any way, so that nothing is promised to them;
    `spread` within how much the chances of the middle half of people lie.
    """

    ok: bool
    coverage: str
    pairs: int
    violating: int
    ratio: float
    excess: float
    worst_pair: tuple[int, int]
    distance: str
    vacuous: float = 0.0
    spread: float = 0.0

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
        free = f", {self.vacuous:.0%} of them may be treated in any way" if self.vacuous else ""
        said = f"{verdict} ({self.coverage}: {self.pairs}{free}; Lipschitz constant {self.ratio:.6g})"
        return " ".join(part for part in (said_of_emptiness(self.vacuous), said) if part)


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
        return replace(of_scan(scan_pairs(metric, rows, distance), distance), spread=middle_spread(rows))
    first, second = random_pairs(metric.size, sample)
    treated, apart = sampled_excess(metric, rows, distance, first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.nan_to_num(treated - apart, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        ratio = np.nan_to_num(treated / apart, nan=0.0, posinf=np.inf)
    place = int(over.argmax()) if len(over) else 0
    pair = (int(first[place]), int(second[place])) if len(over) else (0, 0)
    violating = int((over > 0).sum())
    worst = float(over.max(initial=-np.inf))
    free = float((apart >= nothing_asked(distance)).mean()) if len(apart) else 0.0
    return Certificate(
        violating == 0, SAMPLED, len(over), violating, float(ratio.max(initial=0.0)), worst, pair, distance, free,
        middle_spread(rows),
    )  # fmt: skip


def of_scan(scan: Scan, distance: str) -> Certificate:
    """Return the certificate of a scan of all pairs."""
    person = int(scan.excess.argmax())
    pair = (person, int(scan.partner[person]))
    return Certificate(
        scan.violating == 0, ALL_PAIRS, scan.pairs, scan.violating, scan.ratio, scan.worst, pair, distance,
        scan.free / max(1, scan.pairs),
    )  # fmt: skip


def random_pairs(people: int, count: int, insecure_seed: int = 0) -> tuple[Integers, Integers]:
    """Return random pairs of different people; the seed is fixed so that a report can be repeated."""
    if people < 2:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    noise = Noise(insecure_seed=insecure_seed)
    first = noise.uniform(people, count)
    second = noise.uniform(people - 1, count)
    return first, second + (second >= first)
