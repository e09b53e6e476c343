"""The promises of choices that name several things: the best few, and a conversation of queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato import ADD_REMOVE, Concentrated, Pure, select
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, SinhNormal
from tests.promises.case import PromiseCase
from tests.promises.printed.choices import Endless, LoyalTies, SameNoise, changed


def _top() -> list[PromiseCase]:
    # Large spends: the noise is narrow, so that ties are frequent and few paths cover nearly all of its mass. A cut far
    # out shows the noise of one lead alone; between two leads the noise of both would hide a part of what is claimed.
    pick = select.top(Pure(6), count=1)
    far = replace(pick, cut=4)
    two = select.top(Pure(40), count=2)
    gauss = replace(select.top(Concentrated(1), count=1), cut=22)
    sinh = select.Top(count=1, law=SinhNormal(4, 6), gap_sensitivity=2, cut=2)
    counts = replace(select.top(Pure(4), count=1, monotone=True, relation=ADD_REMOVE), cut=4)
    shifts = [([0, 0, 0], [1, -1, -1]), ([0, 6, 0], [1, 5, 1]), ([0, 3, 0], [1, 2, 1])]
    return [
        PromiseCase(
            name="top-laplace",
            spec_ids=("TCDP-GENHIST",),
            mechanism=pick,
            pairs=[([2, 2], [1, 3]), ([0, 3], [1, 2]), ([0, 1, 0], [1, 0, 1]), ([0, 3, 0], [1, 2, 1])],
            mutants={
                "half the noise": replace(pick, law=DiscreteLaplace(scale_of(pick) / 2)),
                "ties to the true top": changed(LoyalTies, pick),
            },
            tail=1e-11,
        ),
        PromiseCase(
            name="top-laplace-above-a-cut",
            spec_ids=("TCDP-GENHIST",),
            mechanism=far,
            pairs=[([3, 0], [2, 1])],
            mutants={"half the noise": replace(far, law=DiscreteLaplace(scale_of(far) / 2))},
            tail=1e-11,
        ),
        PromiseCase(
            name="top-2-laplace",
            spec_ids=("TCDP-GENHIST",),
            mechanism=two,
            pairs=[([2, 2, 0, 0], [1, 1, 1, 1])],
            mutants={"count ignored": replace(two, law=DiscreteLaplace(scale_of(two) / 2))},
            tail=1e-18,
        ),
        PromiseCase(
            name="top-gaussian",
            spec_ids=("TCDP-GENHIST",),
            mechanism=gauss,
            pairs=[([3, 0], [2, 1])],
            # Much less noise would leave nothing at the cut, and be seen nearer by.
            mutants={"noise 5 % smaller": replace(gauss, law=DiscreteGaussian(2 * Fraction(95, 100) ** 2))},
            tail=1e-80,
        ),
        PromiseCase(
            name="top-sinh-normal",
            spec_ids=("TCDP-GENHIST",),
            mechanism=sinh,
            pairs=[([3, 0], [2, 1]), *shifts],
            mutants={"a third of the noise": replace(sinh, law=SinhNormal(Fraction(4, 9), 2))},
        ),
        PromiseCase(
            name="top-monotone",
            spec_ids=("TCDP-GENHIST",),
            mechanism=counts,
            pairs=[([0, 5, 0], [1, 5, 1]), ([0, 0, 0], [1, 0, 0]), ([1, 1, 0], [1, 2, 0])],
            mutants={"half the noise": replace(counts, law=DiscreteLaplace(scale_of(counts) / 2))},
            tail=1e-11,
        ),
    ]


def scale_of(pick: select.Top) -> Fraction:
    """Return the scale of a choice with Laplace noise."""
    assert isinstance(pick.law, DiscreteLaplace)
    return pick.law.scale


BELOW = (False,) * 4 + (True,)
"""Four queries below the threshold pin its noise down; then two are above it."""


def _sparse_vector() -> list[PromiseCase]:
    # Large spends keep the noise narrow and the paths few. Queries for "below" rise while those for "above" fall.
    one = select.sparse_vector(Pure(16), positives=1)
    lazy = replace(one, threshold_scale=Fraction(10, 16), query_scale=Fraction(20, 9 * 16))
    two = select.sparse_vector(Pure(16), positives=2, monotone=True, relation=ADD_REMOVE)
    told = select.sparse_vector(Pure(16), positives=1, answers="1/4")
    counts = select.sparse_vector(Pure(16), positives=1, monotone=True, relation=ADD_REMOVE)
    return [
        PromiseCase(
            name="sparse-vector",
            spec_ids=("QR:C-13",),
            mechanism=one,
            # The second analyst goes on after the positive that was paid for.
            pairs=[
                ([-1, -1, -1, 0], [0, 0, 0, -1]),
                (Impatient((0, -1, 0, -1), (True, False, True)), Impatient((-1, 0, -1, 0), (True, False, True))),
            ],
            mutants={
                "half the query noise": replace(one, query_scale=one.query_scale / 2),
                "never stops": changed(Endless, one),
            },
            tail=1e-10,
        ),
        PromiseCase(
            name="sparse-vector-little-for-the-threshold",
            spec_ids=("QR:C-13",),
            mechanism=lazy,
            pairs=[([-1, -1, -1, 0], [0, 0, 0, -1])],
            mutants={"no threshold noise": replace(lazy, threshold_scale=Fraction(1, 50))},
            tail=1e-10,
        ),
        PromiseCase(
            name="sparse-vector-2-positives",
            spec_ids=("QR:C-13",),
            mechanism=two,
            pairs=[(Impatient((-1,) * 4 + (0, 0), BELOW), Impatient((0,) * 6, BELOW))],
            mutants={"positives ignored": replace(two, query_scale=two.query_scale / 2)},
            tail=1e-11,
        ),
        PromiseCase(
            name="sparse-vector-answers",
            spec_ids=("QR:C-13",),
            mechanism=told,
            pairs=[([-1, -1, 0], [0, 0, -1]), ([-1] * 6 + [0], [0] * 6 + [-1])],
            mutants={
                "the compared value is released (QR:D3)": changed(SameNoise, told),
                "a quarter of the answer noise": replace(told, answer_scale=Fraction(1, 16)),
            },
            tail=1e-10,
        ),
        PromiseCase(
            name="sparse-vector-monotone",
            spec_ids=("QR:C-13",),
            mechanism=counts,
            pairs=[([-1, -1, -1, 0], [0, 0, 0, 0])],
            mutants={"half the query noise": replace(counts, query_scale=counts.query_scale / 2)},
            tail=1e-10,
        ),
    ]


@dataclass(frozen=True)
class Impatient:
    """An analyst who goes on only while the replies are as expected: fewer paths, the same worst stream."""

    answers: tuple[int, ...]
    expected: tuple[bool, ...]

    def __call__(self, replies: tuple[Any, ...]) -> int | None:
        """Return the exact answer to the next query, None to end."""
        seen = tuple(bool(reply) for reply in replies)
        if len(seen) == len(self.answers) or seen != self.expected[: len(seen)]:
            return None
        return self.answers[len(seen)]


CASES = [*_top(), *_sparse_vector()]
