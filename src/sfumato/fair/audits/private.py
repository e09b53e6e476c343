"""Group figures about private data: the only part of an audit that can be released, and what it costs (FA-AUDIT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.fair.audits.decisions import said_of_others
from sfumato.fair.audits.evils_segment import CUT_OFF, LIFT
from sfumato.fair.audits.group_counts import noted
from sfumato.fair.audits.group_table import GroupTable, Released, group_table
from sfumato.fair.grid import Floats
from sfumato.fair.people import as_text
from sfumato.noise import Noise
from sfumato.privacy import REPLACE_ONE, Bound, Loss, Relation
from sfumato.show import Table, table

STEPS = 1 << 16
"""A probability is counted in whole parts of this size, so that the table stays exact."""


@dataclass(frozen=True)
class SegmentFigure:
    """One declared segment: E4 from noisy counts. `raised` holds whatever the noise was, up to the confidence."""

    name: str
    people: float
    rate: float
    lift: float
    lift_at_least: float
    raised: bool


@dataclass(frozen=True, eq=False)
class PrivateAudit:
    """What a private table shows about parity and about declared segments, and its loss.

    `rates` are the two groups' shares of the good outcome with their intervals. `gap` is the parity gap and
    `gap_at_least` what it surely is. Intervals cover the noise of privacy with the confidence asked for, all of them
    together; the figures are about these people, so the chance of drawing them is not in it.
    """

    counts: Floats
    rates: tuple[tuple[float, float, float], tuple[float, float, float]]
    gap: float
    gap_at_least: float
    segments: tuple[SegmentFigure, ...]
    loss: Loss
    counted: str = ""
    """Which outcome is the good one, and which others are not; from what was declared."""

    _WHY: ClassVar[dict[str, str]] = {
        "worst_pairs": "worst pairs show single people",
        "lipschitz": "a Lipschitz constant is set by a single pair of people",
        "bias": "the earthmover distance reads everybody's features",
        "repair": "a preview of repair reads everybody's features and scores again",
        "findings": "p-values, shuffles and searches read the data again for every number",
        "parity": "a bootstrap interval reads the data again for every draw",
    }

    @property
    def raised(self) -> tuple[str, ...]:
        """Return E4 if a declared segment is surely a refused stand-in for the group."""
        return ("E4",) if any(segment.raised for segment in self.segments) else ()

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a plain audit has and a private one cannot."""
        if name in self._WHY:
            raise UnsupportedSpend(
                f"A private audit has no {name}: {self._WHY[name]}. It has counts, rates, gap and declared segments; "
                "for the rest write fair.audit, whose numbers must not be published."
            )
        raise AttributeError(f"A private audit has no {name!r}.")

    def summary(self) -> Table:
        """Return the figures, one a line."""
        rows = [
            [f"good outcome, {who}", f"{rate:.4f} ({low:.4f} to {high:.4f})"]
            for who, (rate, low, high) in zip(("the group", "others"), self.rates, strict=True)
        ]
        rows.append(["parity gap", f"{self.gap:.4f}, at least {self.gap_at_least:.4f}"])
        rows += [
            [
                f"E4 {one.name}{' RAISED' if one.raised else ''}",
                f"{one.people:.0f} people, rate {one.rate:.4f}, lift {one.lift:.2f}, at least {one.lift_at_least:.2f}",
            ]
            for one in self.segments
        ]
        return table("Private audit", ["figure", "value"], rows)

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.counted, self.summary().text()) if part)


def private_audit(
    decisions: object,
    protected: object,
    *,
    group: object,
    outcomes: Sequence[object],
    spend: Bound,
    favourable: object = None,
    segments: object = None,
    declared: Sequence[object] = (),
    relation: Relation = REPLACE_ONE,
    confidence: float = 0.95,
    noise: Noise | None = None,
) -> PrivateAudit:
    """Return parity, and E4 on declared segments, from noisy tables of group by outcome (by segment).

    `decisions` is one decision a person, or a matrix with one distribution a row over `outcomes`. What can occur is
    public and declared: `group` is the protected value, `outcomes` lists the decisions (`favourable`, by default the
    last, is the good one), `declared` lists segments. Anything else in the data counts as outside the group, as the
    first outcome, or as living elsewhere. A missing decision, or a row of NaN, has a cell of its own, of
    which no figure is made. Each table gets an equal part of `spend`.

    Promise: the loss is the sum of the tables', within `spend`. One person moves a table by 2 in total if replaced and
    by 1 if added or removed, be it a decision or a distribution.

    >>> from sfumato.privacy import Pure
    >>> sex, said = ["f", "m"] * 500, ["no", "yes", "yes", "yes"] * 250
    >>> seen = private_audit(said, sex, group="f", outcomes=["no", "yes"], spend=Pure(1), noise=Noise(insecure_seed=1))
    >>> round(seen.gap, 1), seen.gap_at_least > 0.4, seen.loss.person.epsilon
    (0.5, True, Fraction(1, 1))
    """
    names = _distinct(outcomes, "outcomes", 2)
    places = _distinct(declared, "declared", 1 if segments is not None else 0)
    if favourable is not None and str(favourable) not in names:
        raise ParameterError(f"No outcome is called {favourable!r}; the outcomes are {names}.")
    if places and segments is None:
        raise ParameterError("declared= lists segments, so the column is needed too; write segments=table['zip_code'].")
    good = len(names) - 1 if favourable is None else names.index(str(favourable))
    rows, steps = _rows(decisions, names)
    inside = _texts(protected) == str(group)
    where = _codes(segments, places, elsewhere=len(places)) if places else np.zeros(len(rows), dtype=np.int64)
    if not len(rows) == len(inside) == len(where):
        raise ParameterError("decisions, protected and segments need one entry a person each; their lengths differ.")
    share = spend.split(2) if places and isinstance(spend, Bound) else spend
    source = Noise() if noise is None else noise
    sure = 1 - (1 - confidence) / (2 if places else 1)

    def release(parts: int, codes: NDArray[np.int64]) -> tuple[Released, GroupTable]:
        mechanism = group_table(share, len(names) + 1, segments=parts, steps=steps, relation=relation)
        return Released(mechanism((inside, codes, rows), source)[..., :-1], mechanism, sure), mechanism

    whole, first = release(1, np.zeros(len(rows), dtype=np.int64))
    loss = first.loss()
    figures: tuple[SegmentFigure, ...] = ()
    if places:
        parts, second = release(len(places) + 1, where)
        loss = loss + second.loss()
        figures = tuple(_segment(name, parts, whole, place, good) for place, name in enumerate(places))
    one, two = whole.shares(0), whole.shares(0, inside=False)
    apart = np.maximum(one.low - two.high, two.low - one.high)
    rates = tuple((float(part.value[good]), float(part.low[good]), float(part.high[good])) for part in (one, two))
    return PrivateAudit(
        whole.counts[:, 0], rates, float(np.abs(one.value - two.value).sum() / 2), float(apart.max(initial=0.0)),  # type: ignore[arg-type]
        figures, loss, _counted(names, good),
    )  # fmt: skip


def _counted(names: list[str], good: int) -> str:
    others = said_of_others([name for place, name in enumerate(names) if place != good])
    return f"The favourable decision is {names[good]!r}. {others}".rstrip()


def _segment(name: str, parts: Released, whole: Released, place: int, good: int) -> SegmentFigure:
    """Return E4's figures of one segment; similar people outside cannot be looked up, so they are not compared."""
    share, base = parts.membership(place), whole.membership(0)
    here, overall = parts.rate(place, good), whole.rate(0, good)
    least = share.low / max(base.high, 1e-12)
    raised = least > LIFT and here.high <= CUT_OFF * overall.low
    return SegmentFigure(
        name, float(parts.counts[:, place].sum()), here.value, share.value / max(base.value, 1e-12), least, raised
    )


def _distinct(labels: Sequence[object], name: str, fewest: int) -> list[str]:
    texts = [str(label) for label in labels]
    if len(set(texts)) != len(texts) or len(texts) < fewest:
        raise ParameterError(
            f"{name} lists what can occur, publicly and each once, at least {fewest} of it; write for example "
            f"{name}=['no', 'yes']."
        )
    return texts


def _rows(decisions: object, names: list[str]) -> tuple[Floats, int]:
    """Return everybody's distribution over the outcomes and, last, over having none; and its steps."""
    array = np.asarray(decisions)
    if array.ndim == 2:
        if array.shape[1] != len(names):
            raise ParameterError(f"A matrix of probabilities needs {len(names)} columns, one an outcome.")
        if array.dtype.kind not in "biuf":
            raise ParameterError(f"A matrix of probabilities holds numbers, and this one is of {array.dtype}.")
        rows: Floats = np.pad(array.astype(np.float64), ((0, 0), (0, 1)))
        rows[np.isnan(rows[:, :-1]).all(axis=1)] = np.eye(len(names) + 1)[-1]
        return rows, STEPS
    codes = np.where(noted(_texts(array)), _codes(array, names, elsewhere=0), len(names))
    return np.eye(len(names) + 1)[codes], 1


def _codes(values: object, labels: list[str], elsewhere: int) -> NDArray[np.int64]:
    texts = _texts(values)
    codes = np.full(len(texts), elsewhere, dtype=np.int64)
    for code, label in enumerate(labels):
        # Whole numbers that were read as floats are the same labels.
        codes[(texts == label) | (texts == f"{label}.0")] = code
    return codes


def _texts(values: object) -> NDArray[np.str_]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ParameterError(f"Decisions, groups and segments are columns with one entry a person, not {array.ndim}-D.")
    return as_text(array)
