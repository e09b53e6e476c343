"""The text of a condition before it is parsed: names that are words of SQL, and what is said of what cannot be read."""

from __future__ import annotations

import re

from sfumato.table.schema import Schema

ALLOWED = "columns, literals, = <> < <= > >=, BETWEEN, IN (…), IS NULL, AND, OR, NOT and DATE '2020-05-17'"


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


def unread(text: str, said: str) -> str:
    """Say what to write instead of a condition that cannot be parsed; `said` is what the parser found."""
    if text.strip()[:6].upper() == "SELECT":
        return "where= is the condition alone; leave SELECT … WHERE out, and write for example age > 40."
    for sign, word in (("&", "AND"), ("|", "OR"), ("!", "NOT, or <> for 'not equal'")):
        if sign in text:
            return f"where= is no condition that can be read; write {word} instead of {sign!r}."
    return f"where= is no condition that can be read: {said} In where= write {ALLOWED}."
