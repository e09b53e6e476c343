"""One question in three ways: the builder's fields, a phrase and SQL, each said from the others where it can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.ask.phrases import names as listed
from sfumato.ask.phrases import read_phrase
from sfumato.errors import SfumatoError
from sfumato.grammar import tree
from sfumato.grammar.parse import parse_statement
from sfumato.grammar.printing import printed, printed_name
from sfumato.privacy import Pure
from sfumato.serve.asked import Form
from sfumato.serve.desks import Desk

WHATS = {
    "count": ("How many rows", False),
    "people": ("How many different people", False),
    "sum": ("The sum of", True),
    "mean": ("The mean of", True),
    "variance": ("The variance of", True),
    "median": ("The median of", True),
    "quantiles": ("The quartiles of", True),
    "histogram": ("How often each value occurs of", True),
    "distribution": ("The distribution of", True),
}
WAYS = {"build": "Builder", "phrase": "Phrase", "sql": "SQL"}
PARTS = ("what", "column", "by", "where")
FUNCTIONS = {"sum": "SUM", "mean": "AVG", "variance": "VAR_POP", "median": "MEDIAN"}
QUARTILES = ("0.25", "0.5", "0.75")


@dataclass(frozen=True)
class Built:
    """A question that the builder has fields for."""

    what: str
    column: str = ""
    by: str = ""
    where: str = ""

    def phrase(self) -> str:
        """Return the phrase that the fields mean."""
        words = [self.what]
        if WHATS[self.what][1] and self.column:
            words += ["of", quoted(self.column)]
        if self.by:
            words += ["by", quoted(self.by)]
        if self.where:
            words += ["where", self.where]
        return " ".join(words)

    def sql(self, person: str | None) -> str | None:
        """Return the statement that says the same; None where SQL has no words for it."""
        column, keys = printed_name(self.column), [printed_name(self.by)] if self.by else []
        selected = None
        if self.what == "count":
            selected = "COUNT(*)"
        elif self.what == "histogram" and not keys:
            selected, keys = "COUNT(*)", [column]
        elif self.what == "people" and person is not None:
            selected = f"COUNT(DISTINCT {printed_name(person)})"
        elif self.what == "quantiles":
            selected = ", ".join(f"QUANTILE_CONT({column}, {chance})" for chance in QUARTILES)
        elif self.what in FUNCTIONS:
            selected = f"{FUNCTIONS[self.what]}({column})"
        if selected is None:
            return None
        where = f" WHERE {self.where}" if self.where else ""
        grouped = f" GROUP BY {keys[0]}" if keys else ""
        return f"SELECT {', '.join([*keys, selected])} FROM data{where}{grouped}"

    def told(self) -> str:
        """Say it in the words of the builder's fields."""
        label, has_column = WHATS[self.what]
        words = [label, self.column] if has_column else [label]
        return " ".join([*words, *(["by", self.by] if self.by else []), *(["for", self.where] if self.where else [])])


def quoted(name: str) -> str:
    """Return a name as it stands in a phrase: in quotes if it is more than a word, or a word of the phrase."""
    plain = name.isidentifier() and name.lower() not in ("from", "by", "with", "missing", "where", "of", "found")
    return name if plain else f'"{name}"'


def built(given: Mapping[str, str]) -> Built:
    """Return what the fields of the builder say."""
    what = given.get("what", "count")
    what = what if what in WHATS else "count"
    column = given.get("column", "") if WHATS[what][1] else ""
    return Built(what, column, given.get("by", ""), given.get("where", "").strip())


def in_all_ways(desk: Desk, given: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the fields of every way that can say what one of them says; that one's own are among them.

    What is said elsewhere is read back before it is offered: what cannot be asked there is left out.
    """
    way = given.get("way") or "build"
    own = {name: given[name] for name in (PARTS if way == "build" else (way,)) if given.get(name)}
    found = {way: own}
    if desk.several:
        return found
    try:
        said = _built_of(desk, way, given)
    except SfumatoError:
        said = None
    if said is None:
        return found
    schema = desk.front.schema
    if "phrase" not in found and _means(desk, "phrase", said.phrase()) is not None:
        found["phrase"] = {"phrase": said.phrase()}
    if "build" not in found:
        found["build"] = {name: getattr(said, name) for name in PARTS if getattr(said, name)}
    text = said.sql(schema.person)
    if "sql" not in found and text is not None and _means(desk, "sql", text) is not None:
        found["sql"] = {"sql": text}
    return {name: found[name] for name in WAYS if name in found}


def _means(desk: Desk, way: str, text: str) -> Any:
    """Return the questions that a text means, None if it cannot be asked."""
    try:
        return desk.meant(Form(way, text, Pure(1))).asked
    except SfumatoError:
        return None


def _built_of(desk: Desk, way: str, given: Mapping[str, str]) -> Built | None:
    if way == "build":
        return built(given)
    text = given.get(way, "").strip()
    if not text:
        return None
    said = _of_phrase(text) if way == "phrase" else _of_statement(text, desk.front.schema)
    if said is None:
        return None
    again = _means(desk, "phrase", said.phrase())
    # A phrase may hold more than the builder has fields for; then the two mean different questions.
    fits = again is not None and (way == "sql" or again == _means(desk, "phrase", text))
    return said if fits else None


def _of_phrase(text: str) -> Built | None:
    phrase = read_phrase(text)
    if phrase.kind not in WHATS or len(phrase.by) > 1 or text.lstrip().startswith("{"):
        return None
    columns = tuple(listed(phrase.rest)) if phrase.rest else ()
    if len(columns) != WHATS[phrase.kind][1]:
        return None
    return Built(phrase.kind, "".join(columns), "".join(phrase.by), phrase.where or "")


def _of_statement(text: str, schema: Any) -> Built | None:
    """Return what a plain statement says: one number, perhaps by one column, perhaps of some rows."""
    statement = parse_statement(text)
    select = statement.select
    more = (statement.tables, statement.explain, select.options, select.having, select.order, select.limit)
    if any(more) or not isinstance(select.source, tree.Source) or select.source.joins:
        return None
    keys = [_named(key, schema) for key in select.keys]
    chosen = [item.of for item in select.items]
    numbers = [one for one in chosen if isinstance(one, tree.Aggregate)]
    shown = [_named(one, schema) for one in chosen if not isinstance(one, tree.Aggregate)]
    if len(keys) > 1 or "" in keys or shown not in ([], keys):
        return None
    where = "" if select.where is None else printed(select.where)
    said = _of_numbers(numbers, schema)
    return None if said is None else Built(*said, "".join(keys), where)


def _of_numbers(numbers: list[tree.Aggregate], schema: Any) -> tuple[str, str] | None:
    """Return what is asked and of which column."""
    if not numbers or any(one.bounds is not None or one.where is not None for one in numbers):
        return None
    columns = {_named(one.of, schema) for one in numbers}
    first = numbers[0]
    chances = tuple("" if one.chance is None else one.chance.text for one in numbers)
    if chances == QUARTILES and len(columns) == 1:
        return "quantiles", columns.pop()
    if len(numbers) > 1:
        return None
    if first.function == "COUNT":
        if first.distinct:
            person = isinstance(first.of, tree.Column) and schema.person is not None
            return ("people", "") if person and _is(first.of, schema.person) else None
        return ("count", "") if first.of is None else None
    what = next((name for name, function in FUNCTIONS.items() if function == first.function), None)
    return None if what is None else (what, columns.pop())


def _is(node: Any, name: str) -> bool:
    """Tell whether a column is written in a statement; without quotes names are meant up to case."""
    if not isinstance(node, tree.Column):
        return False
    return node.name.text == name or (not node.name.quoted and node.name.text.lower() == name.lower())


def _named(node: Any, schema: Any) -> str:
    """Return the column of the schema that stands there, "" if it is none."""
    return next((name for name in schema.names if _is(node, name)), "")


def example_condition(desk: Desk, column: str) -> str:
    """Return a condition that can be asked about a column."""
    domain: Any = desk.front.schema.columns[column]
    listed = getattr(domain, "size", None) is not None and hasattr(domain, "decode")
    value = domain.decode(domain.size // 2) if listed else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{quoted(column)} > {value}"
    plain = isinstance(value, str) and "'" not in value
    return f"{quoted(column)} = '{value}'" if plain else f"{quoted(column)} IS NOT NULL"


def examples(desk: Desk) -> dict[str, str]:
    """Return a condition and a phrase that can be asked here, as the pages show them; of several tables none."""
    if desk.several:
        return {"condition": "", "phrase": ""}
    columns: Any = desk.front.schema.columns
    numbers = [name for name, domain in columns.items() if domain.kind in ("integer", "fixed")]
    groups = [name for name, domain in columns.items() if domain.kind in ("category", "boolean")]
    number, group = next(iter(numbers), ""), next(iter(groups), "")
    what = f"mean of {quoted(number)}" if number else "count"
    return {
        "condition": example_condition(desk, number or next(iter(columns))),
        "phrase": f"{what} by {quoted(group)}" if group else what,
    }
