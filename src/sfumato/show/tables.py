"""Tables for a terminal and for a page."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sfumato.errors import ParameterError

_NARROWEST = 80


@dataclass(frozen=True)
class Table:
    """Text in rows and columns under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self, width: int | None = None) -> str:
        """Return the table as plain text, as wide as the terminal unless said otherwise."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable

        drawn = RichTable(title=self.title or None, box=box.SIMPLE_HEAD, title_justify="left")
        for place, column in enumerate(self.columns):
            drawn.add_column(column, justify="right" if self._is_numeric(place) else "left", overflow="fold")
        for row in self.rows:
            drawn.add_row(*row)
        page = io.StringIO()
        wide = width if width is not None else max(_NARROWEST, shutil.get_terminal_size((120, 24)).columns)
        # A notebook is no reason to show it there as well.
        page_of = Console(
            file=page, width=wide, no_color=True, markup=False, highlight=False, emoji=False, force_jupyter=False
        )
        page_of.print(drawn)
        return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines())

    def html(self) -> str:
        """Return the table as an HTML element with a caption and column headers."""
        numeric = [self._is_numeric(place) for place in range(len(self.columns))]
        head = "".join(f'<th scope="col">{escape(column)}</th>' for column in self.columns)
        body = "".join(f"<tr>{_cells(row, numeric)}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _is_numeric(self, place: int) -> bool:
        return bool(self.rows) and all(_numeric(row[place]) for row in self.rows)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from sfumato.show.pages import html

        return html(self.title, [self])


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table to print or to put on a page.

    >>> print(table("Counts", ["mode", "people"], [["bus", "120"], ["tram", "340"]]).text(40))
    Counts
    <BLANKLINE>
      mode   people
     ───────────────
      bus       120
      tram      340
    """
    if any(len(row) != len(columns) for row in rows):
        raise ParameterError(f"Every row of the table {title!r} must have {len(columns)} cells, one a column.")
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows))


def _numeric(cell: str) -> bool:
    try:
        float(cell.rstrip(" %").replace(",", ""))
    except ValueError:
        return False
    return True


def _cells(row: Sequence[str], numeric: Sequence[bool]) -> str:
    return "".join(
        f'<td class="number">{escape(cell)}</td>' if right else f"<td>{escape(cell)}</td>"
        for cell, right in zip(row, numeric, strict=True)
    )
