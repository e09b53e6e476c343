"""Questions as people type them: `mean of hours where age > 40`, `synthesize age, sex with mwem(rounds=3)`.

WHAT a phrase begins with decides which clauses may follow it; docs/command-line.md lists all of them. The condition is
SQL over the columns of the schema, checked where questions are checked. A question may also be written as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sfumato.curator.phrases import EXAMPLES, Phrase, after_of, names, parts, read_phrase
from sfumato.curator.words import in_own_words
from sfumato.domain import nearest
from sfumato.errors import ParameterError, SfumatoError
from sfumato.words import guide

if TYPE_CHECKING:
    from sfumato.answer import Answer
    from sfumato.curator.grouped import Rules
    from sfumato.questions import Question
    from sfumato.table.schema import Schema
    from sfumato.totals.aggregates import Aggregate
    from sfumato.workload import Workload

Read = TypeVar("Read")
NUMBER = re.compile(r"[0-9.]+|,|[0-9]+/[0-9]+")
_PER_CENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")


@dataclass(frozen=True)
class Request:
    """One question, or the questions about all groups of some columns, which are one release."""

    questions: tuple[Question, ...]
    by: tuple[str, ...] = ()
    groups: tuple[tuple[Any, ...], ...] = ()
    rules: Rules | None = None

    @property
    def asked(self) -> Question | tuple[Question, ...]:
        """What a curator is asked."""
        return self.questions if self.by else self.questions[0]

    def shown(self, answers: Sequence[Answer]) -> Answer:
        """Return the answer that people look at: of groups, the table of all."""
        from sfumato.curator.grouped import Rules, grouped_answer

        return grouped_answer(self.by, self.groups, answers, self.rules or Rules()) if self.by else answers[0]


def read_question(text: str, schema: Schema) -> Question:
    """Return the one question that a text means, checked against the schema; JSON is read as JSON.

    >>> from sfumato.domain import integers
    >>> from sfumato.table.schema import Schema
    >>> schema = Schema({"age": integers(0, 99), "hours": integers(0, 99)})
    >>> read_question("Mean of hours where age > 40", schema).to_json()["column"]
    'hours'
    """
    if text.lstrip().startswith("{"):
        return _from_json(text, schema)
    return _or_in_quotes(text, schema, lambda phrase: _made(read_phrase(phrase), schema))


def _or_in_quotes(text: str, schema: Schema, read: Callable[[str], Read]) -> Read:
    """Read a phrase; where that fails because a name with blanks stands bare, show the line that can be read."""
    try:
        return read(text)
    except ParameterError as refused:
        again = _with_quotes(text, schema)
        if again == text:
            if type(refused) is ParameterError:
                raise ParameterError(in_own_words(str(refused), schema)) from None
            raise
        try:
            read(again)
        except SfumatoError:
            raise refused from None
    raise ParameterError(f"A name with blanks or signs stands in double quotes; write '{again}'.")


def _with_quotes(text: str, schema: Schema) -> str:
    """Return a phrase with those names in double quotes that have blanks or signs in them."""
    odd = [name for name in schema.names if not name.isidentifier() and '"' not in name]
    if not odd:
        return text
    listed = "|".join(re.escape(name) for name in sorted(odd, key=len, reverse=True))
    found = re.compile(rf"""'[^']*'|"[^"]*"|(?<!\w)({listed})(?!\w)""")
    return found.sub(lambda one: f'"{one[1]}"' if one[1] else one[0], text)


def read_request(text: str, schema: Schema) -> Request:
    """Return what a text asks for: one question, or one for each group."""
    return _or_in_quotes(text, schema, lambda phrase: _requested(phrase, schema))


def _requested(text: str, schema: Schema) -> Request:
    if not text.lstrip().startswith("{"):
        phrase = read_phrase(text)
        if phrase.kind in ("median", "quantiles") and phrase.by:
            return _grouped(phrase, schema)
    return Request((read_question(text, schema),))


def _made(phrase: Phrase, schema: Schema) -> Question:
    kind = phrase.kind.rstrip(",")
    if kind == "select":
        raise ParameterError(
            'A statement in SQL has a command of its own; write sfumato sql people.csv people.toml "SELECT …", or in '
            "Python curator.sql('SELECT …', spend=Pure(0.1))."
        )
    if kind not in MAKERS and kind.partition("(")[0] in INSTEAD:
        raise ParameterError(f"There is no question {kind!r}; write {_instead(phrase)}.")
    if kind not in MAKERS:
        raise ParameterError(f"There is no question {kind!r}; {nearest(kind, KINDS)} Write {EXAMPLES}.")
    question = MAKERS[kind](phrase, schema)
    for name in _columns(question):
        schema.domain(name)  # an unknown column is said before any condition is read
    return question.canonical(schema)


def _grouped(phrase: Phrase, schema: Schema) -> Request:
    """Return a question for each group that the schema lists."""
    from sfumato.curator.grouped import groups_of, rules_of

    found = groups_of(phrase.by, phrase.where, schema)
    questions = tuple(_made(replace(phrase, by=(), where=where), schema) for _, where in found)
    rules = rules_of(phrase.by, phrase.where, schema)
    return Request(questions, phrase.by, tuple(group for group, _ in found), rules)


def _from_json(text: str, schema: Schema) -> Question:
    from sfumato.questions import question_from_json

    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParameterError(f"The question is no JSON ({error.msg}); write {EXAMPLES}.") from None
    return question_from_json(record, schema)


# One function for each kind of question


def _totals(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import GroupBy

    phrase.only("by", "found privately", "where")
    aggregates = _aggregates(phrase.words)
    if phrase.by:
        return GroupBy(phrase.by, tuple(aggregates), phrase.where, _keys(phrase))
    if len(aggregates) != 1 or phrase.private:
        raise ParameterError("Several numbers, or groups that are found, need groups to be in; add 'by COLUMN'.")
    return _with_condition(aggregates[0], phrase.where)


def _people(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import People

    if len(phrase.words) > 1 or phrase.private:
        raise ParameterError("people counts different people; write people where CONDITION, or people by COLUMN.")
    phrase.only("by", "where")
    return People(phrase.where, phrase.by)


def _histogram(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import Histogram

    _no_bins(phrase)
    _no_groups(phrase).only("found privately", "where")
    return Histogram(phrase.columns, phrase.where, _keys(phrase))


def _distribution(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import Distribution

    _no_groups(phrase).only("with", "where")
    return Distribution(_one(phrase.columns, phrase.kind), phrase.where, _method(phrase))


def _quantiles(phrase: Phrase, _: Schema) -> Question:
    """Read the probabilities before the column; without any, the quartiles are meant."""
    from sfumato.questions import Quantiles

    phrase.only("with", "where")
    numbers, rest = leading_numbers(phrase.words[1:])
    if rest and (cent := _PER_CENT.fullmatch(rest[0])):
        part = f"{float(cent[1]) / 100:g}"
        raise ParameterError(f"Quantiles are of parts of the rows; write {part} in place of {rest[0]}.")
    chances = ["0.5"] if phrase.kind == "median" else numbers or ["0.25", "0.5", "0.75"]
    method: Any = _method(phrase)
    return Quantiles(_one(names(after_of(rest)), phrase.kind), tuple(chances), phrase.where, method)


def _audit(phrase: Phrase, _: Schema) -> Question:
    """Read the decision and the protected columns; the label and the good values stand behind `with`."""
    from sfumato.questions import GroupAudit

    phrase.only("by", "with", "where")
    known = ("label", "favourable", "deserving", "intersections")
    if phrase.method is not None or not phrase.by:
        raise ParameterError(
            "An audit is of decisions by protected columns; write 'audit of hired by sex, race with favourable=yes'."
        )
    for name in phrase.options:
        if name not in known:
            raise ParameterError(f"An audit has no {name!r}; {nearest(name, known)}")
    return GroupAudit(_one(phrase.columns, phrase.kind), phrase.by, where=phrase.where, **phrase.options)


def _popular(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import Popular

    phrase.only("with")
    return Popular(phrase.columns, phrase.options.get("smallest"), _method(phrase, "smallest"))


def _workload(phrase: Phrase, schema: Schema) -> Question:
    from sfumato.questions import Queries

    phrase.only("with")
    return Queries(_queries(phrase, schema), _method(phrase))


def _queries(phrase: Phrase, schema: Schema) -> Workload:
    from sfumato.workload import builders

    widths, rest = leading_numbers(phrase.words[1:])
    columns = names(after_of(rest)) if after_of(rest) else None
    if phrase.kind in ("prefixes", "ranges"):
        if columns is None or widths:
            raise ParameterError(f"{phrase.kind} are of columns; write for example '{phrase.kind} of age'.")
        return builders.prefixes(schema, columns) if phrase.kind == "prefixes" else builders.ranges(schema, columns)
    if len(widths) != 1 or not widths[0].isdecimal():
        raise ParameterError(
            f"{phrase.kind} need to know how many columns at a time; write for example '{phrase.kind} 2 of age, sex'."
        )
    kinds = {"tables": builders.marginals, "conjunctions": builders.conjunctions, "parities": builders.parities}
    return kinds[phrase.kind](schema, int(widths[0]), columns)


def _synthesize(phrase: Phrase, schema: Schema) -> Question:
    from sfumato.questions import Synthesize
    from sfumato.questions.synthesis.repeated import one_of_each

    phrase.only("with")
    left = tuple(one_of_each(schema, schema.names))
    columns = phrase.columns or (None if left == schema.names else left)
    return Synthesize(None, columns, phrase.method or "auto", phrase.options)


def _synopsis(phrase: Phrase, _: Schema) -> Question:
    from sfumato.questions import Synopsize

    phrase.only("with")
    return Synopsize(phrase.method or "auto", phrase.columns or None, phrase.options)


def _learn(phrase: Phrase, _: Schema) -> Question:
    from sfumato.learn import LEARNERS, Learn

    phrase.only("from", "with", "missing")
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
    target = _one(phrase.columns, phrase.kind)
    return Learn(short.get(wanted.lower(), wanted), phrase.source, target, classes, options, missing=phrase.missing)


MAKERS: dict[str, Callable[[Phrase, Schema], Question]] = {
    **dict.fromkeys(("count", "sum", "mean", "variance"), _totals),
    "people": _people,
    "histogram": _histogram,
    "median": _quantiles,
    "quantiles": _quantiles,
    "distribution": _distribution,
    "popular": _popular,
    "audit": _audit,
    **dict.fromkeys(("tables", "conjunctions", "parities", "prefixes", "ranges"), _workload),
    "synthesize": _synthesize,
    "synopsis": _synopsis,
    "learn": _learn,
}
KINDS = tuple(MAKERS)
INSTEAD = guide(
    {
        # what people call it elsewhere: what is written here
        "average avg": "'mean of age'",
        "std stdev deviation sd": "'variance of age', whose root is the deviation",
        "quantile percentile percentiles quartiles deciles": "'quantiles 0.25, 0.5, 0.75 of age'",
        "min max minimum maximum": "'quantiles 0.01, 0.99 of age': the ends themselves are somebody's own",
        "mode value_counts values frequencies": "'histogram of sex'",
        "total": "'sum of hours', or 'count'",
        "rows how": "'count where age > 40'",
        "share proportion fraction percentage rate": "'people where age > 80', to be divided by the public number of "
        "people, or 'mean of ill', the share of true in a boolean column",
        "cdf": "'distribution of age'",
    }
)


def _instead(phrase: Phrase) -> str:
    """Return what is written here for a word of elsewhere, about the column that was named.

    >>> _instead(read_phrase("average income")), _instead(read_phrase("avg(hours)")), _instead(read_phrase("average"))
    ("'mean of income'", "'mean of hours'", "'mean of age'")
    >>> _instead(read_phrase("quantile 0.9 of wage")), _instead(read_phrase("percentile 95 of wage"))
    ("'quantiles 0.9 of wage'", "'quantiles 0.95 of wage'")
    """
    kind, _, inside = phrase.kind.partition("(")
    numbers, rest = leading_numbers(phrase.words[1:])
    named = [inside.rstrip(")")] if inside else after_of(rest)[:1]
    said = INSTEAD[kind]
    if numbers and kind in ("quantile", "percentile", "percentiles"):
        said = said.replace("0.25, 0.5, 0.75", ", ".join(map(_part, numbers)))
    return re.sub(r"(?<= of )(age|sex|hours)\b", lambda _: named[0], said) if named and named[0] else said


def _part(number: str) -> str:
    """Return the part of the rows that a number means, of which some say per cent."""
    return f"{float(number) / 100:g}" if number.isdecimal() and 1 < int(number) < 100 else number


def _aggregates(words: Sequence[str]) -> list[Aggregate]:
    from sfumato.questions import Count, Mean, Sum, Variance

    kinds: dict[str, Callable[[str], Aggregate]] = {"sum": Sum, "mean": Mean, "variance": Variance}
    found: list[Aggregate] = []
    for part in parts(words):
        kind = part[0].lower() if part else ""
        if kind == "count" and len(part) == 1:
            found.append(Count())
        elif kind in kinds:
            found.append(kinds[kind](_one(names(after_of(part[1:])), kind)))
        elif kind == "count" and part[1].lower() == "distinct":
            raise ParameterError(
                "Different people are counted by 'people', with a condition 'people where age > 40', by group 'people "
                "by sex'; different values of a column are those of 'histogram of sex'."
            )
        else:
            raise ParameterError(f"{' '.join(part)!r} is no number to ask for; write {EXAMPLES}.")
    return found


def _with_condition(aggregate: Aggregate, condition: Any) -> Aggregate:
    from sfumato.questions import Count, Mean, Sum, Variance

    if isinstance(aggregate, (Sum, Mean, Variance)):
        return type(aggregate)(aggregate.column, condition)
    return Count(condition)


def leading_numbers(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the numbers that a list of words begins with, and the words behind them."""
    rest, found = list(words), []
    while rest and NUMBER.fullmatch(rest[0]):
        word = rest.pop(0)
        if word != ",":
            found.append(word)
    return found, rest


def _keys(phrase: Phrase) -> Literal["schema", "private"]:
    return "private" if phrase.private else "schema"


def _method(phrase: Phrase, *options: str) -> str:
    """Return the method asked for, refusing options that a question of this kind does not have."""
    for name in phrase.options:
        if name not in options:
            raise ParameterError(f"{phrase.kind} with {phrase.method} has no {name!r}; leave it out.")
    return phrase.method or "auto"


def _no_bins(phrase: Phrase) -> None:
    """Say where bins are written, to somebody who writes them behind a question."""
    if phrase.method != "bins" and not any(word.lower().startswith(("bins=", "bins(")) for word in phrase.words):
        return
    (name, *_) = [word.strip('"') for word in phrase.rest] or ["age"]
    raise ParameterError(
        f'Bins stand in the schema, not behind a question; add [columns.{name}_bins] with the lines type = "bins", '
        f"of = \"{name}\" and step = 10 to it, which its ledger takes, too, and ask for 'histogram of {name}_bins'."
    )


def _no_groups(phrase: Phrase) -> Phrase:
    if phrase.by:
        raise ParameterError(f"{phrase.kind} has no groups of its own; leave out 'by', or ask for a count by group.")
    return phrase


def _one(found: Sequence[str], kind: str) -> str:
    if len(found) != 1:
        raise ParameterError(f"{kind} is about one column; write for example '{kind} of age'.")
    return found[0]


def _columns(question: Question) -> list[str]:
    record = question.to_json()
    # A synopsis is of yes-or-no facts, such as age>=65, which it reads itself.
    listed = () if record["question"] == "Synopsize" else record.get("columns") or ()
    found = [*listed, *record.get("by", ()), *record.get("features", ())]
    found += [record.get("column"), record.get("target")]
    found += [part.get("column") for part in record.get("aggregates", ())]
    return [name for name in found if name]
