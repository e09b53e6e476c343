"""The options of all commands that open a table, in one place; a command names those of them that it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from sfumato.cli.options import (
    Analyst,
    KeepHead,
    MemoryLimit,
    MostRows,
    Of,
    Private,
    SameData,
    Snapshot,
    Stamp,
    Table,
    TempDirectory,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.curator import Curator
    from sfumato.table.resources import Resources

APART = (
    "A period is asked by its name and by the column that says when a row happened; write both, --of 2026-11 --stamp "
    "at, or neither."
)


@dataclass(frozen=True)
class Opened:
    """Which rows of which state of which table a command opens, for whom, its ledger's secrets, and on what machine."""

    snapshot: Snapshot = ""
    same_data: SameData = False
    analyst: Analyst = None
    of: Of = None
    stamp: Stamp = None
    table: Table = None
    private: Private = None
    keep_head: KeepHead = None
    memory_limit: MemoryLimit = None
    temp_directory: TempDirectory = None
    most_rows: MostRows = None

    def named(self, *names: str) -> dict[str, Any]:
        """Return some of the options, to hand them on."""
        return {name: getattr(self, name) for name in names}

    def period(self, curator: Curator) -> Curator:
        """Return the curator of the rows that are asked: those of one period, or all of them."""
        if self.of is None or self.stamp is None:
            self.require_both()
            return curator
        found: Curator = curator.of(self.of, stamp=self.stamp)
        return found

    def require_both(self) -> None:
        """Refuse a period without a column, and a column without a period."""
        if (self.of is None) is not (self.stamp is None):
            raise ParameterError(APART)

    @property
    def resources(self) -> Resources:
        """What an engine may use."""
        from sfumato.table.resources import Resources

        return Resources(self.memory_limit, self.temp_directory, most_rows=self.most_rows)


FILE = ("table", "memory_limit", "temp_directory")
"""What opens a file whose rows nobody asks about yet."""
MACHINE = ("memory_limit", "temp_directory", "most_rows")
"""What may be used of the machine."""
STATE = ("snapshot", "same_data", "analyst", "of", "stamp")
"""Which rows of which state of the data are asked, and by whom."""
ALL = tuple(one.name for one in fields(Opened))


def opens(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in place of its parameter `opened`, which gets an `Opened` with what was typed."""
    hints = get_type_hints(Opened, include_extras=True)

    def added() -> Iterator[inspect.Parameter]:
        for one in fields(Opened):
            if one.name in names:
                kind = inspect.Parameter.KEYWORD_ONLY
                yield inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name])

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: Any, **options: Any) -> None:
            typed = {name: options.pop(name) for name in names if name in options}
            command(*arguments, opened=Opened(**typed), **options)

        written = inspect.signature(command, eval_str=True)
        own = [[one] if one.name != "opened" else list(added()) for one in written.parameters.values()]
        parameters = [one for few in own for one in few]
        run.__signature__ = written.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return with_options
