"""`sfumato local serve`, or `python -m sfumato.serve`: run the HTTP collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import SfumatoError


def serve(
    collection: Annotated[Path, typer.Argument(help="The directory to collect into; made if it is new.")],
    *,
    plan: Annotated[Path | None, typer.Option(help="The plan of a new collection.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8000,
    ids: Annotated[bool, typer.Option(help="Whether reports carry ids.")] = True,
    most_bytes: Annotated[int, typer.Option(help="The largest body of a request.")] = 1 << 22,
    origin: Annotated[
        list[str] | None, typer.Option(help="A web page that may send, for example https://a.org.")
    ] = None,
) -> None:
    """Collect reports by HTTP: POST /reports, GET /plan, GET /health."""
    from sfumato.local import Collector, read_plan
    from sfumato.serve import MISSING

    try:
        import uvicorn

        from sfumato.serve.collector import collector_app
    except ImportError as missing:
        typer.echo(f"Error: {MISSING}", err=True)
        raise typer.Exit(2) from missing
    try:
        made = None if plan is None else read_plan(plan)
        # Open it once before anything listens, so that a mistake is one sentence and not a failed start.
        Collector(collection, made, ids=ids).close()
        service = collector_app(collection, made, ids=ids, most_bytes=most_bytes, origins=origin or ())
    except (SfumatoError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from problem
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    typer.echo(
        f"Listening at {where} for reports (POST {where}/reports); Ctrl-C ends it, and nothing is lost.", err=True
    )
    # Who sent what, from where and when is nobody's business: no access log.
    uvicorn.run(service, host=host, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=10)
