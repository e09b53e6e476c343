"""A question as words: what is asked, and the clauses behind it, before anybody knows what they mean.

    PHRASE := WHAT [from COLUMN, …] [by COLUMN, …] [found privately]
              [with METHOD(option=value, …) | with option=value, …] [missing COLUMN=value, …] [where CONDITION]

Words may be in any case, and names with blanks, or names that are such words, stand in double quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import ParameterError
from sfumato.table.schema import refuse_part_of_date

EXAMPLES = (
    "'count where age > 40', 'mean of hours by sex', 'histogram of age', 'quantiles 0.1, 0.9 of age', "
    "'count, mean of hours by sex, race' or 'synthesize age, sex'"
)
_CLAUSES = ("from", "by", "with", "missing", "where")
NUMBER = re.compile(r"[0-9.]+|,|[0-9]+/[0-9]+")
_TOKEN = re.compile(r'\s*("[^"]+"|,|[^\s,"]+)')
_WORD = re.compile(r'"[^"]*"|\([^()]*\)|\b(' + "|".join(_CLAUSES) + r")\b", re.IGNORECASE)
_METHOD = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Phrase:
    """What was typed, clause by clause; `words` begin with the kind of question."""

    words: tuple[str, ...]
    source: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    private: bool = False
    method: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    missing: Mapping[str, Any] = field(default_factory=dict)
    where: Any = None

    @property
    def kind(self) -> str:
        """The first word, in small letters."""
        return self.words[0].lower() if self.words else ""

    @property
    def rest(self) -> list[str]:
        """The words behind the first one, without `of`."""
        return after_of(self.words[1:])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked about, if any are named."""
        return tuple(names(self.rest)) if self.rest else ()

    @property
    def column(self) -> str:
        """The one column that is asked about."""
        return self.one(self.columns)

    def one(self, found: Sequence[str]) -> str:
        """Return the one column of a list."""
        return one_column(found, self.kind)

    def method_alone(self, *options: str) -> str:
        """Return the method asked for, refusing options that a question of this kind does not have."""
        for name in self.options:
            if name not in options:
                raise ParameterError(f"{self.kind} with {self.method} has no {name!r}; leave it out.")
        return self.method or "auto"

    def without_groups(self) -> Phrase:
        """Refuse groups."""
        if self.by:
            raise ParameterError(f"{self.kind} has no groups of its own; leave out 'by', or ask for a count by group.")
        return self

    def only(self, *allowed: str) -> Phrase:
        """Refuse clauses that this kind of question does not have."""
        given = {
            "from": self.source,
            "by": self.by,
            "found privately": self.private,
            "with": self.method or self.options,
            "missing": self.missing,
            "where": self.where is not None,
        }
        for clause, there in given.items():
            if there and clause not in allowed:
                known = ", ".join(f"'{one}'" for one in allowed) or "nothing"
                raise ParameterError(
                    f"{self.kind} has no '{clause}' (it may have {known} behind it); leave it out, or put a column of "
                    "that name in double quotes."
                )
        return self


def read_phrase(text: str) -> Phrase:
    """Split a text into its clauses.

    >>> read_phrase("synthesize age, sex with mwem(rounds=3)").options
    {'rounds': 3}
    >>> read_phrase("Mean of hours by sex WHERE age > 40").where
    'age > 40'
    """
    what, clauses = _clauses(text)
    what, private = _found_privately(what)
    by, also = _found_privately(clauses.get("by", ""))
    method, options = _with(clauses["with"]) if "with" in clauses else (None, {})
    words = tokens(what)
    return Phrase(
        tuple(_without_group(words) if "by" in clauses else words),
        _listed(clauses.get("from")),
        _listed(by if "by" in clauses else None),
        private or also,
        method,
        options,
        _pairs(clauses["missing"], "missing age=0") if "missing" in clauses else {},
        clauses["where"].strip() if "where" in clauses else None,
    )


def _without_group(words: list[str]) -> list[str]:
    """Return the words before `by` without the first word of `group by`, where it can be no column.

    >>> _without_group(["mean", "of", "hours", "group"]), _without_group(["mean", "of", "group"])
    (['mean', 'of', 'hours'], ['mean', 'of', 'group'])
    """
    said = len(words) > 1 and words[-1].lower() in ("group", "grouped")
    before = words[-2].lower() if said else ""
    named = before in ("of", ",") or before[:1].isdigit() or (len(words) == 2 and before != "count")
    return words[:-1] if said and not named else words


def _clauses(text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first clause, and the clauses by their word; a condition is the rest of the text."""
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(text):
        if match[1] is not None:
            found.append((match[1].lower(), match.start(), match.end()))
            if found[-1][0] == "where":
                break
    clauses: dict[str, str] = {}
    for place, (word, _, end) in enumerate(found):
        if word in clauses:
            raise ParameterError(f"'{word}' stands twice in the question; put a column of that name in double quotes.")
        clauses[word] = text[end : found[place + 1][1] if place + 1 < len(found) else None]
        if not clauses[word].strip():
            raise ParameterError(
                f"Nothing stands behind '{word}'; write {EXAMPLES}, and put a column of that name in double quotes."
            )
    return text[: found[0][1]] if found else text, clauses


def tokens(text: str) -> list[str]:
    """Return the words, commas and quoted names of a text."""
    found = _TOKEN.findall(text)
    if re.sub(r"\s", "", "".join(found)) != re.sub(r"\s", "", text):
        raise ParameterError(f"{text.strip()[:60]!r} cannot be read as a question; write {EXAMPLES}.")
    return [str(token) for token in found]


def after_of(words: Sequence[str]) -> list[str]:
    """Return the words without a leading `of`."""
    return list(words[1:] if words and words[0].lower() == "of" else words)


def one_column(found: Sequence[str], kind: str) -> str:
    """Return the one column that a question of this kind is about."""
    if len(found) != 1:
        raise ParameterError(f"{kind} is about one column; write for example '{kind} of age'.")
    return found[0]


def leading_numbers(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the numbers that a list of words begins with, and the words behind them."""
    rest, found = list(words), []
    while rest and NUMBER.fullmatch(rest[0]):
        word = rest.pop(0)
        if word != ",":
            found.append(word)
    return found, rest


def parts(words: Sequence[str]) -> list[list[str]]:
    """Return the words between commas."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == ",":
            found.append([])
        else:
            found[-1].append(word)
    return found


def names(words: Sequence[str]) -> list[str]:
    """Return names separated by commas, quotes taken off."""
    found = []
    for part in parts(words):
        if len(part) != 1:
            refuse_part_of_date(" ".join(part))
            raise ParameterError(
                f"{' '.join(words)!r} is no list of columns; separate names by commas, and put names with blanks in "
                "double quotes."
            )
        found.append(part[0].strip('"'))
    return found


def _listed(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(names(tokens(text)))


def _found_privately(text: str) -> tuple[str, bool]:
    found = re.search(r"\bfound\s+privately\s*$", text, re.IGNORECASE)
    return (text, False) if found is None else (text[: found.start()], True)


def _with(text: str) -> tuple[str | None, dict[str, Any]]:
    """Return a method with its settings, or settings alone: with label=paid, favourable=yes."""
    if "=" in text and "(" not in text:
        return None, _pairs(text, "label=paid, favourable=yes")
    return _method(text)


def _method(text: str) -> tuple[str, dict[str, Any]]:
    found = _METHOD.fullmatch(text)
    if found is None:
        raise ParameterError(
            f"A method is written as tree, or as mwem(rounds=3), and {text.strip()[:60]!r} is neither."
        )
    if found[1].lower() == "bins":
        return "bins", {}  # no question has them, and a histogram says where they are written
    return found[1], _pairs(found[2], "mwem(rounds=3)") if found[2] and found[2].strip() else {}


def _pairs(text: str, example: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in re.findall(r'(?:"[^"]*"|[^,"])+', text):
        name, equals, value = part.partition("=")
        before = list(found.items())[-1:]
        if not equals and part.strip().isdecimal() and before and isinstance(before[0][1], int):
            told = f"{before[0][0]}={before[0][1]}"
            raise ParameterError(
                f"Settings are divided by commas, and numbers have a point; write {told}.{part.strip()} in place of "
                f"{told},{part.strip()}."
            )
        if not equals or not name.strip() or not value.strip():
            raise ParameterError(f"A setting is written as in {example}, and {part.strip()[:60]!r} is not.")
        found[name.strip().strip('"')] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    """Read a number, true, false or a quoted text as JSON does, several with bars between them; else it is a text."""
    if "|" in text and not text.startswith('"'):
        return [_value(part.strip()) for part in text.split("|")]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.strip("'")
