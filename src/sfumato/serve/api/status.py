"""Whether the service lives, and public numbers about it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response
from starlette.requests import Request

from sfumato.serve.doors import WATCHERS, Door, Open, desks_of, jobs_of
from sfumato.serve.identity import Identity

router = APIRouter(tags=["status"])
Anybody = Depends(Open())


@router.get("/health", dependencies=[Anybody])
def health() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "ok"}


@router.get("/ready", dependencies=[Anybody])
def ready(request: Request) -> JSONResponse:
    """Say whether questions are taken on now: the store and all ledgers can be read, and not too many wait."""
    jobs = jobs_of(request)
    try:
        jobs.counts()
        for desk in desks_of(request):
            desk.front.ledger.head  # noqa: B018  reading it asks the database
    except Exception:
        return JSONResponse({"status": "a database cannot be read"}, 503, headers={"Retry-After": "5"})
    if jobs.pending >= jobs.service.waiting:
        return JSONResponse({"status": "busy"}, 503, headers={"Retry-After": "2"})
    return JSONResponse({"status": "ready"})


@router.get("/metrics")
def metrics(request: Request, who: Annotated[Identity, Depends(Door(*WATCHERS))]) -> Response:
    """Give public numbers in the text format of Prometheus: requests by route and status, questions by state."""
    seen = request.app.state.counted.total(request.app.state.store)
    lines = [
        "# HELP sfumato_requests_total Requests by route and status, of all processes.",
        "# TYPE sfumato_requests_total counter",
        *(
            f'sfumato_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
            for (method, route, status), count in sorted(seen.items())
        ),
        "# HELP sfumato_questions Questions by data set and state.",
        "# TYPE sfumato_questions gauge",
        *(
            f'sfumato_questions{{dataset="{dataset}",state="{state}"}} {count}'
            for (dataset, state), count in sorted(jobs_of(request).counts().items())
            if who.sees(dataset)
        ),
        "# HELP sfumato_used_percent How much of a data set's person limit is used.",
        "# TYPE sfumato_used_percent gauge",
        *(f'sfumato_used_percent{{dataset="{name}"}} {used}' for name, used in _used(request, who)),
    ]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _used(request: Request, who: Identity) -> list[tuple[str, Any]]:
    return [(desk.name, desk.front.ledger.spent().percent) for desk in desks_of(request) if who.sees(desk.name)]
