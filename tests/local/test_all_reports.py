"""LO-ALL and LO-LIST: every report counts, intervals hold for what was found, and a list is asked of the same reports."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.special import ndtri

from sfumato import Noise, Pure, domain, local
from sfumato.errors import ParameterError
from sfumato.local.all_reports import AllReports, of_server, read_list, rows_of
from sfumato.local.beginnings import Beginnings
from sfumato.local.cutoffs import tree_cutoffs
from sfumato.local.evidence import Bar, Evidence, Law, drawn_bars, linear_law
from sfumato.local.linear import linear_hash
from sfumato.local.tree import tree_method
from sfumato.local.tree_planner import Model

PEOPLE = 60_000


def plan_of(epsilon=4, bits=32, seed=1, users=PEOPLE, method="soft"):
    items = domain.integers(0, 2**bits - 1)
    return local.plan(users=users, spend=Pure(epsilon), items=items, method=method, seed=bytes([seed] * 32))


def collected(plan, items, seed=1):
    server = plan.server()
    server.ingest(plan.client().reports(items, Noise(insecure_seed=seed)))
    return server


def binomial(size, chance):
    return [comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(size + 1)]


def speaking_laws(holders, devices, own, other, roles):
    """Return the joint law of how many reports of each role speak, by enumeration: role and coin of every device."""
    law = Counter()
    for drawn in product(range(len(roles)), repeat=devices):
        for spoken in product((0, 1), repeat=devices):
            chance = Fraction(1)
            for device in range(devices):
                speaks = own if device < holders else other
                chance *= roles[drawn[device]] * (speaks if spoken[device] else 1 - speaks)
            sizes = tuple(drawn.count(role) for role in range(len(roles)))
            counts = tuple(
                sum(said for role, said in zip(drawn, spoken, strict=True) if role == place)
                for place in range(len(roles))
            )
            law[sizes, counts] += chance
    return law


class TestTheLaw:
    OWN, OTHER, ROLES = Fraction(5, 6), Fraction(1, 2), (Fraction(2, 3), Fraction(1, 3))

    def test_the_reports_of_all_roles_add_up_to_one_exact_law(self):
        """T1: the number of speaking reports is a sum of two binomials, whatever the sizes of the roles."""
        law = speaking_laws(2, 4, self.OWN, self.OTHER, self.ROLES)
        found = Counter()
        for (_, counts), chance in law.items():
            found[sum(counts)] += chance
        held, others = binomial(2, self.OWN), binomial(2, self.OTHER)
        wanted = {k: sum(held[i] * others[k - i] for i in range(3) if 0 <= k - i <= 2) for k in range(5)}
        assert dict(found) == wanted
        # Scaled by the planned shares in place of the real sizes it is another law: the sizes vary.
        scaled = Counter()
        for (_, counts), chance in law.items():
            scaled[sum(count / share / 2 for count, share in zip(counts, self.ROLES, strict=True))] += chance
        assert {value for value in scaled if scaled[value]} != set(wanted)

    @pytest.mark.parametrize("holders", range(4))
    def test_how_they_are_spread_over_the_roles_does_not_depend_on_the_share(self, holders):
        """T4: given the sizes and the sum, the counts by role are hypergeometric."""
        law = speaking_laws(holders, 3, self.OWN, self.OTHER, self.ROLES)
        whole = Counter()
        for (sizes, counts), chance in law.items():
            whole[sizes, sum(counts)] += chance
        for (sizes, counts), chance in law.items():
            ways = Fraction(comb(sizes[0], counts[0]) * comb(sizes[1], counts[1]), comb(3, sum(counts)))
            assert chance == whole[sizes, sum(counts)] * ways


def model_fails(bits, users, epsilon, mu, part=0.025, mutant=None, draws=4_000, finds=150):
    """Return how often the lower limit of an item that the model of the search found is above its share."""
    method = tree_method(Pure(epsilon), bits, users)
    oracle, whole = method.oracle, sum(method.shares)
    sizes = np.array([users * share // whole for share in method.shares])
    total = int(sizes.sum())
    unit = oracle.deviation(total) / total
    share = mu * unit
    inside = 1 / oracle.spread
    own = inside + oracle.signal * (1 - inside)
    first, second = ndtri((Noise(insecure_seed=7).uniform(1 << 53, (2 * draws * len(sizes))) + 0.5) / 2**53).reshape(
        2, draws, len(sizes)
    )
    # Holders are spread over the roles, all of them are somewhere, and their reports and the others' vary.
    holders = np.sqrt(share * sizes) * first
    holders += share * sizes - sizes / total * holders.sum(axis=1, keepdims=True)
    variance = holders * own * (1 - own) + (sizes - holders) * inside * (1 - inside)
    counts = holders + np.sqrt(np.maximum(variance, 0)) / (own - inside) * second
    levels = len(method.levels)
    searching = counts[:, : levels + 1]
    cuts = tree_cutoffs(oracle, method.levels, tuple(sizes[:-1].tolist()), 0.05)
    kept = Model(method, users).survivable
    running, suffixes = np.cumsum(searching[:, :levels], axis=1), np.cumsum(searching[:, ::-1], axis=1)[:, ::-1]
    found = (running >= kept).all(axis=1) & (suffixes[:, : len(cuts)] >= np.array(cuts)).all(axis=1)
    estimates = counts.sum(axis=1)[found][:finds] / total
    bars = [Bar(start, levels + 1, cut) for start, cut in enumerate(cuts)]
    bars += [Bar(0, level + 1, float(bar)) for level, bar in enumerate(kept)]
    if mutant == "first cut only":
        bars = bars[:1]
    law = linear_law(oracle, total, total)
    if mutant == "plain":
        evidence = Evidence(law)
        lows = [evidence.interval(estimate, 1 - 2 * part)[0] for estimate in estimates]
    else:
        # The bars depend on the estimate through its variance only; a few of them stand for all.
        edges = np.quantile(estimates, np.linspace(0, 1, 9))
        drawn = [drawn_bars(oracle, sizes, 0, float(edge), bars) for edge in edges]
        lows = [
            Evidence(law, drawn[min(8, int(np.searchsorted(edges, estimate)))]).interval(estimate, 1 - 2 * part)[0]
            for estimate in estimates
        ]
    return float(np.mean(np.array(lows) > share)), float(found.mean())


class TestFoundItems:
    def test_the_lower_limit_fails_as_often_as_it_says_given_that_the_item_was_found(self):
        fails, found = model_fails(64, 300_000, 4, 10.0)
        # 150 finds at 2.5 %: 11 % of them have a chance below 1e-5. Limits that forget the selection fail far oftener.
        assert fails < 0.11 and 0.2 < found < 0.7
        assert model_fails(64, 300_000, 4, 8.5, mutant="plain", draws=40_000)[0] > 0.15

    @pytest.mark.audit
    @pytest.mark.parametrize(
        ("bits", "users", "epsilon", "mu"),
        [(64, 300_000, 4, 8.0), (64, 300_000, 4, 12.0), (193, 10**6, 4, 17.0), (193, 10**6, 4, 18.0)],
    )
    def test_long_items_need_every_bar(self, bits, users, epsilon, mu):
        fails, _ = model_fails(bits, users, epsilon, mu, draws=200_000, finds=4000)
        assert fails < 0.037
        if (bits, mu) == (193, 17.0):
            first = model_fails(bits, users, epsilon, mu, mutant="first cut only", draws=200_000, finds=4000)[0]
            assert first > 0.045

    def test_limits_grow_with_the_estimate_and_hold_it(self):
        law, bars = linear_law(linear_hash(Pure(4), 16), 300_000, 300_000), np.linspace(0.004, 0.0055, 50)
        limits = [Evidence(law, bars).interval(share, 0.95) for share in np.linspace(0.005, 0.02, 40)]
        assert all(
            0 <= low <= share <= high for (low, high), share in zip(limits, np.linspace(0.005, 0.02, 40), strict=True)
        )
        lows, highs = zip(*limits, strict=True)
        assert list(lows) == sorted(lows) and list(highs) == sorted(highs)
        assert lows[0] < Evidence(law).interval(0.005, 0.95)[0] - float(law.error(0.005)) / 4
        plain = Evidence(law).interval(0.02, 0.95)
        assert limits[-1] == pytest.approx(plain)

    def test_without_reports_nothing_is_known(self):
        assert Evidence(Law(float("inf"))).interval(0.0, 0.95) == (0.0, 1.0)

    @pytest.mark.audit
    def test_found_items_have_errors_of_all_reports_and_say_what_others_say(self):
        plan = plan_of()
        unit = plan.method.oracle.deviation(PEOPLE) / PEOPLE
        size = round(16 * unit * PEOPLE)
        values = [3, 2**31 + 5, 2**20]
        others = Noise(insecure_seed=2).uniform(2**32, PEOPLE - 3 * size)
        found = collected(plan, np.concatenate([np.repeat(values, size), others])).popular()
        assert {item.value for item in found} == set(values)
        for item in found:
            assert item.error < 1.3 * unit and item.apart is not None and item.apart[1] > 3.5 * item.error
            assert item.low < size / PEOPLE < item.high or abs(item.share - size / PEOPLE) < 4 * item.error
            assert abs(item.apart[0] - size / PEOPLE) < 5 * item.apart[1] and not item.listed
            told = {"value", "share", "error", "low", "high", "score", "apart", "listed", "influence"}
            assert set(item.to_json()) == told

    def test_a_look_alike_is_seen_by_the_devices_apart(self):
        """A sibling of an item of 15 standard errors: its share is too high by construction, `apart` holds zero."""
        plan = plan_of()
        server = collected(plan, np.concatenate([np.full(PEOPLE // 10, 7), np.arange(PEOPLE * 9 // 10) + 100]))
        tables = of_server(server)
        sibling = rows_of(server, [7]).copy()
        sibling[0, -1] ^= 1
        said = read_list(tables, sibling, 0, 0.5)
        from sfumato.local.finds import _apart

        share, error = _apart(tables, sibling, said.peeled)[0]
        assert said.shares[0] > 8 * plan.method.oracle.deviation(PEOPLE) / PEOPLE and abs(share) < 5 * error


def alike(plan, head, count):
    """Return items whose first 16 bits after whitening are `head`; the next ones differ."""
    rest = plan.items.bits - 16
    return [plan.encoder.white.invert(head << rest | place << rest - 3) for place in range(count)]


class TestSharedBeginnings:
    def test_roles_are_read_from_where_a_report_counts_least(self):
        rows = np.array([[0, 0], [0, 1], [128, 0]], dtype=np.uint8)
        oracle = linear_hash(Pure(2), 10)
        readers = [oracle.reader(np.ones(1 << 10, dtype=np.int64)) for _ in range(3)]
        tables = AllReports(readers, (8, 12, 16), lambda rows, role: rows, 16, 3 << 10)
        assert tables.counting.tolist() == [3072.0, 2048.0, 1024.0, 0.0]
        shared = tables.beginnings(rows)
        assert shared.alone.tolist() == [2, 2, 0]
        # With eight symbols: leaving both roles out 3, sharing the second 3/2·(1/7 + 1), sharing both 1/7 + 2.
        assert shared.start.tolist() == [1, 1, 0]
        assert shared.largest.tolist() == pytest.approx([3 / 2 * 8 / 7, 3 / 2 * 8 / 7, 1])

    def test_a_role_is_not_divided_where_nothing_is_known_of_a_mate(self):
        rows = np.array([[0, 0], [0, 1], [0, 16], [128, 0]], dtype=np.uint8)
        shared = Beginnings(rows, 16, (8, 12, 16), np.array([50.0, 50.0, 0.0]), 8)
        # Of the first two no role speaks alone; the third can be told from them, but not what they have.
        assert shared.alone.tolist() == [2, 2, 1, 0] and shared.start.tolist() == [2, 2, 1, 0]
        assert shared.largest.tolist() == [np.inf, np.inf, 2, 1]

    def test_shares_of_items_that_begin_alike_are_as_sure_as_they_say(self):
        plan = plan_of(bits=40, users=120_000)
        noise = Noise(insecure_seed=3)
        heads = noise.uniform(1 << 16, 120).tolist()
        items = [item for place, head in enumerate(heads) for item in alike(plan, head, 2 + place % 3)]
        sizes = [(0, 0, 100, 400)[at] for at in noise.uniform(4, len(items)).tolist()]
        sizes[0] = 20_000
        held = np.repeat(np.array(items, dtype=np.uint64), sizes)
        rest = noise.uniform(1 << 40, 120_000 - len(held)).astype(np.uint64)
        found = collected(plan, np.concatenate([held, rest]), 3).estimate(items)
        z = np.array([(item.share - size / 120_000) / item.error for item, size in zip(found, sizes, strict=True)])
        assert 0.85 < np.sqrt((z**2).mean()) < 1.15 and abs(z.mean()) < 0.25 and np.abs(z[:2]).max() < 4
        # Were the shared role left out, a report in the others would count for as much more as it has reports.
        first = plan.method.shares[0] / sum(plan.method.shares)
        assert max(item.influence for item in found) < 1.03 * plan.influence and 1 / (1 - first) > 1.15

    @pytest.mark.audit
    def test_neighbours_of_a_popular_item_are_read_without_it(self):
        """Named items that share their first prefix with one of 30 %: unbiased; with all roles they would not be."""
        plan = plan_of(bits=24)
        white = plan.encoder.white
        giant = white.apply(5)
        mates = [white.invert(giant ^ bit) for bit in (1, 2, 4, 8)]
        server = collected(plan, np.concatenate([np.full(18_000, 5), np.arange(42_000) + 1000]))
        found = server.estimate([5, *mates])
        assert abs(found[0].share - 0.3) < 5 * found[0].error
        for item in found[1:]:
            assert abs(item.share) < 5 * item.error
        tables = of_server(server)
        rows = rows_of(server, mates)
        wrong = tables.read(rows, np.zeros(len(rows), dtype=np.int64)) / PEOPLE
        assert wrong.min() > 0.1
        assert [item.value for item in server.popular(candidates=mates)] == [5]


class TestSpill:
    def test_an_unnamed_item_of_forty_per_cent_widens_the_errors_of_the_others(self):
        plan = plan_of(6, bits=48, users=300_000)
        held = np.concatenate([np.full(120_000, 77), Noise(insecure_seed=5).uniform(2**48, 180_000)])
        server = collected(plan, held)
        found = server.estimate(range(10_000, 11_500))
        z = np.array([item.share / item.error for item in found])
        assert 0.88 < np.sqrt((z**2).mean()) < 1.1
        plain = plan.method.oracle.deviation(300_000) / 300_000
        # Without what is measured on the tables the errors would be less than half of what they are.
        assert found[0].error > 2 * plain
        named = server.estimate([77, *range(10_000, 10_050)])
        assert named[0].share == pytest.approx(0.4, abs=5 * named[0].error) and named[1].error < 1.1 * plain


class TestLists:
    @pytest.mark.audit
    def test_a_list_finds_rarer_items_beside_what_the_search_finds(self):
        plan = plan_of(users=100_000)
        unit = plan.method.oracle.deviation(100_000) / 100_000
        size = round(5.8 * unit * 100_000)
        held = np.concatenate(
            [np.full(20_000, 9), np.repeat([11, 12, 13], size), np.arange(80_000 - 3 * size) * 31_337 + 10**6]
        )
        server = collected(plan, held)
        alone = server.popular()
        both = server.popular(candidates=[11, 12, 13, *range(20, 500), "no number", 2**40])
        assert [item.value for item in alone] == [9] and both.unfit == 2
        assert {item.value for item in both} == {9, 11, 12, 13}
        assert {item.value for item in both if item.listed} == {11, 12, 13}
        for item in both:
            truth = 0.2 if item.value == 9 else size / 100_000
            assert item.low <= truth <= item.high or abs(item.share - truth) < 4.5 * item.error
        asked = server.estimate([11, 12, 13, *range(20, 500)]).popular()
        assert {item.value for item in asked} == {11, 12, 13}
        assert plan.detectable_listed(500) < plan.detectable / 1.5

    @pytest.mark.parametrize("epsilon", [2, 6])
    def test_of_absent_candidates_hardly_one_is_listed(self, epsilon):
        """Forty lists of a thousand at 0.05 each; a cut that forgets the thousand lists something every time."""
        lists = 0
        plan = plan_of(epsilon, users=20_000)
        candidates = list(range(1000))
        for seed in range(40):
            held = Noise(insecure_seed=seed).uniform(2**31, 20_000) + 2**31
            server = collected(plan, held, seed)
            tables = of_server(server)
            said = read_list(tables, rows_of(server, candidates), len(candidates), 0.05)
            lists += bool(said.accepted.any())
        # Ten of forty at 0.05 have a chance below 1e-4.
        assert lists < 10
        tables = of_server(server)
        loose = tables.cuts(np.zeros(1000, dtype=np.int64), np.zeros(1000), 0.05, 1)
        counts = tables.read(rows_of(server, candidates), np.zeros(1000, dtype=np.int64))
        assert (counts >= loose).any()

    def test_a_giant_outside_the_list_puts_nothing_on_it(self):
        plan = plan_of(6, users=100_000)
        held = np.concatenate([np.full(40_000, 2**31), np.arange(60_000) + 10**8])
        server = collected(plan, held)
        found = server.popular(candidates=range(5000))
        assert [item.value for item in found] == [2**31]
        # Were the giant not taken out first, and the cut not widened, many would be listed.
        tables = of_server(server)
        first = np.zeros(5000, dtype=np.int64)
        counts = tables.read(rows_of(server, list(range(5000))), first)
        assert (counts >= tables.cuts(first, np.zeros(5000), 0.025, 5000) / 2).sum() > 20

    def test_mistakes_are_refused(self):
        server = collected(plan_of(), [1] * 10)
        for wrong in ("text", b"bytes", 7):
            with pytest.raises(ParameterError, match="candidates= is a list"):
                server.popular(candidates=wrong)
        listed = local.plan(users=1000, spend=Pure(1), candidates=["a", "b"]).server()
        with pytest.raises(ParameterError, match="list of its own"):
            listed.popular(candidates=["a"])
        with pytest.raises(ParameterError, match="list of its own"):
            listed.plan.detectable_listed(5)


@pytest.mark.parametrize("method", ["prefix", "bitstogram"])
def test_other_methods_use_all_reports_that_know_whole_items(method):
    plan = plan_of(method=method, users=PEOPLE)
    server = collected(plan, np.concatenate([np.full(20_000, 5), np.arange(40_000) + 100]))
    found = server.popular()
    assert found[0].value == 5 and found[0].low < 1 / 3 < found[0].high
    assert found[0].apart is not None and found[0].apart[1] > found[0].error


def test_epochs_are_combined_for_named_items():
    servers = []
    for seed in (1, 2, 3):
        plan = plan_of(seed=seed, users=30_000)
        servers.append(collected(plan, np.concatenate([np.full(3000 * seed, 5), np.arange(20_000) + 100]), seed))
    reports = [server.accepted for server in servers]
    truth = sum(3000 * seed for seed in (1, 2, 3)) / sum(reports)
    one, absent = local.combine(servers, [5, 7])
    assert abs(one.share - truth) < 5 * one.error and abs(absent.share) < 5 * absent.error
    assert absent.error < 0.65 * min(server.estimate([7])[0].error for server in servers)
    assert absent.influence == max(server.estimate([5, 7])[1].influence for server in servers)
    assert local.combine([plan_of().server()], [5])[0].interval() == (0.0, 1.0)
    with pytest.raises(ParameterError, match="list of servers"):
        local.combine(servers[0], [5])


class TestAbsentItems:
    """An estimate below zero is read as zero: its interval says how many devices may hold the item all the same."""

    @pytest.mark.parametrize("share", [-0.5, -0.03, -0.001, 0.0])
    def test_no_interval_is_a_point_below_zero(self, share: float) -> None:
        item = local.PopularItem("a", share=share, error=0.01)
        low, high = item.interval(0.95)
        assert low == 0 and high == pytest.approx(1.96 * 0.01, rel=0.01)

    def test_no_interval_is_a_point_above_one(self) -> None:
        low, high = local.PopularItem("a", share=1.2, error=0.01).interval(0.95)
        assert high == 1 and low == pytest.approx(1 - 1.96 * 0.01, rel=0.01)

    def test_intervals_of_rare_items_hold_and_have_a_width(self) -> None:
        names = [f"n{place}" for place in range(200)]
        plan = local.plan(users=20_000, spend=Pure(1), candidates=names, seed=bytes(32))
        held = [names[place % 100] for place in range(20_000)]
        inside, widths = 0, []
        for seed in range(5):
            server = plan.server()
            server.ingest(plan.client().reports(held, Noise(insecure_seed=seed)))
            for place, item in enumerate(server.shares()):
                inside += item.low <= 0.01 * (place < 100) <= item.high
                widths.append(item.high - item.low)
        assert min(widths) > 0
        assert inside >= 0.93 * len(widths)
