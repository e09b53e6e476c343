"""Test vectors: everything that a client in another language must reproduce, from fixed draws.

    python -m sfumato.local.vectors src/sfumato/local/vectors.json

The file that ships is checked by a test. A client draws one uniform number below `total · outcomes`, which gives its
role and a uniform report, and one coin below 2^63; a vector lists these two numbers, `drawn` and `coin`, and the report
that follows. Where roles have different outcomes it draws `turn` below the total first, then `drawn`; for a mean it
draws `rounding` below the number of steps before the coin. Bytes are written as {"bytes": hexadecimal}.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from pathlib import Path
from typing import Any

from sfumato import domain
from sfumato.domain import Domain
from sfumato.local.choice import MAKERS
from sfumato.local.items import Items, raw
from sfumato.local.listed import MeanMethod, list_method
from sfumato.local.plan import Plan
from sfumato.local.planning import plan
from sfumato.local.seed import Seed, words
from sfumato.local.tree import TreeEncoder
from sfumato.noise import Noise
from sfumato.privacy import Pure
from sfumato.privacy.coins import COIN

SHIPPED = Path(__file__).with_name("vectors.json")
ORACLES = ("response", "linear", "hadamard")


class Script(Noise):
    """A noise that says given numbers: uniform draws, and coins as (number, out of how many)."""

    def __init__(self, uniform: list[int], coins: list[tuple[int, int]]) -> None:
        self._uniform, self._coins = iter(uniform), iter(coins)

    def uniform(self, bound: int, size: int | None = None) -> Any:
        """Say the next uniform draw."""
        return next(self._uniform)

    def bernoulli(self, probability: Any) -> bool:
        """Compare the next coin with the chance, as a client does."""
        number, bound = next(self._coins)
        return bool(number * probability.denominator < probability.numerator * bound)


def vectors() -> dict[str, Any]:
    """Return all vectors."""
    seed = bytes(range(32))
    kinds: list[tuple[int, str, Domain, list[Any]]] = [
        (
            1_000_000,
            "2",
            domain.text(max_bytes=24),
            ["example.com", "", "naïve", "a text that is too long, by far", None],
        ),
        (1_000_000, "4", domain.integers(0, 2**64 - 1), [0, 1, 2**64 - 1, -1, "seven"]),
        (100_000, "1", domain.integers(-100, 100), [-100, 0, 100, 101]),
    ]
    plans = [
        (plan(users=users, spend=Pure(spend), items=kind, seed=seed), items) for users, spend, kind, items in kinds
    ]
    listed = plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"], seed=seed)
    plans.append((listed, ["red", "blue", "pink", None]))
    plans += [*_other_methods(seed), *_other_items(seed), *_dated(seed)]
    return {
        "format": 1,
        "seeds": [_seed_vector(Seed(bytes(32))), _seed_vector(Seed(seed))],
        "words": [{"key": "6b6579", "message": "6974656d", "words": list(words(b"key", b"item"))}],
        "plans": [_plan_vector(one, items) for one, items in plans],
    }


def _other_methods(seed: bytes) -> list[tuple[Plan, list[Any]]]:
    """Return a plan of every other method."""
    users, spend = 60_000, Pure(4)

    def numbers(bits: int, method: Any) -> tuple[Plan, list[Any]]:
        items = domain.integers(0, 2**bits - 1)
        made = plan(users=users, spend=spend, items=items, method=method, seed=seed)
        return made, [1, 2**bits - 2, 123_456_789 % 2**bits, 2**bits]

    colours = Items(domain.categories(*range(10, 15)))
    lists = [Plan(users, Pure(2), colours, list_method(Pure(2), 5, oracle), Seed(seed)) for oracle in ORACLES]
    return [
        numbers(24, "prefix"),
        numbers(20, "treehist"),
        numbers(30, MAKERS["expander"](spend, 30, users, max_cells=1 << 17)),
        numbers(61, MAKERS["expander"](spend, 61, users, max_cells=1 << 20)),
        numbers(13, MAKERS["bitstogram"](spend, 13, users)),
        *((one, [10, 14, 15, "10"]) for one in lists),
        (plan(users=users, spend=spend, numbers=domain.fixed(-1, 2, step="0.25"), seed=seed), [-1, 0.75, 2, 0.8]),
    ]


def _other_items(seed: bytes) -> list[tuple[Plan, list[Any]]]:
    """Return a plan for every other kind of items."""
    kinds: list[tuple[Domain, list[Any]]] = [
        (raw(max_bytes=3), [b"", b"\x00\xff", b"long", "ab"]),
        (domain.dates("1969-12-30", "2030-12-31"), ["1969-12-30", "2024-02-29", "2023-02-29", "2031-01-01"]),
        (domain.booleans(), [False, True, 1]),
        (domain.fixed(0, 100, step="1/3"), [0, 100, "1/3", 0.5]),
        (domain.categories("a", "b", other="else", missing="else"), ["a", "else", "c"]),
    ]
    return [(plan(users=60_000, spend=Pure("1/2"), items=kind, seed=seed), items) for kind, items in kinds]


def _dated(seed: bytes) -> list[tuple[Plan, list[Any]]]:
    """Return plans of format 2: with days, with an epoch, with both; their last day is the last that can be written."""
    first, last = "2020-02-29", "9999-12-31"
    colours = ["red", "gr\u00fcn"]
    dates: list[dict[str, Any]] = [
        {"not_before": first, "not_after": last, "epoch": "2026-11"},
        {"epoch": "\u00e9poque \U0001f600"},
        {"not_after": last},
    ]
    made = [plan(users=60_000, spend=Pure(2), candidates=colours, seed=seed, **one) for one in dates]
    words = plan(users=60_000, spend=Pure(4), items=domain.text(max_bytes=4), seed=seed, **dates[0])
    return [*((one, ["red", "gr\u00fcn", "blue"]) for one in made), (words, ["caf\u00e9", "", "longer"])]


def _seed_vector(seed: Seed) -> dict[str, Any]:
    return {
        "seed": seed.value.hex(),
        "keys": {f"{label}/{number}": seed.key(label, number).hex() for label, number in (("level", 0), ("child", 7))},
        "stream whiten/0": seed.stream("whiten", 0, 40).hex(),
    }


def _plan_vector(one: Plan, items: list[Any]) -> dict[str, Any]:
    source = Noise(insecure_seed=12345)
    reports = []
    for item in items:
        # The points of roles of different kinds differ, so more of them speak.
        for coin in (0, COIN - 1, source.uniform(COIN), *[COIN - 1] * (0 if one.even else 5)):
            draws = _draws(one, source, coin)
            report = one.client().run(item, _script(one, draws))
            written = {name: str(number) for name, number in draws.items()}
            reports.append({"item": _shown(item), **written, "report": report.hex()})
    return {
        "plan": one.to_json(),
        "digest": one.digest.hex(),
        "report_bytes": one.report_bytes,
        "codes": [_code_vector(one, item) for item in items],
        "reports": reports,
    }


def _draws(one: Plan, source: Noise, coin: int) -> dict[str, int]:
    """Return what a client draws, in this order."""
    draws = {}
    if one.even:
        draws["drawn"] = source.uniform(one.turns[-1] * one.even)
    else:
        draws["turn"] = source.uniform(one.turns[-1])
        role = bisect_right(one.turns, draws["turn"]) - 1
        draws["drawn"] = source.uniform(one.method.roles[role].oracle.outcomes)
    if isinstance(one.method, MeanMethod):
        draws["rounding"] = source.uniform(one.method.oracle.shape()["steps"])
    return {**draws, "coin": coin}


def _script(one: Plan, draws: dict[str, int]) -> Script:
    uniform = [draws[name] for name in ("turn", "drawn") if name in draws]
    coins = [(draws["coin"], COIN)]
    if "rounding" in draws:
        coins.insert(0, (draws["rounding"], one.method.roles[0].oracle.shape()["steps"]))
    return Script(uniform, coins)


def _shown(item: Any) -> Any:
    return {"bytes": item.hex()} if isinstance(item, bytes) else item


def _code_vector(one: Plan, item: Any) -> dict[str, Any]:
    code = one.items.code(item)
    if code is None:
        return {"item": _shown(item), "code": None}
    found: dict[str, Any] = {"item": _shown(item), "code": str(code)}
    if isinstance(one.encoder, TreeEncoder):
        found["whitened"] = str(one.encoder.white.apply(code))
        found["words of role 1"] = list(one.encoder.point(code, 1))
    return found


def write(path: str | Path) -> None:
    """Write the vectors as JSON."""
    Path(path).write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else SHIPPED)
