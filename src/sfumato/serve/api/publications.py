"""Publications: what was published, for everybody who signs in, and its verification."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.requests import Request

from sfumato.serve.doors import WATCHERS, Door, publication_of, shelf_of
from sfumato.serve.identity import Identity
from sfumato.serve.problems import NOWHERE, Denied

router = APIRouter(tags=["publications"])
Anybody = Annotated[Identity, Depends(Door())]
Watcher = Annotated[Identity, Depends(Door(*WATCHERS))]
PAGE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the page of a publication may do, which is one file that loads nothing."""


@router.get("/publications")
def listed(request: Request, who: Anybody) -> list[dict[str, Any]]:
    """List the publications."""
    return [{"name": one.name, "title": one.title, "promise": one.promise()} for one in shelf_of(request)]


@router.get("/publications/{publication}")
def one(request: Request, who: Anybody) -> dict[str, Any]:
    """Say what is promised, and list all files that were published."""
    return publication_of(request).to_json()


@router.get("/publications/{publication}/files/{path:path}")
def file(request: Request, who: Anybody, path: str) -> Response:
    """Give a file as it was published."""
    found = publication_of(request).file(path)
    if found is None:
        raise Denied(404, NOWHERE)
    content, kind = found
    headers = {"Content-Security-Policy": PAGE}
    if not kind.startswith("text/html"):
        headers["Content-Disposition"] = f'attachment; filename="{path.rpartition("/")[2]}"'
    return Response(content, media_type=kind, headers=headers)


@router.post("/publications/{publication}/verify")
def verify(request: Request, who: Watcher) -> dict[str, Any]:
    """Work everything out again: the ledger's chain and sums, one answer a period, every file."""
    found = publication_of(request).verify()
    if found is None:
        raise Denied(409, "Nothing is published yet; sfumato publish run does that.")
    return {
        "ok": bool(found),
        "periods": found.periods,
        "files": found.files,
        "problems": list(found.problems),
        "notes": list(found.notes),
    }
