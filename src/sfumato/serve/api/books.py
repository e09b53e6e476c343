"""For curators and auditors: the ledger, its verification, the report, and the evidence for a reviewer."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from starlette.requests import Request

from sfumato.serve.desks import Desk
from sfumato.serve.doors import WATCHERS, Door, desk_of
from sfumato.serve.identity import Identity

router = APIRouter(tags=["ledger"])
Watcher = Annotated[Identity, Depends(Door(*WATCHERS))]


@router.get("/datasets/{dataset}/ledger")
def ledger(request: Request, who: Watcher, since: Annotated[int, Query(ge=0)] = 0) -> dict[str, Any]:
    """Give every request that was charged, with its exact loss; `since` leaves earlier rows out."""
    book = desk_of(request).front.ledger
    entries = [entry.to_json() for entry in book.history() if entry.number > since]
    return {"head": book.head, "requests": entries, "meters": [one.to_json() for one in book.readings()]}


@router.post("/datasets/{dataset}/verify")
def verify(request: Request, who: Watcher, head: Annotated[str | None, Query()] = None) -> dict[str, Any]:
    """Work the ledger's chain, charges and sums out again; a head kept elsewhere shows whether rows were lost."""
    found = desk_of(request).front.ledger.verify(head)
    return {
        "ok": found.ok,
        "rows": found.rows,
        "reservations": found.reservations,
        "head": found.head,
        "problems": list(found.problems),
    }


@router.get("/datasets/{dataset}/report")
def report(request: Request, who: Watcher) -> dict[str, Any]:
    """Give the report: what is guaranteed, what has been used, what an adversary could guess."""
    return desk_of(request).front.report().to_json()


@router.get("/datasets/{dataset}/report.txt")
def report_text(request: Request, who: Watcher) -> Response:
    """Give the report as text."""
    return Response(desk_of(request).front.report().text(), media_type="text/plain; charset=utf-8")


@router.get("/datasets/{dataset}/report.html")
def report_page(request: Request, who: Watcher) -> Response:
    """Give the report as a page to keep."""
    headers = {"Content-Disposition": 'attachment; filename="report.html"'}
    return Response(desk_of(request).front.report().html(), media_type="text/html; charset=utf-8", headers=headers)


@router.get("/datasets/{dataset}/evidence.zip")
def evidence(request: Request, who: Watcher) -> Response:
    """Give the evidence package for a reviewer."""
    headers = {"Content-Disposition": 'attachment; filename="evidence.zip"'}
    return Response(evidence_zip(desk_of(request)), media_type="application/zip", headers=headers)


def evidence_zip(desk: Desk) -> bytes:
    """Return the evidence package in one file."""
    page = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "evidence"
        desk.front.evidence().save(place)
        with zipfile.ZipFile(page, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(path for path in place.rglob("*") if path.is_file()):
                packed.write(file, file.relative_to(place))
    return page.getvalue()
