"""What stopped an engine, told from the kind of its failure alone: the text of one can quote a cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sfumato.errors import EngineError, SchemaError

Result = TypeVar("Result")

REASONS = {
    "memory": "it ran out of memory; close other programs, set a larger memory_limit=, or give the executors more",
    "result size": "what it would hand back is larger than spark.driver.maxResultSize; raise that",
    "depth": "the query is nested too deeply for it; ask about fewer columns, or write the condition flatter",
    "executors": "it lost executors while it worked: they ended or ran out of memory; give them more memory, then ask "
    "again",
    "damaged": "what is stored is damaged, or breaks its own format; check it with the tool that wrote it",
    "permission": "a file may not be opened by this user; check its permissions",
    "file": "a file could not be read or written: it was moved or cut short, or a disk is full",
    "stopped": "somebody stopped it; ask again",
    "engine": "it failed by itself, which is an error of the engine",
    "connection": "the connection was lost; open the source again",
}

_CLASSES = {
    "damaged": {"SerializationException"},  # which DuckDB counts among the operational ones
    "memory": {"MemoryError", "OutOfMemoryException", "OutOfMemoryError", "SparkOutOfMemoryError"},
    "depth": {"RecursionError", "StackOverflowError"},
    "permission": {"PermissionError", "PermissionException"},
    "file": {"IOException", "OSError", "FileNotFoundException", "SparkFileNotFoundException"},
    "stopped": {"InterruptException"},
    "engine": {"InternalException", "FatalException"},
    "connection": {"ConnectionException", "OperationalError", "Py4JNetworkError"},
}

# Spark has one class for many failures. What it writes at the start of a message is its own; cells come later, if at
# all, so that no cell decides what is told.
_JOB = r"(\[\w+\] )?Job aborted due to stage failure: "
_STARTS = {
    "result size": _JOB + r"Total size of serialized results of ",
    "executors": _JOB + r"(Task \S+ in stage \S+ failed \S+ times, most recent failure: Lost task [^:]{0,200}: "
    r"ExecutorLostFailure|Slave lost|ResultStage \S+ has failed the maximum allowable number of times)",
    "connection": r"(Job \S+ cancelled because SparkContext was shut down|Cannot call methods on a stopped)",
    "depth": r"Max expression depth limit of |Parser Error: Maximum (tree|expression) depth ",
}
_MOST_CAUSES = 20


def cause_of(error: BaseException) -> str:
    """Return what stopped an engine: a key of `REASONS`."""
    links = list(_chain(error))
    for cause, names in _CLASSES.items():
        if any(names & kinds for kinds, _ in links):
            return cause
    for cause, start in _STARTS.items():
        if any(re.match(start, text) for _, text in links):
            return cause
    return "damaged"


def _chain(error: BaseException) -> Iterator[tuple[set[str], str]]:
    """Yield the classes and the message of a failure and of what caused it, inside a Java process too."""
    yield {kind.__name__ for kind in type(error).__mro__}, str(error.args[0]) if error.args else ""
    inner: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        for _ in range(_MOST_CAUSES):
            if inner is None:
                return
            yield {str(inner.getClass().getSimpleName())}, str(inner.getMessage())
            inner = inner.getCause()
    except Exception:  # the process that could tell is gone
        yield {"Py4JNetworkError"}, ""


_BUGS = (AttributeError, NameError, UnboundLocalError, TypeError, NotImplementedError)
"""Bugs, ours or those of a library: no word about the data. Kinds derived from them, as Arrow has, may quote a cell."""


def guarded(work: Callable[[], Result]) -> Result:
    """Run engine work; an engine's message can quote a cell, so only the kind of failure leaves."""
    try:
        return work()
    except SchemaError:
        raise  # a public fact
    except Exception as error:
        if type(error) in _BUGS:
            raise
        kind, cause = type(error).__name__, cause_of(error)
    raise EngineError(f"The engine could not read the source ({kind}): {REASONS[cause]}.", cause)
