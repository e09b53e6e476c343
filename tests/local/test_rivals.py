"""The soft tree where its room is tightest: every device holds one of many items that are all as popular."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.local.tree import RIVALS
from sfumato.local.tree_search import beam

PEOPLE = 150_000
BITS = 24


@pytest.mark.audit
def test_the_soft_tree_finds_rivals_that_are_all_as_popular_as_its_rule_says() -> None:
    items = domain.integers(0, 2**BITS - 1)
    plan = local.plan(users=PEOPLE, spend=Pure(8), items=items, method="soft", seed=bytes(range(32)))
    share = plan.method.guaranteed(PEOPLE, 0.9)
    count = int(1 / share)
    # The room follows the plan in powers of two; with so many users there is hardly more of it than the rule asks for.
    assert RIVALS <= beam(plan.method, PEOPLE) / count < 1.2 * RIVALS
    noise = Noise(insecure_seed=3)
    values = noise.uniform(1 << BITS, count)
    held = np.resize(np.repeat(values, round(share * PEOPLE)), PEOPLE)
    server = plan.server()
    server.ingest(plan.client().reports(held, noise))
    found, true = {item.value for item in server.popular()}, set(values.tolist())
    # At 90 % each, fewer than 85 of a hundred have a chance below 1e-5. Look-alikes of an item that is still to be found
    # have an allowance of their own.
    assert len(found & true) >= 0.85 * count and len(found - true) <= 2
