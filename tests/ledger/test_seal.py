"""Sums sealed into the chain, heads kept elsewhere, older ledgers: what an editor of the file can and cannot do."""

from __future__ import annotations

import json
import shutil
import time

import pytest
import sqlalchemy as sa

from sfumato import Cost, Event, Loss, Pure
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Budget, Ledger, Limit
from sfumato.ledger.chain import FIRST, Row, canonical, digest, sums_after, with_sums
from sfumato.ledger.request import fingerprint_of
from sfumato.ledger.session import FORMAT

from .conftest import SECRETS

EVENT = Event("Laplace", "QR-LAP")
BUDGET = Budget(Pure(1), each_attribute=Pure(1), secrets=SECRETS)
LOSS = Loss.flat(Cost.pure("2/10"), reads={"age"})

HALVED = "UPDATE sfumato_sums SET sums = replace(sums, '2/5', '1/5')"


def spend(ledger: Ledger, *ids: str) -> None:
    for name in ids:
        ledger.run(name, EVENT, LOSS, lambda: b"42", question_key=name)


def edit(ledger: Ledger, statement: str, *values) -> None:
    with ledger._journal.store.connection(write=True) as connection:
        connection.execute(sa.text(statement), dict(enumerate(values)))


def rewrite(ledger: Ledger, change=lambda row: row, keep=lambda row: True) -> None:
    """Write a consistent chain over changed rows, and the sums that they name: the best that a forger can do."""
    with ledger._journal.store.connection(write=True) as connection:
        lines = connection.execute(sa.text("SELECT number, kind, reservation, body FROM sfumato_row ORDER BY number"))
        rows = [change(Row(*line)) for line in lines.all() if keep(Row(*line))]
        connection.execute(sa.text("DELETE FROM sfumato_row"))
        seal = FIRST
        for row in rows:
            seal = row.seal(seal)
            connection.execute(
                sa.text("INSERT INTO sfumato_row VALUES (:number, :kind, :reservation, :body, :seal)"),
                {**vars(row), "seal": seal},
            )
        connection.execute(sa.text("UPDATE sfumato_head SET seal = :s, length = :n"), {"s": seal, "n": len(rows)})


def refused(ledger: Ledger, words: str) -> None:
    """Nothing is charged and nothing is answered, not even what was answered before."""
    before = ledger.head
    for ask in (
        lambda: ledger.reserve("new", EVENT, LOSS),
        lambda: ledger.run("newer", EVENT, LOSS, lambda: pytest.fail("the data were touched")),
        lambda: ledger.reserve("again", EVENT, LOSS, question_key="first"),
        lambda: ledger.add_limit(Limit("sex", Pure(1))),
        # What would fit, and what is spent, would be read off the same sums.
        lambda: ledger.preview(LOSS),
        lambda: ledger.largest(lambda part: LOSS, Pure(1)),
        lambda: ledger.readings(),
        lambda: ledger.spent(),
    ):
        with pytest.raises(LedgerError, match=words):
            ask()
    assert ledger.head == before


def test_every_row_seals_the_sums_after_it(open_ledger):
    ledger = open_ledger(BUDGET)
    spend(ledger, "first", "second")
    ledger.add_limit(Limit("sex", Pure(1)))
    ledger.lower("age", Pure("3/4"))
    ledger.use_schema("s1")
    ledger.reserve("third", EVENT, LOSS)
    ledger.fail("third")
    with ledger._journal.session(write=False) as session:
        named = [sums_after(row.body) for row, _ in session.rows()]
        assert named[-1] == digest(session.sums_text()) and None not in named
    assert len(set(named)) == 6  # empty, two charges, a later limit, a cap, a charge
    assert ledger.verify().ok and open_ledger().verify().ok


def test_sums_that_were_halved_are_refused(open_ledger):
    ledger = open_ledger(BUDGET)
    spend(ledger, "first", "second")
    edit(ledger, HALVED)
    refused(ledger, "were changed outside it; run ledger.verify")
    refused(open_ledger(), "were changed outside it")
    assert any("not those that the last row sealed" in problem for problem in ledger.verify().problems)


def test_what_follows_does_not_seal_changed_sums(tmp_path):
    """A commit or a failure takes the digest from the row before it, never from the sums as they are now."""
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        spend(ledger, "first", "second")
        ledger.reserve("third", EVENT, LOSS)
        edit(ledger, "UPDATE sfumato_sums SET sums = replace(sums, '3/5', '1/5')")
        ledger.fail("third")
        refused(ledger, "were changed outside it")
    with Ledger(tmp_path / "l") as ledger:
        refused(ledger, "were changed outside it")


def test_a_last_row_that_was_dropped_is_refused(open_ledger):
    ledger = open_ledger(BUDGET)
    spend(ledger, "first", "second")
    edit(ledger, "DELETE FROM sfumato_row WHERE number = (SELECT max(number) FROM sfumato_row)")
    refused(open_ledger(), "were changed outside it")


def test_a_last_row_that_names_other_sums_is_refused(tmp_path):
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        spend(ledger, "first", "second")
        edit(ledger, HALVED)
        with ledger._journal.session(write=False) as session:
            forged = digest(session.sums_text())
            old = sums_after(session.body(session.head.length))
        edit(ledger, f"UPDATE sfumato_row SET body = replace(body, '{old}', '{forged}')")
        refused(ledger, "were changed outside it|which row was changed")


def forge(ledger: Ledger) -> None:
    """Make the second charge vanish and put everything right again, seals and states included."""
    edit(ledger, HALVED)
    edit(ledger, "DELETE FROM sfumato_reservation WHERE id = 'second'")
    rewrite(ledger, keep=lambda row: row.reservation != "second")


def test_a_rewritten_history_is_noticed_by_the_head_that_was_kept(tmp_path):
    kept = tmp_path / "elsewhere" / "head"
    kept.parent.mkdir()
    with Ledger(tmp_path / "l", BUDGET, keep_head=kept) as ledger:
        spend(ledger, "first", "second")
        assert kept.read_text().strip() == ledger.head
        before = ledger.head
    with Ledger(tmp_path / "l") as ledger:
        forge(ledger)
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.verify().ok  # without a kept head, whoever can rewrite the whole file can rewrite history
        spend(ledger, "third")
    with pytest.raises(LedgerError, match="rolled back"):
        Ledger(tmp_path / "l", keep_head=kept)
    assert kept.read_text().strip() == before


def edited(row: Row) -> Row:
    return Row(row.number, row.kind, row.reservation, row.body.replace("QR-LAP", "QR-XXX"))


def test_an_edited_row_with_new_seals_is_noticed_by_the_head_that_was_kept(tmp_path):
    heads: list[str] = []

    def keep(head):
        if head is not None:
            heads.append(head)
        return heads[-1] if heads else None

    with Ledger(tmp_path / "l", BUDGET, keep_head=keep) as ledger:
        spend(ledger, "first", "second")
    with Ledger(tmp_path / "l") as ledger:
        rewrite(ledger, edited)
    with Ledger(tmp_path / "l") as ledger:
        assert any("belongs to another request" in problem for problem in ledger.verify().problems)
        with ledger._journal.session(write=False) as session:
            bodies = {row.reservation: json.loads(row.body) for row, _ in session.rows("reserved")}
        for name, body in bodies.items():
            edit(ledger, f"UPDATE sfumato_reservation SET request = '{fingerprint_of(body)}' WHERE id = '{name}'")
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.verify().ok
    with pytest.raises(LedgerError, match="rolled back"):
        Ledger(tmp_path / "l", keep_head=keep)
    assert not Ledger(tmp_path / "l").verify(head=heads[-1]).ok


def test_an_older_copy_is_noticed_at_opening_and_at_a_reservation(tmp_path):
    kept = str(tmp_path / "head")
    with Ledger(tmp_path / "l", BUDGET, keep_head=kept) as ledger:
        spend(ledger, "first")
    shutil.copy(tmp_path / "l", tmp_path / "older")
    other = Ledger(tmp_path / "older", keep_head=kept)
    with Ledger(tmp_path / "l", keep_head=kept) as ledger:
        spend(ledger, "second")
    with pytest.raises(LedgerError, match="was rolled back"):
        other.reserve("third", EVENT, LOSS)
    other.close()
    with pytest.raises(LedgerError, match="was rolled back"):
        Ledger(tmp_path / "older", keep_head=kept)
    with Ledger(tmp_path / "l", keep_head=kept) as ledger:
        spend(ledger, "third")


def test_several_keep_one_head(open_ledger, tmp_path):
    one, two = (open_ledger(BUDGET, keep_head=tmp_path / "head") for _ in range(2))
    spend(one, "first")
    spend(two, "second")
    spend(one, "third")
    assert (tmp_path / "head").read_text().strip() == two.head
    assert not list(tmp_path.glob("*.new"))


def test_a_head_that_cannot_be_kept_is_said_at_once(tmp_path):
    with pytest.raises(LedgerError, match="could not be kept"):
        Ledger(tmp_path / "l", BUDGET, keep_head=tmp_path / "nowhere" / "head")
    (tmp_path / "head").write_text("yesterday")
    with pytest.raises(LedgerError, match="A head looks like"):
        Ledger(tmp_path / "l", keep_head=tmp_path / "head")
    with pytest.raises(ParameterError, match="keep_head= is the path"):
        Ledger(tmp_path / "l", keep_head=7)


def without_seals(ledger: Ledger) -> None:
    """Take the seals of the sums out, as an older version wrote its rows."""

    def plain(row: Row) -> Row:
        body = json.loads(row.body)
        body.pop("sums_after")
        return Row(row.number, row.kind, row.reservation, canonical(body["schema"] if row.kind == "schema" else body))

    rewrite(ledger, plain)
    edit(ledger, "UPDATE sfumato_head SET format = 1")


def test_a_ledger_of_an_older_version_is_verified_and_sealed_once(open_ledger, monkeypatch):
    ledger = open_ledger(BUDGET, schema="s1")
    spend(ledger, "first", "second")
    ledger.add_limit(Limit("sex", Pure(1)))
    # Older sums may be larger than what was charged; they are taken as they are found.
    edit(ledger, "UPDATE sfumato_sums SET sums = replace(sums, '2/5', '3/5')")
    without_seals(ledger)
    older = open_ledger(schema="s1")
    assert older.verify().ok and older.spent().sums[1] == Pure("3/5").epsilon
    spend(older, "third")
    with older._journal.session(write=False) as session:
        assert session.form == FORMAT
        kinds = [(row.kind, sums_after(row.body) is not None) for row, _ in session.rows()]
    assert kinds[8] == ("sealed", True) and not any(sealed for _, sealed in kinds[:8])
    assert older.verify().ok and older.spent().sums[1] == Pure("4/5").epsilon
    monkeypatch.setattr("sfumato.ledger.verify.verify", lambda *_: pytest.fail("verified twice"))
    open_ledger(schema="s1").reserve("fourth", EVENT, LOSS)


def test_a_ledger_of_an_older_version_that_does_not_verify_is_not_sealed(tmp_path):
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        spend(ledger, "first", "second")
        without_seals(ledger)
    with Ledger(tmp_path / "l") as ledger:
        edit(ledger, HALVED)
        with pytest.raises(LedgerError, match="does not verify: The sums of person are smaller"):
            ledger.reserve("third", EVENT, LOSS)


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("it seals no sums", lambda row: Row(row.number, row.kind, row.reservation, row.body[:-81] + "}")),
        (
            "not what was charged so far",
            lambda row: Row(row.number, row.kind, row.reservation, row.body[:-8] + '000000"}'),
        ),
    ],
)
def test_verification_follows_the_sealed_sums(tmp_path, words, change):
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        spend(ledger, "first", "second")
        rewrite(ledger, lambda row: change(row) if row.number == 2 else row)
    with Ledger(tmp_path / "l") as ledger:
        assert any(words in problem for problem in ledger.verify().problems), ledger.verify().problems


def test_where_anybody_has_a_budget_everybody_says_who_asks(open_ledger):
    ledger = open_ledger(Budget(Pure(3)), analysts={"ana": Budget(Pure(1)), "me": Budget(Pure(3))})
    with pytest.raises(ParameterError, match="Say who asks with analyst=; those who have a budget are ana, me"):
        ledger.reserve("first", EVENT, LOSS)
    ledger.reserve("first", EVENT, LOSS, analyst="me")
    assert ledger.spent().sums == ledger.spent(analyst="me").sums  # meters are free and name nobody


def test_a_digest_is_the_last_thing_in_a_row():
    known = "ab" * 32
    assert sums_after(with_sums("{}", known)) == known == sums_after(with_sums('{"a":1}', known))
    assert json.loads(with_sums('{"a":1}', known)) == {"a": 1, "sums_after": known}
    assert sums_after('{"event":{"sums_after":"' + known + '"}}') is None
    assert sums_after('{"a":"\\"sums_after\\":\\"' + known + '\\"}"}') is None
    assert sums_after("{}") is None


def test_the_check_is_quick(tmp_path):
    """Bar: 0.2 ms; ten times that here, because other programs may be running."""
    with Ledger(tmp_path / "l", BUDGET) as ledger:
        spend(ledger, *map(str, range(4)))
        with ledger._journal.session(write=False) as session:
            times = []
            for _ in range(200):
                begun = time.process_time()
                assert session.sums_as_sealed() is not None
                times.append(time.process_time() - begun)
    assert sorted(times)[100] < 0.002


def test_several_writers_keep_the_newest_head(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    kept = tmp_path / "elsewhere" / "head"
    kept.parent.mkdir()
    Ledger(tmp_path / "l", Budget(Pure(9)), keep_head=kept).close()
    seen, done = [], []

    def write(writer: int) -> None:
        with Ledger(tmp_path / "l", keep_head=kept) as ledger:
            for turn in range(12):
                ledger.run(f"{writer}-{turn}", EVENT, LOSS, lambda: b"42")
        done.append(writer)

    def watch() -> None:
        while len(done) < 3:
            seen.append(int(kept.read_text().partition(":")[0]))

    with ThreadPoolExecutor(4) as pool:
        for task in [pool.submit(watch), *(pool.submit(write, writer) for writer in range(3))]:
            task.result()
    assert seen == sorted(seen), "never empty, never an older one"
    with Ledger(tmp_path / "l", keep_head=kept) as ledger:
        assert kept.read_text().strip() == ledger.head and len(ledger.history()) == 36
    assert {path.name for path in kept.parent.iterdir()} == {"head", "head.lock"}
