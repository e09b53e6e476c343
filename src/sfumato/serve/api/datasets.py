"""Data sets: what is public about them, what is promised, and how much of the limits is used."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request

from sfumato.exact import exact
from sfumato.privacy import EVERYTHING, Bound
from sfumato.serve.doors import Door, desk_of, desks_of
from sfumato.serve.identity import Identity

router = APIRouter(tags=["data sets"])
Anybody = Annotated[Identity, Depends(Door())]


@router.get("/me")
def me(who: Anybody) -> dict[str, Any]:
    """Say who you are here."""
    return {"name": who.name, "role": who.role, "datasets": sorted(who.datasets)}


@router.get("/datasets")
def listed(request: Request, who: Anybody) -> list[dict[str, Any]]:
    """List the data sets that you may see."""
    return [desk.facts() for desk in desks_of(request) if who.sees(desk.name)]


@router.get("/datasets/{dataset}")
def one(request: Request, who: Anybody) -> dict[str, Any]:
    """Say what is public about a data set, what is promised, and what is left."""
    desk = desk_of(request)
    own = None if who.role != "analyst" else who.name
    return {**desk.facts(), "limits": [reading.to_json() for reading in desk.readings(own)]}


@router.get("/datasets/{dataset}/schema")
def schema(request: Request, who: Anybody) -> dict[str, Any]:
    """Give the public schema, and what else decides how a question is planned."""
    desk = desk_of(request)
    front = desk.front
    return {
        "schema": front.schema.to_json(),
        "fingerprint": front.schema.fingerprint,
        "people": front.basis.people,
        "relation": front.ledger.relation.value,
        "snapshot": front.table.snapshot,
    }


@router.get("/datasets/{dataset}/limits")
def limits(request: Request, who: Anybody) -> dict[str, Any]:
    """Give what every limit has left that concerns you."""
    readings = desk_of(request).readings(None if who.role != "analyst" else who.name)
    return {
        "remaining": {reading.name: reading.brief for reading in readings},
        "meters": [reading.to_json() for reading in readings],
    }


@router.get("/datasets/{dataset}/share")
def share(request: Request, who: Anybody, part: str) -> dict[str, Any]:
    """Give this part of what the person limit has left, as a spend."""
    typed = exact(part, "part") if part.removeprefix("-")[:1].isdigit() else part
    return {"spend": desk_of(request).front.share(typed).to_json()}


@router.get("/datasets/{dataset}/guarantee")
def guarantee(
    request: Request,
    who: Anybody,
    attribute: Annotated[list[str] | None, Query()] = None,
    people: Annotated[int, Query(ge=1, le=1000)] = 1,
    days: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> dict[str, Any]:
    """Give what everything answered, now and later, satisfies: for a person, attributes, several people, some days."""
    front = desk_of(request).front
    names = tuple(attribute) if attribute else EVERYTHING
    bound = front.guarantee(names, people, days)
    said = front.ledger.guarantee_text(names, people, days)
    return {"bound": bound.to_json() if isinstance(bound, Bound) else None, "text": said}
