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
    "permission": "a file may not be opened by this user; check its permissions",
    "stopped": "somebody stopped it; ask again",
    "connection": "the connection was lost; open the source again",
    "damaged": "what is stored is damaged, or breaks its own format; check it with the tool that wrote it",
    "file": "a file could not be read or written: it was moved or cut short, or a disk is full",
    "engine": "it failed by itself, which is an error of the engine",
    "unknown": "why is not known, because this kind of failure is not; ask again, and if it fails again open the data "
    "as Parquet or in another engine, and report the kind",
}
"""What is told of each cause; where a failure has several, the first one in this order is its cause."""

_CLASSES = {
    "memory": ("MemoryError", "ArrowMemoryError", "OutOfMemoryException", "OutOfMemoryError", "SparkOutOfMemoryError"),
    "depth": ("RecursionError", "StackOverflowError"),
    "executors": ("FetchFailedException", "MetadataFetchFailedException", "ExecutorDeadException"),
    "permission": ("PermissionError", "PermissionException", "AccessControlException", "AccessDeniedException"),
    "stopped": ("InterruptException", "InterruptedException"),
    "connection": (
        *("ConnectionException", "OperationalError", "HTTPException", "Py4JNetworkError", "ConnectionError"),
        *("SocketException", "SocketTimeoutException", "ConnectException", "UnknownHostException"),
        "RpcTimeoutException",
    ),
    # DuckDB has `Error` itself, and no kind below it, for what its readers of files say.
    "damaged": (
        *("InvalidInputException", "SerializationException", "DataError", "duckdb.Error", "ArrowInvalid"),
        *("UnicodeDecodeError", "ParquetDecodingException", "FileFormatException", "ChecksumException"),
        *("EOFException", "ZipException", "SchemaColumnConvertNotSupportedException", "BadRecordException"),
    ),
    "file": ("IOException", "OSError", "FileNotFoundException", "SparkFileNotFoundException", "NoSuchFileException"),
    "engine": ("InternalException", "FatalException", "TransactionException"),
}
_CAUSES = {name: cause for cause, names in _CLASSES.items() for name in names}

# Spark has one class for many failures. What it writes at the start of a message is its own; cells come later, if at
# all, so that no cell decides what is told.
_JOB = r"(\[\w+\] )?Job aborted due to stage failure: "
_STARTS = {
    "result size": _JOB + r"Total size of serialized results of ",
    "executors": _JOB + r"(Task \S+ in stage \S+ failed \S+ times, most recent failure: Lost task [^:]{0,200}: "
    r"ExecutorLostFailure|Slave lost|ResultStage \S+ has failed the maximum allowable number of times)"
    r"|\[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND\]",
    "connection": r"(\[\w+\] )?(Job \S+ cancelled because SparkContext was shut down|Cannot call methods on a stopped)",
    "stopped": r"\[SPARK_JOB_CANCELLED\]",
    "depth": r"Max expression depth limit of |Parser Error: Maximum (tree|expression) depth ",
    "damaged": r"\[(FAILED_READ_FILE(?!\.FILE_NOT_EXIST)|CANNOT_READ_FILE_FOOTER|MALFORMED_RECORD_IN_PARSING|"
    r"MALFORMED_CSV_RECORD)\b",
}
_MOST_CAUSES = 20


def cause_of(error: BaseException) -> str:
    """Return what stopped an engine: a key of `REASONS`."""
    return _told(list(_chain(error)))


Link = tuple[list[str], str]


def _told(links: list[Link]) -> str:
    """Return the cause that comes first among those that the links of a failure name."""
    # Of the classes of one link the narrowest that is known decides.
    found = {next((_CAUSES[name] for name in names if name in _CAUSES), "unknown") for names, _ in links}
    found |= {cause for cause, start in _STARTS.items() if any(re.match(start, text) for _, text in links)}
    return next(cause for cause in REASONS if cause in found)


def _chain(error: BaseException) -> Iterator[Link]:
    """Yield the classes and the message of a failure and of what caused it, inside a Java process too."""
    yield [_called(error), *(kind.__name__ for kind in type(error).__mro__)], str(error.args[0]) if error.args else ""
    inner: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        for _ in range(_MOST_CAUSES):
            if inner is None:
                return
            yield [str(inner.getClass().getSimpleName())], str(inner.getMessage())
            inner = inner.getCause()
    except Exception:  # the process that could tell is gone
        yield ["Py4JNetworkError"], ""


def _called(error: BaseException) -> str:
    """Return what the kind of a failure is called; DuckDB's kind of no kind by its module, too."""
    kind = type(error)
    return "duckdb.Error" if kind.__name__ == "Error" and "duckdb" in kind.__module__ else kind.__name__


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
        links = list(_chain(error))
    kind, cause = links[-1][0][0], _told(links)
    raise EngineError(f"The engine could not read the source ({kind}): {REASONS[cause]}.", cause, kind)
