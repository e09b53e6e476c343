"""The shape of a promise case: a shipped mechanism, its tiny neighbours, and the mutants that must be caught.

To add cases, write `tests/promises/cases_<topic>.py` with a list `CASES`; `test_promises.py` finds it.

    from dataclasses import replace

    from sfumato.audit import Neighbours
    from tests.promises.case import PromiseCase

    count = AdditiveNoise(law=DiscreteLaplace(2), sensitivity=1)

    CASES = [
        PromiseCase(
            name="count-laplace",
            spec_ids=("QR-LAP",),
            mechanism=count,
            pairs=[(5, 6)],
            mutants={"half the noise": replace(count, law=DiscreteLaplace(1))},
        ),
    ]

What runs for each case (the same function for all of them):

(a) the exact law of the code over all `pairs`, in both orders, stays within `mechanism.loss()`;
(b) the largest measured loss, for a person and for every set of attributes that some pair changes, is at least 0.97 of
    the claimed one, so that noise 5 % too small is seen, or `exempt.toml` says how much is reached and why;
(c) every mutant, run on the same pairs against the claim of the *unchanged* mechanism, breaks it.

Choose the pairs and the spend at which the claim is reached and the mutants are visible: the extreme neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.audit import Neighbours
from sfumato.mechanism import Promise

Pair = tuple[Any, Any] | Neighbours


@dataclass(frozen=True)
class PromiseCase:
    """One mechanism or interaction with the neighbours over which its promise is enumerated.

    `pairs` are `(exact, other)`, or `Neighbours(exact, other, attributes)` where only some attributes
    changed: the claim is then the loss of those attributes. Of an interaction, `exact` is the list of the
    exact answers to its queries, or a function from the tuple of values answered so far to the next exact
    answer (`None` ends the conversation): an adaptive analyst.

    `mutants` map what was broken to the broken mechanism: usually `dataclasses.replace` on `mechanism`, or a
    small subclass under `tests/promises/printed/`.

    `tail` bounds the mass that each draw from an infinite law leaves out (by default 1e-9, or a thousandth of
    the claimed leak), `paths` the number of runs of one law. A `long` case runs in the audit only: it repeats at length
    what another one of the same mechanism shows in the gate. Of a `slow` case the gate looks at the first mutant, and
    the audit at the others.
    """

    name: str
    spec_ids: tuple[str, ...]
    mechanism: Promise
    pairs: Sequence[Pair]
    mutants: Mapping[str, Promise] = field(default_factory=dict)
    tail: float | None = None
    paths: int = 2_000_000
    long: bool = False
    slow: bool = False

    def __post_init__(self) -> None:
        if not self.pairs:
            raise ValueError(f"The case {self.name!r} has no neighbours; list at least one pair.")
        if not self.spec_ids:
            raise ValueError(f"The case {self.name!r} names no spec ID; write the ID of its mathematics.")
