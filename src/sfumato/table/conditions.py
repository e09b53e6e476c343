"""The text of a condition before it is walked: how it is parsed, and what is said of text that cannot be."""

from __future__ import annotations

import re
from typing import Any

from sfumato.table.schema import Schema

ALLOWED = "columns, literals, = <> < <= > >=, BETWEEN, IN (…), IS NULL, AND, OR, NOT and DATE '2020-05-17'"

INSTEAD = {
    # what people write in conditions of Python and of wider SQL: what is written here
    "BitwiseAnd": "join conditions with AND, as in age > 40 AND sex = 'F'",
    "BitwiseOr": "join conditions with OR, as in age < 18 OR age > 64",
    "Like": "list the values, as in city IN ('Bern', 'Basel')",
    "ILike": "list the values, as in city IN ('Bern', 'Basel')",
    "Literal": "compare a column with it, as in sex = 'F'",
    "In": "put the values in brackets, as in sex IN ('F', 'M')",
    "Is": "compare with =, as in sex = 'F'; IS is for NULL",
    "Dot": "compare a column with a literal, as in city IN ('Bern', 'Basel')",
}


def parsed(text: str) -> Any:
    """Return the statements of a condition, None if it is no SQL."""
    import sqlglot

    try:
        return sqlglot.parse(f"SELECT 1 WHERE ({text}\n)")
    except sqlglot.errors.SqlglotError:
        return None


def quoted(text: str, schema: Schema) -> str:
    """Return a condition with its columns in double quotes: names that are words of SQL, such as Alter, or have blanks.

    >>> from sfumato.domain import integers
    >>> quoted("Alter > 40 AND term months < 3", Schema({"Alter": integers(0, 9), "term months": integers(0, 9)}))
    '"Alter" > 40 AND "term months" < 3'
    """
    names = "|".join(re.escape(name) for name in sorted(schema.names, key=len, reverse=True) if '"' not in name)
    return re.sub(
        rf"""'[^']*'|"[^"]*"|(?<!\w)({names})(?!\w)""", lambda found: f'"{found[1]}"' if found[1] else found[0], text
    )


def unread(text: str) -> str:
    """Say what to write instead of a condition that cannot be parsed."""
    if text.strip()[:6].upper() == "SELECT":
        return "where= is the condition alone; leave SELECT … WHERE out, and write for example age > 40."
    for sign, word in (("&", "AND"), ("|", "OR"), ("!", "NOT, or <> for 'not equal'")):
        if sign in text:
            return f"where= is no condition that can be read; write {word} instead of {sign!r}."
    return f"where= is no condition that can be read; write {ALLOWED}."
