"""Promises of whole questions: from tiny people through the shipped plan to the noise, for every bound and relation.

Every pair of tiny neighbours is enumerated: a person is exchanged, enters or leaves, and single attributes or sets of
them change, with and without a filter, with one row a person and with several that are weighed or picked.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, Approximate, Concentrated, Pure, Truncated
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.perturb import calibrate
from sfumato.perturb.additive import AdditiveNoise
from sfumato.privacy import Bound, Loss
from sfumato.privacy.sensitivity import sensitivity
from sfumato.questions import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.schema import Schema
from sfumato.totals.noisy import Total
from tests.imputed import integers
from tests.promises.case import PromiseCase
from tests.questions.tiny import EndToEnd, Later, People, distinct, neighbours

SCHEMA = Schema({"key": integers(0, 1), "side": integers(0, 1), "value": integers(0, 1)})
WIDE = Schema({"key": integers(0, 1), "side": integers(0, 1), "value": integers(0, 3)})
ONE = Basis(SCHEMA, 2)
ONE_MORE = replace(ONE, relation=ADD_REMOVE)


def several(rows: int, scale: int, groups: int | None = None, key: str = "", schema: Schema = SCHEMA) -> Basis:
    """Return the facts of people with several rows, which are weighed in so many units."""
    people = Schema(dict(schema.columns), "person", rows, groups)
    return Basis(people, 2, order_key=key, scale=scale)


WEIGHED = several(2, 2)
GROUPED = several(2, 1, 1, "k")
SETTINGS = {"replace": ONE, "add or remove": ONE_MORE, "weighed": WEIGHED, "one group": GROUPED}

NOBODY: list[People] = [()]
ONES: People = tuple((who, ((who % 2, 1, 1),)) for who in range(20, 40))
"""So many of one value that no other has any weight in a choice: whoever joins them or leaves costs what is claimed."""
SOMEBODY: list[People] = [(), ((9, ((0, 1, 0),)),), ((9, ((1, 1, 1),)), (8, ((0, 1, 1),))), ONES]

CROWD: People = tuple((who, ((who % 2, 1, 0),)) for who in range(10, 18))

COUNT, SUM, MEAN, SPREAD = Count("side = 1"), Sum("value"), Mean("value", "side = 1"), Variance("value", "side = 1")
CELLS, PLAIN_CELLS = Histogram("key", "side = 1"), Histogram("key")
GROUPS = GroupBy("key", [Count(), Sum("value")])
MEDIAN, TWO = Quantiles("value", [0.5], "side = 1"), Quantiles("value", [0.25, 0.5], method="split")


def larger(spend: Bound, times: int) -> Bound:
    """Return a spend that draws noise narrow enough to enumerate for statistics that move `times` as far."""
    match spend:
        case Pure():
            return Pure(spend.epsilon * times)
        case Concentrated():
            return Concentrated(spend.rho * times)
        case Truncated():
            return Truncated(spend.rho * times, spend.omega)
        case Approximate():
            return Approximate(spend.epsilon * times, spend.delta)
    raise AssertionError


class Whole(Pure):
    """Every part of it is the whole: what is split over totals is paid by each of them in full."""

    def split(self, parts: int) -> Pure:
        return Pure(self.epsilon)


def case(
    name: str, question: Question, setting: Basis, spend: Bound, *, mutants: Any = None, **options: Any
) -> PromiseCase:
    linear = not isinstance(question, Quantiles) and getattr(question, "keys", "schema") == "schema"
    mechanism = EndToEnd(question=question, setting=setting, spend=spend)
    most = 1 if setting.schema.person is None else 2
    others = options.pop("others", NOBODY)
    pairs = Later(lambda: distinct(mechanism, neighbours(setting, others, most), linear=linear))
    broken = {what: replace(mechanism, **changes) for what, changes in (mutants or {}).items()}
    return PromiseCase(
        name=name,
        spec_ids=options.pop("spec_ids", ("QR-LAP",)),
        mechanism=mechanism,
        pairs=pairs,
        mutants=broken,
        tail=options.pop("tail", 1e-6),
        long=options.pop("long", False),
    )


BOUNDS = {
    "pure": (Pure(2), ("QR-LAP", "PDP:C-9")),
    "concentrated": (Concentrated(1), ("PDP:C-13", "PDP:C-9")),
    "truncated": (Truncated(1, 3), ("TCDP-SINH", "PDP:C-9")),
    "approximate": (Approximate(2, 0.01), ("QR-LAP", "PDP:C-9")),
}


def every_bound() -> list[PromiseCase]:
    """Counts, sums and histograms: every setting under every bound."""
    found = []
    for label, setting in SETTINGS.items():
        times = setting.gauge(Totals()).weight
        for kind, (spend, spec_ids) in BOUNDS.items():
            for question in (COUNT, SUM, CELLS):
                found.append(
                    case(
                        f"{question.kind}, {label}, {kind}",
                        question,
                        setting,
                        larger(spend, times * (2 if question is CELLS else 1)),
                        spec_ids=spec_ids,
                        tail=1e-8,
                        # Noise as for pure and concentrated spends, on more rows.
                        long=setting.schema.person is not None and kind in ("truncated", "approximate"),
                    )
                )
    return found


def several_totals() -> list[PromiseCase]:
    """Means, variances and groups: several totals share one spend."""
    found = []
    for label, setting in (("replace", ONE), ("add or remove", ONE_MORE)):
        for kind, (spend, spec_ids) in BOUNDS.items():
            for question, totals in ((MEAN, 2), (SPREAD, 3)):
                paid = larger(spend, totals)
                mutants = {}
                if isinstance(paid, Pure):
                    # A mean is one vector, whose noise is halved; several totals share a spend, which each pays in full.
                    more = Pure(2 * paid.epsilon) if question is MEAN else Whole(paid.epsilon)
                    mutants = {"half the noise": {"noise_spend": more}}
                found.append(
                    case(
                        f"{question.kind}, {label}, {kind}",
                        question,
                        setting,
                        paid,
                        mutants=mutants,
                        spec_ids=spec_ids,
                        tail=1e-4,
                    )
                )
    found.append(
        case(
            "Mean of weighed rows",
            MEAN,
            WEIGHED,
            Pure(6),
            mutants={"half the noise": {"noise_spend": Pure(12)}},
            tail=1e-4,
        )
    )
    for kind, (spend, spec_ids) in BOUNDS.items():
        found.append(
            case(
                f"groups with two aggregates, {kind}",
                GROUPS,
                ONE,
                larger(spend, 4),
                spec_ids=("PDP-PAR", *spec_ids),
                tail=1e-3,
                long=kind in ("truncated", "approximate"),
            )
        )
    return found


def quantiles() -> list[PromiseCase]:
    """A median and two quartiles under every bound."""
    return [
        case(
            f"{name}, {label}, {kind}",
            question,
            setting,
            spend,
            spec_ids=("PL-QUANTILE",),
            others=SOMEBODY,
        )
        for label, setting in (("replace", ONE), ("add or remove", ONE_MORE))
        for kind, (spend, _) in BOUNDS.items()
        for name, question in (("a median", MEDIAN), ("two quartiles", TWO))
    ]


def attributes() -> list[PromiseCase]:
    """Spends per attribute: each attribute alone costs what was written, whatever the person costs."""
    found = []
    for kind, spend in (("pure", Pure(2)), ("concentrated", Concentrated(1)), ("truncated", Truncated(1, 3))):
        for question, times in (
            (COUNT, 1),
            (CELLS, 1),
            (Sum("value", "side = 1"), 1),
            (MEAN, 2),
            (SPREAD, 3),
            (GROUPS, 3),
            (MEDIAN, 1),
        ):
            found.append(
                case(
                    f"{question.kind} per attribute, {kind}",
                    question,
                    ONE,
                    larger(spend, times).per_attribute(),
                    spec_ids=("PL-QUANTILE", "PDP:C-9") if question is MEDIAN else ("PDP:C-9",),
                    tail=1e-3 if question is GROUPS else 1e-4,
                    others=[(), ONES] if question is MEDIAN else NOBODY,
                    long=question is GROUPS,
                )
            )
    return found


def sensitivities() -> list[PromiseCase]:
    """What goes wrong when a sensitivity is taken from somewhere else."""
    wide = replace(ONE, schema=WIDE)
    return [
        case(
            "a count under a filter is not public",
            COUNT,
            ONE,
            Pure(2),
            mutants={"the public number of people": {"planned": Count()}},
        ),
        case(
            "a sum under a filter",
            Sum("value", "side = 1"),
            replace(ONE, schema=Schema({"side": integers(0, 1), "value": integers(2, 3)})),
            Pure(3),
            mutants={"the filter forgotten": {"planned": Sum("value")}},
        ),
        case(
            "a histogram of people who change cells",
            PLAIN_CELLS,
            ONE,
            Pure(3),
            mutants={"one side only": {"noise_setting": ONE_MORE}},
        ),
        case(
            "a histogram of weighed rows",
            PLAIN_CELLS,
            several(2, 1),
            Pure(6),
            mutants={"one row a person": {"noise_setting": ONE}},
            tail=1e-4,
        ),
        case(
            "a median under a filter",
            MEDIAN,
            ONE,
            Pure(2),
            spec_ids=("PL-QUANTILE",),
            others=SOMEBODY,
            mutants={"one side only": {"noise_setting": ONE_MORE}},
        ),
        case(
            "quantiles, one row more or less",
            TWO,
            ONE_MORE,
            Pure(2),
            spec_ids=("PL-QUANTILE",),
            others=SOMEBODY,
            mutants={"every quantile pays in full": {"noise_spend": Whole(4)}},
        ),
        case(
            "a median of weighed rows",
            Quantiles("value", [0.5]),
            WEIGHED,
            Pure(2),
            spec_ids=("PL-QUANTILE",),
            others=[((9, ((0, 0, 0),)), (8, ((0, 0, 1),))), ONES],
            mutants={"one row a person": {"noise_setting": several(1, 1)}},
        ),
        case(
            "a sum over a wide column",
            Sum("value"),
            wide,
            Pure(3),
            mutants={"a narrow column": {"noise_setting": ONE}},
        ),
    ]


def found_keys() -> list[PromiseCase]:
    """Keys that are found in the data, and domains that are too large to list."""
    picked = several(2, 2, key="k")
    large = Schema({"value": integers(0, 2)})
    return [
        case(
            "keys found, one row a person",
            Histogram("key", keys="private"),
            ONE,
            Approximate(2, 0.05),
            others=[(), ((9, ((0, 1, 0),)),), CROWD],
            spec_ids=("PL-SAN-POINT-STAB",),
            mutants={"one side only": {"noise_setting": ONE_MORE}},
            tail=1e-5,
        ),
        case(
            "keys found, one group a person",
            Histogram("key", keys="private"),
            GROUPED,
            Approximate(4, 0.1),
            others=[(), ((9, ((0, 1, 0),)),), CROWD],
            spec_ids=("PL-SAN-POINT-STAB",),
            mutants={"one row a person": {"noise_setting": ONE}},
            tail=1e-6,
        ),
        case(
            "cells of a large domain, rows weighed",
            Histogram("key", keys="private"),
            WEIGHED,
            Pure(8),
            others=[(), CROWD[:4]],
            spec_ids=("TCDP-HIST",),
            mutants={"one row a person": {"noise_setting": several(1, 2)}},
            tail=1e-5,
        ),
        case(
            "keys found under a filter, rows picked",
            Histogram("key", "side = 1", keys="private"),
            picked,
            Approximate(4, 0.1),
            others=[(), ((9, ((0, 1, 0),)),)],
            spec_ids=("PL-SAN-POINT-STAB",),
            mutants={"one row a person": {"noise_setting": ONE}},
            tail=1e-6,
        ),
        *(
            case(
                f"cells of a large domain, {kind}",
                Histogram("value", keys="private"),
                replace(ONE, schema=large),
                spend,
                others=[(), tuple((who, ((who % 2,),)) for who in range(10, 18))],
                spec_ids=("TCDP-HIST",),
                mutants={"one side only": {"noise_setting": replace(ONE_MORE, schema=large)}},
                tail=1e-4,
            )
            for kind, spend in (("pure", Pure(4)), ("concentrated", Concentrated(2)), ("truncated", Truncated(2, 3)))
        ),
    ]


class OnGrid(Mechanism):
    """One number, rounded to a grid by the shipped code and then perturbed."""

    spec = "TCDP-SAMPLER"

    def __init__(self, grid: int, moves: int, spend: Bound) -> None:
        noise = calibrate(spend, sensitivity(moves).coarser(grid))
        object.__setattr__(self, "total", Total(noise, noise.law, grid, Fraction(grid)))
        object.__setattr__(self, "relation", noise.relation)
        object.__setattr__(self, "reads", noise.reads)

    def loss(self) -> Loss:
        return self.total.mechanism.loss()  # type: ignore[attr-defined, no-any-return]

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.total.mechanism.run(self.total.rounded(exact), noise)  # type: ignore[attr-defined]


class HalfToEven(OnGrid):
    """Python's own rounding: 2.5 and 3.5 land two apart."""

    def run(self, exact: Any, noise: Noise) -> Any:
        grid = self.total.grid  # type: ignore[attr-defined]
        steps = np.rint(np.asarray(exact) / grid).astype(np.int64)
        return self.total.mechanism.run(steps if steps.ndim else int(steps), noise)  # type: ignore[attr-defined]


class SensitivityWithoutGrid(OnGrid):
    """Divides the sensitivity by the grid and rounds it down, as if rounding moved nothing."""

    def run(self, exact: Any, noise: Noise) -> Any:
        law = self.total.law  # type: ignore[attr-defined]
        return AdditiveNoise(law=replace(law, scale=law.scale / 2), sensitivity=1).run(self.total.rounded(exact), noise)  # type: ignore[attr-defined]


GRID = [
    PromiseCase(
        name="a number on a grid",
        spec_ids=("TCDP-SAMPLER",),
        mechanism=OnGrid(4, 4, Pure(2)),
        pairs=[(first, first + step) for first in range(8) for step in range(5)],
        mutants={"half to even": HalfToEven(4, 4, Pure(2))},
    ),
    PromiseCase(
        name="a number on a coarse grid",
        spec_ids=("TCDP-SAMPLER",),
        mechanism=OnGrid(4, 5, Pure(2)),
        pairs=[(first, first + step) for first in range(8) for step in range(6)],
        mutants={"rounding moves nothing": SensitivityWithoutGrid(4, 5, Pure(2))},
    ),
]

CASES = [*every_bound(), *several_totals(), *quantiles(), *attributes(), *sensitivities(), *found_keys(), *GRID]
