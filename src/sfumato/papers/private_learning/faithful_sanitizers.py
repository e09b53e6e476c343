"""Thresholds by repeated choosing, and databases in blocks: demonstrators, kept because they are printed.

`Distribution` answers the same questions with thousands of times fewer people; use that one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.search import halved
from sfumato.learn.sampling import smallest
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.enough_people import named_from, said_before
from sfumato.papers.query_release.geometry.small_databases import MOST_DATABASES, SmallDatabases, databases_for
from sfumato.privacy import Approximate, Bound, Cost, Loss, Pure
from sfumato.privacy.parallel import worst_of
from sfumato.questions.distribution.codes import Coded
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.heavy_cell import Choosing, choosing

Cell = tuple[int, int, int]
"""First code, last code, noisy count."""
HALVINGS = 8
"""How finely the part of one call is searched."""


@dataclass(frozen=True, kw_only=True)
class SanThresholds(Mechanism):
    """Cut a range around a window that holds about `heavy` rows, then what is left and right of it, and so on.

    Each of up to `calls` calls counts its range with noise and ends there if the count is below 4·heavy. Else it
    chooses the length 2^z of windows, score min(I(z) - heavy, 3·heavy - I(z-1)) with I(z) the largest number of rows
    in 2^z neighbouring codes; then a window of twice that length, of two rows of windows of which one is moved by half
    a window, or a single code if z = 0; counts it with noise, and goes on with what is left of it and right of it.
    Where no window is chosen, the whole range is published with its count.

    Promise, replace-one: `calls` times two counts of 1/scale, the choice of a length, and the worse of the two choices
    of a window (PL-SAN-THRESH). The printed condition on the number of people is needed by the printed choice only.

    Input: the codes that occur, sorted, and their counts. Output: disjoint cells with counts, from left to right;
    ranges that no call was left for are not listed and count 0. Time O(calls·n·log(size)).
    """

    spec: ClassVar[str] = "PL-SAN-THRESH"

    first: int
    last: int
    calls: int
    heavy: int
    length_choice: Exponential
    code_choice: Choosing
    window_choice: Choosing
    scale: Fraction

    def loss(self) -> Loss:
        """Return the losses of all calls."""
        chosen = worst_of([self.code_choice.loss().person, self.window_choice.loss().person])
        counted = 2 * Cost.pure(1 / self.scale)
        call = Loss.flat(counted + chosen, self.reads, self.relation)
        return self.calls * (self.length_choice.loss() + call)

    def run(self, exact: tuple[NDArray[Any], NDArray[Any]], noise: Noise) -> tuple[Cell, ...]:
        """Cut ranges, the leftmost first, as long as calls are left."""
        coded = Coded.of(*exact)
        ranges, found = [(self.first, self.last)], []
        for _ in range(self.calls):
            if not ranges:
                break
            low, high = ranges.pop()
            count = self._count(coded, low, high, noise)
            window = None if count < 4 * self.heavy else self._window(coded, low, high, noise)
            if window is None:
                found.append((low, high, count))
                continue
            start, end = window
            found.append((start, end, self._count(coded, start, end, noise)))
            rest = [(end + 1, high), (low, start - 1)]
            ranges += [(left, right) for left, right in rest if left <= right]
        return tuple(sorted(found))

    def _count(self, coded: Coded, low: int, high: int, noise: Noise) -> int:
        return coded.below(high + 1) - coded.below(low) + noise.draw(DiscreteLaplace(self.scale))

    def _window(self, coded: Coded, low: int, high: int, noise: Noise) -> tuple[int, int] | None:
        """Choose a length, then a window of it; None if no window is heavy enough to be named."""
        codes, counts = coded.inside(low, high)
        sums = [fullest_window(codes, counts, 1 << z) for z in range((high - low).bit_length() + 1)]
        scores = [min(here - self.heavy, 3 * self.heavy - under) for here, under in zip(sums, [0, *sums], strict=False)]
        length = 1 << int(self.length_choice.run(np.array(scores, dtype=np.int64), noise))
        if length == 1:
            code = self.code_choice.run(dict(zip(codes, counts, strict=True)), noise)
            return None if code is NOTHING else (code, code)
        wide = 2 * length
        starts = {low - moved + (code - low + moved) // wide * wide for code in codes for moved in (0, length)}
        # Two windows that are the same once they are cut to the range are one.
        windows = sorted({(max(start, low), min(start + wide - 1, high)) for start in starts})
        held = coded.spans([start for start, _ in windows], [end for _, end in windows]).tolist()
        chosen = self.window_choice.run(dict(zip(windows, held, strict=True)), noise)
        return None if chosen is NOTHING else chosen

    def needed(self, accuracy: Number, failure: Number = 0.05) -> int:
        """Return from how many people on all thresholds are within `accuracy`, heavy being accuracy·people/32.

        If counts, lengths and windows are each off by a quarter of `heavy` at most, a window that is cut out holds
        between 1.5 and 9 times `heavy`, so calls suffice, and a threshold inside of a cell is off by 9/32 of the
        accuracy. The noise of all cells together must stay below the rest. A fourth of the failure goes to each.
        """
        near, each = float(between_zero_and_one(accuracy, "accuracy")), float(between_zero_and_one(failure, "failure"))
        once, widths = each / (4 * self.calls), (self.last - self.first).bit_length() + 1
        # The magnitudes of 2·calls draws: each at most 1 above an exponential variable of this scale.
        tail = math.log(4 / each)
        summed = 2 * self.calls + float(self.scale) * (2 * self.calls + math.sqrt(4 * self.calls * tail) + tail)
        counted = float(self.scale) * math.log(4 * self.calls / once)
        lengths = self.length_choice.error(1 - once, widths)

        def enough(people: float) -> bool:
            heavy = math.floor(near * people / 32)
            rows = max(1, math.ceil(people))
            windows = max(choice.error(1 - once, rows) for choice in (self.code_choice, self.window_choice))
            named = max(named_from(choice, once) for choice in (self.code_choice, self.window_choice))
            off = max(counted, lengths, windows)
            return heavy >= max(32, 4 * off) and 7 * heavy / 4 >= named and near * people * 23 / 32 >= summed

        return math.ceil(smallest(enough))


def fullest_window(codes: list[int], counts: list[int], length: int) -> int:
    """Return the largest number of rows in `length` neighbouring codes.

    >>> fullest_window([0, 3, 4, 9], [1, 2, 2, 4], 2), fullest_window([0, 3, 4, 9], [1, 2, 2, 4], 8)
    (4, 8)
    """
    best = start = held = 0
    for code, count in zip(codes, counts, strict=True):
        held += count
        while codes[start] <= code - length:
            held -= counts[start]
            start += 1
        best = max(best, held)
    return best


def san_thresholds(
    spend: Bound, first: int, last: int, *, people: int, accuracy: Number, failure: Number = 0.05
) -> SanThresholds:
    """Return the sanitizer for thresholds within `accuracy` of the number of people: ceil(77/accuracy) calls.

    The part of one call is the largest found for which the sum of all calls fits. It is private for any number of
    people, and accurate for millions of them only: below `SanThresholds.needed` it warns, from these numbers alone.

    >>> mechanism = san_thresholds(Approximate(1, 1e-6), 0, 2**32 - 1, people=10**7, accuracy=0.5)
    >>> mechanism.calls, mechanism.heavy, mechanism.loss().within(Approximate(1, 1e-6))
    (154, 156250, True)
    """
    if not isinstance(spend, Approximate) or spend.epsilon == 0:
        raise UnsupportedSpend(f"Choosing windows needs a delta, and {spend!r} has none; write Approximate(1, 1e-6).")
    near = between_zero_and_one(accuracy, "accuracy")
    calls = math.ceil(77 / near)
    heavy = max(1, math.floor(near * positive_integer(people, "people") / 32))

    def made(parts: Fraction) -> SanThresholds:
        part = (parts * spend.epsilon / (4 * calls)).limit_denominator(2**20)
        leaky = Approximate(part, spend.delta / (2 * calls))  # half of delta goes to the choices
        return SanThresholds(
            first=first,
            last=last,
            calls=calls,
            heavy=heavy,
            length_choice=exponential(Pure(part)),
            code_choice=choosing(leaky, 1),
            window_choice=choosing(leaky, 2),
            scale=1 / part,
        )

    fits, _ = halved(Fraction(1), Fraction(calls), lambda parts: not made(parts).loss().within(spend), HALVINGS)
    best = made(fits)
    said_before(best.needed(near, failure), people, near, "Distribution(column)")
    return best


def small_quantiles(
    spend: Bound, size: int, *, people: int, accuracy: Number, failure: Number = 0.05
) -> SmallDatabases:
    """Return the choice among all tables of ceil(1/accuracy) codes whose thresholds are near those of the table.

    So many quantiles come within accuracy/2 of every threshold (PL-SAN-BLR). It is `small_databases` with the
    thresholds of a domain of `size` codes as queries; everything that fits is listed, so the domain is tiny, and a
    larger one is refused before anything is listed. It warns where the error that is proved is above the accuracy.

    >>> small_quantiles(Pure(1), 6, people=150, accuracy="1/4").size
    4
    """
    near = between_zero_and_one(accuracy, "accuracy")
    cells, wanted = positive_integer(size, "size"), math.ceil(1 / near)
    candidates = math.comb(cells + wanted - 1, wanted)
    if candidates > MOST_DATABASES:
        raise DomainTooLarge(
            f"There are about 10^{len(str(candidates)) - 1} tables of {wanted} codes out of {cells}, and at most "
            f"{MOST_DATABASES} are listed; ask for Distribution(column).",
            "Distribution(column)",
        )
    rows = [[int(code < cut) for code in range(cells)] for cut in range(1, cells)]
    made = databases_for(rows, spend, people=people, size=wanted)
    missed = float(between_zero_and_one(failure, "failure"))
    lost = math.log(candidates / missed) / float(made.rate * wanted)
    said_before(math.ceil(lost / float(near - Fraction(1, 2 * wanted))), people, near, "Distribution(column)")
    return made


@dataclass(frozen=True, kw_only=True)
class SplitDatabases(Mechanism):
    """Split the people at random into `blocks` equal parts, make a small database of each, and put them together.

    A person is in one block, so the loss is that of `inner` on one of them (PL:C-BIGGER, PL-SAN-BLOCKS). The order is
    drawn anew before the split: in the order of the values, one person who changes would move others across blocks.

    Promise, replace-one: the loss of `inner`. Input: the counts of all cells, blocks·inner.people rows. Output: the
    counts of the cells of all chosen databases.
    """

    spec: ClassVar[str] = "PL-SAN-BLOCKS"

    inner: SmallDatabases
    blocks: int

    def loss(self) -> Loss:
        """Return the loss of one block."""
        return self.inner.loss()

    def run(self, exact: Any, noise: Noise) -> NDArray[np.int64]:
        """Add up what was chosen for all blocks."""
        total: NDArray[np.int64] = np.sum(self.chosen(np.asarray(exact), noise), axis=0)
        return total

    def chosen(self, counts: NDArray[Any], noise: Noise) -> list[NDArray[np.int64]]:
        """Shuffle, split, and choose a database for each block; releasing all of them costs no more."""
        rows = np.repeat(np.arange(len(counts)), counts)
        shuffled = rows[self._order(len(rows), noise)]
        parts = np.array_split(shuffled, positive_integer(self.blocks, "blocks"))
        return [self.inner.run(np.bincount(part, minlength=len(counts)), noise) for part in parts]

    def _order(self, rows: int, noise: Noise) -> list[int]:
        return noise.permutation(rows)
