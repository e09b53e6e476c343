"""Tables for `bench.synthetic`: their public schemas, and the true counts that methods are scored against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.domain import bins, categories, integers
from sfumato.table.schema import Schema
from sfumato.workload import Records, Space

ADULT_BINS = {
    "age": (15, 94, 5),
    "fnlwgt": (0, 1_499_999, 100_000),
    "capital_gain": (0, 99_999, 6_250),
    "capital_loss": (0, 4_399, 275),
    "hours_per_week": (0, 99, 7),
}
MOST_COUNTRIES = 15


@dataclass(frozen=True)
class Case:
    """A table, its schema, and the columns to model."""

    name: str
    rows: pa.Table
    schema: Schema
    columns: tuple[str, ...]


def listed(column: pa.ChunkedArray, most: int | None = None) -> Any:
    """Return the categories of a column as a person who knows it would list them: here, in order of the alphabet."""
    values = sorted(value for value in column.unique().to_pylist() if value is not None)
    return (
        categories(*values[:most], missing="other") if most else categories(*values, other="unknown", missing="unknown")
    )


def adult(path: Path) -> Case:
    rows = pq.read_table(path / "adult.parquet").drop_columns(["person", "education"])
    columns: dict[str, Any] = {}
    names = []
    for name in rows.column_names:
        if name in ADULT_BINS:
            low, high, step = ADULT_BINS[name]
            columns[name] = integers(low, high, missing=low)
            columns[f"{name}_bin"] = bins(name, step=step)
            names.append(f"{name}_bin")
            continue
        if name == "education_num":
            columns[name] = integers(1, 16, missing=1)
        elif name == "native_country":
            columns[name] = listed(rows[name], MOST_COUNTRIES)
        elif rows[name].null_count:
            columns[name] = listed(rows[name])
        else:
            values = sorted(rows[name].unique().to_pylist())
            columns[name] = categories(*values, missing=values[0])
        names.append(name)
    return Case("adult", rows, Schema(columns), tuple(names))


def compas(path: Path) -> Case:
    rows = pq.read_table(path / "compas.parquet").drop_columns(["days_b_screening_arrest"])
    columns: dict[str, Any] = {}
    names = []
    for name in rows.column_names:
        values = rows[name].unique().to_pylist()
        if name == "age":
            columns |= {name: integers(18, 97, missing=18), "age_bin": bins(name, step=5)}
            names.append("age_bin")
            continue
        if isinstance(values[0], str):
            columns[name] = categories(*sorted(values), missing=min(values))
        else:
            columns[name] = integers(
                0, {"priors_count": 15, "decile_score": 10}.get(name, min(5, max(values))), missing=0
            )
        names.append(name)
    return Case("compas", rows, Schema(columns), tuple(names))


def nltcs(path: Path) -> Case:
    cells = np.loadtxt(path / "nltcs.csv", delimiter=",", skiprows=1, dtype=np.int64)
    return coded("nltcs", np.repeat(cells[:, :-1], cells[:, -1], axis=0))


def coded(name: str, codes: Any) -> Case:
    """Return a table of codes that start at 0."""
    names = tuple(f"x{place}" for place in range(codes.shape[1]))
    rows = pa.table({column: codes[:, place] for place, column in enumerate(names)})
    schema = Schema({column: integers(0, int(codes[:, place].max()), missing=0) for place, column in enumerate(names)})
    return Case(name, rows, schema, names)


def latent(columns: int, rows: int, seed: int = 0, classes: int = 30) -> Case:
    """Return rows of random latent classes with columns of 2 to 8 codes."""
    draw = np.random.default_rng(seed)
    kind = draw.choice(classes, rows, p=draw.dirichlet(np.ones(classes)))
    found = []
    for _ in range(columns):
        size = int(draw.choice((2, 3, 5, 8)))
        shares = draw.dirichlet(np.full(size, 0.4), classes)[kind].cumsum(axis=1)
        found.append(np.minimum((shares < draw.random(rows)[:, None]).sum(axis=1), size - 1))
    return coded(f"latent-{columns}", np.stack(found, axis=1))


def tree(columns: int, rows: int, seed: int = 0) -> Case:
    """Return rows in which every column depends on a random earlier one."""
    draw = np.random.default_rng(seed)
    found: list[Any] = []
    for place in range(columns):
        size = int(draw.choice((2, 4, 6)))
        alone = draw.dirichlet(np.full(size, 0.7))
        if not place:
            found.append(draw.choice(size, rows, p=alone))
            continue
        parent = found[int(draw.integers(place))]
        shares = draw.dirichlet(alone * size / 2 + 1e-3, int(parent.max()) + 1)[parent].cumsum(axis=1)
        found.append(np.minimum((shares < draw.random(rows)[:, None]).sum(axis=1), size - 1))
    return coded(f"tree-{columns}", np.stack(found, axis=1))


def scores(people: int, seed: int = 31) -> Case:
    """Return six columns with bell shapes that hang together weakly: pairs drown in their noise at small spends."""
    draw = np.random.default_rng(seed)
    factor = draw.standard_normal(people)

    def bell(middle: float, spread: float, weight: float, most: int) -> Any:
        own = draw.standard_normal(people)
        return np.clip(np.round(middle + spread * (weight * factor + np.sqrt(1 - weight**2) * own)), 0, most)

    found = [bell(9, 3, 0.5, 17), bell(6, 2, 0.3, 11), bell(7, 2.5, 0.4, 14)]
    found.append(np.searchsorted([0.84, 0.9, 0.93, 0.96, 0.98, 0.99], draw.random(people) + 0.05 * (factor < -1)))
    found += [draw.integers(0, 2, people), draw.random(people) < 1 / (1 + np.exp(-2.5 - factor))]
    return coded(f"scores-{people}", np.stack(found, axis=1).astype(np.int64))


def rule(people: int, seed: int = 41) -> Case:
    """Return eight even columns, and a label that follows from four of them: no pair shows it."""
    draw = np.random.default_rng(seed)
    inputs = [draw.integers(0, size, people) for size in (3, 4, 4, 3, 2, 3, 3, 5)]
    label = (inputs[0] + inputs[5] * inputs[6] + (inputs[1] > 1) * 2) % 5
    label = np.where(draw.random(people) < 0.05, draw.integers(0, 5, people), label)
    return coded(f"rule-{people}", np.stack([*inputs, label], axis=1))


def copula(people: int, seed: int = 91) -> Case:
    """Return eight ordered columns, each near the one before: set aside, no constant was chosen by it."""
    draw = np.random.default_rng(seed)
    level, found = draw.standard_normal(people), []
    for size in (3, 5, 4, 6, 2, 3, 4, 2):
        level = 0.75 * level + np.sqrt(1 - 0.75**2) * draw.standard_normal(people)
        found.append(np.searchsorted(np.quantile(level, np.sort(draw.random(size - 1))), level))
    return coded(f"copula-{people}", np.stack(found, axis=1))


def chain(people: int, seed: int = 21) -> Case:
    """Return five columns that follow from each other, two of them together: strong pairs, and a few triples."""
    draw = np.random.default_rng(seed)
    first = draw.integers(0, 8, people)
    second = (first + draw.integers(0, 3, people)) % 8
    third = (second // 2 + (draw.random(people) < 0.3)).clip(0, 3)
    fourth = ((first + third) % 3 + (draw.random(people) < 0.2)).clip(0, 3)
    fifth = (draw.random(people) < (0.1 + 0.15 * third)).astype(int)
    return coded(f"chain-{people}", np.stack([first, second, third, fourth, fifth], axis=1))


def planted(people: int, seed: int = 5) -> Case:
    """Return nine even columns, of which the last follows from the two before it: no pair shows anything."""
    draw = np.random.default_rng(seed)
    found = [draw.integers(0, size, people) for size in (2, 3, 4, 3, 2, 3, 2, 3)]
    found.append((found[6] + found[7] + (draw.random(people) < 0.1)) % 3)
    return coded(f"planted-{people}", np.stack(found, axis=1))


def few(people: int, seed: int = 61) -> Case:
    """Return twenty columns of up to twelve values, each near an earlier one: pairs of few people drown."""
    draw = np.random.default_rng(seed)
    found: list[Any] = []
    for place, size in enumerate(draw.integers(2, 13, 30)):
        if not place:
            found.append(draw.choice(size, people, p=draw.dirichlet(np.ones(size))))
            continue
        parent = found[draw.integers(max(0, place - 6), place)]
        shares = draw.dirichlet(np.full(size, 0.7), parent.max() + 1).cumsum(axis=1)[parent]
        found.append(np.minimum((shares < draw.random(people)[:, None]).sum(axis=1), size - 1))
    return coded(f"few-{people}", np.stack(found[:20], axis=1))


class Truth:
    """The exact tables of some width, and how far another distribution is from them."""

    def __init__(self, records: Records, width: int = 3, most: int = 600) -> None:
        self.records = records
        every = list(combinations(records.space.names, width))
        self.sets = every[:: max(1, -(-len(every) // most))]
        self.tables = [records.table(names) / records.total for names in self.sets]

    def distance(self, marginal: Callable[[tuple[str, ...]], Any]) -> tuple[float, float]:
        """Return mean and largest total variation."""
        apart = [
            0.5 * float(np.abs(marginal(names) - table).sum())
            for names, table in zip(self.sets, self.tables, strict=True)
        ]
        return float(np.mean(apart)), float(np.max(apart))

    def distance_of_codes(self, codes: Any) -> tuple[float, float]:
        """Score rows of codes."""
        space: Space = self.records.space
        rows = Records.from_rows(space, codes)
        return self.distance(lambda names: rows.table(names) / rows.total)
