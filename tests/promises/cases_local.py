"""Promises of the local randomizers: every pair of inputs, the null report included, over the whole law of a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from sfumato import Noise, Pure, domain
from sfumato.local import Items, LinearHash, Plan, Seed, hadamard_response, linear_hash, mean_response, response
from sfumato.local.client import Client
from sfumato.local.listed import list_method
from sfumato.local.tree import TreeMethod
from sfumato.papers.heavy_hitters.comparators import local_hash, unary_encoding
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram
from sfumato.privacy.coins import noise_weight
from tests.promises.case import PromiseCase


def every_pair(*inputs: Any) -> list[tuple[Any, Any]]:
    return list(combinations(inputs, 2))


def less_noise(oracle: Any) -> Any:
    """The chance of noise nine tenths of what it must be."""
    return replace(oracle, weight=oracle.weight * 9 // 10)


def rounded_down(oracle: Any) -> Any:
    """A threshold that is too small by one part in 2^30: the realised epsilon is above the requested one."""
    return replace(oracle, weight=oracle.weight - (oracle.weight >> 30))


@dataclass(frozen=True, kw_only=True)
class LoudNull(LinearHash):
    """An item that does not fit sends a fixed report: silence, or its like, tells."""

    def mix(self, point: Any, drawn: int, noise: Noise) -> int:
        return 0 if point is None else super().mix(point, drawn, noise)


@dataclass(frozen=True, kw_only=True)
class NoCoin(LinearHash):
    """Every report speaks for its item."""

    def mix(self, point: Any, drawn: int, noise: Noise) -> int:
        return drawn if point is None else self.place(point, drawn)


@dataclass(frozen=True, kw_only=True)
class RoleByItem(Client):
    """The role follows from the item: the role alone then tells items apart."""

    def run(self, exact: Any, noise: Noise) -> bytes:
        plan = self.plan
        role, drawn = Client._draw(self, noise)
        code = plan.items.code(exact)
        chosen = role if code is None else code % len(plan.method.roles)
        point = None if code is None else plan.encoder.point(code, chosen)
        return plan.wire.pack(plan.offsets[chosen] + plan.method.roles[chosen].oracle.mix(point, drawn, noise))


HASHES = [(0, 0, 0), (1 << 31, 5, 3), (7, 1 << 31 | 2, 6), (1 << 31 | 1, 1 << 31 | 1, 1 << 31 | 1), None]


def linear(epsilon: str, table_bits: int, symbol_bits: int) -> LinearHash:
    return linear_hash(Pure(epsilon), table_bits, symbol_bits=symbol_bits)


def tree(seed: int, levels: tuple[int, ...] = (1, 3), style: str = "soft") -> Client:
    method = TreeMethod(levels=levels, shares=(1,) * (len(levels) + 2), oracle=linear("1", 4, 2), method=style)
    items = Items(domain.integers(0, 2 ** levels[-1] - 1))
    return Client(plan=Plan(10, Pure(1), items, method, Seed(bytes([seed] * 32))))


def asking(client: Client, oracle: Any) -> Client:
    """The same plan with another oracle; its stated spend leaves room for a mutant."""
    plan = client.plan
    method = replace(plan.method, oracle=oracle)  # type: ignore[type-var]
    return Client(plan=replace(plan, method=method, spend=Pure(9)))


def listed(epsilon: str, labels: tuple[str, ...], oracle: str) -> Client:
    items = Items(domain.categories(*labels))
    return Client(plan=Plan(10, Pure(epsilon), items, list_method(Pure(epsilon), len(labels), oracle), Seed(bytes(32))))


TREES = (
    ("tree", 0, (1, 3), "soft", ("SOFT-TREE", "PEM")),
    ("tree", 1, (1, 3), "soft", ("SOFT-TREE", "PEM")),
    ("tree", 2, (1, 3), "prefix", ("SOFT-TREE", "PEM")),
    ("treehist", 3, (1, 2, 3), "treehist", ("TREEHIST",)),
)
"""Name, seed, lengths of the prefixes, search and IDs; devices do the same whatever the search."""
TREE = tree(1)
SPLIT = replace(TREE.plan.method.roles[0].oracle)
COLOURS = listed("1", ("red", "green", "blue"), "response")
HISTOGRAM = Hashtogram(weight=noise_weight(Pure(1).epsilon, 4), rows=3, block_bits=1, column_bits=2)
ROWS = [(0, 0, 0), (1 << 31 | 5, 3, 1), (6, 1 << 31, 1 << 31 | 7), None]
LETTERS = tuple("abcdefgh")
ADDRESSES = listed("2", LETTERS, "hadamard")
HASHED_LIST = listed("2", LETTERS[:4], "linear")

CASES = (
    [
        PromiseCase(
            name=f"linear-hash-{epsilon}-{table}-{symbols}",
            spec_ids=("FO-LLH", "C-NULL", "C-SEED", "BERN-EXACT"),
            mechanism=(oracle := linear(epsilon, table, symbols)),
            pairs=every_pair(*HASHES),
            mutants={
                "nine tenths of the noise": less_noise(oracle),
                "threshold rounded down": rounded_down(oracle),
                "loud null": LoudNull(weight=oracle.weight, table_bits=table, symbol_bits=symbols),
                "no coin": NoCoin(weight=oracle.weight, table_bits=table, symbol_bits=symbols),
            },
        )
        for epsilon, table, symbols in (("0.5", 4, 1), ("1", 5, 2), ("4", 6, 3), ("16", 4, 2), ("0.0001", 3, 1))
    ]
    + [
        PromiseCase(
            name=f"hadamard-response-{epsilon}-{blocks}",
            spec_ids=("FO-HR", "C-NULL", "BERN-EXACT"),
            mechanism=(hadamard := hadamard_response(Pure(epsilon), cells, block_bits=blocks)),
            pairs=every_pair(*range(-hadamard.cells, hadamard.cells), None),
            mutants={
                "nine tenths of the noise": less_noise(hadamard),
                "threshold rounded down": rounded_down(hadamard),
                # One block's threshold with more blocks: the odds grow with the number of blocks.
                "threshold of fewer blocks": replace(hadamard, block_bits=blocks + 1),
            },
            long=cells in (7, 12),
        )
        for epsilon, blocks, cells in (("0.5", 0, 7), ("1", 1, 6), ("2", 2, 12), ("16", 2, 4), ("0.0001", 0, 3))
    ]
    + [
        PromiseCase(
            name="hashtogram",
            spec_ids=("FO-HASHTOGRAM", "C-SPLIT", "C-NULL"),
            mechanism=HISTOGRAM,
            pairs=every_pair(*ROWS),
            mutants={
                "nine tenths of the noise": less_noise(HISTOGRAM),
                "threshold of fewer blocks": replace(HISTOGRAM, block_bits=2),
            },
        ),
        *(
            PromiseCase(
                name=f"randomized-response-{answers}",
                spec_ids=("BERN-EXACT",),
                mechanism=(said := response(Pure(1), answers)),
                pairs=every_pair(*range(answers), None),
                mutants={
                    "nine tenths of the noise": less_noise(said),
                    "threshold of two answers": replace(said, answers=answers + 1),
                },
            )
            for answers in (2, 5)
        ),
        PromiseCase(
            name="mean-response",
            spec_ids=("BERN-EXACT",),
            mechanism=(mean := mean_response(Pure(1), 4)),
            pairs=every_pair(*range(5), None),
            mutants={"nine tenths of the noise": less_noise(mean)},
        ),
        PromiseCase(
            name="unary-encoding",
            spec_ids=("BERN-EXACT",),
            mechanism=(unary := unary_encoding(Pure(1), 4)),
            pairs=every_pair(*range(4), None),
            mutants={"nine tenths of the noise": less_noise(unary)},
        ),
        PromiseCase(
            name="local-hash",
            spec_ids=("BERN-EXACT",),
            mechanism=(hashed := local_hash(Pure(1), 6, functions=4)),
            pairs=every_pair(*range(6), None),
            mutants={"nine tenths of the noise": less_noise(hashed), "one symbol more": replace(hashed, symbols=5)},
        ),
        *(
            PromiseCase(
                name=f"{name}-client-seed-{seed}",
                spec_ids=(*ids, "C-SPLIT", "C-NULL", "C-SEED", "ENC-DOM"),
                mechanism=(client := tree(seed, levels, style)),
                pairs=every_pair(*range(8), 8, "text", None),
                mutants={
                    "role by item": RoleByItem(plan=client.plan),
                    "nine tenths of the noise": asking(client, less_noise(SPLIT)),
                    "no coin": asking(client, NoCoin(weight=SPLIT.weight, table_bits=4, symbol_bits=2)),
                },
            )
            for name, seed, levels, style, ids in TREES
        ),
        PromiseCase(
            name="list-client",
            spec_ids=("BERN-EXACT", "C-NULL"),
            mechanism=COLOURS,
            pairs=every_pair("red", "green", "blue", "pink", None),
            mutants={"more spend": replace(COLOURS, plan=listed("1.2", ("red", "green", "blue"), "response").plan)},
        ),
        PromiseCase(
            name="list-client-hadamard",
            spec_ids=("FO-HR", "C-NULL"),
            mechanism=ADDRESSES,
            pairs=every_pair(*LETTERS, "i", None),
            mutants={"more spend": replace(ADDRESSES, plan=listed("2.1", LETTERS, "hadamard").plan)},
        ),
        PromiseCase(
            name="list-client-linear",
            spec_ids=("FO-LLH", "C-NULL", "C-SEED"),
            mechanism=HASHED_LIST,
            pairs=every_pair(*LETTERS[:4], "i", None),
            mutants={
                "more spend": replace(HASHED_LIST, plan=listed("2.1", LETTERS[:4], "linear").plan),
                "nine tenths of the noise": asking(HASHED_LIST, less_noise(HASHED_LIST.plan.method.roles[0].oracle)),
            },
            long=True,
        ),
    ]
)
