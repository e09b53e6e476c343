"""What every question is: frozen, public, JSON, without data and without a spend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from sfumato.answer import Released
from sfumato.errors import ParameterError
from sfumato.privacy import Bound
from sfumato.release.setting import Prepared, Setting
from sfumato.table.predicate import All, Codes, Predicate, Some, Texts, from_json, to_json
from sfumato.table.schema import Schema
from sfumato.table.where import read_where

_KINDS: dict[str, type[Question]] = {}


@dataclass(frozen=True)
class Question(ABC):
    """Something to ask about a table; preview, planner, command line and service all take questions."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    @abstractmethod
    def prepare(self, setting: Setting, spend: Bound) -> Prepared:
        """Return what runs, made from public facts only."""

    @abstractmethod
    def value(self, released: Released) -> Any:
        """Return the value that was released."""

    @abstractmethod
    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return an interval for the value without noise."""

    def canonical(self, schema: Schema) -> Self:
        """Return the question with its filter in canonical form, checked against the schema."""
        where = getattr(self, "where", None)
        return replace(self, where=read_where(where, schema)) if hasattr(self, "where") else self  # type: ignore[call-arg]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `question_from_json` reads back; equal questions have equal forms."""
        return {"question": self.kind, **{part.name: _plain(getattr(self, part.name)) for part in fields(self)}}

    @classmethod
    def _from(cls, values: Mapping[str, Any]) -> Question:
        """Make the question from the values of its fields."""
        return cls(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, (All, Some, Codes, Texts)):
        return {"where": to_json(value)}
    if isinstance(value, Question):
        return value.to_json()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value


def question_from_json(record: Mapping[str, Any], schema: Schema) -> Question:
    """Read what `Question.to_json` wrote, or what a person wrote; checked against the schema."""
    values = dict(record)
    kind = values.pop("question", None)
    if kind not in _KINDS:
        raise ParameterError(f"There is no question {kind!r}; the questions are {', '.join(sorted(_KINDS))}.")
    known = {part.name for part in fields(_KINDS[kind])}
    for name in values:
        if name not in known:
            raise ParameterError(f"{kind} has no {name!r}; it has {', '.join(sorted(known)) or 'nothing to set'}.")
    read = {name: _read(value, schema) for name, value in values.items()}
    return _KINDS[kind]._from(read).canonical(schema)


def _read(value: Any, schema: Schema) -> Any:
    if isinstance(value, Mapping):
        return from_json(value["where"], schema) if "where" in value else question_from_json(value, schema)
    return tuple(_read(part, schema) for part in value) if isinstance(value, list) else value


Where = str | Predicate | None | Any
"""A SQL condition, an Ibis expression, a predicate, or nothing."""

Numbers = Callable[[Any], tuple[int, ...]]


def flat(values: Any) -> tuple[int, ...]:
    """Return released numbers, a single one or an array of any shape, in one row."""
    return tuple(int(number) for number in (values.ravel().tolist() if hasattr(values, "ravel") else [values]))
