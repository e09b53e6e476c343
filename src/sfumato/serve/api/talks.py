"""Conversations: open one for a spend, and ask it condition by condition."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from fastapi.responses import JSONResponse, Response
from starlette.requests import Request

from sfumato.errors import ParameterError
from sfumato.serve.api.asking import Key
from sfumato.serve.doors import ASKERS, Door, desk_of, talks_of
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import WAITING, read_key
from sfumato.serve.shown import KINDS, rows_of, written
from sfumato.serve.talks import OPENING, read_terms

router = APIRouter(tags=["conversations"])
Asker = Annotated[Identity, Depends(Door(*ASKERS))]
Opening = Annotated[
    dict[str, Any], Body(examples=[{"columns": ["age", "sex"], "queries": 1000, "spend": "Approximate(1, 1e-6)"}])
]
Conditions = Annotated[dict[str, Any], Body(examples=[{"conditions": ["age > 40 AND sex = 'Female'"]}])]


@router.post("/datasets/{dataset}/conversations/preview")
def preview(request: Request, who: Asker, body: Opening) -> dict[str, Any]:
    """Say whether a conversation would fit, and how far its replies would be off; free."""
    return talks_of(request).foresee(desk_of(request), who, read_terms(body))


@router.post("/datasets/{dataset}/conversations")
def start(request: Request, who: Asker, body: Opening, key: Key = None) -> Response:
    """Open a conversation, once: its whole spend is charged here, and nothing afterwards; 202 if a curator decides."""
    found = talks_of(request).start(desk_of(request), who, read_terms(body), read_key(key))
    return JSONResponse(found, 202 if found["state"] in (WAITING, OPENING) else 200)


@router.get("/datasets/{dataset}/conversations")
def listed(request: Request, who: Asker) -> list[dict[str, Any]]:
    """List your conversations, newest first."""
    return talks_of(request).listed(desk_of(request), who)


@router.get("/datasets/{dataset}/conversations/{key}")
def standing(request: Request, who: Asker, key: str) -> dict[str, Any]:
    """Say how one of your conversations stands: open, waiting for a curator, approved or declined."""
    return talks_of(request).standing(desk_of(request), who, key)


@router.post("/datasets/{dataset}/conversations/{key}/cancel")
def cancel(request: Request, who: Asker, key: str) -> dict[str, Any]:
    """Take back a conversation that waits for a curator."""
    talks_of(request).withdraw(desk_of(request), who, key)
    return {"conversation": key, "state": "cancelled"}


@router.post("/datasets/{dataset}/conversations/{key}")
def ask(request: Request, who: Asker, key: str, body: Conditions) -> dict[str, Any]:
    """Answer conditions; the same one again gets the same reply."""
    return talks_of(request).ask(desk_of(request), who, key, body.get("conditions"))


@router.post("/datasets/{dataset}/conversations/{key}/learn")
def learn(request: Request, who: Asker, key: str, body: Conditions) -> dict[str, Any]:
    """Ask conditions again and again until the model passes all of them, and give the model; free as asking is."""
    return talks_of(request).learn(desk_of(request), who, key, body.get("conditions"))


@router.get("/datasets/{dataset}/conversations/{key}/file.{kind}")
def one_file(
    request: Request, who: Asker, key: str, kind: str, rows: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """Give what a conversation has learned: its model as JSON, made-up rows as CSV or Parquet, its picture as SVG."""
    if kind not in KINDS:
        raise ParameterError(f"What a conversation has learned is had as {', '.join(KINDS)}.")
    desk, talks = desk_of(request), talks_of(request)
    if kind == "json":
        return JSONResponse(talks.learned(desk, who, key))
    if kind == "svg":
        return Response(talks.picture(desk, who, key), media_type=KINDS[kind])
    model = talks.model(desk, who, key)
    with desk.working():
        content = written(rows_of(model, rows), kind)
    headers = {"Content-Disposition": f'attachment; filename="conversation.{kind}"'}
    return Response(content, media_type=KINDS[kind], headers=headers)
