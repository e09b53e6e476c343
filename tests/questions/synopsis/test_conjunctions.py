"""Conjunctions through the curator: error against prediction, both relations, bad input, saved and read back."""

from __future__ import annotations

import json
import time

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, Synopsize, curate
from sfumato.errors import AccuracyWarning, DomainTooLarge, ParameterError, SchemaError
from sfumato.questions import question_from_json
from sfumato.questions.synopsis import Bits, Conjunctions, one_hot, synopsis_from_json
from sfumato.questions.synopsis.binary import Rows
from sfumato.questions.synopsis.build import Asked, subset_sums_mechanism
from sfumato.questions.synopsis.fourier import FourierSynopsis
from sfumato.questions.synopsis.marginals import MarginalSynopsis
from sfumato.table.gauge import Basis
from tests.imputed import booleans, categories, integers, text
from tests.questions.synopsis.tables import mixture, rms, schema_of, table_of, true_shares

PEOPLE, SIZE = 20_000, 16
BITS = mixture(PEOPLE, SIZE, seed=11)


def drawn(method: str, spend, bits=BITS, seed: int = 1, relation=None, **options):
    """Prepare, read and draw with a seed, without a ledger."""
    schema = schema_of(bits.shape[1])
    setting = Basis(schema, len(bits), *([relation] if relation else []))
    prepared = Synopsize(method, options=options).prepare(setting, spend)
    rows = Rows(bits, np.ones(len(bits), np.int64))
    return synopsis_from_json(prepared.finish(prepared.mechanism.run(rows, Noise(insecure_seed=seed))).made["synopsis"])


@pytest.mark.parametrize("relation", [None, ADD_REMOVE])
@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Approximate(1, "1e-6")])
def test_errors_are_as_predicted(spend, relation) -> None:
    queries = Conjunctions.random(SIZE, 3, 300, noise=Noise(insecure_seed=2))
    true = true_shares(BITS, queries)
    coefficients = drawn("fourier", spend, degree=3, width=8, relation=relation)
    uniform = Conjunctions.random(SIZE, 8, 300, noise=Noise(insecure_seed=2))
    assert isinstance(coefficients, FourierSynopsis)
    # Half of the columns by a coin each: noise is as predicted, and what is left out far below its bound.
    assert rms(coefficients.answer(uniform) - true_shares(BITS, uniform)) < 3 * coefficients.predicted() + 0.01
    sets = drawn("marginals", spend, order=2, width=3, relation=relation, guarantee="worst")
    assert isinstance(sets, MarginalSynopsis)
    assert (np.abs(sets._shares(queries) - true) <= sets.bias(queries) + 5 * sets.stderr(queries)).all()
    singles = Conjunctions.every(SIZE, 2)
    apart = (sets._shares(singles) - true_shares(BITS, singles)) / sets.stderr(singles)
    assert 0.8 < rms(apart) < 1.25  # no bias up to the order: noise alone, of the stated size


def test_shares_of_columns_make_wide_answers_better() -> None:
    # For queries wider than the order a prior from what was released is far better than the worst case.
    queries = Conjunctions.random(SIZE, 6, 300, noise=Noise(insecure_seed=7))
    true = true_shares(BITS, queries)
    average, worst = (
        rms(drawn("marginals", Concentrated("0.1"), order=2, width=6, guarantee=guarantee).answer(queries) - true)
        for guarantee in ("average", "worst")
    )
    assert average < worst / 2 and average < 0.02


def test_noise_of_fourier_answers_is_as_stated() -> None:
    # Repeated releases of one table; the empty table shows the noise itself. Half of the noise would show.
    queries = Conjunctions.random(10, 4, 20, negations=True, noise=Noise(insecure_seed=3))
    empty = np.zeros((500, 10), bool)
    exact = None
    errors = []
    for seed in range(100):
        found = drawn("fourier", Pure(4), bits=empty, seed=seed, degree=2, width=3)
        errors.append(found._shares(queries))
        exact = found.stderr(queries)
    spread = np.std(np.array(errors), axis=0)
    shown = exact > 0
    assert (spread[~shown] == 0).all()
    assert 0.93 < rms(spread[shown] / exact[shown]) < 1.07


def test_full_degree_is_exact_without_noise() -> None:
    bits = mixture(400, 6, seed=5)
    queries = Conjunctions.random(6, 3, 60, negations=True, noise=Noise(insecure_seed=6))
    for method, option in (("fourier", "degree"), ("marginals", "order")):
        found = drawn(method, Pure(10**6), bits=bits, width=3, **{option: 6})
        assert rms(found.answer(queries) - true_shares(bits, queries)) < 2e-3


def test_balanced_weights_beat_plain_ones() -> None:
    # The printed analysis adds equal noise to all coefficients: √|K| of it, √697 = 26.4 at degree 3.
    found = drawn("fourier", Concentrated("0.5"), degree=3, width=8)
    assert found.predicted() * PEOPLE < 0.5 * np.sqrt(697)


def test_curator_answers_and_stores() -> None:
    with curate(table_of(BITS[:2000]), schema_of(SIZE), Pure(10)) as curator:
        question = Synopsize("marginals", options={"order": 2, "width": 3})
        answer = curator.ask(question, Pure(4))
        again = curator.ask(question, Pure(4))
        assert again.reused and (again.value.released == answer.value.released).all()
        assert answer.loss.within(Pure(4)) and answer.frame.columns["column"][0] == "c0"
        copied = synopsis_from_json(json.loads(json.dumps(answer.value.to_json())))
        queries = [("c0", "not c3"), ("c5",)]
        assert (copied.answer(queries) == answer.value.answer(queries)).all()
        assert question_from_json(question.to_json(), curator.schema) == question
        made = curator.synopsis(spend=Pure(2)).value
        # The noise is fresh in every run: Laplace noise passes twelve deviations once in ten million.
        allowed = 12 * made.stderr([("c1",)])[0]
        assert made.answer([("c1",)])[0] == pytest.approx(BITS[:2000, 1].mean(), abs=allowed)


def test_attributes_are_charged_what_they_move() -> None:
    schema = schema_of(SIZE)
    setting = Basis(schema, PEOPLE)
    prepared = Synopsize("marginals", options={"order": 2}).prepare(setting, Concentrated("0.1").per_attribute())
    loss = prepared.mechanism.loss()
    assert loss.at("c3").curve.slope <= 0.1 < loss.person.curve.slope  # type: ignore[union-attr]


def test_number_of_rows_is_never_in_a_scale() -> None:
    schema = schema_of(6)
    for method in ("auto", "fourier", "marginals", "parities"):
        events = [
            Synopsize(method).prepare(Basis(schema, people, ADD_REMOVE), Pure(1)).mechanism.event()
            for people in (10, 10**6)
        ]
        assert events[0].to_json() == events[1].to_json()


def test_one_hot_reads_the_schema() -> None:
    schema = Schema({"job": categories("nurse", "clerk"), "age": integers(0, 99), "smokes": booleans()})
    bits = Bits.of(schema, ["smokes", *one_hot(schema, ["job"]), "age>=65"])
    rows = [{"job": "nurse", "age": 70, "smokes": True}, {"job": "clerk", "age": 3, "smokes": False}]
    import pyarrow

    with curate(pyarrow.Table.from_pylist(rows * 500), schema, Pure(100)) as curator:
        found = curator.synopsis(
            "marginals", columns=bits.names, spend=Pure(50), options={"width": 2, "order": 2}
        ).value
    shares = found.answer([("job=nurse", "age>=65"), ("smokes", "job=clerk"), ("not age>=65",)])
    assert shares == pytest.approx([0.5, 0, 0.5], abs=0.01)
    assert found.answer([("job=nurse", "job=clerk", "smokes")])[0] < 0.01  # nobody has two jobs, and pairs show it


def test_bad_input_says_what_to_write() -> None:
    schema = Schema({"job": categories("nurse", "clerk"), "smokes": booleans(), "name": text(max_bytes=9)})
    setting = Basis(schema, 100)
    for columns, words in (
        (["job"], "one_hot"),
        (["job=smith"], "no value"),
        (["jobs"], "no column"),
        (["name=x"], "more values"),
    ):
        with pytest.raises(SchemaError, match=words):
            Synopsize(columns=columns).prepare(setting, Pure(1))
    wide = Basis(schema_of(200), 100)
    with pytest.raises(DomainTooLarge, match="degree=3"):
        Synopsize("fourier", options={"degree": 4}).prepare(wide, Pure(1))
    with pytest.raises(ParameterError, match="width"):
        Synopsize("fourier", options={"width": 201}).prepare(wide, Pure(1))
    with pytest.raises(ParameterError, match="whole number"):
        Synopsize("marginals", options={"order": 0}).prepare(wide, Pure(1))
    with pytest.raises(ParameterError, match="no option 'depth'"):
        Synopsize("fourier", options={"depth": 2}).prepare(wide, Pure(1))
    with pytest.raises(ParameterError, match="methods are"):
        Synopsize("magic")
    with pytest.warns(AccuracyWarning, match="spend more"):
        Synopsize("fourier", options={"degree": 2}).prepare(wide, Pure("0.01"))


def test_bad_queries_say_what_to_write() -> None:
    found = drawn("marginals", Pure(4), bits=BITS[:500], order=1)
    for queries, words in (("c1", "list of lists"), ([("c1", "c1")], "twice"), ([("c99",)], "no 'c99'")):
        with pytest.raises(ParameterError, match=words):
            found.answer(queries)
    with pytest.raises(ParameterError, match="speak of 3 columns"):
        found.answer(Conjunctions.every(3, 1))
    with pytest.raises(ParameterError, match="from 0 to 4 wide"):
        Conjunctions.random(4, 5, 1)


def test_data_never_raise() -> None:
    found = drawn("marginals", Pure(1), bits=np.zeros((0, 5), bool), relation=ADD_REMOVE)
    assert found.answer([("c0",)]).shape == (1,) and found.people >= 1


def test_predicted_noise_is_what_runs() -> None:
    schema = schema_of(32)
    setting = Basis(schema, PEOPLE)
    for spend in (Pure(1), Concentrated("0.1")):
        asked = Asked.read(setting, spend, None, {"width": 3})
        design = asked.fourier(2)
        law = subset_sums_mechanism(asked.gauge, spend, asked.bits, design, "RL-FOUR").law
        numbers = np.array([1, 32, 496])
        assert law.deviation() * np.sqrt((numbers * np.square(design.units)).sum()) / PEOPLE == pytest.approx(
            design.noise, rel=0.01
        )


def test_many_queries_are_quick() -> None:
    found = drawn("marginals", Concentrated(1), bits=mixture(300, 200, seed=8), order=2, width=4)
    queries = Conjunctions.random(200, 4, 100_000, noise=Noise(insecure_seed=1))
    start = time.process_time()
    assert len(found.answer(queries)) == 100_000
    assert time.process_time() - start < 2


def test_a_sketch_of_few_columns_says_that_a_model_may_be_better() -> None:
    def said(size: int) -> str:
        rows = pyarrow.table({f"b{place}": [True, False] * 50 for place in range(size)})
        schema = Schema({f"b{place}": booleans(missing=False) for place in range(size)})
        with curate(rows, schema, Pure(9)) as curator:
            return str(curator.synopsis("marginals", spend=Pure(9), options={"width": 1}))

    assert "a model of them may answer" in said(4) and "a model of them" not in said(25)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("method", ["marginals", "fourier", "tree", "labels"])
def test_a_printed_synopsis_says_what_its_errors_leave_out_and_shows_no_interval(method) -> None:
    bits = BITS[:500, :5]
    curator = curate(table_of(bits), schema_of(5), Pure(2))
    answer = curator.ask(Synopsize(method, options={"width": 2}), Pure(1))
    assert answer.value.unsaid in str(answer) and "stderr and interval" in answer.value.unsaid
    assert "95 % interval" not in str(answer)  # the table has no such column; each query has one of its own


def test_pairs_are_further_off_than_their_intervals_and_within_the_stated_bias() -> None:
    # Columns of about one half that hang together: the weights draw pairs towards what independent columns would say.
    noise = Noise(insecure_seed=5)
    habits = np.array([[90, 80, 10, 20, 50, 70], [20, 10, 80, 70, 50, 30], [50] * 6])
    bits = noise.uniform(100, 18_000).reshape(3000, 6) < habits[noise.uniform(3, 3000)]
    sketch = drawn("marginals", Pure(1), bits=bits, width=2)
    pairs = Conjunctions.every(6, 2)
    off = np.abs(sketch._shares(pairs) - true_shares(bits, pairs))
    assert (off <= sketch.bias(pairs) + 6 * sketch.stderr(pairs)).all()
    assert (off > 1.96 * sketch.stderr(pairs)).mean() > 0.1
