"""The question that asks for a learned rule, so that a ledger can reserve, store and replay it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sfumato.answer import Released
from sfumato.ask.expected import Expected
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where
from sfumato.domain import Booleans, Categories, Derived, Domain, nearest
from sfumato.errors import ParameterError, SchemaError, UnsupportedSpend
from sfumato.learn.cells import is_narrow, listed
from sfumato.learn.facts import LearningFacts, Presence, Sample, shown
from sfumato.learn.labels import column_code
from sfumato.learn.rules import Learned, rule_from_json
from sfumato.privacy import Bound
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Distinct, Rows
from sfumato.table.notes import UNLISTED
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.schema import Schema
from sfumato.table.where import read_where

if TYPE_CHECKING:
    from sfumato.learn.estimator import PrivateModel


@dataclass(frozen=True, init=False)
class Learn(Question):
    """A rule that tells a column's label, or its number, from other columns.

    `learner` is the name of a class of `sfumato.learn`, `options` are its own parameters. Domains come from the schema;
    `classes` are needed only where the label's column has more values than the learner tells apart. `missing` says what
    a missing cell of a feature counts as, where the schema keeps missing cells apart. The value is a `learn.Rule`, or
    another `learn.Learned`.

    Linear models take a condition on rows (`where`), ledgers of people who come and go, and several rows a person: they
    count rows with noise. Other learners need one row a person, whose number is public.
    """

    kind: ClassVar[str] = "Learn"
    title: ClassVar[str] = "Learned rule"
    typed: ClassVar[tuple[str, ...]] = ("learn",)
    shapes: ClassVar[Mapping[str, str]] = {"learn.Sample": "sfumato.learn.facts"}
    pictured: ClassVar[bool] = False
    unforeseen: ClassVar[str] = "How good the model will be is not known beforehand; it may be no better than a guess."
    later: ClassVar[Mapping[str, Any]] = {"missing": (), "where": EVERY_ROW}
    learner: str
    features: tuple[str, ...]
    target: str
    classes: tuple[Any, ...] | None
    options: tuple[tuple[str, Any], ...]
    missing: tuple[tuple[str, Any], ...]
    where: Where

    def __init__(
        self,
        learner: str,
        features: str | Sequence[str],
        target: str,
        classes: Sequence[Any] | None = None,
        options: Mapping[str, Any] | Sequence[Sequence[Any]] = (),
        *,
        missing: Mapping[str, Any] | Sequence[Sequence[Any]] = (),
        where: Where = EVERY_ROW,
    ) -> None:
        named = (features,) if isinstance(features, str) else tuple(features)
        if not named or len(set(named)) != len(named) or target in named:
            raise ParameterError(
                "A rule is learned from one or more features, each named once, and the label is none of them; write "
                "features=['age', 'hours'], target='income'."
            )
        kind = _learner_class(learner)
        object.__setattr__(self, "learner", kind.__name__)
        object.__setattr__(self, "features", named)
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "classes", None if classes is None else tuple(classes))
        stored = [(kind.stored.get(name, name), value) for name, value in _pairs(options)]
        object.__setattr__(self, "options", _pairs(stored))
        object.__setattr__(self, "missing", _pairs(missing))
        object.__setattr__(self, "where", EVERY_ROW if where is None else where)

    @classmethod
    def of(
        cls,
        estimator: PrivateModel,
        features: str | Sequence[str],
        target: str,
        missing: Mapping[str, Any] | None = None,
        where: Where = None,
    ) -> Learn:
        """Return the question that this estimator answers."""
        named = (features,) if isinstance(features, str) else tuple(features)
        classes, options = _plain_classes(estimator), estimator.for_features(named).options()
        return cls(type(estimator).__name__, named, target, classes, options, missing=missing or (), where=where)

    def measure(self, schema: Schema) -> Rows:
        """Return what is read from a table: whole rows of features and label."""
        return Rows((*self.features, self.target), read_where(self.where, schema))

    def canonical(self, schema: Schema) -> Self:
        """Return the question with all options of its learner, and classes only where the column does not say them.

        However it was written, in a shell or in Python, the same model is one question, which is paid for once.
        Columns that the schema does not have, labels that its column cannot hold, and rows that are not one are
        refused: what is wrong with the columns and with the rows at once, since each changed schema needs another
        ledger.
        """
        rows = "" if _learner_class(self.learner).counts_rows else _more_than_one_row(schema, self.learner)
        try:
            labels = self.facts(schema).labels
        except ParameterError as refused:
            raise type(refused)(f"{refused} {rows}".rstrip()) from None
        if rows:
            raise UnsupportedSpend(rows)
        options = {**_learner_class(self.learner)().options(), **dict(self.options)}
        where = read_where(self.where, schema)
        return replace(self, classes=self._needed_classes(schema, labels), options=_pairs(options), where=where)

    def _needed_classes(self, schema: Schema, labels: Domain) -> tuple[Any, ...] | None:
        """Return the classes; None where the column alone says the same labels."""
        if self.classes is None:
            return None
        unnamed = replace(self, classes=None)
        try:
            return None if unnamed.facts(schema).labels == labels else self.classes
        except ParameterError:
            return self.classes  # the column has more values than the learner tells apart, or names none

    def estimator(self, spend: Bound, facts: LearningFacts) -> PrivateModel:
        """Return the learner with these options, for a schema's domains."""
        kind = _learner_class(self.learner)
        options = {**kind.of_labels(facts.labels), **kind.read_options(dict(self.options))}
        found: PrivateModel = kind(spend=spend, domains=list(facts.domains), **options)
        return found

    def facts(self, schema: Schema, gauge: Gauge | None = None) -> LearningFacts:
        """Return the public facts of the columns and, where a gauge knows them, of who is charged for which rows."""
        fill = dict(self.missing)
        domains = tuple(_feature(schema, name, fill) for name in self.features)
        column = _label_column(schema, self.target, fill)
        self._require_used(fill)
        labels = _learner_class(self.learner).labels_in(column, self.classes)
        base = schema.base(self.target)
        behind = None if base == self.target else base
        plain = LearningFacts(self.features, domains, labels, self.target, frozenset(), derived_from=behind)
        if gauge is None:
            return plain
        return replace(plain, reads=gauge.charged, gaussians=gauge.gaussians, presence=Presence.of(gauge))

    def _require_used(self, missing: Mapping[str, Any]) -> None:
        """Refuse to say what missing cells count as of a column that is not learned from."""
        for name in missing:
            if name not in (*self.features, self.target):
                raise ParameterError(
                    f"missing= speaks of {name!r}, which is neither the target {self.target!r} nor one of the features "
                    f"{', '.join(map(repr, self.features))}; name it among the features, or leave it out."
                )

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the label and the features; the learner stands behind `with`, by its name or a short one."""
        from sfumato.learn import LEARNERS

        phrase.only("from", "with", "missing", "where")
        if not phrase.source:
            raise ParameterError("A rule is learned from columns; write for example 'learn income from age, hours'.")
        wanted = phrase.method or "threshold"
        short = {name.removeprefix("Private").lower(): name for name in LEARNERS if name.startswith("Private")}
        linear, number = short.pop("linearclassifier"), short.pop("linearregressor")
        short |= {"linear": linear, "logistic": linear, "regression": number}
        if wanted.lower() not in short and wanted not in LEARNERS:
            raise ParameterError(f"There is no learner {wanted!r}; {nearest(wanted.lower(), [*short, *LEARNERS])}")
        options = dict(phrase.options)
        classes = options.pop("classes", None)
        name = short.get(wanted.lower(), wanted)
        return cls(name, phrase.source, phrase.column, classes, options, missing=phrase.missing, where=phrase.where)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the learner's mechanism on whole rows of the columns."""
        gauge = basis.gauge(self.measure(basis.schema))
        if gauge.total is None and not _learner_class(self.learner).counts_rows:
            raise UnsupportedSpend(
                f"{self.learner} learns from a public number of rows: all rows of the table, and people who are "
                "replaced, not added or removed; leave out the condition, and write relation=REPLACE_ONE for the "
                "ledger, or take a linear model, which counts rows with noise."
            )
        bound = gauge.priced(spend)
        facts = self.facts(basis.schema, gauge)
        estimator = self.estimator(bound, facts)
        mechanism = estimator.planned(facts, max(gauge.total or 1, 1), bound)
        stored = basis.schema.domain(self.target)

        def finish(raw: Any) -> Released:
            return Released((), made={"rule": estimator.rule(facts, raw).known_by(mechanism).to_json()})

        return Prepared(
            gauge,
            mechanism,
            finish,
            lambda found: _sample(found, facts, basis.schema),
            self._told(facts, stored),
        )

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how far the model will be below the plain one, where its learner knows that from public facts."""
        gauge = basis.gauge(self.measure(basis.schema))
        if gauge.total is None:
            return None
        facts, bound = self.facts(basis.schema, gauge), gauge.priced(spend)
        found = self.estimator(bound, facts).foreseen(facts, max(gauge.total, 1), bound)
        if found is None or found.points is None:
            return None
        return Expected(found.points / 100, told=f"The model will be {found.text}.")

    def not_foreseen(self, prepared: Prepared) -> str:
        """Say from how many rows on a model is known to be good, where nobody knows how many there are."""
        enough = getattr(prepared.mechanism, "enough", None)
        if enough is None:
            return self.unforeseen
        return (
            f"How good the model will be depends on how many rows count, which is private: {enough} of them are enough "
            "for mostly within 3 points of the same model without privacy. The answer says about how many there were."
        )

    def _told(self, facts: LearningFacts, label: Domain) -> dict[str, str]:
        """Say what missing cells and unlisted labels count as, where this question says so."""
        found = {
            name: f"Missing cells of {name!r} count as {shown(value)}, as the question says."
            for name, value in self.missing
        }
        other = label.other_code if isinstance(label, Categories) else None
        if label.may_be_missing and self.target not in found:
            first, *others = (repr(label) for label in facts.classes)
            named = others[0] if len(others) == 1 else f"one of {', '.join(others)}"
            found[self.target] = f"A cell of {self.target!r} that is not {named} counts as {first}."
            found[UNLISTED + self.target] = ""
        elif (other is not None and label.decode(other) not in facts.classes) or _holds_others(label, facts):
            named = ", ".join(repr(label) for label in facts.classes)
            said = f"Values of {self.target!r} that are none of {named} count as {facts.classes[0]!r}."
            found[UNLISTED + self.target] = said
        return found

    def value(self, released: Released) -> Learned:
        """Return the rule."""
        return rule_from_json(released.made["rule"])

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Say how good the model is, by the figures that were released with it."""
        return self.value(released).quality()

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return no interval: how often a rule errs is not known without asking again."""
        return (None, None)


def _more_than_one_row(schema: Schema, learner: str) -> str:
    """Say what to write where a schema lets a person count with several rows; nothing where one row counts."""
    if schema.rows_per_person == 1:
        return ""
    return (
        f"{learner} learns from one row a person, and the schema says rows_per_person = {schema.rows_per_person}; take "
        "a linear model, which counts rows with noise, or write rows_per_person = 1 there, and make another ledger for "
        "it, since a ledger is made for one schema. What two ledgers tell about the same people adds up, and neither "
        "knows of the other: their limits together are what is promised."
    )


def _holds_others(label: Domain, facts: LearningFacts) -> bool:
    """Tell whether the label's column holds values that are none of the labels."""
    if not isinstance(facts.labels, (Booleans, Categories)):
        return False
    return label.present is None or len(label.present) > len(facts.classes)


def _learner_class(name: Any) -> Any:
    from sfumato.learn import HOMES, LEARNERS

    if name in HOMES:
        found = getattr(import_module(HOMES[name]), name)
        if hasattr(found, "read_options"):
            return found
    raise ParameterError(f"There is no learner {name!r}; {nearest(str(name), LEARNERS)}")


def _plain_classes(estimator: PrivateModel) -> tuple[Any, ...] | None:
    return None if getattr(estimator, "classes", None) is None else listed(estimator.label_values())


def _pairs(given: Mapping[str, Any] | Sequence[Sequence[Any]]) -> tuple[tuple[str, Any], ...]:
    listed = given.items() if isinstance(given, Mapping) else given
    return tuple(sorted((str(name), value) for name, value in listed))


def _feature(schema: Schema, name: str, missing: Mapping[str, Any]) -> Domain:
    domain = schema.domain(name)
    if isinstance(domain, Derived):
        raise SchemaError(f"{name!r} is derived from {domain.rule.of!r}; learn from that column instead.")
    if name not in missing:
        return domain
    if not domain.may_be_missing:
        raise ParameterError(
            f"missing= speaks of {name!r}, whose missing cells are {domain.missing!s} by the schema; leave it out."
        )
    return domain.filled(missing[name])


def _label_column(schema: Schema, name: str, missing: Mapping[str, Any]) -> Domain:
    """Return what the label's column holds; its missing cells count as the first label, or as the question says."""
    domain = schema.domain(name)
    if name not in missing:
        return domain
    filled = _feature(schema, name, missing)
    # A list that says what missing cells are has no level for unlisted ones, which nobody declared as a label.
    return replace(domain, missing=filled.missing) if isinstance(domain, Categories) else filled


def _sample(found: Distinct, facts: LearningFacts, schema: Schema) -> Sample:
    """Return the rows that were read, missing cells filled in as the question says."""
    narrow = all(is_narrow(domain) for domain in facts.domains)
    rows = found.codes[:, :-1].copy() if narrow else found.codes[:, :-1].astype(object)
    for place, (name, domain) in enumerate(zip(facts.features, facts.domains, strict=True)):
        stored = schema.domain(name)
        if stored.may_be_missing:
            rows[:, place] = np.where(rows[:, place] == stored.missing_code, domain.missing_code, rows[:, place])
    return Sample.of(rows, _label_codes(found.codes[:, -1], schema.domain(facts.target), facts.labels), found.counts)


def _label_codes(codes: Any, stored: Domain, labels: Domain) -> Any:
    """Return the labels of rows: the place among those named, the first where it is none; a number as it stands."""
    if not isinstance(labels, (Booleans, Categories)):
        return np.where(codes == stored.missing_code, labels.missing_code, codes) if stored.may_be_missing else codes
    chosen = np.zeros(len(codes), np.int64)
    for place, label in enumerate(listed(labels)):
        chosen[codes == column_code(stored, label)] = place
    if stored.may_be_missing:
        chosen[codes == stored.missing_code] = labels.missing_code
    return chosen
