"""The promises of learned rules, over tiny labelled tables.

A learner is a choice among scores that it works out itself, so each case checks two things at once: that the score of
every rule moves by at most one when a person is replaced, and that the choice has the noise that it says.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato import Approximate, Pure, Schema, select
from sfumato.audit import Neighbours
from sfumato.learn.concepts import ConceptChoice, ConditionRule
from sfumato.learn.facts import Sample
from sfumato.learn.frequent_point import FrequentPoint
from sfumato.learn.point import PointChoice
from sfumato.learn.threshold import ThresholdChoice
from sfumato.papers.private_learning.bit_threshold import BitCut, PrefixLength
from sfumato.papers.private_learning.box import BoxSides
from sfumato.papers.private_learning.kearns_box import KearnsAxes
from sfumato.questions.popular import HeavyHitters, PopularCounts, balanced
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.workload import Space
from tests.imputed import booleans, categories, integers
from tests.promises.case import PromiseCase
from tests.promises.printed.learners import NobodyNoNoise, RightMinusWrong, changed

DELTA = "0.02"


def people(rows: dict[tuple[int, int], int]) -> Sample:
    """Return the sample with so many people for each pair of code and label."""
    keys = sorted(rows)
    return Sample.of([[code] for code, _ in keys], [label for _, label in keys], [rows[key] for key in keys])


def steeper(choice: Any, factor: int = 2) -> Any:
    """Return the learner with an exponential mechanism of twice the rate: printed weights exp(eps·score)."""
    return replace(choice, choice=replace(choice.choice, rate=factor * choice.choice.rate))


def _points() -> list[PromiseCase]:
    named = PointChoice(choice=select.stable(Approximate(1, DELTA)), firsts=(0,))
    threshold = named.choice.threshold
    drawn = PointChoice(choice=select.exponential(Pure(1)), firsts=(0,), sizes=(3,))
    pairs = [
        # The lead moves by two: from the second best to the best, by a key and by a label.
        (people({(0, 1): 6, (1, 1): 5}), people({(0, 1): 7, (1, 1): 4})),
        (people({(0, 1): 12, (1, 0): 2}), people({(0, 1): 11, (0, 0): 1, (1, 0): 2})),
        # The winner changes, with a lead of two on one side.
        (people({(0, 1): 3, (1, 1): 5}), people({(0, 1): 4, (1, 1): 4})),
        (people({(2, 1): 2}), people({(2, 1): 1, (0, 1): 1})),
    ]
    return [
        PromiseCase(
            "learn-point-stable",
            ("PL-LEARN-POINT", "PL-ADIST"),
            named,
            pairs,
            {
                # (1/eps)·ln(1/delta) = 3.9 and noise of scale 1/eps.
                "printed A_dist": replace(named, choice=replace(named.choice, scale=Fraction(1), threshold=4)),
                "half the noise": replace(named, choice=replace(named.choice, scale=named.choice.scale / 2)),
                "threshold without the lead": replace(named, choice=replace(named.choice, threshold=threshold - 2)),
            },
        ),
        PromiseCase(
            "learn-point-exponential",
            ("PL-LEARN-POINT", "PL-EM-LEARN"),
            drawn,
            [(people({(0, 1): 1}), people({(1, 1): 1})), (people({(0, 1): 12}), people({(0, 1): 11, (0, 0): 1}))],
            {"weights exp(eps·score)": steeper(drawn), "right minus wrong": changed(RightMinusWrong, drawn)},
        ),
    ]


def _thresholds() -> list[PromiseCase]:
    choice = select.exponential(Pure(1))
    above = ThresholdChoice(choice=choice, place=0, first=0, size=3, direction="above")
    either = replace(above, direction="either")
    pairs = [
        (people({(0, 1): 1, (2, 0): 1}), people({(0, 1): 1, (2, 1): 1})),
        (people({(0, 0): 1, (1, 1): 2}), people({(2, 1): 1, (1, 1): 2})),
        (people({(0, 0): 1}), people({(0, 1): 1})),
        (people({(1, 0): 3, (1, 1): 3}), people({(1, 0): 2, (1, 1): 4})),
    ]
    return [
        PromiseCase(
            f"learn-threshold-{shape.direction}",
            ("PL-LEARN-THRESH",),
            shape,
            pairs,
            {"weights exp(eps·score)": steeper(shape)},
        )
        for shape in (above, replace(above, direction="below"), either)
    ]


def _boxes() -> list[PromiseCase]:
    def box(count: str, side: str, least: int) -> BoxSides:
        return BoxSides(
            scale=1 / Fraction(count),
            least=least,
            kappa=3,
            sides=(select.exponential(Pure(side)),),
            firsts=(0,),
            sizes=(4,),
            counted=frozenset({"y"}),
        )

    counting, placing = box("2", "1/10", 2), box("1/2", "2", -12)
    pairs = [
        (people({(1, 1): 2}), people({(1, 1): 1, (1, 0): 1})),
        (people({(1, 0): 1}), people({(1, 1): 1})),
        (people({(0, 1): 2, (3, 1): 1}), people({(0, 1): 1, (3, 1): 2})),
        (people({(0, 1): 1, (1, 1): 2}), people({(1, 1): 3})),
        (people({(0, 1): 1, (2, 1): 1}), people({(1, 1): 1, (2, 1): 1})),
    ]
    return [
        PromiseCase(
            "learn-box-count",
            ("PL-RECT-Q",),
            counting,
            pairs[:2],
            {
                "half the noise on the count": replace(counting, scale=counting.scale / 2),
                "no noise where nobody has the label": changed(NobodyNoNoise, counting),
            },
        ),
        PromiseCase(
            "learn-box-sides",
            ("PL-RECT-Q",),
            placing,
            pairs[2:],
            {"sides by exp(eps·score)": replace(placing, sides=(replace(placing.sides[0], rate=Fraction(2)),))},
        ),
    ]


def _concepts() -> list[PromiseCase]:
    about: dict[str, Any] = {"features": ("x0",), "domains": (integers(0, 2),), "labels": categories("no", "yes")}
    rules = tuple(ConditionRule(**about, condition=text) for text in ("x0 >= 1", "x0 < 1", "x0 = 2"))
    choice = ConceptChoice(choice=select.exponential(Pure(1)), concepts=rules)
    pairs = [
        (people({(0, 0): 1}), people({(0, 1): 1})),
        (people({(0, 1): 12}), people({(0, 1): 11, (0, 0): 1})),
        (people({(2, 1): 12}), people({(2, 1): 11, (0, 1): 1})),
    ]
    return [PromiseCase("learn-concepts", ("PL-EM-LEARN",), choice, pairs, {"weights exp(eps·score)": steeper(choice)})]


def _frequent() -> list[PromiseCase]:
    tree = balanced(Space.of(Schema({"x0": booleans(), "y": booleans()})), cells=2)
    search = HeavyHitters(tree=tree, scale=Fraction(1), thresholds=(2,), clips=(1,), most=2)
    found = FrequentPoint(counts=PopularCounts(hitters=search, scale=Fraction(2, 5)), firsts=(0,), cut=2)
    pairs = [
        # A flipped label, and a changed feature: one attribute each.
        Neighbours(people({(0, 1): 3}), people({(0, 1): 2, (0, 0): 1}), frozenset({"y"})),
        Neighbours(people({(0, 1): 3, (1, 1): 3}), people({(0, 1): 2, (1, 1): 4}), frozenset({"x0"})),
    ]
    half = replace(found.counts, scale=found.counts.scale / 2)
    sharp = replace(found.counts, hitters=replace(search, scale=search.scale / 4))
    return [
        PromiseCase(
            "learn-point-tree",
            ("PDP-POINT", "PDP-HIST"),
            found,
            pairs,
            {
                "printed counts, half the noise": replace(found, counts=half),
                "a quarter of the noise on lists": replace(found, counts=sharp),
            },
            tail=1e-4,
        )
    ]


def _experimental() -> list[PromiseCase]:
    lengths = PrefixLength(bits=2, scale=Fraction(2), least=2)
    chances = (Fraction(1, 2),)
    axes = KearnsAxes(
        quantiles=(QuantileChoice(size=2, probabilities=chances, epsilon=Fraction(1, 10)),),
        scale=Fraction(1),
        least=1,
        firsts=(0,),
    )
    moved = [
        (people({(0, 1): 1, (1, 0): 1}), people({(1, 1): 1, (1, 0): 1})),
        (people({(0, 1): 3, (1, 1): 3}), people({(0, 1): 2, (1, 1): 4})),
        (people({(0, 1): 2}), people({(0, 1): 1, (1, 1): 1})),
    ]
    return [
        PromiseCase(
            "learn-prefix-length",
            ("PDP-THRESH",),
            lengths,
            [((3, 2, 1), (3, 1, 0)), ((3, 3, 2), (2, 2, 1)), ((4, 0, 0), (5, 1, 1))],
            {
                "probes not counted": replace(lengths, scale=lengths.scale / lengths.probes),
                "half the noise": replace(lengths, scale=lengths.scale / 2),
            },
        ),
        PromiseCase(
            "learn-box-kearns",
            ("PL-RECT-K",),
            axes,
            moved,
            {"one person moves one count": replace(axes, scale=axes.scale / 2)},
            tail=1e-4,
        ),
    ]


def _bits() -> list[PromiseCase]:
    """Count of labels and last choice of a cut on one bit; the search has cases of its own, and is never reached here.

    Everybody has the first label and the bit: that somebody has the other one is seen twice, because hardly ever are
    enough of them counted, and because hardly any cut below the last is chosen.
    """
    cut = BitCut(
        space=Space.of(Schema({"x0": booleans(), "y": booleans()})),
        people=3,
        epsilon=Fraction(6, 100),
        accuracy=Fraction(1, 10),
        failure=Fraction(1, 20),
        count_scale=Fraction(1, 2),
        lengths=PrefixLength(bits=1, scale=Fraction(2), least=10**6),
        choice=select.exponential(Pure(16)),
    )
    flipped = Neighbours(people({(1, 0): 3}), people({(1, 0): 2, (1, 1): 1}), frozenset({"y"}))
    return [
        PromiseCase(
            "learn-bit-cut",
            ("PDP-THRESH",),
            cut,
            [flipped],
            {
                "three quarters of the noise on the count": replace(cut, count_scale=cut.count_scale * Fraction(3, 4)),
                "a choice 5 % steeper": replace(
                    cut, choice=replace(cut.choice, rate=cut.choice.rate / Fraction(95, 100))
                ),
            },
            tail=1e-14,
        )
    ]


CASES = [*_points(), *_thresholds(), *_boxes(), *_concepts(), *_frequent(), *_experimental(), *_bits()]
