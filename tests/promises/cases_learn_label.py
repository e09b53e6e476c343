"""The promises of learning with public features or a public pool, over all tiny labellings."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from sfumato import Pure, select
from sfumato.audit import Neighbours
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.papers.private_learning.families import Boxes, Cuts, Points
from sfumato.papers.private_learning.fitted import Recipe
from sfumato.papers.private_learning.label import LabelChoice, LabelResponse
from sfumato.papers.private_learning.labellings import Reproducible, RuleList
from sfumato.papers.private_learning.semi import PoolChoice
from sfumato.privacy.coins import noise_weight
from tests.imputed import categories, integers
from tests.promises.case import PromiseCase
from tests.promises.printed.labels import OwnPool, SeenLabelResponse, SeenLabels

LABEL = frozenset({"y"})
EVERYBODY = frozenset({"x0", "y"})


def facts(size: int = 6, public: bool = True) -> LearningFacts:
    domain = integers(0, size - 1, public=public)
    return LearningFacts(("x0",), (domain,), categories("no", "yes"), "y", LABEL if public else EVERYBODY)


def changed(kind: type, unchanged: Any) -> Any:
    """Return the same mechanism with the behaviour of a broken class."""
    return kind(**{part.name: getattr(unchanged, part.name) for part in fields(unchanged)})


def flipped(people: int) -> list[Neighbours]:
    """Return every labelling of 0 … people - 1 with every one that differs in one label."""
    codes = [[place] for place in range(people)]
    found = []
    for labels in product((0, 1), repeat=people):
        for place in range(people):
            if labels[place] == 0:
                other = [*labels[:place], 1, *labels[place + 1 :]]
                found.append(Neighbours(Sample.of(codes, labels), Sample.of(codes, other), LABEL))
    return found


def clustered(ones: int) -> Sample:
    """Return many people at one end and one at the other, of whom so many of the first have the second label."""
    return Sample.of([[0], [0], [5]], [1, 0, 1], [ones, 8 - ones, 1])


def _labels() -> list[PromiseCase]:
    cuts = LabelChoice(choice=select.exponential(Pure(1), reads=LABEL), family=Cuts(), facts=facts(), reads=LABEL)
    rules = replace(cuts, family=RuleList(("x0 >= 3", "x0 < 2", "x0 >= 3 and x0 < 9")))
    steep = replace(cuts.choice, rate=2 * cuts.choice.rate)
    pairs = [*flipped(4), Neighbours(clustered(8), clustered(7), LABEL), Neighbours(clustered(0), clustered(1), LABEL)]
    cases = [
        PromiseCase(
            f"label-private-{shape.family.name}",
            ("PL-LABEL",),
            shape,
            pairs,
            {
                "weights exp(eps·score)": replace(shape, choice=steep),
                "list has seen a label": changed(SeenLabels, shape),
            },
        )
        for shape in (cuts, replace(cuts, family=Boxes()), replace(cuts, family=Points()), rules)
    ]
    tree = replace(cuts, family=Reproducible(Recipe.of(DecisionTreeClassifier(max_depth=1)), 3))
    cases.append(
        PromiseCase(
            "label-private-classifier",
            ("PL-LABEL",),
            tree,
            flipped(3)[::4],
            {"weights exp(eps·score)": replace(tree, choice=steep), "list has seen a label": changed(SeenLabels, tree)},
        )
    )
    return cases


def _response() -> list[PromiseCase]:
    response = LabelResponse(weight=noise_weight(Pure(1).epsilon, 2), reads=LABEL)
    grouped = [Sample.of([[0], [0], [3]], [1, 0, 1], counts) for counts in ([2, 1, 1], [1, 2, 1])]
    return [
        PromiseCase(
            "label-response",
            ("PL-LABEL", "BERN-EXACT"),
            response,
            [*flipped(3), Neighbours(*grouped, LABEL)],
            {
                "half the coins": replace(response, weight=response.weight // 2),
                "one kind of label only": changed(SeenLabelResponse, response),
            },
        )
    ]


def _pool() -> list[PromiseCase]:
    choice = select.exponential(Pure(1), reads=EVERYBODY)
    pool = PoolChoice(choice=choice, family=Cuts(), facts=facts(public=False), pool=((0,), (2,), (4,)), reads=EVERYBODY)
    people = [[(code, label) for code in range(0, 6, 2) for label in (0, 1)]] * 3
    pairs = []
    for rows in product(*people):
        for code, label in people[0]:
            other = [(code + 1, label), *rows[1:]]
            if rows[0] != other[0] and rows[1] <= rows[2]:
                pairs.append(
                    tuple(Sample.of([[x] for x, _ in table], [y for _, y in table]) for table in (rows, other))
                )
    return [
        PromiseCase(
            "semi-private-cuts",
            ("PL-SEMI",),
            pool,
            pairs[::14],
            {
                "weights exp(eps·score)": replace(pool, choice=replace(choice, rate=2 * choice.rate)),
                "pool of private people": changed(OwnPool, pool),
            },
        )
    ]


CASES = [*_labels(), *_response(), *_pool()]
