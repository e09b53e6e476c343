"""Zipf's law over random strings (A1 of the measured anchors): sfumato's soft tree and PEM against pure-ldp's PEM.

    python -m bench.local_zipf --users 100000 1000000 --epsilon 1 2 4 --bits 32 64 --seeds 3

Every user holds one of 65,536 random strings, drawn with chances that fall like rank^-1.2. Truth: strings of at least
1 % of the users. pure-ldp 1.2.0 runs unmodified in an environment of its own (numpy 1.26 and xxhash 3: it fails with
newer ones) with HCMS (128 hashes, 1024 cells), steps of 8 bits, and lists its best 32. Ours list what passes their
cut-offs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import environments
from bench.local_store import Clock, NotMeasured, seed_bytes, stored_all, table
from sfumato import Noise, Pure, domain, local

STRINGS, EXPONENT, POPULAR, LISTED = 65_536, 1.2, 0.01, 32
FIRST_SEED = 910_000
PEER = ("pure-ldp", ["pure-ldp==1.2.0", "numpy==1.26.4", "xxhash<4", "scikit-learn", "statsmodels"])
PEER_SCRIPT = Path(__file__).parent / "peers" / "pure_ldp_pem.py"
METHODS = {"soft": "sfumato soft tree", "prefix": "sfumato PEM", "peer": "pure-ldp PEM+HCMS"}


def draw(users: int, bits: int, noise: Noise) -> Any:
    """Return everybody's string, as numbers."""
    strings = noise.uniform(1 << min(bits, 63), STRINGS).astype(np.uint64)
    if bits > 63:
        strings = strings << np.uint64(1) | noise.uniform(2, STRINGS).astype(np.uint64)
    falling = np.arange(1, STRINGS + 1) ** -EXPONENT
    limits = np.cumsum(falling / falling.sum())
    uniform = noise.uniform(1 << 53, users) / 2.0**53
    return strings[np.minimum(np.searchsorted(limits, uniform), STRINGS - 1)]


def ours(items: Any, bits: int, epsilon: float, method: str, noise: Noise) -> dict[str, Any]:
    """Run sfumato."""
    kind = domain.integers(0, 2**bits - 1)
    plan = local.plan(users=len(items), spend=Pure(epsilon), items=kind, method=method, seed=seed_bytes(noise))
    with Clock() as client:
        reports = plan.client().reports(items, noise)
    server = plan.server()
    with Clock() as aggregate:
        server.ingest(reports)
    with Clock() as search:
        found = [[item.value, item.share] for item in server.popular()]
    times = {"client": client.seconds / len(items), "aggregate": aggregate.seconds, "search": search.seconds}
    return {"found": found, **times}


def theirs(items: Any, bits: int, epsilon: float) -> dict[str, Any]:
    """Run pure-ldp on the same items."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.npy"
        np.save(path, items)
        answer: dict[str, Any] = environments.run(*PEER, PEER_SCRIPT, str(path), str(bits), str(epsilon), str(LISTED))
    return answer


def judge(items: Any, answer: dict[str, Any]) -> dict[str, Any]:
    """Compare a list with the truth."""
    held = {value: count / len(items) for value, count in Counter(items.tolist()).items()}
    truth = {value for value, share in held.items() if share >= POPULAR}
    found = {int(value): share for value, share in answer["found"]}
    errors = [share - held.get(value, 0.0) for value, share in found.items()]
    return {
        "truth": len(truth),
        "recall": len(truth & set(found)) / len(truth),
        "missed": max((share for value, share in held.items() if value not in found), default=0.0),
        "listed": len(found),
        "false": sum(value not in held for value in found),
        "worst": max(map(abs, errors), default=0.0),
        "rms": float(np.sqrt(np.mean(np.square(errors)))) if errors else 0.0,
        **{name: answer[name] for name in ("client", "aggregate", "search")},
    }


def run(users: int, bits: int, epsilon: float, method: str, seed: int) -> dict[str, Any]:
    """Return the judgement of one run; the items depend on the seed, the users and the bits only."""
    items = draw(users, bits, Noise(insecure_seed=seed))
    if method == "peer":
        return judge(items, theirs(items, bits, epsilon))
    return judge(items, ours(items, bits, epsilon, method, Noise(insecure_seed=seed + 5000)))


def point(users: int, bits: int, epsilon: float, method: str, seeds: int) -> dict[str, Any]:
    """Return means over the seeds, and the worst of what was missed."""
    runs = stored_all(
        (
            f"zipf-{method}-{bits}-{users}-{epsilon:g}-{seed}",
            lambda seed=seed: run(users, bits, epsilon, method, FIRST_SEED + seed),
        )
        for seed in range(seeds)
    )
    mean = {name: float(np.mean([one[name] for one in runs])) for name in runs[0]}
    return {
        **mean,
        "runs": len(runs),
        "missed": max(one["missed"] for one in runs),
        "false": sum(one["false"] for one in runs),
    }


HEAD = (
    "bits", "users", "ε", "method", "runs", "recall of ≥ 1 %", "largest missed", "listed", "false", "error rms",
    "error max", "client µs", "aggregate s", "search s",
)  # fmt: skip


def section(users: Sequence[int], bits: Sequence[int], epsilons: Sequence[float], seeds: int) -> str:
    """Return the table, printing each line as it comes."""
    rows = []
    for length in bits:
        for people in users:
            for epsilon in epsilons:
                for method, name in METHODS.items():
                    try:
                        one = point(people, length, epsilon, method, seeds)
                    except NotMeasured:
                        continue
                    rows.append([
                        length, f"{people:.0e}".replace("e+0", "e"), f"{epsilon:g}", name, one["runs"],
                        f"{one['recall']:.0%}", f"{one['missed']:.2%}", f"{one['listed']:.1f}", one["false"],
                        f"{one['rms']:.2%}", f"{one['worst']:.2%}", f"{1e6 * one['client']:.1f}",
                        f"{one['aggregate']:.2f}",
                        f"{one['search']:.1f}",
                    ])  # fmt: skip
                    print(*rows[-1], sep=" | ", flush=True)
    return table(HEAD, rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--bits", type=int, nargs="+", default=[32, 64])
    options.add_argument("--epsilon", type=float, nargs="+", default=[1, 2, 4])
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    print(section(asked.users, asked.bits, asked.epsilon, asked.seeds))


if __name__ == "__main__":
    main()
