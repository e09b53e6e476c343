"""A text as a list of tokens: names, numbers, texts and signs, each with its place; nothing is skipped but blanks."""

from __future__ import annotations

import re
from typing import NamedTuple

from sfumato.errors import ParameterError

SIGNS = ("<>", "!=", "<=", ">=", "=>", *"(),.=<>+-*/;")
"""The signs of the language; longer ones come first."""

_BLANK = re.compile(r"(?:\s+|--[^\n]*)+")
_NUMBER = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?")
_NAME = re.compile(r"[^\W\d]\w*")
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')

INSTEAD = {
    "?": "write the value itself",
    "$": "write the value itself",
    ":": "write the value itself; what needs a cast is computed in the table and declared as a column",
    "%": "write FLOOR(a / k)",
    "|": "join conditions with OR; texts are joined in the table and declared as a column",
    "&": "join conditions with AND",
    "!": "write NOT, or <> for 'not equal'",
    "`": 'write names that need quotes in double quotes, as in "my column"',
    "[": "write IN (…)",
    "'": "close the text with another '",
    '"': 'close the name with another "',
}


class Token(NamedTuple):
    """One token: `kind` is name, quoted, number, text, sign or end; `at` is its first character, counted from one."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text and the end.

    >>> [token.text for token in tokens("a<=1.5 -- and more")]
    ['a', '<=', '1.5', '']
    """
    if "\x00" in text:
        raise ParameterError("A statement cannot hold a NUL character; leave it out.")
    found: list[Token] = []
    place = 0
    while place < len(text):
        if blank := _BLANK.match(text, place):
            place = blank.end()
        elif text.startswith("/*", place):
            place = _comment_end(text, place)
        else:
            token = _token(text, place)
            place += token[1]
            found.append(token[0])
    return [*found, Token("end", "", len(text) + 1)]


_DAY = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})(?![\w.])")


def _comment_end(text: str, place: int) -> int:
    end = text.find("*/", place + 2)
    if end < 0 or text.startswith("/*+", place) or "/*" in text[place + 2 : end]:
        raise ParameterError(
            f"The comment at character {place + 1} is not closed, holds another one or is a hint; write /* … */ or --."
        )
    return end + 2


def _token(text: str, place: int) -> tuple[Token, int]:
    at = place + 1
    if name := _NAME.match(text, place):
        return Token("name", name[0], at), len(name[0])
    if number := _NUMBER.match(text, place):
        after = text[number.end() : number.end() + 1]
        if day := _DAY.match(text, place):
            raise ParameterError(
                f"{day[0]} (character {at}) looks like a day, which is written in quotes with the year first; write "
                f"DATE '{day[3]}-{int(day[2]):02}-{int(day[1]):02}' if the day stands before the month."
            )
        if after in {".", "_"} or after.isalnum():
            raise ParameterError(f"The number at character {at} is too long, or no number; write it shorter.")
        return Token("number", number[0], at), len(number[0])
    if quote := _TEXT.match(text, place):
        return Token("text", quote[1].replace("''", "'"), at), len(quote[0])
    if quoted := _QUOTED.match(text, place):
        return Token("quoted", quoted[1].replace('""', '"'), at), len(quoted[0])
    for sign in SIGNS:
        if text.startswith(sign, place):
            if text.startswith("//", place):
                raise ParameterError(f"`//` (character {at}) is not understood; write FLOOR(a / k).")
            return Token("sign", sign, at), len(sign)
    sign = text[place]
    said = INSTEAD.get(sign, "leave it out")
    raise ParameterError(f"`{sign}` (character {at}) is not understood; {said}.")
