"""Asking: preview and rehearse for nothing, ask once, and follow what became of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.privacy import Bound
from sfumato.serve.asked import Meant, planning, read_form
from sfumato.serve.desks import Desk
from sfumato.serve.doors import ASKERS, Door, desk_of, job_of, jobs_of
from sfumato.serve.foresight import curve, foresee
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import SAID, STORED, Job, Jobs, read_key
from sfumato.serve.problems import busy, respond
from sfumato.serve.shown import KINDS, shown
from sfumato.serve.wire import problem, status_of

router = APIRouter(tags=["asking"])
Asker = Annotated[Identity, Depends(Door(*ASKERS))]
Asked = Annotated[
    dict[str, Any],
    Body(
        examples=[
            {"phrase": "mean of age where sex = 'Female'", "spend": "Pure(0.1)"},
            {"question": {"question": "Histogram", "columns": ["sex"]}, "spend": "Pure(0.1)"},
            {"sql": "SELECT sex, COUNT(*) FROM data GROUP BY sex", "spend": "Pure(0.1)"},
        ]
    ),
]
LONGEST_STREAM = 20
"""So many seconds a stream of events lasts."""
Key = Annotated[str | None, Header(alias="Idempotency-Key")]


def _spending(asked: Meant) -> Bound:
    if asked.spend is None:
        raise ParameterError('Name the spend to look at; write "spend": "Pure(0.1)".')
    return asked.spend


@router.post("/datasets/{dataset}/preview")
def preview(request: Request, who: Asker, body: Asked, error: Annotated[bool, Query()] = False) -> dict[str, Any]:
    """Say what a question would cost, whether it fits, and with ?error=true how far its noise would go; free."""
    desk = desk_of(request)
    return foresee(desk, desk.meant(read_form(body)), who.name, error).to_json()


@router.post("/datasets/{dataset}/curve")
def error_curve(request: Request, who: Asker, body: Asked) -> list[dict[str, Any]]:
    """Give the expected error at several spends; free."""
    desk = desk_of(request)
    asked = desk.meant(read_form(body))
    _spending(asked)
    return [{"spend": spend, "error": error} for spend, error in curve(desk, asked, who.name)]


@router.post("/datasets/{dataset}/explain")
def explain(request: Request, who: Asker, body: Asked) -> dict[str, Any]:
    """Say what a statement in SQL reads, what it costs and how far its noise goes; free."""
    desk, form = desk_of(request), read_form(body)
    if form.way != "sql":
        raise ParameterError('A statement is explained; write {"sql": "SELECT …"}. A question has a preview.')
    desk.admit(who.name)
    with planning():
        return asdict(desk.front.explain(form.asked, form.spend, analyst=who.name))


@router.post("/datasets/{dataset}/largest")
def largest(request: Request, who: Asker, body: Asked) -> dict[str, Any]:
    """Give the largest part of a spend that would fit now; free."""
    desk = desk_of(request)
    asked = desk.meant(read_form(body))
    desk.admit(who.name)
    with planning():
        found = desk.front.largest(asked.asked, _spending(asked), analyst=who.name)
    return {"spend": None if found is None else found.to_json()}


@router.post("/datasets/{dataset}/rehearse")
def rehearse(
    request: Request, who: Asker, body: Asked, people: Annotated[int | None, Query(ge=1, le=100_000)] = None
) -> dict[str, Any]:
    """Answer a question on made-up rows: it shows the shape and the error, and nothing else; free."""
    desk = desk_of(request)
    return {**desk.rehearse(desk.meant(read_form(body)), people).to_json(), "rehearsed": True}


@router.post("/datasets/{dataset}/ask")
def ask(
    request: Request,
    who: Asker,
    body: Asked,
    key: Key = None,
    patience: Annotated[float | None, Query(ge=0, le=3600)] = None,
) -> Response:
    """Answer a question, once: 200 with the answer, or 202 with a job that waits for approval or still runs.

    The service decides how many seconds it waits before that; `patience` makes it fewer.
    """
    jobs, desk = jobs_of(request), desk_of(request)
    longest = jobs.service.patience if patience is None else min(patience, jobs.service.patience)
    job = jobs.wait(jobs.submit(who, desk, read_form(body), read_key(key)), longest)
    return _told(request, who, job)


def _told(request: Request, who: Identity, job: Job) -> Response:
    """Return what became of a job: the answer, the refusal, or where it stands."""
    if job.state == STORED:
        return JSONResponse(shown(desk_of(request), job, who).to_json())
    if job.state in ("refused", "failed"):
        return respond(told_problem(desk_of(request), job))
    place = f"/api/datasets/{job.dataset}/jobs/{job.id}"
    if job.ended:
        return JSONResponse(job.to_json(), 409, headers={"Location": place})
    progress = jobs_of(request).progress(job)
    said = {**job.to_json(), "said": progress.said or job.to_json()["said"], **progress.to_json()}
    return JSONResponse(said, 202, headers={"Location": place})


def told_problem(desk: Desk, job: Job) -> dict[str, Any]:
    """Return the problem document of a question that was refused or failed; of a refusal also what would fit now."""
    from sfumato import errors

    kind = getattr(errors, job.kind, None)
    status = 500 if kind is None else status_of(kind.__new__(kind))
    extra: dict[str, Any] = {"job": job.id}
    if kind is BudgetExceeded:
        asked = desk.meant(job.form)
        with planning():
            found = desk.front.largest(asked.asked, _spending(asked), analyst=job.name)
        extra["largest"] = None if found is None else found.to_json()
    return problem(status, job.said, job.kind, extra)


@router.get("/datasets/{dataset}/jobs/{job}")
def one_job(request: Request, who: Asker, job: str) -> Response:
    """Say where a question stands; with its answer once it is stored."""
    return _told(request, who, job_of(request, who, job))


@router.post("/datasets/{dataset}/jobs/{job}/cancel")
def cancel(request: Request, who: Asker, job: str) -> dict[str, Any]:
    """Cancel a question that nothing was drawn for yet."""
    found = job_of(request, who, job)
    if found.ended:
        return found.to_json()
    return jobs_of(request).cancel(found).to_json()


@router.get("/datasets/{dataset}/jobs/{job}/events")
async def events(request: Request, who: Asker, job: str) -> StreamingResponse:
    """Follow a question as server-sent events, one when its state or stage changes, at whole seconds.

    A stream ends after 20 seconds, so that no stop of the service waits for it; browsers connect again by themselves.
    """
    found = await run_in_threadpool(job_of, request, who, job)
    if request.app.state.streams >= request.app.state.house.service.waiting:
        raise busy()
    return StreamingResponse(_events(request, found.id), media_type="text/event-stream")


async def _events(request: Request, job: str) -> AsyncIterator[str]:
    request.app.state.streams += 1
    try:
        last: dict[str, Any] = {}
        for _ in range(LONGEST_STREAM):
            said = await run_in_threadpool(_event, jobs_of(request), job)
            if said != last:
                last = said
                yield f"event: state\ndata: {json.dumps(said)}\n\n"
            if said["ended"] or await request.is_disconnected():
                return
            await asyncio.sleep(1)
    finally:
        request.app.state.streams -= 1


def _event(jobs: Jobs, job: str) -> dict[str, Any]:
    """Return where a question stands, and how far it is while it is on its way."""
    found = jobs.get(job)
    progress = jobs.progress(found)
    said = found.said or progress.said or SAID.get(found.state, "")
    return {"job": found.id, "state": found.state, "said": said, "ended": found.ended, **progress.to_json()}


@router.get("/datasets/{dataset}/answers")
def answers(
    request: Request,
    who: Asker,
    state: Annotated[list[str] | None, Query()] = None,
    asked: Annotated[str | None, Query(alias="request")] = None,
) -> list[dict[str, Any]]:
    """List your questions, newest first, or the one of a request; a curator sees everybody's."""
    own = None if who.role == "curator" else who.name
    dataset = request.path_params["dataset"]
    if asked is not None:
        # By its own request alone: whom else's answer it shares is not told to who asks for that.
        found = jobs_of(request).of_request(dataset, asked)
        return [] if found is None or own not in (None, found.name) else [found.to_json()]
    return [job.to_json() for job in jobs_of(request).listed(dataset, own, tuple(state or ()))]


@router.get("/datasets/{dataset}/answers/{job}")
def one_answer(request: Request, who: Asker, job: str) -> dict[str, Any]:
    """Give a stored answer again; free, and nothing is read."""
    return shown(desk_of(request), job_of(request, who, job), who).to_json()


@router.get("/datasets/{dataset}/answers/{job}/file.{kind}")
def one_file(
    request: Request, who: Asker, job: str, kind: str, rows: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """Give a stored answer as CSV, Parquet, JSON or SVG; of a model, made-up rows."""
    if kind not in KINDS:
        raise ParameterError(f"An answer is had as {', '.join(KINDS)}.")
    desk = desk_of(request)
    found = shown(desk, job_of(request, who, job), who)
    with desk.working() if found.is_model else nullcontext():
        content = found.file(kind, rows)
    headers = {} if kind == "svg" else {"Content-Disposition": f'attachment; filename="answer-{job[:8]}.{kind}"'}
    return Response(content, media_type=KINDS[kind], headers=headers)
