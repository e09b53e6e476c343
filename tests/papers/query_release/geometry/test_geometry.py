"""Shaped noise: lattices, bodies, methods against each other, and the errors that the theory predicts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Noise, Pure
from sfumato.audit import law
from sfumato.errors import DomainTooLarge, NotProvable, ParameterError, UnsupportedSpend
from sfumato.noise import DiscreteLaplace
from sfumato.papers.query_release.geometry import RecursiveNoise, ShapedNoise, choose_additive, shaped
from sfumato.papers.query_release.geometry.bodies import Box
from sfumato.papers.query_release.geometry.fan import Fan
from sfumato.papers.query_release.geometry.generators import body_generators, matrix_of
from sfumato.papers.query_release.geometry.lattice import Lattice
from sfumato.papers.query_release.geometry.recursive import allocate, halves
from sfumato.perturb import AdditiveNoise, sensitivity
from sfumato.privacy import Approximate, Concentrated


def random_signs(queries: int, cells: int, seed: int = 1) -> np.ndarray:
    return 2 * Noise(insecure_seed=seed).uniform(2, queries * cells).reshape(queries, cells) - 1


def stretched(queries: int, scale: int = 1000) -> np.ndarray:
    """Return the source's example: one long row, the others d² times shorter, turned at random."""
    rows = random_signs(queries, 150, seed=queries).astype(float)
    rows[1:] /= queries**2
    drawn = Noise(insecure_seed=7).uniform(2**30, queries * queries).reshape(queries, queries) / 2.0**30 - 0.5
    turn, _ = np.linalg.qr(drawn)
    return np.rint(turn @ rows * scale).astype(np.int64)


class TestLattice:
    def test_cosets_are_respected_whatever_the_vector(self) -> None:
        lattice = Lattice.generated([(2, 0, 4), (0, 3, 3)])
        step = lattice.answer([3, -5])
        for vector in ([0, 0, 0], [7, -2, 11], [1, 1, 1]):
            before, rest = lattice.coordinates(vector)
            after, same = lattice.coordinates([a + b for a, b in zip(vector, step, strict=True)])
            assert rest == same and [y - x for x, y in zip(before, after, strict=True)] == [3, -5]

    def test_a_generator_outside_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="outside of the lattice"):
            Lattice(((2, 0),)).points([(1, 0)])

    def test_any_metric_gives_the_same_lattice(self) -> None:
        generators = body_generators(random_signs(4, 30), ADD_REMOVE)
        plain, turned = Lattice.generated(generators), Lattice.generated(generators, np.diag([1.0, 5.0, 0.2, 3.0]))
        assert all(turned.contains(row) for row in plain.basis) and all(plain.contains(row) for row in turned.basis)


class TestFan:
    @pytest.mark.parametrize("seed", range(4))
    def test_every_point_is_drawn_with_its_weight(self, seed: int) -> None:
        """The cells and corners reach each lattice point once, at a level that is its norm."""
        drawn = Noise(insecure_seed=seed).uniform(7, 12).reshape(6, 2) - 3
        points = tuple(map(tuple, [*drawn.tolist(), (1, 0), (0, 1)]))
        fan = Fan(tuple(point for point in points if any(point)))
        found: dict[tuple[int, ...], Fraction] = {}
        for cell, cone in enumerate(fan.cells.cones.tolist()):
            volume = int(fan.facets.volumes[cone])
            for times in product(range(8), repeat=2):
                weights = [int(s) + volume * t for s, t in zip(fan.cells.shares[cell], times, strict=True)]
                point = tuple(int(x) // volume for x in weights @ fan.facets.corners[cone])
                assert point not in found
                found[point] = Fraction(sum(weights), volume)
        for point in product(range(-3, 4), repeat=2):
            assert found[point] == (fan.gauge((point,)) if any(point) else 0)

    def test_norm_agrees_with_the_linear_program(self) -> None:
        from scipy.optimize import linprog

        points = tuple(map(tuple, random_signs(4, 20).T.tolist()))
        fan = Fan(points)
        columns = np.array(points).T
        for vector in ((1, 0, 2, 3), (5, -4, 0, 1), (1, 1, 1, -1)):
            solved = linprog(np.ones(40), A_eq=np.hstack([columns, -columns]), b_eq=vector, bounds=(0, None))
            assert float(fan.gauge((vector,))) == pytest.approx(solved.fun, rel=1e-9)

    def test_too_many_cells_are_refused_with_a_way_out(self) -> None:
        fan = Fan(((100_000, 1, 0), (0, 100_000, 1), (1, 0, 100_000)))
        with pytest.raises(NotProvable, match="ellipsoid"):
            _ = fan.cells


class TestEngines:
    def test_one_query_is_laplace_noise(self) -> None:
        made = shaped([[1, -1]], Pure(1), relation=ADD_REMOVE)
        plain = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=1, relation=ADD_REMOVE)
        ours, theirs = law(made, np.array([4])), law(plain, np.array([4]))
        assert all(abs(ours[key] - theirs[key]) < 1e-12 for key in theirs)

    def test_identity_is_laplace_noise(self) -> None:
        made = shaped(np.eye(2, dtype=int), Pure(2), relation=ADD_REMOVE)
        moves = sensitivity(l1=1, changed=1)
        plain = AdditiveNoise(law=DiscreteLaplace("1/2"), sensitivity=moves, relation=ADD_REMOVE)
        ours, theirs = law(made, np.array([4, 1]), tail=1e-4), law(plain, np.array([4, 1]), tail=1e-4)
        assert all(abs(ours[key] - theirs[key]) < 1e-12 for key in theirs)

    @pytest.mark.parametrize("method", ["simplex", "rejection"])
    def test_engines_draw_the_same_error(self, method: str) -> None:
        matrix = random_signs(3, 50)
        found = shaped(matrix, Pure("1/2"), relation=ADD_REMOVE, method=method)
        source = Noise(insecure_seed=9)
        drawn = np.array([found(np.zeros(3, dtype=int), source) for _ in range(300)])
        mean = float(np.linalg.norm(drawn, axis=1).mean())
        wanted = shaped(matrix, Pure("1/2"), relation=ADD_REMOVE, method="simplex").predict(20_000).mean
        assert mean == pytest.approx(wanted, rel=0.12)

    @pytest.mark.parametrize("method", ["laplace", "scaled-laplace", "box", "ellipsoid", "simplex", "recursive"])
    @pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
    def test_every_engine_is_within_its_spend(self, method: str, relation: object) -> None:
        matrix = [[1, 1, 0, 2], [0, 1, 1, 5], [1, 1, 1, 1]]
        made = shaped(matrix, Pure("1/3"), relation=relation, method=method, people=10)
        assert made.loss().within(Pure("1/3"))
        assert float(made.loss().person.epsilon) > 0.3 and made.event().to_json()["spec"].startswith("QR-")
        value = made(np.array([7, 12, 10]), Noise(insecure_seed=3))
        assert value.shape == (3,) and made(np.array([7, 12, 10]), Noise()).shape == (3,)

    def test_a_public_total_stays_what_it_is_and_data_cannot_change_it(self) -> None:
        made = shaped([[1, 0], [1, 1]], Pure(1), relation=REPLACE_ONE, people=10)
        for answers in ([4, 10], [4, 17]):
            assert made(np.array(answers), Noise(insecure_seed=1))[1] == 10

    def test_a_box_has_its_law(self) -> None:
        """One attempt is enumerated: accepted points are proportional to exp(-rate·norm)."""
        rate = 6
        made = ShapedNoise(
            rate=Fraction(rate),
            lattice=Lattice.whole(2),
            body=Box((1, 2), unit=2, attempts=1),
            generators=((1, 1),),
            origin=(0, 0),
            relation=ADD_REMOVE,
        )
        found = law(made, np.array([0, 0]), tail=1e-3)
        centre = float(found[(0, 0)])
        for point in product(range(-1, 2), repeat=2):
            norm = max(abs(point[0]) / 2, abs(point[1]))
            assert float(found[point]) / centre == pytest.approx(math.exp(-rate * norm), rel=2e-2)


class TestErrors:
    @pytest.mark.parametrize(
        ("queries", "cells", "expected", "laplace", "floor"),
        [(1, 2, 1.0, 1.0, 0.5), (2, 8, 2.30, 3.24, 1.06), (3, 50, 3.85, 6.32, 1.69), (4, 100, 5.61, 10.05, 2.38),
         (5, 200, 7.58, 14.34, 3.12), (6, 200, 9.69, 19.10, 3.90)],
    )  # fmt: skip
    def test_the_table_of_the_spec(
        self, queries: int, cells: int, expected: float, laplace: float, floor: float
    ) -> None:
        matrix = random_signs(queries, cells, seed=11)
        epsilon = Fraction(1, 20)  # fine noise: the lattice hardly shows
        choice = choose_additive(matrix, Pure(epsilon), relation=ADD_REMOVE)
        scale = float(epsilon)
        assert choice.predicted("knorm").mean * scale == pytest.approx(expected, rel=0.04)
        assert choice.predicted("laplace").mean * scale == pytest.approx(laplace, rel=0.04)
        assert choice.floor.smooth * scale == pytest.approx(floor, rel=0.04)
        if queries > 1:
            assert choice.predicted("knorm").rms < 0.8 * choice.predicted("laplace").rms
            assert 1.9 < choice.best.predicted.mean / choice.floor.smooth < 2.6
        assert "within" in str(choice)

    def test_exact_mean_square_agrees_with_draws(self) -> None:
        made = shaped(random_signs(4, 60), Pure(1), relation=ADD_REMOVE, method="simplex")
        drawn = (made.simulate(40_000) ** 2).sum(axis=1)
        exact = made.body.squares(made.rate, made.lattice.matrix)
        assert abs(drawn.mean() - exact) < 5 * drawn.std() / 200
        assert abs(drawn.mean() - exact * 1.03) > 2 * drawn.std() / 200  # power: three per cent would show

    @pytest.mark.audit
    def test_recursion_pays_on_stretched_bodies(self) -> None:
        matrix = stretched(5)
        choice = choose_additive(matrix, Pure(1), relation=ADD_REMOVE)
        assert choice.best.method == "recursive"
        assert choice.predicted("recursive").rms < 0.7 * choice.predicted("knorm").rms
        assert choice.predicted("recursive").rms < 0.5 * choice.predicted("laplace").rms

    def test_recursion_is_unbiased_and_as_noisy_as_predicted(self) -> None:
        made = shaped(stretched(3), Pure(1), relation=ADD_REMOVE, method="recursive", split="half")
        assert isinstance(made, RecursiveNoise) and len(made.levels) == 2
        truth = np.array([5000, -3000, 400])
        source = Noise(insecure_seed=5)
        drawn = np.array([made(truth, source) - truth for _ in range(200)])
        rms = float(np.sqrt((drawn**2).sum(axis=1).mean()))
        assert rms == pytest.approx(made.predict(2000).rms, rel=0.2)
        assert (np.abs(drawn.mean(axis=0)) < 5 * drawn.std(axis=0) / math.sqrt(200)).all()

    @pytest.mark.parametrize("rank", range(1, 65))
    def test_levels_are_as_many_as_the_spec_says(self, rank: int) -> None:
        assert len(halves(rank)) == rank.bit_length()
        parts = allocate(Fraction(1, 3), [float(place + 1) for place in range(len(halves(rank)))], "optimal")
        assert sum(parts) == Fraction(1, 3)

    def test_optimal_allocation_beats_the_equal_one(self) -> None:
        matrix = stretched(4)
        rms = {
            allocation: shaped(
                matrix, Pure(1), relation=ADD_REMOVE, method="recursive", allocation=allocation, split="half"
            ).predict(1000).rms
            for allocation in ("equal", "optimal")
        }  # fmt: skip
        assert rms["optimal"] < 0.85 * rms["equal"]

    def test_twelve_queries_beat_laplace(self) -> None:
        choice = choose_additive(random_signs(12, 200), Pure("1/10"), relation=ADD_REMOVE)
        assert choice.best.predicted.mean < 0.5 * choice.predicted("laplace").mean
        assert dict(choice.refused).keys() == {"knorm", "recursive"}


class TestBadInput:
    @pytest.mark.parametrize("matrix", [[[0, 0]], [[1, 1]]])
    def test_nothing_moves(self, matrix: list[list[int]]) -> None:
        with pytest.raises(ParameterError, match="constant"):
            shaped(matrix, Pure(1))

    @pytest.mark.parametrize("matrix", [[[0.5, 1]], [[math.nan, 1]], [1, 2], [[]], [["a", "b"]], [[2**40, 1]]])
    def test_no_matrix_of_whole_numbers(self, matrix: list[list[float]]) -> None:
        with pytest.raises(ParameterError):
            shaped(matrix, Pure(1), relation=ADD_REMOVE)

    @pytest.mark.parametrize("spend", [Concentrated(0.1), Approximate(1, 1e-6), Pure(1).per_attribute()])
    def test_other_spends(self, spend: object) -> None:
        with pytest.raises(UnsupportedSpend):
            shaped([[1, 0]], spend)

    def test_unknown_engine_and_missing_people(self) -> None:
        with pytest.raises(ParameterError, match="method is one of"):
            shaped([[1, 0]], Pure(1), method="fast")
        with pytest.raises(ParameterError, match="people="):
            shaped([[1, 0], [1, 1]], Pure(1))

    def test_too_many_differences(self) -> None:
        with pytest.raises(DomainTooLarge):
            body_generators(matrix_of(np.arange(2000)[None]), REPLACE_ONE)

    def test_wrong_shape_of_answers(self) -> None:
        made = shaped([[1, 0]], Pure(1))
        with pytest.raises(ParameterError, match="one whole number"):
            made(np.array([1, 2]))
        with pytest.raises(ParameterError, match="whole numbers"):
            made(np.array([1.5]))
