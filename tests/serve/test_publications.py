"""Publications under a service: everybody who signs in sees what was published, and nothing else of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sfumato.errors import ParameterError
from sfumato.publish import Publication
from sfumato.serve.house import read_house
from sfumato.serve.publications import as_read
from tests.publish.sample import prepare
from tests.serve.houses import add_accounts, open_site, write_house

PUBLICATION = """
[[publication]]
name = "visits"
title = "Visits by country"
file = "visits.toml"
"""
FEBRUARY = date(2026, 2, 1)


def test_what_was_published_is_shown_and_taken_and_verified(tmp_path: Path) -> None:
    file = prepare(tmp_path)
    house = write_house(tmp_path, more=PUBLICATION)
    client, site = open_site(house, add_accounts(house))
    with client:
        assert "Nothing is published yet" in site.browser("ana").page("/publications/visits").text
        assert site.post("otto", "/api/publications/visits/verify").status_code == 409
        assert not (tmp_path / "visits.ledger").exists()  # looking makes nothing
        Publication.load(file).run(today=FEBRUARY)
        ana, otto = site.browser("ana"), site.browser("otto")
        assert "Visits by country" in ana.page("/").text and "/publications/visits" in ana.page("/publications").text
        page = ana.page("/publications/visits").text
        assert (
            "What is promised" in page
            and "<td>CH</td>" in page
            and "count, 95 %" in page
            and "count_low" not in page
            and "Work it out again" not in page
        )
        assert "2026-01-04" in page and "latest/countries.csv" in page
        listed = site.get("bea", "/api/publications/visits").json()
        place = "/api/publications/visits/files/"
        for one in listed["files"]:
            assert len(site.get("ana", place + one["path"]).content) == one["bytes"]
        assert site.get("ana", place + "latest/countries.csv").text.startswith("country,count")
        whole = site.get("ana", place + "index.html")
        assert whole.headers["content-security-policy"].startswith("default-src 'none'") and "<svg" in whole.text
        checked = otto.send("/publications/visits/verify", {}, "/publications/visits").text
        assert "Everything was worked out again and agrees: 4 periods" in checked
        assert ana.send("/publications/visits/verify", {}, "/").status_code == 403
        (tmp_path / "out" / "visits" / "latest" / "countries.csv").write_text("country,count\nCH,1\n")
        assert not site.post("carla", "/api/publications/visits/verify").json()["ok"]
        for path in ("../../visits.toml", "visits.ledger", "..%2F..%2Fvisits.toml", "/etc/passwd", "period=2026-01-01"):
            assert site.get("ana", place + path).status_code == 404
        assert site.get("ana", "/api/publications/other").status_code == 404


def test_numbers_of_a_published_table_have_the_digits_that_their_intervals_leave_certain() -> None:
    columns = ["period", "total", "total_low", "total_high", "total_all_low", "total_all_high", "total_known", "flat"]
    rows = [
        ["2026-01-01", "1020.293", "1015.51", "1025.076", "913.1", "1127.486", "true", "7.25"],
        ["2026-01-02", "15", "11", "20", "9", "21", "false", ""],
        ["2026-01-03", "", "", "", "", "", "", ""],
    ]
    shown, said = as_read(columns, rows)
    assert shown == ["period", "total", "total, 95 %", "total, 95 % everywhere", "flat"]
    assert said == [
        ["2026-01-01", "1,020.3", "1,015.5 to 1,025.1", "913 to 1,127", "7.25"],
        ["2026-01-02", "not known", "11 to 20", "9 to 21", "–"],
        ["2026-01-03", "–", "", "", "–"],
    ]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"publication": [{"name": "visits"}]}, "needs file"),
        ({"publication": [{"name": "Visits!", "file": "v.toml"}]}, "cannot stand in an address"),
        ({"publication": [{"name": "v", "file": "v.toml", "to": "x"}]}, "has no 'to'"),
        ({"publication": [{"name": "v", "file": "v.toml"}] * 2}, "Two publications"),
    ],
)
def test_a_mistake_is_a_sentence(record: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=said):
        read_house(record, tmp_path)


def test_a_publication_that_is_not_there_ends_the_start(tmp_path: Path) -> None:
    from sfumato.serve.started import checked

    with pytest.raises(ParameterError):
        checked(write_house(tmp_path, more=PUBLICATION))
