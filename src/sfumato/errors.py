"""The one small family of errors.

Every message is a complete sentence that says what to write instead. None carries a private value:
errors are raised on public facts only (parameters, types, shapes, schemas, limits), never on data.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


class SfumatoError(Exception):
    """Anything that sfumato refuses to do."""


class ParameterError(SfumatoError, ValueError):
    """A public parameter is of the wrong type, out of range or inconsistent with another one."""


class UnknownName(ParameterError, AttributeError):
    """Something has no such attribute; the sentence says which one was meant."""


class UnknownImport(ParameterError, ImportError):
    """A module has no such name to import; the sentence says which one was meant."""


class SchemaError(SfumatoError):
    """A schema does not say what is needed, or names something that does not exist."""


class EngineError(SchemaError):
    """An engine could not do its work; `cause` says what stopped it, from the kind of the failure alone.

    Causes are memory, result size, depth, executors, damaged, permission, file, stopped, engine, connection and
    unknown; `kind` is what the engine calls the failure.
    """

    def __init__(self, message: str, cause: str, kind: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.kind = kind


class DataChanged(SchemaError):
    """The data are no longer those that were opened."""


class TooLarge(SfumatoError):
    """A question would not run on this engine or this machine; found out from public facts, before anything was spent.

    `needs` and `has` say how much, in bytes, where that is what is lacking.
    """

    def __init__(self, message: str, needs: int | None = None, has: int | None = None) -> None:
        super().__init__(message)
        self.needs = needs
        self.has = has


class RelationMismatch(SfumatoError):
    """Two losses, or a loss and a limit, speak of different neighbouring tables."""


class UnsupportedSpend(SfumatoError):
    """No mechanism can serve this question at this kind of spend."""


class BudgetExceeded(SfumatoError):
    """A reservation would break a limit; nothing was spent.

    `breaks` lists the limits that would break, `largest` is the largest spend that would still fit.
    """

    def __init__(self, message: str, breaks: Sequence[Any] = (), largest: Any = None) -> None:
        super().__init__(message)
        self.breaks = tuple(breaks)
        self.largest = largest

    def _render_traceback_(self) -> list[str]:
        """Show a notebook the refusal alone: nothing went wrong, so there is nothing to trace."""
        return [f"{type(self).__name__}: {self}"]


class NotProvable(SfumatoError):
    """A theorem's preconditions do not hold at these numbers; `numbers` says which and by how much."""

    def __init__(self, message: str, numbers: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.numbers = dict(numbers or {})


class DomainTooLarge(SfumatoError):
    """A method would need to list a domain that is too large; `method` names one that does not."""

    def __init__(self, message: str, method: str | None = None) -> None:
        super().__init__(message)
        self.method = method


class CertificationError(SfumatoError):
    """An independent check of a result failed, so the result is withheld."""


class LedgerError(SfumatoError):
    """A ledger cannot be read, was rolled back, or belongs to other people."""


class DamagedLedger(LedgerError):
    """The file of a ledger was damaged, or changed by something else than the ledger."""


class Unfinished(LedgerError):
    """A request was charged and begun, and has no answer yet; what was charged is kept for it."""


class Overtaken(LedgerError):
    """Somebody else has gone on with what was begun, so nothing that was done here is shown."""


class FitError(SfumatoError):
    """An answer was drawn and stored, but what is shown of it could not be computed; nothing is lost.

    `request` is its id for `curator.refit`, which tries again and costs nothing; `raw` is what was drawn.
    """

    def __init__(self, message: str, request: str = "", raw: Any = None) -> None:
        super().__init__(message)
        self.request = request
        self.raw = raw


class SketchError(SfumatoError):
    """A sketch of local reports is damaged, or belongs to another plan."""


class PaidAgainWarning(UserWarning):
    """Data without a name are a new state of themselves, so that what was paid for will be paid again."""


class AccuracyWarning(UserWarning):
    """The answer will be private but poor; said from public facts only."""


_OURS = str(Path(__file__).parent) + os.sep
_PASSED_THROUGH = (contextlib.__file__, functools.__file__)


def warn(said: str, category: type[Warning] = AccuracyWarning) -> None:
    """Warn, and name the line of whoever called: the first one up the stack that is not of this library.

    How deep a warning lies below the line that somebody wrote changes with every function between, so it is looked up
    and nowhere counted.
    """
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(said, category, stacklevel=depth)


def _is_ours(file: str) -> bool:
    return file.startswith(_OURS) or file in _PASSED_THROUGH


@contextlib.contextmanager
def told_once(told: set[str] | None) -> Iterator[None]:
    """Warn of the same thing once in all copies of a learner, whatever numbers stand in the sentence."""
    if told is None:
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        said = re.sub(r"\d+", "#", str(one.message))
        if said not in told:
            told.add(said)
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
