"""QR-SMOOTH: a model on a public sample of the domain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato import Noise, Schema, errors
from sfumato.model import model_from_json
from sfumato.questions.conversation import SupportModel, reduce_support
from tests.imputed import integers
from tests.questions.conversation.people import space


def test_support_is_drawn_without_the_data_and_from_its_seed() -> None:
    wide = space(1024, 1024)
    drawn = reduce_support(wide, peak=8, queries=500, accuracy=0.1, noise=Noise(insecure_seed=1))
    assert (drawn.model(wide, 10).points == drawn.model(wide, 99).points).all()
    needed = math.ceil(math.log(4 * 500 / 0.05) / (2 * 0.1**2))
    assert needed == 530 and 8 * needed < drawn.draws < 10 * needed
    assert "8 times" in drawn.warning
    small = reduce_support(space(8, 8), peak=8, queries=500, accuracy=0.1)
    assert small.whole and small.draws == 64 and "nothing is assumed" in small.warning
    with pytest.raises(errors.DomainTooLarge, match="synthesize"):
        reduce_support(space(2**20, 2**20), peak=1000, queries=500, accuracy=0.001)


PRIME = 2**31 - 1


class Coins:
    """Queries of 0 or 1 on every cell of a domain of 1024 by 1024, by random public coins."""

    def __init__(self, queries: int, seed: int) -> None:
        noise = Noise(insecure_seed=seed)
        self._times, self._plus = noise.uniform(PRIME - 1, queries) + 1, noise.uniform(PRIME, queries)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return a row for each query, a column for each point."""
        cells = points[:, 0] * 1024 + points[:, 1]
        return np.asarray((self._times[:, None] * cells + self._plus[:, None]) % PRIME > PRIME // 2)


def spread(people: int, seed: int) -> np.ndarray:
    """Return people of a product law that is even on an eighth of the domain: 8 times the even share there."""
    noise = Noise(insecure_seed=seed)
    return np.stack([noise.uniform(512, people), noise.uniform(256, people)], axis=1)


def least_error(inside: np.ndarray, here: np.ndarray, truth: np.ndarray, enough: float) -> float:
    """Return an error with which some weights on a support answer all queries, the least one if it is not `enough`.

    Even weights where the data lie are those of the proof; other weights come from the linear program of the spec.
    """
    even = float(np.abs(inside[:, here].mean(axis=1) - truth).max())
    if even <= enough:
        return even
    from scipy.optimize import linprog

    count, points = inside.shape
    rows = np.block([[inside, -np.ones((count, 1))], [-inside.astype(float), -np.ones((count, 1))]])
    ones = np.append(np.ones(points), 0)[None]
    return float(linprog(np.append(np.zeros(points), 1), rows, np.append(truth, -truth), ones, [1]).fun)


@pytest.mark.parametrize(
    ("queries", "supports"), [(500, 4), pytest.param(500, 100, marks=pytest.mark.audit, id="audit")]
)
def test_support_holds_spread_data(queries: int, supports: int) -> None:
    """QR-SMOOTH: 2^20 cells, 10,000 people, 500 random queries; 100 supports in the audit."""
    wide, coins = space(1024, 1024), Coins(queries, 2)
    truth = coins(spread(10_000, 3)).mean(axis=1)
    kept = 0
    for seed in range(supports):
        drawn = reduce_support(wide, peak=8, queries=queries, accuracy=0.1, noise=Noise(insecure_seed=seed))
        points = drawn.model(wide, 1).points
        here = (points[:, 0] < 512) & (points[:, 1] < 256)
        kept += least_error(coins(points), here, truth, 0.1) <= 0.1
    assert kept >= 0.95 * supports


def test_support_fails_on_a_crowd_and_says_so() -> None:
    """People who are all alike are in no sample: the one query about them is answered 0 where 1 is true."""
    wide = space(1024, 1024)
    drawn = reduce_support(wide, peak=8, queries=60, accuracy=0.2, noise=Noise(insecure_seed=1))
    points = drawn.model(wide, 1).points
    crowd = next(code for code in range(1024) if not (points == code).all(axis=1).any())
    model = drawn.model(wide, 1).tilt(("c0", "c1"), np.where(_only(crowd), 50.0, 0.0))
    assert model.marginal(["c0", "c1"])[crowd, crowd] == 0
    assert "crowd" in drawn.warning and "beyond their bound" in drawn.warning


def _only(code: int) -> np.ndarray:
    found = np.zeros((1024, 1024), dtype=bool)
    found[code, code] = True
    return found


def test_support_is_drawn_from_a_public_prior() -> None:
    wide = space(1024, 1024)
    drawn = reduce_support(wide, peak=8, queries=60, accuracy=0.2, noise=Noise(insecure_seed=1))
    low = [100 if code < 64 else 1 for code in range(1024)]
    model = drawn.model(wide, 1, {"c0": low})
    assert model.marginal(["c0"])[:64].sum() == pytest.approx(6400 / (6400 + 960), abs=0.05)


def test_support_model_tilts_samples_and_round_trips() -> None:
    wide = space(1024, 1024)
    model = reduce_support(wide, peak=4, queries=50, accuracy=0.1, noise=Noise(insecure_seed=3)).model(wide, 1000)
    assert isinstance(model, SupportModel)
    tilted = model.tilt(("c0",), np.where(np.arange(1024) < 100, 5.0, 0.0))
    assert tilted.marginal(["c0"])[:100].sum() > 0.9 > model.marginal(["c0"])[:100].sum()
    assert tilted.marginal(["c1"]).sum() == pytest.approx(1)
    rows = tilted.sample(500, Noise(insecure_seed=1))
    assert rows.num_rows == 500
    schema = Schema({"c0": integers(0, 1023), "c1": integers(0, 1023)})
    again = model_from_json(tilted.to_json(), schema)
    np.testing.assert_allclose(again.marginal(["c0"]), tilted.marginal(["c0"]), atol=1e-6)
    with pytest.raises(errors.ParameterError, match="prior"):
        reduce_support(wide, peak=4, queries=50, accuracy=0.1).model(wide, 1, {"c0": [1, 2]})
