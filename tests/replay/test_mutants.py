"""The harness can fail: what was once wrong, and what was wrong elsewhere, is made again and found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import ibis
import numpy as np
import pytest

from sfumato import Pure
from sfumato.domain import fixed, integers
from sfumato.noise import DiscreteLaplace
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.select.threshold import exceedance
from sfumato.table import bounding, gauge, repair, sensitivity, view
from sfumato.table.bounding import SCALE
from sfumato.totals.private_keys import StableHistogram
from tests.replay import harness
from tests.replay.exemptions import problems
from tests.replay.questions import every_question
from tests.replay.worlds import PRIVATE, worlds

WORLDS = {world.name: world for world in worlds()}


def found(world, names, only, relation=REPLACE_ONE):
    """Return the questions of which something is found between a few tables."""
    with harness.opened(WORLDS[world], seed=list(WORLDS).index(world), tries=3, only=only) as tables:
        asked = every_question(WORLDS[world].schema)
        cells = [cell for name in names for cell in harness.survey(name, asked[name], tables, relation, 1)]
    return {cell.question for cell in cells if cell.breaches}


ROWS = ["Learn PrivateThreshold", "Synthesize pdp-mwem", "Shaped laplace", "Popular tree"]
PICKED = ["Synopsize fourier", "Synopsize cuts by pairs", "Synthesize auto"]
SECRETS = ("pay of q, 0", "seen of q, 0", "address of q, 0", "age of q, 1", "job of q, 0", "ill of q, 1")


def test_weighed_rows_under_a_mechanism_that_counts_rows_are_found(monkeypatch):
    """A row of 2^20 units moves a rule by 2^20 people."""
    assert not found("one row", ROWS, ("low to high",))

    def weighed(one, table):
        rule = bounding.bounding_of(one.schema, whole=False)
        return one.measure.query(table.view(one.measure.columns(), rule))

    monkeypatch.setattr(gauge.Gauge, "read", weighed)
    assert found("one row", ROWS, ("low to high",)) == set(ROWS)


def test_rows_picked_by_their_contents_and_charged_for_what_is_shown_are_found(monkeypatch):
    """An attribute that decides which rows count is read, whatever a question shows."""
    assert not found("one row", PICKED, SECRETS)
    monkeypatch.setattr(gauge.Gauge, "matched", True)
    assert found("one row", PICKED, SECRETS) == set(PICKED)


def test_a_row_key_that_gives_way_to_contents_is_found(monkeypatch):
    plain = bounding.ordered

    def by_contents(coded, schema, rule, engine):
        return plain(coded, replace(schema, row_key=None), rule, engine)

    from sfumato.table import data

    assert not found("two keyed", PICKED, SECRETS)
    monkeypatch.setattr(data, "ordered", by_contents)
    assert found("two keyed", PICKED, SECRETS)


ABOUT = {
    "age": "Histogram private two", "pay": "GroupBy", "job": "GroupBy", "ill": "Histogram of a month",
    "scar": "Quantiles where", "seen": "Histogram of a month", "town": "Histogram private text",
    "address": "Histogram private two", "caller": "Synopsize cuts by pairs", "called": "Synopsize cuts by pairs",
}  # fmt: skip


def test_an_attribute_that_is_left_out_of_what_is_read_is_found(monkeypatch):
    """Each attribute in turn."""
    plain = gauge.Gauge.attributes.func
    asked = every_question(WORLDS["declared"].schema)
    only = [f"{name} of h" for name in PRIVATE]
    with harness.opened(WORLDS["declared"], seed=1, only=only) as tables:
        for name, question in ABOUT.items():
            monkeypatch.setattr(gauge.Gauge, "attributes", property(lambda one, n=name: plain(one) - {n}))
            cells = harness.survey(question, asked[question], tables, REPLACE_ONE, 1)
            assert any(name in breach for cell in cells for breach in cell.breaches), name


def test_a_bound_of_zero_where_the_lower_end_is_zero_is_found(monkeypatch):
    """A library once took the smaller end of a range for the larger one."""
    plain = sensitivity.person_replaced

    def small(shape):
        found = plain(shape)
        return (
            Sensitivity(*(Fraction(0),) * 3, 0)
            if getattr(shape, "part", None) and shape.part.column == "age"
            else found
        )

    monkeypatch.setattr(gauge, "person_replaced", small)
    mutants = ["Variance", "Mean(where)"], ("low to high", "high to low")
    with pytest.raises(TypeError, match="other attributes"):
        found("declared", *mutants)  # a plan that charges nobody for what it reads cannot be made
    monkeypatch.setattr(gauge.Gauge, "require", lambda *_: None)
    assert found("declared", *mutants)


@pytest.mark.parametrize(
    ("world", "question", "column", "bound"),
    [("declared", "Mean", "age", integers(0, 3)), ("two keyed", "Sum", "pay", fixed(-1, 1, step="0.5"))],
)
def test_clamping_that_is_not_used_and_bounds_from_before_a_column_was_redefined_are_found(
    world, question, column, bound
):
    """What is planned speaks of a narrow range, what is read of the wide one."""
    wide = WORLDS[world]
    narrow = replace(wide, schema=replace(wide.schema, columns={**wide.schema.columns, column: bound}))
    with harness.opened(wide, seed=1, only=("low to high",)) as tables:
        tables.world = narrow
        cells = harness.survey(question, every_question(wide.schema)[question], tables, REPLACE_ONE, 1)
    assert [breach for cell in cells for breach in cell.breaches]


def test_people_who_count_in_one_cell_only_are_found(monkeypatch):
    """Whoever has rows in several cells moves the number of people in all of them."""
    only = ("job of e", "low to high")
    assert not found("one keyed", ["People by"], only)

    def alone(*facts, **options):
        moved = min(1, sensitivity.people_moved(*facts, **options).changed)
        return Sensitivity(Fraction(moved), Fraction(moved), Fraction(moved), moved)

    monkeypatch.setattr(gauge, "people_moved", alone)
    assert found("one keyed", ["People by"], only)


def test_people_who_count_once_a_row_are_found(monkeypatch):
    """The number of rows in place of the number of people."""
    only = ("low to high", "low to inside", "high to low")
    assert not found("two keyed", ["People(where)"], only)
    monkeypatch.setattr(view.View, "people_in", lambda one, keys, where=None, groups=None: one.counts(keys, where))
    assert found("two keyed", ["People(where)"], only)


def test_missing_cells_that_are_read_as_the_lowest_value_are_found(monkeypatch):
    """Nobody is missing any more, so that what is charged for missing cells is never reached."""

    def reached():
        with harness.opened(WORLDS["no person"], seed=1, only=("pay of h to nothing", "low to high")) as tables:
            asked = every_question(tables.world.schema)["Count(missing)"]
            cells = harness.survey("Count(missing)", asked, tables, REPLACE_ONE, 1)
        return not problems("no person", cells, ())

    assert reached()
    plain = repair._number

    def lowest(cell, domain, step):
        code = plain(cell, domain, step)
        return ibis.ifelse(code == domain.missing_code, ibis.literal(domain.first, "int64"), code)

    monkeypatch.setattr(repair, "_number", lowest)
    assert not reached()


def test_a_statistic_that_is_read_before_its_filter_is_found(monkeypatch):
    from sfumato.table.predicate import EVERY_ROW

    plain = view.View._ask

    def unfiltered(one, keys, parts, where, *, as_cells):
        return plain(one, keys, parts, EVERY_ROW, as_cells=as_cells)

    monkeypatch.setattr(view.View, "_ask", unfiltered)
    filtered = ["GroupBy decade", "Sum(where)", "Quantiles where", "Histogram of two"]
    # Whoever is left out by the filter moves what is read; that no attribute of the filter does is seen by the reach.
    only = ("low to high", "ward of p", "job of h", "scar of h", "ill of h")
    with harness.opened(WORLDS["declared"], seed=1, only=only) as tables:
        asked = every_question(WORLDS["declared"].schema)
        cells = [cell for name in filtered for cell in harness.survey(name, asked[name], tables, REPLACE_ONE, 1)]
    assert any(cell.breaches or cell.reaches()["attribute"] == 0 for cell in cells)


def rounding_overspends():
    """Tell whether three thirds of a row in three cells, beside totals of others, move further than is paid for.

    Each rounds up: 3 · 43,691 steps of 8 where a whole row is 131,072.
    """
    world = WORLDS["one row"]
    basis = gauge.Basis(world.schema, None, ADD_REMOVE)
    prepared = every_question(world.schema)["Histogram"].canonical(world.schema).prepare(basis, Pure("1/8"))
    ages = world.schema.domain("age").size
    held = np.array([SCALE // 3] * 3 + [0] * (ages - 3))

    def moved(before):
        (first,), (second,) = prepared.arrange([before]), prepared.arrange([before + held])
        return int(np.abs(second - first).sum())

    return max(moved(np.full(ages, shift)) for shift in range(64)) > prepared.mechanism.mechanisms[0].sensitivity.l1


def test_rounding_to_a_grid_is_paid_for(monkeypatch):
    assert not rounding_overspends()
    plain = Sensitivity.coarser
    monkeypatch.setattr(
        Sensitivity,
        "coarser",
        lambda moves, grid: replace(plain(moves, grid), l1=moves.l1 / grid, l2_squared=moves.l2_squared / grid**2),
    )
    assert rounding_overspends()


def test_a_threshold_whose_delta_is_not_charged_is_found():
    """The chance to publish a key that one world lacks is what is claimed, and not less."""
    for rows, groups in ((1, 1), (3, 1), (3, 2)):
        histogram = StableHistogram(scale=Fraction(2), threshold=30, groups=groups, rows=rows)
        spread = [[rows], [rows - groups + 1] + [1] * (groups - 1)]
        seen = max(sum(float(exceedance(Fraction(2), 30 - held)) for held in held_by) for held_by in spread)
        claimed = float(histogram.leak())
        assert 0.97 * claimed <= seen <= claimed * (1 + 1e-9)
        tail = 1 - float(DiscreteLaplace(Fraction(2)).tail(29 - rows))
        assert 1 - tail == pytest.approx(float(exceedance(Fraction(2), 30 - rows)), rel=1e-6)
