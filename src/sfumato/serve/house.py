"""`house.toml`: where the service listens, what it keeps, and the data sets that it answers about."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from sfumato.errors import ParameterError
from sfumato.ledger import Budget
from sfumato.ledger.typed import read_bound
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Bound, Relation
from sfumato.table.database import Database, load, sources_in
from sfumato.words import nearest

EVERYONE = "everyone"
"""Whose quota holds for those who have none of their own."""
RELATIONS = {"replace one": REPLACE_ONE, "add remove": ADD_REMOVE}
NAMES = "a name has 1 to 60 small letters, digits, - and _"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
Made = TypeVar("Made")


def named(name: object, what: str) -> str:
    """Return a name that can stand in an address, or say what one looks like."""
    if not isinstance(name, str) or not 0 < len(name) <= 60 or not set(name) <= _LETTERS or name[0] in "-_":
        raise ParameterError(f"{what} {str(name)[:60]!r} cannot stand in an address; {NAMES}, as in 'adult-1994'.")
    return name


@dataclass(frozen=True)
class Service:
    """Where the service listens, and how much it takes on at once."""

    host: str = "127.0.0.1"
    port: int = 8000
    store: str = "house.db"
    tick: float = 0.25
    waiting: int = 64
    patience: float = 20.0
    largest_body: int = 1 << 16
    token_days: int = 365
    idle_minutes: int = 60
    session_hours: int = 12
    secure_cookies: bool | None = None

    def __post_init__(self) -> None:
        if not 0.001 <= self.tick <= 60:
            raise ParameterError("tick is the time between responses in seconds, 0.001 to 60; write tick = 0.25.")
        for name in ("port", "waiting", "largest_body", "token_days", "idle_minutes", "session_hours"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < (0 if name == "port" else 1):
                raise ParameterError(f"{name} in [service] is a whole number of at least 1.")
        if not 0 < self.patience <= 600:
            raise ParameterError("patience is how long a request waits for its answer in seconds, at most 600.")


@dataclass(frozen=True)
class Dataset:
    """One data set: its source, schema and ledger, what was promised, and who may ask how much."""

    name: str
    source: str | Mapping[str, str]
    """Where the table is, or of each of several tables."""
    schema: Path
    ledger: str
    title: str = ""
    about: str = ""
    person: Bound | None = None
    each_attribute: Bound | None = None
    snapshot: str = ""
    table: str | None = None
    private: Path | None = None
    keep_head: Path | None = None
    relation: Relation | None = None
    approve_above: Bound | None = None
    memory_limit: str | None = None
    temp_directory: Path | None = None
    most_rows: int | None = None
    quotas: Mapping[str, Bound] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.each_attribute is not None and self.person is None:
            raise ParameterError(f"The data set {self.name!r} limits attributes; write person = too, for the whole.")
        # A ledger that is there already may have been made with quotas for those who are named, and for nobody else.
        if self.quotas and self.person is not None and EVERYONE not in self.quotas:
            raise ParameterError(
                f'The data set {self.name!r} has quotas, so everybody needs one; write {EVERYONE} = "Pure(1)" beside '
                "them, for all who are not named."
            )

    @property
    def budget(self) -> Budget | None:
        """The limits of a new ledger; None if the ledger is there already."""
        return None if self.person is None else Budget(self.person, self.each_attribute)

    def quota(self, name: str) -> Bound | None:
        """Return somebody's quota, None where there are none."""
        return self.quotas.get(name, self.quotas.get(EVERYONE))


@dataclass(frozen=True)
class Collection:
    """A collection of the local model: where its reports go, its plans, and who may send."""

    name: str
    place: Path
    plans: tuple[Path, ...] = ()
    tokens: Path | None = None
    metrics: Path | None = None
    rate: int | None = None
    ids: bool = True
    shuffled: int | None = None


@dataclass(frozen=True)
class Published:
    """A publication that is shown: its own file says the rest."""

    name: str
    file: Path
    title: str = ""


@dataclass(frozen=True)
class House:
    """Everything that a service is started with."""

    service: Service
    datasets: tuple[Dataset, ...]
    collections: tuple[Collection, ...] = ()
    folder: Path = Path()
    publications: tuple[Published, ...] = ()

    def __post_init__(self) -> None:
        if not self.datasets and not self.collections and not self.publications:
            raise ParameterError("The house holds no data set; add [[dataset]] with name, source, schema and ledger.")
        for what, listed in (
            ("data sets", self.datasets),
            ("collections", self.collections),
            ("publications", self.publications),
        ):
            names = [one.name for one in listed]
            if len(set(names)) != len(names):
                raise ParameterError(f"Two {what} have the same name; give each its own.")
        if len({one.ledger for one in self.datasets}) != len(self.datasets):
            raise ParameterError("Two data sets name the same ledger; each has a ledger of its own.")

    def dataset(self, name: str) -> Dataset:
        """Return a data set by its name."""
        for one in self.datasets:
            if one.name == name:
                return one
        raise ParameterError(f"There is no data set {name!r}; {nearest(name, [one.name for one in self.datasets])}")


def load_house(path: str | Path) -> House:
    """Read a house from its file; paths in it are beside the file."""
    place = Path(path)
    try:
        record = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(
            f"There is no house {str(place)!r}; write the path of a house.toml, or sfumato serve --demo to look around."
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ParameterError(f"The house {str(place)!r} cannot be read ({type(problem).__name__}).") from None
    except tomllib.TOMLDecodeError as problem:
        raise ParameterError(f"The house {str(place)!r} is no TOML: {problem}.") from None
    return read_house(record, place.resolve().parent)


def read_house(record: Mapping[str, Any], folder: Path) -> House:
    """Return a house from what stands in its file."""
    _known(record, ("service", "dataset", "collection", "publication"), "The house")
    datasets = [_dataset(one, folder) for one in _listed(record, "dataset")]
    collections = [_collection(one, folder) for one in _listed(record, "collection")]
    publications = [_published(one, folder) for one in _listed(record, "publication")]
    service = dict(_table(record.get("service", {}), "[service]"))
    if "store" in service:
        service["store"] = _place(service["store"], folder, "store")
    else:
        service["store"] = str(folder / Service.store)
    made = _made(Service, service, "[service]")
    return House(made, tuple(datasets), tuple(collections), folder, tuple(publications))


def _dataset(record: Mapping[str, Any], folder: Path) -> Dataset:
    given = dict(record)
    where = f"[[dataset]] {given.get('name', '')}".strip()
    for needed in ("name", "schema", "ledger"):
        if not isinstance(given.get(needed), str):
            raise ParameterError(f'{where} needs {needed} = "…"; docs/service.md shows a whole house.')
    given.setdefault("source", {})  # the schema of several tables may say where they are
    named(given["name"], "The data set")
    read: dict[str, Callable[[Any], Any]] = {
        "source": lambda one: _source(one, folder),
        "ledger": lambda text: _place(text, folder, "ledger"),
        "schema": lambda text: folder / _text(text, "schema"),
        "private": lambda text: folder / _text(text, "private"),
        "keep_head": lambda text: folder / _text(text, "keep_head"),
        "temp_directory": lambda text: folder / _text(text, "temp_directory"),
        "person": lambda text: read_bound(_text(text, "person"), "person"),
        "each_attribute": lambda text: read_bound(_text(text, "each_attribute"), "each_attribute"),
        "approve_above": lambda text: read_bound(_text(text, "approve_above"), "approve_above"),
        "relation": _relation,
        "quotas": lambda quotas: {
            name if name == EVERYONE else named(name, "The person"): read_bound(_text(bound, name), f"quotas.{name}")
            for name, bound in _table(quotas, "[dataset.quotas]").items()
        },
    }
    made = _made(Dataset, {key: read[key](value) if key in read else value for key, value in given.items()}, where)
    return replace(made, source=_sources(made, where))


def _source(given: Any, folder: Path) -> str | dict[str, str]:
    """Return where the data are: a place, or one for each of several tables."""
    if isinstance(given, Mapping):
        return {name: _place(one, folder, "source") for name, one in given.items()}
    return _place(given, folder, "source")


def _sources(made: Dataset, where: str) -> str | Mapping[str, str]:
    """Return the source of one table, or those of several: the house's, then those that stand in their schema."""
    if isinstance(made.source, str):
        return made.source
    if not (made.schema.is_file() and isinstance(load(made.schema), Database)):
        raise ParameterError(f'{where} needs source = "…"; docs/service.md shows a whole house.')
    return {**sources_in(made.schema), **made.source}


def _collection(record: Mapping[str, Any], folder: Path) -> Collection:
    given = dict(record)
    named(given.get("name"), "The collection")
    for key in ("place", "tokens", "metrics"):
        if key in given:
            given[key] = folder / _text(given[key], key)
    given["plans"] = tuple(folder / _text(one, "plans") for one in given.get("plans", ()))
    if "place" not in given:
        raise ParameterError('[[collection]] needs place = "…", the directory that reports go to.')
    return _made(Collection, given, "[[collection]]")


def _published(record: Mapping[str, Any], folder: Path) -> Published:
    given = dict(record)
    named(given.get("name"), "The publication")
    if "file" not in given:
        raise ParameterError('[[publication]] needs file = "…", the TOML file that sfumato publish runs.')
    given["file"] = folder / _text(given["file"], "file")
    given["title"] = _text(given.get("title", ""), "title")
    return _made(Published, given, "[[publication]]")


def _made(kind: type[Made], given: Mapping[str, Any], where: str) -> Made:
    _known(given, tuple(part.name for part in fields(kind)), where)  # type: ignore[arg-type]
    try:
        return kind(**given)
    except TypeError as problem:
        raise ParameterError(f"{where} is not complete: {problem}.") from None


def _known(given: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in names:
            raise ParameterError(f"{where} has no {name!r}; {nearest(name, names)}")


def _listed(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = record.get(name, [])
    if not isinstance(found, list):
        raise ParameterError(f"Write [[{name}]] with two brackets: there may be several.")
    return [_table(one, f"[[{name}]]") for one in found]


def _table(found: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ParameterError(f"{where} holds names and values; write one a line below it.")
    return found


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ParameterError(f'{name} in the house is a text; write {name} = "…".')
    return value


def _relation(text: Any) -> Relation:
    if text not in RELATIONS:
        raise ParameterError('relation is "replace one" or "add remove".')
    return RELATIONS[text]


def _place(value: Any, folder: Path, name: str) -> str:
    """Return a path beside the house, or an address, whose password stands where it is never shown."""
    found = _found(_text(value, name), folder, name)
    if "://" in found and any("password" in key.lower() for key, _ in parse_qsl(found.partition("?")[2])):
        raise ParameterError(
            f"The address of {name} has a password behind its question mark, where it would be shown; write it before "
            "the host, as in postgresql://user:password@host/base."
        )
    return found


def _found(text: str, folder: Path, name: str) -> str:
    """Return what a text stands for; an address with a password stands in the environment or in a file."""
    if text.startswith("$"):
        found = os.environ.get(text[1:])
        if found is None:
            raise ParameterError(f"{name} = {text!r} is read from the environment, and {text[1:]} is not set there.")
        return found
    if text.startswith("file:"):
        try:
            return (folder / text.removeprefix("file:")).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise ParameterError(
                f"{name} is read from a file, and that cannot be read ({type(problem).__name__})."
            ) from None
    if "://" in text:
        user = text.partition("://")[2].rpartition("@")[0]
        if ":" in user:
            raise ParameterError(
                f'The address of {name} holds a password; write {name} = "$SFUMATO_{name.upper()}" and set that in '
                'the environment, or "file:…" with its path.'
            )
        return text
    return str(folder / text)
