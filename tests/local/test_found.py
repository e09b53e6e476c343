"""What a server finds: by place or by name, as a table of other libraries, and readable."""

from __future__ import annotations

from datetime import date

import pytest

from sfumato import Noise, Pure, local
from sfumato.errors import ParameterError
from sfumato.local.popular import Popular, PopularItem, line

PLAN = local.plan(users=1000, spend=Pure(4), candidates=["dark", "light"], seed=bytes(32))


@pytest.fixture(scope="module")
def server() -> local.Server:
    found = PLAN.server()
    found.ingest(PLAN.client().reports(["dark"] * 900 + ["light"] * 100, Noise(insecure_seed=1)))
    return found


def test_an_item_is_found_by_its_name(server: local.Server) -> None:
    shares, popular = server.shares(), server.popular()
    assert shares["dark"] is shares[0] and shares[-1] is shares.named("light") and len(shares[:1]) == 1
    assert popular["dark"].value == "dark" and "dark" in popular and shares[0] in shares and "tea" not in popular
    with pytest.raises(ParameterError, match=r"'drak' is not among these items; did you mean 'dark'\?"):
        shares["drak"]
    with pytest.raises(ParameterError, match=r"server\.estimate\(\['tea'\]\) gives the share"):
        popular["tea"]
    with pytest.raises(ParameterError, match="this list has none"):
        Popular((), 0.05, 10)["tea"]
    with pytest.raises(IndexError, match=r"named\(21\)"):
        shares[21]


def test_an_item_that_is_a_number_is_named() -> None:
    found = Popular((PopularItem(7, 0.5, 0.1), PopularItem(0, 0.3, 0.1)), 0.05, 10)
    assert found[0].value == 7 and found.named(0).share == 0.3 and 7 in found


def test_what_is_found_is_a_table_of_other_libraries(server: local.Server) -> None:
    shares = server.shares()
    frame = shares.to_pandas()
    assert list(frame) == ["item", "share", "low", "high", "error"] and frame["item"].tolist() == ["dark", "light"]
    assert (
        frame["share"].tolist() == [item.share for item in shares] and "noise of the reports" in frame.attrs["notes"][0]
    )
    assert shares.to_arrow().num_rows == shares.to_polars().height == 2
    assert Popular((), 0.05, 10).to_arrow().num_rows == 0
    for item in (PopularItem(date(2020, 1, 1), 0.5, 0.1), PopularItem(b"ab", 0.5, 0.1)):
        assert Popular((item,), 0.05, 10).to_arrow().column("item").to_pylist() == [item.value]


def test_a_set_of_candidates_is_refused_with_the_line_to_write() -> None:
    with pytest.raises(ParameterError, match=r"write candidates=sorted\(\['a', 'b'\]\)"):
        local.plan(users=1000, spend=Pure(4), candidates={"b", "a"})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"write candidates=sorted\(labels\)"):
        local.plan(users=1000, spend=Pure(4), candidates=frozenset(range(9)))  # type: ignore[arg-type]


def test_names_that_cannot_be_seen_are_shown() -> None:
    assert [line(name) for name in ("", " ", "on ", "on", "(empty)", 7)] == [
        "(empty)",
        '" "',
        '"on "',
        "on",
        '"(empty)"',
        "7",
    ]


def test_one_is_not_told_as_many() -> None:
    assert "1 item from 1 report\n" in str(Popular((PopularItem("a", 1.0, 0.1),), 0.05, 1))


def test_shares_below_zero_are_spoken_of_where_they_are_shown() -> None:
    listed = ["red", *(f"nobody's {place}" for place in range(20))]
    plan = local.plan(users=2000, spend=Pure(2), candidates=listed, seed=bytes(32))
    server = plan.server()
    server.ingest(plan.client().reports(["red"] * 2000, Noise(insecure_seed=1)))
    shares = server.shares()
    below = [item for item in shares if item.share < 0]
    assert below and all(item.low == 0 < item.high for item in below)
    (said,) = shares.notes
    assert "below zero is noise" in said and said in str(shares)
    assert shares.consistent().notes == () and "below zero" not in str(shares.consistent())
