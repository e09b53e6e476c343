"""The obvious answer: the winner if it clearly wins, else a random candidate, at any kind of spend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

from sfumato.errors import CertificationError, ParameterError, warn
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.truncated_cdp.certificate import close
from sfumato.papers.truncated_cdp.ladder import optimal
from sfumato.papers.truncated_cdp.noise_ladder import noisy
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.candidates import normalise
from sfumato.select.fit import gap_sensitivity, positive_spend, settle

USUALLY = Fraction(19, 20)
"""The chance from which a winner counts as named."""


@dataclass(frozen=True, kw_only=True)
class Obvious(Mechanism):
    """Return the best of k candidates with a chance that grows with its lead, else one of the others at random.

    The lead g is the best score minus the second best; the rung is i = floor(max(g - start, 0)/unit), 0 meaning a
    uniform draw from all candidates and i >= 1 the chance `chances[i-1]` (the last one for all larger i).

    Promise, for `relation` neighbours whose leads differ by at most `gap_sensitivity`: `bound`, proved for every
    pair of rungs that neighbours can have, 1/k included (TCDP-OAM-OPT; with `method="noise"` TCDP-OAM). The
    candidates other than the best share the rest evenly, so the divergence is that of two coins. If the winner
    differs the two leads add up to `gap_sensitivity` at most, and one of the laws is uniform whoever won.

    Time O(pieces) after the ladder, which is cached by its public arguments.
    """

    spec: ClassVar[str] = "TCDP-OAM-OPT"

    candidates: int
    bound: Bound
    gap_sensitivity: int
    start: int
    unit: int
    chances: tuple[Fraction, ...] = field(repr=False)

    def loss(self) -> Loss:
        """Return the cost of the bound, once every pair of rungs is proved to satisfy it."""
        if self.gap_sensitivity % self.unit or not self._separates():
            raise CertificationError("The rungs of this choice do not fit the sensitivity of the lead.")
        _certify((Fraction(1, self.candidates), *self.chances), self.gap_sensitivity // self.unit, self.bound)
        return Loss.flat(Cost.of(self.bound), self.reads, self.relation)

    def _separates(self) -> bool:
        """Whether one law is uniform when the winner differs, that is when two leads add up to the sensitivity."""
        return self.start >= self.gap_sensitivity or (self.start == 0 and self.unit == self.gap_sensitivity)

    def rung(self, lead: int) -> int:
        """Return the rung of a lead."""
        return min(max(lead - self.start, 0) // self.unit, len(self.chances))

    def run(self, exact: Any, noise: Noise) -> Any:
        """Toss the coin of the lead's rung."""
        field = normalise(exact)
        if field.size != self.candidates:
            raise ParameterError(
                f"This choice is for {self.candidates} candidates and the scores have {field.size}; "
                f"write candidates={field.size}."
            )
        best, lead = field.winner
        rung = self.rung(lead)
        if rung == 0:
            return field.name(noise.uniform(self.candidates))
        if noise.bernoulli(self.chances[rung - 1]):
            return field.name(best)
        other = noise.uniform(self.candidates - 1)
        return field.name(other + (other >= best))

    def success(self, lead: int) -> Fraction:
        """Return the exact probability that the best candidate is returned at this lead."""
        rung = self.rung(lead)
        return self.chances[rung - 1] if rung else Fraction(1, self.candidates)

    def gap(self, confidence: Number) -> int:
        """Return the least lead at which the best candidate is returned with at least this probability."""
        wanted = between_zero_and_one(confidence, "confidence")
        for rung, chance in enumerate(self.chances, start=1):
            if chance >= wanted:
                return self.start + rung * self.unit
        raise ParameterError("This choice never reaches that confidence; build it with a smaller failure=.")


@lru_cache(maxsize=256)
def _certify(ladder: tuple[Fraction, ...], reach: int, bound: Bound) -> None:
    """Prove the bound for all pairs of rungs at most `reach` apart, or raise."""
    if any(low > high for low, high in pairwise(ladder)):
        raise CertificationError("The chances of this choice fall somewhere.")
    # The divergence of two coins grows as they part, so that the farthest pairs cover the nearer ones.
    for rung, low in enumerate(ladder):
        if not close(low, ladder[min(rung + reach, len(ladder) - 1)], bound):
            raise CertificationError(f"Rung {rung} of this choice could not be proved to satisfy {bound!r}.")


def obvious(
    spend: Bound,
    candidates: int,
    sensitivity: int = 1,
    *,
    monotone: bool = False,
    method: Literal["optimal", "noise"] = "optimal",
    failure: Number = 1e-9,
    people: int | None = None,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Obvious:
    """Return the obvious answer among a public number of candidates, for any kind of spend.

    `method="optimal"` climbs as fast as the bound allows (TCDP-OAM-OPT); `method="noise"` follows the printed curve of
    a noise (TCDP-OAM).
    The chance of the winner ends at `1 - failure`; `gap(0.95)` is the lead that is named in 19 of 20 runs. Where scores
    are counts of a public number of `people`, to which each adds `sensitivity` at most, say so: no lead is larger than
    all of them together, and an `AccuracyWarning` tells if even that is not enough.

    >>> from sfumato import Noise, Truncated, select
    >>> pick = obvious(Truncated(0.1, 2.236), candidates=2**10)
    >>> [round(float(chance), 4) for chance in pick.chances[:4]], pick.gap(0.95)
    ([0.0135, 0.0642, 0.1763, 0.3545], 16)
    >>> pick(select.sparse({77: 40}, end=2**10), Noise(insecure_seed=1))
    77
    """
    bound = positive_spend(spend, "obvious")
    gap = gap_sensitivity(sensitivity, monotone, relation)
    count = positive_integer(candidates, "candidates")
    if count < 2:
        raise ParameterError("candidates must be at least 2: a single candidate needs no choice and costs nothing.")
    missed = between_zero_and_one(failure, "failure")
    if method not in ("optimal", "noise"):
        raise ParameterError(f'method must be "optimal" or "noise", not {method!r}.')
    if method == "optimal":
        start, unit, chances = 0, gap, optimal(count, bound, missed)
    else:
        start, unit, chances = gap, 1, noisy(count, bound, gap, missed)
    mechanism = Obvious(
        candidates=count,
        bound=bound,
        gap_sensitivity=gap,
        start=start,
        unit=unit,
        chances=chances,
        relation=relation,
        reads=attributes(reads),
    )
    if people is not None:
        _say_if_hopeless(mechanism, positive_integer(people, "people"), sensitivity)
    return settle(mechanism, bound)


def _say_if_hopeless(mechanism: Obvious, people: int, sensitivity: int) -> None:
    """Warn, from public facts, where no table of so many people has an obvious winner."""
    chance = mechanism.success(people * sensitivity)
    if chance >= USUALLY:
        return
    reached = mechanism.chances[-1] if mechanism.chances else Fraction(1, mechanism.candidates)
    needed = f"a lead of {mechanism.gap(USUALLY)} does" if reached >= USUALLY else "no lead does"
    warn(
        f"A winner that all of {people} people agree on is named with chance {float(chance):.2g} only, and {needed} it "
        "in 19 of 20 runs; otherwise the answer is a random candidate. Spend more, or use select.exponential. The "
        "promise holds all the same."
    )
