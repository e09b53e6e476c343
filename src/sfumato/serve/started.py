"""Where a server process finds its house: the environment, because worker processes inherit nothing else."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.serve.desks import Desks
from sfumato.serve.house import House, load_house
from sfumato.serve.publications import Shelf

if TYPE_CHECKING:
    from fastapi import FastAPI


class _Path:
    """The house of this process, in its environment."""

    NAMES = ("SFUMATO_HOUSE", "SFUMATO_HOUSE_HOST", "SFUMATO_HOUSE_PORT")

    def set(self, path: Path, host: str | None, port: int | None) -> None:
        """Name the house for this process and its workers."""
        for name, value in zip(self.NAMES, (path.resolve(), host, port), strict=True):
            os.environ[name] = "" if value is None else str(value)

    def house(self) -> House:
        """Return the house that was named."""
        path, host, port = (os.environ.get(name, "") for name in self.NAMES)
        found = load_house(path)
        service = found.service
        return replace(
            found, service=replace(service, host=host or service.host, port=int(port) if port else service.port)
        )


PATH = _Path()
LINES = logging.Formatter('{"at": "%(asctime)s", "said": %(message)s}', "%Y-%m-%d %H:%M:%S")
"""A line is written when a response is ready, before its tick: milliseconds would tell how long data were read."""


def checked(house: House) -> None:
    """Open everything once before anything listens, so that a mistake is one sentence and not a failed start."""
    Desks(house.datasets).close()
    Shelf(house.publications)


def app() -> FastAPI:
    """Return the service of the house that the environment names; it logs one line of JSON a request."""
    from sfumato.serve.app import service_app

    log = logging.getLogger("sfumato.serve")
    if not log.handlers:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(LINES)
        log.addHandler(lines)
        log.setLevel(logging.INFO)
    return service_app(PATH.house())
