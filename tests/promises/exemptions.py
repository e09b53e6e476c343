"""Promise cases whose measured loss stays below what is stated, so that noise 5 % too small may go unseen in them.

`exempt.toml` lists them, in the shape and with the reasons of `tests/replay/exempt.toml`: the case, whether the person
or some attribute is meant, what was measured, the reason from the closed list, and the step of the proof or the size
of the law that is behind it. An entry that is no longer needed fails the build, and so does a case that reaches less
than its entry says. `python -m tests.promises.exemptions [CASE...]` measures cases and prints the entries that they
need, with what `exempt.toml` says about them already, for somebody to read and to correct.

A mechanism of the package without any case is listed there, too, with the reason why there can be none.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.promises.case import PromiseCase
from tests.promises.found import every_case, measured, reaches
from tests.replay.exemptions import ENOUGH, REASONS, ROUNDING, survivors

PLACE = Path(__file__).with_name("exempt.toml")
HEAD = """\
# Written by `python -m tests.promises.exemptions`; see tests/promises/exemptions.py. The reach is measured. A reason that
# begins with "Presumed" is what the form of the proof suggests: nobody has traced it yet, and better neighbours may exist."""
NO_CASE = ("nothing is claimed", "too many draws to list; paths are measured")
"""Why a mechanism may have no promise case at all."""


@dataclass(frozen=True)
class Exemption:
    """Why a case may reach less than its claim, and how much it does reach."""

    case: str
    change: str
    """"person" or "attribute"."""
    reach: float
    reason: str
    because: str
    """What was seen in the mechanism: the step that loses, or what makes the law large."""

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"{self.reason!r} is no reason; write one of {', '.join(REASONS)}.")
        if self.change not in ("person", "attribute") or not 0 <= self.reach < ENOUGH:
            raise ValueError(f"The entry for {self.case!r} is about a person or an attribute, below {ENOUGH}.")
        if not self.because:
            raise ValueError(f"The entry for {self.case!r} does not say what was seen in the mechanism.")


@dataclass(frozen=True)
class Uncovered:
    """A mechanism that no case is about."""

    mechanism: str
    reason: str
    because: str

    def __post_init__(self) -> None:
        if self.reason not in NO_CASE or not self.because:
            raise ValueError(f"{self.mechanism} has no case; write one, or a reason of {', '.join(NO_CASE)}, and why.")


@cache
def uncovered() -> tuple[Uncovered, ...]:
    """Return the mechanisms that may have no case."""
    return tuple(Uncovered(**entry) for entry in tomllib.loads(PLACE.read_text()).get("uncovered", []))


@cache
def listed() -> dict[tuple[str, str], Exemption]:
    """Return all entries by case and change."""
    entries = [Exemption(**entry) for entry in tomllib.loads(PLACE.read_text())["exempt"]]
    found = {(one.case, one.change): one for one in entries}
    if len(found) < len(entries):
        raise ValueError("Two entries of exempt.toml are about the same case and change; keep one.")
    return found


def problems(case: str, reached: Mapping[str, float], entries: Mapping[tuple[str, str], Exemption]) -> list[str]:
    """Return where a mutant of a case would survive without leave, and entries that nothing needs."""
    found = []
    for change, reach in reached.items():
        entry = entries.get((case, change))
        if reach >= ENOUGH:
            if entry is not None:
                found.append(f"{case}, {change}: reaches {reach:.3f} of its claim; drop the entry")
        elif entry is None:
            mutants = survivors(reach) or "noise a few per cent smaller"
            found.append(f"{case}, {change}: {mutants} may survive, only {reach:.3f} of the claim is reached")
        elif reach < entry.reach - ROUNDING:
            found.append(f"{case}, {change}: reached {entry.reach} once, and only {reach:.3f} now")
    unused = [key for key in entries if key[0] == case and key[1] not in reached]
    return found + [f"{name}, {change}: the case has no such neighbours; drop the entry" for name, change in unused]


def entries_for(cases: Iterable[PromiseCase]) -> list[Exemption]:
    """Return the entries that cases need; what is said about them already is kept."""
    found = []
    for case in cases:
        for change, reach in reaches(measured(case)).items():
            if reach < ENOUGH:
                known = listed().get((case.name, change))
                reason, because = (known.reason, known.because) if known else (REASONS[0], "not read yet")
                found.append(Exemption(case.name, change, reach, reason, because))
    return found


def written(entries: Iterable[Exemption], classes: Iterable[Uncovered] = ()) -> str:
    """Return entries as TOML."""
    lines = [HEAD]
    for one in entries:
        lines += [
            "",
            "[[exempt]]",
            f'case = "{one.case}"',
            f'change = "{one.change}"',
            f"reach = {int(one.reach * 1000) / 1000}",
            f'reason = "{one.reason}"',
            f'because = "{one.because}"',
        ]
    for none in classes:
        lines += [
            "",
            "[[uncovered]]",
            f'mechanism = "{none.mechanism}"',
            f'reason = "{none.reason}"',
            f'because = "{none.because}"',
        ]
    return "\n".join([*lines, ""])


def main(names: Sequence[str]) -> None:
    """Measure cases, all of them if none are named, and print the entries that they need."""
    cases = [case for case in every_case() if not names or case.name in names]
    print(written(entries_for(cases), uncovered()), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
