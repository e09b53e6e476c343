"""How far one person, or one attribute of one person, moves the readings of a private linear model (MD-LINEAR).

Of one row, in units of cell² for the scale, with h coordinates that it can change, p coordinates in all, p_num of them
numbers with a square, and a label that moves what its aim says:

| reading | one row exchanged for another | one row comes or goes |
|---|---|---|
| scale, sum and squares | 2h + p_num/4 + label, 4h + label | p + p_num + label + count, the same in squares |
| a step, clipped at C | 2C | C |
| last table, sum and squares | 2, 2 | 1, 1 |

People have up to R rows: sums grow by R, squares by R². Where people are added and removed each of their rows comes or
goes. Where they are replaced, and the number of rows is private, rows are exchanged, come or go: each moves at most the
larger of both. An attribute exchanges rows under both relations, and lets them come and go where a filter reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.learn.facts import LearningFacts, Presence
from sfumato.learn.linear_aims import Aim, Moves, aim_of
from sfumato.learn.linear_rows import Coordinates, Grid
from sfumato.privacy import REPLACE_ONE
from sfumato.privacy.sensitivity import Sensitivity, sensitivity


def scale_moves(coordinates: Sequence[Coordinates], grid: Grid, facts: LearningFacts) -> Sensitivity:
    """Return how far a person moves the scale reading, the number of rows with it where that is private."""
    presence, aim = facts.presence, aim_of(facts)
    comes = row_comes(coordinates, grid, aim)
    if presence.relation is not REPLACE_ONE:
        return comes.times(presence.rows)
    exchanged = row_exchanged(coordinates, grid, aim)
    return exchanged.cover(comes).times(presence.rows) if presence.counted else exchanged


def scale_by_attribute(coordinates: Sequence[Coordinates], grid: Grid, facts: LearningFacts) -> dict[str, Sensitivity]:
    """Return how far each attribute alone moves the scale reading."""
    presence, aim = facts.presence, aim_of(facts)
    found = {facts.attribute: row_exchanged((), grid, aim)}
    for name, one in zip(facts.features, coordinates, strict=True):
        # A feature that the label is derived from moves both.
        found[name] = row_exchanged((one,), grid, aim if name == facts.attribute else None)
    comes = row_comes(coordinates, grid, aim)
    for name in presence.deciding:
        found[name] = found[name].cover(comes) if name in found else comes
    return {name: moves.times(presence.rows) for name, moves in found.items()}


def row_exchanged(coordinates: Sequence[Coordinates], grid: Grid, aim: Aim | None) -> Sensitivity:
    """Return how far some features and, where an aim is given, the label of one row move the scale reading."""
    square = grid.cell**2
    moved = sum(one.moved for one in coordinates)
    numeric = sum(one.numeric for one in coordinates)
    label = Moves(Fraction(0), 0, 0) if aim is None else aim.moves
    return sensitivity(
        l1=(2 * moved + Fraction(numeric, 4) + label.sum) * square,
        l2_squared=(4 * moved + label.squares) * square**2,
        largest=2 * square, changed=moved + numeric + label.changed,
    )  # fmt: skip


def row_comes(coordinates: Sequence[Coordinates], grid: Grid, aim: Aim) -> Sensitivity:
    """Return how far one row that comes or goes moves the scale reading: coordinates, squares, label, and the count."""
    square = grid.cell**2
    numbers = sum(one.width + one.numeric for one in coordinates)
    label = aim.enters
    return sensitivity(
        l1=(numbers + label.sum + 1) * square,
        l2_squared=(numbers + label.squares + 1) * square**2,
        largest=square, changed=numbers + label.changed + 1,
    )  # fmt: skip


def step_moves(clip: int, numbers: int, presence: Presence, *, pure: bool) -> Sensitivity:
    """Return how far a person moves a sum of so many numbers, each row of it clipped.

    An attribute may change score, residual and clip of a row together: it moves a step as a replaced person does.
    """
    far = presence.sides * presence.rows * clip
    return sensitivity(l1=far) if pure else sensitivity(l2_squared=far**2, changed=numbers)


def table_moves(presence: Presence, *, exchanged: bool | None = None) -> Sensitivity:
    """Return how far a person, or rows that are exchanged, move the last table: a row is in one cell of it."""
    sides = 2 if exchanged else presence.sides
    one = sensitivity(l1=sides, l2_squared=sides, largest=1, changed=sides)
    return one.times(presence.rows)
