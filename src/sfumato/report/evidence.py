"""The evidence package: what a reviewer or a public register of deployments asks, filled from a ledger.

Nothing is spent and no data are opened. What only a person can know is left open, and is listed as open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.domain import nearest
from sfumato.errors import ParameterError
from sfumato.exact import Number
from sfumato.exact.written import LONGEST, amount
from sfumato.ledger import Ledger
from sfumato.ledger.units import Unit
from sfumato.ledger.verify import Verification
from sfumato.ledger.wording import METER
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Relation, Truncated
from sfumato.report.figures import ReportLine
from sfumato.report.review import SOURCE, Reviewed, reviewed
from sfumato.report.threat import ThreatReport, threats

ABOUT = {
    "name": "what the deployment is called",
    "organisation": "who is responsible for it",
    "purpose": "what the results are for",
    "contact": "whom to ask",
    "people": "how many people are in the data",
    "source": "where the data come from, and on which terms",
    "retention": "how long the raw data are kept",
    "access": "who can read the raw data, the ledger and its private directory",
    "published": "where results are published, and for whom",
    "choice": "who chose the parameters, and why",
    "other_releases": "other ledgers or releases about the same people",
    "schema_source": "which public facts the schema was written from",
    "bias": "who is missing from the data, or measured badly",
}
"""What only a person who knows the data can say."""

KINDS: dict[type[Bound], str] = {
    Pure: "Pure differential privacy: one number, epsilon",
    Concentrated: "Zero-concentrated differential privacy: one number, rho, a bound on Rényi divergences of all orders",
    Truncated: "Truncated concentrated differential privacy: rho, for Rényi orders below omega",
    Approximate: "Approximate differential privacy: epsilon, except with probability delta",
}

COMPOSITION = (
    "Losses are exact rational numbers that only add up. Each limit is a filter that is proved for questions chosen "
    "one after another, each after seeing all answers before; a loss is reserved before the data are touched, and what "
    "was reserved stays spent."
)


@dataclass(frozen=True, repr=False)
class Evidence:
    """What is known of a deployment: the ledger's facts, a verified chain, and what people said."""

    report: ThreatReport
    verification: Verification
    relation: Relation
    schema: str | None
    attributes: tuple[str, ...]
    about: Mapping[str, Any]
    units: tuple[tuple[str, Bound], ...] = ()
    """What is promised for each period of a person, the shortest first."""

    def __repr__(self) -> str:
        releases, state = len(self.report.releases), self.verification
        chain = "ok" if state.ok else f"NOT ok, {len(state.problems)} problems"
        still = f"To be filled in: {', '.join(self.open)}." if self.open else "Nothing is left to fill in."
        held = f"{releases} releases, {len(self.mechanisms)} mechanisms, {len(self.questions)} questions of a review"
        return (
            f"Evidence of a deployment: {self.kind}, {self._bound} for {self.unit}; {held}. "
            f"The chain of the ledger is {chain}, {state.rows} rows. {still} "
            "evidence.save('evidence') writes the package."
        )

    @property
    def kind(self) -> str:
        """The definition of privacy that the limit for a person, or for a period of one, is written in."""
        return next(said for bound, said in KINDS.items() if isinstance(self._bound, bound))

    @property
    def _bound(self) -> Bound | None:
        return (
            self.units[0][1] if self.report.person.guaranteed is None and self.units else self.report.person.guaranteed
        )

    @property
    def unit(self) -> str:
        """What is hidden: a person, or each period of one where nothing is promised for a lifetime."""
        return (
            f"each {Unit.read(self.units[0][0]).said} of a person"
            if self.report.person.guaranteed is None and self.units
            else "a person"
        )

    @property
    def open(self) -> tuple[str, ...]:
        """What only a person can say and nobody did, by name."""
        return tuple(name for name in ABOUT if self.about.get(name) is None)

    @cached_property
    def mechanisms(self) -> tuple[dict[str, Any], ...]:
        """Every algorithm that ran with a noise of its own, and how many releases used it."""
        found: dict[str, dict[str, Any]] = {}
        for entry in self.report.releases:
            for record in {json.dumps(one, sort_keys=True): one for one in _leaves(entry.event)}.values():
                known = found.setdefault(json.dumps(record, sort_keys=True), {**record, "releases": 0})
                known["releases"] += 1
        return tuple(found.values())

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The public rules by which cells and rows were changed, in the order in which they were first used."""
        listed = (note for entry in self.report.releases for note in _notes(entry.event))
        return tuple(dict.fromkeys(listed))

    @cached_property
    def questions(self) -> tuple[Reviewed, ...]:
        """The questions of a review, answered as far as they can be."""
        return reviewed(self)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON; exact numbers are text, and what is not known is null."""
        report = self.report.to_json()
        snapshots = [str(found) for entry in self.report.releases if (found := _snapshot(entry.event)) is not None]
        return {
            "deployment": {name: self.about.get(name) for name in ABOUT},
            "guarantee": {
                "unit": "person" if self.unit == "a person" else f"person-{Unit.read(self.units[0][0]).said}",
                **({"units": list(self.report.units)} if self.units else {}),
                "relation": self.relation.value,
                "kind": self.kind,
                "person": _promised(self.report.person),
                "groups_of_people": [_promised(row) for row in self.report.families],
                "attributes": [] if self.report.blocked_by else [_promised(row) for row in self.report.attributes],
                "blocked_by": list(self.report.blocked_by),
            },
            "accounting": {
                "composition": COMPOSITION,
                "used_by_a_person": report["person"]["spent"],
                "used_is": METER,
            },
            "mechanisms": list(self.mechanisms),
            "data": {
                "schema_sha256": self.schema,
                "attributes": list(self.attributes),
                "states": list(dict.fromkeys(snapshots)),
                "rules": list(self.rules),
            },
            "releases": report["releases"],
            "verification": {
                "ok": self.verification.ok,
                "rows": self.verification.rows,
                "requests": self.verification.reservations,
                "head": self.verification.head,
                "problems": list(self.verification.problems),
            },
            "questions": {"source": SOURCE, "answers": [one.to_json() for one in self.questions]},
            "open": list(self.open),
            "software": _software(),
        }

    def yaml(self) -> str:
        """Return the same as YAML for people: numbers that were computed have three digits, rounded up."""
        return "\n".join([ROUNDED, *_yaml(readable(self.to_json()))]) + "\n"

    def html(self) -> str:
        """Return the same as one self-contained HTML page."""
        from sfumato.report.evidence_page import evidence_page

        return evidence_page(self)

    def save(self, folder: str | Path) -> Path:
        """Write the package into a folder that is new or empty, and return its path."""
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ParameterError(f"{str(target)!r} exists already and is not empty; write the package to a new folder.")
        target.mkdir(parents=True, exist_ok=True)
        self.report.save(target / "report.html")
        (target / "evidence.html").write_text(self.html(), encoding="utf-8")
        (target / "deployment.yaml").write_text(self.yaml(), encoding="utf-8")
        written = json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"
        (target / "deployment.json").write_text(written, encoding="utf-8")
        return target


ROUNDED = "# For people: computed numbers are rounded up to three digits. deployment.json has them exactly."
_FRACTION = re.compile(r"[0-9]+/[0-9]+")
_NUMBERS = ("epsilon", "delta", "leak", "rho")


def evidence(
    ledger: Ledger,
    about: Mapping[str, Any] | None = None,
    answers: Mapping[str, bool] | None = None,
    *,
    delta: Number | None = None,
    values: Mapping[str, int] | None = None,
) -> Evidence:
    """Return the evidence package of a ledger; `about` says what only you know, `answers` are those of the report.

    >>> from sfumato import Pure
    >>> from sfumato.ledger import Budget
    >>> found = evidence(Ledger(None, Budget(person=Pure(1))), {"purpose": "a test"})
    >>> found.verification.ok, found.to_json()["guarantee"]["person"]["bound"]
    (True, 'Pure(1)')
    """
    said = dict(about or {})
    for name in said:
        if name not in ABOUT:
            raise ParameterError(f"Nothing called {name!r} is asked about a deployment; {nearest(name, ABOUT)}")
    secrets = ledger.budget.secrets
    report = threats(ledger, answers, delta=delta, values=values)
    return Evidence(
        report=report,
        verification=report.verification or ledger.verify(),
        relation=ledger.relation,
        schema=ledger.schema,
        attributes=() if secrets is None else tuple(sorted(frozenset[str]().union(*secrets.classes()))),
        about=said,
        units=ledger.budget.units,
    )


def _promised(row: ReportLine) -> dict[str, Any]:
    if row.guaranteed is None or row.promise is None:
        return {"for": row.subject, "bound": None, "text": row.guarantee_text}
    means = row.promise.to_json()
    return {"for": row.subject, "bound": str(row.guaranteed), **means, "text": row.guarantee_text}


def _leaves(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the mechanisms inside of an event that draw noise of their own, or are made of no other ones."""
    parameters = event.get("parameters") or {}
    inner = [*parameters.values(), *(parameters.get("mechanisms") or ()), *(parameters.get("parts") or ())]
    parts = [part for part in inner if isinstance(part, Mapping)]
    found = [part for part in parts if "name" in part and "spec" in part]
    for part in found:
        yield from _leaves(part)
    kept = ("law", "sensitivity", "relation")
    itself = {"name": event.get("name"), "specification": event.get("spec"), "version": event.get("version")}
    itself |= {name: parameters[name] for name in kept if name in parameters}
    # Parts without a name are no mechanisms: tables of one mechanism, each with its noise.
    laws = [*(parameters.get("laws") or ()), *(part["law"] for part in parts if "law" in part)]
    if laws or not found:
        yield from ({**itself, "law": law} for law in laws) if laws else (itself,)


def _notes(event: Mapping[str, Any]) -> Iterator[str]:
    parameters = event.get("parameters") or {}
    yield from parameters.get("notes") or ()
    for part in parameters.get("parts") or ():
        yield from _notes(part)


def _snapshot(event: Mapping[str, Any]) -> Any:
    return (event.get("parameters") or {}).get("snapshot")


def _software() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"name": "sfumato", "version": version("sfumato")}
    except PackageNotFoundError:
        return {"name": "sfumato", "version": "not installed"}


def readable(value: Any, name: str = "") -> Any:
    """Return JSON in which exact fractions are short decimals, rounded up; other texts stay as they are.

    >>> readable({"delta": "1/1000000", "cell": "1/2", "guess": "17571892003583715799/18446744073709551616"})
    {'delta': '1e-6', 'cell': '1/2', 'guess': '0.953'}
    """
    if isinstance(value, Mapping):
        return {key: readable(part, str(key)) for key, part in value.items()}
    if isinstance(value, list):
        return [readable(part, name) for part in value]
    # A short fraction may also be somebody's category, so that it is a number under the name of one only.
    if isinstance(value, str) and _FRACTION.fullmatch(value) and (name in _NUMBERS or len(value) > LONGEST):
        return amount(Fraction(value))
    return value


def _yaml(value: Any, indent: int = 0) -> Iterator[str]:
    """Yield lines of YAML: blocks of names and lists, and scalars as JSON, which YAML reads."""
    pad = "  " * indent
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            if isinstance(part, (Mapping, list)) and part:
                yield f"{pad}{json.dumps(str(name), ensure_ascii=False)}:"
                yield from _yaml(part, indent + 1)
            else:
                yield f"{pad}{json.dumps(str(name), ensure_ascii=False)}: {json.dumps(part, ensure_ascii=False)}"
    elif isinstance(value, list) and value:
        for part in value:
            lines = list(_yaml(part, indent + 1))
            yield f"{pad}- {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield f"{pad}{json.dumps(value, ensure_ascii=False)}"
