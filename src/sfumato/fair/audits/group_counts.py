"""Who is in which group, and how many of each were chosen, deserved it, or scored high: what all figures stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.fair.audits.rates import EXACT, CellNoise, Share
from sfumato.fair.grid import Floats
from sfumato.fair.people import as_text, column, column_names

UNKNOWN = "unknown"
"""The name of a group that nobody noted."""
MOST_GROUPS = 200


@dataclass(frozen=True)
class Group:
    """A value of one protected column, or of several together."""

    columns: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The group in words.

        >>> Group(("sex", "race"), ("F", "Black")).name
        'F, Black'
        """
        return ", ".join(self.values)

    @property
    def unknown(self) -> bool:
        """Whether some of its values are not known."""
        return UNKNOWN in self.values


@dataclass(frozen=True)
class GroupCounts:
    """The shares of one group that figures are made of; what is not known is None.

    `people` are those with a decision where there are decisions, `undecided` the others. `chosen` of all with one;
    `hits` of those with the label, `alarms` of those without it, `right` of those chosen; `high` of all scores; `bins`
    of each bin of scores, the share with the label.
    """

    group: Group
    people: float
    chosen: Share | None = None
    hits: Share | None = None
    alarms: Share | None = None
    right: Share | None = None
    high: Share | None = None
    bins: tuple[Share, ...] = ()
    undecided: int = 0


@dataclass(frozen=True)
class Tallied:
    """Everything that was counted, and the noise in each cell; `people` is the number of all.

    Where a person may have several of the counted rows, all numbers of people are numbers of rows.
    """

    groups: tuple[GroupCounts, ...]
    people: float
    noise: CellNoise = EXACT
    edges: tuple[float, ...] = ()
    values: tuple[str, ...] = ()
    """The values of the score, where it has few and calibration is about each; else it is about what edges part."""
    without_label: int | None = 0
    """How many have no label where others have one, None if that is private; what needs a label leaves them out."""
    without_decision: int | None = 0
    """How many have no decision, None if that is private; everything about decisions leaves them out."""

    @property
    def bins(self) -> tuple[str, ...]:
        """The bins of scores that calibration is about, in words; none without scores and labels."""
        return self.values or tuple(f"{low:.2g} to {high:.2g}" for low, high in pairwise(self.edges))

    def scores(self, place: int) -> tuple[float, ...] | str:
        """Return between which scores a bin lies, or its value in words."""
        return self.values[place] if self.values else self.edges[place : place + 2]

    @property
    def counted(self) -> str:
        """What was counted, in a word: people, or rows of which a person may have several."""
        return "rows" if self.noise.rows > 1 else "people"

    def alike(self) -> str:
        """Return what follows from several rows of a person, and what to write instead; nothing where people count."""
        rows = self.noise.rows
        if rows == 1:
            return ""
        return (
            f"Rows are counted, of which a person may have {rows}, and rows of one person may all be alike: intervals "
            f"and verdicts take {rows} rows for no more than one person, so they hold whatever they have in common. "
            "Where everybody should count once, write rows_per_person = 1 in the schema, which is also surer."
        )

    def column_sets(self) -> list[tuple[str, ...]]:
        """Return the columns that groups were made of, single ones first."""
        return list(dict.fromkeys(one.group.columns for one in self.groups))

    def of(self, columns: tuple[str, ...]) -> list[GroupCounts]:
        """Return the groups of one set of columns."""
        return [one for one in self.groups if one.group.columns == columns]


def protected_columns(protected: Any) -> dict[str, NDArray[np.str_]]:
    """Return protected columns by name, as text; a missing value is the group `unknown`."""
    if isinstance(protected, Mapping) or hasattr(protected, "columns"):
        named = {str(name): column(protected, name) for name in column_names(protected)}
    else:
        named = {str(getattr(protected, "name", None) or "group"): np.asarray(protected)}
    for name, values in named.items():
        if values.ndim != 1:
            raise ParameterError(f"The protected column {name!r} needs one entry a person; give a vector.")
    lengths = {len(values) for values in named.values()}
    if len(lengths) != 1 or not lengths.pop():
        raise ParameterError("Protected columns need one entry a person each, and there must be somebody.")
    return {name: known(as_text(values)) for name, values in named.items()}


def known(values: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return groups as text, those that nobody noted under one name."""
    return np.where(noted(values), values, UNKNOWN)


def noted(values: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return where somebody noted a value, of a column as text."""
    return ~np.isin(values, ("missing", "", "nan", "None", "<NA>"))


def column_sets(names: Sequence[str], intersections: int) -> list[tuple[str, ...]]:
    """Return the columns of which groups are made: each alone, then together up to `intersections` of them."""
    if intersections not in (1, 2, 3):
        raise ParameterError(f"intersections must be 1, 2 or 3 columns at a time, and {intersections!r} is not.")
    return [chosen for width in range(1, intersections + 1) for chosen in combinations(names, width)]


@dataclass(frozen=True, eq=False)
class Treatment:
    """How everybody was treated: decisions of 0 and 1 or, where not `decided`, probabilities; labels and scores.

    A chance of NaN is that of somebody about whom nothing was decided. `labelled` marks whose label is known, by
    default everybody's.
    """

    chances: Floats | None = None
    decided: bool = True
    labels: NDArray[np.bool_] | None = None
    scores: Floats | None = None
    edges: tuple[float, ...] = ()
    labelled: NDArray[np.bool_] | None = None

    @cached_property
    def middle(self) -> float:
        """The median of all scores."""
        assert self.scores is not None
        return float(np.median(self.scores))

    def counts(self, group: Group, here: NDArray[np.bool_]) -> GroupCounts:
        """Return what is known of one group."""
        parts: dict[str, Any] = {}
        chances, labels, scores, everybody = self.chances, self.labels, self.scores, here
        if chances is not None:
            here = here & ~np.isnan(chances)
        seen = here if self.labelled is None else here & self.labelled
        if chances is not None:
            parts["chosen"] = _share(chances, here, self.decided)
        if chances is not None and labels is not None:
            parts["hits"] = _share(chances, seen & labels, self.decided)
            parts["alarms"] = _share(chances, seen & ~labels, self.decided)
            parts["right"] = Share(float(chances[seen & labels].sum()), float(chances[seen & ~labels].sum()))
        if scores is not None:
            parts["high"] = _share((scores > self.middle).astype(np.float64), everybody, True)
        if scores is not None and labels is not None:
            seen = everybody if self.labelled is None else everybody & self.labelled
            place = np.searchsorted(np.asarray(self.edges[1:-1]), scores, side="right")
            parts["bins"] = tuple(
                _share(labels.astype(np.float64), seen & (place == one), True) for one in range(len(self.edges) - 1)
            )
        return GroupCounts(group, float(here.sum()), **parts, undecided=int(everybody.sum() - here.sum()))


def tally(protected: Mapping[str, NDArray[np.str_]], intersections: int, treatment: Treatment) -> Tallied:
    """Count everybody in every group."""
    found = []
    for columns in column_sets(list(protected), intersections):
        stacked = np.stack([protected[name] for name in columns], axis=1)
        levels, codes = np.unique(stacked, axis=0, return_inverse=True)
        if len(levels) > MOST_GROUPS:
            raise ParameterError(
                f"{' and '.join(columns)} make {len(levels)} groups, and a report shows at most {MOST_GROUPS}; write "
                "bins instead of numbers, or intersections=1."
            )
        for place, values in enumerate(levels.tolist()):
            found.append(treatment.counts(Group(columns, tuple(values)), codes.ravel() == place))
    size = len(next(iter(protected.values())))
    calibrated = treatment.scores is not None and treatment.labels is not None
    absent = 0 if treatment.labelled is None else int((~treatment.labelled).sum())
    pending = 0 if treatment.chances is None else int(np.isnan(treatment.chances).sum())
    edges = treatment.edges if calibrated else ()
    return Tallied(tuple(found), size, edges=edges, without_label=absent, without_decision=pending)


def _share(chances: Floats, here: NDArray[np.bool_], decided: bool) -> Share:
    values = chances[here]
    part = float(values.sum())
    spread = None if decided or not len(values) else float(((values - values.mean()) ** 2).sum())
    return Share(part, len(values) - part, spread=spread)
