"""Which files a frame of Spark reads, and whether they are still the same (SM-SOURCE).

Sizes and times depend on cells, so an identity is private: it is compared and never shown.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from sfumato.table.spark_relations import each

_STATUS = re.compile(r"path=(.*?); isDirectory=\w+; length=(\d+);.*? modification_time=(\d+);")
_ENTRY = "FileStatusWithMetadata("
_HIDDEN = re.compile(r"/[_.][^/=]*(/|$)")
"""What Spark does not read, such as what somebody is still writing."""

Fact = tuple[str, ...]


class SparkFiles:
    """The files that an index of Spark lists."""

    def __init__(self, session: Any, index: Any) -> None:
        self._session = session
        self._index = index
        self._java = session._jvm

    def identity(self) -> str:
        """Return a text that is equal for equal files: which are read; places, sizes and times of all there are."""
        try:
            listed = self._listed()
            there = {fact for place in self._places(listed) for fact in self._facts(place)}
        except Exception:
            return ""  # a folder is gone: differs from whatever it was
        return hashlib.sha256(json.dumps([sorted(set(listed)), sorted(there)]).encode()).hexdigest()

    def _listed(self) -> list[Fact]:
        """Return what the frame would read now; a frame that was planned before would show the files of then."""
        nothing = self._java.org.apache.spark.api.python.PythonUtils.toSeq([])
        folders = self._index.listFiles(nothing, nothing)
        text = str(folders.mkString("\n"))  # one call for all of them: each call to Java takes its time
        found = _STATUS.findall(text)
        if len(found) == text.count(_ENTRY):
            return found
        return [fact for folder in each(folders) for fact in map(_fact, each(folder.files()))]

    def _places(self, listed: list[Fact]) -> list[Any]:
        """Return the folders and files that were named, and the folders of partitions that a catalog has elsewhere."""
        places = {str(path.toString()): path for path in each(self._index.rootPaths())}
        within = tuple(f"{place.rstrip('/')}/" for place in places)
        files = (fact[0] for fact in listed)
        elsewhere = {file.rpartition("/")[0] for file in files if file not in places and not file.startswith(within)}
        return [*places.values(), *map(self._java.org.apache.hadoop.fs.Path, sorted(elsewhere))]

    def _facts(self, place: Any) -> list[Fact]:
        """Return path, size and time of all files below a place, as the file system says."""
        system = place.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf())
        statuses = self._java.org.apache.spark.deploy.SparkHadoopUtil.get().listLeafStatuses(system, place)
        found = _STATUS.findall(str(statuses.mkString("\n")))
        if len(found) != statuses.size():
            found = list(map(_fact, each(statuses)))  # of a file system that describes them otherwise
        root = str(system.makeQualified(place).toString())
        return [fact for fact in found if not _HIDDEN.search(fact[0].removeprefix(root))]


def _fact(status: Any) -> Fact:
    return str(status.getPath().toString()), str(status.getLen()), str(status.getModificationTime())
