"""What is refused at the door, and problem documents as responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse

MEDIA = "application/problem+json"


class Denied(Exception):
    """A request that is not let in, or asks for something that is not there for who sends it."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})


UNKNOWN = "Say who you are: send a token as Authorization: Bearer …, or sign in."
WRONG_TOKEN = "Nobody here has this token, or it is over; ask a curator for a new one."
NOWHERE = "There is nothing here that you may see; GET /api/datasets lists your data sets."
BUSY = "Many questions are waiting; ask again in a few seconds with the same Idempotency-Key."


def other_role(roles: Sequence[str], of_data_set: bool) -> Denied:
    """Return the refusal of somebody whose role a route does not let in, which names the roles that it does."""
    named = " or ".join(f"{'an' if role[0] in 'aeiou' else 'a'} {role}" for role in roles)
    return Denied(403, f"Your role does not do this; {named}{' of this data set' if of_data_set else ''} does.")


def busy() -> Denied:
    """Return the refusal of a request that would have to wait too long."""
    return Denied(503, BUSY, {"Retry-After": "2"})


def respond(record: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a problem document as a response."""
    more = {"Retry-After": "2"} if record["status"] == 503 else {}
    return JSONResponse(dict(record), record["status"], headers={**more, **(headers or {})}, media_type=MEDIA)
