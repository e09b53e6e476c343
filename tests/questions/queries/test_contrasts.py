"""Tables added up from contrasts (SY-RES): their noise, their price, their intervals, and when they are taken."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import prod, sqrt

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Queries, Schema, Truncated, curate, workloads
from sfumato.answer import NoisyPart, Released
from sfumato.domain import bins
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian, RoundedNormal
from sfumato.privacy import REPLACE_ONE, Loss
from sfumato.questions.queries import residuals
from sfumato.questions.queries.contrasts import Contrasts, measured_sets, subsets
from sfumato.questions.queries.noisy import NoisyWorkload, noisy_workload
from sfumato.questions.queries.residuals import best_noise, contrasts_of
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.totals.tables.contrasts import squared_scale
from sfumato.totals.tables.parts import Part
from sfumato.totals.tables.prices import price_added, price_replaced
from sfumato.totals.tables.stack import TableStack
from sfumato.workload import Records, Space
from sfumato.workload.records import Margins
from tests.imputed import booleans, categories, integers

MIXED = Schema({"a": integers(0, 1), "b": integers(0, 2), "c": integers(0, 3)})
ADULT = (13, 9, 15, 16, 7, 15, 6, 5, 2, 15, 13, 15, 16, 2)


def planned(schema, workload, spend, relation=REPLACE_ONE, people=100) -> TableStack:
    gauge = Basis(schema, people, relation).gauge(Rows(workload.columns))
    found = contrasts_of(gauge, spend, workload)
    assert found is not None
    return found


# The best noise


def unit(columns, sizes, variance) -> Part:
    own = tuple(sizes[place] for place in columns)
    law = RoundedNormal(Fraction(variance).limit_denominator(10**6) * prod(map(squared_scale, own)))
    return Part(columns, own, bool(columns), law)


def golden(sizes, width, *, replaced) -> tuple[dict, float, float]:
    """Return variances, the error of a cell and that of independent noise for mu² = 0.02, all cells weighed alike."""
    tables = list(combinations(range(len(sizes)), width))
    cells = [prod(sizes[place] for place in table) for table in tables]
    sets = sorted({some for table in tables for some in subsets(table)})[1 if replaced else 0 :]
    ones = {some: unit(some, sizes, 1) for some in sets}
    moved = {some: float(2 * (part.most() if replaced else part.added())) for some, part in ones.items()}
    found = best_noise(sizes, tables, moved, cells)
    parts = [unit(some, sizes, variance) for some, variance in found.items()]
    price = 2 * (price_replaced(parts, frozenset(range(len(sizes)))) if replaced else price_added(parts))
    scaled = {some: variance * float(price) / 0.02 for some, variance in found.items()}
    total = sum(
        scaled[some]
        * prod(1 - 1 / sizes[place] for place in some)
        * size
        / prod(sizes[place] for place in table if place not in some) ** 2
        for table, size in zip(tables, cells, strict=True)
        for some in subsets(table)
        if some in scaled
    )
    return scaled, sqrt(total / sum(cells)), sqrt((2 if replaced else 1) * len(tables) / 0.02)


def test_the_best_noise_is_that_of_the_specification():
    found, _, _ = golden((2, 3, 4), 2, replaced=False)
    wanted = {(): 582.239, (0,): 330.099, (1,): 237.698, (2,): 195.289}
    wanted |= {(0, 1): 145.560, (0, 2): 126.059, (1, 2): 102.926}
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("sizes", "width", "replaced", "error", "plain"),
    [
        ((2, 3, 4), 2, False, 9.8888, 12.2474),
        ((2,) * 16, 2, False, 31.133, 77.460),
        ((2,) * 16, 3, False, 44.695, 167.332),
        (ADULT, 2, False, 52.566, 67.454),
        (ADULT, 3, False, 93.260, 134.907),
        ((2, 3, 4), 2, True, 13.7599, 17.3205),
        ((2,) * 10, 2, True, 29.5804, 67.0820),
        ((2,) * 10, 3, True, 37.9522, 109.5445),
        ((5, 3, 2, 8, 4), 2, True, 23.7291, 31.6228),
        ((5, 3, 2, 8, 4), 3, True, 22.1745, 31.6228),
    ],
)
def test_errors_are_those_of_the_specification(sizes, width, replaced, error, plain):
    _, found, independent = golden(sizes, width, replaced=replaced)
    assert found == pytest.approx(error, rel=2e-5) and independent == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(
    ("sizes", "width", "relation"), [((2,) * 10, 3, REPLACE_ONE), ((5, 3, 2, 8, 4), 2, ADD_REMOVE)]
)
def test_multiplied_integers_with_one_law_lose_less_than_a_thousandth(sizes, width, relation):
    """The mean variance of a table, against the formula: noise of every width that is wanted, at the same price."""
    schema = Schema({f"c{place}": integers(0, size - 1) for place, size in enumerate(sizes)})
    workload = workloads.marginals(schema, width=width)
    stack = planned(schema, workload, Concentrated("0.01"), relation)
    people = 100 if relation is REPLACE_ONE else None
    found = Contrasts(workload, stack.parts, people)
    tables = list(combinations(range(len(sizes)), width))
    moved = {
        part.columns: float(2 * (part.most() if people else part.added())) * float(part.law.variance) / part.scale()
        / part.times**2
        for part in stack.parts
    }  # fmt: skip
    wanted = best_noise(sizes, tables, moved, [1.0] * len(tables))
    parts = tuple(unit(some, sizes, variance) for some, variance in wanted.items())
    price = price_replaced(parts, frozenset(range(len(sizes)))) if people else price_added(parts)
    best = Contrasts(workload, parts, people)
    mean = [np.mean([normal for normal, _ in one._spreads]) for one in (found, best)]
    assert mean[0] <= 1.001 * mean[1] * float(price) / 0.01


def test_weights_say_which_tables_get_less_noise():
    schema = Schema({f"c{place}": integers(0, size - 1) for place, size in enumerate((5, 3, 2, 8, 4))})
    workload, spend = workloads.marginals(schema, width=2), Concentrated("0.01")
    gauge = Basis(schema, 100, ADD_REMOVE).gauge(Rows(workload.columns))
    cells = [block.queries for block in workload.blocks]
    even, heavy, alike = (
        Contrasts(workload, contrasts_of(gauge, spend, workload, [Fraction(one) for one in weights]).parts, None)
        for weights in ([1] * 10, [100] + [1] * 9, cells)
    )
    assert even == Contrasts(workload, contrasts_of(gauge, spend, workload).parts, None)
    assert heavy.variance(0) < 0.5 * even.variance(0) and heavy.variance(9) > even.variance(9)
    # One weight a cell: the mean over all cells is that of the specification, which no other weights reach.
    sizes, tables = (5, 3, 2, 8, 4), list(combinations(range(5), 2))
    wanted = golden(sizes, 2, replaced=False)[1]

    def error(found):
        weighed = [many * found.variance(place) for place, many in enumerate(cells)]
        return sqrt(sum(weighed) / sum(cells))

    assert len(tables) == len(cells)
    assert wanted <= error(alike) < 1.001 * wanted < error(even)


def test_weights_are_one_number_for_each_table():
    schema = Schema({name: booleans() for name in "abc"})
    tables, basis = workloads.marginals(schema, width=2), Basis(schema, 100)
    question = Queries(tables, weights=[2, "1/2", 1])
    assert question.to_json()["weights"] == ["2", "1/2", "1"]
    assert Queries.to_json(Queries(tables)).keys() == {"question", "workload", "projection"}
    assert question.prepare(basis, Concentrated("0.1")).loss().within(Concentrated("0.1"))
    with pytest.raises(ParameterError, match="has 3 tables and weights= has 2 numbers"):
        Queries(tables, weights=[1, 2])
    with pytest.raises(ParameterError, match="weights must be above zero"):
        Queries(tables, weights=[1, 2, 0])
    with pytest.raises(ParameterError, match="one number for each table"):
        Queries(tables, weights=2)
    with pytest.raises(ParameterError, match="not all of these queries are tables"):
        Queries(workloads.ranges(Schema({"a": integers(0, 7)}), ["a"]), weights=[1])
    with pytest.raises(UnsupportedSpend, match="leave weights= out"):
        question.prepare(basis, Pure(1))
    extreme = Queries(tables, weights=["1e-400", 1, 1]).prepare(basis, Concentrated("0.1"))
    assert extreme.loss().within(Concentrated("0.1"))


# Adding up


ODD = workloads.marginals(
    Schema({**dict(MIXED.columns), "one": integers(3, 3)}),
    sets=[("c", "a"), ("b", "one", "c"), ("a", "b", "c"), ("b",)],
)


def linear(contrasts: Contrasts) -> np.ndarray:
    """Return the weights of all draws in all cells."""
    shapes = [part.shape for part in contrasts.parts]
    rows = []
    for place, shape in enumerate(shapes):
        for cell in np.ndindex(*shape):
            given = [np.zeros(other) for other in shapes]
            given[place][cell] = 1
            rows.append(np.concatenate(contrasts.tables(given)))
    return np.array(rows).T


@pytest.mark.parametrize("people", [None, 200])
def test_tables_without_noise_are_the_exact_ones(people):
    schema = Schema({**dict(MIXED.columns), "one": integers(3, 3)})
    noise = Noise(insecure_seed=4)
    columns = [noise.uniform(size, 200) for size in Space.of(schema, ODD.columns).sizes]
    records = Records.from_rows(Space.of(schema, ODD.columns), zip(*columns, strict=True))
    relation = ADD_REMOVE if people is None else REPLACE_ONE
    stack = planned(schema, ODD, Concentrated(1), relation, 200)
    found = Contrasts(ODD, stack.parts, people).tables(stack.exact(records))
    for table, exact in zip(found, ODD.answers(records), strict=True):
        np.testing.assert_allclose(table, exact, atol=1e-9)


def test_covariances_variances_and_rounding_are_those_of_the_weights():
    stack = planned(MIXED, ODD_MIXED, Concentrated("0.05"), ADD_REMOVE)
    contrasts = Contrasts(ODD_MIXED, stack.parts, None)
    weights, law = linear(contrasts), stack.parts[0].law
    found = weights @ weights.T * law.deviation() ** 2
    sizes = {"a": 2, "b": 3, "c": 4}
    cells = [(block.columns, cell) for block in ODD_MIXED.blocks for cell in np.ndindex(*block.shape)]
    variances = {tuple("abc"[place] for place in part.columns): part.variance() for part in stack.parts}
    for (one, first), row in zip(cells, found, strict=True):
        for (two, second), covariance in zip(cells, row, strict=True):
            here, there = dict(zip(one, first, strict=True)), dict(zip(two, second, strict=True))
            formula = sum(
                variance
                * prod((here[name] == there[name]) - 1 / sizes[name] for name in some)
                / prod(sizes[name] for name in one if name not in some)
                / prod(sizes[name] for name in two if name not in some)
                for some, variance in variances.items()
                if set(some) <= set(one) & set(two)
            )
            assert covariance == pytest.approx(formula, abs=1e-9 * law.deviation() ** 2)
    place = np.repeat(range(len(ODD_MIXED.blocks)), [block.queries for block in ODD_MIXED.blocks])
    np.testing.assert_allclose([contrasts.variance(at) for at in place], np.diag(found), rtol=1e-9)
    rounding = [contrasts._spreads[at][1] for at in place]
    np.testing.assert_allclose(rounding, np.abs(weights).sum(axis=1) / 2, rtol=1e-9)


ODD_MIXED = workloads.marginals(MIXED, sets=[("c", "a"), ("b", "c"), ("a", "b", "c"), ("b",)])


def test_tables_agree_before_anything_is_projected():
    question = Queries(workloads.marginals(MIXED, width=2), method="none")
    prepared = question.prepare(Basis(MIXED, 50), Concentrated("0.1"))
    records = Records.from_rows(Space.of(MIXED), [(1, 2, 3)] * 50)
    tables = question.value(prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=2))))
    np.testing.assert_allclose(tables.array(["a", "b"]).sum(axis=0), tables.array(["c", "b"]).sum(axis=0))
    assert all(values.sum() == pytest.approx(50) for values in tables.values)
    assert len({round(tables.width(place), 6) for place in range(3)}) == 3


# Prices


def embedded(stack: TableStack) -> tuple[list, np.ndarray]:
    """Return all rows, and where each lies in units of the noise: squared distances are mu²."""
    space = Space.of(MIXED)
    rows = list(product(*map(range, space.sizes)))
    found = []
    for row in rows:
        tables = stack.exact(Records.from_rows(space, [row]))
        found.append(np.concatenate([np.ravel(table) for table in tables]) / sqrt(stack.parts[0].law.variance))
    return rows, np.array(found)


@pytest.mark.parametrize("spend", [Concentrated("0.1"), Concentrated("0.1").per_attribute()], ids=repr)
@pytest.mark.parametrize("sets", [[("a", "b"), ("a", "c"), ("b", "c")], [("a", "b", "c")], [("a",), ("b", "c")]])
def test_every_pair_of_rows_costs_what_is_said(sets, spend):
    workload = workloads.marginals(MIXED, sets=sets)
    stack = planned(MIXED, workload, spend)
    rows, places = embedded(stack)
    far: dict = {}
    for (one, first), (two, second) in product(zip(rows, places, strict=True), repeat=2):
        changed = frozenset(place for place, (x, y) in enumerate(zip(one, two, strict=True)) if x != y)
        far[changed] = max(far.get(changed, 0.0), float(((first - second) ** 2).sum()))
    for changed, found in far.items():
        assert sum(2 * part.replaced(changed) for part in stack.parts) == pytest.approx(found)
        inside = max(distance for other, distance in far.items() if other <= changed)
        assert 2 * price_replaced(stack.parts, changed) == pytest.approx(inside)
    assert 2 * stack.person_price == pytest.approx(max(far.values())) and stack.person_price >= max(far.values()) / 2
    for name, price in stack.attribute_prices.items():
        assert 2 * price == pytest.approx(far[frozenset(["abc".index(name)])])
    limited = stack.person_price if spend.unit == "person" else max(stack.attribute_prices.values())
    assert 0.0999 < limited <= Fraction(1, 10)


def test_every_row_more_or_less_costs_what_is_said():
    workload = workloads.marginals(MIXED, width=2)
    stack = planned(MIXED, workload, Concentrated("0.1"), ADD_REMOVE)
    _, places = embedded(stack)
    assert (places**2).sum(axis=1) == pytest.approx([2 * float(stack.person_price)] * 24)
    assert stack.parts[0].columns == () and 0.0999 < stack.person_price <= Fraction(1, 10)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_people_of_two_rows_who_also_come_and_go_cost_what_is_said(relation):
    schema = Schema(dict(MIXED.columns), person="id", rows_per_person=2, row_key=("visit",))
    workload = workloads.marginals(schema, sets=[("a", "b"), ("b", "c")])
    stack = planned(schema, workload, Concentrated("0.1"), relation)
    _, places = embedded(stack)
    assert stack.rows == 2 and stack.parts[0].columns == ()
    people = [np.zeros(places.shape[1]), *places]
    people += [one + two for one, two in combinations_with_replacement(places, 2)]
    if relation is REPLACE_ONE:
        far = max(float(((np.array(people) - one) ** 2).sum(axis=1).max()) for one in people)
    else:
        far = float((np.array(people) ** 2).sum(axis=1).max())
    assert far == pytest.approx(2 * float(stack.person_price)) and 0.0999 < stack.person_price <= Fraction(1, 10)


def test_somebody_who_stays_and_changes_is_a_row_replaced_where_people_come_and_go():
    workload = workloads.marginals(MIXED, width=2)
    prepared = Queries(workload).prepare(Basis(MIXED, 100, ADD_REMOVE), Concentrated("0.1"))
    rows, places = embedded(prepared.mechanism)
    loss = prepared.loss()
    for at, name in enumerate("abc"):
        beside = [
            float(((first - second) ** 2).sum())
            for (one, first), (two, second) in product(zip(rows, places, strict=True), repeat=2)
            if one[:at] + one[at + 1 :] == two[:at] + two[at + 1 :]
        ]
        assert 2 * float(loss.at(name).rho(2)) == pytest.approx(max(beside))
    assert loss.at({"a", "b", "c"}).rho(2) <= 4 * loss.person.rho(2)
    assert Loss.from_json(json.loads(json.dumps(loss.to_json()))) == loss


def test_two_columns_of_one_attribute_change_together():
    schema = Schema({"age": integers(0, 3), "half": bins("age", step=2), "c": integers(0, 2)})
    workload = workloads.marginals(schema, width=2)
    stack = planned(schema, workload, Concentrated("0.1").per_attribute())
    assert stack.shown == ("age", "age", "c")
    both = max(sum(part.replaced(frozenset(some)) for part in stack.parts) for some in ((0,), (1,), (0, 1)))
    assert stack.attribute_prices["age"] == pytest.approx(both) and stack.attribute_prices["age"] <= Fraction(1, 10)


def test_what_public_columns_show_has_noise_too():
    schema = Schema({"a": integers(0, 1), "town": categories("A", "B", "C", public=True)})
    workload = workloads.marginals(schema, sets=[("town",), ("a", "town"), ("a",)])
    stack = planned(schema, workload, Concentrated("0.1").per_attribute())
    assert set(stack.attribute_prices) == {"a"} and stack.attribute_prices["a"] <= Fraction(1, 10)
    assert stack.person_price < 1, "people pay for public columns, and not without bound"


@pytest.mark.parametrize("bound", [Concentrated("0.2"), Truncated("0.2", 20), Approximate(1, "1e-6")], ids=repr)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_spend_is_used_and_kept(rows, relation, bound, each):
    if each and isinstance(bound, Approximate):
        pytest.skip("no limit per attribute")
    schema = Schema(dict(MIXED.columns), person="id", rows_per_person=rows, row_key=("visit",))
    workload = workloads.marginals(schema, width=2)
    spend = bound.per_attribute() if each else bound
    prepared = Queries(workload).prepare(Basis(schema, 50, relation), spend)
    # Three tables move by three where somebody comes or goes, for which Laplace noise is enough.
    laplace = isinstance(bound, Approximate) and relation is ADD_REMOVE
    assert isinstance(prepared.mechanism, NoisyWorkload if laplace else TableStack)
    loss = prepared.loss()
    charged = max((loss.at(name) for name in "abc"), key=lambda cost: cost.rho(2)) if each else loss.person
    assert charged.within(bound)
    assert charged.rho(2) > Fraction(999, 1000) * (bound.rho if not isinstance(bound, Approximate) else 0)


# Answers


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_intervals_cover_as_often_as_they_say(relation):
    schema = Schema({"a": integers(0, 1), "b": integers(0, 2), "c": integers(0, 4), "d": integers(0, 1)})
    workload = workloads.marginals(schema, width=2)
    question = Queries(workload, method="none")
    prepared = question.prepare(Basis(schema, 5000, relation), Concentrated("0.05"))
    noise = Noise(insecure_seed=8)
    rows = zip(*(noise.uniform(size, 5000) for size in workload.space.sizes), strict=True)
    records = Records.from_rows(workload.space, rows)
    exact = workload.answers(records)
    held = []
    for _ in range(400):
        tables = question.value(prepared.finish(prepared.mechanism.run(records, noise)))
        for place, counts in enumerate(exact):
            low, high = tables.between(place)
            held.append(np.mean((low <= counts) & (counts <= high)))
    assert 0.94 < np.mean(held) < 0.965


def test_no_answer_leaves_the_width_that_is_said_for_all_together():
    question = Queries(workloads.marginals(MIXED, width=2), method="none")
    prepared = question.prepare(Basis(MIXED, 50), Concentrated("0.1"))
    records = Records.from_rows(Space.of(MIXED), [(1, 2, 3)] * 50)
    noise, exact = Noise(insecure_seed=2), np.concatenate(question.workload.answers(records))
    joint = Contrasts(question.workload, prepared.mechanism.parts, 50).joint(Fraction(95, 100))
    far = []
    for _ in range(400):
        tables = question.value(prepared.finish(prepared.mechanism.run(records, noise)))
        far.append(np.abs(np.concatenate(tables.noisy) - exact).max() <= joint)
    assert np.mean(far) > 0.92
    note = prepared.finish(prepared.mechanism.run(records, noise)).made["notes"][0]
    assert note.startswith(f"Noise moves none of 26 answers by more than {joint} people, with 95 % confidence")


def test_an_answer_is_stored_and_read_back():
    people = pyarrow.table({"a": [0, 1] * 40, "b": [0, 1, 2, 2] * 20, "c": [0, 1, 2, 3, 3] * 16})
    workload = workloads.marginals(MIXED, width=2)
    with curate(people, MIXED, Concentrated(1)) as curator:
        answer = curator.answer(workload, spend=Concentrated("0.2"))
        again = curator.answer_from_json(json.loads(json.dumps(answer.to_json())))
        event = answer.event.parameters["mechanism"]
    assert event["name"] == "TableStack" and event["parameters"]["law"]["name"] == "RoundedNormal"
    assert all(part.keys() == {"columns", "centred", "times"} for part in event["parameters"]["parts"])
    assert [part.name for part in answer.released.parts][:4] == [
        "contrasts of a", "contrasts of b", "contrasts of c", "contrasts of a × b",
    ]  # fmt: skip
    for place in range(3):
        np.testing.assert_array_equal(again.value.noisy[place], answer.value.noisy[place])
        np.testing.assert_array_equal(again.value.values[place], answer.value.values[place])
        assert again.value.width(place) == answer.value.width(place)


def test_answers_of_earlier_versions_are_read_as_before():
    workload = workloads.marginals(MIXED, sets=[("a",), ("a", "b")])
    law = DiscreteGaussian(9)
    parts = (NoisyPart("block 0", (30, 21), law), NoisyPart("block 1", (10, 11, 12, 5, 6, 7), law))
    stored = Released(parts, facts={"people": Fraction(50)}, made={"projection": "none"})
    tables = Queries(workload, method="none").value(Released.from_json(json.loads(json.dumps(stored.to_json()))))
    assert tables.law == law and tables.width(0) == tables.width(1) == 6 and tables.values[1].tolist()[0] == 10


def test_tables_counted_in_the_data_give_the_same_contrasts():
    workload = workloads.marginals(MIXED, width=2)
    stack = planned(MIXED, workload, Concentrated("0.1"), ADD_REMOVE)
    records = Records.from_rows(Space.of(MIXED), [(1, 2, 3), (0, 2, 1), (1, 1, 1)])
    counted = Margins(Space.of(MIXED), {block.columns: records.table(block.columns) for block in workload.blocks})
    for one, two in zip(stack.exact(records), stack.exact(counted), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(counted.table(("c", "a")), records.table(("c", "a")))


# Which noise is taken


@pytest.mark.parametrize(
    ("workload", "spend", "options"),
    [
        (workloads.marginals(MIXED, width=2), Pure(1), {}),
        (workloads.marginals(MIXED, width=3), Concentrated(1), {"relation": ADD_REMOVE}),
        (workloads.marginals(MIXED, width=2), Concentrated(1), {"gaussians": "discrete"}),
        (
            workloads.together(workloads.marginals(MIXED, width=2), workloads.prefixes(MIXED, "c")),
            Concentrated(1),
            {},
        ),
        (workloads.marginals(MIXED, width=2), Approximate(20, "1e-30"), {}),
    ],
    ids=["pure", "one table", "an earlier ledger", "other queries", "Laplace noise is smaller"],
)
def test_independent_noise_is_taken_where_contrasts_have_none_or_win_nothing(workload, spend, options):
    mechanism = Queries(workload).prepare(Basis(MIXED, 100, **options), spend).mechanism
    assert isinstance(mechanism, NoisyWorkload)


@pytest.mark.parametrize(("name", "most"), [("MOST_INTEGERS", 20), ("MOST_SETS", 11)])
def test_too_many_numbers_share_one_noise(monkeypatch, name, most):
    monkeypatch.setattr(residuals, name, most)
    mechanism = Queries(workloads.marginals(MIXED, width=2)).prepare(Basis(MIXED, 100), Concentrated(1)).mechanism
    assert isinstance(mechanism, NoisyWorkload)


def test_the_choice_is_the_smaller_mean_variance():
    workload = workloads.marginals(MIXED, width=2)
    for spend in (Concentrated("0.1"), Approximate(1, "1e-6"), Concentrated(3)):
        gauge = Basis(MIXED, 100).gauge(Rows(workload.columns))
        plain = noisy_workload(gauge, spend, workload)
        stack = Queries(workload).prepare(Basis(MIXED, 100), spend).mechanism
        contrasts = Contrasts(workload, stack.parts, 100)
        mean = np.mean([contrasts.variance(place) for place in range(3)])
        assert isinstance(stack, TableStack) and mean < 0.75 * plain.law.deviation() ** 2


def test_bits_of_one_column_are_one_number():
    """Where the number of rows is public the second count says nothing new: half the variance."""
    schema = Schema({"a": booleans()})
    workload = workloads.marginals(schema, width=1)
    stack = planned(schema, workload, Concentrated("0.02"))
    assert measured_sets(workload) == [(), (0,)] and [part.shape for part in stack.parts] == [(1,)]
    assert Contrasts(workload, stack.parts, 100).variance(0) == pytest.approx(25, rel=1e-3)
    assert noisy_workload(Basis(schema, 100).gauge(Rows(("a",))), Concentrated("0.02"), workload).law.variance == 50


def test_integers_that_are_multiplied_stay_within_64_bits():
    part = Part((0,), (2,), True, RoundedNormal(Fraction(100)), times=2**20)
    assert part.exact(np.array([2**50, 0])).tolist() == [2**62]
    assert part.exact(np.array([3, 1])).tolist() == [2**21]
