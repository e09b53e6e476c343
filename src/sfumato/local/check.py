"""LO-FORGED: do the reports look as if devices had made them? Alarms from public counts, and what they cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.linear import LinearHash

if TYPE_CHECKING:
    from sfumato.local.all_reports import AllReports
    from sfumato.local.server import Server

LEVEL = 1e-6
"""Honest reports raise one of the alarms about so often."""
_FEWEST = 20
"""Cells in which fewer reports are expected are not judged: the law of the statistic is not known well enough."""
_COLUMN_BITS = 8


@dataclass(frozen=True)
class Test:
    """A sum of squares that honest reports exceed with `chance`; `raised` if that is too small to be chance."""

    __test__ = False

    statistic: float
    freedom: int
    chance: float
    raised: bool


@dataclass(frozen=True)
class Check:
    """Whether reports were made as the plan says: `roles`, `values` and, for each listed item, `items`.

    `roles` compares how many reports came for each role with the shares of the plan; None if there are too few.
    `values` compares, role by role, the public part of the reports with a uniform one. `items` compares what the roles
    say about each listed item: support from some roles only was not sent by holders that draw their role. A forger who
    draws roles as the plan says raises nothing, and each of his reports counts as `PopularItem.influence` users. At
    0.1 % of forged reports in one role the first alarm sees nothing below some three million reports: it finds faulty
    clients and clumsy forgers.

    >>> from sfumato import Noise, Pure, domain, local
    >>> plan = local.plan(users=50_000, spend=Pure(4), items=domain.integers(0, 2**20 - 1), seed=bytes(32))
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports([7] * 50_000, Noise(insecure_seed=1)))
    50000
    >>> server.check().alarms
    ()
    """

    roles: Test | None
    values: tuple[Test | None, ...]
    items: tuple[Test, ...] = ()

    @property
    def alarms(self) -> tuple[str, ...]:
        """A sentence for each alarm that is raised."""
        said = []
        if self.roles is not None and self.roles.raised:
            said.append(
                "The reports are not spread over the roles as the plan says "
                f"(chi-square {self.roles.statistic:.0f} on {self.roles.freedom} degrees of freedom): some were made "
                "by a faulty client or by nobody's device."
            )
        strange = [place for place, test in enumerate(self.values) if test is not None and test.raised]
        if strange:
            said.append(
                f"The reports of {len(strange)} of {len(self.values)} roles repeat themselves more than random ones "
                "do: some were sent again and again, or made by a faulty client."
            )
        uneven = sum(test.raised for test in self.items)
        if uneven:
            said.append(
                f"{uneven} of {len(self.items)} listed items have their support from some roles only, which no group "
                "of honest devices gives; do not build on them."
            )
        return tuple(said)


def check_reports(server: Server, items: Sequence[Test] = ()) -> Check:
    """Return what the counts say about the reports."""
    values = tuple(_columns(server, role) for role in range(len(server.plan.method.roles)))
    return Check(role_test(server), values, tuple(items))


def role_test(server: Server) -> Test | None:
    """Return how far the numbers of reports by role are from the plan's shares; None if there are too few to judge."""
    shares = np.array([role.share for role in server.plan.method.roles], dtype=np.float64)
    sizes = np.array([server.tally(role).sum() for role in range(len(shares))])
    return _fit(sizes, server.accepted * shares / shares.sum(), LEVEL)


def _columns(server: Server, role: int) -> Test | None:
    """Compare the columns of one role's reports, which do not depend on any item, with uniform ones."""
    oracle = server.plan.method.roles[role].oracle
    if not isinstance(oracle, LinearHash):
        return None
    bits = min(_COLUMN_BITS, oracle.column_bits)
    counts = server.tally(role).reshape(oracle.spread, 1 << bits, -1).sum(axis=(0, 2))
    level = LEVEL / len(server.plan.method.roles)
    return _fit(counts, np.full(len(counts), counts.sum() / len(counts)), level)


def _fit(counts: Any, expected: Any, level: float) -> Test | None:
    if len(counts) < 2 or expected.min() < _FEWEST:
        return None
    return _judged(float(((counts - expected) ** 2 / expected).sum()), len(counts) - 1, level)


def _judged(statistic: float, freedom: int, level: float) -> Test:
    from scipy.special import chdtrc

    chance = float(chdtrc(freedom, statistic))
    return Test(statistic, freedom, chance, chance < level)


def item_tests(tables: AllReports, rows: Any, first: Any, shares: Any) -> list[Test]:
    """Return for each listed item how far its support by role is from what its share says; all of them are peeled."""
    if not len(rows):
        return []
    left = np.stack([reader.counts(tables.points(rows, role)) for role, reader in enumerate(tables.readers)], axis=1)
    laws = tables.role_laws()
    made = []
    for place, (begin, share) in enumerate(zip(first.tolist(), shares.tolist(), strict=True)):
        used = [role for role in range(begin, len(laws)) if tables.sizes[role] >= _FEWEST]
        squares = [(left[place, role] / tables.sizes[role] / float(laws[role].error(share))) ** 2 for role in used]
        made.append(_judged(float(sum(squares)), max(1, len(used) - 1), LEVEL / len(rows)))
    return made
