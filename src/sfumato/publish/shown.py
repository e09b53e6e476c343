"""An answer as it is published: its table, rounded, small values left out, columns named for programs (PB-PUBLISH)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.answer import Answer
from sfumato.answer.frame import Frame
from sfumato.ask.asked import PLAIN
from sfumato.errors import ParameterError
from sfumato.noise import Noise
from sfumato.publish.bands import ENDS, end_of, with_band
from sfumato.publish.counted import counted
from sfumato.publish.file import TableSpec


def table_of(answer: Answer) -> Frame:
    """Return an answer as a table; of a model made-up rows, as many as it says that there are.

    Their coins are public and the same every time: they say nothing that the released model does not.
    """
    if getattr(answer.question, "kind", "") in PLAIN:
        found = counted(answer)
        return answer.frame if found is None else found  # known to be a table, so it is not worked out twice
    value = answer.value
    if hasattr(value, "sample"):
        rows = value.sample(max(1, round(value.total)), Noise(insecure_seed=0))
        return Frame((), {name: tuple(rows.column(name).to_pylist()) for name in rows.column_names})
    if not isinstance(value, (Frame, int, float, Fraction)) and not hasattr(value, "to_frame"):
        raise ParameterError(
            f"The answer to {answer.question.to_json()['question']} is no table, so it cannot be published period by "
            "period; ask it by itself with sfumato query."
        )
    return answer.frame


def published_frame(answer: Answer, spec: TableSpec, times: int | None = None, *, by_letters: bool = False) -> Frame:
    """Return a table as it is published, its columns named for programs; `times` as for `with_band`.

    `by_letters` gives it as earlier versions did, who took every column whose name ends so for an end of an interval.
    """
    frame = shown_frame(answer, spec, times, by_letters=by_letters)
    if _made_up_rows(answer, frame):
        return frame
    names = {name: _column(name, key=name in frame.keys and not by_letters) for name in frame.columns}
    unknown: Any = {_column(name): marks for name, marks in frame.unknown.items()}
    return Frame(frame.keys, {names[name]: cells for name, cells in frame.columns.items()}, unknown=unknown)


def shown_frame(answer: Answer, spec: TableSpec, times: int | None = None, *, by_letters: bool = False) -> Frame:
    """Return a table as people read it: values with their intervals, small ones left out and rounded if asked for.

    Both are functions of what was released, for readability and not for privacy.
    """
    frame = table_of(answer)
    if _made_up_rows(answer, frame):
        return frame
    if times is not None:
        frame = with_band(frame, answer, times)
    columns = {name: list(cells) for name, cells in frame.columns.items()}
    values = [name for name in columns if name not in frame.keys]
    marks: dict[str, list[bool | None]] = {
        name: [bool(mark) if mark or frame.vouched else None for mark in cells]
        for name, cells in frame.unknown.items()
        if name in values
    }
    if spec.hide_below is not None:
        shown = next((name for name in values if name in ("count", "value")), values[0])
        hidden = [isinstance(cell, (int, float)) and cell < spec.hide_below for cell in columns[shown]]
        for cells in marks.values():
            cells[:] = [None if out else mark for mark, out in zip(cells, hidden, strict=True)]
        for name in values:
            columns[name] = [None if out else cell for cell, out in zip(columns[name], hidden, strict=True)]
    if spec.round_to is not None:
        for name in values:
            end = _by_letters(name) if by_letters else end_of(name, columns, frame.keys)
            columns[name] = [rounded(cell, spec.round_to, end) for cell in columns[name]]
    unknown: Any = {name: tuple(cells) for name, cells in marks.items()}
    return Frame(frame.keys, {name: tuple(cells) for name, cells in columns.items()}, unknown=unknown)


def _made_up_rows(answer: Answer, frame: Frame) -> bool:
    """Tell whether a table has rows that a model made up, and no numbers with intervals."""
    return not frame.keys and getattr(answer.question, "kind", "") not in PLAIN and hasattr(answer.value, "sample")


def _column(name: str, *, key: bool = False) -> str:
    """Return the name of a column for programs: x, x_low and x_high; a key is called what it is called."""
    if not key and name in ("low", "high", "all low", "all high"):
        name = f"value, {name}"
    return name.replace(", ", "_").replace(" ", "_")


def _by_letters(name: str) -> str:
    return next((end for end in ENDS if name.endswith(end)), "")


def rounded(cell: Any, step: int, end: str = "") -> Any:
    """Round a value to a multiple, and the ends of its interval outward: `end` is low or high, or says neither.

    >>> rounded(7.4, 5), rounded(7.4, 5, "low"), rounded(7.4, 5, "high")
    (5, 5, 10)
    """
    if not isinstance(cell, (int, float)) or isinstance(cell, bool):
        return cell
    if end == "low":
        return int(cell // step) * step
    if end == "high":
        return -int(-cell // step) * step
    return int((cell + step / 2) // step) * step
