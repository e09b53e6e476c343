"""Cells whose measured loss stays below what is stated, so that noise 5 % too small would go unseen in them.

`exempt.toml` lists them: the question, the relation, whether the person or some attribute is meant, the worlds, the
least that was measured, and the reason from a closed list. An entry that is no longer needed fails the build, and so
does a cell that reaches less than its entry says. `python -m tests.replay.exemptions FILE...` writes the entries for
cells that were measured, for somebody to read and to correct.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.replay.harness import Cell

ENOUGH = 0.97
"""Noise that is 5 % smaller loses 1/0.95 as much, and 0.97/0.95 is above 1: from here on it is seen."""
REASONS = (
    "proof is loose",
    "law too large for 20000 paths",
    "PICK_CONTENTS hash",
    "rounding below 1e-6",
)
PLACE = Path(__file__).with_name("exempt.toml")
ROUNDING = 0.005


@dataclass(frozen=True)
class Exemption:
    """Why a question may reach less than its claim, and how much it does reach."""

    question: str
    relation: str
    change: str
    """"person" or "attribute"."""
    worlds: tuple[str, ...]
    reach: float
    reason: str

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"{self.reason!r} is no reason; write one of {', '.join(REASONS)}.")
        if self.change not in ("person", "attribute") or not 0 <= self.reach < ENOUGH:
            raise ValueError(f"The entry for {self.question!r} is about a person or an attribute, below {ENOUGH}.")


@cache
def listed() -> tuple[Exemption, ...]:
    """Return all entries."""
    entries = tomllib.loads(PLACE.read_text())["exempt"]
    return tuple(Exemption(**{**entry, "worlds": tuple(entry["worlds"])}) for entry in entries)


def problems(world: str, cells: Sequence[Cell], entries: Iterable[Exemption]) -> list[str]:
    """Return the cells of a world in which a mutant would survive without leave, and entries that nothing needs."""
    found, used = [], set()
    known = {(one.question, one.relation, one.change): one for one in entries if world in one.worlds}
    for cell in cells:
        for change, reach in cell.reaches().items():
            entry = known.get((cell.question, cell.relation, change))
            if reach >= ENOUGH:
                continue
            used.add((cell.question, cell.relation, change))
            if entry is None:
                found.append(
                    f"{cell.name}, {change}: {survivors(reach)} survive, only {reach:.3f} of the claim is reached"
                )
            elif reach < entry.reach - ROUNDING:
                found.append(f"{cell.name}, {change}: reached {entry.reach} once, and only {reach:.3f} now")
    found += [
        f"{' | '.join(key)}: every cell in {world!r} reaches {ENOUGH}; drop the entry"
        for key in known
        if key not in used
    ]
    return found


def survivors(reach: float) -> str:
    """Return which of the standing mutants a cell of this reach cannot see."""
    mutants = {
        "noise 5 % smaller, or a choice 5 % steeper": reach / 0.95,
        "half the sensitivity": 2 * reach,
        "a unit 2^20 too large": reach * 2**20,
        "an attribute left out": float("inf") if reach else 0.0,
    }
    return "; ".join(name for name, seen in mutants.items() if seen <= 1)
