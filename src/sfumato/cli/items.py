"""Domains and items of the local model as people type them; nothing is evaluated."""

from __future__ import annotations

import io
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.domain import Domain

_DOMAIN = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
EXAMPLES = "text(24), bytes(8), integers(0, 65535), fixed(0, 60, 0.5) or dates(2020-01-01, 2029-12-31)"
CHUNK = 1 << 16
"""How many items are randomized at once."""


def read_domain(text: str, name: str) -> Domain:
    """Return the domain that a text names.

    >>> read_domain("integers(0, 9)", "--items").present
    range(0, 10)
    """
    from sfumato import domain
    from sfumato.local import raw

    makers: dict[str, tuple[int, Callable[..., Domain]]] = {
        "text": (1, lambda size: domain.text(max_bytes=_whole(size, name))),
        "bytes": (1, lambda size: raw(max_bytes=_whole(size, name))),
        "integers": (2, lambda low, high: domain.integers(_whole(low, name), _whole(high, name))),
        "fixed": (3, lambda low, high, step: domain.fixed(low, high, step=step)),
        "dates": (2, domain.dates),
    }
    found = _DOMAIN.fullmatch(text)
    parts = [] if found is None else [part.strip() for part in found[2].split(",")]
    if found is None or found[1] not in makers or len(parts) != makers[found[1]][0]:
        raise ParameterError(f"{name} must be a domain, and {text[:60]!r} is none; write {EXAMPLES}.")
    return makers[found[1]][1](*parts)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"{name} needs whole numbers, and {text[:40]!r} is none; write {EXAMPLES}.") from None


def read_candidates(path: Path) -> list[str]:
    """Return the lines of a list, cut where the lines of items are: at the end of a line, and at no other sign."""
    from sfumato.durable import read_bytes

    lines = read_bytes(path, "list of candidates, one a line").removeprefix(BOM_UTF8).split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise ParameterError(f"{path.name!r} holds no candidates; write one a line.")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(line.rstrip(b"\r").decode())
        except UnicodeDecodeError:
            raise ParameterError(
                f"Line {number} of {path.name!r} is no UTF-8 text; save the list as UTF-8, one candidate a line."
            ) from None
    return found


def item_reader(domain: Domain) -> Callable[[str], Any]:
    """Return what makes an item of a line; a line that is none stays text, which does not fit and sends noise."""
    from sfumato.domain import Categories, FixedPoint, Integers
    from sfumato.local import Bytes

    if isinstance(domain, Bytes):
        return lambda line: line.encode()
    if isinstance(domain, Categories):
        labels = {str(value): value for value in domain.values}
        return lambda line: labels.get(line, line)
    if isinstance(domain, (Integers, FixedPoint)):
        return lambda line: _number(line, int if isinstance(domain, Integers) else float)
    return lambda line: line


def _number(line: str, kind: type[int] | type[float]) -> Any:
    for read in (kind, float):  # 30.0 is 30: a column of whole numbers is written so once it has a gap
        try:
            return read(line)
        except ValueError:
            continue
    return line


@contextmanager
def item_lines(path: str) -> Iterator[IO[bytes]]:
    """Open a file of items, one a line; - is standard input."""
    if path == "-":
        yield sys.stdin.buffer
        return
    if not Path(path).is_file():
        raise ParameterError(f"There is no file {path!r}; name a file with one item a line, or - for standard input.")
    with Path(path).open("rb") as file:
        yield file


def _unmarked(lines: IO[bytes]) -> Iterator[bytes]:
    """Yield lines without the byte order mark with which some editors begin a file: it is no part of an item."""
    for first in islice(lines, 1):
        yield first.removeprefix(BOM_UTF8)
    yield from lines


def item_chunks(lines: IO[bytes], domain: Domain) -> Iterator[tuple[list[Any], float | None]]:
    """Return items in lists, each with the part of the file that was read, where that is known."""
    read, done = item_reader(domain), 0
    size = os.fstat(lines.fileno()).st_size if isinstance(lines, io.BufferedReader) and lines.seekable() else 0
    unread = _unmarked(lines)
    while chunk := list(islice(unread, CHUNK)):
        done += sum(map(len, chunk))
        yield [_item(line.rstrip(b"\r\n"), read) for line in chunk], done / size if size else None


def _item(line: bytes, read: Callable[[str], Any]) -> Any:
    """Return the item of a line; what is no text is no item, so it does not fit and sends noise."""
    try:
        return read(line.decode())
    except UnicodeDecodeError:
        return None


def counted_items(path: str, domain: Domain) -> tuple[list[Any], list[int]]:
    """Return the items of lines such as `word<TAB>120`, and how many devices hold each."""
    read = item_reader(domain)
    items, counts = [], []
    with item_lines(path) as lines:
        for number, line in enumerate(_unmarked(lines), 1):
            text, tab, count = line.decode(errors="replace").rstrip("\r\n").rpartition("\t")
            if not tab or not count.strip().isdecimal():
                raise ParameterError(
                    f"Line {number} is no item, a tab and a number; leave --counted out for plain items."
                )
            items.append(read(text))
            counts.append(int(count))
    return items, counts
