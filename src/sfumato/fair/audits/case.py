"""What is inspected: people, who is protected, how everybody is treated, and what else is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError, warn
from sfumato.fair.audits.decisions import read_decisions
from sfumato.fair.audits.group_counts import UNKNOWN, known, noted
from sfumato.fair.audits.nearby import Matched, match, positions, smooth
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.grid import Floats, Integers, check_probabilities
from sfumato.fair.metric.base import Metric
from sfumato.fair.people import (
    as_numbers,
    as_text,
    column,
    column_names,
    is_numeric,
    people_count,
    select_rows,
    without,
)
from sfumato.noise import Noise
from sfumato.table.names import is_key_of_people, is_person, may_be_person
from sfumato.words import nearest

_DECIMALS = re.compile(r"[-+]?\d*[.,]0*[1-9]\d*([eE].*)?")
NEIGHBOURS = 25
SMALLEST_GROUP = 2


@dataclass(frozen=True, eq=False)
class Case:
    """One inspection: `inside` marks the group that is asked about.

    `favourable` is everybody's chance of the good outcome. Where `both` is True, checks that look for harm to one group
    are made for either of the two.
    """

    people: Any
    inside: NDArray[np.bool_]
    group_names: tuple[str, str]
    probabilities: Floats
    favourable: Floats
    only_decisions: bool
    metric: Metric | None
    merit: Floats | None
    segments: NDArray[Any] | None
    protected_column: str | int | None
    labels: NDArray[np.str_]
    model: Callable[[Any], Floats] | None = None
    notes: list[str] = field(default_factory=list)
    apart: frozenset[str | int] = frozenset()
    """Columns that do not describe people: the protected one, the label, keys, and what was not named."""
    keys: tuple[str, ...] = ()
    """Those of them that are apart because they are keys."""
    rows: Integers | None = None
    """Which rows of the table these people are, where they are a part of it."""
    good: str = ""
    """What the good outcome is called; nothing where there are only chances of it."""
    not_good: tuple[str, ...] = ()
    """All other decisions, where there are decisions."""
    place: int = 1
    """Which outcome is the good one."""
    both: bool = False
    segments_name: str = "segment"
    """What the column of places is called."""

    @property
    def protected_name(self) -> str:
        """What the protected column is called."""
        return "group" if self.protected_column is None else str(self.protected_column)

    @property
    def member(self) -> str:
        """What the group that is asked about is called."""
        return self.group_names[0]

    @property
    def others(self) -> str:
        """What the people outside of it are called."""
        name = self.group_names[1]
        return "the others" if name == f"not {self.member}" else name

    def worse_off(self, difference: float) -> str:
        """Return who gets less, where the group gets the good outcome more often by a difference."""
        return self.member if difference < 0 else self.others

    @cached_property
    def turned(self) -> Case:
        """Return the same people, and the other group as the one that is asked about."""
        other = replace(self, inside=~self.inside, group_names=(self.others, self.member))
        # Nobody's neighbours depend on who is asked about, and to find them is most of the work.
        vars(other).update({name: vars(self)[name] for name in _OF_ALL if name in vars(self)})
        return other

    @property
    def size(self) -> int:
        """Return the number of people."""
        return len(self.favourable)

    def rows_of(self, marked: NDArray[np.bool_]) -> Integers:
        """Return the rows of the table in which those stand who are marked."""
        return self.table_rows[marked]

    @property
    def table_rows(self) -> Integers:
        """Return the row of the table in which each person stands."""
        return np.arange(self.size) if self.rows is None else self.rows

    @cached_property
    def near(self) -> Integers:
        """Return everybody's nearest neighbours under the metric."""
        if self.metric is None:
            raise ParameterError("This check needs a metric; give metric=.")
        return self.metric.neighbours(NEIGHBOURS)

    @cached_property
    def places(self) -> Integers:
        """Return everybody's place under the metric: equal for people at distance zero."""
        if self.metric is None:
            raise ParameterError("This check needs a metric; give metric=.")
        return positions(self.metric)

    @cached_property
    def matched(self) -> Matched:
        """Return members of the group, each with a person outside who is nearly the same under the metric."""
        if self.metric is None:
            raise ParameterError("This check needs a metric; give metric=.")
        return match(self.metric, self.inside, self.places, Noise(insecure_seed=5))

    def explained(self, values: Floats) -> Floats:
        """Return the mean of everybody's neighbours: what the metric alone explains, or the mean of all without one."""
        if self.metric is None:
            return np.full(self.size, float(values.mean()))
        return smooth(values, self.near, self.places)

    @cached_property
    def smoothed(self) -> Floats:
        """Return the mean treatment of everybody's neighbours."""
        return self.explained(self.favourable)

    @cached_property
    def unexplained(self) -> Floats:
        """Return what is left of everybody's treatment."""
        return self.favourable - self.smoothed

    @cached_property
    def standing(self) -> Floats:
        """Return what is left of belonging to the group."""
        member = self.inside.astype(np.float64)
        return member - self.explained(member)

    @cached_property
    def features(self) -> Floats:
        """Return all features but the protected one as numbers, standardised."""
        numbers = as_numbers(without(self.people, set(self.apart)))
        spread = numbers.std(axis=0)
        return np.asarray((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


_OF_ALL = ("near", "places", "smoothed", "unexplained", "features")
"""What a case finds about people whichever group is asked about."""


def make_case(
    model: Any, people: Any, protected: Any, *, metric: Metric | Mapping[str | int, float] | None, label: Any,
    segments: Any, group: Any, favourable: Any, deserving: Any = None,
    features: str | Sequence[str | int] | None = None,
) -> Case:  # fmt: skip
    """Return a checked case; see `audit` for what each argument may be."""
    count = people_count(people)
    _require_treatment(model, people)
    name, labels, inside, names = _protected(people, protected, group, count)
    ask = _asker(model, people)
    raw = ask(people) if ask is not None else model
    probabilities, only_decisions, place, good, not_good = _treatment(raw, model, favourable, count)
    judged = ~np.isnan(probabilities[:, place])
    groups = inside & judged, ~inside & (labels != UNKNOWN) & judged
    _both_decided(groups, names)
    bound = None if metric is None else _bound_metric(metric, people, count)
    if bound is not None and name is not None and name in bound.columns:
        warn(
            f"The metric itself reads the protected column {name!r}: people who differ in it count as less similar, so "
            "treating them differently passes as fair. Leave the column out of the weights unless the law says so.",
            FairnessWarning,
        )
    read = () if bound is None else bound.columns
    apart = _apart(people, name, label, features, read)
    described = [one for one in column_names(people) if one not in apart and one not in read]
    keys = () if features is not None else _keys(people, described)
    return Case(
        people, inside, names, probabilities, probabilities[:, place], only_decisions, bound,
        _both_labelled(_merit(people, label, deserving, count), groups, names),
        _segments(people, segments, count), name, labels,
        ask if name is not None else None,
        apart=apart | set(keys), keys=keys, good=good, not_good=not_good, place=place, both=group is None,
        segments_name=str(segments) if isinstance(segments, (str, int)) else "segment",
    )  # fmt: skip


def only_compared(case: Case) -> Case:
    """Return the case of those whose group and decision are known.

    Whom nobody noted is neither inside the group nor outside, and who waits for a decision was not refused.
    """
    return _part(case, (case.labels != UNKNOWN) & ~np.isnan(case.favourable))


def only_labelled(case: Case) -> Case:
    """Return the case of those whose label is known, which is all that a check on merit can look at."""
    return case if case.merit is None else _part(case, ~np.isnan(case.merit))


def _part(case: Case, kept: NDArray[np.bool_]) -> Case:
    """Return the case of a part of the people."""
    if kept.all():
        return case
    rows = np.flatnonzero(kept)
    return replace(
        case, people=select_rows(case.people, rows), inside=case.inside[rows], probabilities=case.probabilities[rows],
        favourable=case.favourable[rows], metric=None if case.metric is None else case.metric.subset(rows),
        merit=None if case.merit is None else case.merit[rows],
        segments=None if case.segments is None else case.segments[rows],
        labels=case.labels[rows], rows=case.rows_of(kept),
    )  # fmt: skip


def _both_decided(groups: tuple[NDArray[np.bool_], NDArray[np.bool_]], names: tuple[str, str]) -> None:
    first, second = (int(here.sum()) for here in groups)
    if min(first, second) < SMALLEST_GROUP:
        raise ParameterError(
            f"{first} of {names[0]} and {second} of {names[1]} have a decision, and both groups need at least "
            f"{SMALLEST_GROUP}; name a column that is filled in."
        )


def _both_labelled(
    merit: Floats | None, groups: tuple[NDArray[np.bool_], NDArray[np.bool_]], names: tuple[str, str]
) -> Floats | None:
    """Return the merit, if it is known of enough people of both groups to say something."""
    if merit is None:
        return None
    first, second = (int((~np.isnan(merit[here])).sum()) for here in groups)
    if min(first, second) < SMALLEST_GROUP:
        raise ParameterError(
            f"{first} of {names[0]} and {second} of {names[1]} have a label; name a column that is filled in for both "
            "groups, or leave label= out."
        )
    return merit


def _apart(
    people: Any, protected: str | int | None, label: Any, features: Any, read: Iterable[str | int]
) -> frozenset[str | int]:
    """Return the columns that are no features; what the metric reads is one, be it the label too."""
    names = column_names(people)
    hidden: set[str | int] = set() if protected is None else {protected}
    if features is not None:
        wanted = [features] if isinstance(features, str) else list(features)
        for name in wanted:
            if name not in names:
                raise SchemaError(f"The table has no feature {name!r}; {nearest(str(name), map(str, names))}")
        return frozenset(hidden | (set(names) - set(wanted)))
    if isinstance(label, (str, int)) and label not in read:
        hidden.add(label)
    return frozenset(hidden)


def _keys(people: Any, described: Iterable[str | int]) -> tuple[str, ...]:
    """Return which columns of some are keys."""
    return tuple(name for name in described if isinstance(name, str) and _is_key(people, name))


def _is_key(people: Any, name: str) -> bool:
    """Tell whether a column is named as a key is, and all its values differ: it numbers rows and describes nobody."""
    if not (is_key_of_people(name) or (may_be_person(name) and not is_person(name))):
        return False
    texts = as_text(column(people, name))
    filled = texts[noted(texts)]
    # An index with decimals, such as that of body mass, is an amount.
    return 1 < len(filled) == len(np.unique(filled)) and not any(map(_DECIMALS.fullmatch, filled))


def _protected(
    people: Any, protected: Any, group: Any, count: int
) -> tuple[str | int | None, Any, Any, tuple[str, str]]:
    named = isinstance(protected, (str, int)) and not isinstance(protected, bool)
    if isinstance(protected, (list, tuple)) and len(protected) != count and set(protected) <= set(column_names(people)):
        raise ParameterError(
            f"An audit looks at one protected column at a time; write protected={protected[0]!r}. To compare groups of "
            f"several together write fair.group_report(decisions, people[{list(protected)!r}])."
        )
    if not named and np.ndim(protected) != 1:
        raise ParameterError(
            "protected is one column, by its name or as an array with one entry a person; write protected='sex'."
        )
    if named and protected not in column_names(people):
        raise SchemaError(
            f"The protected column {protected!r} is not in the table, which has {list(column_names(people))[:12]}. "
            "Write one of these, or give the column itself as an array: protected=table['sex']."
        )
    values = known(as_text(column(people, protected)) if named else as_text(np.asarray(protected)))
    if len(values) != count:
        raise ParameterError(f"protected has {len(values)} entries for {count} people; give one a person.")
    labels, sizes = np.unique(values[values != UNKNOWN], return_counts=True)
    if group is None:
        if len(labels) != 2:
            raise ParameterError(
                f"The protected column has the values {labels.tolist()[:10]}; say whom to protect with group=. All "
                "groups are compared by fair.group_report, and of a file by fair.compare_file."
            )
        # The smaller one is named first; both are asked about.
        group = labels[int(sizes.argmin())]
    inside = (values == str(group)) & (values != UNKNOWN)
    members, rest = int(inside.sum()), int(sizes.sum() - inside.sum())
    if min(members, rest) < SMALLEST_GROUP:
        raise ParameterError(
            f"Both groups need at least {SMALLEST_GROUP} people; {members} have the value {str(group)!r} and "
            f"{rest} have another. Known values are {labels.tolist()[:10]}."
        )
    others = [str(label) for label in labels if str(label) != str(group)]
    pair = (str(group), others[0] if len(others) == 1 else f"not {group}")
    return (protected if named else None), values, inside, pair


def _require_treatment(model: Any, people: Any) -> None:
    """Refuse a name, a path or a whole table where decisions are wanted, and say what to write."""
    if hasattr(model, "predict_proba") or callable(model):
        return
    if isinstance(model, str) and model in column_names(people):
        raise ParameterError(
            f"The decisions are the column itself, and {model!r} is its name; write people[{model!r}] in its place."
        )
    if isinstance(model, (str, Path)):
        raise ParameterError(
            f"The first argument is a model or everybody's decisions, and {str(model)!r} is a word or a path; for a "
            "file write fair.audit_file('people.csv', 'sex', decision='approved')."
        )
    if model is None or isinstance(model, Mapping) or (hasattr(model, "columns") and _holds_words(model)):
        raise ParameterError(
            "The first argument is a model or everybody's decisions, one column of them; write people['approved']."
        )


def _holds_words(table: Any) -> bool:
    return any(not is_numeric(column(table, name)) for name in column_names(table))


def _asker(model: Any, people: Any) -> Callable[[Any], Floats] | None:
    if hasattr(model, "predict_proba"):
        names = getattr(model, "feature_names_in_", None)

        def ask(table: Any) -> Floats:
            if names is not None and hasattr(table, "columns"):
                for name in names:
                    column(table, name)  # a sentence where the model reads what the table has not
                table = table[list(names)]
            return np.asarray(model.predict_proba(table), dtype=np.float64)

        return ask
    if callable(model):
        return lambda table: np.asarray(model(table), dtype=np.float64)
    return None


def _treatment(raw: Any, model: Any, favourable: Any, count: int) -> tuple[Floats, bool, int, str, tuple[str, ...]]:
    array = np.asarray(raw)
    if array.ndim == 2:
        rows = check_probabilities(array, count)
        classes = list(getattr(model, "classes_", range(rows.shape[1])))
        if favourable is not None and favourable not in classes:
            raise ParameterError(f"No outcome is called {favourable!r}; the outcomes are {classes}.")
        place = classes.index(favourable) if favourable is not None else len(classes) - 1
        return rows, False, place, str(classes[place]), ()
    chances, decided, good, others = read_decisions(array, favourable, count)
    return np.stack([1.0 - chances, chances], axis=1), decided, 1, good, others


def _bound_metric(metric: Metric | Mapping[str | int, float], people: Any, count: int) -> Metric:
    if isinstance(metric, Mapping):
        metric = Metric.from_features(people, metric)
    if not isinstance(metric, Metric):
        raise ParameterError(
            "metric= is a fair.Metric or weights by column such as {'age': 0.1}; for a file write "
            "fair.Metric.from_toml('similar.toml', people)."
        )
    bound = metric.of(people) if metric.columns else metric
    if bound.size != count:
        raise ParameterError(
            f"The metric knows {bound.size} people and the table has {count}; make it from the same table."
        )
    return bound


def _merit(people: Any, label: Any, deserving: Any, count: int) -> Floats | None:
    if label is None:
        return None
    column_of_labels = column(people, label) if isinstance(label, (str, int)) else np.asarray(label)
    if column_of_labels.shape != (count,):
        raise ParameterError(f"label must have {count} entries, one a person: a label or a merit score.")
    labelled = noted(as_text(column_of_labels))
    values = column_of_labels[labelled]
    words = sorted(set(as_text(values).tolist())) if deserving is not None or values.dtype.kind in "OU" else []
    if len(words) == 2 and not is_numeric(values) and (deserving is not None or words != ["False", "True"]):
        if str(deserving) not in words:
            raise ParameterError(f"Say which label is the good one, with deserving=; they are {', '.join(words)}.")
        values = as_text(values) == str(deserving)
    try:
        known_merit = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "label must be numbers, and it holds text; write a column of 0 and 1, two words, or a score."
        ) from None
    if not np.all(np.isfinite(known_merit)):
        raise ParameterError("label must be finite numbers, and it holds an infinity; leave such cells empty.")
    merit = np.full(count, np.nan)
    merit[labelled] = known_merit
    return merit


def _segments(people: Any, segments: Any, count: int) -> NDArray[Any] | None:
    if segments is None:
        return None
    values = as_text(column(people, segments) if isinstance(segments, (str, int)) else np.asarray(segments))
    if len(values) != count:
        raise ParameterError(f"segments has {len(values)} entries for {count} people; give one a person.")
    return values
