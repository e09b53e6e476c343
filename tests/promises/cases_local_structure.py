"""Promises of the structure results: vectors of bits, pure few-bit reports, and groups of devices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from sfumato import Noise, Pure
from sfumato.local import Response, Seed, response
from sfumato.mechanism import Mechanism
from sfumato.papers.heavy_hitters.structure import (
    PureReport,
    Reference,
    VectorResponse,
    group_privacy,
    independent_bits,
    pure_report,
    vector_response,
)
from sfumato.privacy import Approximate, Cost, Loss
from sfumato.privacy.coins import COIN
from tests.promises.case import PromiseCase


def every_pair(inputs: Any) -> list[tuple[Any, Any]]:
    return list(combinations(inputs, 2))


def vectors(bits: int) -> list[Any]:
    return [*product((0, 1), repeat=bits), None]


# Vectors (RRK)


def half_noise(chosen: VectorResponse) -> VectorResponse:
    return replace(chosen, flip=chosen.flip // 2)


@dataclass(frozen=True, kw_only=True)
class SpreadEverywhere(VectorResponse):
    """The mass outside the shell goes to all vectors: those outside become too rare."""

    def _flipped(self, given: Any, flips: list[int], noise: Noise) -> Any:
        if not self.least <= len(flips) <= self.most:
            return super().run(None, noise)
        report = given.copy()
        report[flips] ^= 1
        return report


@dataclass(frozen=True, kw_only=True)
class TableOfWeights(VectorResponse):
    """The number of flips comes from a coarse table, in which the rarest number has weight 0: it is never sent."""

    def _flipped(self, given: Any, flips: list[int], noise: Noise) -> Any:
        while len(flips) in (0, self.bits):
            flips = noise.subset(self.bits, 1)
        return super()._flipped(given, flips, noise)


@dataclass(frozen=True, kw_only=True)
class LoudNull(VectorResponse):
    """Input that does not fit sends zeros."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return np.zeros(self.bits, dtype=np.uint8) if exact is None else super().run(exact, noise)


@dataclass(frozen=True, kw_only=True)
class NoShell(VectorResponse):
    """Printed Section 5 without its second branch: independent flips cost bits times epsilon."""

    def _flipped(self, given: Any, flips: list[int], noise: Noise) -> Any:
        report = given.copy()
        report[flips] ^= 1
        return report


def altered(kind: type[VectorResponse], chosen: VectorResponse) -> VectorResponse:
    return kind(bits=chosen.bits, flip=chosen.flip, least=chosen.least, most=chosen.most)


ONE_SIDED = VectorResponse(bits=3, flip=COIN // 4, least=0, most=1)
LIKE = independent_bits("0.5", bits=4, distance="0.35")
VECTORS = {
    "one-sided": ONE_SIDED,
    "independent": LIKE,
    "best-1-1": vector_response(Pure(1), bits=1),
    "best-1-4": vector_response(Pure(1), bits=4),
    "best-3-3": vector_response(Pure(3), bits=3),
}


def vector_mutants(name: str, chosen: VectorResponse) -> dict[str, Any]:
    mutants: dict[str, Any] = {"half the noise": half_noise(chosen), "loud null": altered(LoudNull, chosen)}
    if name in ("one-sided", "independent"):
        mutants["rarest number never sent"] = altered(TableOfWeights, chosen)
    if name == "one-sided":
        mutants["stray mass everywhere"] = altered(SpreadEverywhere, chosen)
    if name in ("one-sided", "independent"):
        mutants["no second branch"] = altered(NoShell, chosen)
    return mutants


# Pure reports (GENPROT)


@dataclass(frozen=True)
class AnyRatio(Reference):
    """The worst randomizer: the value says the logarithm of the ratio of each outcome itself."""

    @property
    def stream_bytes(self) -> int:
        return 1

    def outcome(self, stream: bytes) -> int:
        return stream[0] % 3

    def ratio(self, value: Any, outcome: Any) -> float:
        return math.exp(value[outcome])


def distinct_seed() -> Seed:
    """A public seed under which the three outcomes of user 0 differ, so that every vector of ratios occurs."""
    for first in range(256):
        seed = Seed(bytes([first] * 32))
        trial = PureReport(reference=AnyRatio(), seed=seed, choices=3, low=1, base=1, high=1)
        if len({trial.outcome(0, place) for place in range(3)}) == 3:
            return seed
    raise AssertionError("No seed of this kind has three distinct outcomes.")


def pure(claim: Any, base: str = "1/2") -> PureReport:
    made = pure_report(AnyRatio(), claim, users=10, failure="0.1", base=base, seed=distinct_seed())
    return replace(made, choices=3)


@dataclass(frozen=True, kw_only=True)
class SendsFirst(PureReport):
    """The first outcome that was kept is sent, in place of a uniform one."""

    def run(self, exact: Any, noise: Noise) -> int:
        kept = [place for place in range(self.choices) if noise.bernoulli(self._chance(*exact, place))]
        return kept[0] if kept else noise.uniform(self.choices)


@dataclass(frozen=True, kw_only=True)
class NoneKept(PureReport):
    """When nothing is kept a sign of its own is sent."""

    def run(self, exact: Any, noise: Noise) -> int:
        kept = [place for place in range(self.choices) if noise.bernoulli(self._chance(*exact, place))]
        return kept[noise.uniform(len(kept))] if kept else -1


def wide(made: PureReport, reach: float) -> PureReport:
    """The clamp of a larger epsilon."""
    base = made.base / COIN
    return replace(made, low=int(base * math.exp(-reach) * COIN), high=int(base * math.exp(reach) * COIN))


def ratio_inputs(reach: float) -> list[Any]:
    """Every vector of edges, ratios beyond the edges, and values at which the ratio fails."""
    edges = [(0, each) for each in product((-reach, reach), repeat=3)]
    beyond = [(0, (1.5 * reach, -1.5 * reach, -1.5 * reach)), (0, (-1.5 * reach, 1.5 * reach, 1.5 * reach))]
    return [*edges, *beyond, (0, None), (0, (math.nan, 1e9, -1e9))]


PURE = {
    "approximate": (pure(Approximate("0.2", "0.001")), 0.4),
    "pure": (pure(Pure("0.2")), 0.2),
    "small-base": (pure(Approximate("0.5", "0.001"), base="1/5"), 1.0),
}


# Groups (GRP)


@dataclass(frozen=True, kw_only=True)
class Group(Mechanism):
    """Devices that change together; the claim is the exact calculator's."""

    spec = "GRP"

    device: Response
    people: int
    delta: str

    def loss(self) -> Loss:
        found = group_privacy(Pure(self.device.loss().person.epsilon), self.people, self.delta)
        return Loss.flat(Cost.approximate(found.epsilon, found.delta), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> tuple[int, ...]:
        return tuple(self.device.run(value, noise) for value in exact)


@dataclass(frozen=True, kw_only=True)
class ReportsTwice(Group):
    """One device of the group sends two reports."""

    def run(self, exact: Any, noise: Noise) -> tuple[int, ...]:
        return (*super().run(exact, noise), self.device.run(exact[0], noise))


def group_cases() -> list[PromiseCase]:
    cases = []
    for people, epsilon, delta in ((1, "1", "0.01"), (2, "1", "0.05"), (4, "0.5", "0.1"), (5, "1", "0.001")):
        device = response(Pure(epsilon), 2)
        group = Group(device=device, people=people, delta=delta)
        cases.append(
            PromiseCase(
                name=f"group-{people}-{epsilon}",
                spec_ids=("GRP", "C-GRP-X"),
                mechanism=group,
                pairs=[((0,) * people, (1,) * people), ((0, 1, 0, 1, 0)[:people], (1, 0, 1, 0, 1)[:people])],
                mutants={
                    "nine tenths of the noise": replace(group, device=replace(device, weight=device.weight * 9 // 10)),
                    "one reports twice": ReportsTwice(device=device, people=people, delta=delta),
                },
            )
        )
    return cases


CASES = (
    [
        PromiseCase(
            name=f"vector-response-{name}",
            spec_ids=("RRK", "C-RRk", "C-NULL"),
            mechanism=chosen,
            pairs=every_pair(vectors(chosen.bits)),
            mutants=vector_mutants(name, chosen),
            long=name == "best-1-4",
        )
        for name, chosen in VECTORS.items()
    ]
    + [
        PromiseCase(
            name=f"pure-report-{name}",
            spec_ids=("GENPROT", "C-APX2PURE-X"),
            mechanism=made,
            pairs=every_pair(ratio_inputs(reach)),
            mutants={
                "clamp at three halves": wide(made, 1.5 * reach),
                "first kept": SendsFirst(**vars(made)),
                "nothing kept is told": NoneKept(**vars(made)),
            },
        )
        for name, (made, reach) in PURE.items()
    ]
    + group_cases()
)
