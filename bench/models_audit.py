"""What an audit by group states, beside what is true of made-up tables; its figures beside fairlearn's and aif360's.

    python -m bench.models_audit [--draws 2000] [--peers] [--only covered missed wide alarms planted]

Private tables go the way of `curator.audit`, with its law and its reports, and only a ledger is missing. Bars
(MD-AUDIT): intervals of rates and ratios hold for 94 of 100 tables, at the level of 28 comparisons they miss at most
1.5 times as often as stated, noise widens them at most 1.3 times from groups of 100 on at epsilon 1 and 10,000 people,
tables that wrong nobody are said to differ at most 5 times in 100, a planted gap of 0.15 is raised in 14 of 15 tables
of 500 people, and figures are the peers' to 1e-9. `tests/fair` asks the same in the audit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import run as run_peer
from sfumato import Noise, Pure, Schema, booleans, categories, fair
from sfumato.fair.audits.rates import EXACT, CellNoise, Share, ratio_interval
from sfumato.questions import GroupAudit
from sfumato.table.gauge import Basis

PEERS = {"fairlearn": ["fairlearn==0.15.0"], "aif360": ["aif360==0.6.1"]}
PEOPLE = 10_000
SPENDS = {"plain": None, "epsilon 1": Pure(1), "epsilon 0.3": Pure("0.3"), "epsilon 0.1": Pure("0.1")}
SIZES = (5, 30, 100, 1000, 5000)
RATES = (0.0, 0.02, 0.3, 0.7, 1.0)
OTHER = 0.4
TOGETHER = 28
RACES, SEXES, MEMBERS, FAIR = 7, 2, 300, 0.35


def schema(races: int) -> Schema:
    """Return the schema of a table of groups and decisions without missing cells."""
    names = [f"g{place}" for place in range(races)]
    groups = categories(*names, other=names[0], missing=names[0])
    sexes = categories("f", "m", other="f", missing="f")
    return Schema({"group": groups, "sex": sexes, "hired": booleans(missing=False)})


class Audits:
    """Audits of one shape at one spend; `None` is without noise."""

    def __init__(self, protected: tuple[str, ...], races: int, people: int, spend: Pure | None, seed: int) -> None:
        self.audit = GroupAudit("hired", protected, favourable=True)
        self.noise = Noise(insecure_seed=seed)
        self.prepared = None if spend is None else self.audit.prepare(Basis(schema(races), people), spend)

    def report(self, cells: Any) -> Any:
        """Return the report on a table of counts, decisions last."""
        assert self.prepared is not None
        scale = self.prepared.gauge.rule.scale
        raw = self.prepared.mechanism.run(self.prepared.arrange([np.asarray(cells) * scale]), self.noise)
        return self.audit.value(self.prepared.finish(raw))

    def shares(self, chosen: tuple[int, int], sizes: tuple[int, int]) -> tuple[Share, Share, CellNoise]:
        """Return the shares of two groups as they are released, and the noise in each cell."""
        cells = [[size - part, part] for part, size in zip(chosen, sizes, strict=True)]
        if self.prepared is None:
            first, second = (Share(part, rest) for rest, part in cells)
            return first, second, EXACT
        report = self.report(cells)
        first, second = (one.chosen for one in report.tallied.groups)
        return first, second, report.tallied.noise


def drawn(spend: Pure | None, size: int, rate: float, draws: int) -> Iterator[tuple[Share, Share, CellNoise]]:
    """Yield the shares of a group and of everybody else, from tables that are drawn anew."""
    audits = Audits(("group",), 2, PEOPLE, spend, size)
    luck = np.random.default_rng([size, round(100 * rate)])
    for one, two in zip(luck.binomial(size, rate, draws), luck.binomial(PEOPLE - size, OTHER, draws), strict=True):
        yield audits.shares((int(one), int(two)), (size, PEOPLE - size))


def covered(draws: int) -> Iterator[tuple[str, str, float, float, bool]]:
    """Yield how often intervals of rates and of ratios hold."""
    for name, spend in SPENDS.items():
        for size in SIZES:
            for rate in RATES:
                held = np.zeros(2)
                for first, second, noise in drawn(spend, size, rate, draws):
                    low, high = first.interval(0.95, noise)
                    held[0] += low <= rate <= high
                    low, high = ratio_interval(first, second, 0.95, noise)
                    held[1] += low <= rate / OTHER <= high
                worst = float(held.min() / draws)
                yield "rate and ratio held", f"{name}, {size} people, rate {rate}", worst, 0.94, worst >= 0.94


def missed(draws: int) -> Iterator[tuple[str, str, float, float, bool]]:
    """Yield how often the rate is missed at the level of 28 comparisons, as a multiple of what is stated."""
    level = 0.05 / TOGETHER
    for name, spend in SPENDS.items():
        for size, rate in ((30, 0.3), (100, 0.02), (300, 0.5), (1000, 0.005)):
            out = 0
            for first, _, noise in drawn(spend, size, rate, draws):
                low, high = first.interval(1 - level, noise)
                out += not low <= rate <= high
            times = out / draws / level
            yield f"missed of {draws:,}, × stated", f"{name}, {size} people, rate {rate}", times, 1.5, times <= 1.5


def wide(draws: int) -> Iterator[tuple[str, str, float, float, bool]]:
    """Yield how much wider than without noise the interval of a ratio is, in the median."""
    for size in (30, 50, 100, 300, 1000, 5000):
        medians = []
        for spend in (None, Pure(1)):
            tables = drawn(spend, size, 0.3, draws)
            ends = [ratio_interval(first, second, 0.95, noise) for first, second, noise in tables]
            medians.append(float(np.median([high - low for low, high in ends])))
        times = medians[1] / medians[0]
        yield "width of a ratio, × plain", f"epsilon 1, {size} people, rate 0.3", times, 1.3, size < 100 or times <= 1.3


def alarms(draws: int) -> Iterator[tuple[str, str, float, float, bool]]:
    """Yield how often a table in which all groups have one rate is said to differ."""
    tables, luck = max(100, draws // 10), np.random.default_rng(5)
    people = RACES * SEXES * MEMBERS
    for name, spend in SPENDS.items():
        audits, said = Audits(("group", "sex"), RACES, people, spend, 9), 0
        for _ in range(tables):
            chosen = luck.binomial(MEMBERS, FAIR, (RACES, SEXES))
            if spend is None:
                said += bool(plain_report(chosen).differs)
            else:
                said += bool(audits.report(np.stack([MEMBERS - chosen, chosen], axis=-1)).differs)
        share = said / tables
        holds = share <= 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5
        yield f"fair tables said to differ, of {tables:,}", f"{name}, {RACES} by {SEXES} groups", share, 0.05, holds


def plain_report(chosen: Any) -> Any:
    """Return the report without noise on groups of equal size."""
    races, sexes = (np.repeat(axis.ravel(), MEMBERS) for axis in np.indices((RACES, SEXES)))
    decisions = (np.arange(MEMBERS)[None, :] < chosen.reshape(-1, 1)).astype(int).ravel()
    return fair.group_report(decisions, {"group": races.astype(str), "sex": sexes.astype(str)}, favourable=1)


def planted(_: int) -> Iterator[tuple[str, str, float, float, bool]]:
    """Yield in how many of 15 tables of 500 people a gap of 0.15 between probabilities is raised."""
    luck, found = np.random.default_rng(3), 0
    sex = np.array(["m", "f"] * 250)
    for _ in range(15):
        chances = np.where(sex == "m", 0.45, 0.30) + luck.uniform(-0.2, 0.2, 500)
        found += not fair.group_report(chances, sex).ok
    yield "planted gap raised, of 15", "probabilities, 500 people, 0.45 and 0.30", found, 14, found >= 14


def differences(peer: str) -> float:
    """Return how far figures are at most from a peer's, of the table that `bench/peers/fair_audit.py` makes up."""
    from bench.peers.fair_audit import table

    theirs = run_peer(peer, PEERS[peer], Path(__file__).with_name("peers") / "fair_audit.py", peer)
    group, decision, label = table()
    if peer == "aif360":
        report = fair.group_report(decision, {"group": group}, label=label, reference="a", favourable=1)
        found = {(one.figure, one.group.group.name): one for one in report.comparisons}
        apart = [
            abs(mine - figures[name])
            for other, figures in theirs["to a"].items()
            for name, mine in (
                ("ratio", found["chosen", other].ratio),
                ("difference", found["chosen", other].difference),
                ("difference of true positive rates", found["hits", other].difference),
            )
        ]
        return max(apart)
    report = fair.group_report(decision, {"group": group}, label=label, favourable=1)
    rates = {one["group"][0]: one["rates"] for one in report.to_json()["groups"]}
    apart = [
        abs(rates[name][figure]["value"] - value)
        for name, figures in theirs["groups"].items()
        for figure, value in figures.items()
    ]
    chosen = [one for one in report.comparisons if one.figure == "chosen"]
    apart.append(abs(min(one.ratio for one in chosen) - theirs["smallest ratio"]))
    apart.append(abs(max(abs(one.difference) for one in chosen) - theirs["largest difference"]))
    return max(apart)


PARTS = {"covered": covered, "missed": missed, "wide": wide, "alarms": alarms, "planted": planted}


def main() -> None:
    """Print one table of Markdown: what was measured, its bar, whether it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    print("| what | of | measured | bar | holds |\n|---|---|---|---|---|")
    for part in arguments.only:
        started = time.process_time()
        for what, of, measured, bar, holds in PARTS[part](arguments.draws):
            print(f"| {what} | {of} | {measured:.4g} | {bar:g} | {'yes' if holds else 'NO'} |", flush=True)
        print(f"| {part}, CPU s | | {time.process_time() - started:.0f} | | |", flush=True)
    for peer in PEERS if arguments.peers else ():
        apart = differences(peer)
        print(f"| largest difference of a figure | {peer} | {apart:.1e} | 1e-9 | {'yes' if apart < 1e-9 else 'NO'} |")


if __name__ == "__main__":
    main()
