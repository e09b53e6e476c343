"""The client for browsers and Node: a few JavaScript modules without dependencies, shipped with the package.

They make the same reports from the same plan as the Python client; `client.mjs` is the one to
import, `device.mjs` adds a memory.
"""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).parent
MODULES = ("client.mjs", "device.mjs", "items.mjs", "methods.mjs", "bytes.mjs")


def copy_client(folder: str | Path) -> Path:
    """Copy the modules into a folder of a web site, made if need be, and return the path of `client.mjs`.

    >>> import tempfile
    >>> copy_client(tempfile.mkdtemp()).name
    'client.mjs'
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        shutil.copyfile(FOLDER / name, target / name)
    return target / MODULES[0]
