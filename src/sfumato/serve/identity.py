"""Who asks: people with roles, tokens shown once and kept as hashes, and sessions of browsers made from them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import sqlalchemy as sa
from starlette.requests import Request

from sfumato.errors import ParameterError
from sfumato.noise import new_key
from sfumato.serve import store as tables
from sfumato.serve.house import Service, named
from sfumato.serve.store import Store, now
from sfumato.words import nearest

Role = Literal["curator", "analyst", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)
GONE = "gone"
"""The role of those who have left."""
ALL = "*"
"""Stands for every data set of the house."""
COOKIE = "sfumato_session"
PREFIX = "sfm"
MOST_ATTEMPTS = 10
ATTEMPT_SECONDS = 300.0


@dataclass(frozen=True)
class Identity:
    """Somebody who is known here: a name, a role, and the data sets that they may see."""

    name: str
    role: Role
    datasets: frozenset[str]

    def sees(self, dataset: str) -> bool:
        """Tell whether a data set is theirs to see."""
        return ALL in self.datasets or dataset in self.datasets

    def manages(self, datasets: frozenset[str]) -> bool:
        """Tell whether a curator may decide about somebody who sees these data sets."""
        return self.role == "curator" and (ALL in self.datasets or (ALL not in datasets and datasets <= self.datasets))


class Identify(Protocol):
    """From a request to who sends it; another one lets a reverse proxy or a directory say who it is."""

    def __call__(self, request: Request) -> Identity | None:
        """Return who sends a request, None if nobody who is known."""
        ...


@dataclass(frozen=True)
class Session:
    """A signed-in browser: who it is, and the token that its forms carry."""

    identity: Identity
    form: str
    mark: str


def hashed(secret: str, salt: str = "") -> str:
    """Return the hash of a random secret; 256 random bits need no slow hash."""
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


class People:
    """The accounts of a house."""

    def __init__(self, store: Store, service: Service, clock: Callable[[], float] = now) -> None:
        self.store = store
        self.service = service
        self.clock = clock

    # Accounts

    def add(self, name: str, role: str, datasets: Sequence[str]) -> str:
        """Make an account, and return its first token, which is shown once."""
        named(name, "The person")
        if role not in ROLES:
            raise ParameterError(f"There is no role {role!r}; {nearest(role, ROLES)}")
        listed = sorted(set(datasets)) or ([ALL] if role == "curator" else [])
        if not listed:
            raise ParameterError(f"An {role} sees the data sets that are named; write --dataset adult.")
        with self.store.change() as connection:
            if connection.execute(sa.select(tables.people).where(tables.people.c.name == name)).first() is not None:
                raise ParameterError(f"There is or was somebody called {name!r}; take another name.")
            connection.execute(sa.insert(tables.people).values(name=name, role=role, created=self.clock()))
            connection.execute(sa.insert(tables.grants), [{"name": name, "dataset": one} for one in listed])
        return self.token(name)

    def remove(self, name: str) -> None:
        """End an account: tokens and sessions with it; what it asked stays in the ledgers."""
        self._required(name)
        with self.store.change() as connection:
            for table in (tables.tokens, tables.sessions, tables.grants):
                connection.execute(sa.delete(table).where(table.c.name == name))
            # The name stays taken: somebody else of this name must not find what this one asked.
            connection.execute(sa.update(tables.people).where(tables.people.c.name == name).values(role=GONE))

    def find(self, name: str) -> Identity | None:
        """Return an account by its name."""
        row = self.store.row(sa.select(tables.people).where(tables.people.c.name == name))
        if row is None or row.role == GONE:
            return None
        seen = self.store.rows(sa.select(tables.grants.c.dataset).where(tables.grants.c.name == name))
        return Identity(row.name, row.role, frozenset(one.dataset for one in seen))

    def all(self) -> list[Identity]:
        """Return all accounts, by name."""
        granted: dict[str, set[str]] = {}
        for row in self.store.rows(sa.select(tables.grants)):
            granted.setdefault(row.name, set()).add(row.dataset)
        found = self.store.rows(
            sa.select(tables.people).where(tables.people.c.role != GONE).order_by(tables.people.c.name)
        )
        return [Identity(row.name, row.role, frozenset(granted.get(row.name, ()))) for row in found]

    def _required(self, name: str) -> Identity:
        found = self.find(name)
        if found is None:
            raise ParameterError(f"There is nobody called {name!r}; {nearest(name, [one.name for one in self.all()])}")
        return found

    # Tokens

    def token(self, name: str) -> str:
        """Return a new token of an account; only its hash is kept."""
        self._required(name)
        mark, secret, salt = new_key()[:8].hex(), new_key().hex(), new_key()[:16].hex()
        made = self.clock()
        values = {
            "id": mark,
            "name": name,
            "salt": salt,
            "hash": hashed(secret, salt),
            "created": made,
            "expires": made + self.service.token_days * 86400,
            "revoked": False,
        }
        self.store.run(sa.insert(tables.tokens), values)
        return f"{PREFIX}_{mark}_{secret}"

    def revoke(self, name: str) -> int:
        """Make all tokens of an account worthless, and end its sessions; return how many tokens there were."""
        self._required(name)
        with self.store.change() as connection:
            connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.name == name))
            changed = sa.update(tables.tokens).where(tables.tokens.c.name == name, tables.tokens.c.revoked.is_(False))
            return int(connection.execute(changed.values(revoked=True)).rowcount)

    def holder(self, token: str) -> tuple[Identity, str] | None:
        """Return whose token this is and the token's mark; None if it is nobody's, revoked or over."""
        parts = token.split("_")
        if len(parts) != 3 or parts[0] != PREFIX:
            return None
        row = self.store.row(sa.select(tables.tokens).where(tables.tokens.c.id == parts[1]))
        # Compared also where there is none, so that the time does not tell which marks exist.
        salt, kept = ("", "") if row is None else (row.salt, row.hash)
        same = hmac.compare_digest(hashed(parts[2], salt), kept)
        if row is None or not same or row.revoked or row.expires <= self.clock():
            return None
        found = self.find(row.name)
        return None if found is None else (found, row.id)

    # Sessions of browsers

    def sign_in(self, token: str, place: str) -> str | None:
        """Return the cookie of a new session, None if the token is nobody's."""
        held = self.holder(token.strip())
        if held is None:
            self.store.run(sa.insert(tables.attempts), {"place": hashed(place), "at": self.clock()})
            return None
        identity, mark = held
        cookie, made = new_key().hex(), self.clock()
        with self.store.change() as connection:
            old = tables.sessions.c.created < made - self.service.session_hours * 3600
            connection.execute(sa.delete(tables.sessions).where(old))
            connection.execute(sa.delete(tables.attempts).where(tables.attempts.c.place == hashed(place)))
            values = {"name": identity.name, "token": mark, "form": new_key().hex(), "created": made, "seen": made}
            connection.execute(sa.insert(tables.sessions).values(hash=hashed(cookie), **values))
        return cookie

    def throttled(self, place: str) -> int:
        """Return how many seconds somebody waits before another attempt, 0 if they may try."""
        since = self.clock() - ATTEMPT_SECONDS
        with self.store.change() as connection:
            connection.execute(sa.delete(tables.attempts).where(tables.attempts.c.at < since))
            mine = sa.select(tables.attempts.c.at).where(tables.attempts.c.place == hashed(place))
            found = sorted(float(row.at) for row in connection.execute(mine))
        if len(found) < MOST_ATTEMPTS:
            return 0
        return max(1, round(found[-MOST_ATTEMPTS] + ATTEMPT_SECONDS - self.clock()))

    def session(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie, while it lives and while its token does."""
        if not cookie:
            return None
        mark, moment = hashed(cookie), self.clock()
        row = self.store.row(sa.select(tables.sessions).where(tables.sessions.c.hash == mark))
        if row is None:
            return None
        idle, whole = self.service.idle_minutes * 60, self.service.session_hours * 3600
        token = self.store.row(sa.select(tables.tokens).where(tables.tokens.c.id == row.token))
        over = moment - row.seen > idle or moment - row.created > whole
        if over or token is None or token.revoked or token.expires <= moment:
            self.sign_out(cookie)
            return None
        if moment - row.seen > 30:
            self.store.run(sa.update(tables.sessions).where(tables.sessions.c.hash == mark).values(seen=moment))
        found = self.find(row.name)
        return None if found is None else Session(found, row.form, mark)

    def sign_out(self, cookie: str) -> None:
        """End a session; a copy of its cookie is worth nothing from then on."""
        self.store.run(sa.delete(tables.sessions).where(tables.sessions.c.hash == hashed(cookie)))

    def __call__(self, request: Request) -> Identity | None:
        """Return who sends a request, by its token or by its cookie."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if token:
            held = self.holder(token.strip()) if kind.lower() == "bearer" else None
            return None if held is None else held[0]
        found = self.session(request.cookies.get(COOKIE))
        return None if found is None else found.identity
