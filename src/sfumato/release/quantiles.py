"""Quantiles of an ordered column, several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.answer import ErrorUnit, Frame, Measured, Released
from sfumato.errors import ParameterError, SchemaError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one
from sfumato.privacy import Bound
from sfumato.release.quantile_choice import QuantileChoice, rank_error
from sfumato.release.question import Question, Where
from sfumato.release.setting import Prepared, Setting
from sfumato.select.fit import range_epsilon
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.where import read_where

LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True, init=False)
class Quantiles(Question):
    """The values below which given parts of the rows lie, chosen from the column's public range.

    Duplicates, values at the ends of the range, a single row: there is always an answer. The error is one of rank,
    the same whatever the values are.
    """

    kind: ClassVar[str] = "Quantiles"
    error_unit: ClassVar[ErrorUnit] = "rank"
    column: str
    probabilities: tuple[Fraction, ...]
    where: Where

    def __init__(
        self,
        column: str,
        probabilities: Number | Sequence[Number] = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        where: Where = None,
    ) -> None:
        alone = isinstance(probabilities, str) or not isinstance(probabilities, Sequence)
        given: Sequence[Any] = [probabilities] if alone else probabilities  # type: ignore[assignment]
        chances = tuple(sorted({between_zero_and_one(part, "a probability") for part in given}))
        if not chances or any(part.denominator > LARGEST_DENOMINATOR for part in chances):
            raise ParameterError("Quantiles needs probabilities of at most six digits; write [0.25, 0.5, 0.75].")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "probabilities", chances)
        object.__setattr__(self, "where", where)

    def plan(self, setting: Setting, spend: Bound) -> Prepared:
        """Give each quantile an equal part of the spend."""
        schema, rule = setting.schema, setting.rule
        domain = schema.domain(self.column)
        if domain.size is None:
            raise SchemaError(f"{self.column!r} holds text, which has no order here; ask for a histogram.")
        where = read_where(self.where, schema)
        columns = {self.column, *predicate_columns(where)}
        chances = self.probabilities
        epsilon = range_epsilon(spend.split(len(chances)))
        if epsilon == 0:
            raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero.")
        mechanism = QuantileChoice(
            size=domain.size,
            probabilities=chances,
            epsilon=epsilon,
            weight=rule.rows * rule.scale,
            scale=rule.scale,
            relation=setting.relation,
            reads=setting.charged(columns),
        )
        facts = {"possible values": Fraction(domain.size), "steepness": mechanism.steepness()}

        def read(view: Any) -> Any:
            codes, counts = view.distribution(self.column, where)
            return codes.astype(object) - domain.first, counts

        def finish(raw: Sequence[int]) -> Released:
            codes = tuple(domain.first + place for place in raw)
            values = tuple((chance, domain.decode(code)) for chance, code in zip(chances, codes, strict=True))
            return Released((Measured("code", codes, None),), ("probability", self.shown), values, facts)

        return Prepared(frozenset(columns), mechanism, read, finish, rule.way)

    @property
    def shown(self) -> str:
        """The name of the quantiles in a table."""
        return self.column if self.column != "probability" else "quantile"

    def value(self, released: Released) -> Any:
        """Return the probabilities and their quantiles."""
        return released.frame({})

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return how many rows away from its rank each quantile is at most, all together; values have no interval."""
        facts, count = released.facts, len(released.cells)
        error = rank_error(int(facts["possible values"]), facts["steepness"], count, confidence)
        chances = tuple(cell[0] for cell in released.cells)
        return Frame(("probability",), {"probability": chances, "rank error": (error,) * count})
