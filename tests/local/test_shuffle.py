"""LO-SHUFFLE: the golden numbers, brute force over small shuffled collections, and mutants that it catches."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from sfumato import Approximate, Noise, Pure, domain, local
from sfumato.errors import ParameterError
from sfumato.local import shuffle
from sfumato.local.shuffle import shuffled_loss

GOLDEN = {
    (10**5, 1): 0.0206,
    (10**5, 2): 0.0588,
    (10**5, 4): 0.2155,
    (10**5, 6): 0.663,
    (10**6, 4): 0.0642,
    (10**6, 6): 0.190,
    (10**7, 6): 0.0567,
}
DELTA = Fraction(1, 10**8)
PLAN = local.plan(users=100_000, spend=Pure(4), items=domain.integers(0, 2**32 - 1), seed=bytes(32))


@pytest.mark.parametrize(("honest", "epsilon"), GOLDEN)
def test_losses_are_the_golden_ones(honest, epsilon):
    found = shuffled_loss(Fraction(math.exp(epsilon)), Fraction(epsilon), honest, DELTA)
    assert float(found.epsilon) == pytest.approx(GOLDEN[honest, epsilon], rel=0.01) and found.delta == DELTA


def clone_leak(odds, others, ratio, chance=None, person=None):
    """Return the leak of T7 by exact sums: others are clones with `chance`, the person of the first type by `person`."""
    chance = 1 / odds if chance is None else chance
    total = Fraction(0)
    for clones in range(others + 1):
        mass = math.comb(others, clones) * chance**clones * (1 - chance) ** (others - clones)
        half = [Fraction(math.comb(clones, k), 2**clones) for k in range(clones + 1)]
        first = odds / (1 + odds) if person is None else person

        def law(chance, half=half, clones=clones):
            return [
                (half[k - 1] * chance if k else 0) + (half[k] * (1 - chance) if k <= clones else 0)
                for k in range(clones + 2)
            ]

        pairs = zip(law(first), law(1 - first), strict=True)
        total += mass * sum(max(Fraction(0), one - ratio * other) for one, other in pairs)
    return total


def shuffled_leak(laws, people, ratio, one, other):
    """Return the leak of the multiset of reports, the first person with one item or another, by enumeration."""

    def law(first):
        found = {}
        for outputs in product(range(len(laws[0])), repeat=1 + len(people)):
            chance = laws[first][outputs[0]]
            for item, output in zip(people, outputs[1:], strict=True):
                chance *= laws[item][output]
            key = tuple(sorted(outputs))
            found[key] = found.get(key, Fraction(0)) + chance
        return found

    left, right = law(one), law(other)
    return sum(max(Fraction(0), left[key] - ratio * right[key]) for key in left)


def response(odds, answers):
    """Return the laws of randomized response: the right answer `odds` times as likely as each other one."""
    weight = Fraction(1) / (odds + answers - 1)
    return [[odds * weight if item == output else weight for output in range(answers)] for item in range(answers)]


class TestBruteForce:
    ODDS = Fraction(27, 10)

    @pytest.mark.parametrize("ratio", [Fraction(1), Fraction(12, 10), Fraction(2)])
    def test_no_small_collection_leaks_more(self, ratio):
        for answers in (2, 3):
            laws = response(self.ODDS, answers)
            for people in product(range(answers), repeat=3):
                leak = shuffled_leak(laws, people, ratio, 0, 1)
                assert leak <= clone_leak(self.ODDS, len(people), ratio)

    def test_clients_of_a_real_plan_leak_no_more(self):
        """The whole law of a device, role and null report included, of a tiny list plan."""
        plan = local.plan(users=10, spend=Pure(1), candidates=["a", "b"], seed=bytes(32))
        oracle = plan.method.oracle
        weight = Fraction(oracle.weight, 2**63)
        laws = [[weight / 2 + (1 - weight if item == said else 0) for said in range(2)] for item in range(2)]
        laws.append([Fraction(1, 2)] * 2)
        for people in product(range(3), repeat=3):
            for ratio in (Fraction(1), Fraction(6, 5)):
                assert shuffled_leak(laws, people, ratio, 0, 1) <= clone_leak(oracle.odds, 3, ratio)

    def test_mutants_are_caught(self):
        ratio, laws = Fraction(122, 100), response(self.ODDS, 3)
        true = shuffled_leak(laws, (2, 2), ratio, 0, 1)
        assert clone_leak(self.ODDS, 2, ratio) >= true
        # All others clones; twice as many clones as there are.
        assert clone_leak(self.ODDS, 2, ratio, chance=Fraction(1)) < true
        assert clone_leak(self.ODDS, 2, ratio, chance=2 / self.ODDS) < true
        # The person's own type by a fair coin, as that of a clone.
        assert clone_leak(self.ODDS, 1, ratio, person=Fraction(1, 2)) < shuffled_leak(laws, (2,), ratio, 0, 1)
        # A colluder is counted as honest: he is subtracted, and one device fewer hides the person.
        assert clone_leak(self.ODDS, 1, ratio) < shuffled_leak(response(self.ODDS, 2), (), ratio, 0, 1)

    def test_a_report_that_is_sent_twice_tells_more(self):
        laws, ratio = response(self.ODDS, 3), Fraction(165, 100)
        doubled = [[Fraction(0)] * 9 for _ in range(3)]
        for item in range(3):
            for said in range(3):
                doubled[item][3 * said + said] = laws[item][said]

        def law(first):
            found = {}
            for said, others in product(range(3), product(range(3), repeat=4)):
                chance = laws[first][said] * math.prod(laws[2][other] for other in others)
                key = tuple(sorted((said, said, *others)))
                found[key] = found.get(key, Fraction(0)) + chance
            return found

        left, right = law(0), law(1)
        leak = sum(max(Fraction(0), left[key] - ratio * right[key]) for key in left)
        assert leak > shuffled_leak(laws, (2,) * 4, ratio, 0, 1)

    def test_the_buckets_only_add(self):
        """What is proved lies above the exact sum, and not far."""
        odds, honest, delta = Fraction(math.exp(2)), 200, Fraction(1, 1000)
        found = shuffled_loss(odds, Fraction(2), honest, delta)
        ratio = Fraction(math.exp(found.epsilon))
        exact = clone_leak(odds, honest - 1, ratio)
        assert exact <= delta and clone_leak(odds, honest - 1, Fraction(math.exp(0.93 * float(found.epsilon)))) > delta


class TestPlans:
    def test_more_honest_devices_and_a_larger_delta_never_hurt(self):
        losses = [PLAN.shuffled(honest, 1e-8).epsilon for honest in (2, 1000, 10_000, 100_000)]
        assert losses == sorted(losses, reverse=True) and losses[0] == PLAN.loss().person.epsilon
        assert PLAN.shuffled(10_000, 1e-6).epsilon < PLAN.shuffled(10_000, 1e-10).epsilon

    def test_the_spend_of_a_device_stays_the_local_one(self, tmp_path):
        device = PLAN.client().remember(tmp_path / "memory", lifetime=Pure(8))
        device.report(5, Noise(insecure_seed=1))
        assert device.spent.epsilon == PLAN.loss().person.epsilon > 3

    def test_several_reports_are_linked_unless_it_is_said(self):
        items = domain.integers(0, 2**16 - 1)
        week = local.plan(users=10**6, spend=Pure(4), items=items, reports=4, seed=bytes(32))
        linked, apart = (week.shuffled(10**6, 1e-8, linked=linked) for linked in (True, False))
        assert apart.epsilon < linked.epsilon <= 4 and apart.delta == linked.delta == DELTA

    def test_planning_by_a_central_bound_takes_the_largest_local_epsilon(self):
        bound = Approximate("1/2", 1e-8)
        plan = local.plan(users=100_000, central=bound, honest=80_000, items=domain.integers(0, 2**32 - 1))
        assert plan.shuffled(80_000, 1e-8).epsilon <= bound.epsilon and (64 * plan.spend.epsilon).denominator == 1
        more = local.plan(
            users=100_000, spend=Pure(plan.spend.epsilon + Fraction(1, 64)), items=domain.integers(0, 2**32 - 1)
        )
        assert more.shuffled(80_000, 1e-8).epsilon > bound.epsilon
        assert "shuffled among 80000 honest" in plan.why

    def test_mistakes_are_refused(self):
        for honest, delta in ((1, 1e-8), (True, 1e-8), (2.5, 1e-8), (100, 0), (100, 0.5), (100, 2), (100_001, 1e-8)):
            with pytest.raises(ParameterError):
                PLAN.shuffled(honest, delta)
        with pytest.raises(ParameterError, match="write for example honest=80_000"):
            PLAN.shuffled(delta=1e-8)
        with pytest.raises(ParameterError, match="write delta=1e-8"):
            PLAN.shuffled(80_000)
        base = {"users": 1000, "candidates": ["a", "b"]}
        for wrong, said in (
            ({"central": Approximate(1, 1e-8)}, "honest"),
            ({"central": Approximate(1, 1e-8), "honest": 100, "spend": Pure(1)}, "not both"),
            ({"central": Pure(1), "honest": 100}, "Approximate"),
            ({"central": Approximate(1, 1e-8), "honest": 1001}, "more than the 1000 users.*at most honest=1000"),
            ({"honest": 100, "spend": Pure(1)}, "central="),
            ({"central": Approximate("1/1000", 1e-9), "honest": 2}, "of them, or a larger"),
            ({}, "Write spend="),
        ):
            with pytest.raises(ParameterError, match=said):
                local.plan(**base, **wrong)

    def test_more_than_can_be_computed_counts_as_the_most(self, monkeypatch):
        monkeypatch.setattr(shuffle, "MOST_HONEST", 10_000)
        crowd = replace(PLAN, users=10**9)
        assert crowd.shuffled(10**9, 1e-8) == crowd.shuffled(10_000, 1e-8)
