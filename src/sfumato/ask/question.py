"""What every question is: frozen, public, JSON, without data and without a spend."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from sfumato.answer import NOISE_ONLY, ErrorUnit, Released
from sfumato.ask.expected import Expected
from sfumato.ask.packing import SHAPES
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.errors import CertificationError, ParameterError
from sfumato.privacy import Approximate, Bound, Loss
from sfumato.privacy.bounds import require_bound
from sfumato.registry import Registry
from sfumato.show.titles import BRINGING, TITLES
from sfumato.table.gauge import Basis
from sfumato.table.predicate import EVERY_ROW, All, Codes, Predicate, Some, Texts, from_json, to_json
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.words import Guided, Understood, guide

Where = str | Predicate | None | Any
"""A SQL condition, an Ibis expression, a predicate, or nothing."""

READERS: Registry[Callable[[Mapping[str, Any], Schema], Any]] = Registry(
    "part of a question", "parts of questions", {"workload": "sfumato.workload.workload"}
)
"""What reads a part of a question back from JSON, by the key that tells it."""

QUESTIONS: Registry[type[Question]] = Registry(
    "question",
    "questions",
    {"Shaped": "sfumato.papers.query_release.geometry.question", "Select": "sfumato.sql.select"},
    bringing=("sfumato.questions", "sfumato.learn.question"),
)
BRINGING.append(QUESTIONS.brought)


_KINDS: dict[str, str] = {}
"""Kinds that are stored under an earlier word, by that word."""


@dataclass(frozen=True)
class Question(Guided, metaclass=Understood):
    """Something to ask about a table; preview, planner, command line and service all take questions.

    What other rooms must know of a kind of question its class tells: `title` heads its answers where the kind is no
    plain word, `typed` are the words that a phrase about it begins with, which `of_phrase` reads, and `shapes` are
    records of its own that its mechanisms read or draw, by the names that they are stored under, and their modules.

    `stored` says under which earlier word ledgers keep the kind or a field that has another name now, so that what was
    paid for is still found; JSON is read with either word. `later` holds the first values of fields that came later.
    """

    INSTEAD: ClassVar[Mapping[str, str]] = guide(
        {
            "ask run answer execute compute result fit": "a question is asked of a curator: write "
            "curator.ask(question, Pure(0.1))",
            "preview rehearse": "a curator does that: write curator.preview(question, Pure(0.1)), which costs nothing",
        }
    )
    kind: ClassVar[str]
    stored: ClassVar[Mapping[str, str]] = {}
    later: ClassVar[Mapping[str, Any]] = {}
    title: ClassVar[str] = ""
    typed: ClassVar[tuple[str, ...]] = ()
    shapes: ClassVar[Mapping[str, str]] = {}
    tabular: ClassVar[bool] = True
    """Whether an answer can be written as a table."""
    pictured: ClassVar[bool] = True
    """Whether an answer can be drawn."""
    error_unit: ClassVar[ErrorUnit] = "value"
    covers: ClassVar[str] = NOISE_ONLY
    """What its intervals allow for."""
    unforeseen: ClassVar[str] = (
        "How wrong it will be is not known beforehand; the answer says it, and rehearse shows it on made-up rows."
    )
    """What a preview says where the error is not known before anything is paid."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        QUESTIONS.add_kind(cls)
        if "kind" in cls.__dict__:
            _KINDS[cls.stored.get(cls.kind, cls.kind)] = cls.kind
            TITLES[cls.kind] = cls.title or cls.kind
            SHAPES.update(cls.shapes)

    def prepare(self, basis: Basis, spend: Bound) -> Prepared:
        """Return what runs, made from public facts only; its loss is proved to be within the spend."""
        bound = require_bound(spend)
        prepared = self.plan(basis, bound)
        if basis.people == 0 and prepared.gauge.measure.whole:
            raise ParameterError(
                f"There is nobody in this table, so there are no rows for {self.kind} to learn from; check the source "
                "and the person column."
            )
        if not fits(prepared.loss(), bound):
            raise CertificationError(
                f"The answer to this {self.kind} does not provably fit {bound!r}; please report it."
            )
        return prepared

    @abstractmethod
    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Return what runs, for a spend that has been checked; use `prepare`, which also proves the loss."""

    @abstractmethod
    def value(self, released: Released) -> Any:
        """Return the value that was released."""

    @abstractmethod
    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return an interval for the value without noise."""

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Return the question that a phrase means which begins with one of the words that are `typed`."""
        raise AssertionError(f"{cls.__name__} says no words, so that nothing begins with one of them.")

    def named_columns(self) -> list[str]:
        """Return the columns that it names outside its condition, whether there are such columns or not."""
        record = self.to_json()
        found = [*(record.get("columns") or ()), *record.get("by", ()), *record.get("features", ())]
        found += [record.get("column"), record.get("target")]
        found += [part.get("column") for part in record.get("aggregates", ())]
        return [name for name in found if name]

    def separate_intervals(self, released: Released) -> int:
        """Return how many intervals `interval` gives that hold each on its own: 1 where they hold all at once."""
        return 1

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what a reader should know of the released numbers; computed from them, so it is free."""
        return ()

    def taken(self) -> str:
        """Say what this canonical question takes for granted that a reader should check before it is paid for."""
        return ""

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return the error that an answer at this spend is expected to have, None if it is not known beforehand.

        `prepared` is what will run, where that is known: in a list it may have less noise than its part would buy.
        """
        return None

    def not_foreseen(self, prepared: Prepared) -> str:
        """Say before anything is paid that the error is not known, and what public facts say all the same."""
        return self.unforeseen

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Return of which cells of the table nothing is known, by column; from released and public numbers alone."""
        return {}

    def canonical(self, schema: Schema) -> Self:
        """Return the question with its filter in canonical form, checked against the schema."""
        where = getattr(self, "where", None)
        return replace(self, where=read_where(where, schema)) if hasattr(self, "where") else self  # type: ignore[call-arg]

    def check_new(self, schema: Schema) -> None:
        """Refuse what is not answered any more, from public facts; an answer that is stored is read all the same."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `question_from_json` reads back; equal questions have equal forms.

        A part in `later` is left out at its first value: what was asked before it was there has the form that it had.
        """
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        told = {name: value for name, value in parts.items() if name not in self.later or self.later[name] != value}
        written = {self.stored.get(name, name): _plain(value) for name, value in told.items()}
        return {"question": self.stored.get(self.kind, self.kind), **written}


def fits(loss: Loss, spend: Bound) -> bool:
    """Tell whether a loss is within a spend; what costs nobody anything is within any."""
    person = loss.person
    if isinstance(spend, Approximate) and person.epsilon <= spend.epsilon and person.leak <= spend.delta:
        return True  # without a search for the best Rényi order
    if person.is_zero or loss.within(spend):
        return True
    # Gaussian parts beside others: no single curve shows that they fit, their exact total does.
    return isinstance(spend, Approximate) and person.epsilon_at(spend.delta) <= spend.epsilon


def _plain(value: Any) -> Any:
    if isinstance(value, (All, Some, Codes, Texts)):
        return None if value == EVERY_ROW else {"where": to_json(value)}
    if isinstance(value, Question):
        return value.to_json()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value.to_json() if hasattr(value, "to_json") else value


def question_from_json(record: Mapping[str, Any], schema: Schema) -> Question:
    """Read what `Question.to_json` wrote, or what a person wrote; checked against the schema.

    >>> from sfumato.domain import integers
    >>> question_from_json({"question": "Mean", "column": "age"}, Schema({"age": integers(0, 99)})).column
    'age'
    """
    return _question(record, schema).canonical(schema)


def _question(record: Any, schema: Schema) -> Question:
    if not isinstance(record, Mapping):
        raise ParameterError('A question is an object; write {"question": "Histogram", "columns": ["age"]}.')
    values = dict(record)
    kind = values.pop("question", None)
    made = QUESTIONS[_now(kind) if isinstance(kind, str) else kind]
    now = {earlier: name for name, earlier in made.stored.items()}
    values = {now.get(name, name): value for name, value in values.items()}
    known = {part.name for part in fields(made)}
    for name in values:
        if name not in known:
            raise ParameterError(f"{kind} has no {name!r}; it has {', '.join(sorted(known)) or 'nothing to set'}.")
    try:
        return made(**{name: _read(value, schema) for name, value in values.items()})
    except TypeError:
        raise ParameterError(f"{kind} needs more than {', '.join(values) or 'nothing'}; see docs/curator.md.") from None


def _now(kind: str) -> str:
    """Return what a kind is called now that is stored under an earlier word."""
    if kind not in _KINDS:
        QUESTIONS.brought()
    return _KINDS.get(kind, kind)


def _read(value: Any, schema: Schema) -> Any:
    if isinstance(value, Mapping) and "workload" in value:
        return READERS["workload"](value, schema)
    if isinstance(value, Mapping):
        return _question(value, schema) if "question" in value else from_json(value.get("where", {}), schema)
    return tuple(_read(part, schema) for part in value) if isinstance(value, list) else value


def as_columns(columns: str | Iterable[str]) -> tuple[str, ...]:
    """Return a list of columns; one name stands for itself."""
    given: Any = columns
    if not isinstance(given, (str, Iterable)) or isinstance(given, Mapping):
        raise ParameterError(f"Columns are named by their names, not by {type(given).__name__}; write ['age', 'sex'].")
    listed = (given,) if isinstance(given, str) else tuple(given)
    if any(listed.count(one) > 1 for one in listed):
        raise ParameterError("The same column is listed twice; list each one once.")
    return listed


def flat(values: Any) -> tuple[int, ...]:
    """Return released numbers, a single one or an array of any shape, in one row."""
    return tuple(int(number) for number in (values.ravel().tolist() if hasattr(values, "ravel") else [values]))
