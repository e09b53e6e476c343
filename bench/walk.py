"""How far one question goes: functions, files, calls, ledger sessions and CPU time of a single count.

    python -m bench.walk [--calls] [--ledger FILE] [--times 50]

A count with a filter is asked of a small table, after another one has loaded what is loaded once. Every function of
sfumato that it passes is noted by the profiler; the CPU time is measured without the profiler, over many counts, each
with a filter of its own, so that every one of them is paid for and drawn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pyarrow

import sfumato
from sfumato import Curator, Pure, Schema, curate
from sfumato.domain import integers

HOUSE = str(Path(sfumato.__file__).parent)
WATCHED = {
    "ledger sessions": ("ledger/session.py", "Session.__init__"),
    "prices of the noise": ("noise/laws/laplace.py", "DiscreteLaplace.cost"),
    "filters parsed": ("table/where.py", "_read_sql"),
    "losses of the mechanism": ("perturb/additive.py", "AdditiveNoise.loss"),
    "questions as JSON": ("ask/question.py", "Question.to_json"),
}
"""What should happen once, or as seldom as it can, by the function that does it."""


def walked(curator: Curator, where: str) -> Counter[CodeType]:
    """Return how often each function of sfumato was called for one count."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOUSE):
            calls[frame.f_code] += 1

    sys.setprofile(note)
    try:
        curator.count(where=where, spend=Pure("1/100"))
    finally:
        sys.setprofile(None)
    return calls


def place(code: CodeType) -> tuple[str, str]:
    """Return the file of a function, from the house on, and its name."""
    return code.co_filename[len(HOUSE) + 1 :], code.co_qualname


def seconds(curator: Curator, times: int) -> float:
    """Return the CPU seconds of one count, the mean of several."""
    start = time.process_time()
    for age in range(times):
        curator.count(where=f"age >= {age} AND height < 150", spend=Pure("1/100"))
    return (time.process_time() - start) / times


def main() -> None:
    """Print how far a count goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", action="store_true", help="list every function, those called most often first")
    parser.add_argument("--ledger", action="store_true", help="keep the ledger in a file instead of in memory")
    parser.add_argument("--times", type=int, default=50)
    options = parser.parse_args()
    schema = Schema({"age": integers(0, 99), "height": integers(100, 220)})
    rows = pyarrow.table({"age": [34, 71, 20, 8], "height": [170, 181, 165, 120]})
    with tempfile.TemporaryDirectory() as folder:
        kept = {"ledger": str(Path(folder) / "walk.sfm")} if options.ledger else {}
        with curate(rows, schema, Pure(1000), **kept) as curator:
            curator.count(where="age >= 30", spend=Pure("1/100"))
            calls = walked(curator, "age >= 40")
            again = walked(curator, "age >= 40")
            mean = seconds(curator, options.times)
    for title, found in (("a count", calls), ("the same count again", again)):
        files = {file for file, _ in map(place, found)}
        print(f"{title}: {len(found)} functions in {len(files)} files, {sum(found.values())} calls")
        named = {place(code): times for code, times in found.items()}
        print("  " + ", ".join(f"{what} {named.get(where, 0)}" for what, where in WATCHED.items()))
    print(f"CPU: {1000 * mean:.2f} ms a count")
    if options.calls:
        for code, times in calls.most_common():
            print(f"{times:6} {' '.join(place(code))}")


if __name__ == "__main__":
    main()
