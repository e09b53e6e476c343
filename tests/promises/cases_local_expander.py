"""Promises of the expander sketch, as printed and in practice, and of the bitstogram: every pair of inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sfumato import Noise, Pure, domain
from sfumato.local import Items, Plan, Seed, hadamard_response, linear_hash
from sfumato.local.client import Client
from sfumato.local.hadamard import HadamardResponse
from sfumato.papers.heavy_hitters.bitstogram import BitstogramMethod
from sfumato.papers.heavy_hitters.codes import UniqueListCode
from sfumato.papers.heavy_hitters.expander import ExpanderMethod
from sfumato.papers.heavy_hitters.expander_paper import PaperSketch
from sfumato.papers.heavy_hitters.hashtogram import Hashtogram
from sfumato.privacy.coins import noise_weight
from tests.promises.case import PromiseCase
from tests.promises.cases_local import RoleByItem, every_pair

ONE, HALF = Pure(1), Pure("0.5")
CODES = tuple(range(8))
ITEMS = Items(domain.integers(0, 7))


def half_the_noise(oracle: Any) -> Any:
    return replace(oracle, weight=oracle.weight // 2)


def client(method: Any, seed: int, spend: Any = ONE) -> Client:
    return Client(plan=Plan(10, spend, ITEMS, method, Seed(bytes([seed] * 32))))


def expander(blocks: int) -> ExpanderMethod:
    """A code of three coordinates over 16 symbols, with one label bit and one named neighbour."""
    cells = HadamardResponse(weight=noise_weight(ONE.epsilon, 2 << blocks), block_bits=blocks, column_bits=7 - blocks)
    return ExpanderMethod(
        cells=cells,
        whole=linear_hash(ONE, 4, symbol_bits=2),
        item_bits=3,
        coordinates=3,
        bucket_bits=1,
        offsets=(1,),
        shares=(1, 1, 1),
        symbol_bits=4,
        label_bits=1,
    )


def fewer_blocks(method: ExpanderMethod) -> ExpanderMethod:
    """The threshold printed for one block, with two: the odds grow with the number of blocks."""
    cells = replace(method.cells, weight=hadamard_response(ONE, 8, block_bits=0).weight)
    return replace(method, cells=replace(cells, block_bits=1, column_bits=6))


BITS = BitstogramMethod(
    oracle=linear_hash(ONE, 4, symbol_bits=2), item_bits=3, bucket_bits=1, shares=(1, 1, 1), repetitions=2
)

CODE = UniqueListCode(3, 4, 3, 1, bytes(16), offsets=(1,))
PAPER = PaperSketch(
    code=CODE,
    bucket_bits=0,
    cells=hadamard_response(HALF, 63, block_bits=0),
    whole=Hashtogram(weight=noise_weight(HALF.epsilon, 2), rows=2, block_bits=0, column_bits=1),
)


@dataclass(frozen=True, kw_only=True)
class CoordinateByItem(PaperSketch):
    """The coordinate follows from the item."""

    def run(self, exact: int | None, noise: Noise) -> tuple[int, int, int]:
        place, cell, whole = super().run(exact, noise)
        return (place if exact is None else exact % self.code.coordinates), cell, whole


@dataclass(frozen=True, kw_only=True)
class SilentNull(PaperSketch):
    """An item that does not fit sends no report of the whole item: silence tells."""

    def run(self, exact: int | None, noise: Noise) -> tuple[int, int, int]:
        place, cell, whole = super().run(exact, noise)
        return place, cell, whole if exact is not None else -1


CASES = [
    *(
        PromiseCase(
            name=f"expander-client-{blocks}-seed-{seed}",
            spec_ids=("PES", "ULRC", "C-SPLIT", "C-NULL", "C-SEED"),
            mechanism=client(method := expander(blocks), seed),
            pairs=every_pair(*CODES, None),
            mutants={
                "role by item": RoleByItem(plan=client(method, seed).plan),
                "half the noise in the cells": client(
                    replace(method, cells=half_the_noise(method.cells)), seed, Pure(9)
                ),
                "half the noise in the whole items": client(
                    replace(method, whole=half_the_noise(method.whole)), seed, Pure(9)
                ),
                "threshold of one block": client(fewer_blocks(method), seed, Pure(9)),
            },
            long=blocks == 0,
        )
        for blocks, seed in ((0, 0), (1, 1))
    ),
    PromiseCase(
        name="bitstogram-client",
        spec_ids=("BITSTOGRAM", "C-SPLIT", "C-NULL", "C-SEED"),
        mechanism=client(BITS, 3),
        pairs=every_pair(*CODES, "text", None),
        mutants={
            "role by item": RoleByItem(plan=client(BITS, 3).plan),
            "half the noise": client(replace(BITS, oracle=half_the_noise(BITS.oracle)), 3, Pure(9)),
        },
    ),
    PromiseCase(
        name="expander-as-printed",
        spec_ids=("PES", "C-BASIC", "C-NULL"),
        mechanism=PAPER,
        pairs=every_pair(None, *CODES),
        mutants={
            "half the noise in the cells": replace(PAPER, cells=half_the_noise(PAPER.cells)),
            "the whole epsilon for each report": replace(
                PAPER,
                cells=hadamard_response(ONE, 63, block_bits=0),
                whole=replace(PAPER.whole, weight=noise_weight(ONE.epsilon, 2)),
            ),
            "coordinate by item": CoordinateByItem(**vars(PAPER)),
            "silent null": SilentNull(**vars(PAPER)),
        },
        long=True,
    ),
]
