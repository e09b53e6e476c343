"""The page of the HTTP interface, from its own description; nothing is loaded from elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from starlette.requests import Request

from sfumato import __version__
from sfumato.serve.doors import Door, Open, every_route
from sfumato.serve.pages import render

router = APIRouter()
Anybody = Annotated[None, Depends(Open())]


def described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, with who may use each route."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes)
        made["components"] = {
            **made.get("components", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        for route, door in every_route(app):
            for method in route.methods or ():
                found = made["paths"].get(route.path, {}).get(method.lower())
                if found is not None:
                    found["x-roles"] = list(door.roles) if isinstance(door, Door) else ["anybody"]
                    if isinstance(door, Door):
                        found["security"] = [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema


@router.get("/api/openapi.json")
def openapi(request: Request, open_to_all: Anybody) -> JSONResponse:
    """Give the OpenAPI description."""
    return JSONResponse(described(request.app))


@router.get("/api")
def page(request: Request, open_to_all: Anybody) -> Response:
    """Show the interface for people to read."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "said": found.get("description") or found.get("summary", ""),
            "roles": ", ".join(found.get("x-roles", ())),
            "parameters": list(found.get("parameters", ())),
            "tag": (found.get("tags") or ["other"])[0],
            "examples": _examples(found),
        }
        for path, methods in described(request.app)["paths"].items()
        for method, found in methods.items()
    ]
    tags = list(dict.fromkeys(one["tag"] for one in operations))
    return render(request, "interface.html", operations=operations, tags=tags)


def _examples(found: dict[str, Any]) -> list[Any]:
    content = found.get("requestBody", {}).get("content", {}).get("application/json", {})
    listed: list[Any] = content.get("examples") or content.get("schema", {}).get("examples", [])
    return listed if isinstance(listed, list) else []
