"""The soft tree where its room, not the noise, limits it: every device holds one of many items that are all as popular."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Noise, Pure, domain, local

PEOPLE = 40_000
BITS = 24


@pytest.mark.audit
def test_the_soft_tree_finds_rivals_that_are_all_as_popular_as_its_rule_says() -> None:
    items = domain.integers(0, 2**BITS - 1)
    plan = local.plan(users=PEOPLE, spend=Pure(8), items=items, method="soft", seed=bytes(range(32)))
    share = plan.method.guaranteed(PEOPLE, 0.9)
    assert share > plan.detectable
    count = int(1 / share)
    noise = Noise(insecure_seed=3)
    values = noise.uniform(1 << BITS, count)
    held = np.resize(np.repeat(values, round(share * PEOPLE)), PEOPLE)
    server = plan.server()
    server.ingest(plan.client().reports(held, noise))
    found, true = {item.value for item in server.popular()}, set(values.tolist())
    # At 90 % each, fewer than three in four of 256 have a chance below 1e-9. Look-alikes of an item that is still to be
    # found have an allowance of their own.
    assert len(found & true) >= 0.75 * count and len(found - true) <= 2
