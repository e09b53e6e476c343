"""The report for a terminal: what may be quoted first, guarantee and meter in tables of their own."""

from __future__ import annotations

import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ledger.periods import used_said
from sfumato.ledger.wording import METER
from sfumato.privacy.explanation import percent
from sfumato.privacy.readings import guess
from sfumato.report.figures import MEANING_COLUMNS, ReportLine
from sfumato.report.questionnaire import CONTEXTS, EXPLANATION
from sfumato.report.releases import releases_table
from sfumato.show import Table, table

if TYPE_CHECKING:
    from sfumato.report.threat import ThreatReport

WIDTH = 100

GUARANTEED = "Guaranteed: the limits, for everything answered, now and later"
USED = "Used so far: no guarantee of its own"
WORST = "The worst k attributes"
READING = (
    "A guess: at a yes-or-no fact, 50:50 before, everything else about the person known. Belief moves: in total "
    "variation, against the same answers with these attributes blanked, if they are independent of the other columns. "
    "Bits: if people are independent of each other, and these attributes of the others. All are at most so large, "
    "rounded up; a dash says that nothing is proved."
)


PRESENCE = (
    "People may come and go in these data: the lines about whole people say how well somebody can tell whether they "
    "are in the data. To change a fact about a person who is there is two such steps; the lines about attributes say "
    "what holds for that, and may be larger."
)

CHANGED = (
    "The ledger does not verify: it was changed outside of it, and nothing below can be relied on. Restore its newest "
    "copy, and compare that with an end of the chain kept elsewhere: `sfumato ledger verify LEDGER --head END`."
)
"""What stands at the head of a report on a ledger that does not verify."""
NO_END = "not shown, because none was verified"

WEAK = Fraction(99, 100)
LITTLE = (
    "So large a limit promises little by itself: it hardly excludes that such a guess is always right. Under Pure(1) "
    f"it is right at most {percent(guess(1))} of the time."
)
"""What is said beside a guess that may be right nearly always."""


def readings(report: ThreatReport) -> tuple[str, ...]:
    """Return how the figures are to be read."""
    return (READING, *((PRESENCE,) if report.person.presence else ()), EXPLANATION, CONTEXTS)


def changed_text(report: ThreatReport) -> str:
    """Say that the ledger does not verify and why; nothing where it does."""
    return f"{CHANGED} {' '.join(report.problems)}" if report.problems else ""


def end_of_chain(report: ThreatReport) -> str:
    """Return the end of the chain; a changed ledger's own word for it is that of the good one, and is not shown."""
    return NO_END if report.problems else report.head


def headline(row: ReportLine) -> str:
    """Return one sentence that may be quoted."""
    about = "a person" if row.whole else f"the {row.subject} of a person"
    if row.promise is None:
        return f"No limit bounds what is learned about {about}."
    guessed = "whether a person is in the data" if row.presence else f"a yes-or-no fact about {about}"
    return (
        f"Whoever guesses {guessed}, 50:50 before, is right at most "
        f"{percent(row.promise.guess)} of the time, whatever is asked (epsilon {row.promise.figure})."
        f"{f' {LITTLE}' if promises_little(row) else ''}"
    )


def promises_little(row: ReportLine) -> bool:
    """Tell whether a limit lets a guess be right so often that it excludes next to nothing."""
    return row.promise is not None and row.promise.guess >= WEAK


def guarantee_table(report: ThreatReport) -> Table:
    """Return what the limits promise."""
    rows = [row.promise_cells() for row in report.rows]
    return table(GUARANTEED, ["for", "limit", *MEANING_COLUMNS], rows)


def used_table(report: ThreatReport) -> Table:
    """Return what the meters show."""
    rows = [row.used_cells() for row in report.rows]
    return table(USED, ["for", "of its limit", *MEANING_COLUMNS], rows)


def worst_table(report: ThreatReport) -> Table:
    """Return the worst sets by their size."""
    columns = ["k", "guaranteed", "epsilon at delta", "worst for", "used: epsilon at delta", "most used"]
    return table(WORST, columns, [worst.cells() for worst in report.worst])


def used_so_far(report: ThreatReport) -> tuple[str, ...]:
    """Say what was used of the limit on the person and of those on periods."""
    person = () if report.person.spent_text is None else (report.person.spent_text,)
    return (*person, *used_said(report.periods)) or ("Nothing was used so far.",)


def blocked_text(report: ThreatReport) -> str:
    """Say why no figure per attribute is shown."""
    return (
        f"No figure per attribute is shown, because of the answer to: {', '.join(report.blocked_by)}. "
        "Only the figure per person applies."
    )


def text(report: ThreatReport, width: int | None = None) -> str:
    """Return the whole report as text."""
    wide = width or WIDTH
    parts = ["Privacy report", f"Ledger: {report.place}", ""]
    parts += [_wrapped(changed_text(report), wide), ""] if report.problems else []
    parts += [_wrapped(headline(row), wide) for row in report.headline]
    parts += [_wrapped(said, wide) for said in report.units]
    if report.blocked_by:
        parts.append(_wrapped(blocked_text(report), wide))
    parts += ["", _wrapped(report.person.guarantee_text, wide)]
    parts += [_wrapped(said, wide) for said in (report.person.spent_text or METER, *used_said(report.periods))] + [""]
    parts += [_wrapped(f"{found.level.name:<6}{found.text}", wide, "      ") for found in report.findings]
    parts += ["", guarantee_table(report).text(wide), "", used_table(report).text(wide)]
    if report.worst and not report.blocked_by:
        parts += ["", worst_table(report).text(wide)]
    if report.releases:
        parts += ["", releases_table(report.releases, attributes=not report.blocked_by).text(wide)]
    if report.odometer is not None:
        parts += ["", _wrapped(report.odometer, wide)]
    parts += ["", *(_wrapped(said, wide) for said in readings(report))]
    return "\n".join(parts)


def _wrapped(said: str, width: int, indent: str = "") -> str:
    return textwrap.fill(said, width, subsequent_indent=indent)
