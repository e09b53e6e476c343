"""Questions as people type them: `mean of hours where age > 40`, `synthesize age, sex with mwem(rounds=3)`.

WHAT a phrase begins with decides which clauses may follow it; docs/command-line.md lists all of them. The condition is
SQL over the columns of the schema, checked where questions are checked. A question may also be written as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.ask.phrases import EXAMPLES, Phrase, after_of, leading_numbers, read_phrase
from sfumato.curator.words import in_own_words
from sfumato.domain import nearest
from sfumato.errors import ParameterError, SfumatoError
from sfumato.words import guide

if TYPE_CHECKING:
    from sfumato.answer import Answer
    from sfumato.curator.grouped import Rules
    from sfumato.questions import Question
    from sfumato.table.schema import Schema

Read = TypeVar("Read")


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


def typed_words() -> dict[str, type[Question]]:
    """Return the words that a phrase may begin with, and the kind of question that reads the rest."""
    from sfumato.ask.question import QUESTIONS

    return {word: made for made in QUESTIONS.brought().values() for word in made.typed}


def _made(phrase: Phrase, schema: Schema) -> Question:
    kind = phrase.kind.rstrip(",")
    if kind == "select":
        raise ParameterError(
            'A statement in SQL has a command of its own; write sfumato sql people.csv people.toml "SELECT …", or in '
            "Python curator.sql('SELECT …', spend=Pure(0.1))."
        )
    known = typed_words()
    if kind not in known and kind.partition("(")[0] in INSTEAD:
        raise ParameterError(f"There is no question {kind!r}; write {_instead(phrase)}.")
    if kind not in known:
        raise ParameterError(f"There is no question {kind!r}; {nearest(kind, known)} Write {EXAMPLES}.")
    question = known[kind].of_phrase(phrase, schema)
    for name in question.named_columns():
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


INSTEAD = guide(
    {
        # what people call it elsewhere: what is written here
        "average avg": "'mean of age'",
        "std stdev deviation sd": "'variance of age', whose root is the deviation",
        "quantile percentile percentiles quartiles deciles": "'quantiles 0.25, 0.5, 0.75 of age'",
        "min max minimum maximum": "'quantiles 0.01, 0.99 of age': the ends themselves are somebody's own",
        "mode value_counts values frequencies top": "'histogram of sex'",
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
