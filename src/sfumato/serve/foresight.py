"""What a question would cost and how wrong its answer would be, before anything is paid; from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from sfumato.ask.expected import Expected
from sfumato.curator import Curator
from sfumato.curator.foreseen import expected_of
from sfumato.curator.planning import planned
from sfumato.errors import SfumatoError
from sfumato.ledger.largest import scaled
from sfumato.ledger.typed import read_bound
from sfumato.ledger.wording import cost_text
from sfumato.privacy import Bound, Loss
from sfumato.serve.asked import Meant, planning
from sfumato.serve.cautions import heard
from sfumato.serve.desks import Desk
from sfumato.show.views import readable

PARTS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The spends of the curve, as parts of the one that is asked about."""


@dataclass(frozen=True)
class Foreseen:
    """What a question would do."""

    loss: Loss
    fits: bool
    text: str
    needs_approval: bool
    error: Expected | None = None
    errors: tuple[str, ...] = ()
    """How wrong the answers are expected to be, in sentences."""
    medians: Mapping[str, float] = field(default_factory=dict)
    """Of a statement: the median size of the noise in every total."""
    cautions: tuple[str, ...] = ()
    """Why the answer will be poor, if that is known."""
    free: bool = False
    """Whether it was paid for before, or is public: then asking charges nothing."""

    @property
    def cost(self) -> str:
        """What asking would charge, in a few words."""
        return "nothing" if self.free else cost_text(self.loss)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "fits": self.fits,
            "text": self.text,
            "free": self.free,
            "cost": self.cost,
            "loss": self.loss.to_json(),
            "needs_approval": self.needs_approval,
            "expected_error": None if self.error is None else self.error.size,
            "expected_error_unit": None if self.error is None else self.error.unit,
            "expected": None if self.error is None else asdict(self.error),
            "errors": list(self.errors),
            "median_noise": dict(self.medians),
            "rests_on": "" if self.error is None else self.error.rests.strip(),
            "cautions": list(self.cautions),
        }


def foresee(desk: Desk, asked: Meant, name: str, error: bool = True) -> Foreseen:
    """Return what a question would cost somebody, whether it fits, and how far its noise would go."""
    with planning(), heard() as said:
        found = _foresee(desk, asked, name, error)
    return replace(found, cautions=tuple(said))


def _foresee(desk: Desk, asked: Meant, name: str, error: bool) -> Foreseen:
    desk.admit(name)
    loss = asked.loss(desk.front)
    if asked.spend is None:
        return Foreseen(loss, True, "It is public, so it is free.", False, Expected(0.0), free=True)
    seen = desk.front.preview(asked.to_ask(desk.front), asked.spend, analyst=name)
    known = Foreseen(loss, seen.fits, seen.text, desk.needs_approval(asked), free=seen.free)
    if not error:
        return known
    if asked.statement is not None:  # of a statement its own noise is said
        noise = desk.front.explain(asked.form.asked, asked.form.spend, analyst=name).noise
        return replace(known, medians=noise)
    return replace(known, error=seen.expected, errors=seen.errors)


def curve(desk: Desk, asked: Meant, name: str, around: Bound | None = None) -> list[tuple[str, float]]:
    """Return the expected error at several spends around one, that of the question if no other is named.

    Of a statement it is the error of its first total.

    A statement that says itself what it spends has no curve: another spend beside it would change nothing.
    """
    desk.admit(name)
    if asked.spend is None or (asked.statement is not None and asked.form.spend is None):
        return []
    found = []
    for part in PARTS:
        spend = scaled(around or asked.spend, part)
        try:
            with planning():
                size = _size(desk.front, asked, spend, name)
        except SfumatoError:
            continue
        if size is not None:
            found.append((as_typed(spend), size))
    return found


def _size(curator: Curator, asked: Meant, spend: Bound, name: str) -> float | None:
    """Return how far an answer is expected to be off; of a statement, the median noise in its first total."""
    if asked.statement is not None:
        return next(iter(curator.explain(asked.form.asked, spend, analyst=name).noise.values()), None)
    wide = _expected(curator, asked, spend)
    return None if wide is None else wide.size


def as_typed(spend: Bound) -> str:
    """Return a spend as people type it, exactly: with fractions only where decimals would say something else."""
    text = str(spend)
    return text if read_bound(text) == spend else repr(spend)


def _expected(curator: Curator, asked: Meant, spend: Bound) -> Expected | None:
    """Return the error that the answer is expected to have; of a statement its own noise is said."""
    if asked.statement is not None:
        return None
    return expected_of(curator.basis, planned(curator.basis, asked.asked, spend), spend)


def error_text(foreseen: Foreseen) -> str:
    """Say how far the noise would go."""
    if foreseen.medians:
        listed = ", ".join(f"{name} {readable(size, size)}" for name, size in foreseen.medians.items())
        return f"Half of the time the noise moves a number by at most: {listed}."
    return "It is not known beforehand; the answer says it." if foreseen.error is None else foreseen.error.text
