"""What a check can reach: files that it imports, directly or through others. Changes elsewhere leave its result standing.

Imports inside functions count, and so do modules that are named in texts: registries load rooms by name. The names of
the package itself, and of rooms whose `__getattr__` is made by `sfumato.moved.later`, are loaded one by one when they are
asked for: `from sfumato import Count` reaches the home of `Count` and no other, and whoever imports a module of such a
room reaches none of its names. Who hands such a package on as a whole reaches all of them. A check that starts a process,
or makes up the names of modules, reaches everything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "sfumato"
PROCESSES = re.compile(r"\b(subprocess|runpy)\b")
"""Words of tests whose work is not done by what they import; a copy of their own process imports what they do."""
LOADS = ("import_module", "__import__")
"""Functions that import what they are told by a text."""
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
        self._homes = cache(self._listed)
        self._edges = cache(self._imported)
        self._reached = cache(self._closure)

    def homes(self, package: str) -> dict[str, str] | None:
        """Return where each name of a package lives that is loaded when it is first used; None if all are there at once.

        Of the package itself its `_HOMES` and `_ELSEWHERE` say so, of others what is given to `later`.
        """
        return self._homes(package)

    def _listed(self, package: str) -> dict[str, str] | None:
        body = ast.parse(self.modules[package].read_text(encoding="utf-8")).body if package in self.modules else []
        assigned = {
            node.targets[0].id: node.value
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        if package == PACKAGE:
            found = dict(ast.literal_eval(assigned["_ELSEWHERE"]))
            listed = ast.literal_eval(assigned["_HOMES"])
            return found | {one: home for home, names in listed.items() for one in names.split()}
        for node in body:
            called = node.value if isinstance(node, ast.Assign) else None
            if isinstance(called, ast.Call) and _calls(called, "later"):
                given = called.args[1]
                text = assigned.get(given.id) if isinstance(given, ast.Name) else given
                return _homes_in(text, package)
        return None

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
        if any(PROCESSES.search(text) or _makes_up_names(text) for text in texts):
            seen = set(self.modules)
        beside = [folder for folder in FOLDERS if any(f'"{folder}"' in text for text in texts)]
        return frozenset(self.modules[one] for one in seen) | frozenset(
            path for folder in beside for path in (self.root / folder).rglob("*") if path.is_file()
        )

    def _imported(self, name: str) -> frozenset[str]:
        return _Imports(self, name).look(ast.parse(self.modules[name].read_text(encoding="utf-8")))

    def below(self, name: str) -> Iterator[str]:
        """Yield a module and all modules of a package."""
        return (one for one in self.modules if one == name or one.startswith(f"{name}."))


class _Imports(ast.NodeVisitor):
    """The modules that one module imports anywhere, or names in a text."""

    def __init__(self, house: House, name: str) -> None:
        self.house, self.name = house, name
        self.found: set[str] = set()
        self._called: dict[str, str] = {}  # what packages that load their names one by one are called here

    def look(self, tree: ast.Module) -> frozenset[str]:
        """Return all that a module reaches at once; first all imports, because functions use what is imported below."""
        names = _Names(self)
        names.visit(tree)
        self.visit(tree)
        return frozenset(self.found)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        pass  # `_Names` has seen it

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        pass

    def visit_Assign(self, node: ast.Assign) -> None:
        # What a room gives to `later` are the homes of its names: whoever asks for a name reaches its home.
        listed = [one.id for one in node.targets if isinstance(one, ast.Name)]
        if not (self.house.homes(self.name) is not None and set(listed) & _given(self.house, self.name)):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        # Of what moved, only a sentence says where it is now.
        if not (_calls(node, "moved") or (_calls(node, "later") and self.house.homes(self.name) is not None)):
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base = self._package(node.value)
        if base is not None and self._package(node) is None:
            self._add_member(base, node.attr)
        elif base is not None:
            self._add_member(base, node.attr)
            self._add_member(f"{base}.{node.attr}", "*")  # a package that is handed on as a whole
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._called and isinstance(node.ctx, ast.Load):
            self._add_member(self._called[node.id], "*")  # handed on as a whole

    def _package(self, node: ast.expr) -> str | None:
        """Return which package that loads its names one by one an expression is, if it is one."""
        if isinstance(node, ast.Name):
            return self._called.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._package(node.value)
            inner = f"{base}.{node.attr}"
            return inner if base is not None and self.house.homes(inner) is not None else None
        return None

    def visit_Constant(self, node: ast.Constant) -> None:
        # The package's own texts are the homes of names: whoever imports a name reaches its home.
        if (
            isinstance(node.value, str)
            and self.name != PACKAGE
            and re.fullmatch(r"(sfumato|tests)(\.\w+)+", node.value)
        ):
            named, member = node.value, "*"
            while named not in self.house.modules:
                named, _, member = named.rpartition(".")
            self._add(named)
            if named != PACKAGE and self.house.homes(named) is not None:
                self._add_member(named, member)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        first = node.values[0] if node.values else None
        if _is_named(first):
            start = str(getattr(first, "value", ""))
        else:
            own = isinstance(first, ast.FormattedValue) and getattr(first.value, "id", "") == "__name__"
            start = f"{self.name}." if own else ""
        if start and self.name != PACKAGE:
            for name in self.house.modules:
                if f"{name}.".startswith(start):  # which one of them is not known
                    self._add(name)
            package = start.rpartition(".")[0]
            if package != PACKAGE and self.house.homes(package) is not None:
                self._add_member(package, "*")
        self.generic_visit(node)

    def _add(self, name: str) -> None:
        self.found.update(one for one in _packages(name) if one in self.house.modules)

    def _add_member(self, package: str, name: str) -> None:
        homes = self.house.homes(package) or {}
        whole = name == "*" or (
            package != PACKAGE and name not in homes and f"{package}.{name}" not in self.house.modules
        )
        # What is neither a name with a home nor a module may be the list of homes itself.
        for one in homes if whole else [name]:
            home = homes.get(one, package)
            self._add(home)
            self._add(f"{package}.{one}")
            if home not in (package, PACKAGE) and self.house.homes(home) is not None:
                self._add_member(home, one)  # a room whose names live in further rooms that do the same
        if whole:
            self.found.update(self.house.below(package))


class _Names(ast.NodeVisitor):
    """The imports of a module, wherever they stand, and what packages are called after them."""

    def __init__(self, imports: _Imports) -> None:
        self.house, self.name, self.to = imports.house, imports.name, imports

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            self.to._add(one.name)
            if one.asname is not None and self.house.homes(one.name) is not None:
                self.to._called[one.asname] = one.name
            elif one.asname is None and one.name.partition(".")[0] == PACKAGE:
                self.to._called[PACKAGE] = PACKAGE

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            packages = self.name.split(".")
            room = packages if self.house.modules[self.name].stem == "__init__" else packages[:-1]
            base = ".".join([*room[: len(room) - node.level + 1], *([base] if base else [])])
        self.to._add(base)
        for one in node.names:
            if self.house.homes(base) is not None:
                self.to._add_member(base, one.name)
            else:
                self.to._add(f"{base}.{one.name}")
            inner = f"{base}.{one.name}"
            if self.house.homes(inner) is not None:
                self.to._called[one.asname or one.name] = inner


def _is_named(node: ast.expr | None) -> bool:
    """Tell whether a text, or the first piece of one, says with which name of a module of the house it begins."""
    return isinstance(node, ast.Constant) and str(node.value).startswith((f"{PACKAGE}.", "tests."))


@cache
def _makes_up_names(text: str) -> bool:
    """Tell whether a test imports what no text in it names, nor the beginning of one."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in LOADS:
            continue
        given = node.args[0] if node.args else None
        first = given.values[0] if isinstance(given, ast.JoinedStr) and given.values else given
        if not _is_named(first):
            return True
    return False


def _calls(node: ast.Call, name: str) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == name


def _homes_in(node: ast.expr | None, package: str) -> dict[str, str] | None:
    """Return a dictionary of texts, in which a package may call itself by `__name__`; None if it is anything else."""
    if not isinstance(node, ast.Dict):
        return None
    found: dict[str, str] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        pieces = value.values if isinstance(value, ast.JoinedStr) else [value]
        own = [isinstance(one, ast.FormattedValue) and getattr(one.value, "id", "") == "__name__" for one in pieces]
        texts = [package if mine else getattr(one, "value", None) for one, mine in zip(pieces, own, strict=True)]
        if not isinstance(key, ast.Constant) or not all(isinstance(text, str) for text in texts):
            return None
        found[str(key.value)] = "".join(map(str, texts))
    return found


def _given(house: House, package: str) -> set[str]:
    """Return what a package calls the homes of its names."""
    calls = [
        one
        for one in ast.walk(ast.parse(house.modules[package].read_text(encoding="utf-8")))
        if isinstance(one, ast.Call)
    ]
    return {one.args[1].id for one in calls if _calls(one, "later") and isinstance(one.args[1], ast.Name)}


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))
