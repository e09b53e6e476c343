"""What a check can reach: files that it imports, directly or through others. Changes elsewhere leave its result standing.

Imports inside functions count, and so do modules that are named in texts: registries load rooms by name. The names of
the package itself are loaded one by one when they are asked for, so `from sfumato import Count` reaches the home of
`Count` and no other. A check that starts a process, or makes up the names of modules, reaches everything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

PACKAGE = "sfumato"
PROCESSES = re.compile(r"\b(subprocess|multiprocessing|import_module|runpy|os\.fork)\b")
"""Words of tests whose work is not done by what they import."""
FOLDERS = ("docs", "examples", "bench")
"""Files beside the code that some tests read, named in a text of theirs."""


class House:
    """The modules of a checkout, and which of them a file can reach."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {
            _name(path.relative_to(base)): path
            for base, folder in ((root / "src", PACKAGE), (root, "tests"))
            for path in sorted((base / folder).rglob("*.py"))
        }
        self._edges = cache(self._imported)
        self._reached = cache(self._closure)

    @cached_property
    def homes(self) -> dict[str, str]:
        """Where each name of the package itself lives, as its `_HOMES` and `_ELSEWHERE` say."""
        found: dict[str, str] = {}
        for node in ast.parse(self.modules[PACKAGE].read_text(encoding="utf-8")).body:
            name = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else ""
            if isinstance(node, ast.Assign) and name == "_HOMES":
                found |= {one: home for home, names in ast.literal_eval(node.value).items() for one in names.split()}
            elif isinstance(node, ast.Assign) and name == "_ELSEWHERE":
                found |= ast.literal_eval(node.value)
        return found

    def reached(self, file: str) -> frozenset[Path]:
        """Return the files that decide the checks of a test file, given by its path below the root."""
        return self._reached(_name(Path(file)))

    def _closure(self, name: str) -> frozenset[Path]:
        seen: set[str] = set()
        left = list(_packages(name))
        while left:
            one = left.pop()
            if one in self.modules and one not in seen:
                seen.add(one)
                left += self._edges(one)
        texts = [self.modules[one].read_text(encoding="utf-8") for one in seen if one.startswith("tests.")]
        if any(PROCESSES.search(text) for text in texts):
            seen = set(self.modules)
        beside = [folder for folder in FOLDERS if any(f'"{folder}"' in text for text in texts)]
        return frozenset(self.modules[one] for one in seen) | frozenset(
            path for folder in beside for path in (self.root / folder).rglob("*") if path.is_file()
        )

    def _imported(self, name: str) -> frozenset[str]:
        looked = _Imports(self, name)
        looked.visit(ast.parse(self.modules[name].read_text(encoding="utf-8")))
        return frozenset(looked.found)

    def below(self, name: str) -> Iterator[str]:
        """Yield a module and all modules of a package."""
        return (one for one in self.modules if one == name or one.startswith(f"{name}."))


class _Imports(ast.NodeVisitor):
    """The modules that one module imports anywhere, or names in a text."""

    def __init__(self, house: House, name: str) -> None:
        self.house, self.name = house, name
        self.found: set[str] = set()
        self._called: set[str] = set()  # what the package itself is called here

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            self._add(one.name)
            if one.name == PACKAGE or (one.name.startswith(f"{PACKAGE}.") and one.asname is None):
                self._called.add(one.asname or PACKAGE)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            packages = self.name.split(".")
            room = packages if self.house.modules[self.name].stem == "__init__" else packages[:-1]
            base = ".".join([*room[: len(room) - node.level + 1], *([base] if base else [])])
        self._add(base)
        for one in node.names:
            if base == PACKAGE:
                self._add_member(one.name)
            else:
                self._add(f"{base}.{one.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self._called:
            self._add_member(node.attr)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._called and isinstance(node.ctx, ast.Load):
            self._add_member("*")  # handed on as a whole

    def visit_Constant(self, node: ast.Constant) -> None:
        # The package's own texts are the homes of names: whoever imports a name reaches its home.
        if (
            isinstance(node.value, str)
            and self.name != PACKAGE
            and re.fullmatch(r"(sfumato|tests)(\.\w+)+", node.value)
        ):
            named = node.value
            while named not in self.house.modules:
                named = named.rpartition(".")[0]
            self._add(named)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and str(first.value).startswith((f"{PACKAGE}.", "tests.")):
            start = str(first.value).rpartition(".")[0]
        else:
            own = isinstance(first, ast.FormattedValue) and getattr(first.value, "id", "") == "__name__"
            start = self.name if own else ""
        if start and self.name != PACKAGE:
            self.found.update(self.house.below(start))  # which one of them is not known
        self.generic_visit(node)

    def _add(self, name: str) -> None:
        self.found.update(one for one in _packages(name) if one in self.house.modules)

    def _add_member(self, name: str) -> None:
        names: Iterable[str] = self.house.homes if name == "*" else [name]
        for one in names:
            self._add(self.house.homes.get(one, f"{PACKAGE}.{one}"))
        if name == "*":
            self.found.update(self.house.below(PACKAGE))


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))
