"""Mutants of shipped modules: the same source with one line changed, loaded beside the original."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def mutant(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return the module as it would be with `new` in place of `old`, which must occur exactly once."""
    source = Path(str(module.__file__)).read_text()
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module.__name__}"
    changed = ModuleType(f"{module.__name__}_mutant")
    changed.__file__ = module.__file__
    # Dataclasses look their module up by name.
    sys.modules[changed.__name__] = changed
    exec(compile(source.replace(old, new), str(module.__file__), "exec"), changed.__dict__)
    return changed
