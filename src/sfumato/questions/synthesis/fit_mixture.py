"""Engine M: a mixture of products fitted to noisy pair tables, held back by what its classes tell (post-processing)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synthesis.evidence import Evidence
from sfumato.totals.tables.contrasts import Floats

Singles = NDArray[np.float32]

FLOOR = 1e-30
START_FLOOR = 1e-3
JITTER = 0.5
FASTEST, SLOWEST = 0.1, 0.005
MOMENTUM, MEMORY = 0.9, 0.99
WORK = 2.5e11
"""About how many multiplications a fit may take: some seconds of one core."""


@dataclass(frozen=True)
class Effort:
    """How many classes a mixture has and how many steps its fit takes."""

    classes: int
    steps: int


def effort(sizes: Sequence[int], ratio: float) -> Effort:
    """Return classes and steps from public facts: the sizes of the columns, and n/sigma of a pair's cell.

    Little noise lets more classes be told apart; many codes make each step slow.
    """
    codes = sum(sizes)
    classes = int(np.clip(40 * ratio**0.4, 60, 500))
    steps = 800
    excess = 2 * classes * codes**2 * steps / WORK
    if excess > 1:
        steps = max(250, int(steps / excess**0.5))
        classes = max(60, int(min(classes, WORK / (2 * codes**2 * steps))))
    return Effort(classes, steps)


def public_jitter(rows: int, columns: int, purpose: bytes = b"sfumato mixture start") -> Floats:
    """Return numbers that look normal and are the same for everybody: a start that is no product needs some.

    Fitting reads released numbers only, so nothing hangs on their being secret.
    """
    count = rows * columns
    stream = hashlib.shake_256(purpose).digest(8 * count)
    words = np.frombuffer(stream, dtype="<u4").reshape(2, count)
    first, second = (words.astype(np.float64) + 0.5) / 2**32
    normal: Floats = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    return normal.reshape(rows, columns)


class MixtureFit:
    """Minimises chi²/2 + strength·Σ_j I(class; column j) over class weights and conditionals, by Adam.

    All pairs are one matrix product: with Q the centred conditionals, Q'·diag(w)·Q holds every centred pair table.
    Time: 4·classes·codes² multiplications a step. Memory: a few arrays of codes² and classes·codes.
    """

    def __init__(self, evidence: Evidence, strength: float, plan: Effort) -> None:
        self.sizes = np.array(evidence.sizes)
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        self.steps = plan.steps
        # Adam does not see the scale of its objective; around 1 single precision is at ease.
        self.strength = np.float32(1.0)
        self.targets, self.precisions = evidence.matrix(1 / strength)
        self.singles = np.concatenate(evidence.ones).astype(np.float32)
        self.single_precisions = (np.repeat(evidence.one_precisions, self.sizes) / strength).astype(np.float32)
        start = np.log(np.maximum(self.singles, START_FLOOR))
        jitter = JITTER * public_jitter(plan.classes, self.singles.size)
        self.logits: Singles = (start + jitter).astype(np.float32)
        self.weight_logits: Singles = np.zeros(plan.classes, np.float32)

    def conditionals(self) -> Singles:
        """Return the softmax of the logits, column by column."""
        top = np.repeat(np.maximum.reduceat(self.logits, self.starts, axis=1), self.sizes, axis=1)
        raised = np.exp(self.logits - top)
        sums = np.repeat(np.add.reduceat(raised, self.starts, axis=1), self.sizes, axis=1)
        return np.asarray(raised / sums)

    def weights(self) -> Singles:
        """Return the softmax of the class logits."""
        raised = np.exp(self.weight_logits - self.weight_logits.max())
        return np.asarray(raised / raised.sum())

    def _means(self, values: Singles) -> Singles:
        return np.repeat(np.add.reduceat(values, self.starts, axis=1) / self.sizes, self.sizes, axis=1).astype(
            np.float32
        )

    def gradients(self) -> tuple[Singles, Singles]:
        """Return the gradients of the objective by the logits of conditionals and of weights."""
        shares, weights = self.conditionals(), self.weights()
        middle = shares - self._means(shares)
        residual = middle.T @ (weights[:, None] * middle)
        residual -= self.targets
        residual *= self.precisions
        pulled = middle @ residual
        mean = weights @ shares
        singles = self.single_precisions * (mean - self.singles)
        ratio = np.log(np.maximum(shares, FLOOR)) - np.log(np.maximum(mean, FLOOR))
        told = np.einsum("ks,ks->k", shares, ratio)
        by_share = pulled + singles + self.strength * ratio
        by_weight = 0.5 * np.einsum("ks,ks->k", pulled, middle) + shares @ singles + self.strength * told
        inner = np.repeat(np.add.reduceat(by_share * shares, self.starts, axis=1), self.sizes, axis=1)
        by_logit = weights[:, None] * shares * (by_share - inner)
        return by_logit, weights * (by_weight - weights @ by_weight)

    def run(self, progress: Callable[[float], None]) -> tuple[Floats, Floats]:
        """Take all steps and return weights and conditionals."""
        walks = [Walk(self.logits), Walk(self.weight_logits)]
        for step in range(1, self.steps + 1):
            rate = SLOWEST + (FASTEST - SLOWEST) * 0.5 * (1 + np.cos(np.pi * (step - 1) / self.steps))
            for walk, gradient in zip(walks, self.gradients(), strict=True):
                walk.move(gradient, rate, step)
            progress(step / self.steps)
        return self.weights().astype(np.float64), self.conditionals().astype(np.float64)


class Walk:
    """Adam's memory of one array: means of its gradients and of their squares."""

    def __init__(self, value: Singles) -> None:
        self.value = value
        self.mean = np.zeros_like(value)
        self.square = np.zeros_like(value)

    def move(self, gradient: Singles, rate: float, step: int) -> None:
        """Take one step, in place."""
        self.mean += (1 - MOMENTUM) * (gradient - self.mean)
        self.square += (1 - MEMORY) * (gradient * gradient - self.square)
        spread = np.sqrt(self.square / (1 - MEMORY**step)) + 1e-12
        self.value -= (rate / (1 - MOMENTUM**step)) * self.mean / spread
