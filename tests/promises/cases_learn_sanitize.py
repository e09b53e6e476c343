"""The promises of releasing labelled rows: cells, points, medians for either label, and padded classes."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import ADD_REMOVE, REPLACE_ONE, Loss, Noise, Pure
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.noise import DiscreteLaplace
from sfumato.papers.private_learning.padded import PaddedClasses
from sfumato.papers.private_learning.sanitized import MedianRows, cell_rows, point_rows
from sfumato.perturb import AdditiveNoise
from sfumato.privacy.coins import noise_weight
from sfumato.privacy.parallel import parallel
from sfumato.privacy.sensitivity import sensitivity
from sfumato.questions.distribution.codes import Coded
from sfumato.questions.distribution.medians import MedianTree, level_cost
from tests.imputed import booleans, categories, integers
from tests.promises.case import PromiseCase
from tests.promises.printed.sanitized import (
    LabelsThatOccur,
    Measured,
    PlaceResponse,
    SteeperMeasured,
    TwiceMeasured,
    Unpadded,
    Unshuffled,
)

READS = frozenset({"x0", "y"})
ONE = LearningFacts(("x0",), (integers(0, 0),), categories("no", "yes"), "y", READS)
"""A single value, so that a flipped label moves the only two cells there are."""


def changed(kind: type, unchanged: Any) -> Any:
    return kind(**{part.name: getattr(unchanged, part.name) for part in fields(unchanged)})


def people(*rows: tuple[int, int]) -> Sample:
    return Sample.of([[code] for code, _ in rows], [label for _, label in rows])


def _cells() -> list[PromiseCase]:
    cells, points = cell_rows(ONE, Pure(1)), point_rows(ONE, Pure(1))
    pairs = [(people((0, 0)), people((0, 1)))]
    law = DiscreteLaplace(1)
    return [
        PromiseCase(
            "sanitized-cells",
            ("PL-SAN2LEARN",),
            replace(cells, noise=replace(cells.noise, law=DiscreteLaplace(2))),
            pairs,
            {"half the noise": replace(cells, noise=replace(cells.noise, law=law))},
            tail=0.0005,
        ),
        PromiseCase(
            "sanitized-points",
            ("PL-SAN2LEARN", "PL-SAN-POINT-PURE"),
            replace(points, noise=replace(points.noise, threshold=1)),
            # Counts that are above the threshold nearly always.
            [*pairs, (people(*[(0, 0)] * 3, *[(0, 1)] * 3), people(*[(0, 0)] * 2, *[(0, 1)] * 4))],
            {
                "half the noise": replace(
                    points, noise=replace(points.noise, threshold=1, noise=replace(points.noise.noise, law=law))
                )
            },
            tail=0.0005,
        ),
    ]


def _medians() -> list[PromiseCase]:
    """Nearly all of the spend on the counts; one value, so that a flipped label leaves one tree and enters the other."""

    def tree(epsilon: Fraction, scale: Fraction) -> MedianRows:
        counts = AdditiveNoise(law=DiscreteLaplace(scale), sensitivity=sensitivity(largest=1, changed=2), reads=READS)
        median = MedianTree(first=0, last=0, levels=1, epsilon=epsilon, counts=counts, reads=READS)
        return MedianRows(tree=median, reads=READS)

    counted = tree(Fraction(1, 100), Fraction(2))
    steep = replace(counted, tree=replace(counted.tree, counts=replace(counted.tree.counts, law=DiscreteLaplace(1))))
    pairs = [(people((0, 0)), people((0, 1)))]
    return [
        PromiseCase(
            "sanitized-medians-counts",
            ("PL-SAN2LEARN", "PL-SAN-THRESH-RQ"),
            counted,
            pairs,
            {"half the noise": steep, "labels that occur": changed(LabelsThatOccur, counted)},
            tail=0.0005,
        )
    ]


class MedianCuts(MedianRows):
    """The medians of either label without the counts, at what they alone cost by the parallel rule."""

    def loss(self) -> Loss:
        comes, inside = (level_cost(self.tree.epsilon, relation) for relation in (ADD_REMOVE, REPLACE_ONE))
        cost = parallel([comes, comes], REPLACE_ONE, inside=[inside, inside])
        return Loss.flat(self.tree.levels * cost, self.reads)

    def run(self, exact: Sample, noise: Noise) -> Any:
        found = []
        for label in (0, 1):
            codes, counts = np.unique(exact.codes[exact.labels == label, 0], return_counts=True)
            found.append(self.tree.cuts(Coded.of(codes, counts), noise))
        return tuple(found)


def _cuts() -> list[PromiseCase]:
    """All of the spend on medians, over four codes; a person moves inside of a label, or to the other one."""
    counts = AdditiveNoise(law=DiscreteLaplace(2), sensitivity=sensitivity(largest=1, changed=2), reads=READS)
    tree = MedianTree(first=0, last=3, levels=1, epsilon=Fraction(1, 2), counts=counts, reads=READS)
    cuts = MedianCuts(tree=tree, reads=READS)
    crowd = [(0, 0)] * 4 + [(3, 0)] * 3
    pairs = [
        (people(*crowd, (0, 0)), people(*crowd, (3, 0))),
        (people(*crowd, (0, 0)), people(*crowd, (0, 1))),
        (people((0, 0)), people((3, 1))),
        (people(*[(3, 0)] * 20), people((0, 0), *[(3, 0)] * 19)),
    ]
    return [
        PromiseCase(
            "sanitized-medians-cuts",
            ("PL-SAN2LEARN", "PL-SAN-THRESH-RQ"),
            cuts,
            pairs,
            {"twice the rate": replace(cuts, tree=replace(tree, epsilon=2 * tree.epsilon))},
        )
    ]


def _padded() -> list[PromiseCase]:
    """The size and the sanitizer cost the same; four people, of whom the first changes label."""
    sanitizer = PlaceResponse(weight=noise_weight(Fraction(1, 2), 2))
    padded = PaddedClasses(people=4, scale=Fraction(2), sanitizer=sanitizer, dummy=(0,), reads=READS)
    pairs = [
        (people((0, 0), (1, 0), (0, 0), (1, 0)), people((0, 1), (1, 0), (0, 0), (1, 0))),
    ]
    return [
        PromiseCase(
            "padded-classes",
            ("PL-SAN2LEARN",),
            padded,
            pairs,
            {
                "order kept": changed(Unshuffled, padded),
                "sizes as they are": changed(Unpadded, padded),
            },
            tail=0.01,
        )
    ]


TWO = LearningFacts(("x0",), (booleans(),), categories("no", "yes"), "y", READS)


def _models() -> list[PromiseCase]:
    """What a model is fitted to: all that is drawn from the data. A person changes the feature and the label."""
    model = Measured(facts=TWO, people=3, spend=Pure(6), reads=READS)
    common = [(0, 0), (1, 1)]
    return [
        PromiseCase(
            "sanitized-model",
            ("PL-SAN2LEARN",),
            model,
            [(people(*common, (0, 0)), people(*common, (1, 1)))],
            {
                "noise 5 % smaller": changed(SteeperMeasured, model),
                "every row counts twice": changed(TwiceMeasured, model),
            },
            tail=1e-6,
        )
    ]


CASES = [*_cells(), *_medians(), *_cuts(), *_padded(), *_models()]
