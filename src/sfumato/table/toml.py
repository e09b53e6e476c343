"""TOML of schemas: read with one sentence for what is none, and written in the few shapes that a schema needs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sfumato.errors import SchemaError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


Path = tuple[str, ...]


def read_toml(text: str, what: str) -> dict[str, Any]:
    """Return what stands in TOML; `what` is the word for it in the sentence of a refusal."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"The {what} is no TOML: {error}.") from None


def write_toml(
    record: Mapping[str, Any], path: Path = (), comments: Mapping[Path, Sequence[str]] = MappingProxyType({})
) -> str:
    """Return TOML for nested mappings of text, whole numbers, truth values and lists of these.

    `comments` stand before the part whose path they name.

    >>> print(write_toml({"person": "id", "columns": {"age": {"type": "integer", "low": 17}}}))
    person = "id"
    <BLANKLINE>
    [columns.age]
    type = "integer"
    low = 17
    <BLANKLINE>
    """
    plain = {key: value for key, value in record.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    if path and lines:
        lines.insert(0, f"[{'.'.join(_key(part) for part in path)}]")
        lines[:0] = [f"# {' '.join(said.split())}" for said in comments.get(path, ())]
    text = "\n".join(lines) + "\n" if lines else ""
    for key, value in record.items():
        if isinstance(value, Mapping):
            inner = write_toml(value, (*path, key), comments)
            text += ("\n" if text and inner else "") + inner
    return text


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    return _text(value) if isinstance(value, str) else str(int(value))


def _text(text: str) -> str:
    # JSON's escapes are TOML's, except that TOML also refuses a bare DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
