"""Run an application and say where it listens, once it does."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import typer


def listen(app: Any, said: str, **options: Any) -> None:
    """Serve one application in this process, and say so on the error stream when the port takes connections."""
    import uvicorn

    class Announced(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                typer.echo(said, err=True)

    # A port that is taken ends the process with uvicorn's own sentence, and nothing is announced.
    with suppress(KeyboardInterrupt):
        Announced(uvicorn.Config(app, **options)).run()
