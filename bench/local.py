"""Recall, false items and errors of the local searches, on planted items among hard backgrounds.

    python -m bench.local --users 1000000 --epsilon 1 2 4 --runs 4 --method soft --background unique prefixes half one

Planted items have counts of mu standard errors of the oracle over all users, several mu at once; `mu90` is where the
recall reaches 90 %, by interpolation. The target line of the issue is sqrt(2 ln 2^bits) standard errors.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

from sfumato import Noise, Pure, domain, local

MUS = (10.0, 11.0, 11.5, 12.0, 13.0)


def background(kind: str, count: int, bits: int, sigma: float, noise: Noise) -> np.ndarray:
    """Return `count` items that are not planted."""
    free = noise.uniform(1 << min(bits, 63), count).astype(np.uint64)
    if kind == "prefixes":
        heads = noise.uniform(1 << 40, 100).astype(np.uint64) << np.uint64(bits - 40)
        return heads[noise.uniform(100, count)] | (free & np.uint64((1 << (bits - 40)) - 1))
    if kind == "half":
        values = max(1, int(count / (MUS[0] / 2 * sigma)))
        return noise.uniform(1 << min(bits, 63), values).astype(np.uint64)[np.arange(count) % values]
    if kind == "one":
        free[: int(0.4 * count)] = free[0]
    return free


def run(users: int, epsilon: float, bits: int, kind: str, method: str, seed: int, each: int) -> dict:  # noqa: PLR0917
    noise = Noise(insecure_seed=seed)
    plan = local.plan(
        users=users,
        spend=Pure(epsilon),
        items=domain.integers(0, 2**bits - 1),
        method=method,
        seed=noise.uniform(1 << 256).to_bytes(32, "big"),
    )
    sigma = plan.method.oracle.deviation(users)
    mus = [mu for mu in MUS for _ in range(each)]
    sizes = [round(mu * sigma) for mu in mus]
    while sum(sizes) > 0.6 * users:
        mus, sizes = mus[::2], sizes[::2]
    planted = noise.uniform(1 << min(bits, 63), len(mus)).astype(np.uint64)
    rest = background(kind, users - sum(sizes), bits, sigma, noise)
    items = np.concatenate([np.repeat(planted, sizes), rest])
    started = time.process_time()
    server = plan.server()
    for part in np.array_split(items, max(1, users // 1_000_000)):
        server.ingest(plan.client().reports(part, noise))
    collected = time.process_time() - started
    started = time.process_time()
    found = {item.value: item for item in server.popular()}
    decoded = time.process_time() - started
    held = Counter(items.tolist())
    hits = [(mu, int(value) in found) for mu, value in zip(mus, planted, strict=True)]
    errors = [
        (found[int(value)].share - size / users) / found[int(value)].error
        for value, size in zip(planted, sizes, strict=True)
        if int(value) in found
    ]
    false = [value for value in found if held.get(value, 0) < 0.25 * MUS[0] * sigma]
    return {
        "hits": hits,
        "false": len(false),
        "errors": errors,
        "collect": collected,
        "decode": decoded,
        "detectable": plan.detectable * users / sigma,
    }


def threshold(recall: dict[float, float]) -> float:
    """Return where the recall first stays at 90 %, by interpolation."""
    mus = sorted(recall)
    for low, high in pairwise(mus):
        if recall[low] < 0.9 <= recall[high]:
            return low + (high - low) * (0.9 - recall[low]) / (recall[high] - recall[low])
    return mus[0] if recall[mus[0]] >= 0.9 else math.inf


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--users", type=int, default=1_000_000)
    options.add_argument("--epsilon", type=float, nargs="+", default=[1, 2, 4])
    options.add_argument("--bits", type=int, default=64)
    options.add_argument("--background", nargs="+", default=["unique"])
    options.add_argument("--method", default="soft")
    options.add_argument("--runs", type=int, default=2)
    options.add_argument("--each", type=int, default=4, help="planted items of each size in a run")
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    rows = []
    for epsilon in asked.epsilon:
        for kind in asked.background:
            runs = [
                run(asked.users, epsilon, asked.bits, kind, asked.method, 1000 * seed + 7, asked.each)
                for seed in range(asked.runs)
            ]
            total, hit = Counter(), Counter()
            for one in runs:
                for mu, found in one["hits"]:
                    total[mu] += 1
                    hit[mu] += found
            recall = {mu: hit[mu] / total[mu] for mu in sorted(total)}
            errors = [error for one in runs for error in one["errors"]]
            rows.append(
                {
                    "users": asked.users,
                    "epsilon": epsilon,
                    "bits": asked.bits,
                    "background": kind,
                    "method": asked.method,
                    "planted": sum(total.values()),
                    "recall": {str(mu): round(value, 2) for mu, value in recall.items()},
                    "mu90": round(threshold(recall), 2),
                    "planned": round(runs[0]["detectable"], 2),
                    "line": round(math.sqrt(2 * asked.bits * math.log(2)), 2),
                    "false": sum(one["false"] for one in runs),
                    "error_rms": round(float(np.sqrt(np.mean(np.square(errors)))), 2) if errors else None,
                    "error_mean": round(float(np.mean(errors)), 2) if errors else None,
                    "collect_s": round(float(np.mean([one["collect"] for one in runs])), 1),
                    "decode_s": round(float(np.mean([one["decode"] for one in runs])), 1),
                    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
