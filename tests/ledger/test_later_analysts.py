"""Somebody who comes later gets a quota under the limits of all; it never raises anything."""

from __future__ import annotations

import pytest

from sfumato import Approximate, Budget, Cost, Event, Ledger, Loss, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger.typed import read_bound

EVENT = Event("Laplace", "QR-LAP")


def spend(ledger: Ledger, name: str, epsilon: str, analyst: str | None) -> None:
    ledger.run(name, EVENT, Loss.flat(Cost.pure(epsilon)), lambda: b"1", analyst=analyst)


def test_a_later_quota_binds_its_analyst_and_survives_opening(tmp_path):
    place = tmp_path / "book"
    with Ledger(place, Pure(3)) as ledger:
        spend(ledger, "before", "1/2", "ana")  # nobody has a quota yet, and what was asked counts
        rules = ledger.add_analyst("ana", Pure(1))
        assert [rule.name for rule in rules] == ["ana: person"] and not rules[0].promises
        assert ledger.analysts == {"ana"}
        with pytest.raises(BudgetExceeded, match="ana"):
            spend(ledger, "too much", "3/4", "ana")
        spend(ledger, "fits", "1/2", "ana")
        with pytest.raises(ParameterError, match="Say who asks"):
            spend(ledger, "nobody", "1/10", None)
        with pytest.raises(ParameterError, match="'ben' has no budget"):
            spend(ledger, "ben", "1/10", "ben")
    with Ledger(place) as ledger:
        with pytest.raises(BudgetExceeded, match="ana"):
            spend(ledger, "more", "1/10", "ana")
        ledger.add_analyst("ben", Budget(person=Pure(5)))
        with pytest.raises(BudgetExceeded, match="person"):
            spend(ledger, "all together", "5/2", "ben")  # under the quota of ben, above what is left for all
        spend(ledger, "rest", "2", "ben")
        assert ledger.guarantee() == Pure(3)
        assert ledger.verify().ok


def test_a_quota_is_given_once_and_may_be_lowered(tmp_path):
    with Ledger(tmp_path / "book", Pure(3), analysts={"ana": Budget(person=Pure(1))}) as ledger:
        with pytest.raises(LedgerError, match="'ana' has a quota already"):
            ledger.add_analyst("ana", Pure(2))
        ledger.add_analyst("ben", Pure(2))
        with pytest.raises(LedgerError, match="'ben' has a quota already"):
            ledger.add_analyst("ben", Pure(1))
        from sfumato import EVERYTHING

        ledger.lower(EVERYTHING, Pure(1), analyst="ben")
        with pytest.raises(BudgetExceeded):
            spend(ledger, "above the cap", "3/2", "ben")
        assert "cap of" in ledger.spent(analyst="ben").text
        assert ledger.verify().ok
    with Ledger(tmp_path / "book", analysts={"ana": Budget(person=Pure(1))}) as ledger:
        assert ledger.analysts == {"ana", "ben"}  # what it was made with is still what it was made with


def test_a_quota_with_several_limits_and_an_open_delta(tmp_path):
    from sfumato.privacy import Secrets

    budget = Budget(Approximate(3, "1e-6"), each_attribute=Approximate(1, "1e-6"), secrets=Secrets(("age", "sex")))
    with Ledger(tmp_path / "book", budget) as ledger:
        rules = ledger.add_analyst("ana", Budget(Approximate(1, "1e-6"), each_attribute=Approximate("1/2", "1e-6")))
        assert len(rules) == 3
        loss = Loss.flat(Cost.pure("1/4"), reads={"age"})
        ledger.run("one", EVENT, loss, lambda: b"1", analyst="ana")
        with pytest.raises(BudgetExceeded, match="ana's limit on age"):
            ledger.run("two", EVENT, Loss.flat(Cost.pure("2/5"), reads={"age"}), lambda: b"1", analyst="ana")
        assert ledger.verify().ok


@pytest.mark.parametrize("name", ["", "x" * 201, None])
def test_a_name_is_a_short_text(name):
    with Ledger(None, Pure(1)) as ledger, pytest.raises(ParameterError, match="named by a text"):
        ledger.add_analyst(name, Pure(1))


def test_a_quota_that_was_passed_before_is_refused():
    with Ledger(None, Pure(3)) as ledger:
        spend(ledger, "before", "2", "ana")
        with pytest.raises(BudgetExceeded):
            ledger.add_analyst("ana", read_bound("Pure(1)"))
        assert ledger.analysts == frozenset()


def test_a_statement_is_explained_to_somebody_with_a_quota():
    import pyarrow

    import sfumato as sf

    people = pyarrow.table({"age": [34, 71, 25], "sex": ["M", "F", "F"]})
    described = sf.Schema({"age": sf.integers(0, 99), "sex": sf.categories("F", "M")})
    text = "SELECT COUNT(*) FROM data WHERE age > 30"
    with sf.curate(people, described, Pure(1), analysts={"ana": Pure("1/2")}) as curator:
        assert "Fits" in curator.explain(text, Pure("1/2"), analyst="ana").fits
        assert "ana's limit on a person" in curator.explain(text, Pure("3/4"), analyst="ana").fits
        assert "ana's limit on a person" in curator.sql(f"EXPLAIN {text}", Pure("3/4"), analyst="ana").fits
        with pytest.raises(ParameterError, match="Say who asks"):
            curator.explain(text, Pure("1/2"))
