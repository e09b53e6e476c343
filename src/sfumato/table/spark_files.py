"""Which files a frame of Spark reads, and whether they are still the same (SM-SOURCE).

Sizes and times depend on cells, so an identity is private: it is compared and never shown.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

_STATUS = re.compile(r"path=(.*?); isDirectory=\w+; length=(\d+);.*? modification_time=(\d+);")
_HIDDEN = re.compile(r"/[_.][^/=]*(/|$)")
"""What Spark does not read, such as what somebody is still writing."""


class SparkFiles:
    """The files of an index, and of the view that reads them."""

    def __init__(self, session: Any, index: Any, name: str) -> None:
        self._session = session
        self._index = index
        self._name = name

    def identity(self) -> str:
        """Return a text that is equal for equal files: which are read, and places, sizes, times of all that are there.

        One question to the file system for each folder that was named, not for each file.
        """
        # A frame of its own: one that was planned before shows the files of then.
        files = sorted(map(str, self._session.table(self._name).inputFiles()))
        try:
            seen = sorted(fact for place in self._places(files) for fact in self._facts(place))
        except Exception:
            seen = []  # a folder is gone: differs from whatever it was
        return hashlib.sha256(json.dumps([files, seen]).encode()).hexdigest()

    def _places(self, files: list[str]) -> list[Any]:
        """Return the folders and files that were named, and those of partitions that a catalog has elsewhere."""
        listed = self._index.rootPaths()
        places = {str(path.toUri().toString()): path for path in map(listed.apply, range(listed.size()))}
        within = tuple(f"{place.rstrip('/')}/" for place in places)
        elsewhere = {file.rpartition("/")[0] for file in files if file not in places and not file.startswith(within)}
        java = self._session._jvm
        return [
            *places.values(),
            *(java.org.apache.hadoop.fs.Path(java.java.net.URI(place)) for place in sorted(elsewhere)),
        ]

    def _facts(self, place: Any) -> list[tuple[str, ...]]:
        system = place.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf())
        tool = self._session._jvm.org.apache.spark.deploy.SparkHadoopUtil.get()
        statuses = str(tool.listLeafStatuses(system, place).mkString("\n"))
        root = str(system.makeQualified(place).toString())
        found = (status.groups() for status in _STATUS.finditer(statuses))
        return [fact for fact in found if not _HIDDEN.search(fact[0].removeprefix(root))]
