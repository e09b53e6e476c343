"""The private part of a statement as a question: totals, numbers of people or quantiles of flat rows (SQ-SELECT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

from sfumato.answer import NOISE_ONLY, ErrorUnit, Released
from sfumato.answer.measured import NoisyPart
from sfumato.ask.prepared import Prepared, Several
from sfumato.ask.question import Question, flat
from sfumato.errors import ParameterError
from sfumato.grammar import parse_statement, printed, tree
from sfumato.privacy import Bound
from sfumato.questions.quantiles.question import Quantiles
from sfumato.sql.boxes import NamedBox, plan_boxes, plan_found_boxes
from sfumato.sql.by_group import understood
from sfumato.sql.formulas import Formula, SumOfMean, formula
from sfumato.sql.options import GROUPS
from sfumato.sql.plan import StatementPlan, Total, ends_of, plan_of
from sfumato.sql.scope import bare
from sfumato.sql.spelled import apart
from sfumato.table import measure
from sfumato.table.boxes import Box
from sfumato.table.database import Database, database_of
from sfumato.table.expression import Expression
from sfumato.table.flat import FlatSchema
from sfumato.table.gauge import Basis
from sfumato.table.notes import clamped, filled, unlisted, weighed_rows
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.totals.aggregates import Count, doubts_of_means, unknown_cells
from sfumato.totals.found_keys import plan_found
from sfumato.totals.noisy import Moves, noisy_total
from sfumato.totals.totals import all_cells, number_of_cells, plan_totals, table_between, table_of


@dataclass(frozen=True)
class Select(Question):
    """The keys and totals of one statement, in canonical form; what is computed from them afterwards is not part of it.

    Make one by `curator.sql`; `statement` alone is stored, and says everything.
    """

    kind: ClassVar[str] = "Select"
    error_unit: ClassVar[ErrorUnit] = "value"
    covers: ClassVar[str] = NOISE_ONLY
    statement: str

    def canonical(self, schema: Schema | Database) -> Self:
        """Return the question with its statement in canonical form, checked against the schema."""
        plan = compiled(self.statement, database_of(schema))
        _check_alone(self.statement)
        if len(parts_of(plan)) != 1:
            raise ParameterError("Totals, numbers of people and quantiles are separate questions; ask by curator.sql.")
        return replace(self, statement=plan.text())

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the totals of all cells, with what the flat rows let a person move."""
        made = Made.of(self.statement, database_of(basis.schema), clamps=basis.clamps)
        inner = replace(basis, schema=made.schema)
        if made.kind == "quantiles":
            return made._quantiles().plan(inner, spend)
        if made.kind == "people":
            return _plan_people(made, inner, spend)
        if made.kind == "found_boxes":
            boxes = tuple(one.box for one in made.boxes)
            found = measure.FoundBoxes(made.keys, boxes, made.schema.where, made.groups)
            return plan_found_boxes(made.boxes, inner, spend, found)
        if made.kind == "boxes":
            return plan_boxes(made.boxes, inner, spend, made.keys, made.schema.where, groups=made.groups)
        aggregates = [one.aggregate for one in made.formulas]
        if made.kind == "found":
            return plan_found(aggregates, inner, spend, made.keys, made.schema.where)
        return plan_totals(aggregates, inner, spend, made.keys, made.schema.where)

    def value(self, released: Released) -> Any:
        """Return the released numbers of every cell."""
        return released.frame({part.name: part.values() for part in released.parts})

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return the ends of the released numbers."""
        ends = {
            part.name: [part.between(cell, confidence) for cell in range(len(released.cells))]
            for part in released.parts
        }
        return released.frame(
            {
                f"{name}, {word}": tuple(pair[place] for pair in pairs)
                for name, pairs in ends.items()
                for place, word in enumerate(("low", "high"))
            }
        )

    def separate_intervals(self, released: Released) -> int:
        """Every cell has its own."""
        return len(released.cells)


@dataclass(frozen=True, eq=False)
class Made:
    """A statement made ready: the flat table that a gauge sees, and the formulas of its aggregates."""

    kind: str
    schema: FlatSchema
    keys: tuple[str, ...]
    formulas: tuple[Formula, ...]
    chances: tuple[Fraction, ...]
    texts: tuple[str, ...]
    chances_of_texts: tuple[Fraction, ...] = ()
    """The probability of each quantile, in the order of the texts."""
    boxes: tuple[NamedBox, ...] = ()
    groups: int | None = None
    """In how many groups a person counts at most, by the statement or by the schema."""

    @classmethod
    def of(cls, statement: str, database: Database, *, clamps: bool = True) -> Made:
        """Return what a canonical statement means; without `clamps` as earlier versions planned a CASE that is one."""
        return _made(statement, database, clamps)

    def columns(self, released: Released) -> dict[str, tuple[Any, ...]]:
        """Return the value of each aggregate in every cell, by its canonical text."""
        if self.kind == "quantiles":
            found = dict(released.cells)
            return {text: (found[chance],) for text, chance in zip(self.texts, self.chances_of_texts, strict=True)}
        if self.kind == "people":
            return {self.texts[0]: _people_of(released)}
        if self.kind in ("boxes", "found_boxes"):
            clamped = {box.name: box.shown(released) for box in self.boxes}
            return {text: clamped[text] if text in clamped else _people_of(released) for text in self.texts}
        shown = table_of(released, [_labelled(one) for one in self.formulas])
        return {one.text: shown.columns[one.text] for one in self.formulas}

    def ends(self, released: Released, confidence: Fraction) -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Return the ends of each aggregate in every cell, by its canonical text; quantiles have none."""
        if self.kind == "quantiles":
            return {}
        if self.kind == "people":
            return {self.texts[0]: _people_between(released, confidence)}
        if self.kind in ("boxes", "found_boxes"):
            ends = {box.name: box.between(released, confidence) for box in self.boxes}
            return {text: ends[text] if text in ends else _people_between(released, confidence) for text in self.texts}
        shown = table_between(released, [_labelled(one) for one in self.formulas], confidence)
        return {
            one.text: (shown.columns[f"{one.text}, low"], shown.columns[f"{one.text}, high"]) for one in self.formulas
        }

    def rank_errors(self, released: Released, confidence: Fraction) -> dict[str, int]:
        """Return by how many ranks each quantile may be off, all of them at once, by its canonical text."""
        if self.kind != "quantiles":
            return {}
        (error, *_) = self._quantiles().interval(released, confidence)["rank error"]
        return dict.fromkeys(self.texts, error)

    def expected_rank_error(self, basis: Basis, spend: Bound) -> float:
        """Return by how many ranks the quantiles are expected to be off at most; from public numbers alone."""
        return self._quantiles().expected(basis, spend).size

    def _quantiles(self) -> Quantiles:
        return Quantiles("value_1", self.chances, self.schema.where)

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what a reader should know of means of nothing, and of quantiles that tell nothing."""
        if self.kind == "quantiles":
            return replace(self._quantiles(), where=None).doubts(released)  # a flat table always has a condition
        return doubts_of_means([one.aggregate for one in self.formulas], released) if self.formulas else ()

    def unknown(self, released: Released) -> dict[str, tuple[bool, ...]]:
        """Return in which cells nothing is known of a mean or a variance, by its canonical text."""
        averages = [one for one in self.formulas if not isinstance(one.aggregate, SumOfMean)]
        found = [(one.text, unknown_cells((one.aggregate,), released)) for one in averages]
        return {text: marks for text, marked in found for marks in marked.values()}


def _people_of(released: Released) -> tuple[int | float, ...]:
    """Return the number of people in every cell, which is the first of what was released."""
    return tuple(Count().shown(value) for value in released.parts[0].values())


def _people_between(released: Released, confidence: Fraction) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    pairs = [Count().between(released.parts[0].between(cell, confidence)) for cell in range(len(released.cells))]
    return tuple(low for low, _ in pairs), tuple(high for _, high in pairs)


class _Labelled:
    """A formula under the text of its aggregate."""

    def __init__(self, one: Formula) -> None:
        self._aggregate, self.label = one.aggregate, one.text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._aggregate, name)


def _labelled(one: Formula) -> Any:
    return _Labelled(one)


@lru_cache(maxsize=256)
def compiled(statement: str, database: Database) -> StatementPlan:
    """Return the plan of a statement."""
    return plan_of(understood(statement, database), database)[0]


def parts_of(plan: StatementPlan) -> list[tuple[str, tuple[Total, ...]]]:
    """Return what a plan asks for in questions of one kind each: totals, people, quantiles of one expression."""
    groups: dict[str, list[Total]] = {}
    for total in plan.totals:
        if total.boxed:
            kind = "boxes"
        elif total.distinct:
            kind = "people"
        elif total.function in ("MEDIAN", "QUANTILE_CONT"):
            value = total.value
            kind = f"quantiles {'' if value is None else value.text}"
        else:
            kind = "totals"
        groups.setdefault(kind, []).append(total)
    if not groups:
        raise ParameterError("Rows are not released; write aggregates, or GROUP BY x with COUNT(*).")
    if plan.found and not plan.flat.everybody:
        return [("found_boxes", plan.totals)]
    if plan.found:
        if set(groups) != {"totals"}:
            raise ParameterError(
                "Groups that nobody can list have COUNT, SUM, AVG and variances; write COUNT(*) for people, no bounds."
            )
        return [("found", tuple(groups["totals"]))]
    if plan.keys and any(kind.startswith("quantiles") for kind in groups):
        raise ParameterError(
            f"Quantiles are of all rows; {_by_group(plan)}make one value a person in WITH first, and "
            "ask with WHERE for each group."
        )
    return [(kind.split(" ", 1)[0], tuple(totals)) for kind, totals in groups.items()]


def _by_group(plan: StatementPlan) -> str:
    """Return the line that asks for quantiles by group where one table has them, the beginning of a sentence."""
    value = next(total.value for total in plan.totals if total.function in ("MEDIAN", "QUANTILE_CONT"))
    names = [part.text.rpartition(".")[2] for part in (*plan.keys, *(() if value is None else (value,)))]
    if plan.pers or plan.flat.joins or value is None or not all(name.isidentifier() for name in names):
        return ""
    by = repr(names[0]) if len(plan.keys) == 1 else repr(names[:-1])
    return f"of a single table write curator.quantiles({names[-1]!r}, by={by}, spend=Pure(0.1)); else "


@lru_cache(maxsize=256)
def _made(statement: str, database: Database, clamps: bool) -> Made:
    plan = compiled(statement, database) if clamps else plan_of(apart(understood(statement, database)), database)[0]
    ((kind, totals),) = parts_of(plan)
    values: dict[str, Expression] = {f"key_{place}": key for place, key in enumerate(plan.keys, 1)}
    keys = tuple(values)
    named: dict[str, str] = {}
    for total in totals:
        value = total.value
        if value is not None and value.text not in named and not (total.function == "COUNT" and not value.nullable):
            named[value.text] = f"value_{len(named) + 1}"
            values[named[value.text]] = value
    schema = FlatSchema.of(plan.flat, values, database.attributes, plan.text(), rules_of(plan, totals, database))
    groups = groups_kept(plan, database)
    if kind == "quantiles":
        chances = tuple(Fraction(1, 2) if total.chance is None else total.chance for total in totals)
        return Made(kind, schema, keys, (), tuple(sorted(set(chances))), tuple(total.text for total in totals), chances)
    if kind in ("boxes", "found_boxes"):
        boxes = tuple(_box(total, named, schema) for total in totals if total.boxed)
        texts = tuple(total.text for total in totals)
        return Made(kind, schema, keys, (), (), texts, boxes=boxes, groups=groups)
    averaged = {value.text for total in totals if total.function == "AVG" and (value := total.value) is not None}
    formulas = () if kind == "people" else tuple(_formula(total, named, averaged) for total in totals)
    return Made(kind, schema, keys, formulas, (), tuple(total.text for total in totals), groups=groups)


def groups_kept(plan: StatementPlan, database: Database) -> int | None:
    """Return in how many groups a person counts at most: as written, or as the schema of the events says."""
    anchor = plan.flat.anchor
    if plan.groups is not None or anchor.kind != "event":
        return plan.groups
    return database.private[anchor.table].groups_per_person


def rules_of(plan: StatementPlan, totals: Sequence[Total], database: Database) -> tuple[str, ...]:
    """Return what was done to rows and people, from the plan alone."""
    flat = plan.flat
    found = []
    counted, bounded = any(total.distinct for total in totals), any(total.bounds is not None for total in totals)
    if counted:
        found.append("COUNT(DISTINCT …) counts a person once, however many rows they have.")
    if bounded:
        found.append("What a person adds to a group is clamped to the bounds written; how much that cuts is unknown.")
    if not (counted or bounded or flat.everybody):
        found.append(weighed_rows(flat.rows_per_person, flat.anchor.table))
    kept = groups_kept(plan, database)
    if kept is not None and plan.keys and any(total.distinct or total.bounds is not None for total in totals):
        found.append(f"A person counts in at most {kept} of their groups, in a keyed order; what is cut is unknown.")
    people = database.people_table
    # Without a column that tells people apart every row is a person, and nobody has two.
    if flat.everybody and flat.anchor.kind == "people" and people and database.private[people].person is not None:
        found.append("A person who has more than one row counts as one row in which every cell is missing.")
    if plan.pers:
        found.append("What is computed for a person is clamped to its public range; how much that cuts is unknown.")
    for per in plan.pers:
        rows = per.table.flat
        if not rows.everybody:
            limit = f"at most {rows.rows_per_person} (rows_per_person of {rows.anchor.table})"
            found.append(f"In {per.name} a person's COUNT(*) is {limit}.")
    found += _repeated_keys(plan, database)
    found += dict.fromkeys(_left_out(of, database) for total in totals if (of := total.of) is not None and of.nullable)
    found += [_own_group(key, database) for key in plan.keys if key.nullable]
    domains = {name: database.domain(name) for name in sorted(plan.reads)}
    for said in (clamped, filled, unlisted):
        found += [note for name, domain in domains.items() for note in said(name, domain)]
    return tuple(found)


def _repeated_keys(plan: StatementPlan, database: Database) -> list[str]:
    """Say what becomes of events of a person that have one key, where events lead to it."""
    flats = [plan.flat, *(per.table.flat for per in plan.pers)]
    events = {
        side.table
        for flat in flats
        for side in (flat.anchor, *(join.side for join in flat.joins))
        if side.kind == "event"
    }
    keys = {name: key for name in sorted(events) if (key := database.key_of(name)) is not None}
    return [
        f"Rows of a person in {name} with the same {key} are one row in which every cell is missing."
        for name, key in keys.items()
    ]


def _left_out(value: Expression, database: Database) -> str:
    """Say what becomes of missing values of what is added up or put into order."""
    name = _column_of(value, database)
    if name is None:
        return f"Where {value.text} is missing, it is left out."
    if not database.domain(name).may_be_missing:
        return f"Where no row gives {name!r}, it is left out."
    return f"Cells of {name!r} that are missing or cannot be read are left out."


def _own_group(key: Expression, database: Database) -> str:
    """Say what becomes of missing values of what is grouped by."""
    name = _column_of(key, database)
    if name is None:
        return f"Where {key.text} is missing, that is a group of its own."
    if not database.domain(name).may_be_missing:
        return f"Where no row gives {name!r}, that is a group of its own."
    return f"Missing cells of {name!r} are a value of their own."


def _column_of(value: Expression, database: Database) -> str | None:
    """Return the declared column that an expression is, None if it is computed."""
    ending = value.text.rpartition(".")[2].strip('"')
    found = [name for name in value.reads if name.rpartition(".")[2] == ending and name in database.attributes]
    return found[0] if len(found) == 1 and len(value.reads) == 1 else None


def _box(total: Total, named: Mapping[str, str], schema: FlatSchema) -> NamedBox:
    """Return what one aggregate with bounds adds up."""
    value = total.value
    if total.function == "SUM":
        assert value is not None
        part, step = Part(Power.SUM, named[value.text]), value.step
    elif value is not None and value.nullable:
        part, step = Part(Power.PRESENT, named[value.text]), Fraction(1)
    else:
        part, step = COUNT, Fraction(1)
    return NamedBox(total.text, Box(part, *ends_of(total)), step)


def _check_alone(statement: str) -> None:
    """Refuse what a question alone would drop: what is computed afterwards belongs to `curator.sql`."""
    parsed = parse_statement(statement)
    select = parsed.select
    priced = [option for option in select.options if option.name.text.lower() != GROUPS]
    after = select.having or select.order or select.limit or priced or parsed.explain
    if after or isinstance(select.source, tree.Inner):
        raise ParameterError("A Select is keys and aggregates alone; ask a statement with more in it by curator.sql.")
    keys = {printed(bare(key)) for key in select.keys}
    for place, item in enumerate(select.items, 1):
        of = bare(item.of)
        if item.alias is not None:
            keys |= {printed(of)} if printed(tree.Column(item.alias)) in keys else set()
        if not isinstance(of, (tree.Aggregate, tree.Column)) and printed(of) not in keys and str(place) not in keys:
            raise ParameterError(f"{printed(of)} is computed afterwards; ask by curator.sql.")


def _formula(total: Total, named: Mapping[str, str], averaged: set[str]) -> Formula:
    value = total.value
    rows = value is None or not value.nullable
    column = None if value is None else named.get(value.text)
    return formula(
        total.text, total.function, column, counts_rows=rows, averaged=value is not None and value.text in averaged
    )


def _plan_people(made: Made, basis: Basis, spend: Bound) -> Prepared:
    size = number_of_cells(basis.schema, made.keys, "declare the labels of the keys")
    cells = all_cells(basis.schema, made.keys)
    gauge = basis.gauge(measure.People(made.keys, made.schema.where, made.groups))
    total = noisy_total(gauge.priced(spend), Moves.of(gauge), size)

    def arrange(found: Any) -> tuple[Any, ...]:
        return (total.rounded(found[0]),)

    def finish(raw: Any) -> Released:
        return Released((NoisyPart("people", flat(raw[0]), total.law, total.unit),), made.keys, cells)

    return Prepared(gauge, Several(mechanisms=(total.mechanism,), relation=basis.relation), finish, arrange)
