"""The report on a ledger: what is guaranteed, what has been used, and when a figure per attribute means something."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.durable import require_new, write_by_ending
from sfumato.errors import ParameterError
from sfumato.exact import Extended, Number, between_zero_and_one, positive_integer, to_text
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.periods import PeriodsUsed, units_said
from sfumato.ledger.verify import Verification
from sfumato.privacy import Approximate
from sfumato.report.account import LARGEST_SIZE, Account
from sfumato.report.figures import ReportLine
from sfumato.report.questionnaire import CONTEXTS, EXPLANATION, Finding, Level, findings, size_finding, weighed
from sfumato.report.releases import asked_in_words
from sfumato.report.worst import Worst

if TYPE_CHECKING:
    from sfumato.table.schema import Schema

DELTA = Fraction(1, 10**6)
FAMILY = 4


@dataclass(frozen=True, kw_only=True)
class ThreatReport:
    """What a ledger promises and has used, for a person, attributes, sets of attributes and families (PDP-REPORT).

    There is no report without the line about the whole person: a figure per attribute never stands alone.
    """

    _HIDDEN: ClassVar[frozenset[str]] = frozenset({"attributes", "event", "loss"})

    person: ReportLine
    attributes: tuple[ReportLine, ...] = ()
    sets: tuple[ReportLine, ...] = ()
    families: tuple[ReportLine, ...] = ()
    worst: tuple[Worst, ...] = ()
    findings: tuple[Finding, ...] = ()
    place: str = "memory"
    head: str = ""
    odometer: str | None = None
    releases: tuple[Entry, ...] = ()
    delta: Fraction = DELTA
    answers: Mapping[str, bool] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    """What is promised for each day, week or month of a person, in sentences (PB-UNIT)."""
    periods: tuple[PeriodsUsed, ...] = ()
    """What those days, weeks or months that were charged have used of it."""
    verification: Verification | None = None
    """What working out the ledger's chain, charges and sums again has found."""

    def __post_init__(self) -> None:
        promised = isinstance(self.person, ReportLine) and (self.person.promise is not None or bool(self.units))
        if not promised or not self.person.whole:
            raise ParameterError(
                "A report needs the figure for the whole person; make it with report.threats(ledger), which has one."
            )
        for row in (*self.attributes, *self.sets):
            if not row.attributes:
                raise ParameterError("A line about attributes must name them; the whole person has its own line.")

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the ledger itself: where it was changed outside, figures made from it may be false."""
        return () if self.verification is None else self.verification.problems

    @property
    def blocked_by(self) -> tuple[str, ...]:
        """The answers that forbid a claim per attribute."""
        return tuple(found.about for found in self.findings if found.level is Level.BLOCK)

    @property
    def worst_attribute(self) -> ReportLine | None:
        """The attribute with the largest guarantee, of equal ones the most used; None if none is declared."""
        return max(self.attributes, key=_size, default=None)

    @property
    def headline(self) -> tuple[ReportLine, ...]:
        """What may be quoted: the person always, the worst attribute unless an answer blocks it."""
        worst = self.worst_attribute
        return (self.person,) if self.blocked_by or worst is None else (self.person, worst)

    @property
    def rows(self) -> tuple[ReportLine, ...]:
        """All lines that may be read as claims, the person first."""
        return (self.person, *self.families) + (() if self.blocked_by else (*self.attributes, *self.sets))

    def text(self, width: int | None = None) -> str:
        """Return the report for a terminal."""
        from sfumato.report.text import text

        return text(self, width)

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON, exact numbers as text; what an answer blocks is left out."""
        return {
            "headline": [row.to_json() for row in self.headline],
            "person": self.person.to_json(),
            "families": [row.to_json() for row in self.families],
            "attributes": [] if self.blocked_by else [row.to_json() for row in self.attributes],
            "sets": [] if self.blocked_by else [row.to_json() for row in self.sets],
            "worst": [] if self.blocked_by else [worst.to_json() for worst in self.worst],
            "blocked_by": list(self.blocked_by),
            "findings": [finding.to_json() for finding in self.findings],
            "answers": dict(self.answers),
            "odometer": self.odometer,
            "releases": [self._release(entry) for entry in self.releases],
            "delta": to_text(self.delta),
            "ledger": {
                "place": self.place,
                "head": None if self.problems else self.head,
                "problems": list(self.problems),
            },
            "explanation": [EXPLANATION, CONTEXTS],
            **({"units": list(self.units)} if self.units else {}),
            **({"periods": [one.to_json() for one in self.periods]} if self.periods else {}),
        }

    def _release(self, entry: Entry) -> dict[str, Any]:
        record = {**entry.to_json(), "asked": asked_in_words(entry, whole=True)}
        return {name: record[name] for name in record if name not in self._HIDDEN} if self.blocked_by else record

    def html(self) -> str:
        """Return the report as one self-contained HTML page."""
        from sfumato.report.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from sfumato.report.page import body

        return body(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the report as `.html`, `.json` or `.txt` into a folder that is there, and return its path.

        It goes over a file only with `overwrite`.
        """
        target = require_new(path, overwrite=overwrite, in_folder=True)
        kinds = {
            ".html": self.html,
            ".json": lambda: json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n",
            ".txt": lambda: self.text(100) + "\n",
        }
        return write_by_ending(target, "A report", kinds)


def _size(row: ReportLine) -> tuple[bool, Extended | int, Extended | int]:
    promise = row.promise.epsilon if row.promise is not None else 0
    return row.promise is None, promise, row.used.epsilon if row.used is not None else 0


def threats(
    ledger: Ledger,
    answers: Mapping[str, bool] | None = None,
    *,
    sets: Iterable[Sequence[str]] = (),
    sensitive: Mapping[str, Sequence[str]] | None = None,
    families: Iterable[int] | None = None,
    delta: Number | None = None,
    values: Mapping[str, int] | None = None,
) -> ThreatReport:
    """Return the report on a ledger.

    `answers` are those to the questionnaire, by name. `sets` are pairs or larger sets of attributes to show,
    `sensitive` named ones; the ledger's own groups and limits on sets are always shown. `families` are sizes of
    groups of people. `delta` is where epsilons are read, by default that of the person limit or 1e-6.

    >>> from sfumato import Pure
    >>> from sfumato.ledger import Budget
    >>> report = threats(Ledger(None, Budget(person=Pure(1))), {"membership": True})
    >>> report.person.guarantee_text[-62:], report.blocked_by
    ('together satisfies Pure(1) for each person, whatever is asked.', ('membership',))
    """
    given = dict(answers or {})
    account = Account(ledger, _delta(ledger, delta), values)
    named = _named_sets(ledger, sets, sensitive or {})
    person = account.row()
    groups = sorted((account.secrets.groups or {}) if account.secrets is not None else {})
    found = findings(given, groups, sorted(named))
    # Where only periods are limited there is no figure for the whole person, and the report says so.
    large = None if person.promise is None else size_finding(person.promise.epsilon)
    classes = account.classes
    # Meters of whole people measure sets of attributes, and where only periods are limited there are none.
    largest = min(len(classes), LARGEST_SIZE) if ledger.budget.person is not None else 0
    odometer = ledger.odometer()
    return ThreatReport(
        person=person,
        attributes=tuple(account.row(names) for names in classes),
        sets=tuple(account.row(names, subject=label) for label, names in named.items()),
        families=tuple(account.row(people=size) for size in _families(ledger, families)),
        worst=tuple(account.worst(size) for size in range(1, largest + 1)),
        findings=tuple(weighed(found, large)),
        place=ledger.place,
        head=ledger.head,
        odometer=None if odometer is None else odometer.text,
        releases=tuple(ledger.history()),
        delta=account.delta,
        answers=given,
        units=units_said(ledger.budget, ledger.relation),
        periods=ledger.periods(),
        verification=ledger.verify(),
    )


def sizes(schema: Schema) -> dict[str, int]:
    """Return how many values each private attribute can take, as far as they can be listed."""
    found = {name: schema.domain(name).size for name in schema.attributes}
    return {name: size for name, size in found.items() if size is not None}


def _delta(ledger: Ledger, delta: Number | None) -> Fraction:
    if delta is not None:
        return between_zero_and_one(delta, "delta")
    limit = ledger.budget.person
    return limit.delta if isinstance(limit, Approximate) else DELTA


def _families(ledger: Ledger, families: Iterable[int] | None) -> list[int]:
    if families is not None:
        return sorted({positive_integer(size, "a family") for size in families} - {1})
    return sorted({limit.people for limit in ledger.budget.limits()} - {1}) or [FAMILY]


def _named_sets(
    ledger: Ledger, sets: Iterable[Sequence[str]], sensitive: Mapping[str, Sequence[str]]
) -> dict[str, frozenset[str]]:
    """Return the sets to show by their label: declared groups, limits on sets, sensitive ones, those asked for."""
    secrets = ledger.budget.secrets
    found: dict[str, frozenset[str]] = {}
    if secrets is not None:
        found |= {label: frozenset(members) for label, members in (secrets.groups or {}).items() if members}
    for names, _ in ledger.budget.attributes:
        if len(names) > 1:
            found[" + ".join(sorted(names))] = frozenset(names)
    found |= {label: frozenset(names) for label, names in sensitive.items()}
    for chosen in sets:
        asked = (chosen,) if isinstance(chosen, str) else tuple(chosen)
        found[" + ".join(sorted(asked))] = frozenset(asked)
    return found
