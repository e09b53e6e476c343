"""One charge, one draw, never lost: what was read is frozen with a key before the first coin, and drawn from that.

Whoever finds a request cut short draws again from the same bytes with the same key, so that the same answer comes out
however often it was killed, and whatever killed it. Fresh coins at a second attempt would not do: if what is drawn can
decide which attempt survives, they cost up to twice the stated loss.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from sfumato.errors import DataChanged, EngineError, LedgerError, Unfinished
from sfumato.ledger import lifecycle, statements, wording
from sfumato.ledger.frozen import Directory, Place, hashed
from sfumato.ledger.reservation import Reservation
from sfumato.noise import Noise, new_key

if TYPE_CHECKING:
    from sfumato.ledger.journal import Journal

_log = logging.getLogger(__name__)

OUTSIDE = (MemoryError, OSError, ImportError)
"""What does not follow from the input and the key, so that a second attempt may go better."""
DECIDING = ("sfumato", "numpy", "scipy", "numba", "python-flint")
"""The packages whose versions decide what a key draws."""


@dataclass(frozen=True)
class Coins:
    """The coins of one request; every part and every step of it has its own."""

    request: str
    key: bytes = field(repr=False)

    def noise(self, part: int = 0, step: int = 0) -> Noise:
        """Return the noise of one part at one step."""
        return Noise(key=self.key, names=(self.request, part, step))


@dataclass(frozen=True)
class Work:
    """A draw in two halves: `read` gives exact bytes, `draw` is a function of them and of the coins alone."""

    read: Callable[[], bytes]
    draw: Callable[[bytes, Coins], bytes]


@dataclass(frozen=True)
class Frozen:
    """What is drawn from: the bytes that were read, the coins, and whether somebody else could go on."""

    content: bytes = field(repr=False)
    coins: Coins
    sealed: bool


def report(sentence: str, request_id: str, error: Exception) -> None:
    """Log what happened, the class of the failure and where it was; its text may quote what was read."""
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error(f"{sentence} %s at\n%s", request_id, type(error).__name__, places)


def draw_once(journal: Journal, request_id: str, draw: Callable[[], bytes]) -> bytes:
    """Call a draw of which only its bytes are known; whatever ends it is the end of the request."""
    try:
        return lifecycle.as_bytes(draw(), "An answer")
    except Exception as error:
        report("The request %r died.", request_id, error)
    # Raised outside the handler, so that nothing of the cause travels with it.
    with journal.session(write=True) as session:
        lifecycle.fail(session, request_id)
    raise LedgerError(wording.DEAD)


def complete(journal: Journal, place: Place | None, begun: Reservation, work: Work) -> Reservation:
    """Carry a request that was begun to its stored answer, from wherever it stands; as handed in, it was just begun."""
    found = _freeze(journal, place, begun.id, work) if begun.state == "reserved" else None
    while found is None:
        with journal.session(write=False) as session:
            stage = lifecycle.stage(session, begun.id)
        begun = stage.reservation
        if begun.state in ("committed", "dead"):
            return _settled(begun, place)
        if stage.frozen is None:
            found = _freeze(journal, place, begun.id, work)
        else:
            found = _thaw(journal, place, begun.id, stage.frozen)
    answer = _drawn(journal, place, begun.id, work, found)
    try:
        with journal.session(write=True) as session:
            kept = lifecycle.settle(session, begun, answer)
            readings = tuple(statements.readings(journal, session))
    except BaseException:
        if not found.sealed:
            journal.drawn[begun.id] = answer  # nobody can draw it again
        raise
    return _settled(replace(kept, readings=readings), place)


def store_drawn(journal: Journal) -> None:
    """Store what was drawn without a seal and could not be committed, before anything else is asked."""
    for request_id, answer in list(journal.drawn.items()):
        with journal.session(write=True) as session:
            lifecycle.settle(session, lifecycle.stage(session, request_id).reservation, answer)
        journal.drawn.pop(request_id, None)


def _settled(reservation: Reservation, place: Place | None) -> Reservation:
    """Erase what was kept to draw from, and return the reservation with its answer."""
    if place is not None:
        place.erase(reservation.id)
    if reservation.state == "dead":
        raise LedgerError(wording.DEAD)
    return reservation


def _freeze(journal: Journal, place: Place | None, request_id: str, work: Work) -> Frozen | None:
    """Read, and put what was read beyond change; None if somebody else was first, whose bytes count then."""
    content = read_once(request_id, work.read)
    key = new_key()
    seal = None if place is None else keep(place, request_id, content, key)
    with journal.session(write=True) as session:
        first = lifecycle.freeze(session, request_id, {"seal": seal, "made_by": made_by()})
    if first:
        return Frozen(content, Coins(request_id, key), seal is not None)
    if place is not None and seal is not None:
        place.discard(request_id, seal)
    return None


def read_once(request_id: str, read: Callable[[], bytes]) -> bytes:
    """Read the table; what it raises goes to the log, and the request stays as it is."""
    told = wording.UNREAD
    try:
        return lifecycle.as_bytes(read(), "What was read")
    except Exception as error:
        report("The table could not be read for the request %r.", request_id, error)
        if isinstance(error, EngineError):
            told = f"{told} {error}"  # which names the kind of the failure and nothing else
        elif isinstance(error, DataChanged):
            told = wording.CHANGED
    # Raised outside the handler, so that nothing of the cause travels with it.
    raise Unfinished(told)


def keep(place: Place, request_id: str, content: bytes, key: bytes) -> str | None:
    """Keep an input and its key; None if there is no room."""
    try:
        return place.write(request_id, content, key)
    except OSError:
        _log.warning("There is no room to keep the request %r while it is drawn; a kill would lose it.", request_id)
        return None


def _thaw(journal: Journal, place: Place | None, request_id: str, frozen: lifecycle.Seal) -> Frozen | None:
    """Return what somebody froze before; None if it is gone because the request is done."""
    if frozen.seal is None:
        raise Unfinished(wording.UNSEALED.format(id=request_id))
    if frozen.made_by != made_by():
        raise Unfinished(wording.OTHER_VERSION.format(id=request_id, then=versions_text(frozen)))
    found = kept_in(place, request_id, frozen.seal)
    if found is not None:
        return found
    with journal.session(write=False) as session:
        if lifecycle.stage(session, request_id).reservation.state == "started":
            raise Unfinished(wording.ELSEWHERE.format(id=request_id))
    return None  # whoever drew it has committed and erased it in the meantime


def kept_in(place: Place | None, request_id: str, seal: str) -> Frozen | None:
    """Return what is kept under a seal, None if it is not here or not whole."""
    found = None if place is None else place.read(request_id, seal)
    return None if found is None else Frozen(found[0], Coins(request_id, found[1]), sealed=True)


def versions_text(frozen: lifecycle.Seal) -> str:
    """Name the versions with which something was begun."""
    return ", ".join(f"{name} {number}" for name, number in sorted(frozen.made_by.items()))


def _drawn(journal: Journal, place: Place | None, request_id: str, work: Work, found: Frozen) -> bytes:
    """Draw; what ends it from outside leaves it as it is, an error of its own would only come again."""
    try:
        return lifecycle.as_bytes(work.draw(found.content, found.coins), "An answer")
    except OUTSIDE as error:
        report("The draw of the request %r was cut short.", request_id, error)
        again = found.sealed
    except Exception as error:
        report("The request %r died.", request_id, error)
        again = False
    except BaseException:
        if not found.sealed:
            bury(journal, place, request_id)
        raise
    if again:
        raise Unfinished(wording.CUT_SHORT)
    bury(journal, place, request_id)
    raise LedgerError(wording.DEAD)


def bury(journal: Journal, place: Place | None, request_id: str) -> Reservation:
    """Mark a request as dead, and erase what was kept to draw it from."""
    with journal.session(write=True) as session:
        found = lifecycle.fail(session, request_id)
    if place is not None:
        place.erase(request_id)
    return found


def sweep(journal: Journal, place: Directory) -> None:
    """Erase what is kept for requests that are done: a kill between commit and erasing leaves it behind."""
    try:
        left, older = set(place.left()), place.older()
    except OSError:
        # Whoever only reads the ledger need not be allowed to look here.
        _log.warning("The private directory %s cannot be looked at, so nothing in it was swept.", place.path)
        return
    if not left and not older:
        return
    with journal.session(write=False, to_look_at=True) as session:
        done = {hashed(name) for name, state in session.states().items() if state in ("committed", "dead")}
        sealed = lifecycle.seals(session) if older else frozenset()
    for name in sorted(left & done):
        place.erase_named(name)
    for one in older:
        # Earlier versions did not say of which ledger a file is; another one may have a request of the same id.
        if one.request in done and (one.seals & sealed or not place.shared):
            place.erase_older(one)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = []
    for package in DECIDING:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            found.append((package, "none"))
    return tuple(found)


def made_by() -> dict[str, str]:
    """Return the versions that must be the same when a key is used again."""
    return dict(_versions())
