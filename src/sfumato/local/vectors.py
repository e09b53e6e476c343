"""Test vectors: everything that a client in another language must reproduce, from fixed draws.

    python -m sfumato.local.vectors src/sfumato/local/vectors.json

The file that ships is checked by a test. A client draws one uniform number below `total · outcomes`, which gives its
role and a uniform report, and one coin below 2^63; a vector lists these two numbers and the report that follows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sfumato import domain
from sfumato.domain import Domain
from sfumato.local.coins import COIN
from sfumato.local.plan import Plan
from sfumato.local.planning import plan
from sfumato.local.seed import Seed, words
from sfumato.local.tree import TreeEncoder
from sfumato.noise import Noise
from sfumato.privacy import Pure

SHIPPED = Path(__file__).with_name("vectors.json")


class Script(Noise):
    """A noise that says given numbers: the uniform draw, then the coin."""

    def __init__(self, drawn: int, coin: int) -> None:
        self.drawn, self.coin = drawn, coin

    def uniform(self, bound: int, size: int | None = None) -> Any:
        """Say the uniform draw."""
        return self.drawn % bound

    def bernoulli(self, probability: Any) -> bool:
        """Compare the coin with the chance of noise, as a client does."""
        return bool(self.coin * probability.denominator < probability.numerator * COIN)


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
    return {
        "format": 1,
        "seeds": [_seed_vector(Seed(bytes(32))), _seed_vector(Seed(seed))],
        "words": [{"key": "6b6579", "message": "6974656d", "words": list(words(b"key", b"item"))}],
        "plans": [_plan_vector(one, items) for one, items in plans],
    }


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
        for coin in (0, COIN - 1, source.uniform(COIN)):
            drawn = source.uniform(one.turns[-1] * one.even)
            report = one.client().run(item, Script(drawn, coin))
            reports.append({"item": item, "drawn": str(drawn), "coin": str(coin), "report": report.hex()})
    return {
        "plan": one.to_json(),
        "digest": one.digest.hex(),
        "report_bytes": one.report_bytes,
        "codes": [_code_vector(one, item) for item in items],
        "reports": reports,
    }


def _code_vector(one: Plan, item: Any) -> dict[str, Any]:
    code = one.items.code(item)
    if code is None:
        return {"item": item, "code": None}
    found: dict[str, Any] = {"item": item, "code": str(code)}
    if isinstance(one.encoder, TreeEncoder):
        found["whitened"] = str(one.encoder.white.apply(code))
        found["words of role 1"] = list(one.encoder.point(code, 1))
    return found


def write(path: str | Path) -> None:
    """Write the vectors as JSON."""
    Path(path).write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else SHIPPED)
