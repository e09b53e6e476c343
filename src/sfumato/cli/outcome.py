"""How a command ends: exit codes, errors as one sentence, output for people or as JSON."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import typer

from sfumato.cli.hints import in_shell
from sfumato.errors import AccuracyWarning, BudgetExceeded, DamagedLedger, FitError, SfumatoError, Unfinished

REFUSED = 1
BAD_INPUT = 2
CHECK_FAILED = 3
UNFINISHED = 4
INTERNAL = 70

Arguments = ParamSpec("Arguments")


def guarded(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Turn what a command raises into one sentence and an exit code; SFUMATO_DEBUG=1 shows the traceback.

    What it warns of is one sentence on standard error, said when it is known.
    """
    name = command.__name__.removesuffix("_command")

    @wraps(command)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        as_json = bool(options.get("as_json"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", AccuracyWarning)
                warnings.showwarning = lambda message, *_, **__: _warn(str(message), as_json, name)
                command(*arguments, **options)
        except BudgetExceeded as refusal:
            raise failed(str(refusal), REFUSED, as_json=as_json, command=name) from refusal
        except DamagedLedger as damaged:
            raise failed(str(damaged), CHECK_FAILED, as_json=as_json, command=name) from damaged
        except (Unfinished, FitError) as begun:
            raise failed(str(begun), UNFINISHED, as_json=as_json, command=name) from begun
        except (SfumatoError, OSError) as problem:
            raise failed(_told(problem), BAD_INPUT, as_json=as_json, command=name) from problem
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception as bug:
            # An engine's own message can quote a cell, so only its kind is shown.
            said = f"Something failed that should not have ({type(bug).__name__}); run again with SFUMATO_DEBUG=1."
            raise failed(said, INTERNAL, as_json=as_json, command=name) from bug

    return run


def _told(problem: Exception) -> str:
    """Return the sentence of a problem; of the system's own the file and the reason, without its number."""
    if not isinstance(problem, OSError) or isinstance(problem, SfumatoError) or not problem.strerror:
        return str(problem)
    return f"{problem.filename}: {problem.strerror}." if problem.filename else f"{problem.strerror}."


def failed(sentence: str, code: int, as_json: bool, command: str = "") -> typer.Exit:
    """Print an error to standard error and return the exit that ends the command."""
    if os.environ.get("SFUMATO_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    sentence = in_shell(sentence, command)
    shown = json.dumps({"error": sentence, "code": code}, ensure_ascii=False) if as_json else f"Error: {sentence}"
    typer.echo(shown, err=True)
    return typer.Exit(code)


def _warn(sentence: str, as_json: bool, command: str) -> None:
    sentence = in_shell(sentence, command)
    said = json.dumps({"warning": sentence}, ensure_ascii=False) if as_json else f"Warning: {sentence}"
    typer.echo(said, err=True)


def emit(record: Any, text: Callable[[], str], as_json: bool) -> None:
    """Print a result: as one JSON document, or as text for people."""
    typer.echo(json.dumps(record, indent=1, ensure_ascii=False) if as_json else text())
