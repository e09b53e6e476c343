"""Cells whose measured loss stays below what is stated, so that noise 5 % too small would go unseen in them.

`exempt.toml` lists them: the question, the relation, whether the person or some attribute is meant, the worlds, the
least that was measured, and the reason from a closed list. An entry that is no longer needed fails the build, and so
does a cell that reaches less than its entry says. `python -m tests.replay.exemptions WORLD...` measures worlds and
writes the entries that they need, for somebody to read and to correct.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from tests.replay.harness import Cell

ENOUGH = 0.97
"""Noise that is 5 % smaller loses 1/0.95 as much, and 0.97/0.95 is above 1: from here on it is seen."""
REASONS = (
    "proof is loose",
    "law too large for 20000 paths",
    "PICK_CONTENTS hash",
    "rounding below 1e-6",
    "a person of weight 0 has millions of rows; reached at a scale of 4",
    "gradients of so few people are shorter than the clip; reached in tests/learn/test_linear.py",
    "at the cuts that were drawn their error moves less; reached in tests/promises/cases_quantiles.py",
    "gradients of so few people are shorter than the clip; reached in tests/learn/test_linear_counted.py",
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


def problems(world: str, cells: Sequence[Cell], entries: Iterable[Exemption], whole: bool = True) -> list[str]:
    """Return the cells of a world in which a mutant would survive without leave, and entries that nothing needs.

    Cells of one spend each do not show that an entry is needed by none; those of more do: `whole`.
    """
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
        if whole and key not in used
    ]
    return found


def entries_for(cells: Iterable[Cell]) -> list[Exemption]:
    """Return the entries that cells need: for each reason one, with all worlds in which it is the reason."""
    found: dict[tuple[str, str, str, str], Exemption] = {}
    for cell in cells:
        world = cell.name.split(" | ")[1]
        for change, reach in cell.reaches().items():
            if reach < ENOUGH:
                reason = _reason(cell, change)
                key = (cell.question, cell.relation, change, reason)
                known = found.get(key, Exemption(*key[:3], (), reach, reason))
                worlds = known.worlds if world in known.worlds else (*known.worlds, world)
                found[key] = replace(known, worlds=worlds, reach=min(reach, known.reach))
    return [found[key] for key in sorted(found)]


def _reason(cell: Cell, change: str) -> str:
    """Return what is likely the reason; whoever reads it decides."""
    loose, large, contents, _, weightless, short, still, counted = REASONS
    if cell.mechanism in ("LinearSteps", "CountedSteps"):
        return short if cell.mechanism == "LinearSteps" else counted
    if cell.mechanism in ("PopularCounts", "FrequentPoint", "RankWindows", "BoxSides"):
        return large
    if cell.mechanism == "MeasuredCuts" and change == "person":
        return still
    if change == "person":
        return weightless if cell.question in ("Count()", "Variance") else loose
    # Where people are added and removed, a changed attribute is charged as one who leaves and one who enters.
    replaced = cell.relation == REPLACE_ONE.value and cell.reaches()["person"] >= ENOUGH
    return contents if replaced and not cell.matched else loose


def written(entries: Iterable[Exemption]) -> str:
    """Return entries as TOML."""
    lines = ["# Written by `python -m tests.replay.exemptions`, and read; see tests/replay/exemptions.py."]
    for one in entries:
        worlds = ", ".join(f'"{world}"' for world in one.worlds)
        lines += [
            "",
            "[[exempt]]",
            f'question = "{one.question}"',
            f'relation = "{one.relation}"',
            f'change = "{one.change}"',
            f"worlds = [{worlds}]",
            f"reach = {int(one.reach * 1000) / 1000}",
            f'reason = "{one.reason}"',
        ]
    return "\n".join([*lines, ""])


def survivors(reach: float) -> str:
    """Return which of the standing mutants a cell of this reach cannot see.

    They need no run of their own: each loses so many times what was measured. A unit that is 2^20 too small loses less
    than is stated and breaks no promise; its reach falls below every entry, and is seen by that.
    """
    mutants = {
        "noise 5 % smaller, or a choice 5 % steeper": reach / 0.95,
        "half the sensitivity": 2 * reach,
        "a unit 2^20 too large": reach * 2**20,
        "an attribute left out": float("inf") if reach else 0.0,
    }
    return "; ".join(name for name, seen in mutants.items() if seen <= 1)


def main(names: Sequence[str]) -> None:
    """Measure worlds and print the entries that they need."""
    from tests.replay.harness import opened, survey
    from tests.replay.questions import every_question
    from tests.replay.worlds import worlds

    known = [world.name for world in worlds()]
    if not names or set(names) - set(known):
        raise SystemExit(f"Name one or more worlds, of {', '.join(map(repr, known))}.")
    cells: list[Cell] = []
    for seed, world in enumerate(worlds()):
        if world.name not in names:
            continue
        with opened(world, seed) as tables:
            for name, question in every_question(world.schema).items():
                for relation in (REPLACE_ONE, ADD_REMOVE):
                    cells += survey(name, question, tables, relation)
    print(written(entries_for(cells)), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
