"""One real PostgreSQL server for all workers of a run, one Spark for one of them; and what pytest must not import."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent

os.environ["COLUMNS"] = "120"  # what is printed is wrapped alike everywhere, whatever the terminal of the run
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # each worker has one core: a second thread would only wait for it, busily

collect_ignore = ["privacy/oracle/make.py", "run_audit.py"]


class Shared(LoadScopeScheduling):
    """Give tests that share something dear to one worker, so that it is made once.

    All that needs Spark, since starting it twice takes longer than all that is asked of it; and a file whose tests share
    a fixture or a cache. By what the files say and not by `xdist_group`, which this pytest does not hand on to the
    workers.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _shares(file) or nodeid


SPARK = re.compile(r"^ *def test_\w+\(.*\bspark\b", re.MULTILINE)
ONCE = re.compile(r"^@pytest\.fixture\(scope=\"module\"|^pytestmark = pytest\.mark\.xdist_group\(", re.MULTILINE)


@cache
def _shares(file: str) -> str | None:
    """Return what the tests of a file share, with other files or with each other."""
    path = ROOT / file
    text = path.read_text() if path.is_file() and path.suffix == ".py" else ""
    if SPARK.search(text):
        return "spark"
    return file if ONCE.search(text) else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shared:
    """Hand out tests one by one, but for those that share something."""
    return Shared(config, log)


@pytest.fixture(scope="session")
def postgres(testrun_uid: str):
    """The URL of a server that the wheel `pgserver` carries; the last worker stops it and removes its files."""
    with warnings.catch_warnings():
        # The wheel's own imports warn about the place of its lock file; that is not ours to fix.
        warnings.simplefilter("ignore")
        try:
            import pgserver
        except ImportError as problem:
            pytest.skip(f"NO POSTGRESQL: the wheel pgserver is not installed ({problem}); PostgreSQL is not tested.")
        # Not below pytest's own directory: as root the server runs as another user, who may not look in there.
        place = Path(tempfile.gettempdir()) / f"sfumato-pg-{testrun_uid[:8]}"
        place.mkdir(exist_ok=True)
        place.chmod(0o777)
        server = pgserver.get_server(place / "data", cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()
        with suppress(OSError):  # another worker may still use it
            place.rmdir()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark: starting it takes longer than most of what is asked of it."""
    from tests.table.cluster import spark_session

    yield from spark_session(tmp_path_factory.mktemp("spark"))
