"""Planted items: which shares are found nine times out of ten, in standard errors of the oracle over all users.

    python -m bench.local_planted --users 1000000 --epsilon 1 2 4 --planted 200 --background unique prefixes

A point is one size of planted items: `--planted` of them, over as many runs as that takes. The target line of the issue
is 1.25 · sqrt(2 ln 2^bits) standard errors. Seeds begin at 900 000; searches were tuned on smaller ones. The method
"plain" is the prefix method as it is usually run: over the same oracle, but on items as they are, keeping 64 prefixes.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bench.local_store import Clock, NotMeasured, peak_mib, seed_bytes, stored_all, table
from sfumato import Noise, Pure, domain, local
from sfumato.local import tree_search
from sfumato.local.tree import TreeEncoder

MUS = (10.5, 11.25, 11.77, 12.4, 13.2)
FIRST_SEED = 900_000
MOST_PLANTED = 0.75
"""The part of the users that may hold planted items."""
MOST_EACH = 10
BACKGROUNDS = ("unique", "prefixes", "half", "one")
PLAIN_KEEP = 64


def background(kind: str, count: int, bits: int, sigma: float, noise: Noise) -> Any:
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


def planted_items(kind: str, count: int, bits: int, noise: Noise) -> Any:
    """Return the planted items; on the background of shared prefixes they share one of 40 bits themselves."""
    free = noise.uniform(1 << min(bits, 63), count).astype(np.uint64)
    if kind != "prefixes":
        return free
    head = np.uint64(noise.uniform(1 << 40)) << np.uint64(bits - 40)
    return head | (free & np.uint64((1 << (bits - 40)) - 1))


def each_size(users: int, sigma: float) -> int:
    """Return how many items of every size one run holds."""
    return max(1, min(MOST_EACH, int(MOST_PLANTED * users / (sum(MUS) * sigma))))


def leave_plain(plan: local.Plan) -> None:
    """Take the whitening out of a plan of the prefix method, and most of the room out of its search."""
    assert isinstance(plan.encoder, TreeEncoder)
    vars(plan.encoder.white).update(apply_rows=lambda rows: rows, invert=lambda code: code)
    tree_search.PREFIX_KEEP = PLAIN_KEEP


def run(users: int, epsilon: float, bits: int, kind: str, method: str, seed: int) -> dict[str, Any]:  # noqa: PLR0917
    """Plant, report, search."""
    noise = Noise(insecure_seed=seed)
    items_of = domain.integers(0, 2**bits - 1)
    asked = "prefix" if method == "plain" else method
    plan = local.plan(users=users, spend=Pure(epsilon), items=items_of, method=asked, seed=seed_bytes(noise))
    if method == "plain":
        leave_plain(plan)
    sigma = local.linear_hash(Pure(epsilon), 18).deviation(users)
    mus = [mu for mu in MUS for _ in range(each_size(users, sigma))]
    sizes = [round(mu * sigma) for mu in mus]
    planted = planted_items(kind, len(mus), bits, noise)
    rest = background(kind, users - sum(sizes), bits, sigma, noise)
    items = np.concatenate([np.repeat(planted, sizes), rest])
    with Clock() as collect:
        server = plan.server()
        for part in np.array_split(items, max(1, users // 1_000_000)):
            server.ingest(plan.client().reports(part, noise))
    with Clock() as decode:
        found = {item.value: item for item in server.popular()}
    held = Counter(items.tolist())
    hits = [(mu, int(value) in found) for mu, value in zip(mus, planted, strict=True)]
    errors = [
        (found[int(value)].share - size / users) / found[int(value)].error
        for value, size in zip(planted, sizes, strict=True)
        if int(value) in found
    ]
    return {
        "hits": hits,
        # Nobody holds it, or so few that no evidence can be theirs.
        "false": sum(held.get(value, 0) < sigma for value in found),
        "errors": errors,
        "collect": collect.seconds,
        "decode": decode.seconds,
        "planned": plan.detectable * users / sigma,
        "peak": peak_mib(),
    }


def threshold(recall: dict[float, float], wanted: float = 0.9) -> float:
    """Return where the recall first stays at 90 %, by interpolation."""
    mus = sorted(recall)
    for low, high in pairwise(mus):
        if recall[low] < wanted <= recall[high]:
            return low + (high - low) * (wanted - recall[low]) / (recall[high] - recall[low])
    return mus[0] if recall[mus[0]] >= wanted else math.inf


def point(users: int, epsilon: float, bits: int, kind: str, method: str, planted: int) -> dict[str, Any]:  # noqa: PLR0917
    """Return recall and errors of one setting over many runs."""
    sigma = local.linear_hash(Pure(epsilon), 18).deviation(users)
    runs = stored_all(
        (
            f"planted-{method}-{kind}-{bits}-{users}-{epsilon:g}-{number}",
            lambda number=number: run(users, epsilon, bits, kind, method, FIRST_SEED + number),
        )
        for number in range(-(-planted // each_size(users, sigma)))
    )
    total: Counter[float] = Counter(mu for one in runs for mu, _ in one["hits"])
    hit: Counter[float] = Counter(mu for one in runs for mu, found in one["hits"] if found)
    recall = {mu: hit[mu] / total[mu] for mu in sorted(total)}
    errors = np.array([error for one in runs for error in one["errors"]])
    return {
        "runs": len(runs),
        "planted": min(total.values()),
        "recall": recall,
        "mu90": threshold(recall),
        "false": sum(one["false"] for one in runs),
        "bias": float(errors.mean()) if len(errors) else math.nan,
        "spread": float(np.sqrt(np.mean(errors**2))) if len(errors) else math.nan,
        **{name: float(np.mean([one[name] for one in runs])) for name in ("planned", "collect", "decode")},
        "peak": max(one["peak"] for one in runs),
    }


HEAD = (
    "users", "ε", "background", "method", "planted a size", *(f"{mu:g} sd" for mu in MUS), "90 % at", "planned",
    "false", "error: mean, rms in stated sd", "collect s", "decode s", "peak MiB",
)  # fmt: skip


def row(users: int, epsilon: float, kind: str, method: str, found: dict[str, Any]) -> list[Any]:
    """Return one line of the table."""
    mu90 = f"{found['mu90']:.2f}" if math.isfinite(found["mu90"]) else f"above {MUS[-1]:g}"
    return [
        f"{users:.0e}".replace("e+0", "e"), f"{epsilon:g}", kind, method, f"{found['planted']} in {found['runs']} runs",
        *(f"{found['recall'][mu]:.2f}" for mu in MUS), mu90, f"{found['planned']:.2f}", found["false"],
        f"{found['bias']:+.2f}, {found['spread']:.2f}", f"{found['collect']:.1f}", f"{found['decode']:.1f}",
        found["peak"],
    ]  # fmt: skip


def section(users: Sequence[int], epsilons: Sequence[float], kinds: Sequence[str], method: str, planted: int) -> str:
    """Return the table of all settings, printing each line as it comes."""
    rows = []
    for people in users:
        for epsilon in epsilons:
            for kind in kinds:
                try:
                    found = point(people, epsilon, 64, kind, method, planted)
                except NotMeasured:
                    continue
                rows.append(row(people, epsilon, kind, method, found))
                print(*rows[-1], sep=" | ", flush=True)
    return table(HEAD, rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, nargs="+", default=[1_000_000])
    options.add_argument("--epsilon", type=float, nargs="+", default=[1, 2, 4])
    options.add_argument("--background", nargs="+", choices=BACKGROUNDS, default=["unique"])
    options.add_argument("--method", default="soft")
    options.add_argument("--planted", type=int, default=200)
    asked = options.parse_args()
    print(section(asked.users, asked.epsilon, asked.background, asked.method, asked.planted))


if __name__ == "__main__":
    main()
