"""A fairness audit of private rows as one release: the table of groups, decisions and labels (MD-AUDIT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import Frame, Released
from sfumato.ask.expected import Expected, typical_release
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where, as_columns
from sfumato.domain import nearest
from sfumato.domain.labels import OTHER
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.fair.audits.cautions import said_of_decisions, spelled_apart
from sfumato.fair.audits.group_counts import UNKNOWN, Group, GroupCounts, Tallied, column_sets
from sfumato.fair.audits.group_report import GroupReport
from sfumato.fair.audits.rates import CellNoise, Share
from sfumato.fair.grid import Floats
from sfumato.privacy import Bound
from sfumato.show.views import readable
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.totals.aggregates import Count
from sfumato.totals.totals import number_of_cells, plan_totals

MOST_CELLS = 4096
LISTED = 10
FORESEEN = (100, 1000)
"""Of groups of so many people a preview says how well rates will be known."""
VERDICTS = 0.95
"""How sure verdicts are, whichever intervals somebody asks for."""
YES_OR_NO = {"yes": True, "true": True, "no": False, "false": False}
"""How people write a truth value; a column of yes and no may be drafted as one."""
ROWS = "rows of a person"
"""The fact that says how many rows of a person count at most, where there is a person column."""
BINS = "derive coarser bins in the schema, or name fewer protected columns"

EARLIER = (
    "An earlier version wrote this answer, and took rows of one person as if each were somebody else's: its intervals "
    "are too narrow if the schema lets people have several. Ask again; what was answered before costs nothing."
)


@dataclass(frozen=True, init=False)
class GroupAudit(Question):
    """How often each group gets the good decision, compared with the others, from one noisy table.

    The table counts people by all protected columns, decision, label and score together; every figure is arithmetic on
    it. Where the schema lets a person have several rows it counts rows, and intervals and verdicts allow for rows of
    one person that are all alike: nothing but the schema is read for that. Promise: a row is in one cell, so replacing
    a person of one row moves the table by 2 in total and adding or removing one by 1, and by so many times that where
    rows_per_person says more; an attribute that the table reads costs what a replaced person does. `favourable` is the
    good decision and `deserving` the label of those who should get it. A missing decision or label has cells of its
    own, and rates leave them out. Both good values must be said, of 0 and 1 too: whether 1 is a loan or a default is
    known to whoever asks, not to a schema. `score` is a column of few values in their order, such as bins: how often
    each group scores high and, with a label, whether a score means the same in every group. With a score the decision
    may be None: then the table has no axis of decisions, and what is said of scores is made of fewer noisy cells. Time
    and memory: one pass, and one number for each cell.
    """

    kind: ClassVar[str] = "GroupAudit"
    title: ClassVar[str] = "Fairness audit"
    typed: ClassVar[tuple[str, ...]] = ("audit",)
    covers: ClassVar[str] = "privacy noise and the luck of who is in the table"
    decision: str | None
    protected: tuple[str, ...]
    label: str | None
    favourable: Any
    deserving: Any
    intersections: int
    where: Where
    score: str | None
    later: ClassVar[Mapping[str, Any]] = {"score": None}

    def __init__(
        self,
        decision: str | None = None,
        protected: str | Sequence[str] = (),
        label: str | None = None,
        *,
        favourable: Any = None,
        deserving: Any = None,
        intersections: int = 2,
        where: Where = None,
        score: str | None = None,
    ) -> None:
        columns = as_columns(protected)
        named = [*columns, *(name for name in (decision, label, score) if name is not None)]
        if not columns or len(set(named)) != len(named) or (decision is None and score is None):
            raise ParameterError(
                "An audit needs a decision and protected columns, each column once; write "
                "curator.audit('hired', ['sex'], favourable='yes'), or for scores alone "
                "curator.audit(protected=['sex'], score='points')."
            )
        if decision is None and favourable is not None:
            raise ParameterError(
                f"favourable={_shown(favourable)} is a value of the decision, and this audit has none; leave it out, "
                "or name the column of decisions."
            )
        column_sets(columns, intersections)
        for name, value in (
            ("decision", decision), ("protected", columns), ("label", label), ("favourable", favourable),
            ("deserving", deserving), ("intersections", intersections), ("where", where),
            ("score", score),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the table that is released."""
        return (*self.protected, *(name for name in (self.decision, self.label, self.score) if name is not None))

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the decision and the protected columns; label, score and the good values stand behind `with`.

        Without a decision, as in 'audit by sex with score=points', it is of scores alone.
        """
        phrase.only("by", "with", "where")
        known = ("label", "favourable", "deserving", "intersections", "score")
        if phrase.method is not None or not phrase.by:
            raise ParameterError(
                "An audit is of decisions by protected columns; write 'audit of hired by sex, race with "
                "favourable=yes', or of scores alone, as in 'audit by sex with score=points'."
            )
        for name in phrase.options:
            if name not in known:
                raise ParameterError(f"An audit has no {name!r}; {nearest(name, known)}")
        decision = None if "score" in phrase.options and not phrase.columns else phrase.column
        return cls(decision, phrase.by, where=phrase.where, **phrase.options)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the counts of all cells."""
        size = number_of_cells(basis.schema, self.keys, BINS)
        if size > MOST_CELLS:
            raise DomainTooLarge(
                f"The table of {', '.join(self.keys)} has {size} cells, and an audit takes {MOST_CELLS}; {BINS}.",
                method="bins",
            )
        if self.decision is not None:
            _value_of(basis.schema, self.decision, self.favourable, "favourable")
        if self.label is not None:
            _value_of(basis.schema, self.label, self.deserving, "deserving")
        if self.score is not None:
            _check_score(basis.schema, self.score)
        prepared = plan_totals((Count(),), basis, spend, self.keys, read_where(self.where, basis.schema))
        gauge, finish = prepared.gauge, prepared.finish
        if gauge.rows == 1 and gauge.unit == 1:
            return prepared

        def finished(raw: Any) -> Released:
            found = finish(raw)
            return replace(found, facts={**found.facts, ROWS: Fraction(gauge.rows)})

        return replace(prepared, finish=finished)

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how well a rate near one half will be known, in the worst group of one protected column."""
        released = typical_release(prepared or self.prepare(basis, spend), basis.people)
        if released is None:
            return None
        report = self._report(released)
        single = [one for one in report.tallied.groups if len(one.group.columns) == 1]
        rates = [one.high if self.decision is None else one.chosen for one in single]
        cells = max((share.cells for share in rates if share is not None), key=sum)
        ends = {size: Share(size / 2, size / 2, cells).interval(VERDICTS, report.tallied.noise) for size in FORESEEN}
        wide = {size: (high - low) / 2 for size, (low, high) in ends.items()}
        # Which decisions count as refusals is public, and should be known before anything is paid.
        figure = "scoring" if self.decision is None else "selection"
        told = [_foreseen(wide, report.tallied.counted, figure), report.not_favourable(), *report.cautions]
        return Expected(wide[FORESEEN[-1]], told=" ".join(said for said in told if said))

    def canonical(self, schema: Schema) -> GroupAudit:
        """Return the audit with its good values written out, so that equal audits have equal forms."""
        good = None if self.decision is None else _value_of(schema, self.decision, self.favourable, "favourable")
        deserved = None if self.label is None else _value_of(schema, self.label, self.deserving, "deserving")
        return GroupAudit(
            self.decision, self.protected, self.label, favourable=good, deserving=deserved,
            intersections=self.intersections, where=read_where(self.where, schema), score=self.score,
        )  # fmt: skip

    def taken(self) -> str:
        """Say which decision counts as the good one, and which label as that of the deserving."""
        if self.decision is None:
            deserving = f"The label of the deserving is {_shown(self.deserving)} of {self.label!r}."
            return "" if self.label is None else deserving
        label = "" if self.label is None else f", and {_shown(self.deserving)} of {self.label!r} that of the deserving"
        return f"The favourable decision is {_shown(self.favourable)} of {self.decision!r}{label}."

    def value(self, released: Released) -> GroupReport:
        """Return the report, with intervals that know the noise."""
        return self._report(released)

    def interval(self, released: Released, confidence: Fraction) -> Frame:
        """Return the figures with their intervals as a table; they cover noise and sampling."""
        return self._report(released).to_frame(float(confidence))

    def separate_intervals(self, released: Released) -> int:
        """Every rate and every comparison has its own."""
        return self.value(released).number_of_intervals

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Say that rows of one person may be alike, where rows are counted."""
        (part,) = released.parts
        if part.unit != 1 and ROWS not in released.facts:
            return (EARLIER,)
        return () if released.facts.get(ROWS, 1) == 1 else (self._report(released).tallied.alike(),)

    def _report(self, released: Released) -> GroupReport:
        (part,) = released.parts
        levels = [list(dict.fromkeys(cell[place] for cell in released.cells)) for place in range(len(self.keys))]
        counts = np.array([float(value) for value in part.values()]).reshape([len(found) for found in levels])
        variance = 0.0 if part.law is None else (part.law.deviation() * float(part.unit)) ** 2
        noise = CellNoise(variance, part.law is not None and part.law.pure, int(released.facts.get(ROWS, 1)))
        table = _Table(dict(zip(self.keys, levels, strict=True)), counts, self)
        groups = [
            table.group(columns, place)
            for columns in column_sets(self.protected, self.intersections)
            for place in np.ndindex(*(len(levels[self.protected.index(name)]) for name in columns))
        ]
        unlabelled = self.label is not None and None in table.levels[self.label]
        decided = [] if self.decision is None else table.levels[self.decision]
        pending, good = None in decided, "" if self.decision is None else str(self.favourable)
        tallied = Tallied(
            tuple(groups), sum(one.people for one in groups if one.group.columns == groups[0].group.columns), noise,
            without_label=None if unlabelled else 0, without_decision=None if pending else 0,
            values=table.values if self.label is not None else (),
        )  # fmt: skip
        said = "" if part.law is None else f"counts carry the noise of privacy, deviation {variance**0.5:.3g} a cell"
        others = tuple(str(level) for level in decided if level is not None and level != self.favourable)
        return GroupReport(
            tallied, (), VERDICTS, private=said, favourable=good, others=others,
            cautions=(*self._spelled(table.levels), *said_of_decisions(good, others), *table.said()),
        )  # fmt: skip

    def _spelled(self, levels: Mapping[str, list[Any]]) -> tuple[str, ...]:
        """Return which groups of the schema differ only in capitals or blanks."""
        return tuple(
            said
            for name in self.protected
            if (said := spelled_apart(name, [level for level in levels[name] if level is not None]))
        )


@dataclass(frozen=True, eq=False)
class _Table:
    """The released counts, and what their axes are."""

    levels: Mapping[str, list[Any]]
    counts: Floats
    audit: GroupAudit

    @cached_property
    def scored(self) -> list[int]:
        """The places of the values of the score, in their order; a missing one is none of them."""
        if self.audit.score is None:
            return []
        return [code for code, level in enumerate(self.levels[self.audit.score]) if level is not None]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the score, in words."""
        return tuple(str(self.levels[self.audit.score or ""][code]) for code in self.scored)

    @cached_property
    def cut(self) -> int:
        """How many values of the score count as low: above them is, of all people, what is nearest to a half.

        It is read from the released counts, so it costs nothing more.
        """
        everybody = self.counts.sum(axis=tuple(range(self.counts.ndim - 1)))[self.scored]
        low = np.cumsum(np.maximum(everybody, 0.0))
        return 1 + int(np.argmin(np.abs(low[:-1] - low[-1] / 2)))

    def said(self) -> tuple[str, ...]:
        """Say which scores count as high, and who has none."""
        if not self.scored:
            return ()
        name, last = self.audit.score, self.values[self.cut - 1]
        high = (
            f"Scoring rates count scores above {last} of {name!r}, the cut that parts all people most evenly by the "
            "released counts; finer bins come nearer to the median."
        )
        missing = f"Whose {name!r} is missing is in no scoring rate and in no calibration."
        return (high, missing) if len(self.scored) < len(self.levels[name or ""]) else (high,)

    def group(self, columns: tuple[str, ...], place: tuple[int, ...]) -> GroupCounts:
        """Return the shares of one group: sums of cells, and how many cells each is the sum of."""
        audit, names = self.audit, list(self.levels)
        index = tuple(place[columns.index(name)] if name in columns else slice(None) for name in names)
        every = self.counts[index]
        values = tuple(_words(self.levels[name][code]) for name, code in zip(columns, place, strict=True))
        parts: dict[str, Any] = {} if audit.decision is None else self._decided(every)
        if self.scored:
            parts["high"] = _of(
                np.take(every, self.scored[self.cut :], -1), np.take(every, self.scored[: self.cut], -1)
            )
        if self.scored and audit.label is not None:
            noted, deserved = self._label
            whole = np.take(every, noted, self._labels)
            parts["bins"] = tuple(_share(np.take(whole, [code], -1), deserved, self._labels) for code in self.scored)
        people = parts["high" if audit.decision is None else "chosen"].total
        return GroupCounts(Group(columns, values), people, **parts)

    @property
    def _labels(self) -> int:
        """The axis of labels."""
        return -1 if self.audit.score is None else -2

    @property
    def _label(self) -> tuple[list[int], int]:
        """The places of labels that are not missing, and which of these is that of the deserving."""
        levels = self.levels[self.audit.label or ""]
        noted = [code for code, level in enumerate(levels) if level is not None]
        return noted, [levels[code] for code in noted].index(self.audit.deserving)

    def _decided(self, cells: Floats) -> dict[str, Any]:
        """Return the shares that are about decisions."""
        audit, labels = self.audit, self._labels
        axis = labels if audit.label is None else labels - 1
        levels = self.levels[audit.decision or ""]
        decided = [code for code, level in enumerate(levels) if level is not None]
        # Who waits for a decision was not refused: the table has cells for them, and no rate is made of these.
        cells = np.take(cells, decided, axis)
        chosen = [levels[code] for code in decided].index(audit.favourable)
        parts = {"chosen": _share(cells, chosen, axis)}
        if audit.label is not None:
            # Whose label is missing is neither deserving nor undeserving, as in an audit of plain rows.
            noted, deserved = self._label
            cells = np.take(cells, noted, labels)
            good, rest = np.take(cells, [deserved], labels), np.delete(cells, deserved, labels)
            parts["hits"], parts["alarms"] = _share(good, chosen, axis), _share(rest, chosen, axis)
            parts["right"] = _share(np.take(cells, [chosen], axis), deserved, labels)
        return parts


def _share(cells: Floats, code: int, axis: int) -> Share:
    return _of(np.take(cells, [code], axis), np.delete(cells, code, axis))


def _of(part: Floats, rest: Floats) -> Share:
    return Share(float(part.sum()), float(rest.sum()), (part.size, rest.size))


def _foreseen(wide: Mapping[int, float], counted: str, figure: str = "selection") -> str:
    """Say how well rates of some groups will be known, by the half width of their intervals.

    >>> _foreseen({100: 0.5, 1000: 0.5}, "rows").split("; ")[1]
    'spend more, or name fewer columns, or write a smaller rows_per_person in the schema if it can be.'
    """
    known = {size: readable(half, half) for size, half in wide.items() if half < 0.5}
    lost = [f"{size:,}" for size in wide if size not in known]
    if not known:
        much = f"There is too much noise to say anything of a group of {lost[-1]} {counted}"
        fewer = ", or write a smaller rows_per_person in the schema if it can be" if counted == "rows" else ""
        return f"{much}; spend more, or name fewer columns{fewer}."
    few = f"; of a group of {lost[-1]} {counted} nothing will be known" if lost else ""
    first, *others = (f"of {size:,} {counted}" for size in known)
    within = [f"{first} is known to within", *(f"{other} to within" for other in others)]
    rates = ", and ".join(f"{words} {half}" for words, half in zip(within, known.values(), strict=True))
    return f"The {figure} rate of a group {rates}, 95 % of the time ({GroupAudit.covers}){few}."


def _check_score(schema: Schema, column: str) -> None:
    """Refuse a score that has no order of few values."""
    domain = schema.domain(column)
    if domain.last is None or domain.size is None or domain.size > MOST_CELLS:
        raise DomainTooLarge(f"{column!r} has too many values to be a score; {BINS}.", method="bins")
    if sum(domain.decode(code) is not None for code in range(domain.first, domain.last + 1)) < 2:
        raise ParameterError(f"{column!r} has a single value, and a score needs two; name another column, or none.")


def _words(level: Any) -> str:
    return UNKNOWN if level is None else str(level)


def _value_of(schema: Schema, column: str, value: Any, option: str) -> Any:
    """Return a value of a column as the released table shows it; which one is good is never guessed."""
    domain = schema.domain(column)
    if domain.last is None or domain.size is None or domain.size > MOST_CELLS:
        raise DomainTooLarge(f"{column!r} has too many values to be a decision or a label; {BINS}.", method="bins")
    found = [domain.decode(code) for code in range(domain.first, domain.last + 1)]
    known = [level for level in found if level is not None]
    if value is None:
        what = "decision is the favourable one" if option == "favourable" else "label is that of the deserving"
        raise ParameterError(
            f"Say which {what}: write {option}={_shown(known[0])}, if that is the good one; the values of {column!r} "
            f"are {', '.join(_shown(level) for level in known[:LISTED])}{', …' if len(known) > LISTED else ''}."
        )
    for level in known:
        if level == value or str(level) == str(value):
            return level
    truth = YES_OR_NO.get(str(value).lower())
    if truth is not None and truth in known and {str(level) for level in known} <= {"False", "True", OTHER}:
        return truth
    raise ParameterError(f"{column!r} has no value {value!r}; {nearest(str(value), [str(level) for level in known])}")


def _shown(level: Any) -> str:
    return repr(level) if isinstance(level, (str, int)) else repr(str(level))
