"""The papers' printed choices, and small ways to get a choice wrong that no parameter can express."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from sfumato import NOTHING, Noise, select
from sfumato.noise import DiscreteLaplace
from sfumato.papers import truncated_cdp
from sfumato.select.candidates import normalise
from sfumato.select.scores import whole


def changed(kind: type, mechanism: Any) -> Any:
    """Return the same parameters under another class."""
    return kind(**{part.name: getattr(mechanism, part.name) for part in fields(mechanism)})


@dataclass(frozen=True, kw_only=True)
class SeenOnly(select.Stable):
    """Skips the noise where only one candidate was seen in the data."""

    def run(self, exact: Any, noise: Noise) -> Any:
        """Take the support of the data for the candidate set."""
        if isinstance(exact, select.Unbounded):
            seen = [key for key, score in exact.listed.items() if score > 0]
        else:
            seen = [place for score, place in normalise(exact).ranked() if score > 0]
        return seen[0] if len(seen) == 1 else super().run(exact, noise)


@dataclass(frozen=True, kw_only=True)
class FloatUniform(truncated_cdp.Obvious):
    """Tosses a coin of nearly 1/k for the best candidate where the draw must be uniform."""

    def run(self, exact: Any, noise: Noise) -> Any:
        """Replace the uniform branch by a coin that is off by a thousandth."""
        field = normalise(exact)
        best, lead = field.winner
        if self.rung(lead):
            return super().run(exact, noise)
        if noise.bernoulli(Fraction(1 / self.candidates) * Fraction(1001, 1000)):
            return field.name(best)
        other = noise.uniform(self.candidates - 1)
        return field.name(other + (other >= best))


@dataclass(frozen=True, kw_only=True)
class LoyalTies(select.Top):
    """Breaks ties in favour of the true top."""

    def run(self, exact: Any, noise: Noise) -> tuple[Any, ...]:
        """Sort by noisy lead, then by true score."""
        field = normalise(exact)
        ranked = list(field.ranked())
        floor = ranked[self.count][0]
        noisy = [(max(score - floor, 0) + noise.draw(self.law), -rank) for rank, (score, _) in enumerate(ranked)]
        order = sorted(range(len(noisy)), key=noisy.__getitem__, reverse=True)
        return tuple(field.name(ranked[rank][1]) for rank in order[: self.count])


@dataclass(frozen=True, kw_only=True)
class FirstTies(select.PermuteAndFlip):
    """Breaks ties of the geometric noises in favour of the best score."""

    def run(self, exact: Any, noise: Noise) -> Any:
        """Sort by noisy score, then by true score."""
        from sfumato.noise import Geometric

        field = normalise(exact)
        noisy = [(score + noise.draw(Geometric(1 / self.rate)), score, place) for score, place in field.ranked()]
        return field.name(max(noisy)[2])


@dataclass(frozen=True, kw_only=True)
class SameNoise(select.SparseVector):
    """Releases the value that was compared with the threshold, as the pure PMW of the source does (QR:D3)."""

    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        """Answer with the noise of the comparison."""
        if state["left"] <= 0:
            return state, NOTHING, False
        noisy = whole(exact, "Queries") + noise.draw(DiscreteLaplace(self.query_scale))
        if noisy < state["level"]:
            return state, select.Reply(above=False), False
        return {**state, "left": state["left"] - 1}, select.Reply(above=True, answer=noisy), True


@dataclass(frozen=True, kw_only=True)
class Endless(select.SparseVector):
    """Never stops after its positives."""

    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        """Forget to count."""
        after, value, changed = super().step(state, exact, noise)
        return {**after, "left": state["left"]}, value, changed
