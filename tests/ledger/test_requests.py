"""Reservations on both databases: what is accepted, refused, reused; what the limits add up."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Approximate, Concentrated, Cost, Event, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.exact import INFINITY
from sfumato.ledger import Budget, Ledger, Limit
from sfumato.privacy import Cover, LinearCurve

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP", {"scale": 10})


def pure(epsilon, *reads: str) -> Loss:
    return Loss.flat(Cost.pure(epsilon), reads=reads) if reads else Loss.flat(Cost.pure(epsilon))


def test_ten_tenths_fit_and_an_eleventh_does_not(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    for number in range(10):
        ledger.reserve(f"r{number}", EVENT, pure("1/10"))
    before, sums = ledger.head, ledger.spent().sums
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve("r10", EVENT, pure("1/10"))
    assert [(row.name, row.asked, row.left) for row in refused.value.breaks] == [("person", Fraction(1, 10), 0)]
    assert (ledger.head, ledger.spent().sums) == (before, sums)
    assert ledger.spent().percent == 100
    assert ledger.verify().ok


def test_a_smaller_request_fits_after_a_refusal_and_a_free_one_always(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("a", EVENT, pure("9/10"))
    with pytest.raises(BudgetExceeded, match="A smaller spend may fit"):
        ledger.reserve("b", EVENT, pure("2/10"))
    ledger.reserve("b", EVENT, pure("1/10"))
    ledger.reserve("c", EVENT, Loss.flat(Cost.zero()))
    assert ledger.spent().percent == 100


def test_the_way_of_a_request(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    assert ledger.reserve("a", EVENT, pure("1/10"), "how many?").state == "reserved"
    with pytest.raises(LedgerError, match="takes no answer"):
        ledger.commit("a", b"1")
    assert ledger.start("a").state == "started"
    with pytest.raises(LedgerError, match="one charge buys one draw"):
        ledger.start("a")
    assert ledger.reserve("a", EVENT, pure("1/10"), "how many?").state == "started"
    done = ledger.commit("a", b"1")
    assert (done.state, done.answer, done.event["name"]) == ("committed", b"1", "Laplace")
    assert ledger.commit("a", b"1") == done
    with pytest.raises(LedgerError, match="do not show"):
        ledger.commit("a", b"2")
    with pytest.raises(LedgerError, match="its answer stays"):
        ledger.fail("a")
    assert ledger.reserve("a", EVENT, pure("1/10"), "how many?") == done
    assert ledger.spent().sums[1] == Fraction(1, 10)
    assert ledger.verify().ok


def test_the_same_id_for_another_request_is_refused(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("a", EVENT, pure("1/10"))
    for event, loss, key in (
        (EVENT, pure("1/20"), None),
        (Event("Other", "X"), pure("1/10"), None),
        (EVENT, pure("1/10"), "k"),
    ):
        with pytest.raises(LedgerError, match="belongs to another request"):
            ledger.reserve("a", event, loss, key)
    assert ledger.spent().sums[1] == Fraction(1, 10)


def test_the_same_question_again_is_free_once_it_is_answered(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("a", EVENT, pure("1/10"), "how many?")
    assert not ledger.reserve("b", EVENT, pure("1/10"), "how many?").reused  # still running: a new charge
    ledger.start("a")
    ledger.commit("a", b"12")
    again = ledger.reserve("c", EVENT, pure("1/10"), "how many?")
    assert (again.id, again.answer, again.reused) == ("a", b"12", True)
    assert not ledger.reserve("d", EVENT, pure("1/10"), "how many on another snapshot?").reused
    assert ledger.spent().sums[1] == Fraction(3, 10)
    full = pure("7/10")
    ledger.reserve("e", EVENT, full)
    assert ledger.run("f", EVENT, pure("1/10"), lambda: b"13", question_key="how many?").answer == b"12"


def test_dead_reservations_stay_spent_and_say_nothing(open_ledger, caplog):
    ledger = open_ledger(Budget(Pure(1)))

    def draw() -> bytes:
        cell = 10 + 7
        raise ValueError(f"cell {cell} holds a secret")

    with pytest.raises(LedgerError) as died:
        ledger.run("a", EVENT, pure("1/10"), draw)
    assert str(died.value) == (
        "This request ended without an answer. What it reserved stays spent; ask again as a new request."
    )
    assert died.value.__context__ is None and died.value.__cause__ is None
    assert "cell 17" not in caplog.text, "the text of a failure may quote what was read, and a log is not the data"
    assert "The request" in caplog.text and "test_requests.py" in caplog.text, (
        "the operator learns what failed, and where"
    )
    assert ledger.spent().sums[1] == Fraction(1, 10)
    with pytest.raises(LedgerError, match="ended without an answer"):
        ledger.run("a", EVENT, pure("1/10"), lambda: b"never drawn")
    assert ledger.fail("a").state == "dead"
    assert ledger.verify().ok


def test_answers_are_bytes(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    blob = bytes(range(256)) * 1000
    assert ledger.run("a", EVENT, pure("1/10"), lambda: blob).answer == blob
    assert ledger.reserve("a", EVENT, pure("1/10")).answer == blob


def test_all_limits_hold_at_once(open_ledger):
    budget = Budget(
        Pure(1),
        each_attribute=Pure("1/2"),
        attributes={("race", "sex"): Pure("6/10")},
        people={3: Pure("27/10")},
        secrets=SECRETS,
    )
    ledger = open_ledger(budget)
    ledger.reserve("a", EVENT, pure("4/10", "race"))
    ledger.reserve("b", EVENT, pure("2/10", "sex"))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve("c", EVENT, pure("4/10", "race", "age"))
    names = {row.name: (row.asked, row.left) for row in refused.value.breaks}
    tenth = Fraction(1, 10)
    assert names == {
        "race": (4 * tenth, tenth),
        "race + sex": (4 * tenth, 0),
        "3 people": (12 * tenth, 9 * tenth),
    }
    ledger.reserve("d", EVENT, pure("3/10", "age"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("e", EVENT, pure("1/10", "age"))  # nine tenths of three people are used
    assert ledger.verify().ok


def test_a_linked_column_is_charged(open_ledger):
    ledger = open_ledger(Budget(Pure(9), each_attribute=Pure(1), secrets=SECRETS))
    ledger.reserve("a", EVENT, pure("6/10", "born"))
    with pytest.raises(BudgetExceeded, match="age \\+ born"):
        ledger.reserve("b", EVENT, pure("6/10", "age"))
    assert ledger.spent("age") == ledger.spent("born")


def test_groups_of_people_cost_the_square_of_rho(open_ledger):
    ledger = open_ledger(Budget(Concentrated(1), people={3: Concentrated("9/10")}))
    ledger.reserve("a", EVENT, Loss.flat(Cost.concentrated("1/10")))
    assert ledger.spent(people=3).sums[1] == Fraction(9, 10)
    with pytest.raises(BudgetExceeded, match="3 people"):
        ledger.reserve("b", EVENT, Loss.flat(Cost.concentrated("1/1000")))


def test_what_has_no_group_loss_is_refused_where_it_is_read(open_ledger):
    odd = Cost(INFINITY, LinearCurve(Fraction(1, 100)), Fraction(1, 10**9))
    budget = Budget(Approximate(1, 1e-6), more=[Limit("age", Approximate(1, 1e-6), people=2)], secrets=SECRETS)
    ledger = open_ledger(budget)
    ledger.reserve("a", EVENT, Loss.flat(odd, reads={"sex"}))
    with pytest.raises(BudgetExceeded, match="age \\+ born of 2 people, epsilon infinity asked"):
        ledger.reserve("b", EVENT, Loss.flat(odd, reads={"age"}))


def test_analysts_have_quotas_under_the_common_budget(open_ledger):
    ledger = open_ledger(Budget(Pure(1)), analysts={"ana": Budget(Pure("3/10")), "bob": Budget(Pure("9/10"))})
    ledger.reserve("a", EVENT, pure("3/10"), analyst="ana")
    with pytest.raises(BudgetExceeded, match=r"ana's limit on a person, 0.1 asked, 0 left. Nothing is left of ana"):
        ledger.reserve("b", EVENT, pure("1/10"), analyst="ana")
    with pytest.raises(BudgetExceeded, match=r"touched: the limit on a person, 0.8 asked, 0.7 left"):
        ledger.reserve("c", EVENT, pure("8/10"), analyst="bob")
    ledger.reserve("d", EVENT, pure("7/10"), analyst="bob")
    assert ledger.guarantee() == Pure(1)
    assert ledger.spent(analyst="ana").sums[1] == Fraction(3, 10)
    assert ledger.verify().ok


def test_each_limit_takes_the_first_certificate_that_fits(open_ledger):
    shown = [Loss.flat(Cost.pure(5)), Loss.flat(Cost.approximate("1/10", "1/100"))]
    ledger = open_ledger(Budget(Approximate(1, "1/10"), people={2: Pure(10)}))
    assert len(ledger.reserve("a", EVENT, shown).loss) == 2
    assert ledger.spent().sums[:2] == (Fraction(1, 100), Fraction(1, 10))
    assert ledger.spent(people=2).sums == (0, 10)
    assert ledger.verify().ok


def test_certificates_are_never_mixed(open_ledger):
    # One in a hundred times this is randomized response at 5: (1/10, 1/100) or (5, 0), never (1/10, 0).
    mixed = [Loss.flat(Cost.pure(5)), Loss.flat(Cost.approximate("1/10", "1/100"))]
    ledger = open_ledger(Budget(Pure("1/2")))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("a", EVENT, mixed)


def test_preview_and_largest_cost_nothing(open_ledger):
    ledger = open_ledger(Budget(Pure(1), each_attribute=Pure("1/2"), secrets=SECRETS))
    ledger.reserve("a", EVENT, pure("46/100", "sex"))
    head = ledger.head
    assert ledger.preview(pure("4/100", "sex")).fits
    refused = ledger.preview(pure("1/10", "sex"))
    assert not refused.fits
    assert refused.text == (
        "Refused before the data were touched: the limit on sex, 0.1 asked, 0.04 left. A smaller spend may fit."
    )
    assert ledger.largest(lambda spend: Loss.flat(Cost.of(spend), reads={"sex"}), Pure("1/10")) == Pure("4/100")
    assert ledger.largest(lambda spend: Loss.flat(Cost.of(spend), reads={"sex"}), Pure("1/100")) == Pure("1/100")
    assert ledger.largest(lambda spend: pure("1/10", "sex"), Pure("1/100")) is None

    def dear(spend):
        return Loss.flat(Cost.pure(spend.epsilon * Fraction(7, 6)), reads={"sex"})

    # a mechanism that costs a little more than its spend leaves a fraction that nobody could type
    assert ledger.largest(dear, Pure(1)) == Pure("6/175")
    with pytest.raises(BudgetExceeded, match=r"The largest that fits is Pure\(0.03428\)"):
        ledger.reserve("dear", EVENT, dear(Pure(1)), spend=Pure(1), make_loss=dear)
    assert ledger.head == head
    with pytest.raises(BudgetExceeded, match=r"The largest that fits is Pure\(0.04\)") as asked:
        ledger.reserve(
            "b",
            EVENT,
            pure("1/10", "sex"),
            spend=Pure("1/10"),
            make_loss=lambda spend: Loss.flat(Cost.of(spend), reads={"sex"}),
        )
    assert asked.value.largest == Pure("4/100")
    ledger.reserve("b", EVENT, pure("4/100", "sex"))


def test_run_says_the_largest_too(open_ledger):
    ledger = open_ledger(Budget(Pure("1/2")))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.run("a", EVENT, pure(1), bytes, spend=Pure(1), make_loss=lambda spend: Loss.flat(Cost.of(spend)))
    assert refused.value.largest == Pure("1/2")


def test_threads_share_a_ledger(open_ledger):
    ledger = open_ledger(Budget(Pure("20/100")))

    def work(number: int) -> bool:
        try:
            return ledger.run(str(number), EVENT, pure("1/100"), lambda: b"1").answer == b"1"
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(30))) == 20
    assert ledger.verify().ok


def test_a_forked_process_opens_its_own_connections(place):
    code = """
import os, sys
from sfumato import Cost, Event, Loss, Pure
from sfumato.ledger import Budget, Ledger
ledger = Ledger(sys.argv[1], Budget(Pure(1)))
event, loss = Event("Laplace", "QR-LAP"), Loss.flat(Cost.pure("1/10"))
ledger.reserve("before", event, loss)
child = os.fork()
ledger.reserve("child" if child == 0 else "parent", event, loss)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.reserve("after", event, loss)
assert ledger.spent().sums[1] * 10 == 4
assert ledger.verify().ok
"""
    subprocess.run([sys.executable, "-c", code, place], check=True)


def test_the_largest_of_curves_and_leaks_fits_and_hardly_more_would():
    with Ledger(None, Budget(Approximate(1, 1e-6))) as ledger:
        ledger.reserve("a", EVENT, Loss.flat(Cost.concentrated("1/100")))

        def gaussian(spend):
            return Loss.flat(Cost.of(spend))

        fit = ledger.largest(gaussian, Concentrated(1))
        assert ledger.preview(gaussian(fit)).fits
        assert not ledger.preview(gaussian(Concentrated(fit.rho * Fraction(1_000_001, 1_000_000)))).fits
        leaky = ledger.largest(gaussian, Approximate("1/100", 1e-3))
        assert leaky.delta == Fraction(1, 20_000_000)  # what a first question of curves leaves for leaks
        assert ledger.preview(gaussian(leaky)).fits


def test_a_preview_says_which_route_would_close():
    with Ledger(None, Budget(Approximate(1, 1e-6))) as ledger:
        seen = ledger.preview(Loss.flat(Cost.concentrated("1/1000")))
        assert seen.fits
        assert seen.text == "Fits. For experts: these ways of counting would end with it: person, epsilon."


def test_later_limits_are_summed_over_the_past_and_promise_nothing(open_ledger):
    ledger = open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS))
    ledger.reserve("a", EVENT, pure("4/10", "sex"))
    ledger.reserve("b", EVENT, pure("3/10", "race"))
    rule = ledger.add_limit(Limit({"sex", "race"}, Pure("8/10")))
    assert rule.late and not rule.promises
    assert ledger.spent(("sex", "race")).sums[1] == Fraction(7, 10)
    other = open_ledger()  # another process sees it too
    with pytest.raises(BudgetExceeded, match="race \\+ sex"):
        other.reserve("c", EVENT, pure("2/10", "sex"))
    assert ledger.guarantee(("sex", "race")) == Pure(2)
    with pytest.raises(BudgetExceeded, match="has been passed already"):
        ledger.add_limit(Limit("sex", Pure("1/10")))
    assert ledger.verify().ok
    assert [reading.rule.late for reading in ledger.readings()] == [False, False, False, False, True]


def test_a_lowered_limit_is_a_cap_and_not_a_guarantee(open_ledger):
    ledger = open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS))
    ledger.reserve("a", EVENT, pure("4/10", "sex"))
    ledger.lower("sex", Pure("1/2"))
    with pytest.raises(BudgetExceeded, match=r"sex, 0.2 asked, 0.1 left"):
        ledger.reserve("b", EVENT, pure("2/10", "sex"))
    assert ledger.guarantee("sex") == Pure(1)
    assert ledger.spent("sex").text.endswith("A cap of Pure(0.5) was set later; it is not a guarantee.")
    with pytest.raises(ParameterError, match="never raised"):
        ledger.lower("sex", Pure("3/4"))
    ledger.lower("sex", Pure(0))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("b", EVENT, pure("1/1000", "sex"))
    ledger.reserve("c", EVENT, pure("1/1000", "race"))
    assert ledger.verify().ok
    assert open_ledger().guarantee("sex") == Pure(1)


def test_meters_of_sets_without_a_limit_are_read_from_the_history(open_ledger):
    ledger = open_ledger(Budget(Pure(3), each_attribute=Pure(1), secrets=SECRETS))
    cover = Loss(Cover(((frozenset({"sex"}), Cost.pure("1/10")), (frozenset({"race"}), Cost.pure("2/10")))))
    ledger.reserve("a", EVENT, cover)
    ledger.reserve("b", EVENT, pure("1/10", "age"))
    reading = ledger.spent(("sex", "race"))
    assert (reading.own, reading.sums[1]) == (False, Fraction(3, 10))
    assert ledger.remaining(("sex", "race"))[1][1] == Fraction(27, 10)
    assert ledger.spent(people=2).sums[1] == Fraction(8, 10)


def test_the_odometer_ends_with_a_leak(open_ledger):
    ledger = open_ledger(Budget(Approximate(3, 1e-6)))
    ledger.reserve("a", EVENT, pure("1/10"))
    assert ledger.odometer().log_odds == Fraction(1, 10)
    ledger.reserve("b", EVENT, Loss.flat(Cost.concentrated("1/100")))
    assert 0 < ledger.odometer().log_odds < 2
    ledger.reserve("c", EVENT, Loss.flat(Cost.approximate("1/10", 1e-9)))
    assert ledger.odometer() is None


requests = st.tuples(
    st.sampled_from(["pure", "concentrated", "leaking"]),
    st.integers(1, 30),
    st.sets(st.sampled_from(["age", "race", "sex"])),
)


def _loss(kind: str, hundredths: int, reads: set[str]) -> Loss:
    amount = Fraction(hundredths, 100)
    cost = {
        "pure": lambda: Cost.pure(amount),
        "concentrated": lambda: Cost.concentrated(amount / 50),
        "leaking": lambda: Cost.approximate(amount, Fraction(1, 10**8)),
    }[kind]()
    return Loss.flat(cost, reads=reads) if reads else Loss.flat(cost)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(requests, max_size=12))
def test_more_limits_never_accept_more_and_every_sum_stays_inside(asked):
    few = Ledger(None, Budget(Approximate(1, 1e-6)))
    many = Ledger(
        None,
        Budget(Approximate(1, 1e-6), each_attribute=Approximate("1/2", 1e-6), people={2: Pure(1)}, secrets=SECRETS),
    )
    with few, many:
        for number, (kind, hundredths, reads) in enumerate(asked):
            loss = _loss(kind, hundredths, reads)
            if many.preview(loss).fits:
                assert few.preview(loss).fits
                few.reserve(str(number), EVENT, loss)
                many.reserve(str(number), EVENT, loss)
        assert few.verify().ok and many.verify().ok
        for reading in many.readings():
            assert reading.gate.fits(reading.sums)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(requests, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_requests_does_not_matter_when_all_fit(asked, shuffler):
    mixed = list(asked)
    shuffler.shuffle(mixed)
    # Where the first request divides delta, its choice matters; here it is written.
    wide, each = Approximate(30, 1e-6, leaks=5e-7, gauss=4e-7), Approximate(20, 1e-6, leaks=5e-7, gauss=4e-7)
    budget = Budget(wide, each_attribute=each, secrets=SECRETS)
    sums = []
    for order in (asked, mixed):
        with Ledger(None, budget) as ledger:
            for number, request in enumerate(order):
                ledger.reserve(str(number), EVENT, _loss(*request))
            sums.append([reading.sums for reading in ledger.readings()])
    assert sums[0] == sums[1]


def test_conversations_are_charged_whole_and_follow_their_state(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("talk", EVENT, pure("1/2"))
    with pytest.raises(LedgerError, match="is reserved"):
        ledger.load_state("talk")
    ledger.start("talk")
    assert ledger.save_state("talk", 0, b"coins") == 1
    assert ledger.save_state("talk", 1, b"coins, 1", b"below") == 2
    found = open_ledger().load_state("talk")
    assert (found.step, found.state, found.last) == (2, b"coins, 1", b"below")
    with pytest.raises(LedgerError, match="does not follow"):
        ledger.save_state("talk", 1, b"other coins", b"above")
    assert ledger.load_state("talk") == found
    assert ledger.spent().sums[1] == Fraction(1, 2)
    assert ledger.commit("talk", b'["below"]').state == "committed"
    with pytest.raises(LedgerError, match="is committed"):
        ledger.save_state("talk", 2, b"coins", b"more")
    assert ledger.verify().ok


def test_a_conversation_without_state_is_dead(open_ledger):
    ledger = open_ledger(Budget(Pure(1)))
    ledger.reserve("talk", EVENT, pure("1/2"))
    ledger.start("talk")
    with pytest.raises(LedgerError, match="ended without an answer"):
        ledger.load_state("talk")
    with pytest.raises(LedgerError, match="is dead"):
        ledger.save_state("talk", 0, b"coins")
    assert ledger.spent().sums[1] == Fraction(1, 2)
    assert ledger.verify().ok
