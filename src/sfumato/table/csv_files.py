"""CSV files: every line is a row by a rule that anybody can check, or the file is refused when it is opened.

A reader that leaves a line out, or reads a cell otherwise because of the line before, lets one person change the rows
of others. DuckDB's does so with quotes inside of cells that are not quoted, with carriage returns inside of lines, and
with a last line that begins where one of its buffers does. So a file is looked through first: quotes stand around whole
cells and are doubled inside, lines end in one way, and the rows that the reader returns are as many as the lines.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_OPTIONS = {
    # Types and dialects guessed from cells would be facts about the data: the header names the columns, the ending
    # says what divides them, and every cell is text until the schema reads it.
    "auto_detect": False,
    "header": True,
    "quote": '"',
    "escape": '"',
    # A line that has too few cells or too many must not fail the others; one reader, because DuckDB's parallel one
    # refuses files with short lines and quoted line ends, which is a fact about the data.
    "null_padding": True,
    "strict_mode": False,
    "parallel": False,
    # A line that cannot be read is no reason to go on without it.
    "ignore_errors": False,
}
_AS_UTF_8 = "save it as UTF-8: in Excel as 'CSV UTF-8', in a shell by iconv -f {} -t UTF-8 old.csv > new.csv."
_CHUNK = 1 << 22
_LONGEST = 1 << 26
"""How many bytes a row may have; the reader is told of twice as many, so that it never meets its own limit."""
_QUOTE, _LINE, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]
_WRITE_AGAIN = "write it anew, as pandas.read_csv('old.csv').to_csv('new.csv', index=False) does, or as Parquet."


@dataclass(frozen=True)
class Csv:
    """Some CSV files with the same first line: how DuckDB reads them, and how many rows they have by their lines."""

    paths: Sequence[str]
    names: Sequence[str]
    divider: str
    line_end: str
    rows: int

    def read(self, engine: Any) -> Any:
        """Return the files as a table of texts."""
        columns = dict.fromkeys(self.names, "VARCHAR")
        packed = "gzip" if _is_packed(self.paths[0]) else "none"
        return engine.read_csv(
            [glob.escape(path) for path in self.paths],  # it takes every path for a pattern
            delim=self.divider,
            columns=columns,
            new_line=self.line_end.replace("\r", "\\r").replace("\n", "\\n"),
            compression=packed,
            max_line_size=2 * _LONGEST,
            **_OPTIONS,
        )


def look_through(path: str, paths: Sequence[str]) -> Csv:
    """Look through the files that a path or a pattern stands for; each row is counted, or the files are refused."""
    usual = "\t" if ".tsv" in path.lower()[-7:] else ","
    first, *others = [_first_line(one, usual) for one in paths]
    for one, line in zip(paths[1:], others, strict=True):
        if line != first:
            raise SchemaError(
                f"The files of {path!r} have different first lines: {one!r} names {', '.join(line.names)} and "
                f"{paths[0]!r} names {', '.join(first.names)}, or what divides them or ends their lines is another "
                "sign; write all files alike, or open them one by one."
            )
    rows = sum(_rows(one, first) for one in paths)
    return Csv(paths, first.names, first.divider, first.line_end, rows)


def divider_of(line: str, usual: str) -> str:
    """Return what divides the names in the first line, which is public: as the ending says, unless another has more."""

    def parts(divider: str) -> int:
        return len(next(csv.reader([line], delimiter=divider), []))

    return max((usual, *(one for one in ",;\t|" if one != usual)), key=parts)


def _is_packed(path: str) -> bool:
    return path.lower().endswith(".gz")


def _opened(path: str, mode: str, **how: Any) -> Any:
    return gzip.open(path, mode, **how) if _is_packed(path) else open(path, mode, **how)  # noqa: PTH123


# The first line


@dataclass(frozen=True)
class _Header:
    names: Sequence[str]
    divider: str
    line_end: str


def _first_line(path: str, usual: str) -> _Header:
    with _opened(path, "rb") as content:
        _refuse_utf_16(path, content.read(_CHUNK))
    with _opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline()
        divider = divider_of(first, usual)
        names = next(csv.reader(chain([first], file), delimiter=divider), [])
    _require_header(path, names)
    return _Header(tuple(names), divider, first[len(first.rstrip("\r\n")) :] or "\n")


def _refuse_utf_16(path: str, start: bytes) -> None:
    """Refuse a file in two bytes a sign: by its mark, or by a zero byte in its first line, which names columns."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in b"".join(start.splitlines()[:1]):
        raise SchemaError(f"{path!r} is written in UTF-16; {_AS_UTF_8.format('UTF-16')}")


def _require_header(path: str, names: Sequence[str]) -> None:
    if not names:
        raise SchemaError(f"{path!r} is empty; its first line must name the columns, such as age,sex,town.")
    if any(not name.strip() for name in names):
        place = next(place for place, name in enumerate(names, 1) if not name.strip())
        raise SchemaError(
            f"Column {place} of {path!r} has no name: write one into the first line, and remove lines above the names, "
            "such as a title; from pandas, write frame.to_csv(path, index=False)."
        )
    spelled = [name.casefold() for name in names]
    twice = sorted({name for name in names if spelled.count(name.casefold()) > 1})
    if twice:
        raise SchemaError(
            f"The first line of {path!r} must name the columns, each one differently, and {', '.join(twice)} stand "
            "there for several, up to case; rename them."
        )


# All lines


def _rows(path: str, header: _Header) -> int:
    """Return how many rows a file has below its first line: lines that end outside of quotes and are not blank."""
    lines = _Lines(path, header)
    for chunk in _in_utf_8(path):
        lines.take(chunk)
    return lines.counted() - 1


def require_utf_8(path: str) -> None:
    """Refuse a file that is not written in UTF-8, wherever in it that shows, for readers that do not look."""
    for _ in _in_utf_8(path):
        pass


def _in_utf_8(path: str) -> Iterator[bytes]:
    """Return the bytes of a file in chunks, without the mark that some programs begin with, if all of it is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(path, "rb") as content:
            chunk = content.read(_CHUNK)
            _refuse_utf_16(path, chunk)
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
            while chunk:
                decoder.decode(chunk)
                yield chunk
                chunk = content.read(_CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise SchemaError(
            f"{path!r} holds bytes that are no UTF-8, and the reader would leave their lines out; "
            f"{_AS_UTF_8.format('WINDOWS-1252')}"
        ) from None


class _Lines:
    """Counts the rows of a file that comes in chunks, and refuses what a reader could take in two ways.

    If every quote that opens follows a divider, a line end or the quote that it doubles, and every quote that closes is
    followed by one of these, then every second quote closes, whatever stands between them.
    """

    def __init__(self, path: str, header: _Header) -> None:
        import numpy as np

        self.path = path
        self.end = header.line_end.encode()[-1]
        self.around = np.isin(np.arange(256), [header.divider.encode()[0], _QUOTE, _LINE, _RETURN])
        self.blank_counts = len(header.names) == 1
        self.rows = 0
        self.inside = False  # of a quoted cell
        self.length = 0  # of the row so far
        self.before = bytes([self.end])  # the last byte that was looked at
        self.held = b""  # the last byte that came: what follows it is not known yet

    def take(self, chunk: bytes) -> None:
        """Look at some more bytes."""
        data = self.held + chunk
        self.held = data[-1:]
        self._look(data)

    def counted(self) -> int:
        """Return the rows, after the last chunk."""
        if self.held:
            self._look(self.held + bytes([self.end]))
        if self.inside:
            self._refuse("has a quote that is never closed")
        return self.rows + (self.length > 0)

    def _look(self, data: bytes) -> None:
        """Look at all bytes but the last one."""
        import numpy as np

        if len(data) == 1:
            return
        found = np.frombuffer(self.before + data, np.uint8)
        here, following = found[1:-1], found[2:]
        quotes = np.flatnonzero(here == _QUOTE) if _QUOTE in data else np.empty(0, np.int64)
        opening, closing = quotes[self.inside :: 2], quotes[1 - self.inside :: 2]
        if not (self._bounds(found[opening]) and self._bounds(following[closing])):
            self._refuse("has a quote inside a cell, where the cell is not quoted or the quote not doubled")

        def outside(sign: int) -> Any:
            places = np.flatnonzero(here == sign)
            if not quotes.size:
                return places[:0] if self.inside else places
            return places[(np.searchsorted(quotes, places) + self.inside) % 2 == 0]

        if _RETURN in data or self.end == _RETURN:
            other = outside(_LINE if self.end == _RETURN else _RETURN)
            if other.size and (self.end == _RETURN or bool((following[other] != _LINE).any())):
                self._refuse("has a carriage return inside a line or lines that end in different ways")
        self._count(outside(self.end), found, len(here))
        self.inside = bool((len(quotes) + self.inside) % 2)
        self.before = data[-2:-1]

    def _bounds(self, signs: np.ndarray) -> bool:
        """Tell whether all of these stand at the ends of cells, or are quotes."""
        return bool(self.around[signs].all())

    def _count(self, ends: np.ndarray, found: np.ndarray, looked_at: int) -> None:
        import numpy as np

        if not ends.size:
            self.length += looked_at
        else:
            lengths = np.diff(ends, prepend=-1 - self.length) - 1
            blank = (lengths == 0) | ((lengths == 1) & (found[ends] == _RETURN))
            self.rows += len(ends) if self.blank_counts else int(len(ends) - blank.sum())
            self.length = looked_at - int(ends[-1]) - 1
            if lengths.max() > _LONGEST:
                self._refuse_long()
        if self.length > _LONGEST:
            self._refuse_long()

    def _refuse_long(self) -> None:
        raise SchemaError(
            f"{self.path!r} has a row of more than {_LONGEST >> 20} MB, which the reader would leave out; is a "
            "quote left open? Write the file again, or as Parquet."
        )

    def _refuse(self, what: str) -> None:
        raise SchemaError(f"{self.path!r} {what}, so that one row could change how others are read; {_WRITE_AGAIN}")
