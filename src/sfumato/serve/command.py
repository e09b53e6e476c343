"""`sfumato local serve`, or `python -m sfumato.serve`: run the HTTP collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import ParameterError, SfumatoError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    collection: Annotated[Path, typer.Argument(help="The directory to collect into; made if it is new.")],
    *,
    plan: Annotated[
        list[Path] | None, typer.Option(help="The plan of a new collection; several for a collection of each.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8000,
    ids: Annotated[bool, typer.Option(help="Whether reports carry ids.")] = True,
    most_bytes: Annotated[int, typer.Option(help="The largest body of a request.")] = 1 << 22,
    origin: Annotated[
        list[str] | None, typer.Option(help="A web page that may send, for example https://a.org.")
    ] = None,
    tokens: Annotated[Path | None, typer.Option(help="A file of tokens, one a line: only they may send.")] = None,
    rate: Annotated[int | None, typer.Option(help="How many requests a minute a token may send.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="A file of tokens that may read GET /metrics.")] = None,
    lanes: Annotated[bool, typer.Option(help="Let several of these processes collect into one directory.")] = False,
    shuffled: Annotated[
        int | None,
        typer.Option(help="Take shuffled batches only: each body is one, without ids, of at least so many reports."),
    ] = None,
) -> None:
    """Collect reports by HTTP: POST /reports, GET /plan, GET /health, GET /metrics."""
    from sfumato.local import read_plan
    from sfumato.serve import MISSING

    try:
        import uvicorn  # noqa: F401

        from sfumato.serve.collector import collector_app, open_collector
        from sfumato.serve.listening import listen
        from sfumato.serve.senders import Tokens
    except ImportError as missing:
        typer.echo(f"Error: {MISSING}", err=True)
        raise typer.Exit(2) from missing
    try:
        read = [read_plan(path) for path in plan or ()]
        made = None if not read else read[0] if len(read) == 1 else read
        # Open it once before anything listens, so that a mistake is one sentence and not a failed start.
        open_collector(collection, made, ids=ids, lanes=lanes, shuffled=shuffled).close()
        if rate is not None and tokens is None:
            raise ParameterError("--rate is for each token; add --tokens.")
        service = collector_app(
            collection,
            made,
            ids=ids,
            lanes=lanes,
            shuffled=shuffled,
            most_bytes=most_bytes,
            origins=origin or (),
            authorize=None if tokens is None else Tokens(tokens, rate),
            metrics=None if metrics is None else Tokens(metrics),
        )
    except (SfumatoError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from problem
    if tokens is None and host not in LOOPBACK:
        typer.echo(f"Warning: whoever reaches {host} can send made-up reports; add --tokens.", err=True)
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    said = f"Listening at {where} for reports (POST {where}/reports); Ctrl-C ends it, and nothing is lost."
    # Who sent what, from where and when is nobody's business: no access log.
    listen(service, said, host=host, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=10)
