"""Files as they come from Excel and from hospitals: each is read as pandas reads it when told how, or refused in words.

Truth is computed by pandas, which is told by hand how each file is written; ours is told by the draft. The spend is so
large that the noise is below a thousandth of the answers: what differs is the reading.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.domain.figures import Figures
from sfumato.errors import ParameterError, SchemaError
from sfumato.table.candidates import candidate_of
from sfumato.table.marks import ways
from sfumato.table.names import FILL

ROWS = 300
PLENTY = Pure(100_000)


def visits(row: int) -> str:
    return f"P{row:04};{20 + row % 60};{row % 28 + 1}.{row % 12 + 1}.2024;{row * 13 % 997},{row % 90 + 10};{'ja' if row % 3 else 'nein'}"


def loans(row: int) -> str:
    return f'{row},"{1 + row % 40},{row * 7 % 1000:03}.{row % 90 + 10}",{row % 12 + 1}/{row % 28 + 1}/2024,{row % 30 + 0.5}%'


def export(row: int) -> str:
    return f"{row};{1 + row % 9}.{row * 7 % 1000:03},{row % 90 + 10} €;{row % 40},5 %;{'WAHR' if row % 4 else 'FALSCH'}"


def swiss(row: int) -> str:
    return f"{row}\t{1 + row % 80}'{row * 7 % 1000:03}.{row % 2 * 5}0\tBern{row % 2}"


def french(row: int) -> str:
    return f"{row};{1 + row % 80}\u202f{row * 7 % 1000:03},{row % 9 + 1}\u00a0€;{row % 3}"


def apps(row: int) -> str:
    return f'{row},"app {row % 20}, ""pro""",{row % 50},TRUE' if row % 2 else f"{row},app {row % 20},{row % 50},FALSE"


def american(row: int) -> str:
    return f'{row},"${row * 11 % 900}.{row % 90 + 10}",{"yes" if row % 2 else "no"}'


def refunds(row: int) -> str:
    amount = f"${row % 3},{row * 7 % 1000:03}.{row % 90 + 10}" if row % 3 else f"${row * 7 % 1000}.{row % 90 + 10}"
    return f'{row},"{(amount, "-" + amount, f"({amount})", amount)[row % 4]}"'


def clocks(row: int) -> str:
    return f"{row};{row % 28 + 1:02}.{row % 12 + 1:02}.2023 {row % 24:02}:{row % 60:02};{row % 7},{row % 10}"


def gaps(row: int) -> str:
    return f"{row},{'' if row % 5 == 0 else 'n/a' if row % 5 == 1 else row % 100},{'NA' if row % 4 else row % 10}"


def grouped(row: int) -> str:
    return f"{row};{1 + row % 40}.{row * 7 % 1000:03};{row % 9},{row % 90 + 10}"


Reads = dict[str, Any]
FILES: dict[str, tuple[str, Callable[[int], str], str, Reads, str, Reads]] = {
    # name: header, a line, codec, how pandas is told, a column of numbers, what its draft says beside the range
    "a hospital's visits": (
        "Patient ID;Alter;Aufnahme;Kosten (€);Notfall", visits, "utf-8-sig",
        {"sep": ";", "decimal": ","}, "Kosten (€)", {"type": "fixed", "decimal": ","},
    ),
    "loans": (
        "loan,amount,issued,rate", loans, "utf-8", {"thousands": ","}, "amount", {"type": "fixed", "thousands": ","},
    ),
    "rates with a percent sign": (
        "loan,amount,issued,rate", loans, "utf-8", {}, "rate", {"type": "fixed", "unit": "%"},
    ),
    "a European export": (
        "Zeile;Betrag;Anteil;Bezahlt", export, "utf-8", {"sep": ";", "decimal": ",", "thousands": "."}, "Betrag",
        {"type": "fixed", "decimal": ",", "thousands": ".", "unit": "€"},
    ),
    "Swiss thousands": (
        "Zeile\tLohn\tOrt", swiss, "utf-8", {"sep": "\t", "thousands": "'"}, "Lohn", {"type": "fixed", "thousands": "'"},
    ),
    "narrow blanks": (
        "ligne;prix;zone", french, "utf-8", {"sep": ";", "decimal": ",", "thousands": "\u202f"}, "prix",
        {"type": "fixed", "decimal": ",", "thousands": " ", "unit": "€"},
    ),
    "app names": ("row,app,minutes,paid", apps, "utf-8", {}, "minutes", {"type": "integer"}),
    "dollars": ("row,spent,member", american, "utf-8", {}, "spent", {"type": "fixed", "unit": "$"}),
    "refunds": ("row,paid", refunds, "utf-8", {"thousands": ","}, "paid", {"type": "fixed", "thousands": ",", "unit": "$"}),
    "clocks": ("Zeile;Beginn;Dosis", clocks, "utf-8", {"sep": ";", "decimal": ","}, "Dosis", {"decimal": ","}),
    "gaps": ("row,score x,seldom", gaps, "utf-8", {}, "score x", {"type": "integer"}),
    "thousands that other columns explain": (
        "Zeile;Umsatz;Dosis", grouped, "utf-8", {"sep": ";", "decimal": ",", "thousands": "."}, "Umsatz",
        {"type": "integer", "decimal": ",", "thousands": "."},
    ),
}  # fmt: skip


def truth(content: str, told: Reads, column: str) -> Any:
    cells = pandas.read_csv(io.StringIO(content), **{"sep": ",", **told}, dtype={})[column]
    if cells.dtype.kind in "if":
        return cells.astype(float).dropna()
    for sign in "$€%\u00a0)":
        cells = cells.astype(str).str.replace(sign, "")
    cells = cells.str.replace("(", "-")
    cells = cells.str.strip().str.replace(told.get("thousands", "\0"), "")
    return cells.str.replace(told.get("decimal", "."), ".").astype(float)


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_is_what_pandas_reads_when_it_is_told_how(tmp_path: Path, name: str) -> None:
    header, line, codec, told, column, says = FILES[name]
    content = "\n".join([header, *map(line, range(ROWS)), "", ""])
    (tmp_path / "messy.csv").write_bytes(content.replace("\n", "\r\n").encode(codec))
    drafted = sf.draft(tmp_path / "messy.csv", look=True)
    proposed = drafted.record["columns"][column]
    assert says.items() <= proposed.items() and not drafted.missing
    assert drafted.record.get("person") == {"Patient ID;": "Patient ID"}.get(header[:11])
    expected = truth(content, told, column)
    low, high = float(proposed["low"]), float(proposed["high"])
    with sf.curate(tmp_path / "messy.csv", drafted.confirm().schema(), Pure(10**6)) as curator:
        found = curator.sum(column, spend=PLENTY).value
        there = curator.count(f'"{column}" IS NOT NULL', spend=PLENTY).value
    step = float(proposed.get("step", 1))
    rounded = ((expected.clip(low, high) / step + 0.5) // 1) * step
    assert there == len(expected)
    assert found == pytest.approx(rounded.sum(), abs=ROWS * step / 10 + 0.1 * (high - low) / 10)
    assert abs(rounded.sum() - expected.sum()) < 0.02 * abs(expected.sum()), "little is clamped or rounded away"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"age,sex,age\n1,F,2\n", "age stand there for several"),
        (b"Age,sex,age\n1,F,2\n", "Age, age stand there for several"),
        (b",age\n0,3\n", "frame.to_csv(path, index=False)"),
        (b"age;sex;\n1;F;\n", "Column 3"),
        ("Größe;Ort\n170;Köln\n".encode("latin-1"), "iconv -f WINDOWS-1252 -t UTF-8"),
        ("Größe;Ort\n170;Köln\n".encode("utf-16"), "is written in UTF-16"),
        ("age;town\n17;Bern\n".encode("utf-16-le"), "iconv -f UTF-16 -t UTF-8"),
        (b"age,sex\n", "There is no row to look at"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_what_to_do(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "messy.csv").write_bytes(content)
    with pytest.raises(SchemaError) as refused:
        sf.draft(tmp_path / "messy.csv", look=True)
    assert words in str(refused.value)


@pytest.mark.parametrize("mark", [".", ","])
def test_a_thousand_times_more_or_less_is_asked_and_never_guessed(tmp_path: Path, mark: str) -> None:
    cells = [f"{row % 40 + 1}{mark}{row * 7 % 1000:03}" for row in range(ROWS)]
    lines = "\n".join(["spent;town", *(f"{cell};Bern" for cell in cells)])
    (tmp_path / "messy.csv").write_text(lines)
    drafted = sf.draft(tmp_path / "messy.csv", look=True)
    assert "columns.spent.decimal" in drafted.missing and "decimals or thousands" in " ".join(drafted.notes["spent"])
    with pytest.raises(SchemaError, match="decimal = "):
        drafted.confirm().schema()
    thousands = drafted.fill(
        spent={"decimal": ",."[mark == ","], "thousands": mark, "low": 0, "high": 50_000, "step": 1}
    )
    with sf.curate(tmp_path / "messy.csv", thousands.confirm().schema(), Pure(10**6)) as curator:
        exact = sum(int(cell.replace(mark, "")) for cell in cells)
        assert curator.sum("spent", spend=PLENTY).value == pytest.approx(exact, abs=100)


def test_what_is_written_otherwise_is_missing_and_never_another_number() -> None:
    comma = sf.domain.fixed(0, 10_000, step=0.1, decimal=",")
    assert [comma.decode(comma.encode(cell)) for cell in ("1.5", "1.234", "1,5,0", "12 %", "1,5")][:4] == [None] * 4
    grouped = sf.domain.integers(0, 10_000, thousands=",")
    assert [grouped.decode(grouped.encode(cell)) for cell in ("1,5", "12,34", "0,123", "1,234", "1234")] == [
        *[None] * 3,
        1234,
        1234,
    ]
    percent = sf.domain.fixed(0, 100, step=0.1, unit="%")
    assert [percent.decode(percent.encode(cell)) for cell in ("12", "%", "12 %", "%12", 12)] == [None, None, 12, 12, 12]
    paid = sf.domain.fixed(-10_000, 10_000, step=0.5, unit="$", thousands=",")
    for cell in ("-$1,234.50", "$-1,234.50", "-1,234.50 $", "($1,234.50)", " - $ 1234.5", "(1,234.50 $)"):
        assert paid.decode(paid.encode(cell)) == -1234.5, cell
    for cell in ("-$-5", "($-5)", "(5)", "($5", "$5)", "--$5", "- 5 $", "+$5", "-$1,23"):
        assert paid.decode(paid.encode(cell)) is None, cell


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"decimal": ";"}, "decimal is"),
        ({"thousands": "_"}, "thousands is"),
        ({"decimal": ",", "thousands": ","}, "cannot divide both"),
        ({"unit": "1 kg"}, "unit is"),
    ],
)
def test_odd_ways_of_writing_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.domain.fixed(0, 1, step=0.1, **given)  # type: ignore[arg-type]


def test_ways_of_writing_survive_the_schema() -> None:
    schema = sf.Schema({"a": sf.domain.fixed(0, 10, step=0.1, decimal=",", thousands=".", unit="€")})
    assert sf.Schema.from_toml(schema.to_toml()) == schema and "decimal ','" in str(schema)
    assert "decimal" not in sf.Schema({"a": sf.domain.fixed(0, 10, step=0.1)}).to_toml(), "fingerprints stay"


def test_codes_and_quarters_are_no_numbers() -> None:
    for cells in (["Q1", "Q2", "Q3"] * 40, ["007", "013"] * 40, ["A 1", "A 2"] * 40):
        found = candidate_of("x", cells)
        assert found.record is not None and found.record["type"] == "category"
    assert ways({"3 kg": 70, **{f"{row} kg": 1 for row in range(90)}}) == [Figures(unit="kg")]
    assert FILL not in str(candidate_of("x", ["0.125", "0.250"] * 50).record)


def test_a_draft_says_how_many_days_are_written_another_way() -> None:
    days = pandas.date_range("2020-01-01", "2023-10-31")
    usual = [f"{day:%Y-%m-%d}" for day in days for _ in range(6)]
    other = [f"{day:%d/%m/%Y}" for day in days for _ in range(3)] + [f"{day:%b %d, %Y}" for day in days]
    found = candidate_of("opened", usual + other)
    assert found.record is not None and found.record["type"] == "date" and "format" not in found.record
    assert any("40 % of the cells are not written as 2024-12-31 and would be missing" in said for said in found.notes)
    assert not any("would be missing" in said for said in candidate_of("opened", usual).notes)
    absent = candidate_of("opened", [*usual, *["k.A."] * 100])
    assert "Missing would be the cells with 'k.A.', 1.2 % of the cells." in absent.notes
    assert not any("are not written as" in said for said in absent.notes), "the same cells are spoken of once"


def test_a_draft_counts_all_days_in_each_format_not_those_alone_that_stand_there_most_often() -> None:
    """A register with many German moments of their own once had 77 % German days, where 59 % were."""
    days = pandas.date_range("2020-01-01", periods=900)
    german = [f"{day:%d.%m.%Y}" for day in days[:300] for _ in range(3)]
    iso = [f"{day:%Y-%m-%d}" for day in days]
    found = candidate_of("opened", [*german, *iso, *[""] * 200])
    assert found.record is not None and found.record["type"] == "date"
    (said,) = [one for one in found.notes if "one format" in one]
    assert said.startswith("45 % are written") and ", 45 % " in said and "or 45 % of the cells would" in said
    more = candidate_of("opened", [*german, *iso[:500], *["k.A."] * 200])
    (said,) = [one for one in more.notes if "one format" in one]
    assert said.startswith("56 % are written 31.12.2024, 31 % 2024-12-31;") and "or 31 % of the cells would" in said
    assert "Missing would be the cells with 'k.A.', 12 % of the cells." in more.notes


def test_a_draft_says_how_many_numbers_with_an_unclear_mark_cannot_be_read() -> None:
    found = candidate_of("cost", [f"{row % 9 + 1}.{row % 900 + 100}" for row in range(980)] + ["see file 7"] * 20)
    assert found.record is not None and found.record["decimal"] == FILL
    assert "2 % of the cells are no numbers and would be missing." in found.notes


@pytest.mark.parametrize("look", [False, True])
def test_a_decimal_comma_that_is_declared_is_not_warned_of(tmp_path: Path, look: bool) -> None:
    (tmp_path / "costs.csv").write_text("town;cost\n" + "".join(f"Bern;{row % 90},{row % 10}5\n" for row in range(200)))
    declared = {"type": "fixed", "low": 0, "high": 100, "step": "0.01", "decimal": ","}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        drafted = sf.draft(tmp_path / "costs.csv", look=look).fill(
            person=None, cost=declared, town={"values": ["Bern"]}
        )
        schema = drafted.confirm().schema()
        with sf.curate(tmp_path / "costs.csv", schema, Pure(10**6)) as curator:
            found = curator.mean("cost", spend=PLENTY)
    assert "cost" not in drafted.notes and found.value == pytest.approx(41.5, abs=0.1)
    assert not any("decimal" in said or "comma" in said for said in (*found.notes, *drafted.notes.get("", ())))
