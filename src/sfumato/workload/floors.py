"""What nothing can beat, beside the error of an answer: floors where they are proved, and nowhere else.

All of it is computed from public facts: the spend, the sizes of columns, and the number of people only where that is
public. Floors speak of the worst table; none with a constant is known for spends that are not pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log, prod
from typing import Any

from sfumato.answer import half_width
from sfumato.bounds import WARNINGS, VolumeFloor, histogram_error, sampling_error
from sfumato.exact.rational import show
from sfumato.noise import Law
from sfumato.privacy import Bound, Pure
from sfumato.table.gauge import Gauge
from sfumato.workload.blocks import Marginal
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

CONFIDENCE = Fraction(95, 100)
MOVABLE = 4
"""The volume floor is proved for so many times rank/epsilon people and more: fewer cannot move the answers so far."""


@dataclass(frozen=True)
class Beside:
    """A floor, how many times it the error is, both if they are known, and the sentences that say so."""

    floor: float | None = None
    ratio: float | None = None
    notes: tuple[str, ...] = ()

    def made(self) -> dict[str, Any]:
        """Return it as JSON, to be stored beside what was released."""
        numbers = {"floor": self.floor, "ratio": self.ratio}
        known: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
        return {**known, **({"notes": list(self.notes)} if self.notes else {})}


def beside_shape(workload: Workload, gauge: Gauge, spend: Pure, floor: VolumeFloor, mean: float) -> Beside:
    """Return the volume floor beside the mean length of shaped noise (LB-VOL, LB-VOLPROJ).

    Where people are added and removed the worst table may have any size, so nothing is asked of their number. Two
    columns of one attribute, such as an age and its decade, have combinations that nobody can have: the floor was
    computed with them, so then it is left out.
    """
    notes = _separation(workload, spend)
    names = workload.columns
    apart = possible_rows(workload.space, names) == prod(workload.space.shape(names))
    few = gauge.people is not None and gauge.people * spend.epsilon < MOVABLE * workload.queries
    if few or not apart or not floor.value:
        return Beside(notes=notes)
    ratio = mean / floor.value
    said = (
        f"Your error is within {ratio:.1f} of the best any pure mechanism can do on every table: all errors together "
        f"have a mean length of {mean:.3g}, and none gets below {floor.value:.3g}."
    )
    return Beside(floor.value, ratio, (said, *notes))


def beside_tables(workload: Workload, gauge: Gauge, spend: Bound, law: Law | None, joint: int) -> Beside:
    """Return the floor of all tables (QR:LB-HIST) and the luck of the draw (LB-SAMPLE) beside the noise of an answer.

    `joint` is how far noise moves any answer, with 95 % confidence for all of them together; `law` is its law, where
    all answers have the same.
    """
    notes = list(_separation(workload, spend))
    people = gauge.total
    if not people:  # private, or nobody, who is a sample of nothing
        return Beside(notes=tuple(notes))
    if all(block.denominator == 1 and not getattr(block, "signed", False) for block in workload.blocks):
        luck = people * sampling_error(people, workload.queries, 1 - CONFIDENCE)
        notes.insert(
            0,
            f"Noise moves none of {workload.queries} answers by more than {joint} people, with 95 % confidence; where "
            f"these people are a sample of more, the luck of the draw moves them by {luck:.3g} anyway.",
        )
    tables = [block for block in workload.blocks if isinstance(block, Marginal)]
    seen = {name for block in tables for name in block.columns}
    found = _packed(possible_rows(workload.space, seen), people, spend) if tables else None
    if found is None or law is None:
        return Beside(notes=tuple(notes))
    numbers = sum(block.queries for block in tables)
    # All of them stay within this in every second release: each does with probability 2^(-1/numbers).
    worst = half_width(law, Fraction(2 ** (-1 / numbers)).limit_denominator(10**9))
    said = (
        f"In every second release noise stays within {worst} in all {numbers} numbers of the tables. No pure mechanism "
        f"with this spend stays below {found:.3g} that often on every table of people: you are within "
        f"{worst / found:.1f} of the best."
    )
    return Beside(found, worst / found, (said, *notes))


def beside_model(space: Space, width: int, gauge: Gauge, spend: Bound) -> Beside:
    """Return what no pure mechanism can do for all tables of a width, in total variation (QR:LB-HIST).

    The predicted error of a model is a mean over tables, and the floor is that of the worst one, so they stand side by
    side without a ratio.
    """
    people = gauge.total
    if not people:
        return Beside()
    numbers = sum(prod(sizes) for sizes in combinations(space.sizes, width))
    luck = sampling_error(people, numbers, 1 - CONFIDENCE)
    chance = f"Where these people are a sample of more, the luck of the draw moves some share by {luck:.2g} anyway."
    found = _packed(possible_rows(space, space.names), people, spend)
    if found is None:
        return Beside(notes=(chance,))
    distance = found / people
    said = (
        f"No pure mechanism with this spend keeps the error of all tables of {width} columns below {distance:.2g} in "
        "total variation in every second release on every table of people."
    )
    return Beside(distance, None, (said, chance))


def possible_rows(space: Space, names: Iterable[str]) -> int:
    """Return a number of rows that people can have in some columns, at most all of them.

    Columns of one attribute determine each other, so only the finest counts; public ones may be of one attribute too.

    >>> from sfumato.domain import bins, booleans, integers
    >>> from sfumato.table.schema import Schema
    >>> columns = {"age": integers(0, 99, missing=0), "decade": bins("age", step=10), "works": booleans(missing=False)}
    >>> schema = Schema(columns)
    >>> possible_rows(Space.of(schema), schema.names), possible_rows(Space.of(schema), ["decade", "works"])
    (200, 20)
    """
    finest: dict[str | None, int] = {}
    for place in space.places(names):
        attribute = space.attributes[place]
        finest[attribute] = max(space.sizes[place], finest.get(attribute, 1))
    return prod(finest.values())


def _packed(cells: int, people: int, spend: Bound) -> float | None:
    """Return the floor in people of tables that show every column: for pure spends on whole people who are replaced.

    A few people stand together in one of so many cells, the others in a fixed one. Two such tables of people differ in
    a column, so by all of the few in some number of a table that shows it: a packing, as of a histogram of all cells.
    """
    if not isinstance(spend, Pure) or spend.unit != "person":
        return None
    return histogram_error(cells, spend.epsilon, people).value or None


def _separation(workload: Workload, spend: Bound) -> tuple[str, ...]:
    """Return the sentence that a pure spend is dear for few queries over many cells (LB-SEP)."""
    cells = prod(workload.space.shape(workload.columns))
    if isinstance(spend, Pure) and 1 < workload.queries <= log(cells):
        return (f"{WARNINGS['LB-SEP']} Here d is {workload.queries}, N is {cells} and epsilon {show(spend.epsilon)}.",)
    return ()
