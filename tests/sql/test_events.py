"""Events that belong to other events of the same person: what is read, what it costs, and what is refused."""

from __future__ import annotations

import random  # noqa: TID251  made-up tables, and no noise
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, REPLACE_ONE, Pure
from sfumato.cli.checking import check_database
from sfumato.domain import categories, fixed, integers
from sfumato.errors import CertificationError, ParameterError, SchemaError
from sfumato.sql import plan, scope, select
from sfumato.table import own
from sfumato.table.flat import Flat, FlatSchema
from sfumato.table.own import open_database
from sfumato.table.repair import KEY, PERSON
from sfumato.table.statistics import Part
from tests.promises.found import measured
from tests.sql.claims import Claim, EventsWorld, claims_of, event_statements, events_world, person_claims
from tests.sql.test_promises import case_of
from tests.sql.test_statements import _same, reading, totals

VISITS = sf.Schema(
    {"ward": categories("a", "b"), "cost": fixed(0, 90, step="0.5")},
    person="patient",
    rows_per_person=9,
    row_key="visit",
)
DRUGS = sf.Schema({"dose": integers(-2, 9)}, person="patient", rows_per_person=20, row_key="drug")
CHECKS = sf.Schema({"mark": integers(0, 5)}, person="patient", rows_per_person=30)
LINKS = (
    sf.Link("visits.clinic", "clinics"),
    sf.Link("drugs.visit", "visits"),
    sf.Link("checks.drug", "drugs"),
)
CARE = sf.Database(
    {
        "patients": sf.Schema({"sex": categories("f", "m")}, person="patient"),
        "visits": VISITS,
        "drugs": DRUGS,
        "checks": CHECKS,
        "clinics": sf.PublicTable("clinic"),
    },
    population="patients",
    links=LINKS,
)
VISIT = "drugs.patient = visits.patient AND drugs.visit = visits.visit"
DRUG = "checks.drug = drugs.drug AND checks.patient = drugs.patient"
STATEMENTS = (
    f"SELECT ward, COUNT(*), SUM(dose) FROM drugs JOIN visits ON {VISIT} GROUP BY ward",
    f"SELECT ward, COUNT(*), SUM(cost), COUNT(cost) FROM visits JOIN drugs ON {VISIT} GROUP BY ward",
    f"SELECT beds, COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} LEFT JOIN clinics ON visits.clinic = clinics.clinic "
    "WHERE dose > 1 GROUP BY beds",
    f"SELECT sex, SUM(cost * dose) FROM patients JOIN visits ON visits.patient = patients.patient JOIN drugs ON {VISIT} "
    "GROUP BY sex",
    f"SELECT ward, COUNT(*), SUM(mark), SUM(dose) FROM checks JOIN drugs ON {DRUG} LEFT JOIN visits ON {VISIT} GROUP BY ward",
    f"WITH per AS (SELECT checks.patient, SUM(cost) AS s FROM checks JOIN drugs ON {DRUG} JOIN visits ON {VISIT} "
    "WHERE ward = 'a' GROUP BY checks.patient) SELECT sex, SUM(s) FROM patients LEFT JOIN per "
    "ON per.patient = patients.patient GROUP BY sex",
    f"SELECT ward, SUM(dose, contribution_bounds_per_group => (-99, 999)) FROM drugs JOIN visits ON {VISIT} GROUP BY ward",
    "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward",
)


def tables(text: bool = False) -> dict[str, pa.Table]:
    """Return tables whose keys of one person differ, are those of others, are missing where they may, and lead nowhere."""
    rng = random.Random(5)
    ids = list(range(30))
    visits = [(one, place) for one in ids for place in rng.sample(range(9), rng.randrange(5))]
    drugs = [(one, place) for one in ids for place in rng.sample(range(9), rng.randrange(7))]
    checks = [one for one, _ in drugs for _ in range(rng.randrange(3))]

    def keys(cells: Any) -> list[Any]:
        return [None if cell is None else f"k{cell} " if text else cell for cell in cells]

    some = lambda *values: rng.choice(values)  # noqa: E731
    return {
        "patients": pa.table({"patient": ids, "sex": [some("f", "m", None) for _ in ids]}),
        "visits": pa.table(
            {
                "patient": [one for one, _ in visits],
                "visit": keys(key for _, key in visits),
                "ward": [some("a", "b", None) for _ in visits],
                "cost": [some(None, rng.randrange(181) / 2) for _ in visits],
                "clinic": [some(1, 2, 9, None) for _ in visits],
            }
        ),
        "drugs": pa.table(
            {
                "patient": [one for one, _ in drugs],
                "drug": keys(key for _, key in drugs),
                "visit": keys(some(None, *range(9)) for _ in drugs),
                "dose": [some(None, *range(-2, 10)) for _ in drugs],
            }
        ),
        "checks": pa.table(
            {"patient": checks, "drug": keys(some(None, *range(9)) for _ in checks), "mark": [some(*range(6)) for _ in checks]}
        ),
        "clinics": pa.table({"clinic": [1, 2], "beds": [10, 12]}),
    }  # fmt: skip


@pytest.fixture(scope="module")
def care() -> Any:
    with open_database(tables(), CARE) as opened:
        yield opened


@pytest.fixture(scope="module")
def raw() -> Any:
    """The same tables in a plain engine."""
    connection = duckdb.connect()
    for name, table in tables().items():
        connection.register(name, table)
    return connection


@pytest.mark.parametrize("text", [False, pytest.param(True, marks=pytest.mark.audit)])
def test_the_totals_are_those_of_a_plain_engine(raw: Any, text: bool) -> None:
    with open_database(tables(text), CARE) as opened:
        for statement in STATEMENTS:
            if "_bounds_" not in statement:
                assert _same(opened, raw, statement)
                assert any(any(numbers) for numbers in totals(opened, statement).values())
        (boxed,) = (one for one in STATEMENTS if "_bounds_" in one)
        clamped = "SELECT ward, SUM(s) FROM (SELECT ward, COALESCE(SUM(dose), 0) AS s FROM {} GROUP BY ward, drugs.patient) GROUP BY 1"
        rows = raw.execute(clamped.format(f"drugs JOIN visits ON {VISIT}")).fetchall()
        assert {cell[0]: found[0] for cell, found in reading(opened, boxed).items() if found[0]} == dict(rows)


def few(**visits: list[Any]) -> dict[str, pa.Table]:
    """Return tables of one clinic, with some visits and the drugs of them."""
    return {
        **tables(),
        "patients": pa.table({"patient": [1, 2], "sex": ["f", "m"]}),
        "visits": pa.table({"cost": [5.0] * 6, "clinic": [1] * 6, **visits}),
        "drugs": pa.table({"patient": [1, 1, 1, 2, 2, 9], "drug": range(6), "visit": [1, 1, 3, 1, None, 4], "dose": range(6)}),
    }  # fmt: skip


def test_repeated_missing_and_foreign_keys_lead_where_they_should() -> None:
    """A key that is there twice is one empty row, counted once; others' keys, missing and unknown ones lead nowhere."""
    made = few(patient=[1, 1, 1, 2, 2, 9], visit=[1, 2, 2, None, 1, 4], ward=["a", "b", "a", "b", "b", "a"])
    with open_database(made, CARE) as opened:
        drops = totals(opened, f"SELECT ward, COUNT(*), SUM(dose) FROM drugs JOIN visits ON {VISIT} GROUP BY ward")
        assert drops == {("a",): [2, 1], ("b",): [1, 3], ("other",): [0, 0], (None,): [0, 0]}
        kept = totals(opened, f"SELECT ward, COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} GROUP BY ward")
        assert kept == {("a",): [2], ("b",): [1], ("other",): [0], (None,): [2]}
        # The two visits of one number are one row without a ward and a cost; what leads to it meets no clinic.
        once = totals(opened, "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward")
        assert once == {("a",): [1, 5], ("b",): [2, 10], ("other",): [0, 0], (None,): [1, 0]}
        assert totals(opened, "SELECT beds > 5, COUNT(*) FROM visits LEFT JOIN clinics ON visits.clinic = clinics.clinic "
                              "GROUP BY beds > 5") == {(False,): [0], (True,): [3], (None,): [1]}  # fmt: skip
    told = check_database(made, CARE).tables
    assert told["visits"].check.repeated == 2 and told["visits"].strangers == 1
    assert told["drugs"].links == {"visit": 2}


def test_the_rows_of_a_person_are_counted_after_repeated_keys_are_one() -> None:
    database = sf.Database({"visits": sf.Schema({"ward": categories("a")}, person="patient", row_key="visit", rows_per_person=1),
                            "drugs": sf.Schema({"dose": integers(0, 9)}, person="patient")}, links=[sf.Link("drugs.visit", "visits")])  # fmt: skip
    visits = pa.table({"patient": [1, 1, 1], "visit": [7, 7, 7], "ward": ["a", "a", "a"]})
    drugs = pa.table({"patient": [1], "visit": [7], "dose": [1]})
    with open_database({"visits": visits, "drugs": drugs}, database) as opened:
        assert totals(opened, "SELECT COUNT(*) FROM visits") == {(): [1]}


def test_a_number_of_a_visit_and_a_link_that_is_text_are_refused() -> None:
    made = tables()
    made["drugs"] = made["drugs"].set_column(
        2, "visit", pa.array([str(one) for one in made["drugs"]["visit"].to_pylist()])
    )
    with pytest.raises(SchemaError, match="The link 'visit' and the key of 'visits' have different types"):
        open_database(made, CARE)


def test_a_database_reads_as_it_was_written() -> None:
    assert sf.Database.from_toml(CARE.to_toml()) == CARE == sf.Database.from_json(CARE.to_json())
    assert CARE.attributes == ("patients.sex", "visits.ward", "visits.cost", "visits.clinic", "drugs.dose", "drugs.visit",
                               "checks.mark", "checks.drug")  # fmt: skip
    assert CARE.parents_first.index("visits") < CARE.parents_first.index("drugs") < CARE.parents_first.index("checks")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"links": [sf.Link("drugs.visit", "patients")]}, "'patients' is none; join people by the person"),
        ({"links": [sf.Link("drugs.visit", "nowhere")]}, "'nowhere' is none"),
        ({"links": [sf.Link("patients.first", "visits")]}, "starts at other events, and 'patients' holds none"),
        ({"links": [sf.Link("clinics.visit", "visits")]}, "starts at other events, and 'clinics' holds none"),
        ({"links": [sf.Link("drugs.check", "checks")]}, "'checks' needs the one column .* write row_key"),
        ({"links": [*LINKS, sf.Link("visits.check", "drugs")]}, "lead back to where they start"),
        ({"links": [*LINKS, sf.Link("visits.visit", "clinics")]}, "The row key 'visit' of 'visits' is what links lead to"),
        ({"tables": {**CARE.tables, "visits": sf.Schema({"visit": integers(0, 9)}, person="patient", rows_per_person=9,
                                                        row_key="visit")}}, "leave it out of the columns and links"),
        ({"tables": {**CARE.tables, "visits": sf.Schema({"cost": integers(0, 9)}, person="patient", rows_per_person=9,
                                                        row_key=("visit", "day"))}}, "needs the one column"),
    ],
)  # fmt: skip
def test_links_to_events_are_refused_in_a_sentence(changed: dict[str, Any], sentence: str) -> None:
    facts = {"tables": CARE.tables, "population": "patients", "links": LINKS}
    with pytest.raises(SchemaError, match=sentence):
        sf.Database(**{**facts, **changed})


WHOSE = (
    "A row of drugs leads to one of the same person in visits; write ON drugs.patient = visits.patient AND drugs.visit"
)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SELECT COUNT(*) FROM drugs JOIN visits ON drugs.visit = visits.visit", WHOSE),
        ("SELECT COUNT(*) FROM visits JOIN drugs ON visits.patient = drugs.patient", WHOSE),
        ("SELECT COUNT(*) FROM visits JOIN drugs ON visits.patient = drugs.visit", WHOSE),
        ("SELECT COUNT(*) FROM checks JOIN visits ON checks.patient = visits.patient", "write one WITH per table"),
        (f"SELECT COUNT(*) FROM visits LEFT JOIN drugs ON {VISIT}", "keeps the rows of drugs; write it that way round"),
        (f"SELECT COUNT(*) FROM drugs LEFT JOIN visits ON {VISIT} AND cost > 3", "The ON of a LEFT JOIN is the link alone"),
        (f"SELECT COUNT(DISTINCT visits.patient) FROM drugs LEFT JOIN visits ON {VISIT}", "write drugs.patient"),
        (f"SELECT COUNT(*) FROM checks LEFT JOIN drugs ON {DRUG} JOIN visits ON drugs.patient = visits.patient AND "
         "drugs.visit = visits.visit JOIN patients ON drugs.patient = patients.patient", "write checks.patient"),
        ("SELECT visits.visit, COUNT(*) FROM visits GROUP BY visits.visit", "it is joined on, and nothing else"),
        ("SELECT COUNT(drugs.visit) FROM drugs", "write JOIN visits ON drugs.patient = visits.patient AND drugs.visit = visits.visit, and then a column"),
        (f"SELECT MEDIAN(cost) FROM drugs JOIN visits ON {VISIT}", "make one in WITH first"),
        ("WITH p AS (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) SELECT COUNT(*) FROM checks LEFT JOIN p ON "
         "p.patient = checks.patient JOIN drugs ON drugs.patient = p.patient AND checks.drug = drugs.drug", "write checks.patient"),
    ],
)  # fmt: skip
def test_statements_about_two_tables_of_events_are_refused_in_a_sentence(
    care: Any, statement: str, sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        select.Select(statement).canonical(care.database)


def test_the_canonical_statement_is_itself_and_reads_what_is_charged() -> None:
    statement = (
        "SELECT COUNT(*) FROM checks LEFT JOIN drugs ON checks.drug = drugs.drug AND checks.patient = drugs.patient LEFT JOIN "
        "visits ON visits.patient = checks.patient AND drugs.visit = visits.visit WHERE ward = 'a'"
    )
    with sf.curate(tables(), CARE, sf.Budget(person=Pure(9))) as curator:
        told = curator.explain(statement, spend=Pure(1))
        assert curator.explain(told.sql, spend=Pure(1)).sql == told.sql
        assert told.reads == ("checks.drug", "drugs.visit", "visits.ward")
        notes = curator.sql(statement, spend=Pure(1)).notes
    assert "Rows of a person in visits with the same visit are one row in which every cell is missing." in notes


def test_what_is_missing_after_a_left_join_fulfils_no_condition(care: Any, raw: Any) -> None:
    """Also one that all values fulfil, so that nothing of the column need be compared."""
    source = f"drugs LEFT JOIN visits ON {VISIT} LEFT JOIN clinics ON visits.clinic = clinics.clinic"
    for condition in ("cost >= 0", "NOT cost > 90", "beds > 5", "NOT beds IN (7)", "ward <> 'a'"):
        assert _same(care, raw, f"SELECT COUNT(*) FROM {source} WHERE {condition}")
        assert _same(care, raw, f"SELECT SUM(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM {source}")


# How far one person moves a statement: every record of a tiny database


@pytest.fixture(scope="module")
def world() -> Any:
    found = events_world(1, 1)
    yield found
    found.opened.close()


def exceeded(world: EventsWorld, statement: str) -> list[Claim]:
    """Return the claims that somebody passes."""
    for kept in (select.compiled, select._made):
        kept.cache_clear()
    return [one for one in (*claims_of(world, statement), *person_claims(world, statement)) if one.exceeded]


DROPS = "SELECT COUNT(*) FROM drugs d JOIN visits v ON d.id = v.id AND d.visit = v.key"
SUMS = DROPS.replace("COUNT(*)", "SUM(v.n)").replace(" JOIN", " LEFT JOIN")
CELLS = f"{DROPS} GROUP BY v.n".replace(" JOIN", " LEFT JOIN")


@pytest.mark.parametrize("statement", [DROPS, SUMS, CELLS, "SELECT SUM(n) FROM visits"])
def test_nobody_moves_a_statement_further_than_is_claimed(world: EventsWorld, statement: str) -> None:
    assert not exceeded(world, statement)
    assert any(one.attained for one in claims_of(world, statement))


@pytest.mark.audit
def test_all_claims_about_events_that_lead_to_events() -> None:
    found: list[Claim] = []
    for limit in (1, 2):
        world = events_world(limit, 2)
        for statement in event_statements():
            found += [*claims_of(world, statement), *person_claims(world, statement)]
        world.opened.close()
    assert len(found) == 684
    assert not [one for one in found if one.exceeded]
    assert sum(one.attained for one in found) >= 0.85 * len(found)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("statement", [DROPS, SUMS])
def test_the_law_of_a_statement_is_what_is_stated(statement: str, relation: Any) -> None:
    world = events_world(1, 1, scale=1)
    report = measured(case_of(world, statement, statement, relation))
    world.opened.close()
    assert report.ok, report.worst


# Mutants


@pytest.mark.parametrize("statement", [DROPS, SUMS, CELLS])
def test_a_link_that_is_not_charged_is_found(world: EventsWorld, monkeypatch: Any, statement: str) -> None:
    reads = FlatSchema.reads
    monkeypatch.setattr(FlatSchema, "reads", lambda schema, names: reads(schema, names) - {"drugs.visit"})
    assert exceeded(world, statement)


def test_a_plan_that_forgets_the_way_to_a_column_is_found(world: EventsWorld, monkeypatch: Any) -> None:
    """Where nobody is dropped, only the column itself says that its link was followed."""
    plain = scope.leaf
    forgets = lambda place, *given: plain(scope.Place(place.side, place.schema, place.reads - {"drugs.visit"}, place.absent), *given)  # noqa: E731  # fmt: skip
    monkeypatch.setattr(scope, "leaf", forgets)
    with pytest.raises(CertificationError, match="different columns"):
        exceeded(world, SUMS)
    monkeypatch.setattr(plan, "check_charged", lambda *_: None)
    assert exceeded(world, SUMS)


def test_a_join_that_drops_and_reads_nothing_is_found(world: EventsWorld, monkeypatch: Any) -> None:
    monkeypatch.setattr(Flat, "presence", property(lambda flat: frozenset()))
    monkeypatch.setattr(plan, "check_charged", lambda *_: None)
    assert exceeded(world, DROPS)


def test_a_missing_partner_charged_as_a_changed_value_is_found(world: EventsWorld, monkeypatch: Any) -> None:
    above = SUMS.replace("v.n", "v.n + 2", 1)
    assert not exceeded(world, above)
    monkeypatch.setattr(Part, "may_be_missing", lambda part, schema: False)
    assert exceeded(world, above)


def test_a_plan_without_the_condition_on_the_person_is_found(world: EventsWorld, monkeypatch: Any) -> None:
    plain = plan._followed
    monkeypatch.setattr(
        plan, "_followed", lambda join, scope: [one for one in plain(join, scope) if one != "the person"]
    )
    with pytest.raises(CertificationError, match="the statement"):
        exceeded(world, DROPS)


def _opened(monkeypatch: Any, name: str, mutant: Any) -> EventsWorld:
    """Return the records as a mutant of the opening stores them."""
    monkeypatch.setattr(own, name, mutant)
    return events_world(1, 1)


def test_one_row_of_a_repeated_key_that_is_picked_by_its_cells_is_found(monkeypatch: Any) -> None:
    """Which rows meet would then depend on an attribute that a count of them does not pay for."""

    def picked(raw: Any, schema: Any, links: Any) -> Any:
        if not schema.row_key:
            return raw
        # A key of which the two rows have one cell in common is kept, another one is dropped.
        same = raw.group_by([PERSON, KEY]).agg(**{name: raw[name].min() for name in schema.names}, most=raw.n.max())
        return same.filter(same.n == same.most).drop("most")

    mutant = _opened(monkeypatch, "told_apart", picked)
    assert exceeded(mutant, DROPS)
    mutant.opened.close()


def test_rows_of_a_repeated_key_that_are_all_met_are_found(monkeypatch: Any) -> None:
    """A drug would then count once for each of them: more often than a person's rows do."""
    mutant = _opened(monkeypatch, "told_apart", lambda raw, schema, links: raw)
    assert exceeded(mutant, DROPS)
    mutant.opened.close()


def test_a_row_of_somebody_else_that_is_met_is_found(monkeypatch: Any) -> None:
    """Whether a row of one person counts would then depend on another person's: here on the only one with visits."""
    with open_database(few(patient=[1] * 6, visit=[1, 2, 3, 4, 5, 6], ward=["a"] * 6), CARE) as opened:
        assert totals(opened, f"SELECT COUNT(*) FROM drugs JOIN visits ON {VISIT}") == {(): [3]}

    def anybodys(opening: Any, owned: Any, link: str, to: str, found: Any) -> Any:
        keys = found[to].select(sfumato_of=found[to].sfumato_key, sfumato_partner=found[to].sfumato_place)
        joined = owned.left_join(keys, [owned[link] == keys.sfumato_of])
        return joined.select(
            **{name: joined[name] for name in owned.columns if name != link}, **{link: joined.sfumato_partner}
        )

    monkeypatch.setattr(own._Opening, "_led", anybodys)
    with open_database(few(patient=[1] * 6, visit=[1, 2, 3, 4, 5, 6], ward=["a"] * 6), CARE) as opened:
        assert totals(opened, f"SELECT COUNT(*) FROM drugs JOIN visits ON {VISIT}") != {(): [3]}
