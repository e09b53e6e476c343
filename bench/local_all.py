"""Shares from all reports: errors against what is possible, cover of intervals, lists against open search.

    python -m bench.local_all near64 near97 near193 names lists falling named

Planted items stand near the cut, where intervals are hardest. The others are identifiers in Python's own library, with
the counts that they have there: items of another kind than the words and names of the other benches. Every task prints
one line of JSON for each collection, and a sum at its end.
"""

from __future__ import annotations

import io
import json
import sys
import sysconfig
import time
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import Noise, Pure, domain, local

NEAR = {
    "near64": (domain.integers(0, 2**64 - 1), 4, 300_000, 40, 10.0, 14),
    "near97": (domain.text(max_bytes=12), 6, 300_000, 60, 12.5, 20),
    "near193": (domain.text(max_bytes=24), 4, 300_000, 30, 18.0, 6),
}
"""Items, epsilon, reports, how many are planted, at how many standard errors, and how many collections."""


@cache
def identifiers() -> list[tuple[str, int]]:
    """Return the names in the library's sources, at most 12 bytes long, with how often each occurs."""
    counts: Counter[str] = Counter()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        source = io.StringIO(path.read_text(encoding="utf-8", errors="replace"))
        try:
            counts.update(
                token.string for token in tokenize.generate_tokens(source.readline) if token.type == tokenize.NAME
            )
        except (tokenize.TokenError, SyntaxError):
            continue
    return [(name, count) for name, count in counts.most_common() if len(name.encode()) <= 12]


def drawn(users: int, noise: Noise) -> tuple[list[str], dict[str, float]]:
    """Return who holds which identifier, and the true shares."""
    names, counts = zip(*identifiers(), strict=True)
    ends = np.cumsum(counts)
    places = np.searchsorted(ends, noise.uniform(int(ends[-1]), users), side="right")
    held = np.bincount(places, minlength=len(names))
    return [names[place] for place in places], {name: held[at] / users for at, name in enumerate(names) if held[at]}


def collected(plan: Any, items: Any, noise: Noise) -> Any:
    server = plan.server()
    server.ingest(plan.client().reports(items, noise))
    return server


def told(found: Any, truth: dict[Any, float], unit: float) -> list[dict[str, Any]]:
    """Return what was said about each found item; one that nobody holds has the share 0."""
    rows = []
    for item in found:
        share = truth.get(item.value, 0.0)
        best = float(item.evidence.law.error(share))
        rows.append(
            {
                "z": (item.share - share) / best,
                "low": item.low <= share,
                "high": share <= item.high,
                "plain": abs(item.share - share) <= 1.96 * item.error,
                "held": share > 0,
                "half": (item.high - item.low) / 2 / unit,
                "apart": item.apart is not None and item.apart[0] - 1.96 * item.apart[1] <= 0,
            }
        )
    return rows


def summed(name: str, rows: list[dict[str, Any]], extra: dict[str, Any]) -> None:
    held = [row for row in rows if row["held"]]
    z = np.array([row["z"] for row in held])
    print(
        json.dumps(
            {
                "task": name,
                "finds": len(held),
                "false": len(rows) - len(held),
                "cover": np.mean([row["low"] and row["high"] for row in held]) if held else None,
                "low fails": sum(not row["low"] for row in held),
                "high fails": sum(not row["high"] for row in held),
                "plain cover": np.mean([row["plain"] for row in held]) if held else None,
                "mean z": z.mean() if held else None,
                "rms z": np.sqrt((z**2).mean()) if held else None,
                "half length": np.mean([row["half"] for row in held]) if held else None,
                **extra,
            }
        ),
        flush=True,
    )


def near(name: str) -> None:
    """Plant items just at the cut, others are unique."""
    items, epsilon, users, count, mu, runs = NEAR[name]
    rows, planted, spent = [], 0, 0.0
    for run in range(runs):
        noise = Noise(insecure_seed=1000 + run)
        plan = local.plan(users=users, spend=Pure(epsilon), items=items, seed=bytes([run + 1] * 32))
        unit = plan.method.oracle.deviation(users) / users
        size = round(mu * unit * users)
        if name == "near64":
            values = noise.uniform(1 << 63, count).tolist()
            rest: Any = noise.uniform(1 << 63, users - count * size).tolist()
        else:
            values = [f"sensor/{run}/{place:x}" for place in range(count)]
            rest = [f"{number:x}" for number in noise.uniform(1 << 47, users - count * size).tolist()]
        held = [value for value in values for _ in range(size)] + list(rest)
        server = collected(plan, held, noise)
        start = time.process_time()
        found = server.popular()
        spent += time.process_time() - start
        rows += told(found, dict.fromkeys(values, size / users), unit)
        planted += count
        summed(f"{name} so far", rows, {"planted": planted, "decode s": spent / (run + 1)})


def names() -> None:
    """Identifiers, n = 300 000, epsilon 6."""
    rows: list[dict[str, Any]] = []
    for run in range(6):
        noise = Noise(insecure_seed=2000 + run)
        plan = local.plan(users=300_000, spend=Pure(6), items=domain.text(max_bytes=12), seed=bytes([50 + run] * 32))
        held, truth = drawn(300_000, noise)
        unit = plan.method.oracle.deviation(300_000) / 300_000
        rows += told(collected(plan, held, noise).popular(), truth, unit)
        summed("names so far", rows, {"runs": run + 1})


def lists() -> None:
    """Identifiers, n = 100 000, epsilon 4: a list of 5000 against open search."""
    for run in range(5):
        noise = Noise(insecure_seed=3000 + run)
        plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=12), seed=bytes([90 + run] * 32))
        held, truth = drawn(100_000, noise)
        server = collected(plan, held, noise)
        candidates = [name for name, _ in identifiers()[:4000]] + [f"absent{number}" for number in range(1000)]
        alone, both = server.popular(), server.popular(candidates=candidates)
        unit = plan.method.oracle.deviation(100_000) / 100_000
        rows = told(both, truth, unit)
        rarest = min(truth.get(item.value, 0.0) for item in both) if both else None
        absent = sum(item.value not in truth for item in both)
        summed("lists", rows, {"open": len(alone), "with list": len(both), "absent": absent, "rarest": rarest})
        z = [(item.share - truth.get(item.value, 0.0)) / item.error for item in server.estimate(candidates)]
        print(json.dumps({"task": "whole list", "cover": float(np.mean(np.abs(z) < 1.96)), "rms z": float(np.std(z))}))


def falling() -> None:
    """Random numbers of 64 bits whose popularity falls as 1/rank: a list of 5000 against open search."""
    users, kinds = 100_000, 100_000
    ends = np.cumsum(1 / np.arange(1, kinds + 1))
    for run in range(3):
        noise = Noise(insecure_seed=7000 + run)
        plan = local.plan(users=users, spend=Pure(4), items=domain.integers(0, 2**64 - 1), seed=bytes([30 + run] * 32))
        values = noise.uniform(1 << 63, kinds)
        held = values[np.searchsorted(ends / ends[-1], noise.uniform(1 << 53, users) / 2**53)]
        known = set(held.tolist())
        server = collected(plan, held, noise)
        candidates = values[:4000].tolist() + noise.uniform(1 << 63, 1000).tolist()
        alone, both = server.popular(), server.popular(candidates=candidates)
        absent = sum(item.value not in known for item in both)
        print(json.dumps({"task": "falling", "open": len(alone), "with list": len(both), "absent": absent}), flush=True)


def named() -> None:
    """Items that are named: held ones and absent ones, with and without an unnamed item of 40 %."""
    for giant in (0, 120_000):
        z: list[float] = []
        covered: list[bool] = []
        for run in range(4):
            noise = Noise(insecure_seed=4000 + run)
            plan = local.plan(
                users=300_000, spend=Pure(6), items=domain.text(max_bytes=12), seed=bytes([120 + run] * 32)
            )
            held, _ = drawn(300_000 - giant, noise)
            held += ["/the/giant"] * giant
            counts = Counter(held)
            asked = [name for name, _ in identifiers()[:500]] + [f"absent{number}" for number in range(500)]
            for item in collected(plan, held, noise).estimate(asked):
                share = counts[item.value] / 300_000
                z.append((item.share - share) / item.error)
                if share > 0:
                    covered.append(item.low <= share <= item.high)
        summary = {"items": len(z), "z cover": float(np.mean(np.abs(z) < 1.96)), "rms z": float(np.std(z))}
        print(
            json.dumps({"task": "named", "giant": giant, **summary, "interval cover": float(np.mean(covered))}),
            flush=True,
        )


if __name__ == "__main__":
    for task in sys.argv[1:]:
        near(task) if task in NEAR else {"names": names, "lists": lists, "falling": falling, "named": named}[task]()
