"""What was decided about everybody: who got the good decision, and about whom nothing was decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.fair.audits.group_counts import noted
from sfumato.fair.grid import Floats
from sfumato.fair.people import as_text, is_numeric
from sfumato.words import nearest

TRUTHS = frozenset({"0", "1", "0.0", "1.0", "False", "True"})
"""How labels of yes and no are written, as text."""
LISTED = 10
_TRUTH = {"1": "True", "0": "False", "true": "True", "false": "False", "yes": "True", "no": "False"}


class Decisions(NamedTuple):
    """Everybody's chance of the good outcome, NaN where nothing was decided; `good` names it where it was decided."""

    chances: Floats
    decided: bool
    good: str
    others: tuple[str, ...] = ()
    """All other decisions, which count as not favourable."""


def read_decisions(raw: Any, favourable: Any, people: int) -> Decisions:
    """Return what a column of decisions, or of chances of the good one, says; empty cells say nothing.

    Which decision is the good one is never guessed; chances are those of the good one.

    >>> read_decisions(["yes", "", "no"], "yes", 3).chances.tolist()
    [1.0, nan, 0.0]
    """
    array = np.asarray(raw)
    if array.shape != (people,):
        raise ParameterError(f"There are {array.size} decisions for {people} people; give one a person.")
    given = noted(as_text(array))
    if not given.any():
        raise ParameterError("Nobody has a decision; name a column that is filled in.")
    chances = np.full(people, np.nan)
    if _are_chances(array[given]):
        chances[given] = array[given].astype(np.float64)
        if not np.all((chances[given] >= 0) & (chances[given] <= 1)):
            raise ParameterError("Decisions that are numbers are 0 and 1, or probabilities between them.")
        return Decisions(chances, False, "")
    words = _words(array[given])
    known = sorted(set(words.tolist()))
    good = _good(known, favourable)
    chances[given] = words == good
    return Decisions(chances, True, good, tuple(one for one in known if one != good))


def said_of_others(others: Sequence[str], hint: str = "leave cells empty where nothing was decided yet") -> str:
    """Return which decisions count as not favourable; nothing where there is one, which can only be the refusal.

    Who waits for a decision was not refused, and no column says which of its words mean waiting.

    >>> said_of_others(["pending", "rejected"])
    "'pending', 'rejected' count as not favourable; leave cells empty where nothing was decided yet."
    """
    if len(others) < 2:
        return ""
    listed = ", ".join(repr(one) for one in others[:LISTED]) + (", …" if len(others) > LISTED else "")
    return f"{listed} count as not favourable{f'; {hint}' if hint else ''}."


def _are_chances(values: NDArray[Any]) -> bool:
    """Return whether they are numbers of which some lie between 0 and 1: others are codes of decisions."""
    if not is_numeric(values):
        return False
    numbers = values.astype(np.float64)
    return bool(((numbers > 0) & (numbers < 1)).any())


def _words(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return decisions as text; 1 is read as 1.0 where cells are empty, and is the same decision."""
    if is_numeric(values):
        return np.array([f"{float(value):g}" for value in values.tolist()], dtype=np.str_)
    return as_text(values)


def _good(known: list[str], favourable: Any) -> str:
    """Return the decision that was named as the good one, as the column writes it."""
    if favourable is None:
        # Whether 1 is a loan or a default is known to whoever asks, not to a column.
        first = known[-1] if known[-1] in ("1", "True") else known[0]
        shown = first if first in ("0", "1", "False", "True") else repr(first)
        raise ParameterError(
            f"Say which decision is the good one: write favourable={shown} if it is {first}; the decisions are "
            f"{', '.join(known[:LISTED])}{', …' if len(known) > LISTED else ''}."
        )
    wanted = str(_words(np.asarray([favourable]))[0])
    if set(known) <= {"False", "True"}:
        wanted = _TRUTH.get(wanted.lower(), wanted)
    if set(known) <= {"0", "1"}:
        wanted = {"True": "1", "False": "0"}.get(wanted, wanted.removesuffix(".0"))
    if wanted not in known:
        raise ParameterError(f"No decision is called {wanted!r}; {nearest(wanted, known)}")
    return wanted


def read_labels(labels: Any, people: int) -> tuple[Any, Any]:
    """Return whose label is the good one, and whose is known."""
    array = np.asarray(labels)
    if array.shape != (people,):
        raise ParameterError(f"There are {array.size} labels (label=) for {people} people; give one a person.")
    words = as_text(array)
    labelled = noted(words)
    if not labelled.any():
        raise ParameterError("Nobody has a label; leave label= out, or name a column that is filled in.")
    if not set(words[labelled].tolist()) <= TRUTHS:
        raise ParameterError(
            "label= is 0 and 1, or missing: who deserved the good outcome; write for example "
            "table['paid'].map({'yes': 1, 'no': 0})."
        )
    return np.isin(words, ("1", "1.0", "True")), labelled


def read_scores(scores: Any, people: int) -> Floats | None:
    """Return scores between 0 and 1, one a person."""
    if scores is None:
        return None
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("scores are numbers between 0 and 1, and these hold text.") from None
    if array.shape != (people,) or not np.all(np.isfinite(array)):
        raise ParameterError(f"scores must be {people} finite numbers, one a person.")
    if array.min() < 0 or array.max() > 1:
        raise ParameterError("scores must lie between 0 and 1; rescale them, for example (score - 1) / 9 for deciles.")
    return array
