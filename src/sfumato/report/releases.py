"""What was released so far, for people: one line a request, newest last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.ask.question import QUESTIONS
from sfumato.exact import Infinity
from sfumato.exact.written import amount, rounded
from sfumato.ledger import Entry
from sfumato.privacy import Cost, Everything
from sfumato.report.figures import NOTHING_KNOWN
from sfumato.show import Table, table
from sfumato.show.titles import lowered, titles_of

TITLE = "Charged so far, in order"
SHOWN = 50
"""Of more requests than this only the newest are shown; JSON has all."""


def releases_table(history: Sequence[Entry], *, attributes: bool = True) -> Table:
    """Return the requests that were charged; without their attributes where no figure per attribute may be shown."""
    columns = ["row", "what", "when (UTC)", "spend", "a person", "attributes", "status"]
    several = len({_state(entry) for entry in history} - {""}) > 1
    rows = [_cells(entry, several) for entry in history[-SHOWN:]]
    if not attributes:
        place = columns.index("attributes")
        columns, rows = [*columns[:place], *columns[place + 1 :]], [[*row[:place], *row[place + 1 :]] for row in rows]
    hidden = len(history) - SHOWN
    title = TITLE if hidden <= 0 else f"{TITLE}; the newest {SHOWN} of {len(history)}"
    return table(title, columns, rows)


def asked_in_words(entry: Entry, *, whole: bool = False) -> str:
    """Return what was asked, in a few plain words; what is no question goes by the name of what ran.

    What is long, such as a statement in SQL, is cut unless `whole`.

    >>> mean = {"question": "Mean", "column": "age", "where": None}
    >>> asked = {"question": "GroupBy", "by": ["sex"], "aggregates": [mean]}
    >>> asked_in_words(Entry(1, "a", "committed", {"name": "Several", "parameters": {"question": asked}}, ()))
    'mean of age by sex'
    """
    return lowered(titles_of(list(_questions(entry.event)), whole=whole)) or entry.name


def _questions(event: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Sequence[str]]]:
    """Yield the questions of a request, each with the notes that were stored beside it."""
    QUESTIONS.brought()  # each says what it is called
    parameters = event.get("parameters") or {}
    question = parameters.get("question")
    if isinstance(question, Mapping) and "question" in question:
        yield question, [note for note in parameters.get("notes") or () if isinstance(note, str)]
        return
    for part in parameters.get("parts") or ():
        if isinstance(part, Mapping):
            yield from _questions(part)


def _state(entry: Entry) -> str:
    """Return the number or the name of the state of the data that was asked about."""
    return str((entry.event.get("parameters") or {}).get("snapshot", ""))


def _cells(entry: Entry, several: bool) -> list[str]:
    touched = entry.attributes
    names = "all" if isinstance(touched, Everything) else ", ".join(sorted(touched)) or "none"
    when = NOTHING_KNOWN if entry.at is None else entry.at.removesuffix("+00:00").replace("T", " ")
    spend = NOTHING_KNOWN if entry.spend is None else str(entry.spend)
    asked = asked_in_words(entry)
    if entry.event.get("name") == "Conversation":
        asked = f"conversation {entry.id}"
    if several and _state(entry):  # the same question of two files is two lines, and they are told apart
        asked = f"{asked}, of state {_state(entry)}"
    what = asked if entry.analyst is None else f"{asked}, asked by {entry.analyst}"
    return [str(entry.number), what, when, spend, cost_text(entry.person), names, entry.state]


def cost_text(cost: Cost) -> str:
    """Return a cost in a few words, rounded up.

    >>> cost_text(Cost.pure("1/10")), cost_text(Cost.concentrated("1/50")), cost_text(Cost.approximate(1, "1e-9"))
    ('epsilon 0.1', 'rho 0.02', 'epsilon 1, delta 1e-9')
    """
    if cost.is_zero:
        return "nothing"
    if not isinstance(cost.epsilon, Infinity):
        said = f"epsilon {rounded(cost.epsilon, up=True)}"
    else:
        end = cost.curve.end
        rho = cost.rho(end)
        reach = "" if isinstance(end, Infinity) else f" up to order {rounded(end, up=False)}"
        said = "unbounded" if isinstance(rho, Infinity) else f"rho {rounded(rho, up=True)}{reach}"
    return f"{said}, delta {amount(cost.leak)}" if cost.leak else said
