"""Parities and cuts: what is found, error against prediction, both relations, bad input, saved and read back."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, Synopsize, curate
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.papers.query_release.synopses.cut_synopses import CutSynopsis, PairCutSynopsis
from sfumato.papers.query_release.synopses.hubs import Edges
from sfumato.papers.query_release.synopses.parities import ParitySynopsis
from sfumato.questions.synopsis import Cuts, Parities, plan_parities, synopsis_from_json
from sfumato.questions.synopsis.binary import Rows
from sfumato.questions.synopsis.queries import pack, unpack
from sfumato.table.gauge import Basis
from tests.imputed import integers
from tests.questions.synopsis.tables import mixture, rms, schema_of, table_of


def planted(people: int, size: int, counts: list[int]):
    """Return even bits among which a few rows stand often."""
    noise = Noise(insecure_seed=9)
    bits = noise.uniform(2, people * size).reshape(people, size).astype(bool)
    start = 0
    for count in counts:
        bits[start : start + count] = bits[start]
        start += count
    return bits


def drawn(
    method: str, schema: Schema, exact, people: int, spend, *, columns=None, relation=None, seed: int = 1, **options
):
    setting = Basis(schema, people, *([relation] if relation else []))
    prepared = Synopsize(method, columns, options).prepare(setting, spend)
    return synopsis_from_json(
        prepared.finish(prepared.mechanism.run(exact, Noise(insecure_seed=seed))).made["synopsis"]
    )


def true_parities(bits, queries: Parities):
    return (queries.flags().astype(np.int64) @ bits.T.astype(np.int64) % 2).mean(axis=1)


def test_words_hold_flags() -> None:
    flags = mixture(7, 130, 1)
    assert (unpack(pack(flags), 130) == flags).all()
    drawn_sets = Parities.random(130, 40, noise=Noise(insecure_seed=1))
    assert (pack(drawn_sets.flags()) == drawn_sets.words).all()
    assert 0.4 < drawn_sets.flags().mean() < 0.6


def test_what_is_left_out_of_parities_is_a_quarter_of_the_squares() -> None:
    # MSE over all 2^d queries = ¼·Σ of squared shares of the rows that were not found, exactly.
    bits = planted(400, 8, [150, 60])
    ones, counts = np.unique(bits, axis=0, return_counts=True)
    found = counts >= 50
    made = ParitySynopsis(
        tuple(f"c{place}" for place in range(8)), 400.0, ones[found], counts[found].astype(np.int64), 0.0, 0.1
    )
    every = Parities.make(np.array(list(product((0, 1), repeat=8)), bool))
    errors = made._shares(every) - true_parities(bits, every)
    missed = ((counts[~found] / 400) ** 2).sum()
    empty = ((counts[~found].sum() / 400) / 2) ** 2  # the query of no columns is answered exactly
    assert np.mean(errors**2) * 256 == pytest.approx(64 * missed - empty, rel=1e-9)


@pytest.mark.parametrize("relation", [None, ADD_REMOVE])
@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1")])
def test_planted_rows_are_found(spend, relation) -> None:
    people, size = 20_000, 32
    bits = planted(people, size, [6000, 2000, 1000])
    exact = Rows(bits, np.ones(people, np.int64))
    found = drawn("parities", schema_of(size), exact, people, spend, relation=relation)
    rows = {tuple(row) for row in found.rows.tolist()}
    assert {tuple(bits[0].tolist()), tuple(bits[6000].tolist()), tuple(bits[8000].tolist())} <= rows
    queries = Parities.random(size, 300, noise=Noise(insecure_seed=2))
    error = rms(found.answer(queries) - true_parities(bits, queries))
    assert error < found.predicted() and error < 0.2 * rms(true_parities(bits, queries) - 0.5)
    assert plan_parities(size, people, spend).error < 0.1


def test_rows_that_occur_are_found_with_a_delta() -> None:
    bits = planted(4000, 16, [900, 300])
    for relation in ({}, {"relation": ADD_REMOVE}):
        with curate(table_of(bits), schema_of(16), Approximate(4, "1e-5"), **relation) as curator:
            found = curator.synopsis("parities", spend=Approximate(1, "1e-6")).value
        assert sorted(found.weights.tolist())[-2:] == pytest.approx([300, 900], abs=40)
        assert found.people == pytest.approx(4000, abs=400)
        copied = synopsis_from_json(json.loads(json.dumps(found.to_json())))
        assert (copied.answer([("c0", "c3")]) == found.answer([("c0", "c3")])).all()
        assert copied.answer([()])[0] == 0


def test_nothing_frequent_is_a_half() -> None:
    bits = planted(500, 16, [])
    found = drawn("parities", schema_of(16), Rows(bits, np.ones(500, np.int64)), 500, Pure(1))
    assert (found.answer([("c1",), ("c2", "c4")]) == 0.5).all() or len(found.weights) > 0
    empty = drawn(
        "parities", schema_of(16), Rows(np.zeros((0, 16), bool), np.zeros(0, np.int64)), 0, Pure(1), relation=ADD_REMOVE
    )
    assert empty.answer([("c1",)]).shape == (1,)


def test_bad_parities_say_what_to_write() -> None:
    setting = Basis(schema_of(4), 100)
    with pytest.raises(ParameterError, match="children"):
        Synopsize("parities", options={"chunk": 30}).prepare(setting, Pure(1))
    with pytest.raises(ParameterError, match="accuracy"):
        Synopsize("parities", options={"accuracy": 2}).prepare(setting, Pure(1))
    found = drawn("parities", schema_of(4), Rows(np.ones((1, 4), bool), np.array([100])), 100, Pure(1))
    with pytest.raises(ParameterError, match="speak of 3"):
        found.answer(Parities.random(3, 1))
    with pytest.raises(ParameterError, match="list of lists"):
        found.answer("c1")


VERTICES = 400
GRAPH = Schema({"a": integers(0, VERTICES - 1), "b": integers(0, VERTICES - 1)})


def stars(edges: int):
    """Half of the edges start at one of three hubs."""
    noise = Noise(insecure_seed=4)
    first = np.where(noise.uniform(2, edges) == 0, noise.uniform(3, edges), noise.uniform(VERTICES, edges))
    return first, noise.uniform(VERTICES, edges)


def true_cuts(one, two, queries: Cuts):
    flags = queries.flags()
    return (flags[:, one] != flags[:, two]).mean(axis=1)


def test_hubs_without_noise_are_the_mean_over_cuts() -> None:
    # All cuts that agree on the hub: the answer is the mean where every other vertex joins by a coin of its share.
    one, two = np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 2, 3, 4])
    degrees = np.bincount(np.concatenate([one, two]), minlength=6)
    made = CutSynopsis(tuple("abcdef"), 6.0, degrees, np.array([0]), np.zeros(0, np.int64), np.array([3]), 3, 0.0, 0.0)
    for inside in (True, False):
        query = Cuts.make([[inside, True, False, True, False, False]])
        share = (degrees[1] + degrees[3]) / degrees[1:].sum()
        hub = 3 * (1 - share) if inside else 3 * share
        assert made._shares(query)[0] * 6 == pytest.approx(hub + 3 * 2 * share * (1 - share))


@pytest.mark.parametrize("relation", [None, ADD_REMOVE])
@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Approximate(1, "1e-6")])
def test_cut_errors_are_as_predicted(spend, relation) -> None:
    one, two = stars(8000)
    found = drawn("cuts", GRAPH, Edges.of(one, two), 8000, spend, columns=("a", "b"), relation=relation, by="hubs")
    assert isinstance(found, CutSynopsis)
    assert set(found.hubs.tolist()) == {0, 1, 2}
    queries = Cuts.random(VERTICES, 300, noise=Noise(insecure_seed=5))
    error = rms(found.answer(queries) - true_cuts(one, two, queries))
    assert error < 0.02 and 0.4 * found.predicted() < error < 2 * found.predicted()
    hub = Cuts.make(np.arange(VERTICES)[None, :] == 0)  # one vertex alone: what a hub sends
    assert found.answer(hub) == pytest.approx(true_cuts(one, two, hub), abs=0.02)


def test_few_vertices_are_counted_pair_by_pair() -> None:
    schema = Schema({"a": integers(0, 9), "b": integers(0, 9)})
    noise = Noise(insecure_seed=6)
    one, two = noise.uniform(10, 30_000), noise.uniform(10, 30_000)
    with curate(pyarrow.table({"a": one, "b": two}), schema, Pure(4)) as curator:
        found = curator.synopsis("cuts", columns=["a", "b"], spend=Pure(1)).value
    assert isinstance(found, PairCutSynopsis)
    queries = Cuts.random(10, 100, noise=noise)
    apart = np.abs(found.answer(queries) - true_cuts(one, two, queries))
    assert (apart <= 6 * found.stderr(queries) + 1e-9).all()
    copied = synopsis_from_json(json.loads(json.dumps(found.to_json())))
    assert (copied.answer([("0", "3")]) == found.answer([("0", "3")])).all()
    assert len(found.to_frame().columns["vertex"]) == 10


def test_hubs_are_saved_and_shown() -> None:
    one, two = stars(4000)
    found = drawn("cuts", GRAPH, Edges.of(one, two), 4000, Pure(2), columns=("a", "b"), by="hubs")
    copied = synopsis_from_json(json.loads(json.dumps(found.to_json())))
    queries = Cuts.random(VERTICES, 20, noise=Noise(insecure_seed=7))
    assert (copied.answer(queries) == found.answer(queries)).all()
    assert set(found.to_frame().columns["hub"]) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("vertices", "edges", "hubs", "said"), [(400, 8000, 3, False), (400, 8000, 400, True), (10, 30_000, 10, False)]
)
def test_answers_no_better_than_one_half_say_so(vertices, edges, hubs, said) -> None:
    noise = Noise(insecure_seed=8)
    schema = Schema({"a": integers(0, vertices - 1), "b": integers(0, vertices - 1)})
    one, two = noise.uniform(hubs, edges), noise.uniform(vertices, edges)
    with curate(pyarrow.table({"a": one, "b": two}), schema, Pure(4)) as curator:
        answer = curator.ask(Synopsize("cuts", ("a", "b")), Pure(1))
    assert any("constant 1/2" in note for note in answer.notes) is said
    queries = Cuts.random(vertices, 300, noise=noise)
    assert answer.value.constant() == pytest.approx(rms(0.5 - true_cuts(one, two, queries)), rel=0.3)


def test_loops_and_empty_graphs_never_raise() -> None:
    loops = Edges.of([1, 1, 2], [1, 1, 2])
    assert len(loops.counts) == 0
    found = drawn("cuts", GRAPH, loops, 3, Pure(1), columns=("a", "b"), by="hubs", relation=ADD_REMOVE)
    assert 0 <= found.answer([("1",)])[0] <= 1


def test_bad_graphs_say_what_to_write() -> None:
    mixed = Schema({"a": integers(0, 9), "b": integers(1, 10), "c": integers(0, 5_000), "d": integers(0, 5_000)})
    setting = Basis(mixed, 100)
    with pytest.raises(SchemaError, match="two columns"):
        Synopsize("cuts", ("a",)).prepare(setting, Pure(1))
    with pytest.raises(SchemaError, match="same domain"):
        Synopsize("cuts", ("a", "b")).prepare(setting, Pure(1))
    with pytest.raises(DomainTooLarge, match="hubs"):
        Synopsize("cuts", ("c", "d"), {"by": "pairs"}).prepare(setting, Pure(1))
    with pytest.raises(ParameterError, match="'hubs' or 'pairs'"):
        Synopsize("cuts", ("c", "d"), {"by": "all"}).prepare(setting, Pure(1))
