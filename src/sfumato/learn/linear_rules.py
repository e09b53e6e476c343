"""What linear models release: the rule of two labels, the model of several labels, and that of a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.exact import Number, between_zero_and_one
from sfumato.learn.cells import Codes
from sfumato.learn.linear_aims import SCORE_BITS, SPAN, row_scores
from sfumato.learn.linear_rows import BINS, Coordinates, Grid, Integers, standardised_cells
from sfumato.learn.linear_steps import CountedSteps, LinearSteps
from sfumato.learn.rules import UNMEASURED, Learned, Rule
from sfumato.mechanism import Mechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LinearModel(Learned):
    """What every linear model keeps: how coordinates are scaled, and where noise has more say than people."""

    cell: int
    centre: tuple[int, ...]
    deviation: tuple[int, ...]
    reach: int = 2
    """How many deviations from the mean coordinates are held within; 2 in models that did not store it."""
    faint: tuple[int, ...] = ()
    """The coordinates of which the released numbers show too few people, or too little spread, for a coefficient."""
    narrow: tuple[int, ...] = ()
    """The numbers that are not shown to spread over what was declared of them, though noise would let it be seen."""
    rows: int = 0
    """About how many rows it was fitted to, where their number is private and was released; else 0."""
    rows_wanted: int = 0
    """How many would be enough, where so few were released that nothing is known of how good it is; else 0."""
    rows_each: int = 1
    """How many rows of a person may have been among them."""

    def known_by(self, mechanism: Mechanism) -> Self:
        """Return the model with its faint and narrow coordinates, and with how many rows it lacks."""
        scale, wanted, each = (self.centre, self.deviation), 0, 1
        if isinstance(mechanism, CountedSteps):
            wanted, each = mechanism.enough if self.rows < mechanism.least else 0, mechanism.rows
            mechanism = mechanism.at(self.rows)
        assert isinstance(mechanism, LinearSteps)
        return replace(
            self, faint=mechanism.faint(*scale), narrow=mechanism.narrow(*scale), rows_wanted=wanted, rows_each=each
        )

    def quality(self) -> tuple[str, ...]:
        """Say how good it is, which features hardly spread over their ranges, and which coefficients are noise."""
        return (*self.figures(), *self._row_words(), *self.narrow_features(), *self._faint_words())

    @property
    def _whose(self) -> str:
        """Whose figures these are: somebody may have several rows where rows were counted."""
        return "rows of the fit" if self.rows else "people of the fit"

    def _row_words(self) -> tuple[str, ...]:
        if not self.rows:
            return ()
        said = f"It was fitted to about {self.rows} rows, counted with noise."
        few = (
            " With so few this spend buys much noise, and it may be no better than a guess; "
            f"{self.rows_wanted} rows are enough."
        )
        return (said + (few if self.rows_wanted else ""),)

    def figures(self) -> tuple[str, ...]:
        """Say how good it is by what was released with it."""
        return (UNMEASURED,)

    def narrow_features(self) -> tuple[str, ...]:
        """Say of which numbers the released mean and spread show hardly more than one value."""
        named = [
            f"{one.feature!r} ({one.low:g} to {one.high:g}, mean about {one.mean(self):.3g})"
            for one in self.axes()
            if one.place in self.narrow
        ]
        if not named:
            return ()
        return (
            f"The released numbers do not show that people spread over the declared range of {some_of(named)}. "
            f"{OUT_OF_RANGE}",
        )

    def _faint_words(self) -> tuple[str, ...]:
        names = [one.name for one in self.axes() if one.place in self.faint]
        if not names:
            return ()
        return (
            f"Not known are the coefficients of {some_of(names)}: by the released numbers noise has more say in them "
            "than the people they speak of. Join rare categories, or spend more.",
        )

    def axes(self) -> list[Axis]:
        """Return the coordinates in their order; a category lies between 0 and 1."""
        found: list[Axis] = []
        for name, domain in zip(self.features, self.domains, strict=True):
            one = Coordinates.of(name, domain)
            if one.levels:
                shown = [f"{name}={domain.decode(code)}" for code in range(one.first, one.last + 1)]
                found += [Axis(len(found) + level, name, said, 0.0, 1.0, False) for level, said in enumerate(shown)]
            else:
                low, high = (_number(domain.decode(code), code) for code in (one.first, one.last))
                found.append(Axis(len(found), name, name, low, high, one.numeric))
        return found


MOST_NAMED = 5
OUT_OF_RANGE = (
    "Were cells scaled before (a StandardScaler), written in another unit, or as text that is not read (a "
    "decimal comma)? Hand over what the domain declares, without a scaler, or declare the range of what is handed over."
)


def some_of(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


class Axis(NamedTuple):
    """One coordinate of a linear model: whose it is, under which name, and between which numbers it lies."""

    place: int
    feature: str
    name: str
    low: float
    high: float
    numeric: bool

    def mean(self, model: LinearModel) -> float:
        """Return the released mean in the units of the feature."""
        return self.low + (self.high - self.low) * (model.centre[self.place] + model.cell) / (2 * model.cell)


@dataclass(frozen=True, kw_only=True)
class LinearRule(LinearModel, Rule):
    """Holds where the probability of the second label is at least one half."""

    kind: ClassVar[str] = "linear"
    direction: tuple[int, ...]
    slope: int
    offset: int
    table: tuple[int, ...]
    deviation_of_count: int = 0
    """The standard deviation of the noise in a count of the table, rounded up; 0 in rules that did not store it."""

    SHARP: ClassVar[int] = 1 << 20
    """Slope and offset count in these units."""

    def scores(self, codes: Codes) -> Floats:
        """Return the log-odds of the second label."""
        score = (standard_of(self, codes) @ np.array(self.direction, np.int64)) / float(Grid().unit << 16)
        return np.asarray((self.slope * score + self.offset) / self.SHARP)

    def probabilities(self, rows: Any) -> Floats:
        """Return the probability of each label, one row a person."""
        second = 1 / (1 + np.exp(-np.clip(self.scores(self.encode(rows)), -700, 700)))
        return np.stack([1 - second, second], axis=1)

    def predict_proba(self, rows: Any) -> Floats:
        """Return `probabilities`, under the name that scikit-learn has for it; columns are in the order of classes."""
        return self.probabilities(rows)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare the log-odds with zero."""
        return np.asarray(self.scores(codes) >= 0)

    def says(self) -> str:
        """Name the features that move the score most."""
        return f"a score of {strongest(self, [self.direction])} is high enough"

    def figures(self) -> tuple[str, ...]:
        """Say the area under the curve with its interval, and warn where a guess could have it by luck."""
        if self.rare_label is not None:
            return (
                f"{AREA}: not known, since the released table does not show that anybody has the "
                f"label {self.rare_label!r}. {NO_BETTER}",
            )
        if not self.deviation_of_count:
            return (f"{AREA} among the people of the fit: about {self.area:.2f}; {SCALE_OF_AREA}.",)
        losers, winners = self._counts.sum(axis=0)
        # Of a guess, by who is in the table; rows of one person may say the same.
        luck = 2 * math.sqrt(self.rows_each * (losers + winners + 1) / (12 * losers * winners))
        return measured(
            f"{AREA} among the {self._whose}",
            self.area,
            self.area_interval,
            0.5 + luck,
            SCALE_OF_AREA,
        )

    @property
    def area(self) -> float:
        """The area under the curve among the people of the fit, from the noisy table (Mann and Whitney).

        A rough figure: scores stand in 16 bins, where equal ones count half, and these are the people it was fitted
        to. It is nan where one of the labels has hardly more people in the table than the noise makes up.
        """
        return self._area[0]

    @property
    def area_interval(self) -> tuple[float, float]:
        """Where the area of the same table without noise lies, about 95 % of the time (two deviations)."""
        area, deviation = self._area
        if math.isnan(area):
            return math.nan, math.nan
        return max(0.0, area - 2 * deviation), min(1.0, area + 2 * deviation)

    @property
    def rare_label(self) -> Any:
        """The label that the released table does not show to be there; None where it shows both."""
        least = max(1.0, 2 * self.deviation_of_count * math.sqrt(BINS))
        few = [place for place, total in enumerate(self._counts.sum(axis=0)) if total < least]
        return self.classes[few[-1]] if few else None

    @property
    def _counts(self) -> Floats:
        return np.array(self.table, np.float64).reshape(BINS, 2)

    @property
    def _area(self) -> tuple[float, float]:
        """Return the area and its deviation by the noise, to the first order."""
        if self.rare_label is not None:
            return math.nan, math.nan
        losers, winners = self._counts.T
        pairs = losers.sum() * winners.sum()
        below = np.cumsum(losers) - losers / 2
        above = winners.sum() - np.cumsum(winners) + winners / 2
        area = float((winners * below).sum() / pairs)
        slopes = np.concatenate([above - area * winners.sum(), below - area * losers.sum()]) / pairs
        return min(1.0, max(0.0, area)), self.deviation_of_count * float(np.linalg.norm(slopes))


AREA, SHARE = "Area under the curve (AUC)", "Explained share (R²)"
SCALE_OF_AREA = "0.5 is a guess, 1 is perfect"
SCALE_OF_SHARE = "0 is one number for everybody, 1 is perfect"
NO_BETTER = (
    "Warning: by this the model may be no better than a guess, or one number for everybody; spend more, use fewer "
    "features, or look whether features and labels lie in what was declared of them."
)


def measured(name: str, figure: float, interval: tuple[float, float], trivial: float, scale: str) -> tuple[str, ...]:
    """Say a released figure with its interval, and warn where a trivial model's is within it."""
    low, high = interval
    said = f"{name}: {figure:.2f}, without noise between {low:.2f} and {high:.2f} about 95 % of the time; {scale}."
    return (said,) if low > trivial else (said, NO_BETTER)


def calibrated(table: Floats, lean: float) -> tuple[float, float]:
    """Return slope and offset of a logistic fit of label on bin middles; noise never turns the ranking round."""
    counts = np.maximum(table, 0.0)
    middles = (np.arange(BINS) + 0.5) * 6 / BINS - 3
    total, good = counts.sum(axis=1), counts[:, 1]
    slope, offset = 1.0, lean
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(slope * middles + offset, -30, 30)))
        weight = total * chance * (1 - chance)
        push = np.array([((good - total * chance) * middles).sum(), (good - total * chance).sum()])
        matrix = np.array(
            [[(weight * middles**2).sum(), (weight * middles).sum()], [(weight * middles).sum(), weight.sum()]]
        )
        change = np.linalg.solve(matrix + 1e-3 * np.eye(2), push)
        length = float(np.linalg.norm(change))
        change = change / max(1.0, length)
        slope, offset = max(0.02, slope + float(change[0])), max(-30.0, min(30.0, offset + float(change[1])))
    return slope, offset


@dataclass(frozen=True, kw_only=True)
class LinearLabels(LinearModel):
    """Tells several labels apart: each has a score, and the highest one is predicted."""

    kind: ClassVar[str] = "linear labels"
    weights: tuple[int, ...]
    """In units of 2^-16, label by label, the constant first."""
    people_by_label: tuple[int, ...] = ()
    """About how many people have each label; empty in models that did not store it."""
    deviation_of_count: int = 0

    @property
    def rare_label(self) -> Any:
        """The label that the released numbers do not show to be there; None where they show all of them."""
        least = max(1, 2 * self.deviation_of_count)
        few = [label for label, many in zip(self.classes, self.people_by_label, strict=False) if many < least]
        return few[-1] if few else None

    def figures(self) -> tuple[str, ...]:
        """Say that nothing measured it, and of which label the released numbers show nobody."""
        if self.rare_label is None:
            return (UNMEASURED,)
        return (
            UNMEASURED,
            f"The released numbers do not show that anybody has the label {self.rare_label!r}. {NO_BETTER}",
        )

    def scores(self, codes: Codes) -> Floats:
        """Return the score of every label: log-probabilities up to a constant."""
        return _scores(self, self.weights, codes)

    def probabilities(self, rows: Any) -> Floats:
        """Return the probability of each label, one row a person."""
        scores = self.scores(self.encode(rows))
        parts = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(parts / parts.sum(axis=1, keepdims=True))

    def predict_proba(self, rows: Any) -> Floats:
        """Return `probabilities`, under the name that scikit-learn has for it; columns are in the order of classes."""
        return self.probabilities(rows)

    def predicted(self, codes: Codes) -> NDArray[Any]:
        """Return the label whose score is highest."""
        return np.asarray(np.array(self.classes)[self.scores(codes).argmax(axis=1)])

    def to_frame(self) -> Frame:
        """Return one row a label, with the features that move its score most."""
        heads = np.array(self.weights).reshape(len(self.classes), -1)[:, 1:]
        mean = np.rint(heads.mean(axis=0)).astype(np.int64)
        says = tuple(strongest(self, [head - mean]) for head in heads)
        return Frame((), {"label": self.classes, "by a score of": says})

    def __str__(self) -> str:
        heads = np.array(self.weights).reshape(len(self.classes), -1)[:, 1:]
        names = ", ".join(repr(label) for label in self.classes)
        return f"one of {names}, whichever has the highest score of {strongest(self, heads)}"


@dataclass(frozen=True, kw_only=True)
class LinearNumber(LinearModel):
    """Predicts a number from a score, and says how far off that was among the people of the fit."""

    kind: ClassVar[str] = "linear number"
    weights: tuple[int, ...]
    """In units of 2^-16, the constant first; scores count in three deviations from the mean."""
    scale: tuple[int, int, int]
    """Mean and deviation of the number, and by how much noise may have moved that mean, in cells."""
    table: tuple[int, ...]
    """The noisy table of what the prediction was below the number by, in three deviations to either side."""
    deviation_of_count: int

    def predicted(self, codes: Codes) -> Floats:
        """Return the numbers, held within what the target may be."""
        return self._value(_scores(self, self.weights, codes)[:, 0])

    def intervals(self, rows: Any, confidence: Number = Fraction(9, 10)) -> Floats:
        """Return for each row where the number lies so often, by the released table; one row a person, two columns.

        Quantiles of what predictions were off by; within a bin of the table as a normal law would have them that agrees
        with its ends. They speak of people like those of the fit taken together, not of every kind of person by itself;
        a tail that the table does not reach ends where the target does.
        """
        missed = (1 - float(between_zero_and_one(confidence, "confidence"))) / 2
        scores = _scores(self, self.weights, self.encode(rows))[:, 0]
        below, above = self._off(missed), -self._off(missed, -1)
        return np.stack([self._value(scores + below), self._value(scores + above)], axis=1)

    def predict_interval(self, rows: Any, confidence: Number = Fraction(9, 10)) -> Floats:
        """Return `intervals`, under the name that the learner has for it."""
        return self.intervals(rows, confidence)

    def _off(self, part: float, side: int = 1) -> float:
        """Return below what a part of the people are off, by the table seen from below (1) or from above (-1)."""
        counts = np.array(self.table[::side], np.float64)
        total = counts.sum()
        if total <= 0:
            return -math.inf
        # Noise makes counts negative: taking them as zero would put people into the tails. Sums of them need only rise.
        upto = np.cumsum(counts)[:-1] / total
        upto = (np.maximum.accumulate(upto) + np.minimum.accumulate(upto[::-1])[::-1]) / 2
        place = int((upto <= part).sum())  # in which bin it is
        if place == 0:
            return -math.inf
        edges = np.linspace(-1, 1, len(counts) + 1)
        least = min(part, max(1, self.deviation_of_count) / total)
        ends = [upto[place - 1], upto[place] if place < len(upto) else 1.0]
        low, wanted, high = (NormalDist().inv_cdf(min(1 - least, max(least, at))) for at in (ends[0], part, ends[1]))
        within = (wanted - low) / (high - low) if high > low else 0.0
        return float(edges[place] + within * (edges[place + 1] - edges[place]))

    def figures(self) -> tuple[str, ...]:
        """Say which share of the spread is explained, by the released table, and warn where that may be none."""
        _, deviation, doubt = self.scale
        counts = np.array(self.table, np.float64)
        if deviation**2 <= 2 * doubt * self.cell or counts.sum() < 2 * self.deviation_of_count * math.sqrt(len(counts)):
            return (f"{SHARE}: not known, since the noise is as large as what was measured. {NO_BETTER}",)
        edges = np.linspace(-SPAN, SPAN, len(counts) + 1)
        squares = ((edges[1:] + edges[:-1]) / 2) ** 2
        missed = float((counts * squares).sum() / counts.sum())
        moved = 2 * self.deviation_of_count * float(np.linalg.norm(squares - missed)) / float(counts.sum())
        spread = 2 * doubt * self.cell / deviation**2  # by which part noise may have moved the spread of the target
        interval = (max(-1.0, 1 - (missed + moved) / (1 - spread)), 1 - max(0.0, missed - moved) / (1 + spread))
        return measured(f"{SHARE} among the {self._whose}", max(-1.0, 1 - missed), interval, 0.0, SCALE_OF_SHARE)

    def _value(self, scores: Floats) -> Floats:
        """Return scores in the units of the target, held within its range."""
        low, high = target_ends(self)
        mean, deviation, _ = self.scale
        cells = np.clip((mean + SPAN * deviation * scores) / self.cell, -1.0, 1.0)
        return np.asarray(low + (cells + 1) / 2 * (high - low))

    def to_frame(self) -> Frame:
        """Return one row: what is predicted, and from what."""
        return Frame((), {"predicted": ("a number",), "by a score of": (strongest(self, [self.weights[1:]]),)})

    def __str__(self) -> str:
        return f"a number, by a score of {strongest(self, [self.weights[1:]])}"


def target_ends(model: LinearNumber) -> tuple[float, float]:
    """Return the ends of the target as numbers."""
    assert model.labels.last is not None
    return float(model.labels.decode(model.labels.first)), float(model.labels.decode(model.labels.last))


def standard_of(model: LinearModel, codes: Codes) -> Integers:
    """Return the standardised coordinates of rows, clipped as those of the fit were."""
    parts = [
        Coordinates.of(name, domain).scaled(codes[:, place], model.cell)
        for place, (name, domain) in enumerate(zip(model.features, model.domains, strict=True))
    ]
    centre, deviation = np.array(model.centre, np.int64), np.array(model.deviation, np.int64)
    return standardised_cells(np.hstack(parts), centre, deviation, Grid().unit, model.reach)


def _scores(model: LinearModel, weights: Sequence[int], codes: Codes) -> Floats:
    grid = Grid(cell=model.cell)
    standard = standard_of(model, codes)
    rows = np.hstack([np.full((len(standard), 1), grid.unit, np.int64), standard])
    heads = np.array(weights, np.int64).reshape(-1, rows.shape[1])
    return np.asarray(row_scores(rows, heads, grid) / float(1 << SCORE_BITS))


def strongest(model: LinearModel, heads: Any) -> str:
    """Name the features that move scores most."""
    size = dict.fromkeys(model.features, 0)
    for one in model.axes():
        if one.place not in model.faint:
            size[one.feature] = max(size[one.feature], *(abs(int(head[one.place])) for head in heads))
    first = sorted(size, key=lambda name: -size[name])[:3]
    return f"{', '.join(first)}{' and others' if len(size) > 3 else ''}"


def coefficients(model: LinearModel, heads: Floats, constants: Floats) -> tuple[list[str], Floats, Floats]:
    """Return names, coefficients and intercepts in the units of the features: scores where nothing is clipped.

    `heads` has one row a score and one column a coordinate, in units a deviation.
    """
    columns: list[Floats] = []
    intercept = constants.astype(np.float64)
    for one in model.axes():
        each = heads[:, one.place] / model.deviation[one.place]
        width = one.high - one.low
        columns.append(2 * model.cell * each / width if width else 0 * each)
        middle = (one.high + one.low) / width if width else 0
        intercept = intercept - each * model.centre[one.place] - model.cell * each * middle
    return [one.name for one in model.axes()], np.stack(columns, axis=1), intercept


def _number(value: Any, code: int) -> float:
    """Return a value as a number; truth values and categories count as their codes, dates as their days."""
    return float(value) if isinstance(value, (int, float, Fraction)) else float(code)
