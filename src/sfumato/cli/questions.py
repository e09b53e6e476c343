"""Questions as people type them: `mean of hours where age > 40`, `count, mean of hours by sex`.

    QUESTION   := WHAT [by COLUMN, …] [found privately] [where CONDITION]
    WHAT       := count | sum of COLUMN | mean of COLUMN | variance of COLUMN
                | histogram of COLUMN, …
                | median of COLUMN | quantiles 0.1, 0.9 of COLUMN | distribution of COLUMN

`of` may be left out, words may be in any case, and names with blanks stand in double quotes. The condition is SQL
over the columns of the schema, checked where questions are checked. `found privately` publishes the groups that are
surely not about one person, instead of all that the schema lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.domain import nearest
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.questions import Question
    from sfumato.table.schema import Schema
    from sfumato.totals.aggregates import Aggregate

KINDS = ("count", "people", "sum", "mean", "variance", "histogram", "median", "quantiles", "distribution")
EXAMPLES = (
    "'count where age > 40', 'mean of hours by sex', 'histogram of age', 'quantiles 0.1, 0.9 of age' or "
    "'count, mean of hours by sex, race'"
)
_TOKEN = re.compile(r'\s*("[^"]+"|,|[^\s,"]+)')


def read_question(text: str, schema: Schema) -> Question:
    """Return the question that a text means, checked against the schema; JSON is read as JSON.

    >>> from sfumato.domain import integers
    >>> from sfumato.table.schema import Schema
    >>> schema = Schema({"age": integers(0, 99), "hours": integers(0, 99)})
    >>> read_question("Mean of hours where age > 40", schema).to_json()["column"]
    'hours'
    """
    if text.lstrip().startswith("{"):
        return _from_json(text, schema)
    asked, condition = _split(text, "where")
    listed, private = _found_privately(asked)
    what, groups = _split(listed, "by")
    by = () if groups is None else tuple(_names(_tokens(groups)))
    question = _question(what, by, condition.strip() if condition is not None else None, private)
    for name in _columns(question):
        schema.domain(name)  # an unknown column is said before any condition is read
    return question.canonical(schema)


def _from_json(text: str, schema: Schema) -> Question:
    from sfumato.questions import question_from_json

    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParameterError(f"The question is no JSON ({error.msg}); write {EXAMPLES}.") from None
    return question_from_json(record, schema)


def _split(text: str, word: str) -> tuple[str, str | None]:
    """Split at the first such word outside of double quotes."""
    quoted = False
    for found in re.finditer(rf'"|\b{word}\b', text, re.IGNORECASE):
        if found[0] == '"':
            quoted = not quoted
        elif not quoted:
            return text[: found.start()], text[found.end() :]
    return text, None


def _tokens(text: str) -> list[str]:
    found = _TOKEN.findall(text)
    if re.sub(r"\s", "", "".join(found)) != re.sub(r"\s", "", text):
        raise ParameterError(f"{text.strip()[:60]!r} cannot be read as a question; write {EXAMPLES}.")
    return [str(token) for token in found]


def _found_privately(text: str) -> tuple[str, bool]:
    found = re.search(r"\bfound\s+privately\s*$", text, re.IGNORECASE)
    return (text, False) if found is None else (text[: found.start()], True)


def _question(text: str, by: tuple[str, ...], condition: str | None, private: bool) -> Question:
    from sfumato.questions import Distribution, GroupBy, Histogram

    keys: Literal["schema", "private"] = "private" if private else "schema"
    tokens = _tokens(text)
    kind = tokens[0].lower() if tokens else ""
    if kind not in KINDS:
        raise ParameterError(f"There is no question {kind!r}; {nearest(kind, KINDS)} Write {EXAMPLES}.")
    if kind in ("histogram", "median", "quantiles", "distribution"):
        if by:
            raise ParameterError(f"{kind} has no groups of its own; leave out 'by', or ask for a count by group.")
        if kind == "histogram":
            return Histogram(tuple(_names(_after_of(tokens[1:]))), condition, keys)
        if kind == "distribution":
            return Distribution(_one(_names(_after_of(tokens[1:])), kind), condition)
        return _quantiles(kind, tokens[1:], condition)
    if kind == "people":
        return _people(tokens, condition, by, private=private)
    aggregates = _aggregates(tokens)
    if by:
        return GroupBy(by, tuple(aggregates), condition, keys)
    if len(aggregates) != 1 or private:
        raise ParameterError("Several numbers, or groups that are found, need groups to be in; add 'by COLUMN'.")
    return _with_condition(aggregates[0], condition)


def _people(tokens: Sequence[str], condition: str | None, by: Sequence[str], *, private: bool) -> Question:
    from sfumato.questions import People

    if len(tokens) > 1 or private:
        raise ParameterError("people counts different people; write people where CONDITION, or people by COLUMN.")
    return People(condition, tuple(by))


def _aggregates(tokens: Sequence[str]) -> list[Aggregate]:
    from sfumato.questions import Count, Mean, Sum, Variance

    kinds: dict[str, Callable[[str], Aggregate]] = {"sum": Sum, "mean": Mean, "variance": Variance}
    found: list[Aggregate] = []
    for part in _parts(tokens):
        kind = part[0].lower() if part else ""
        if kind == "count" and len(part) == 1:
            found.append(Count())
        elif kind in kinds:
            found.append(kinds[kind](_one(_names(_after_of(part[1:])), kind)))
        else:
            raise ParameterError(f"{' '.join(part)!r} is no number to ask for; write {EXAMPLES}.")
    return found


def _with_condition(aggregate: Aggregate, condition: str | None) -> Aggregate:
    from sfumato.questions import Count, Mean, Sum, Variance

    if isinstance(aggregate, (Sum, Mean, Variance)):
        return type(aggregate)(aggregate.column, condition)
    return Count(condition)


def _quantiles(kind: str, tokens: Sequence[str], condition: str | None) -> Question:
    """Read the probabilities before the column; without any, the quartiles are meant."""
    from sfumato.questions import Quantiles

    numbers = []
    rest = list(tokens)
    while rest and re.fullmatch(r"[0-9.]+|,|[0-9]+/[0-9]+", rest[0]):
        token = rest.pop(0)
        if token != ",":
            numbers.append(token)
    chances = ["0.5"] if kind == "median" else numbers or ["0.25", "0.5", "0.75"]
    return Quantiles(_one(_names(_after_of(rest)), kind), tuple(chances), condition)


def _after_of(tokens: Sequence[str]) -> list[str]:
    return list(tokens[1:] if tokens and tokens[0].lower() == "of" else tokens)


def _parts(tokens: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _names(tokens: Sequence[str]) -> list[str]:
    """Return names separated by commas, quotes taken off."""
    found = []
    for part in _parts(tokens):
        if len(part) != 1:
            raise ParameterError(
                f"{' '.join(tokens)!r} is no list of columns; separate names by commas, and put names with blanks in "
                "double quotes."
            )
        found.append(part[0].strip('"'))
    return found


def _one(names: Sequence[str], kind: str) -> str:
    if len(names) != 1:
        raise ParameterError(f"{kind} is about one column; write for example '{kind} of age'.")
    return names[0]


def _columns(question: Question) -> list[str]:
    record = question.to_json()
    found = [*record.get("columns", ()), *record.get("by", ()), record.get("column")]
    found += [part.get("column") for part in record.get("aggregates", ())]
    return [name for name in found if name]
