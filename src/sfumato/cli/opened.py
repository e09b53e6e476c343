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
    Private,
    SameData,
    Snapshot,
    Table,
    TempDirectory,
)

if TYPE_CHECKING:
    from sfumato.table.resources import Resources


@dataclass(frozen=True)
class Opened:
    """Which state of which table a command opens, for whom, where its ledger's secrets are, and on what machine."""

    snapshot: Snapshot = ""
    same_data: SameData = False
    analyst: Analyst = None
    table: Table = None
    private: Private = None
    keep_head: KeepHead = None
    memory_limit: MemoryLimit = None
    temp_directory: TempDirectory = None
    most_rows: MostRows = None

    def named(self, *names: str) -> dict[str, Any]:
        """Return some of the options, to hand them on."""
        return {name: getattr(self, name) for name in names}

    @property
    def resources(self) -> Resources:
        """What an engine may use."""
        from sfumato.table.resources import Resources

        return Resources(self.memory_limit, self.temp_directory, most_rows=self.most_rows)


FILE = ("table", "memory_limit", "temp_directory")
"""What opens a file whose rows nobody asks about yet."""
MACHINE = ("memory_limit", "temp_directory", "most_rows")
"""What may be used of the machine."""
STATE = ("snapshot", "same_data", "analyst")
"""Which state of the data is asked, and by whom."""
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
