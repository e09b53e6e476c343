"""What learners need: points, cut-offs, boxes, listed rules, private labels, halfspaces."""

from __future__ import annotations

import math

from sfumato.errors import UnsupportedSpend
from sfumato.learn import sampling
from sfumato.learn.shares import COUNT_SHARE, choice_epsilon
from sfumato.plan import tasks
from sfumato.plan.rates import choice_loss, rates, solver_losses, stable_gap
from sfumato.plan.requirement import Asked, Requirement
from sfumato.plan.trees import tree_people
from sfumato.privacy import Approximate, Bound, Pure

SOLVERS = {"exponential": "PL-EM", "shifted-windows": "PL-REC2", "two-covers": "PL-REC"}
SOLVER_FORMULAS = {
    "exponential": "D = (2/e)·ln(size/b)",
    "shifted-windows": "D = (√a1 + √a2 + √a3)²/e + 2 with a1 = 4·ln(levels/b), a2 = 2·ln(1/(2·delta)) + 2·ln(1/(2b)), "
    "a3 = 2·ln(W/b)",
    "two-covers": "D = (8/3)·max{3 + (8/e)·ln(1/(delta·2b)), (8/e)·ln(15/b)}, or 64/e·ln(levels/b) if larger",
}


def choose_best(task: tasks.ChooseBest, asked: Asked) -> list[Requirement]:
    """Return what choices need so that they miss the best by at most accuracy·people."""
    found = [
        Requirement(
            method="exponential",
            privacy=choice_loss(asked.spend, math.log(task.candidates), asked.failure) / asked.accuracy,
            sampling=0.0,
            formula="n >= (2/(accuracy·e))·ln(candidates/failure)",
            spec="PL-EM",
            run="select.exponential(spend)",
        )
    ]
    bought = rates(asked.spend)
    if bought.delta is not None and 2 * bought.delta < 1:
        found.append(
            Requirement(
                method="stable",
                privacy=stable_gap(bought.stated, bought.delta, asked.failure) / asked.accuracy,
                sampling=0.0,
                formula="n >= (2 + (2/e)·(ln(1/(2·delta)) + ln(1/(2·failure))))/accuracy, for a winner with that lead; "
                "it names nothing if there is none",
                spec="PL-ADIST",
                run="select.stable(spend)",
            )
        )
    return found


def learn_point(task: tasks.LearnPoint, asked: Asked) -> list[Requirement]:
    """Return what learners of one value need: the clear winner, or a choice among all values."""
    found = [
        Requirement(
            method="exponential",
            privacy=2 / asked.accuracy * choice_loss(asked.spend, math.log(2**task.bits + 1), asked.failure / 2),
            sampling=sampling.point_consistent(asked.accuracy, asked.failure),
            formula="n >= max{(4/(accuracy·e))·ln(2·(2^bits + 1)/failure), (24/accuracy)·ln(4/failure), "
            "(8/accuracy)·ln(16/(accuracy·failure))}",
            spec="PL-EM-LEARN",
            run="learn.PrivatePoint(spend=...)",
        )
    ]
    bought = rates(asked.spend)
    if bought.delta is not None and 2 * bought.delta < 1:
        epsilon, each = bought.stated, asked.failure
        found.append(
            Requirement(
                method="stable",
                privacy=4 / (asked.accuracy * epsilon) * (epsilon - math.log(2 * each * bought.delta)),
                sampling=sampling.cut_consistent(asked.accuracy, each),
                formula="n >= max{(8/accuracy)·ln(2/failure), 4/(accuracy·e)·(e + ln(1/(2·failure·delta)))}",
                spec="PL-LEARN-POINT",
                run="learn.PrivatePoint(spend=...)",
                printed=8 / (asked.accuracy * epsilon) * math.log(4 / (each * bought.delta)),
            )
        )
    if isinstance(asked.spend, Pure) and asked.spend.unit == "attribute":
        found.append(
            Requirement(
                method="frequent records",
                privacy=tree_people(task.bits + 1, asked.spend, asked.accuracy / 5, asked.failure),
                sampling=sampling.nearly_consistent(asked.accuracy, asked.failure, 1, None),
                formula="n >= F/(0.2·accuracy), F the smallest count that the search over bits and label finds",
                spec="PDP-POINT",
                run="learn.PrivatePoint(spend=...)",
            )
        )
    return found


def learn_threshold(task: tasks.LearnThreshold, asked: Asked) -> list[Requirement]:
    """Return what learners of a cut-off need: D, the loss of a solver, on half of the accuracy."""
    half = asked.failure / 2
    losses = solver_losses(asked.spend, 2**task.bits + 1, half)
    if task.realizable:
        sample, text = sampling.cut_consistent(asked.accuracy, half), "(8/accuracy)·ln(4/failure)"
    else:
        # Scores need not be quasi-concave then, and only the exponential mechanism promises anything.
        losses = {"exponential": losses["exponential"]}
        sample, text = sampling.cut_uniform(asked.accuracy / 4, half), "(32/accuracy²)·ln(8/failure)"
    return [
        Requirement(
            method=name,
            privacy=2 / asked.accuracy * loss,
            sampling=sample,
            formula=f"n >= max{{{text}, (2/accuracy)·D}}, {SOLVER_FORMULAS[name]}, b = failure/2",
            spec=f"PL-LEARN-THRESH, {SOLVERS[name]}",
            run="learn.PrivateThreshold(spend=...)",
            printed=_printed_threshold(task.bits, asked) if name == "two-covers" else None,
        )
        for name, loss in losses.items()
    ]


def learn_box(task: tasks.LearnBox, asked: Asked) -> list[Requirement]:
    """Return what learners of a box need: one solver for each side, and a test whether there is anybody inside."""
    sides = 2 * task.dimensions
    each = asked.failure / (2 * (sides + 1))
    sample = sampling.nearly_consistent(asked.accuracy, asked.failure / 2, sides, None)
    return [
        Requirement(
            method=name,
            privacy=2 * sides / asked.accuracy * (2 * math.ceil(loss) + 1),
            sampling=sample,
            formula="n >= max{(4·dimensions/accuracy)·(2D + 1), 16/accuracy·ln(4·S(2n)·2/failure)}, "
            f"{SOLVER_FORMULAS[name]}, e a part of the spend that fits 2·dimensions + 1/4 times",
            spec=f"PL-RECT-Q, {SOLVERS[name]}",
            run="learn.PrivateBox(spend=...)",
        )
        for name, loss in _side_losses(asked.spend, 2**task.bits, each, sides).items()
    ]


def _side_losses(spend: Bound, size: int, failure: float, sides: int) -> dict[str, float]:
    """Return how far off one side may be; the count beside the sides takes a quarter of a part."""
    losses = {"exponential": 2 / float(choice_epsilon(spend, sides)) * (math.log(size) - math.log(failure))}
    if isinstance(spend, Approximate) and 2 * spend.delta < 1:
        part = Approximate(spend.epsilon / (sides + COUNT_SHARE), spend.delta / sides)
        losses["shifted-windows"] = solver_losses(part, size, failure)["shifted-windows"]
    return losses


def learn_finite(task: tasks.LearnFinite, asked: Asked) -> list[Requirement]:
    """Return what a choice among listed rules needs."""
    run = "learn.ExponentialLearner(spend=...)"
    return [_finite(asked, math.log(task.candidates), task.vc_dimension, run, task.candidates)]


def learn_labels(task: tasks.LearnLabels, asked: Asked) -> list[Requirement]:
    """Return what learning from private labels needs: all features list the rules, or some of them, or a pool."""
    dimension, accuracy, failure = task.vc_dimension, asked.accuracy, asked.failure
    listing = math.ceil(64 / accuracy * (dimension * math.log(128 / accuracy) + math.log(8 / failure)))
    epsilon = rates(asked.spend).choice
    logarithm = sampling.shatter_log(dimension, listing)
    choosing = 8 / (accuracy * min(1.0, epsilon)) * (logarithm + math.log(4 / failure))
    fresh = 24 / accuracy * math.log(4 / failure)
    unlabelled = 0 if task.pool else listing
    listed = "n0 of the pool" if task.pool else "n0 more whose labels are not read"
    split = Requirement(
        method="rules listed on a pool" if task.pool else "rules listed on some features",
        privacy=unlabelled + choosing,
        sampling=unlabelled + fresh,
        formula="n >= max{(24/accuracy)·ln(4/failure), 8/(accuracy·min(1, e))·(VC·ln(2.72·n0/VC) + ln(4/failure))} "
        f"and {listed}, n0 = (64/accuracy)·(VC·ln(128/accuracy) + ln(8/failure))",
        spec="PL-SEMI" if task.pool else "PL-LABEL",
        run="learn.SemiPrivate(spend=...)" if task.pool else "as printed; LabelPrivate lists on all features",
        printed=768 / (accuracy**2 * epsilon) * (dimension * math.log(64 / accuracy) + 2 * math.log(8 / failure)),
        demonstrator=not task.pool,
    )
    return [split] if task.pool else [_all_features(dimension, asked), split]


def _all_features(dimension: int, asked: Asked) -> Requirement:
    epsilon, accuracy, failure = rates(asked.spend).choice, asked.accuracy, asked.failure

    def enough(people: float) -> bool:
        lost = 2 / epsilon * (sampling.shatter_log(dimension, people) + math.log(2 / failure))
        return lost <= accuracy * people / 2

    return Requirement(
        method="rules listed on all features",
        privacy=sampling.smallest(enough),
        sampling=sampling.nearly_consistent(accuracy, failure / 2, dimension, None),
        formula="n >= max{(4/(accuracy·e))·ln(2·S(n)/failure), (16/accuracy)·ln(8·S(2n)/failure)}, S Sauer's bound on "
        "the number of labellings",
        spec="PL-LABEL",
        run="learn.LabelPrivate(spend=...)",
    )


def learn_halfspace(task: tasks.LearnHalfspace, asked: Asked) -> list[Requirement]:
    """Return what the choice among listed halfspaces needs, per attribute with smoothed labels, or per person."""
    logarithm, half = math.log(task.candidates), asked.failure / 2
    if asked.spend.unit == "person":
        loss = choice_loss(asked.spend, logarithm, half)
        sample = sampling.uniform(asked.accuracy / 4, half, None, task.candidates)
        return [
            Requirement(
                method="exponential",
                privacy=2 / asked.accuracy * loss,
                sampling=sample,
                formula="n >= max{(8/accuracy²)·ln(4·candidates/failure), (2/accuracy)·(2/e)·ln(2·candidates/failure)}",
                spec="PL-EM-LEARN",
                run="learn.ExponentialLearner(spend=...)",
            )
        ]
    if not isinstance(asked.spend, Pure):
        raise UnsupportedSpend("Robust halfspaces take a pure spend; write for example Pure(1).per_attribute().")
    epsilon = rates(asked.spend).stated
    keep = 1 / (1 + math.exp(-epsilon))
    width = 1 / (2 * keep - 1)
    step = min(1.0, 1 / float((task.margin - task.kept) * task.features))
    moved = step * width * (keep if task.kept * task.features >= 1 else 1)
    choosing = 2 * moved / epsilon * (logarithm - math.log(half))
    return [
        Requirement(
            method="robust",
            privacy=2 / asked.accuracy * choosing,
            sampling=8 * (width / asked.accuracy) ** 2 * (logarithm + math.log(2 / half)),
            formula="n >= max{(8·w²/accuracy²)·ln(4·candidates/failure), (4·s/(accuracy·e))·ln(2·candidates/failure)}, "
            "w = (exp(e) + 1)/(exp(e) - 1), s = w/((margin - kept)·features), times exp(e)/(1 + exp(e)) if "
            "kept·features >= 1",
            spec="PDP-ROBERM",
            run="learn.RobustHalfspace(spend=...)",
        )
    ]


def _finite(
    asked: Asked, log_candidates: float, vc_dimension: int | None, run: str, candidates: int | None = None
) -> Requirement:
    half = asked.failure / 2
    return Requirement(
        method="exponential",
        privacy=2 / asked.accuracy * choice_loss(asked.spend, log_candidates, half),
        sampling=sampling.nearly_consistent(asked.accuracy, half, vc_dimension, candidates),
        formula="n >= max{(4/(accuracy·e))·ln(2·candidates/failure), the smaller of "
        "(8/accuracy)·ln(2·candidates/failure) and 16/accuracy·ln(8·S(2n)/failure)}, "
        "S Sauer's bound on the number of labellings",
        spec="PL-EM-LEARN",
        run=run,
    )


def _printed_threshold(bits: int, asked: Asked, depth: int = 2) -> float:
    """Return Theorem 3.18 with its constants, at recursion depth 2."""
    bought = rates(asked.spend)
    assert bought.delta is not None
    inner = math.log2(12 * depth / (asked.failure * bought.delta)) + math.log2(bits)
    recursion = 8.0**depth * 72 * depth / (asked.accuracy * bought.stated) * inner
    return max(200 / asked.accuracy**2 * math.log(4 / (asked.accuracy * asked.failure)), recursion)
