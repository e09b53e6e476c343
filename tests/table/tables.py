"""Small tables for the tests of views: visits of people to a doctor."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import domain
from sfumato.table.schema import Schema

TOWNS = ("Ayr", "Bath", "Cork", "Deal", "Ely", "Frome")


def visits(rows: int, people: int, seed: int) -> pa.Table:
    """Return visits with some bad cells; every person has at least one visit."""
    draw = np.random.default_rng(seed)  # noqa: TID251
    person = np.concatenate([np.arange(people), (draw.random(rows - people) ** 2 * people).astype(int)])
    town = draw.choice([*TOWNS, "Nowhere", None], rows).tolist()  # type: ignore[arg-type]
    age = draw.integers(-5, 120, rows)
    cost: list[Any] = draw.choice([np.nan, np.inf, 12.345, 0.005, 3.0, 99.99, -4.0, 1e300], rows).tolist()
    born = [date(1950, 1, 1) + timedelta(days=int(day)) for day in draw.integers(-1_000, 30_000, rows)]
    note = draw.choice(["", "a", "naïve", "naïveté", "🙂🙂🙂", "long enough to cut", None], rows).tolist()
    return pa.table(
        {
            "number": pa.array(person * 7_919_777_777 - 10**12, pa.int64()),
            "name": pa.array([f"person {who}" for who in person], pa.string()),
            "town": pa.array(town, pa.string()),
            "age": pa.array([None if one % 11 == 0 else int(one) for one in age], pa.int32()),
            "cost": pa.array(cost, pa.float64()),
            "born": pa.array(born, pa.date32()),
            "note": pa.array(note, pa.string()),
        }
    )


def visits_schema(person: str | None, rows: int = 1, groups: int | None = None) -> Schema:
    """Return the schema of the visits."""
    return Schema(
        {
            "town": domain.categories(*TOWNS, "elsewhere", other="elsewhere"),
            "age": domain.integers(0, 99, missing=50),
            "cost": domain.fixed(0, 100, step="0.01"),
            "born": domain.dates("1950-01-01", "2019-12-31"),
            "note": domain.text(max_bytes=7),
            "decade": domain.bins("age", step=10),
            "month": domain.months("born"),
        },
        person=person,
        rows_per_person=rows,
        groups_per_person=groups,
    )
