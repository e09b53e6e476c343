"""A million users each hold one English word: what is found, with which shares, and what is missed, as a picture.

    SFUMATO_WORDS=words.parquet python -m bench.local_words

The file has the columns `word` and `count`; users draw their words in proportion to the counts. Writes
docs/pictures/local-words.svg.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.local_store import Clock, NotMeasured, seed_bytes, stored, table
from sfumato import Noise, Pure, domain, local
from sfumato.show.drawing import ALARM, CLAIM, FAINT, INK, MEASURE, Drawing, blank, quiet

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "local-words.svg"
SEED = 920_000
MAX_BYTES, EPSILON = 24, 4


def words() -> tuple[list[str], Any] | None:
    """Return words and counts, or None if no file is named."""
    path = os.environ.get("SFUMATO_WORDS")
    if path is None:
        return None
    import pyarrow.parquet as pq

    read = pq.read_table(path)
    return read["word"].to_pylist(), read["count"].to_numpy()


def run(users: int, seed: int) -> dict[str, Any]:
    """Draw words, report them, search."""
    loaded = words()
    assert loaded is not None
    names, counts = loaded
    noise = Noise(insecure_seed=seed)
    limits = np.cumsum(counts / counts.sum())
    drawn = np.minimum(np.searchsorted(limits, noise.uniform(1 << 53, users) / 2.0**53), len(names) - 1)
    kind = domain.text(max_bytes=MAX_BYTES)
    plan = local.plan(users=users, spend=Pure(EPSILON), items=kind, seed=seed_bytes(noise))
    items = [names[place] for place in drawn.tolist()]
    with Clock() as collect:
        server = plan.server()
        server.ingest(plan.client().reports(items, noise))
    with Clock() as search:
        found = [[item.value, item.share, *item.interval(0.95)] for item in server.popular()]
    held = Counter(items)
    return {
        "users": users,
        "detectable": plan.detectable,
        "truth": [[name, count / users] for name, count in held.most_common(200)],
        "found": found,
        "false": [name for name, *_ in found if name not in held],
        "collect": collect.seconds,
        "search": search.seconds,
    }


@dataclass(frozen=True)
class WordChart(Drawing):
    """The most popular words in order: true share, estimate with its interval, or that it was missed."""

    title: str
    result: dict[str, Any]
    shown: int = 36

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        figure = blank(self.title, 7.6, 0.9 + 0.19 * self.shown)
        chart = figure.subplots()
        found = {name: rest for name, *rest in self.result["found"]}
        truth = self.result["truth"][: self.shown]
        chart.axvline(100 * self.result["detectable"], color=FAINT, linewidth=4, zorder=0)
        for place, (name, share) in enumerate(truth):
            chart.plot([100 * share], [place], marker="|", markersize=11, color=CLAIM, markeredgewidth=2.5)
            if name in found:
                estimate, low, high = (100 * number for number in found[name])
                chart.plot([low, high], [place, place], color=MEASURE, linewidth=4, alpha=0.35, solid_capstyle="butt")
                chart.plot([estimate], [place], marker="o", markersize=4.5, color=MEASURE)
            else:
                chart.plot([100 * share], [place], marker="x", markersize=5.5, color=ALARM, markeredgewidth=1.6)
        chart.set_yticks(range(len(truth)), [name for name, _ in truth])
        chart.set_ylim(len(truth) - 0.4, -0.6)
        chart.set_xscale("log")
        chart.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
        chart.minorticks_off()
        chart.set_xlabel(
            "share of the users, per cent    bar: truth · dot with band: estimate, 95 % · cross: missed\n"
            "grey line: the share that the plan finds with probability 0.9",
            color=INK,
        )
        chart.grid(True, axis="x", color=FAINT, linewidth=0.6)
        quiet(chart)
        return figure


def section(users: int) -> str:
    """Draw the picture and return the lines of the page."""
    if words() is None:
        return "The words were skipped: set SFUMATO_WORDS to the file that holds them.\n"
    try:
        result = stored(f"words-{users}-{SEED}", lambda: run(users, SEED))
    except NotMeasured:
        return "The words were not measured.\n"
    found = {name: rest for name, *rest in result["found"]}
    title = f"Words of {users:,} users, ε = {EPSILON}, any text of up to {MAX_BYTES} bytes"
    WordChart(title, result).save(PICTURE)
    above = [(name, share) for name, share in result["truth"] if share >= result["detectable"]]
    missed = [(name, share) for name, share in result["truth"] if name not in found]
    inside = sum(low <= dict(result["truth"]).get(name, 0.0) <= high for name, (_, low, high) in found.items())
    line = [
        f"{result['detectable']:.2%}", len(above), sum(name in found for name, _ in above), len(found),
        len(result["false"]), f"{missed[0][0]} ({missed[0][1]:.2%})", f"{inside} of {len(found)}",
        f"{result['collect']:.1f}", f"{result['search']:.1f}",
    ]  # fmt: skip
    head = (
        "planned share", "words above it", "of them found", "found in all", "false", "largest missed",
        "95 % intervals that hold", "collect s", "decode s",
    )  # fmt: skip
    return table(head, [line]) + "\n![words](pictures/local-words.svg)\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000_000)
    print(section(options.parse_args().users))


if __name__ == "__main__":
    main()
