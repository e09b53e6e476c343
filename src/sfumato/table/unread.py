"""What to write in pandas or elsewhere before a column can be read, from types and names, which are public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.table.names import LEFT_OUT
from sfumato.words import SHOWN, nearest

STORE_IT = "store it as text, a number, a truth value, a day or a moment"


def before_it_is_read(name: str, kind: str, source: str) -> str:
    """Return what to write first where no column of a schema reads a type; `source` is whose frame it is.

    >>> before_it_is_read("stay", "timedelta64[ns]", "pandas")
    "write frame['stay'] = frame['stay'].dt.days first, or .dt.total_seconds()"
    """
    column = f"frame[{name!r}]"
    length = kind == "INTERVAL" or kind.startswith(("timedelta", "duration", "interval('"))  # as an engine calls it
    if source == "polars" and length:
        return f"write frame = frame.with_columns(polars.col({name!r}).dt.total_days()) first, or .dt.total_seconds()"
    if source != "pandas":
        return STORE_IT
    if length:
        return f"write {column} = {column}.dt.days first, or .dt.total_seconds()"
    if kind.startswith("period"):
        return f"write {column} = {column}.dt.to_timestamp() first for its first day, or .astype(str)"
    return f"{STORE_IT}; as text write {column} = {column}.astype(str) first"


def left_out(name: str, kind: str, source: str) -> str:
    """Return the sentence of a draft about a column whose type is none that a schema can describe."""
    todo = before_it_is_read(name, kind, source)
    return f"{LEFT_OUT}{name}: its type, {kind}, is none that a schema can describe; {todo}."


def without_zone(name: str, source: str) -> str:
    """Return how a moment's time zone is taken off, so that it has a day."""
    if source == "pandas":
        return f"write frame[{name!r}] = frame[{name!r}].dt.tz_localize(None) first, which keeps the local time"
    if source == "polars":
        return f"write frame = frame.with_columns(polars.col({name!r}).dt.replace_time_zone(None)) first"
    return "store it as local time without a zone first, in pandas by .dt.tz_localize(None)"


def whole_ids(name: str, source: str) -> str:
    """Return how ids that a frame holds as numbers with a fraction become whole ones again."""
    if source == "pandas":
        return (
            f"blank ids make pandas hold whole numbers so: write frame[{name!r}] = frame[{name!r}].astype('Int64') "
            "first, which keeps blanks blank"
        )
    return "store it as whole numbers or as text first"


def lacking_columns(lacking: Sequence[str], found: Iterable[str]) -> str:
    """Say which columns of a schema a source does not have: what was meant for each, and once what there is.

    >>> lacking_columns(["agee", "pay"], ["age", "sex"])
    "The schema names columns that the source does not have: 'agee', did you mean 'age'? 'pay'; there is 'age', 'sex'."
    """
    there = sorted(found)
    hints = {name: nearest(name, there) for name in lacking}
    meant = [f"{name!r}, {hint}" for name, hint in hints.items() if hint.startswith("did")]
    others = [repr(name) for name, hint in hints.items() if not hint.startswith("did")]
    listed = ", ".join(others[:SHOWN]) + (", …" if len(others) > SHOWN else "")
    rest = f"{listed}; {nearest('', there)}" if others else ""
    return "The schema names columns that the source does not have: " + " ".join(filter(None, [*meant, rest]))


def in_the_index(names: Sequence[str]) -> str:
    """Return that the index of a pandas frame is no column, and how it becomes one."""
    held = ", ".join(map(repr, names))
    return f"{held} is the index of the frame, which is not read; write frame = frame.reset_index() first."


def unread_columns(kinds: Mapping[str, Any], read: Sequence[str], refused: Mapping[str, str], source: str) -> list[str]:
    """Return a sentence for every column of a source that a draft cannot describe."""
    unread = {**{name: str(kind) for name, kind in kinds.items() if name not in read}, **refused}
    return [left_out(name, kind, source) for name, kind in unread.items()]
