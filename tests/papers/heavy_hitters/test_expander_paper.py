"""The expander sketch as printed: two reports, lists, clusters, estimates."""

from __future__ import annotations

import math

import pytest

from sfumato import Noise, Pure
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.papers.heavy_hitters.codes import UniqueListCode
from sfumato.papers.heavy_hitters.expander_paper import PaperSizes, PaperSketch, paper_sketch

USERS = 12_000
CODE = UniqueListCode(16, 4, 8, 2, bytes(16), two_sided=True)


@pytest.fixture(scope="module")
def collected():
    sketch, noise = paper_sketch(Pure(8), CODE, USERS, bucket_bits=2), Noise(insecure_seed=3)
    values = [noise.uniform(1 << 16) for _ in range(3)]
    items = [value for value in values for _ in range(2500)] + noise.uniform(1 << 16, USERS - 7500).tolist()
    return sketch, values, [sketch.run(item, noise) for item in items]


@pytest.mark.audit
@pytest.mark.parametrize("decoder", ["spectral", "components", "votes"])
def test_heavy_items_are_found_by_every_decoder(collected, decoder):
    sketch, values, reports = collected
    cell = 4.5 * sketch.cells.deviation(USERS / CODE.coordinates)
    found = dict(sketch.popular(reports, cell=cell, entries=4, method=decoder))
    assert set(found) <= set(values) and len(found) >= 2
    for count in found.values():
        assert abs(count - 2500) < 5 * 1.3 * sketch.whole.deviation(USERS, 2500)


def test_a_high_threshold_or_an_empty_list_finds_nothing(collected):
    sketch, _, reports = collected
    assert sketch.popular(reports, cell=USERS, entries=4) == []
    assert sketch.popular(reports, cell=100.0, entries=0) == []
    assert sketch.popular([], cell=1.0, entries=4) == []


def test_half_of_the_spend_goes_to_each_report():
    sketch = paper_sketch(Pure(1), CODE, USERS, bucket_bits=2)
    assert sketch.loss().within(Pure(1))
    assert float(sketch.loss().person.epsilon) > 1 - 1e-9
    assert sketch.cells.loss().within(Pure("0.5")) and sketch.whole.loss().within(Pure("0.5"))


def test_the_null_report_looks_like_any_other():
    sketch, noise = paper_sketch(Pure(1), CODE, USERS, bucket_bits=2), Noise(insecure_seed=1)
    for item in (None, 0, 65535):
        place, cell, whole = sketch.run(item, noise)
        assert place < 8 and cell < sketch.cells.outcomes and whole < sketch.whole.outcomes
    assert sketch.report_bits == 3 + 16 + math.ceil(math.log2(sketch.whole.outcomes))


def test_the_sizes_of_the_paper():
    sizes = PaperSizes(64, 10**6, 1.0, coordinate_constant=2.0, heavy_constant=20.0)
    log = 64 * math.log(2)
    assert sizes.coordinates == math.ceil(2 * log / math.log(log))
    assert sizes.heavy == pytest.approx(20 * math.sqrt(1e6 * log))
    # C_f = C_H / (2 C_M) - C_7.
    assert sizes.cell == pytest.approx(4 * math.log(log) * math.sqrt(1e6 / log))
    # An item of the heavy size has more devices at its cell than the threshold asks for.
    assert sizes.heavy / sizes.coordinates > sizes.cell


def test_sizes_for_which_the_theorem_says_nothing_are_said():
    least = PaperSizes(64, 10**6, 1.0).least_users
    sizes = PaperSizes(64, least, 1.0)
    assert sizes.heavy <= least
    with pytest.warns(AccuracyWarning, match="says nothing below 2,840 devices"):
        fewer = PaperSizes(64, least - 1, 1.0)
    assert fewer.heavy > least - 1


def test_wrong_sizes_are_refused():
    sketch = paper_sketch(Pure(1), CODE, USERS, bucket_bits=2)
    with pytest.raises(ParameterError):
        PaperSketch(code=CODE, bucket_bits=3, cells=sketch.cells, whole=sketch.whole)
