"""The worst k attributes: as if every set were asked for one by one, and quick enough for real ledgers."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations

import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Cost, Event, Loss, Pure
from sfumato.ledger import Budget, Ledger, Limit, Unbounded
from sfumato.privacy import ByCount, Cover, PerAttribute, Secrets, Weighted
from sfumato.report import threats
from sfumato.report.account import Account
from sfumato.report.figures import meaning, metered, promised

DELTA = Fraction(1, 10**6)
NAMES = ("age", "born", "race", "sex", "hours", "place", "income")
SECRETS = Secrets(NAMES, dependencies=(("born", "age"),))

PURE = [
    Loss.flat(Cost.pure("1/10"), reads={"age"}),
    Loss.flat(Cost.pure("1/5"), reads={"race", "sex"}),
    Loss.flat(Cost.pure("1/7")),
    Loss(ByCount((Cost.pure("1/9"), Cost.pure("1/4")), frozenset({"sex", "hours", "place"}))),
    Loss(Cover(((frozenset({"income", "age"}), Cost.pure("1/8")), (frozenset({"place"}), Cost.pure("1/6"))))),
    Loss(Weighted((("race", Fraction(1, 11)), ("income", Fraction(1, 3))))),
]
GAUSSIAN = [
    Loss.flat(Cost.concentrated("1/50"), reads={"age", "place"}),
    Loss(
        PerAttribute(
            (("sex", Cost.concentrated("1/80")), ("hours", Cost.concentrated("1/90"))), Cost.concentrated("1/40")
        )
    ),
    Loss.flat(Cost.concentrated("1/70"), reads={"income"}),
    Loss.flat(Cost.pure("1/30"), reads={"race"}),
]


def spent(budget: Budget, losses: list[Loss]) -> Ledger:
    ledger = Ledger(None, budget)
    for number, loss in enumerate(losses):
        ledger.run(str(number), Event("Laplace", "QR-LAP"), loss, lambda: b"answer")
    return ledger


BUDGETS = {
    "pure": (Budget(Pure(9), Pure(5), {("race", "sex"): Pure(2)}, secrets=SECRETS), [*PURE, *PURE[:3]]),
    "person only": (Budget(Pure(9), secrets=SECRETS), PURE),
    "concentrated": (Budget(Concentrated(3), Concentrated(1), secrets=SECRETS), [*PURE, *GAUSSIAN]),
    "approximate": (
        Budget(
            Approximate(9, 1e-6),
            attributes={"age": Concentrated(2), ("hours", "sex"): Concentrated(1)},
            more=(Limit({"place"}, Approximate(4, 1e-7)),),
            secrets=SECRETS,
        ),
        [*PURE, *GAUSSIAN],
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_it_is_the_largest_of_what_the_ledger_says_of_each_set(name: str) -> None:
    budget, losses = BUDGETS[name]
    with spent(budget, losses) as ledger:
        account = Account(ledger, DELTA)
        for size in range(1, len(account.classes) + 1):
            sets = [frozenset().union(*chosen) for chosen in combinations(account.classes, size)]
            used = {on: meaning(metered(ledger.spent(on)), DELTA).epsilon for on in sets}
            bounds = {on: ledger.guarantee(on) for on in sets}
            promises = [
                float("inf") if isinstance(bound, Unbounded) else promised(bound, DELTA).epsilon
                for bound in bounds.values()
            ]
            worst = account.worst(size)
            assert worst.used is not None and worst.used.epsilon == max(used.values()), (size, worst)
            assert used[frozenset(worst.used_for)] == worst.used.epsilon
            assert worst.promise is not None and worst.promise.epsilon == max(promises)
            assert bounds[frozenset(worst.promised_for)] == worst.guaranteed


def test_it_is_never_below_a_set_when_it_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    budget, losses = BUDGETS["concentrated"]
    with spent(budget, losses) as ledger:
        exact = [Account(ledger, DELTA).worst(size) for size in range(1, 7)]
        monkeypatch.setattr("sfumato.report.account.ENUMERATED", 0)
        for found in exact:
            bound = Account(ledger, DELTA).worst(found.size)
            assert bound.used_for == bound.promised_for == ()
            assert bound.used is not None and found.used is not None and bound.used.epsilon >= found.used.epsilon
            assert bound.promise is not None and found.promise is not None
            assert bound.promise.epsilon >= found.promise.epsilon


@pytest.mark.parametrize("cap", ["PRICED", "PROMISED", "FRONT"])
def test_too_much_work_is_a_bound_too(monkeypatch: pytest.MonkeyPatch, cap: str) -> None:
    budget, losses = BUDGETS["approximate"]
    with spent(budget, losses) as ledger:
        exact = Account(ledger, DELTA).worst(3)
        monkeypatch.setattr(f"sfumato.report.search.{cap}", 0)
        worst = Account(ledger, DELTA).worst(3)
        assert () in (worst.used_for, worst.promised_for)
        assert worst.used is not None and exact.used is not None and worst.used.epsilon >= exact.used.epsilon


def test_several_certificates_of_one_release_give_a_bound() -> None:
    two = [Loss.flat(Cost.pure("1/2"), reads={"sex"}), Loss.flat(Cost.concentrated("1/9"), reads={"sex"})]
    with Ledger(None, Budget(Pure(3), secrets=SECRETS)) as ledger:
        ledger.run("1", Event("Laplace", "QR-LAP"), two, lambda: b"answer")
        worst = Account(ledger, DELTA).worst(2)
        person = meaning(metered(ledger.spent()), DELTA).epsilon
        assert worst.used_for == () and worst.used is not None and worst.used.epsilon == person


def test_all_sets_of_twenty_attributes_and_three_hundred_releases_take_seconds() -> None:
    names = tuple(f"a{place:02}" for place in range(20))
    losses = []
    for number in range(300):
        reads = frozenset(names[(number * step) % 20] for step in (1, 3, 7)[: 1 + number % 3])
        rho = Fraction(1, 500 + number)
        flat = Loss.flat(Cost.concentrated(rho), reads=reads)
        varied = Loss(PerAttribute(tuple((name, Cost.concentrated(rho / 2)) for name in reads), Cost.concentrated(rho)))
        losses.append(varied if number % 10 == 0 and len(reads) > 1 else flat)
    with spent(Budget(Approximate(30, 1e-6), Concentrated(2), secrets=Secrets(names)), losses) as ledger:
        started = time.process_time()
        report = threats(ledger)
        assert time.process_time() - started < 20
    assert [bool(worst.used_for) for worst in report.worst] == [True] * 7 + [False] * 3, "C(20, 8) is above 1e5"
    epsilons = [worst.used.epsilon for worst in report.worst if worst.used is not None]
    assert epsilons == sorted(epsilons)


def come_and_go(losses: list[Loss], person: Pure) -> Ledger:
    ledger = Ledger(None, Budget(person, secrets=SECRETS), relation=ADD_REMOVE)
    for number, loss in enumerate(losses):
        ledger.run(str(number), Event("Laplace", "QR-LAP"), Loss(loss.profile, ADD_REMOVE), lambda: b"answer")
    return ledger


def test_no_bound_on_attributes_is_the_persons_where_people_come_and_go(monkeypatch) -> None:
    with come_and_go(PURE, Pure(9)) as ledger:
        exact = Account(ledger, DELTA).worst(2)
        assert exact.guaranteed == Pure(18)
        monkeypatch.setattr("sfumato.report.account.ENUMERATED", 0)
        account = Account(ledger, DELTA)
        bound = account.worst(2)
        assert bound.promised_for == () == bound.used_for
        assert bound.guaranteed == Pure(18)
        assert exact.used is not None and bound.used is not None and exact.used.epsilon <= bound.used.epsilon
        person = account.row().used
        assert person is not None and person.epsilon < exact.used.epsilon


def test_a_report_on_people_who_come_and_go_says_what_is_guessed() -> None:
    with come_and_go(PURE, Pure(2)) as ledger:
        report = threats(ledger)
        assert report.person.presence and not report.attributes[0].presence
        assert report.attributes[0].guaranteed == Pure(4)
        said = report.text()
        assert "guesses whether a person is in the data" in said and "may come and go" in said
        assert "whether they are in the data" in report.html()
    with spent(Budget(Pure(2), secrets=SECRETS), PURE) as ledger:
        said = threats(ledger).text()
        assert "a yes-or-no fact about a person" in said and "may come and go" not in said


def test_too_many_sets_are_bounded_by_two_people(monkeypatch) -> None:
    monkeypatch.setattr("sfumato.privacy.loss.ENUMERATED", 0)
    loss = Loss.flat(Cost.pure(1), {"age", "sex"}, ADD_REMOVE)
    assert loss.worst(1, ["age", "sex"], 0)[1] == 2
    assert Loss.flat(Cost.pure(1), {"age", "sex"}).worst(1, ["age", "sex"], 0)[1] == 1


MIXED = {
    "a pure person and concentrated attributes": Budget(Pure("1/2"), Concentrated("1/2"), secrets=SECRETS),
    "a pure person and approximate attributes": Budget(Pure(2), Approximate("1/2", 1e-7), secrets=SECRETS),
    "an approximate person": Budget(Approximate("1/2", 1e-7), secrets=SECRETS),
    "limits on pairs": Budget(
        Concentrated("1/2"), Pure(2), {("age", "sex"): Approximate(3, 1e-5), "race": Pure("1/4")}, secrets=SECRETS
    ),
}


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("asked", [0, 1, 3])
@pytest.mark.parametrize("budget", MIXED.values(), ids=MIXED)
def test_no_figure_of_attributes_lies_above_one_that_holds_for_more(budget, asked, relation):
    losses = [
        Loss.flat(Cost.pure("1/20"), {"sex"}, relation),
        Loss.flat(Cost.pure("1/20"), {"age", "sex"}, relation),
        Loss.flat(Cost.pure("1/30"), relation=relation),
    ]
    ledger = Ledger(None, budget, relation=relation)
    for number, loss in enumerate(losses[:asked]):
        ledger.run(str(number), Event("Laplace", "QR-LAP"), loss, lambda: b"answer")
    report = threats(ledger)
    whole = report.person if relation is REPLACE_ONE else Account(ledger, report.delta).row(people=2)
    for kind in ("promise", "used"):
        rows = [getattr(row, kind) for row in report.attributes]
        for one in [*rows, *(getattr(row, kind) for row in (*report.sets, *report.worst))]:
            above = getattr(whole, kind)
            if above is not None and one.delta == above.delta:
                assert not (one.epsilon > above.epsilon or one.guess > above.guess or one.nats > above.nats)
                assert above.belief is None or one.belief <= above.belief
        first = getattr(report.worst[0], kind)
        assert first.epsilon <= max(row.epsilon for row in rows) and first.guess <= max(row.guess for row in rows)
