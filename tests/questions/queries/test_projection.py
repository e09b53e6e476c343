"""Projections: nearest points, certified gaps, and the errors that the spec predicts (PDP-PROJ)."""

from __future__ import annotations

from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest

from sfumato import Noise, Schema, workloads
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.noise import DiscreteGaussian
from sfumato.questions.queries.project import chosen, project, total_of
from sfumato.questions.queries.vertices import Hull, frank_wolfe, nearest_exactly
from sfumato.workload import Marginal, Records
from tests.imputed import booleans, integers

TEN = Schema({f"b{place}": booleans() for place in range(10)})


def rows(people: int, columns: int, noise: Noise) -> np.ndarray:
    """Correlated bits: everybody has a level, and each bit follows it seven times in ten."""
    level = noise.uniform(2, people)
    follow = noise.uniform(10, people * columns).reshape(people, columns) < 7
    return np.where(follow, level[:, None], 1 - level[:, None])


def noisy(workload, records, variance, noise):
    answers = workload.answers(records)
    drawn = noise.draw(DiscreteGaussian(variance), workload.queries)
    return answers, [
        part + d for part, d in zip(answers, np.split(drawn, np.cumsum([len(p) for p in answers])[:-1]), strict=True)
    ]


def mean_square(found, exact, people):
    return float(np.mean((np.concatenate(found) - np.concatenate(exact)) ** 2)) / people**2


@pytest.mark.parametrize(
    ("people", "per_attribute", "before", "after"), [(50, 0.2, 0.092, 0.023), (200, 0.2, 0.0052, 0.0028)]
)
def test_projection_reproduces_the_errors_of_the_spec(people, per_attribute, before, after):
    """All conjunctions of two out of ten bits, sigma = 3/(n·eps0); CHECKED numbers of PDP-PROJ, 20 trials."""
    workload = workloads.conjunctions(TEN, width=2)
    step = workload.by_attribute()["b0"]
    assert step.l2_squared == 9
    deviation = sqrt(9) / per_attribute
    noise = Noise(insecure_seed=people)
    records = Records.from_rows(workload.space, rows(people, 10, noise))
    raw, projected = [], []
    for _ in range(20):
        exact, given = noisy(workload, records, round(deviation**2), noise)
        raw.append(mean_square(given, exact, people))
        found = project(workload, given, "exact", people, [deviation**2] * len(given))
        projected.append(mean_square(found.answers, exact, people))
    sigma = deviation / people
    bound = min(sigma**2, sigma * sqrt(45) * sqrt(2 * log(2**10)) / 45)
    assert np.mean(raw) == pytest.approx(sigma**2, rel=0.15) == pytest.approx(before, rel=0.2)
    assert np.mean(projected) <= bound
    # The spec's run had other data; projected errors of both are of one size.
    assert after / 2.5 <= np.mean(projected) <= after * 1.6


def test_projection_is_neutral_where_the_noise_is_small():
    workload = workloads.conjunctions(TEN, width=2)
    noise = Noise(insecure_seed=3)
    records = Records.from_rows(workload.space, rows(1000, 10, noise))
    exact, given = noisy(workload, records, 9, noise)
    found = project(workload, given, "frank-wolfe", 1000, [9.0] * len(given))
    assert mean_square(found.answers, exact, 1000) <= 1.05 * mean_square(given, exact, 1000)


def test_frank_wolfe_comes_within_its_gap_of_the_nearest_point():
    schema = Schema({"a": integers(0, 4), "b": integers(0, 2), "c": booleans(), "d": booleans()})
    workload = workloads.marginals(schema, width=2)
    noise = Noise(insecure_seed=5)
    hull = Hull(workload, 100.0)
    for _ in range(5):
        target = 100 * np.concatenate([np.ones(block.queries) / block.queries for block in workload.blocks])
        target = target + noise.draw(DiscreteGaussian(400), workload.queries)
        solved = nearest_exactly(hull, target)
        assert solved is not None
        best, rest = solved
        near, gap = frank_wolfe(hull, target, 1.0)
        assert rest < 1e-4 and gap <= 1.0
        nearest = ((target - best) ** 2).sum()
        assert nearest - 1e-6 <= ((target - near) ** 2).sum() <= nearest + 2 * gap + 1e-6
        # <target - near, corner - near> <= gap at every corner, which is what the certificate says.
        corners = np.stack([hull.corner(cell) for cell in range(hull.cells)])
        assert (corners @ (target - near) - near @ (target - near)).max() <= gap + 1e-6


def test_an_exact_projection_that_does_not_settle_says_so_and_comes_near(monkeypatch):
    import scipy.optimize

    def unsettled(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    workload = workloads.marginals(TEN, width=2)
    noise = Noise(insecure_seed=7)
    records = Records.from_rows(workload.space, rows(300, 10, noise))
    exact, given = noisy(workload, records, 100, noise)
    settled = project(workload, given, "exact", 300, [100.0] * len(given))
    monkeypatch.setattr(scipy.optimize, "nnls", unsettled)
    found = project(workload, given, "exact", 300, [100.0] * len(given))
    assert settled.method == "exact" and found.method == "frank-wolfe"
    target = np.concatenate(given)
    apart = [float(((np.concatenate(one.answers) - target) ** 2).sum()) for one in (settled, found)]
    # The certified gap bounds half of what is left of the squared distance, and it is small.
    assert found.gap is not None and apart[0] - 1e-6 <= apart[1] <= apart[0] + 2 * found.gap
    assert found.gap <= 0.05 * 100 * workload.queries
    assert mean_square(found.answers, exact, 300) < mean_square(given, exact, 300)


def test_corners_and_directions_agree():
    schema = Schema({"a": integers(0, 3), "b": booleans(), "c": integers(0, 2)})
    workload = workloads.together(
        workloads.marginals(schema, sets=[("c", "a"), ("b",)]),
        workloads.ranges(schema, "a"),
        workloads.prefixes(schema, "c"),
        workloads.predicates(schema, ["a > 1 AND b = true"]),
        workloads.matrix(schema, ("a", "b"), [[0, 1, 0.5, 0, 0, 1, 1, 0.25]], steps=4),
        workloads.conjunctions(schema, cells=[{"c": 2, "a": 1}]),
        workloads.parities(schema, sets=["b"]),
    )
    hull = Hull(workload, 3.0)
    direction = Noise(insecure_seed=1).draw(DiscreteGaussian(25), workload.queries).astype(float)
    corners = np.stack([hull.corner(cell) for cell in range(hull.cells)])
    assert np.allclose(hull.along(direction), corners @ direction)
    for block in workload.blocks:
        table = np.arange(block.cells).reshape(block.shape)
        assert np.array_equal(block.matrix() @ table.ravel(), block.evaluate(table))


def test_local_tables_agree_and_are_not_negative():
    schema = Schema({f"c{place}": integers(0, size - 1) for place, size in enumerate((4, 3, 5, 2, 6))})
    workload = workloads.marginals(schema, width=3)
    noise = Noise(insecure_seed=8)
    data = np.stack([noise.uniform(size, 400) * noise.uniform(2, 400) for size in (4, 3, 5, 2, 6)], axis=1)
    records = Records.from_rows(workload.space, data)
    exact, given = noisy(workload, records, 100, noise)
    found = project(workload, given, "local", 400, [100.0] * len(given))
    tables = [part.reshape(block.shape) for part, block in zip(found.answers, workload.blocks, strict=True)]
    assert all(table.min() >= 0 and table.sum() == pytest.approx(400) for table in tables)
    for one, two in combinations(range(len(tables)), 2):
        shared = set(workload.blocks[one].columns) & set(workload.blocks[two].columns)
        sums = []
        for place in (one, two):
            names = workload.blocks[place].columns
            sums.append(tables[place].sum(axis=tuple(at for at, name in enumerate(names) if name not in shared)))
        assert np.allclose(*sums, atol=3)  # the noise of one count is 10
    assert mean_square(found.answers, exact, 1) < 0.5 * mean_square(given, exact, 1)


def test_agreeing_tables_are_the_nearest_ones():
    from sfumato.questions.queries.consistent import _agreeing, _Shape

    names = [("b", "a"), ("c", "b")]
    noise = Noise(insecure_seed=2)
    tables = [
        noise.draw(DiscreteGaussian(9), 6).reshape(2, 3) + 0.0,
        noise.draw(DiscreteGaussian(9), 8).reshape(4, 2) + 0.0,
    ]
    shapes = [_Shape(columns, table.shape) for columns, table in zip(names, tables, strict=True)]
    ordered = [table.transpose(shape.order) for shape, table in zip(shapes, tables, strict=True)]
    found = [t.transpose(s.back) for s, t in zip(shapes, _agreeing(shapes, ordered, 7.0), strict=True)]
    # Equal constraints as a linear system: sums over a and over c are the same for each value of b, and the total is 7.
    rows = []
    for value in range(2):
        first, second = np.zeros((2, 3)), np.zeros((4, 2))
        first[value], second[:, value] = 1, -1
        rows.append(np.concatenate([first.ravel(), second.ravel()]))
    rows.append(np.concatenate([np.ones(6), np.zeros(8)]))
    system, aim = np.array(rows), np.array([0, 0, 7.0])
    given = np.concatenate([table.ravel() for table in tables])
    nearest = given - np.linalg.pinv(system) @ (system @ given - aim)
    assert np.allclose(np.concatenate([table.ravel() for table in found]), nearest)


def test_the_total_is_read_from_the_noisy_tables_where_it_is_private():
    workload = workloads.marginals(TEN, width=2)
    assert total_of(workload, [np.array([10, 20, 30, 40])] * 45) == pytest.approx(100)
    assert total_of(workload, [np.array([-10, 0, 0, 0])] * 45) == 1
    given = [np.array([-10, 0, 0, 0])] * 45
    assert all((part >= 0).all() for part in project(workload, given, "local", None, [1.0] * len(given)).answers)
    assert all((part == 0).all() for part in project(workload, given, "exact", 0, [1.0] * len(given)).answers)


def test_the_projection_is_chosen_from_public_facts():
    wide = Schema({f"c{place}": integers(0, 15) for place in range(14)})
    assert chosen(workloads.marginals(TEN, width=2), "auto", True) == "exact"
    twelve = Schema({f"b{place}": booleans() for place in range(12)})
    assert chosen(workloads.marginals(twelve, width=2), "auto", True) == "frank-wolfe"
    assert chosen(workloads.marginals(wide, width=2), "auto", True) == "local"
    assert chosen(workloads.ranges(wide), "auto", True) == "none"
    assert chosen(workloads.parities(TEN, width=2), "auto", False) == "none"
    with pytest.raises(DomainTooLarge, match="local") as refused:
        chosen(workloads.marginals(wide, width=2), "frank-wolfe", True)
    assert refused.value.method == "method='local'"
    with pytest.raises(ParameterError, match="none of them"):
        chosen(workloads.marginals(TEN, width=2), "nearest", True)
    with pytest.raises(ParameterError, match="not public"):
        chosen(workloads.parities(TEN, width=2), "exact", False)


def test_frank_wolfe_on_a_domain_of_a_million_cells():
    twenty = Schema({f"b{place}": booleans() for place in range(20)})
    workload = workloads.marginals(twenty, sets=[(f"b{a}", f"b{a + 1}") for a in range(0, 19, 2)])
    noise = Noise(insecure_seed=4)
    records = Records.from_rows(workload.space, rows(200, 20, noise))
    exact, given = noisy(workload, records, 400, noise)
    found = project(workload, given, "frank-wolfe", 200, [400.0] * len(given))
    assert mean_square(found.answers, exact, 1) < mean_square(given, exact, 1)
    assert all(isinstance(block, Marginal) for block in workload.blocks)
    assert found.gap is not None and found.gap < 400 * workload.queries
