"""Publications on pages: what is promised, the newest tables, the files; for curators and auditors, verification."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.requests import Request

from sfumato.serve.doors import WATCHERS, Door, publication_of, shelf_of
from sfumato.serve.identity import Identity
from sfumato.serve.pages import render
from sfumato.serve.publications import PAGE

router = APIRouter()
Anybody = Annotated[Identity, Depends(Door(page=True))]
Watcher = Annotated[Identity, Depends(Door(*WATCHERS, page=True))]
LISTED = 200


@router.get("/publications")
def listed(request: Request, who: Anybody) -> Response:
    """Show the publications."""
    return render(request, "publications.html", shelf=list(shelf_of(request)))


@router.get("/publications/{publication}")
def one(request: Request, who: Anybody) -> Response:
    """Show one publication."""
    return _page(request)


def _page(request: Request, **facts: Any) -> Response:
    found = publication_of(request)
    paths = found.paths()
    shown = {"checked": None, **facts}
    return render(
        request,
        "publication.html",
        publication=found,
        tables=found.newest(),
        pictures=PAGE in paths,
        paths=[path for path in paths if path != PAGE][:LISTED],
        left=max(0, len(paths) - LISTED),
        **shown,
    )


@router.post("/publications/{publication}/verify")
def verify(request: Request, who: Watcher) -> Response:
    """Work everything out again, and show what that found."""
    return _page(request, checked=publication_of(request).verify())
