"""The file that declares a publication: everything in it is public, and an unknown word is refused (PB-PUBLISH)."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sfumato.durable import read_bytes
from sfumato.errors import ParameterError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.budget import Budget
from sfumato.ledger.typed import read_bound
from sfumato.ledger.units import Unit, lengths_of
from sfumato.privacy import ADD_REMOVE, Bound, Concentrated, Pure, Relation, bound_from_json
from sfumato.publish.calendar import Slot, lies_in, slots_between
from sfumato.publish.checks import DATE, ENGINES, check_file
from sfumato.publish.matrix import MOST_PERIODS
from sfumato.publish.memory import CountingRule
from sfumato.publish.promised import Promised, values_of
from sfumato.publish.reading import (
    FORMATS,
    beside,
    known,
    read_day,
    read_days,
    read_formats,
    read_positive,
    read_relation,
    read_unit,
    require_column,
    wanted,
)
from sfumato.publish.revisions import Revision, read_revisions
from sfumato.publish.words import Reach
from sfumato.publish.zones import zone_named
from sfumato.table.periods import Span
from sfumato.table.schema import Schema

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_WORDS: Mapping[str, Sequence[str]] = {
    "publication": (
        "name", "schema", "ledger", "source", "stamp", "period", "first", "last", "horizon", "wait", "private", "from",
        "zone", "engine", "lateness",
    ),
    "table": (
        "name", "question", "running", "spend", "every", "hide_below", "round_to", "windows", "target",
        "periods_per_person", "gap", "keys", "monotone", "band",
    ),
    "output": ("to", "formats", "licence"),
    "unit": ("is", "rows", "groups", "relation"),
}  # fmt: skip
NO_FILE = "There is no file for {day}: {place}. Put it there; if nothing happened on that day, write --empty {day}."
ALL_PERIODS = "all periods"
_SECTIONS = ("publication", "unit", "limits", "table", "revision", "output", "about")


@dataclass(frozen=True)
class TableSpec:
    """One table: a question asked anew in every period, or a total that runs on."""

    name: str
    phrase: str
    spend: Mapping[str, Bound]
    """By unit, what it may cost; a table that is asked anew has one, for the period that it reads."""
    running: bool = False
    every: str = "day"
    hide_below: int | None = None
    round_to: int | None = None
    windows: tuple[int, ...] = ()
    target: int | None = None
    rule: CountingRule | None = None
    """In how many periods a person counts, where that is limited."""
    keys: str | None = None
    """The table that finds the groups of a running total, where nobody can list them."""
    monotone: bool = False
    """Whether a count that runs on is shown once more as numbers that never fall."""
    band: bool = False
    """Whether a table that is asked anew has intervals that hold in all periods at once, too."""

    def as_drawn(self, record: Mapping[str, Any]) -> TableSpec:
        """Return what `to_json` wrote of a running total, shown as this one is."""
        spend = {str(unit): bound_from_json(bound) for unit, bound in record["spend"].items()}
        rule = None if "rule" not in record else CountingRule(**record["rule"])
        return replace(
            self, phrase=record["phrase"], every=record["every"], spend=spend, target=record["target"], rule=rule,
            keys=record.get("keys"),
        )  # fmt: skip

    @property
    def pure(self) -> bool:
        """Whether all of its spends are pure."""
        return all(isinstance(bound, Pure) for bound in self.spend.values())

    def to_json(self) -> dict[str, Any]:
        """Return what decides what is drawn; how it is shown is no part of it."""
        spend = {unit: bound.to_json() for unit, bound in self.spend.items()}
        found = {"name": self.name, "phrase": self.phrase, "every": self.every, "spend": spend, "target": self.target}
        later = {"rule": None if self.rule is None else self.rule.to_json(), "keys": self.keys}
        return found | {word: said for word, said in later.items() if said is not None}


@dataclass(frozen=True)
class PublicationFile:
    """A publication as it was declared; paths are those beside the file."""

    name: str
    schema: Schema
    ledger: str
    source: str
    stamp: str
    period: str
    first: date
    last: date | None
    horizon: int | None
    wait: int
    private: Path
    since: date
    """From here on periods are published under this edition; earlier ones belong to an earlier one."""
    budget: Budget
    tables: tuple[TableSpec, ...]
    to: Path
    formats: tuple[str, ...] = FORMATS
    licence: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    revisions: tuple[Revision, ...] = ()
    zone: ZoneInfo | None = None
    """Where days begin and end, for stamps that are moments with a zone."""
    engine: str = "duckdb"
    """What reads the files: the exact numbers are the same, so it is no part of the edition."""
    lateness: int = 0
    """So many days after a period its rows still arrive, in the files of the days on which they do."""
    within: str = ""
    """The column in each of whose values a person's rows are cut apart; empty where all are cut together."""
    relation: Relation = ADD_REMOVE
    """How neighbours differ: what somebody did is left out, or exchanged too."""

    @cached_property
    def promised(self) -> Promised:
        """What is hidden, and how much of it a release meets."""
        names = [name for name, _ in self.budget.units]
        paid = [name for one in self.running() for name in one.spend if name != "person"]
        return Promised.by(names, self.schema, paid=paid, within=self.within, relation=self.relation)

    @property
    def one_period(self) -> str:
        """One period of the publication, in a sentence."""
        return Unit.read(self.period).said

    @property
    def single(self) -> bool:
        """Whether every release reads one slot of the unit of the first limit, so that their costs add up."""
        unit = Unit.read(self.budget.units[0][0] if self.budget.units else self.period)
        alike = not self.running() and all(one.every == self.period for one in self.tables)
        return alike and not unit.column and lies_in(self.period, unit.period)

    @property
    def _apart(self) -> dict[str, str]:
        """What is said of how rows are cut and what neighbours are, where it is not as usual."""
        found = {"within": self.within} if self.within else {}
        return found if self.relation is ADD_REMOVE else {**found, "relation": self.relation.value}

    @property
    def edition(self) -> str:
        """A short name of everything that decides what is published: equal files have equal editions."""
        facts = {
            "name": self.name,
            "schema": self.schema.fingerprint,
            "stamp": self.stamp,
            "period": self.period,
            "first": self.first.isoformat(),
            "wait": self.wait,
            "tables": [one.to_json() for one in self.tables],
            **({} if self.zone is None else {"zone": self.zone.key}),
            **({"lateness": self.lateness} if self.lateness else {}),
            **self._apart,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def total(self, spec: TableSpec) -> dict[str, Any]:
        """Return what decides a running total, its meaning and its loss: other tables and `wait` are no part of it."""
        periods = self.running_periods()
        known_end = {} if self.horizon is not None else {"last": periods[-1].last.isoformat()}
        return {
            "schema": self.schema.fingerprint,
            "stamp": self.stamp,
            "period": self.period,
            "first": periods[0].first.isoformat(),
            **(known_end or {"horizon": self.horizon}),
            **({} if self.zone is None else {"zone": self.zone.key}),
            **({"lateness": self.lateness} if self.lateness else {}),
            **self._apart,
            "spec": spec.to_json(),
        }

    def anew(self, unit: str | None = None) -> list[TableSpec]:
        """Return the tables that are asked anew, those of one period or all."""
        return [one for one in self.tables if not one.running and unit in (None, one.every)]

    def listed(self, slot: Slot) -> list[TableSpec]:
        """Return the tables that are asked of a period: all that are asked anew, or those that are revised."""
        anew = self.anew(slot.unit)
        for revision in self.revisions:
            if revision.name == slot.revision:
                return [
                    replace(one, spend={one.every: revision.spend[one.name]})
                    for one in anew
                    if one.name in revision.spend
                ]
        return anew

    def revised(self, until: date) -> list[Slot]:
        """Return the second looks at periods that may be read by a day, the wait of each revision included."""
        return [
            slot.revised(revision.name)
            for revision in self.revisions
            for unit in self.units()
            for slot in self.slots(unit, until - timedelta(days=1 + revision.after))
            if self.listed(slot.revised(revision.name))
        ]

    def running(self) -> list[TableSpec]:
        """Return the tables that run on."""
        return [one for one in self.tables if one.running]

    def units(self) -> list[str]:
        """Return the periods in which something is published, the publication's own one first."""
        return list(dict.fromkeys([self.period, *(one.every for one in self.anew())]))

    def slots(self, unit: str, until: date) -> list[Slot]:
        """Return the periods of a unit that end by a day, as far as the publication goes."""
        last = until if self.last is None else min(until, self.last)
        return [slot for slot in slots_between(unit, self.first, last) if slot.first >= self.since]

    def due(self, unit: str, today: date) -> list[Slot]:
        """Return the periods that may be read: those that ended long enough ago."""
        return self.slots(unit, today - timedelta(days=1 + self.wait))

    def reach(self, unit: str) -> Reach | None:
        """Return how many slots of a unit the declared periods meet: to the last day, or over the first horizon."""
        read = Unit.read(unit)
        if read.column:
            return None if read.period else Reach(len(values_of(self.schema, read.column)), True)
        if self.last is None and self.horizon is None:
            return None
        last = self.running_periods()[-1].last if self.last is None else self.last
        return Reach(len(Slot(self.period, self.name, self.first, last).meets(unit)), self.last is not None)

    def running_periods(self, number: int = 0) -> list[Slot]:
        """Return the periods of one horizon of a running total; each is twice as long as the last, if it may be."""
        if self.horizon is None:
            assert self.last is not None
            return list(slots_between(self.period, self.first, self.last)) if number == 0 else []
        lengths = [min(self.horizon * 2**place, MOST_PERIODS) for place in range(number + 1)]
        length, skipped = lengths[-1], sum(lengths[:-1])
        slot = next(iter(slots_between(self.period, self.first, date.max - timedelta(days=400))))
        found: list[Slot] = []
        for place in range(skipped + length):
            if place >= skipped:
                found.append(slot)
            slot = slot.following
        return found

    def span(self, slot: Slot, starts: tuple[int, ...] = ()) -> Span:
        """Return the days of a slot; `starts` says when they begin where there is a zone."""
        return Span(self.stamp, slot.first, slot.last, starts, self.within)

    def paths_of(self, slot: Slot) -> list[str]:
        """Return where the rows of a slot are, a path for each day where each has its own.

        Where rows arrive late these are the days on which they may have, of a second look also those up to it.
        """
        if DATE not in self.source:
            return [self.source]
        looks = {one.name: one.after for one in self.revisions} if self.lateness else {}
        days = (slot.last - slot.first).days + 1 + looks.get(slot.revision, self.lateness)
        return [self.source.replace(DATE, str(slot.first + timedelta(days=place))) for place in range(days)]


def load_file(path: str | Path) -> PublicationFile:
    """Read a publication; whatever is wrong with it is said in one sentence with the word to write."""
    place = Path(path)
    try:
        record = tomllib.loads(read_bytes(place, "publication").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{str(path)!r} is no TOML ({error}); see docs/publications.md for an example.") from None
    return read_record(record, place.parent)


def read_record(record: Mapping[str, Any], home: Path) -> PublicationFile:
    """Read a publication from what its TOML file holds; paths are taken from `home`."""
    known("A publication file", record, _SECTIONS)
    about = dict(record.get("publication", {}))
    known("[publication]", about, _WORDS["publication"])
    name = str(wanted(about, "name", "visits"))
    if not NAME.fullmatch(name):
        raise ParameterError(f"name = {name!r} must be small letters, digits, - and _; write name = 'visits'.")
    schema = Schema.load(home / str(wanted(about, "schema", "visits.schema.toml")))
    period = read_unit(about.get("period", "day"), "period")
    schema, within, relation = _unit(record.get("unit", {}), schema, period)
    first = read_day(wanted(about, "first", "2026-01-01"), "first")
    last = read_day(about["last"], "last") if "last" in about else None
    horizon = about.get("horizon")
    if last is not None and last < first:
        raise ParameterError(f"last = {last} is before first = {first}; write the earlier day first.")
    if not record.get("table"):
        raise ParameterError("A publication has at least one [[table]] with name, question and spend.")
    tables = tuple(_table(one, period) for one in record["table"])
    if len({one.name for one in tables}) != len(tables):
        raise ParameterError("Two tables have the same name; give each its own.")
    if any(one.running for one in tables):
        _check_horizon(first, last, horizon, period)
    limits = {str(unit): str(said) for unit, said in record.get("limits", {}).items()}
    output = dict(record.get("output", {}))
    known("[output]", output, _WORDS["output"])
    ledger = beside(home, str(about.get("ledger", f"{name}.ledger")))
    private = beside(home, str(about.get("private", f"{name}.private" if "://" in ledger else f"{ledger}.private")))
    schema = _as_begun(schema, ledger, private)
    found = PublicationFile(
        name, schema, ledger, beside(home, str(wanted(about, "source", "in/{date}.parquet"))),
        str(wanted(about, "stamp", "at")), period, first, last, horizon, read_days(about.get("wait", "0 days")),
        Path(private), read_day(about.get("from", first), "from"), _budget(limits), tables,
        home / str(output.get("to", "out")), read_formats(output.get("formats", list(FORMATS))),
        str(output.get("licence", "")), {str(key): str(said) for key, said in record.get("about", {}).items()},
        read_revisions(record.get("revision", {}), tables, read_days(about.get("wait", "0 days"))),
        zone_named(str(about["zone"])) if "zone" in about else None, str(about.get("engine", ENGINES[0])),
        read_days(about.get("lateness", "0 days"), "lateness"), within, relation,
    )  # fmt: skip
    Span(found.stamp, first, last or first).check(schema)
    check_file(found)
    return found


def _unit(given: Mapping[str, Any], schema: Schema, period: str) -> tuple[Schema, str, Relation]:
    """Return the schema with what counts of a person, the column by which rows are cut apart, and the neighbours."""
    known("[unit]", given, _WORDS["unit"])
    said = str(given.get("is", period))
    unit = Unit(period) if said == "person" else Unit.read(said)
    require_column("[unit]", unit, schema)
    if unit.period not in ("", period):
        raise ParameterError(
            f"A table counts what a person did in the {Unit.read(period).said} that it reads, so is = {said!r} would "
            f"cut rows otherwise; write period = {unit.period!r} under [publication], or is = {period!r}."
        )
    if unit.column and schema.person is None:
        raise ParameterError(
            f"Rows of a person are cut apart by {unit.column!r}, and the schema does not say whose a row is; write "
            "person = 'id' in it."
        )
    counted: dict[str, Any] = {
        name: read_positive(given[word], word)
        for word, name in (("rows", "rows_per_person"), ("groups", "groups_per_person"))
        if word in given
    }
    return (
        replace(schema, **counted) if counted else schema,
        unit.column,
        read_relation(given.get("relation", "add remove")),
    )


def _as_begun(schema: Schema, ledger: str, private: str) -> Schema:
    """Return the schema as the publication's ledger reads it, if there is one already: see `Schema.as_kept`."""
    if schema.earlier is None or not ("://" in ledger or Path(ledger).exists()):
        return schema
    with suppress(SfumatoError), Ledger(ledger, private=private) as book:
        return schema.as_kept(book.schema)
    return schema  # nothing was published yet, or opening the ledger will say what is wrong


def _table(given: Mapping[str, Any], period: str) -> TableSpec:
    known("[[table]]", given, _WORDS["table"])
    name = str(wanted(given, "name", "pages"))
    if not NAME.fullmatch(name):
        raise ParameterError(f"A table's name = {name!r} must be small letters, digits, - and _; write 'pages'.")
    if ("question" in given) == ("running" in given):
        raise ParameterError(
            f"The table {name!r} has either question = 'count by country', asked anew in every period, or running = "
            "'count by country', a total that runs on."
        )
    running = "running" in given
    every = read_unit(given.get("every", period), "every")
    if min(lengths_of(every)) < max(lengths_of(period)) and every != period:
        raise ParameterError(f"every = {every!r} is shorter than the period {period!r}; write a longer one.")
    said = wanted(given, "spend", "Concentrated(0.002)")
    rule = _rule(given, name)
    usual = every if rule is None else "person"
    named = said if isinstance(said, Mapping) else {usual: said}
    spend = {_paid(unit, rule): read_bound(str(bound), f"spend of {name}") for unit, bound in named.items()}
    kinds = {type(bound) for bound in spend.values()}
    if running and kinds not in ({Concentrated}, {Pure}):
        raise ParameterError(
            f"The running total {name!r} is paid by Concentrated, or by Pure throughout; write spend = "
            "'Concentrated(0.002)'."
        )
    if running and "every" in given:
        raise ParameterError(
            f"The running total {name!r} takes a step every {Unit.read(period).said}; leave every out."
        )
    if not running and (len(spend) > 1 or list(spend) != [every] or "windows" in given or "target" in given):
        raise ParameterError(
            f"The table {name!r} is asked anew every {Unit.read(every).said}, so it has one spend and no windows; "
            "write running = … for a total that runs on."
        )
    windows = tuple(read_positive(one, "windows") for one in given.get("windows", ()))
    target = given.get("target", "running")
    return TableSpec(
        name, str(given["running"] if running else given["question"]), spend, running, every,
        None if "hide_below" not in given else read_positive(given["hide_below"], "hide_below"),
        None if "round_to" not in given else read_positive(given["round_to"], "round_to"),
        windows, None if target == "running" else read_positive(target, "target"), rule,
        None if "keys" not in given else str(given["keys"]), _monotone(given, name),
        _band(given, name),
    )  # fmt: skip


def _monotone(given: Mapping[str, Any], name: str) -> bool:
    said = given.get("monotone", False)
    if not isinstance(said, bool):
        raise ParameterError(f"monotone of {name!r} is true or false, not {said!r}; write monotone = true.")
    if said and "running" not in given:
        raise ParameterError(f"monotone is for counts that run on; leave it out of the table {name!r}.")
    return said


def _band(given: Mapping[str, Any], name: str) -> bool:
    if "band" in given and ("running" in given or given["band"] != ALL_PERIODS):
        raise ParameterError(
            f"band of {name!r} is {ALL_PERIODS!r}, and only of a table that is asked anew (a total that runs on has "
            f"its band already); write band = {ALL_PERIODS!r}, or leave it out."
        )
    return "band" in given


def _rule(given: Mapping[str, Any], name: str) -> CountingRule | None:
    if "periods_per_person" not in given:
        if "gap" in given:
            raise ParameterError(f"gap goes with periods_per_person; write periods_per_person = 12 for {name!r} too.")
        return None
    if "running" not in given:
        raise ParameterError(f"periods_per_person is for totals that run on; leave it out of the table {name!r}.")
    most = read_positive(given["periods_per_person"], "periods_per_person")
    return CountingRule(most, read_positive(given.get("gap", 1), "gap"))


def _paid(unit: Any, rule: CountingRule | None) -> str:
    """Return for what a spend is: a period, or the whole person where only so many of their periods count."""
    if rule is None and unit == "person":
        raise ParameterError(
            "A total that runs on is paid for a period or a shop of a person; write spend = { day = … }, or "
            "periods_per_person = 12 beside spend = { person = … }."
        )
    if rule is None:
        return Unit.read(str(unit)).name
    if unit != "person":
        raise ParameterError(
            f"A total with periods_per_person is paid for the whole person; write spend = {{ person = … }}, not {unit}."
        )
    return "person"


def _check_horizon(first: date, last: date | None, horizon: Any, period: str) -> None:
    if (last is None) == (horizon is None):
        raise ParameterError(
            "A running total spans a known number of periods: write last = '2026-12-31', or, if the end is not known, "
            "horizon = 400, generously, and leave last out."
        )
    count = horizon if last is None else sum(1 for _ in slots_between(period, first, last))
    if not isinstance(count, int) or not 1 <= count <= MOST_PERIODS:
        raise ParameterError(f"A running total spans 1 to {MOST_PERIODS} periods, and here it would span {count}.")


def _budget(limits: Mapping[str, str]) -> Budget:
    if not limits:
        raise ParameterError("[limits] says what is promised: write day = 'Concentrated(0.01)' and person = 'none'.")
    person = limits.get("person")
    if person is None:
        raise ParameterError(
            "[limits] says what holds for a whole person: write person = 'Concentrated(1)', or person = 'none', which "
            "every page then says."
        )
    units = {unit: read_bound(said, f"[limits] {unit}") for unit, said in limits.items() if unit != "person"}
    return Budget("none" if person == "none" else read_bound(person, "[limits] person"), units=units)
