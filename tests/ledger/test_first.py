"""Who divides delta: the first request that costs a limit something, in its own transaction (AC-FIRST, AC-SHOW)."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction

import pytest

from sfumato import Approximate, Concentrated, Cost, Event, Loss, Noise, Pure
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.budget import Limit
from sfumato.ledger.chain import FIRST, Row, canonical, sums_after, with_sums, without_sums
from sfumato.noise import SinhNormal
from sfumato.perturb import AdditiveNoise, calibrate, sensitivity
from sfumato.privacy import EVERYTHING, Secrets, bound_from_json, settlement, subsample_loss
from sfumato.privacy.calibrate import sinh_normal
from sfumato.privacy.even_parts import even_part
from sfumato.privacy.filters import filter_of
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.settlement import PRESETS, Shares, _settlement, repeated, settled
from sfumato.select import top

EVENT = Event("Laplace", "QR-LAP")
LIMITS = [Approximate(1, "1e-6"), Approximate(3, "1e-6"), Approximate("1/2", "1e-5")]
PAIR = sensitivity(largest=1, changed=2)
TWO = Secrets(("a", "b"))


def flat(cost, reads=EVERYTHING):
    return Loss.flat(cost, reads)


def names(ledger):
    return {rule.name: rule.shares.name if rule.shares else None for rule in ledger.limits}


# Counts of section 2 of the statement: what fits, as the first question and ever after.

COUNTS = [
    # limit, cost, times before, times now
    (Approximate(1, "1e-6"), Cost.gaussian("1/10000"), 458, 540),
    (Approximate(3, "1e-6"), Cost.gaussian("1/10000"), 3515, 4056),
    (Approximate(1, "1e-9"), Cost.gaussian("1/10000"), 288, 321),
    (Approximate("1/2", "1e-5"), Cost.gaussian("1/100000"), 1570, 1939),
    (Approximate(1, "1e-6"), Cost.pure("1/30"), 45, 47),
    (Approximate(1, "1e-6"), Cost.pure("1/100"), 462, 532),
    (Approximate(1, "1e-6"), Cost.pure("1/1000"), 45878, 54045),
    (Approximate(3, "1e-6"), Cost.pure("3/100"), 395, 442),
    (Approximate(1, "1e-9"), Cost.pure("1/100"), 294, 313),
    (Approximate("1/2", "1e-5"), Cost.pure("1/200"), 630, 767),
    (Approximate(1, "1e-6"), Cost.approximate("0.05", "1e-10"), 21, 23),
    (Approximate(1, "1e-6"), Cost.approximate("0.02", "1e-10"), 118, 127),
    (Approximate(3, "1e-6"), Cost.approximate("0.1", "1e-9"), 39, 41),
    (Approximate(3, "1e-6"), Cost.approximate("0.3", "1e-8"), 10, 10),
]


@pytest.mark.parametrize(("limit", "cost", "before", "now"), COUNTS)
def test_golden_counts(limit, cost, before, now):
    old = filter_of(Approximate(limit.epsilon, limit.delta, leaks=limit.delta / 2))
    assert abs(repeated(old, cost) - before) <= 1
    assert repeated(settled(limit, (cost,)).gate, cost) == now


def test_the_exact_fit_takes_what_exact_composition_allows():
    limit = LIMITS[0]
    first = flat(Cost.gaussian(gaussian_m(limit.epsilon, limit.delta)))
    with Ledger(None, Budget(limit)) as ledger:
        ledger.reserve("all", EVENT, first)
        assert names(ledger) == {"person": "G1"} and ledger.spent().percent == 100
        with pytest.raises(BudgetExceeded):
            ledger.reserve("more", EVENT, flat(Cost.pure("1e-9")))
        ledger.reserve("free", EVENT, flat(Cost.zero()))
        assert ledger.verify()


def kinds(spend):
    """Every kind of noise, calibrated to a whole spend."""
    yield "pure", flat(Cost.pure(spend.epsilon))
    yield "scalar", calibrate(spend, sensitivity=1).loss()
    yield "vector", calibrate(spend, largest=1, changed=200).loss()
    yield "rounded", flat(Cost.gaussian(gaussian_m(spend.epsilon, spend.delta)))
    bent = sinh_normal(spend, 1, 2, draws=2**64)
    yield "sinh-normal", AdditiveNoise(law=SinhNormal(bent.variance, bent.bend), sensitivity=PAIR).loss()
    yield "leaky", flat(Cost.approximate(spend.epsilon, spend.delta))
    yield "choice", top(spend, count=2).loss()
    yield "list of pure ones", (40 * flat(Cost.pure(even_part(spend, 0, 40).other.epsilon))).together()
    mixed = even_part(spend, 20, 20)
    noisy = flat(Cost.gaussian(40 * mixed.gaussian.rho))
    yield "mixed list", (noisy + 20 * flat(Cost.pure(mixed.other.epsilon))).together()
    step = subsample_loss(flat(Cost.gaussian("1/4")), 100, 1, "without_replacement")
    yield "sampled run", (RUNS[spend] * step).together()


RUNS = dict(zip(LIMITS, (1200, 9000, 450), strict=True))
"""Steps on a hundredth of the people, with noise of deviation 2, that are nearly all of a limit as one list."""


@pytest.mark.parametrize(
    "limit", [LIMITS[0], *(pytest.param(limit, marks=pytest.mark.audit) for limit in LIMITS[1:])], ids=str
)
def test_the_sampled_run_is_nearly_all_of_the_limit(limit):
    *_, (_, run) = kinds(limit)
    assert limit.epsilon / 2 < run.person.epsilon_at(limit.delta) <= limit.epsilon


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("attribute", [False, True], ids=["person", "attribute"])
def test_a_spend_equal_to_the_budget_fits_as_the_first_question_of_every_kind(limit, attribute):
    budget = Budget(Approximate(9, "1e-4"), attributes={"a": limit}, secrets=TWO) if attribute else Budget(limit)
    for kind, loss in kinds(limit):
        asked = Loss.flat(loss.person, {"a"}) if attribute else loss
        asked = asked.together() if "list" in kind or "run" in kind else asked
        with Ledger(None, budget) as ledger:
            assert ledger.preview(asked).fits, kind
            ledger.reserve("first", EVENT, asked)
            assert ledger.verify(), kind
            if ledger.limits[-1].shares is not None and ledger.limits[-1].shares.name == "G1":
                with pytest.raises(BudgetExceeded):
                    ledger.reserve("second", EVENT, asked)


def test_two_hundred_random_limits_take_a_spend_equal_to_the_budget():
    rolls = Noise(insecure_seed=16)
    for number in range(200):
        epsilon = Fraction(1 + rolls.uniform(10**6), 10 ** (5 + rolls.uniform(6)))
        delta = Fraction(1 + rolls.uniform(1000), 10 ** (5 + rolls.uniform(7)))
        limit = Approximate(epsilon, delta)
        cost = Cost.gaussian(gaussian_m(epsilon, delta))
        assert cost.within(limit)
        found = settled(limit, (cost,))
        assert found is not None and found.gate.accepts(found.gate.zero(), cost), (number, limit)


def test_a_share_fits_as_often_as_it_says():
    for limit in LIMITS:
        for count in (1, 7, 540):
            rho = limit.share(count).rho
            gate = settled(limit, (Cost.gaussian(2 * rho),)).gate
            assert repeated(gate, Cost.gaussian(2 * rho)) >= count
    assert float(Approximate(3, "1e-6").share(1).rho) == pytest.approx(0.2028, abs=1e-4)


# Settlement time.


def test_what_a_division_needs_of_the_limit_is_computed_when_the_ledger_is_opened(monkeypatch, tmp_path):
    """The first reservation does not wait for it, neither where the ledger was made nor where it is opened again."""
    limit = Approximate("1.234567", "1.234567e-6")
    Ledger(tmp_path / "a", Budget(limit, each_attribute=Approximate("0.7654321", "1e-7"), secrets=TWO)).close()
    _settlement.cache_clear()
    with Ledger(tmp_path / "a") as ledger:

        def searched(epsilon, delta, reserve):
            assert delta == 0, "the noise that fills a limit is searched for while a question waits"

        monkeypatch.setattr(settlement, "gauss_route", searched)
        settled.cache_clear()
        ledger.reserve("first", EVENT, flat(Cost.gaussian("1/10000")))
        assert set(names(ledger).values()) == {"G"}


def test_a_question_about_b_settles_b_and_both_but_not_a():
    """Trap: not the first request that reads all of a set, but the first that reads any of it."""
    limit = Approximate(1, "1e-6")
    budget = Budget(Approximate(5, "1e-5"), attributes={"a": limit, "b": limit, ("a", "b"): limit}, secrets=TWO)
    with Ledger(None, budget) as ledger:
        ledger.reserve("b", EVENT, flat(Cost.gaussian("1/1000"), {"b"}))
        assert names(ledger) == {"person": "G", "a": None, "b": "G", "a + b": "G"}
        ledger.reserve("a", EVENT, flat(Cost.approximate("1/10", "1e-8"), {"a"}))
        assert names(ledger)["a"] == "L" and names(ledger)["a + b"] == "G"
        assert ledger.verify()


def test_a_refusal_by_one_limit_settles_none():
    limit = Approximate(1, "1e-6")
    budget = Budget(Approximate(5, "1e-5"), attributes={"a": limit, "b": Approximate("1/100", "1e-9")}, secrets=TWO)
    with Ledger(None, budget) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("both", EVENT, flat(Cost.gaussian("1/100"), {"a", "b"}))
        assert set(names(ledger).values()) == {None}
        ledger.preview(flat(Cost.gaussian("1/100"), {"a"}))
        assert set(names(ledger).values()) == {None}
        ledger.reserve("a", EVENT, flat(Cost.approximate("1/10", "1e-7"), {"a"}))
        assert names(ledger)["a"] == "L" and names(ledger)["b"] is None


def test_what_costs_nothing_settles_nothing_and_a_tiny_cost_does():
    """Zero means that nothing is read, not that a charge rounds to nothing."""
    with Ledger(None, Budget(Approximate(1, "1e-6"))) as ledger:
        for number in range(3):
            ledger.reserve(f"free {number}", EVENT, flat(Cost.zero()))
        assert names(ledger) == {"person": None}
        ledger.reserve("tiny", EVENT, flat(Cost.pure(Fraction(1, 10**30))))
        assert names(ledger) == {"person": "G"}
        assert ledger.verify()


def test_death_does_not_unsettle():
    with Ledger(None, Budget(Approximate(1, "1e-6"))) as ledger:
        ledger.reserve("first", EVENT, flat(Cost.gaussian(gaussian_m(Fraction(1), Fraction(1, 10**6)))))
        ledger.fail("first")
        assert names(ledger) == {"person": "G1"}
        with pytest.raises(BudgetExceeded):
            ledger.reserve("second", EVENT, flat(Cost.pure("1/10")))
        assert ledger.verify()


def test_the_order_of_later_requests_does_not_matter():
    later = [Cost.pure("1/100"), Cost.gaussian("1/2000"), Cost.approximate("1/200", "1e-9"), Cost.pure("1/300")]
    sums = set()
    for turn in range(len(later)):
        with Ledger(None, Budget(Approximate(1, "1e-6"))) as ledger:
            for number, cost in enumerate([Cost.gaussian("1/1000"), *later[turn:], *later[:turn]]):
                ledger.reserve(str(number), EVENT, flat(cost))
            sums.add(ledger.spent().sums)
    assert len(sums) == 1


def test_an_order_is_never_moved():
    """What would fit at its own order alone is refused at the one that the first question chose."""
    with Ledger(None, Budget(Approximate(3, "1e-6"))) as ledger:
        ledger.reserve("curve", EVENT, flat(Cost.truncated("1/100", 20)))
        order = ledger.limits[0].shares.at
        with pytest.raises(BudgetExceeded):
            ledger.reserve("too narrow", EVENT, flat(Cost.truncated("1/8", 8)))
        assert ledger.limits[0].shares.at == order
        assert ledger.verify()


def test_a_late_limit_is_settled_by_what_is_stored_and_not_by_the_next_request():
    with Ledger(None, Budget(Pure(9), secrets=TWO)) as ledger:
        ledger.reserve("pure", EVENT, flat(Cost.pure("1/30"), {"a"}))
        ledger.add_limit(Limit("a", Approximate(1, "1e-6")))
        assert names(ledger)["a"] == "R"  # as a first question of Pure(1/30) would have it
        ledger.add_limit(Limit("b", Approximate(1, "1e-6")))
        assert names(ledger)["b"] is None
        ledger.reserve("second", EVENT, flat(Cost.pure("1/100"), {"b"}))
        assert names(ledger)["b"] == "G"
        assert ledger.verify()


def test_a_late_limit_that_its_history_has_passed_is_refused():
    with Ledger(None, Budget(Pure(9))) as ledger:
        ledger.reserve("much", EVENT, flat(Cost.pure(5)))
        with pytest.raises(BudgetExceeded, match="passed already"):
            ledger.add_limit(Limit(EVERYTHING, Approximate(1, "1e-6")))


def test_owners_divide_delta_themselves():
    written = Approximate(1, "1e-6", leaks="1e-7", gauss="8e-7")
    with Ledger(None, Budget(written)) as ledger:
        assert names(ledger) == {"person": None} and ledger.limits[0].settled
        assert [meter.kind for meter in ledger.spent().meters] == ["leak", "epsilon", "tau", "gauss"]
        with pytest.raises(BudgetExceeded):
            ledger.reserve("all", EVENT, flat(Cost.approximate(1, "1e-6")))
    assert bound_from_json(json.loads(json.dumps(written.to_json()))) == written
    assert Approximate(1, "1e-6").to_json()["leaks"] is None
    assert bound_from_json(Approximate(1, "1e-6").to_json()) == Approximate(1, "1e-6")


def test_several_certificates_each_limit_takes_the_preset_that_serves_it_most_often():
    limit = Approximate(1, "1e-6")
    gaussian, leaky = flat(Cost.gaussian("1/1000")), flat(Cost.approximate("1/4", "1e-7"))
    with Ledger(None, Budget(limit)) as ledger:
        ledger.reserve("first", EVENT, [leaky, gaussian])
        assert names(ledger) == {"person": "G"}


def test_reserve_and_charges_are_fixed_with_the_first_question():
    """A reserve taken from what is left, or charges computed again beside a larger one, would break the route."""
    with Ledger(None, Budget(Approximate(1, "1e-6"))) as ledger:
        ledger.reserve("first", EVENT, flat(Cost.pure("1/100")))
        reserve = ledger.spent().meters[-1].reserve
        charges = [ledger.spent().sums[-1]]
        ledger.reserve("much", EVENT, flat(Cost.gaussian("1/20")))
        before = ledger.spent().sums[-1]
        ledger.reserve("last", EVENT, flat(Cost.pure("1/100")))
        charges.append(ledger.spent().sums[-1] - before)
        assert charges[0] == charges[1] and ledger.spent().meters[-1].reserve == reserve
        meter = ledger.spent().meters[-1]
        assert meter.ceiling + meter.reserve == gaussian_m(Fraction(1), Fraction("85e-8"))


# Two processes, an older file, and what verification sees.


def test_two_openers_see_one_settlement(tmp_path):
    place = tmp_path / "ledger.db"
    with Ledger(place, Budget(Approximate(1, "1e-6"))) as first, Ledger(place) as second:
        first.reserve("g", EVENT, flat(Cost.gaussian("1/1000")))
        with pytest.raises(BudgetExceeded, match="leaks"):
            second.reserve("leak", EVENT, flat(Cost.approximate("1/10", "4e-7")))
        assert names(second) == {"person": "G"}
        assert first.verify() and second.verify()


def test_a_ledger_made_before_keeps_its_limits_and_its_rule(tmp_path):
    place = tmp_path / "ledger.db"
    limit = Approximate(1, "1e-6", leaks="5e-7")
    with Ledger(place, Budget(limit)) as made:
        made.reserve("old", EVENT, flat(Cost.concentrated("1/1000")))
    as_made_before(place)
    with Ledger(place, Budget(Approximate(1, "1e-6"))) as opened:
        assert opened.gaussians == "discrete"
        assert opened.limits[0].gate == filter_of(limit)
        opened.reserve("new", EVENT, flat(Cost.gaussian("1/1000")))
        assert [meter.kind for meter in opened.spent().meters] == ["leak", "epsilon", "tau"]


def as_made_before(place):
    """Take what this version adds out of the first row of a ledger, and seal the chain again."""
    _rewrite(place, "created", lambda body: [body.pop(name) for name in ("gaussians", "exact_lists", "rank_errors")])
    with sqlite3.connect(place) as base:
        base.execute("UPDATE sfumato_head SET format = 4")


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("larger than", lambda body: body["limits"][0][2]["routes"][2].update(ceiling="1")),
        ("as no first question", lambda body: body["limits"][0][1].update(leaks="1/10")),
        ("another request", lambda body: body.update(by="somebody else")),
    ],
)
def test_verification_sees_a_settlement_that_no_first_request_makes(tmp_path, what, change):
    place = tmp_path / "ledger.db"
    with Ledger(place, Budget(Approximate(1, "1e-6"))) as made:
        made.reserve("first", EVENT, flat(Cost.gaussian("1/1000")))
        assert made.verify()
    _rewrite(place, "settled", change)
    with Ledger(place) as opened:
        assert any(what in problem for problem in opened.verify().problems)


def _rewrite(place, wanted, change):
    """Change the rows of a kind, and seal the chain again."""
    with sqlite3.connect(place) as base:
        rows = base.execute("SELECT number, kind, reservation, body FROM sfumato_row ORDER BY number").fetchall()
        seal = FIRST
        for number, kind, reservation, stored in rows:
            body = json.loads(without_sums(stored))
            if kind == wanted:
                change(body)
            row = Row(number, kind, reservation, with_sums(canonical(body), sums_after(stored)))
            seal = row.seal(seal)
            base.execute("UPDATE sfumato_row SET body = ?, seal = ? WHERE number = ?", (row.body, seal, number))
        base.execute("UPDATE sfumato_head SET seal = ?", (seal,))


def test_shares_are_read_back_as_they_were_written():
    for name, parts in PRESETS.items():
        shares = Shares(name, *parts, at=Fraction(105, 4))
        assert Shares.from_json(json.loads(json.dumps(shares.to_json()))) == shares
        assert sum((shares.leaks, shares.order, shares.gauss)) == 1


def test_a_concentrated_spend_is_rounded_where_a_limit_measures_gaussians():
    with Ledger(None, Budget(Approximate(3, "1e-6"))) as ledger:
        assert ledger.gaussians == "rounded"
    with Ledger(None, Budget(Concentrated(1))) as ledger:
        assert ledger.gaussians == "wide"
