"""Metrics from the columns of a table: weighted features, whitened features, one score, a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.fair.grid import Floats
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.people import as_floats, as_text, cells, column_names, holds_numbers, people_count, strays, typed
from sfumato.table.csv_files import require_utf_8

TYPICAL_PEOPLE = 2000
"""Of so many people all pairs are looked at to find the typical distance."""


@dataclass(frozen=True)
class Feature:
    """One column of the rule: its weight, and its known categories if it is no number."""

    name: str | int
    weight: float
    categories: tuple[str, ...] | None = None
    fill: float | None = None
    """What a missing number counts as, and a cell that is none; None refuses them."""

    def coordinates(self, people: Any, share: float) -> Floats:
        """Return one coordinate for a number, or a share of the weight in one coordinate a category.

        Two categories differ in two coordinates, so the share is a half where these are summed. Categories that the
        rule has not seen share a coordinate: they differ from all known ones by the full weight.
        """
        values = cells(people, self.name)
        if self.categories is None:
            return (_numbers(values, self.name, self.fill) * self.weight)[:, None]
        text = as_text(values)
        known = text[:, None] == np.array(self.categories)[None, :]
        return np.hstack([known, ~known.any(axis=1, keepdims=True)]) * (self.weight * share)


@dataclass(frozen=True)
class FeatureReader:
    """The rule "weighted differences of these columns"."""

    features: tuple[Feature, ...]
    norm: str = "sum"

    @property
    def category_columns(self) -> tuple[int, ...]:
        """Return the places of coordinates that stand for categories."""
        places: list[int] = []
        start = 0
        for feature in self.features:
            width = 1 if feature.categories is None else len(feature.categories) + 1
            places += range(start, start + width) if feature.categories is not None else []
            start += width
        return tuple(places)

    @property
    def columns(self) -> tuple[str | int, ...]:
        """Return the columns that it reads."""
        return tuple(feature.name for feature in self.features)

    def points(self, people: Any) -> Floats:
        """Return one point a person."""
        if not self.features:
            return np.zeros((people_count(people), 1))
        return np.hstack([feature.coordinates(people, 0.5 if self.norm == "sum" else 1.0) for feature in self.features])


@dataclass(frozen=True, eq=False)
class LinearReader:
    """The rule "numeric columns times a matrix"."""

    columns: tuple[str | int, ...]
    transform: Floats

    def points(self, people: Any) -> Floats:
        """Return one point a person."""
        raw = np.stack([_numbers(cells(people, name), name) for name in self.columns], axis=1)
        return np.asarray(raw @ self.transform, dtype=np.float64)


def from_features(
    people: Any, weights: Mapping[str | int, float] | Sequence[float] | None, norm: str, cap: float | None
) -> PointMetric:
    """Return a metric from weighted features; see `Metric.from_features`."""
    if people_count(people) == 0:
        raise ParameterError("A metric needs at least one person, one row each.")
    chosen = _weights(people, weights)
    features = tuple(_feature(people, name, weight) for name, weight in chosen.items())
    if norm == "euclidean" and any(feature.categories is not None for feature in features):
        raise ParameterError('Categories have no Euclidean distance; write norm="sum", or give their codes as numbers.')
    reader = FeatureReader(features, norm)
    return PointMetric.of_points(reader.points(people), norm, cap, reader)


def typical(people: Any) -> PointMetric:
    """Return the default metric, scaled by the median pair; see `Metric.typical`."""
    if people_count(people) == 0:
        raise ParameterError("A metric needs at least one person, one row each.")
    names = column_names(people)
    features = tuple(_filled_feature(people, name) for name in names)
    reader = FeatureReader(tuple(feature for feature in features if feature.weight > 0))
    metric = PointMetric.of_points(reader.points(people), "sum", None, reader)
    scale = _median_distance(metric)
    return metric if scale == 0 else metric.scaled(1 / scale)


def _filled_feature(people: Any, name: str | int) -> Feature:
    values = typed(cells(people, name), name)
    if not holds_numbers(values):
        return _feature(people, name, 1.0)
    numbers = _floats(values, name, refuse=False)
    known = numbers[~np.isnan(numbers)]
    fill = float(np.median(known)) if len(known) else 0.0
    spread = float(np.std(_numbers(values, name, fill)))
    return Feature(name, 1.0 / spread if spread > 0 else 0.0, None, fill)


def _median_distance(metric: PointMetric) -> float:
    """Return the median distance of evenly spread people, or the smallest above zero if that is zero."""
    rows = np.unique(np.linspace(0, metric.size - 1, min(metric.size, TYPICAL_PEOPLE)).astype(np.int64))
    apart = metric.subset(rows).block()[np.triu_indices(len(rows), 1)]
    middle = float(np.median(apart)) if len(apart) else 0.0
    return middle if middle > 0 else float(apart[apart > 0].min(initial=np.inf)) if (apart > 0).any() else 0.0


def from_covariance(people: Any, covariance: object, cap: float | None) -> PointMetric:
    """Return Mahalanobis' distance; see `Metric.from_covariance`."""
    names = column_names(people)
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (len(names), len(names)) or not np.allclose(matrix, matrix.T):
        raise ParameterError(
            f"covariance must be a symmetric matrix with {len(names)} rows, one a column of the table."
        )
    values, vectors = np.linalg.eigh(matrix)
    if values.min() <= 0:
        raise ParameterError("covariance must be positive definite; add a small multiple of the identity to it.")
    reader = LinearReader(names, vectors / np.sqrt(values))
    return PointMetric.of_points(reader.points(people), "euclidean", cap, reader)


def from_scores(scores: object, scale: float) -> PointMetric:
    """Return the metric of one score; see `Metric.from_scores`."""
    if not scale > 0:
        raise ParameterError(f"scale must be above zero, and {scale} is not; write the difference that counts as 1.")
    metric = PointMetric.of_points(np.asarray(scores, dtype=np.float64).reshape(-1, 1))
    return metric.scaled(1.0 / scale)


def from_toml(path: str | Path, people: Any) -> PointMetric:
    """Return the metric of a TOML file with `[weights]` and optional `norm` and `cap`; see `Metric.from_toml`."""
    if not isinstance(path, (str, Path)) or not Path(path).is_file():
        raise ParameterError(
            f"There is no file {str(path)!r}; write the path of a TOML file with a table [weights] and one line a "
            "column, such as age = 0.05."
        )
    require_utf_8(str(path))
    with Path(path).open("rb") as page:
        try:
            content = tomllib.load(page)
        except tomllib.TOMLDecodeError as problem:
            raise ParameterError(f"{Path(path).name} is no TOML: {problem}.") from None
    unknown = set(content) - {"weights", "norm", "cap"}
    if unknown or not isinstance(content.get("weights"), dict):
        raise ParameterError(
            f"{Path(path).name} must hold a table [weights] with one line a column, such as age = 0.05, "
            f"and may set norm and cap; it must not hold {sorted(unknown) or 'anything else'}."
        )
    cap = content.get("cap")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, (int, float))):
        raise ParameterError(
            f"cap must be a number, and {cap!r} in {Path(path).name} is none; write for example cap = 1.0."
        )
    return from_features(people, content["weights"], content.get("norm", "sum"), cap)


def _weights(people: Any, weights: Mapping[str | int, float] | Sequence[float] | None) -> dict[str | int, float]:
    names = column_names(people)
    if weights is None:
        return {name: _default_weight(people, name) for name in names}
    if not isinstance(weights, Mapping):
        given = list(weights)
        if len(given) != len(names):
            raise ParameterError(f"There are {len(given)} weights for {len(names)} columns; give one a column.")
        weights = dict(zip(names, given, strict=True))
    missing = [name for name in weights if name not in names]
    if missing:
        raise SchemaError(f"The weights name {missing[0]!r}, which is no column; the columns are {list(names)[:12]}.")
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)):
            raise ParameterError(f"The weight of {name!r} must be a number such as 0.1, and {weight!r} is none.")
        if not np.isfinite(weight) or weight < 0:
            raise ParameterError(f"The weight of {name!r} must be finite and not negative, and {weight} is not.")
    return {name: float(weight) for name, weight in weights.items() if weight > 0}


def _default_weight(people: Any, name: str | int) -> float:
    values = typed(cells(people, name), name)
    if not holds_numbers(values):
        return 1.0
    spread = float(np.std(_numbers(values, name)))
    return 1.0 / spread if spread > 0 else 0.0


def _feature(people: Any, name: str | int, weight: float) -> Feature:
    values = cells(people, name)
    return Feature(
        name, weight, None if holds_numbers(typed(values, name)) else tuple(np.unique(as_text(values)).tolist())
    )


def _numbers(values: Any, name: str | int, fill: float | None = None) -> Floats:
    numbers = _floats(values, name, refuse=fill is None)
    if fill is not None:
        numbers = np.where(np.isnan(numbers), fill, numbers)
    if not np.all(np.isfinite(numbers)):
        raise ParameterError(f"Column {name!r} has missing or infinite values; fill them in before making a metric.")
    return numbers


def _floats(values: Any, name: str | int, *, refuse: bool) -> Floats:
    """Return a column of numbers, NaN where one is missing; a cell that is none is missing too, or refused."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    values = typed(np.asarray(values))
    if not holds_numbers(values):
        raise SchemaError(f"Column {name!r} held numbers when the metric was made and now holds text.")
    others = strays(values)
    if refuse and len(others):
        first = f"that of row {others[0] + 1} is none, the first row being 1; make it a number, or leave its row out"
        if len(others) > 1:
            first = (
                f"{len(others):,} of its {len(values):,} cells are none, that of row {others[0] + 1} is the first, the "
                "first row being 1; make them numbers, or leave their rows out"
            )
        raise ParameterError(
            f"Column {name!r} is one of numbers, because most of its cells are, and {first}. If all are codes, write "
            "each as a word such as 'c12'."
        )
    return as_floats(values)
