"""Domains in which every missing cell is replaced by a value, for tests that are about something else.

They have the sizes, codes and JSON that a domain has without a level for missing cells: null becomes the lowest value,
or `other`, unless `missing=` says what it becomes.
"""

from __future__ import annotations

from typing import Any

from sfumato import domain
from sfumato.domain import *  # noqa: F403  so that a module can stand for sfumato.domain

__all__ = domain.__all__


def integers(low: int, high: int, *, missing: int | None = None, public: bool = False) -> domain.Integers:
    return domain.integers(low, high, missing=low if missing is None else missing, public=public)


def fixed(low: Any, high: Any, *, step: Any, missing: Any = None, public: bool = False) -> domain.FixedPoint:
    return domain.fixed(low, high, step=step, missing=low if missing is None else missing, public=public)


def categories(*values: Any, other: Any = None, missing: Any = None, public: bool = False) -> domain.Categories:
    stand_in = (values[0] if other is None else other) if missing is None and values else missing
    return domain.categories(*values, other=other, missing=stand_in, public=public)


def booleans(*, missing: bool = False, public: bool = False) -> domain.Booleans:
    return domain.booleans(missing=missing, public=public)


def dates(earliest: Any, latest: Any, *, missing: Any = None, public: bool = False) -> domain.Dates:
    return domain.dates(earliest, latest, missing=earliest if missing is None else missing, public=public)


def text(*, max_bytes: int, missing: str = "", public: bool = False) -> domain.Text:
    return domain.text(max_bytes=max_bytes, missing=missing, public=public)
