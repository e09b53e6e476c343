"""Frequent records: certificates, plans, searches that find what is planted, values, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, audit
from sfumato.answer import Released
from sfumato.errors import AccuracyWarning, DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.noise import DiscreteLaplace
from sfumato.papers.private_learning.faithful_points import san_points
from sfumato.privacy import Loss
from sfumato.questions import Histogram, question_from_json
from sfumato.questions.popular import (
    ColumnTree,
    HeavyHitters,
    Popular,
    PopularCounts,
    SuccinctHistogram,
    balanced,
    caterpillar,
    plan_hitters,
    plan_popular,
    pure_points,
    smallest_published,
)
from sfumato.questions.popular.value import projected
from sfumato.table.gauge import Basis
from sfumato.totals.column_tree.certificate import acceptance_cost, path_cost, predicted_cost
from sfumato.totals.column_tree.choice import plan_pure
from sfumato.totals.sparse_noise import SparseNoise
from sfumato.workload import Records, Space
from tests.imputed import booleans, categories, integers
from tests.promises.printed.popular import AllLists


def bits(count: int) -> Space:
    return Space.of(Schema({f"q{place}": booleans() for place in range(count)}))


def setting(space_of: int | Schema, people: int = 20_000, **options: object) -> Basis:
    schema = Schema({f"q{place}": booleans() for place in range(space_of)}) if isinstance(space_of, int) else space_of
    return Basis(schema, people, **options)  # type: ignore[arg-type]


def planted(columns: int, people: int, records: int, count: int, seed: int) -> tuple[Records, list[tuple[int, ...]]]:
    """Uniform background, and some records that occur `count` times each."""
    noise = Noise(insecure_seed=seed)
    rows = noise.uniform(2, people * columns).reshape(people, columns)
    special = noise.uniform(2, records * columns).reshape(records, columns)
    rows[: records * count] = np.repeat(special, count, axis=0)
    codes, counts = np.unique(rows, axis=0, return_counts=True)
    return Records(bits(columns), np.asfortranarray(codes), counts), [tuple(row) for row in special.tolist()]


# The certificate.


def brute_force(scale: Fraction, thresholds: tuple[int, ...], clips: tuple[int, ...]) -> float:
    """The largest sum over all counts, from the masses of the noise themselves."""
    law = DiscreteLaplace(scale)

    def kept(threshold: int, count: int) -> float:
        return math.log(float(law.tail(threshold - count).mid()))

    sums = [
        sum(kept(t, max(f, c)) - kept(t, max(f - 1, c)) for t, c in zip(thresholds, clips, strict=True))
        for f in range(1, max(thresholds) + 20)
    ]
    return max(sums) + float(1 / scale)


def test_certificates_equal_the_maximum_over_all_counts() -> None:
    noise = Noise(insecure_seed=5)
    for _ in range(40):
        height = 1 + noise.uniform(5)
        scale = Fraction(1 + noise.uniform(60), 8)
        clips, thresholds = [], []
        clip = noise.uniform(4)
        for _ in range(height):
            clips.append(clip)
            thresholds.append(clip + 1 + noise.uniform(12))
            clip += 1 + noise.uniform(12)
        exact = path_cost(scale, tuple(thresholds), tuple(clips))
        assert float(exact) == pytest.approx(brute_force(scale, tuple(thresholds), tuple(clips)), abs=1e-9)
        rough = predicted_cost(float(scale), np.array(thresholds, float), np.array(clips, float))
        assert rough == pytest.approx(float(exact), rel=1e-9)


def test_certificates_stay_between_two_and_one_more_than_the_levels() -> None:
    assert path_cost(Fraction(3), (), ()) == 0
    assert path_cost(Fraction(3), (20,), (4,)) == Fraction(2, 3)
    crowded = path_cost(Fraction(3), (20, 21, 22), (4, 5, 6))
    assert Fraction(2, 3) < crowded <= Fraction(4, 3)
    assert acceptance_cost(Fraction(3), (20, 21, 22), (4, 5, 6)) == crowded - Fraction(1, 3)


def test_the_closed_form_of_the_paper_is_an_upper_bound() -> None:
    """(1/b)(3 + e^((1-mu)/b)/(1 - e^(-mu/b))) for constant steps of mu, up to the step that whole numbers add."""
    for scale, step in ((3, 15), (1, 2), (2, 6)):
        thresholds = tuple(20 + step * level for level in range(6))
        clips = tuple(threshold - step for threshold in thresholds)
        closed = (3 + math.exp((1 - step) / scale) / (1 - math.exp(-step / scale))) / scale
        assert float(path_cost(Fraction(scale), thresholds, clips)) <= closed


# Trees and losses.


def test_losses_add_up_the_lowest_joins_that_change() -> None:
    mechanism = HeavyHitters(tree=balanced(bits(4), 2), scale=Fraction(2), thresholds=(6, 12), clips=(3, 8))
    loss = mechanism.loss()
    one = loss.at("q0").epsilon
    assert one == mechanism.cost_of((1, 2))
    assert loss.at({"q0", "q1"}).epsilon == one
    assert loss.at({"q0", "q2"}).epsilon == 2 * one == loss.person.epsilon
    spine = HeavyHitters(tree=caterpillar(bits(4), 2), scale=Fraction(2), thresholds=(6, 12, 18), clips=(3, 8, 14))
    assert spine.loss().person.epsilon == spine.loss().at("q0").epsilon > spine.loss().at("q3").epsilon
    assert Loss.from_json(loss.to_json()) == loss


def test_columns_of_one_attribute_stay_together_and_public_ones_cost_nothing() -> None:
    from sfumato.domain import bins

    schema = Schema(
        {"age": integers(0, 99), "sex": booleans(), "decade": bins("age", step=10), "town": booleans(public=True)}
    )
    tree = balanced(Space.of(schema), cells=4)
    assert tree.blocks[0] == (0, 2)
    assert all("town" not in names for names, _ in tree.charged())
    with pytest.raises(ParameterError, match="same attribute"):
        ColumnTree(tree.space, ((0,), (1,), (2,), (3,)), ((0, 1, 1), (2, 3, 1), (4, 5, 2)))


def test_histograms_state_the_smaller_of_two_bounds() -> None:
    search = HeavyHitters(tree=balanced(bits(2), 2), scale=Fraction(10), thresholds=(2,), clips=(1,))
    assert PopularCounts(hitters=search, scale=Fraction(5, 2)).loss().at("q0").epsilon == Fraction(9, 10)
    wide = HeavyHitters(tree=balanced(bits(4), 2), scale=Fraction(8), thresholds=(6, 30), clips=(3, 20))
    counted = PopularCounts(hitters=wide, scale=Fraction(8))
    assert counted.loss().person.epsilon <= wide.loss().person.epsilon + Fraction(1, 4)
    assert counted.loss().at("q0").epsilon < wide.loss().at("q0").epsilon + Fraction(1, 4)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"clips": (3, 3)}, "rise by at least 1"),
        ({"clips": (3,)}, "one threshold and one clip"),
        ({"thresholds": (3, 12)}, "above the clip"),
        ({"relation": ADD_REMOVE}, "REPLACE_ONE"),
        ({"scale": 0}, "scale"),
        ({"most": 0}, "most"),
    ],
)
def test_bad_parameters_are_refused(parts: dict, message: str) -> None:
    good = {"tree": balanced(bits(4), 2), "scale": Fraction(2), "thresholds": (6, 12), "clips": (3, 8)}
    with pytest.raises(ParameterError, match=message):
        HeavyHitters(**{**good, **parts})


# The search.


def test_the_search_has_the_law_of_a_plain_loop() -> None:
    """Lists drawn by number and place against one draw for each pair: equal laws, outcome by outcome."""
    tree = balanced(bits(2), 2)
    search = HeavyHitters(tree=tree, scale=Fraction(1), thresholds=(3,), clips=(1,))
    records = Records.from_rows(tree.space, [(0, 0)] * 3 + [(1, 0)])
    counts = {(0, 0): 3, (1, 0): 1}

    def plain(data: Records, noise: Noise) -> list[tuple[int, int]]:
        kept = []
        for pair in [(a, b) for a in (0, 1) for b in (0, 1)]:
            if search._coin(3 - max(counts.get(pair, 0), 1), noise):
                kept.append(pair)
        return kept

    shipped = audit.law(lambda data, noise: search.run(data, noise).records, records)
    looped = audit.law(plain, records)
    assert {k: float(v) for k, v in shipped.items()} == pytest.approx(
        {k: float(v) for k, v in looped.items()}, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_searches_stay_within_their_certificate(seed: int) -> None:
    noise = Noise(insecure_seed=seed)
    first, rise = noise.uniform(3), 1 + noise.uniform(3)
    clips = (first, first + rise)
    thresholds = (first + 1 + noise.uniform(3), clips[1] + 1 + noise.uniform(3))
    tree = balanced(bits(3), 2)
    scale = Fraction(2 + noise.uniform(6), 4)
    search = AllLists(tree=tree, scale=scale, thresholds=thresholds, clips=clips, most=2)
    pairs = []
    for _ in range(3):
        times, beside = 1 + noise.uniform(8), noise.uniform(8)
        rows = [(0, 0, 0)] * (times - 1) + [(1, 0, 1)] * beside
        pair = (Records.from_rows(tree.space, [*rows, one]) for one in ((0, 0, 0), (1, 0, 0)))
        pairs.append(audit.Neighbours(*pair, frozenset({"q0"})))
    assert audit.check(search, pairs).ok


def test_planted_records_are_found_at_the_predicted_count() -> None:
    spend = Pure("3/4").per_attribute()
    search = plan_hitters(bits(64), spend, 20_000)
    count = search.smallest_found()
    assert count <= 107  # what the specification measured
    hits = lists = 0
    for seed in range(3):
        records, special = planted(64, 20_000, 20, count, seed)
        found = search.run(records, Noise(insecure_seed=100 + seed))
        assert not found.overflow
        hits += len(set(special) & set(found.records))
        lists += len(found.records)
    # 60 records, each missed with probability 0.05 at most: fewer than 45 found has probability below 1e-6.
    assert hits >= 45
    assert lists <= 3 * 400
    records, special = planted(64, 20_000, 20, count // 2, 9)
    assert len(set(special) & set(search.run(records, Noise(insecure_seed=9)).records)) <= 4


@pytest.mark.audit
def test_planted_records_are_found_among_256_columns() -> None:
    search = plan_hitters(bits(256), Pure("3/4").per_attribute(), 20_000)
    count = search.smallest_found()
    assert count <= 157
    hits = 0
    for seed in range(5):
        records, special = planted(256, 20_000, 20, count, seed)
        hits += len(set(special) & set(search.run(records, Noise(insecure_seed=seed)).records))
    assert hits >= 80


def test_a_list_that_grows_too_long_is_an_answer() -> None:
    search = HeavyHitters(tree=balanced(bits(4), 4), scale=Fraction(2), thresholds=(2,), clips=(1,), most=3)
    records = Records.from_rows(search.tree.space, [row for row in np.ndindex(2, 2, 2, 2) for _ in range(9)])
    found = search.run(records, Noise(insecure_seed=1))
    assert found.overflow and found.records == () and found.sizes[-1] > 3
    counted = PopularCounts(hitters=search, scale=Fraction(2)).run(records, Noise(insecure_seed=1))
    assert counted.overflow and counted.counts == ()


def test_huge_blocks_are_never_listed() -> None:
    space = Space.of(Schema({"a": integers(0, 2**29), "b": integers(0, 2**29)}))
    search = plan_hitters(space, Pure(1).per_attribute(), 5000)
    rows = [(123_456_789, 987_654)] * search.smallest_found(0.999) + [(i, 7 * i) for i in range(100)]
    assert (123_456_789, 987_654) in search.run(Records.from_rows(space, rows), Noise(insecure_seed=3)).records
    with pytest.raises(DomainTooLarge, match="bins"):
        balanced(Space.of(Schema({"a": integers(0, 2**40), "b": booleans()})))


def test_empty_tables_and_codes_outside_their_column_do_not_raise() -> None:
    search = plan_hitters(bits(16), Pure(1).per_attribute(), 100)
    empty = Records(bits(16), np.zeros((0, 16), np.int64), np.zeros(0, np.int64))
    assert isinstance(search.run(empty, Noise(insecure_seed=1)).records, tuple)
    strange = Records(bits(16), np.full((1, 16), 7, np.int64), np.array([90]))
    assert (1,) * 16 in search.run(strange, Noise(insecure_seed=1)).records


# The planner.


@pytest.mark.parametrize(("columns", "printed"), [(16, 44), (64, 89), (128, 106), (256, 122)])
def test_the_table_of_the_specification_is_reproduced_or_beaten(columns: int, printed: int) -> None:
    """At most 40 frequent strings in a node, blocks of 1 to 8 bits, first clip from 20 on, as there."""
    spend = Pure("3/4").per_attribute()
    search = plan_hitters(bits(columns), spend, 20_000, heavy=40, lowest=20, blocks=(2, 4, 16, 256))
    assert 0.8 * printed <= search.smallest_found() <= 1.04 * printed
    assert search.loss().within(spend)


def test_the_smallest_count_grows_with_the_logarithm_of_the_columns() -> None:
    spend, columns = Pure(1).per_attribute(), (32, 64, 128, 256)
    found = [plan_hitters(bits(d), spend, 20_000, blocks=(256,)).smallest_found() for d in columns]
    logs = np.log2(columns)
    assert np.corrcoef(logs, found)[0, 1] ** 2 > 0.97


def test_plans_fit_their_spend_and_use_it() -> None:
    for spend in (Pure(1), Pure(1).per_attribute(), Pure("1/10").per_attribute()):
        loss = plan_popular(bits(24), spend, 10_000).loss()
        assert loss.within(spend)
        used = loss.person.epsilon if spend.unit == "person" else loss.at("q0").epsilon
        assert used > Fraction(9, 10) * spend.epsilon


def test_a_count_asked_for_makes_lists_shorter() -> None:
    spend = Pure(1).per_attribute()
    free, asked = plan_hitters(bits(32), spend, 20_000), plan_hitters(bits(32), spend, 20_000, smallest=400)
    records, _ = planted(32, 20_000, 5, 450, 1)
    shorter, longer = (sum(one.run(records, Noise(insecure_seed=1)).sizes) for one in (asked, free))
    assert shorter < longer
    assert asked.smallest_found() <= 404


def test_other_spends_are_refused() -> None:
    for spend in (Concentrated(1), Approximate(1, 1e-6), Pure(0)):
        with pytest.raises(UnsupportedSpend, match="Pure"):
            plan_popular(bits(8), spend, 100)


# Points, values, the question.


def test_pure_points_find_what_is_above_their_threshold() -> None:
    points = pure_points(Pure(1), 2**64)
    assert points.loss().person.epsilon == 1
    count = smallest_published(points, Fraction(999, 1000))
    cells = {place * 977: count for place in range(200)} | {2**63 + place: 3 for place in range(5000)}
    found = dict(points.run(cells, Noise(insecure_seed=4)))
    assert sum(place * 977 in found for place in range(200)) >= 190
    assert len(found) <= 205


def test_values_answer_counts_sets_conditions_and_shares() -> None:
    columns = {"a": (0, 0, 1), "b": ("x", "y", "x"), "count": (500, 300, 90)}
    found = SuccinctHistogram(("a", "b"), columns, smallest=100, people=1000)
    assert found.count((0, "x")) == 500 and found.count((1, "y")) == 0
    assert found.total([(0, "x"), (1, "x"), (1, "y")]) == 590
    assert found.query({"b": "x"}) == 590 and found.query({"a": [0, 1], "b": {"y"}}) == 300
    shares = found.distribution()
    assert shares.share((0, "x")) == Fraction(1, 2) and shares.share((1, "x")) == 0
    assert len(shares.to_frame()) == 2
    with pytest.raises(ParameterError, match="one of a, b"):
        found.query({"c": 1})
    with pytest.raises(ParameterError, match="one value for each"):
        found.count((1,))
    with pytest.raises(ParameterError, match="number of people"):
        replace(found, people=None).distribution()


def test_projection_is_the_nearest_point() -> None:
    noise = Noise(insecure_seed=8)
    for _ in range(20):
        shares = [Fraction(number - 300, 1000) for number in noise.uniform(1200, 5).tolist()]
        near = projected(shares)
        assert sum(near) <= 1 and min(near) >= 0
        distance = sum((a - b) ** 2 for a, b in zip(shares, near, strict=True))
        for _ in range(20):
            other = [Fraction(number, 1000) for number in noise.uniform(200, 5).tolist()]
            assert distance <= sum((a - b) ** 2 for a, b in zip(shares, other, strict=True))


def test_sparse_distributions_meet_their_bound() -> None:
    people, records, count = 20_000, 20, 400
    mechanism = plan_popular(bits(64), Pure(1).per_attribute(), people)
    smallest = mechanism.hitters.smallest_found()
    table, special = planted(64, people, records, count, 3)
    counted = mechanism.run(table, Noise(insecure_seed=3))
    columns = {f"q{place}": tuple(r[place] for r in counted.records) for place in range(64)}
    frame = SuccinctHistogram(tuple(columns), {**columns, "count": counted.counts}, smallest, people)
    shares = frame.distribution()
    listed = set(special) | set(shares.records)
    true = {record: Fraction(count, people) for record in special}
    error = float(sum((shares.share(r) - true.get(r, Fraction(0))) ** 2 for r in listed))
    cut = 2 * smallest / people
    assert error <= 2 * (2 * float(mechanism.scale) ** 2 / (people**2 * cut) + 3 * cut) + 2 / people


def test_the_engine_with_the_smaller_predicted_error_is_taken() -> None:
    few = Popular([f"q{place}" for place in range(8)])
    many = Popular([f"q{place}" for place in range(128)])
    spend = Pure(1).per_attribute()
    assert isinstance(few.prepare(setting(8), spend).mechanism, SparseNoise)
    assert isinstance(many.prepare(setting(128), spend).mechanism, PopularCounts)
    # For a whole person a tree is charged for many paths, or for a long one.
    assert isinstance(many.prepare(setting(128), Pure(1)).mechanism, SparseNoise)
    assert type(few.prepare(setting(8), Approximate(1, 1e-6)).mechanism).__name__ == "FoundGroups"
    assert isinstance(few.prepare(setting(8), Concentrated(1)).mechanism, SparseNoise)
    assert isinstance(plan_pure(setting(8, relation=ADD_REMOVE), Pure(1), few.columns).mechanism, SparseNoise)


def test_histograms_over_many_columns_make_the_same_choice() -> None:
    names = [f"q{place}" for place in range(96)]
    question, spend = Histogram(names, keys="private"), Pure(2).per_attribute()
    prepared = question.prepare(setting(96), spend)
    assert isinstance(prepared.mechanism, PopularCounts)
    records = Records.from_rows(bits(96), [(1,) * 96] * 500)
    table = question.value(prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=1))))
    assert table.rows()[-1][:-1] == (True,) * 96 and abs(table["count"][-1] - 500) < 60
    assert isinstance(Histogram(names[:4], keys="private").prepare(setting(96), spend).mechanism, SparseNoise)


def test_released_values_are_read_back() -> None:
    question = Popular(["q0", "q1", "q2"], method="tree")
    prepared = question.prepare(setting(3, 500), Pure(4).per_attribute())
    records = Records.from_rows(bits(3), [(0, 1, 1)] * 400 + [(1, 0, 0)] * 100)
    released = prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=2)))
    again = Released.from_json(released.to_json())
    found = question.value(again)
    assert abs(found.count((False, True, True)) - 400) < 40
    assert found.method == "tree" and found.people == 500 and not found.overflow
    low, high = (question.interval(again, Fraction(95, 100))[f"count, {end}"] for end in ("low", "high"))
    place = found.records.index((False, True, True))
    assert low[place] < 400 < high[place]
    assert question_from_json(question.to_json(), setting(3).schema) == question


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ParameterError, match="needs columns"):
        Popular([])
    with pytest.raises(ParameterError, match="method is one of"):
        Popular("a", method="magic")
    with pytest.raises(ParameterError, match="smallest"):
        Popular("a", smallest=0)
    with pytest.raises(UnsupportedSpend, match="laplace"):
        Popular(["q0", "q1"], method="tree").prepare(setting(2, relation=ADD_REMOVE), Pure(1))
    with pytest.raises(UnsupportedSpend, match="public"):
        open_ = Schema({name: categories("x", "y", public=True) for name in "ab"})
        Popular(["a", "b"], method="tree").plan(setting(open_), Pure(1))
    with pytest.warns(AccuracyWarning, match="more than"):
        Popular([f"q{place}" for place in range(32)], method="tree").prepare(setting(32, 20), Pure(1).per_attribute())


def test_points_are_chosen_one_after_the_other() -> None:
    spend = Approximate(4, 1e-6)
    mechanism = san_points(spend, Fraction(1, 2), people=2000)
    assert mechanism.rounds == 4 and mechanism.loss().within(spend)
    count = mechanism.choice.required(Fraction(999_999, 1_000_000))
    found = dict(mechanism.run({7: count, 3: 2 * count, 5: 1}, Noise(insecure_seed=6)))
    assert set(found) == {3, 7}
    assert abs(found[3] - 2 * count) < 15 * mechanism.scale
    assert mechanism.run({}, Noise(insecure_seed=1)) == ()
    with pytest.raises(UnsupportedSpend, match="delta"):
        san_points(Pure(1), 0.5, people=2000)


def test_a_singleton_is_not_read_off_its_noisy_count() -> None:
    """Laplace noise of scale 1/10 rounds back to the truth nearly always; what is planned at epsilon 1 does not."""
    mechanism = plan_popular(bits(16), Pure(1).per_attribute(), 1000)
    drawn = Noise(insecure_seed=2).draw(mechanism.law, 4000)
    assert np.mean(drawn == 0) < 0.1
    loud = Noise(insecure_seed=2).draw(DiscreteLaplace(Fraction(1, 10)), 4000)
    assert np.mean(loud == 0) > 0.99
