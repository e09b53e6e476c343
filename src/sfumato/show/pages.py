"""Small self-contained pieces of HTML: nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

_STYLE = """
.sfumato{font:14px/1.45 system-ui,sans-serif;color:#333;max-width:64rem}
.sfumato table{border-collapse:collapse;margin:.5rem 0}
.sfumato caption{text-align:left;padding:.3rem 0;color:#555}
.sfumato th,.sfumato td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid #ddd}
.sfumato td.number{text-align:right;font-variant-numeric:tabular-nums}
.sfumato figure{margin:.8rem 0}.sfumato svg{max-width:100%;height:auto}
"""


class Shown(Protocol):
    """Anything that can be put on a page."""

    def html(self) -> str:
        """Return an HTML element."""
        ...


def html(title: str, parts: Sequence[Shown]) -> str:
    """Return one section with a heading, holding tables and pictures, ready for a notebook or a page.

    >>> from sfumato.show import table
    >>> page = html("A & B", [table("Counts", ["mode", "people"], [["bus", "120"]])])
    >>> "A &amp; B" in page, "120" in page
    (True, True)
    """
    inside = "".join(part.html() for part in parts)
    return f'<section class="sfumato"><style>{_STYLE}</style><h3>{escape(title)}</h3>{inside}</section>'
