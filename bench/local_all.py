"""What was promised of shares, lists, relays and made-up reports, against what is measured: one line for each bar.

    python -m bench.local_all            # some minutes
    python -m bench.local_all --full     # about an hour; goes on where it was stopped

Planted items stand near the cut, where intervals are hardest. The others are identifiers in Python's own library, with
the counts that they have there: items of another kind than the words and names of the other benches.
"""

from __future__ import annotations

import argparse
import io
import math
import sysconfig
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.local_posts import posts
from bench.local_store import Clock, NotMeasured, stored, stored_all, table
from sfumato import Noise, Pure, domain, local
from sfumato.local.shuffle import shuffled_loss

NEAR = {
    "near64": (domain.integers(0, 2**64 - 1), 4, 300_000, 40, 10.0),
    "near97": (domain.text(max_bytes=12), 6, 300_000, 60, 12.5),
    "near193": (domain.text(max_bytes=24), 4, 300_000, 30, 18.0),
}
"""Items, epsilon, reports, how many are planted, and at how many standard errors."""
GOLDEN = {
    (10**5, 1): 0.0206, (10**5, 2): 0.0588, (10**5, 4): 0.2155, (10**5, 6): 0.663,
    (10**6, 4): 0.0642, (10**6, 6): 0.190, (10**7, 1): 0.0018, (10**7, 6): 0.0567,
}  # fmt: skip
"""What a person loses among so many honest devices at a local epsilon, shuffled, delta 1e-8; to the digits shown."""


@dataclass(frozen=True)
class Runs:
    """How many collections of each kind."""

    near64: int = 13
    near97: int = 20
    near193: int = 4
    names: int = 4
    lists: int = 5
    falling: int = 2
    named: int = 4


QUICK = Runs(1, 1, 0, 1, 1, 1, 1)
FULL = Runs(14, 20, 10, 6, 5, 3, 4)


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
    return [names[place] for place in places], {
        name: int(held[at]) / users for at, name in enumerate(names) if held[at]
    }


def collected(plan: Any, items: Any, noise: Noise) -> Any:
    """Return the sketch of what these devices report."""
    server = plan.server()
    server.ingest(plan.client().reports(items, noise))
    return server


def told(found: Any, truth: dict[Any, float]) -> list[dict[str, Any]]:
    """Return what was said about each found item; one that nobody holds has the share 0."""
    rows = []
    for item in found:
        share = truth.get(item.value, 0.0)
        best = float(item.evidence.law.error(share))
        rows.append(
            {
                "z": (item.share - share) / best,
                "holds": item.low <= share <= item.high,
                "low": item.low <= share,
                "held": share > 0,
            }
        )
    return rows


def near(name: str, run: int) -> dict[str, Any]:
    """Plant items just at the cut, others are unique."""
    items, epsilon, users, count, mu = NEAR[name]
    noise = Noise(insecure_seed=1000 + run)
    plan = local.plan(users=users, spend=Pure(epsilon), items=items, seed=bytes([run + 1] * 32))
    size = round(mu * plan.method.oracle.deviation(users))
    if name == "near64":
        values = noise.uniform(1 << 63, count).tolist()
        rest: Any = noise.uniform(1 << 63, users - count * size).tolist()
    else:
        values = [f"sensor/{run}/{place:x}" for place in range(count)]
        rest = [f"{number:x}" for number in noise.uniform(1 << 47, users - count * size).tolist()]
    server = collected(plan, [value for value in values for _ in range(size)] + list(rest), noise)
    with Clock() as decode:
        found = server.popular()
    return {"rows": told(found, dict.fromkeys(values, size / users)), "planted": count, "decode": decode.seconds}


def names(run: int) -> dict[str, Any]:
    """Identifiers, n = 300 000, epsilon 6."""
    noise = Noise(insecure_seed=2000 + run)
    plan = local.plan(users=300_000, spend=Pure(6), items=domain.text(max_bytes=12), seed=bytes([50 + run] * 32))
    held, truth = drawn(300_000, noise)
    return {"rows": told(collected(plan, held, noise).popular(), truth)}


def lists(run: int) -> dict[str, Any]:
    """Identifiers, n = 100 000, epsilon 4: a list of 5000 against open search."""
    noise = Noise(insecure_seed=3000 + run)
    plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=12), seed=bytes([90 + run] * 32))
    held, truth = drawn(100_000, noise)
    server = collected(plan, held, noise)
    candidates = [name for name, _ in identifiers()[:4000]] + [f"absent{number}" for number in range(1000)]
    alone, both, whole = server.popular(), server.popular(candidates=candidates), server.estimate(candidates)
    # Not by the intervals, which end at zero: those of rare items hold more often.
    inside = [abs(item.share - truth.get(item.value, 0.0)) <= 1.96 * item.error for item in whole]
    return {
        "open": len(alone),
        "listed": len(both),
        "absent": sum(item.value not in truth for item in both),
        "cover": float(np.mean(inside)),
        "influence": max(item.influence for item in whole) * plan.method.oracle.signal,
    }


def falling(run: int) -> dict[str, Any]:
    """Random numbers of 64 bits whose popularity falls as 1/rank: a list of 5000 against open search."""
    users, kinds = 100_000, 100_000
    ends = np.cumsum(1 / np.arange(1, kinds + 1))
    noise = Noise(insecure_seed=7000 + run)
    plan = local.plan(users=users, spend=Pure(4), items=domain.integers(0, 2**64 - 1), seed=bytes([30 + run] * 32))
    values = noise.uniform(1 << 63, kinds)
    held = values[np.searchsorted(ends / ends[-1], noise.uniform(1 << 53, users) / 2**53)]
    known = set(held.tolist())
    server = collected(plan, held, noise)
    candidates = values[:4000].tolist() + noise.uniform(1 << 63, 1000).tolist()
    alone, both = server.popular(), server.popular(candidates=candidates)
    return {"open": len(alone), "listed": len(both), "absent": sum(item.value not in known for item in both)}


def named(giant: int, run: int) -> dict[str, Any]:
    """Items that are named: held ones and absent ones, with and without an unnamed item of 40 %."""
    noise = Noise(insecure_seed=4000 + run)
    plan = local.plan(users=300_000, spend=Pure(6), items=domain.text(max_bytes=12), seed=bytes([120 + run] * 32))
    held, _ = drawn(300_000 - giant, noise)
    held += ["/the/giant"] * giant
    counts = Counter(held)
    asked = [name for name, _ in identifiers()[:500]] + [f"absent{number}" for number in range(500)]
    found = collected(plan, held, noise).estimate(asked)
    return {"z": [(item.share - counts[item.value] / 300_000) / item.error for item in found]}


def shuffled() -> dict[str, float]:
    """Return how far the stated losses are from the golden ones, and the longest time of one."""
    apart, longest = 0.0, 0.0
    for (honest, epsilon), golden in GOLDEN.items():
        began = time.process_time()
        stated = shuffled_loss(Fraction(math.exp(epsilon)), Fraction(epsilon), honest, Fraction(1, 10**8))
        longest = max(longest, time.process_time() - began)
        # A golden number is rounded to the digits that it shows, which for small ones is more than one per cent.
        apart = max(apart, (abs(float(stated.epsilon) - golden) - 5e-5) / golden)
    return {"apart": apart, "seconds": longest}


def influence() -> dict[str, float]:
    """Return for each epsilon how many users a made-up report counts for at most, times signal: in a list of 5000
    random items of 64 bits, the worst of them and the worst but for one in a hundred."""
    found: dict[str, float] = {}
    for epsilon in (1, 2, 4, 8):
        noise = Noise(insecure_seed=8000)
        plan = local.plan(
            users=100_000, spend=Pure(epsilon), items=domain.integers(0, 2**64 - 1), method="soft", seed=bytes(32)
        )
        held = noise.uniform(1 << 63, 100_000)
        shares = collected(plan, held, noise).estimate(held[:5000].tolist())
        counted = np.array([item.influence for item in shares]) * plan.method.oracle.signal
        found |= {f"{epsilon}": float(counted.max()), f"most {epsilon}": float(np.quantile(counted, 0.99))}
    return found


def automatic() -> dict[str, int]:
    """Return for how many plans of epsilon 3 to 8 the soft tree is taken, and how many there are."""
    domains = (domain.integers(0, 2**64 - 1), domain.text(max_bytes=12), domain.text(max_bytes=24))
    soft = [
        local.plan(users=users, spend=Pure(epsilon), items=items).why.startswith('Method "soft"')
        for items in domains
        for epsilon in (3, 4, 6, 8)
        for users in (300_000, 1_000_000, 10_000_000)
    ]
    return {"soft": sum(soft), "plans": len(soft)}


def ingest() -> dict[str, float]:
    """Return how many million reports with ids a collector takes for each second of CPU, in batches of 200 000."""
    noise = Noise(insecure_seed=9000)
    plan = local.plan(users=10**6, spend=Pure(4), items=domain.integers(0, 2**64 - 1), seed=bytes(32))
    rows = plan.client().reports(noise.uniform(1 << 63, 2_000_000), noise)
    batches = [local.envelopes(part, "binary", noise=noise) for part in np.array_split(rows, 10)]
    with tempfile.TemporaryDirectory() as place, local.Collector(place + "/c", plan) as collector:
        collector.add(local.envelopes(rows[:1000], "binary", noise=noise), "binary")
        with Clock() as clock:
            for batch in batches:
                collector.add(batch, "binary")
    return {"millions": 2 / clock.seconds}


def _several(name: str, make: Callable[[int], Any], runs: int) -> list[Any]:
    found = stored_all((f"all-{name}-{run}", lambda run=run: make(run)) for run in range(runs))
    print(name, len(found), flush=True)
    return found


Line = tuple[str, str, str, bool | None]
"""What is measured, the number, the bar, and whether it holds."""


def _found(title: str, name: str, make: Callable[[int], Any], runs: int, bar: float | None) -> list[Line]:
    """Return the lines of items that the search found."""
    made = _several(name, make, runs)
    rows = [row for one in made for row in one["rows"]]
    held = [row for row in rows if row["held"]]
    cover = float(np.mean([row["holds"] for row in held]))
    planted = f" of {sum(one['planted'] for one in made)} planted" if "planted" in made[0] else ""
    said = f"{cover:.1%} of {len(held)} finds{planted}, {len(rows) - len(held)} false"
    if "decode" in made[0]:
        said += f", {np.mean([one['decode'] for one in made]):.1f} s to decode"
    wanted = "no bar" if bar is None else f"at least {bar:.0%}"
    lines: list[Line] = [
        (f"95 % intervals of found items hold, {title}", said, wanted, None if bar is None else cover >= bar)
    ]
    if name == "names":
        rms = math.sqrt(float(np.mean([row["z"] ** 2 for row in held])))
        errors = "errors of shares of found items, over what all reports allow"
        lines.append((errors, f"{rms:.2f}", "at most 1.25", rms <= 1.25))
    return lines


def _named(runs: int) -> list[Line]:
    lines: list[Line] = []
    for giant, said in ((0, ""), (120_000, ", beside an unnamed item of 40 %")):
        z = np.concatenate([one["z"] for one in _several(f"named-{giant}", lambda run, g=giant: named(g, run), runs)])
        cover = float(np.mean(np.abs(z) <= 1.96))
        told = f"{cover:.1%} of {len(z)}"
        lines.append((f"errors of named items hold{said}", told, "95 ± 1.5 %", abs(cover - 0.95) <= 0.015))
    return lines


def _lists(runs: Runs) -> list[Line]:
    made = _several("lists", lists, runs.lists)
    mean = {name: float(np.mean([one[name] for one in made])) for name in made[0]}
    absent, ratio = sum(one["absent"] for one in made), mean["listed"] / mean["open"]
    counts = f"{mean['listed']:.1f} against {mean['open']:.1f} in {len(made)} collections, {absent} absent"
    title = "a list of 5000 finds more than the search, n = 1e5, ε = 4, identifiers"
    lines: list[Line] = [(title, f"{ratio:.1f} times: {counts}", "5 times, 0 absent", ratio >= 5 and not absent)]
    lines.append(("errors of the whole list hold", f"{mean['cover']:.1%}", "94 to 96 %", 0.94 <= mean["cover"] <= 0.96))
    other = _several("falling", falling, runs.falling)
    listed, alone = (float(np.mean([one[name] for one in other])) for name in ("listed", "open"))
    absent = sum(one["absent"] for one in other)
    counts = f"{listed / alone:.1f} times: {listed:.1f} against {alone:.1f}, {absent} absent"
    lines.append(
        ("the same where popularity falls as 1/rank", counts, "0 absent; 2.4 times is all there is", not absent)
    )
    return lines


def _others() -> list[Line]:
    relay, made_up, choice = (
        stored("all-shuffled", shuffled),
        stored("all-influence", influence),
        stored("all-auto", automatic),
    )
    speed, single = stored("all-ingest", ingest), stored("posts-json", lambda: posts("application/json"))
    worst, soft, plans = max(made_up.values()), choice["soft"], choice["plans"]
    counted = "; ".join(f"ε = {at}: {made_up[f'most {at}']:.3f}, {made_up[f'{at}']:.3f}" for at in (1, 2, 4, 8))
    apart, seconds = max(relay["apart"], 0.0), relay["seconds"]
    return [
        ("losses among shuffled reports, from the golden numbers", f"{apart:.2%}", "1 %", apart <= 0.01),
        ("the longest proof of one", f"{seconds:.2f} s", "under 1 s", seconds < 1),
        (
            "users a made-up report counts for, times signal: 99 of 100 candidates of a list of 5000, and the worst",
            counted,
            "at most 1.05",
            worst <= 1.05,
        ),
        ("auto takes the soft tree for ε 3 to 8", f"{soft} of {plans}", "all", soft == plans),
        ("reports with ids in batches, million a CPU second", *_at_least(speed["millions"], 2)),
        ("single posts, thousand a CPU second", *_at_least(single["cpu"] / 1000, 3)),
    ]


def _at_least(measured: float, bar: float) -> tuple[str, str, bool]:
    return f"{measured:.1f}", f"at least {bar:g}", measured >= bar


def section(runs: Runs) -> str:
    """Return the table of all bars."""
    parts: list[Callable[[], list[Line]]] = [
        *(
            (
                lambda name=name, size=size, bar=bar: _found(
                    size, name, lambda run: near(name, run), getattr(runs, name), bar
                )
            )
            for name, size, bar in (
                ("near64", "64 bits, near the cut", 0.94),
                ("near97", "97 bits, near the cut", 0.94),
                ("near193", "193 bits, near the cut", None),
            )
        ),
        lambda: _found("identifiers", "names", names, runs.names, 0.94),
        lambda: _named(runs.named),
        lambda: _lists(runs),
        _others,
    ]
    lines: list[Line] = []
    for part in parts:
        try:
            lines += part()
        except NotMeasured:
            continue
    marks = {True: "yes", False: "**no**", None: ""}
    return table(["what", "measured", "bar", "holds"], [(*line[:3], marks[line[3]]) for line in lines])


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--full", action="store_true")
    asked = options.parse_args()
    print(section(QUICK if asked.quick else FULL if asked.full else Runs()))


if __name__ == "__main__":
    main()
