"""Compiled loops of the joint choice: weights of all ways to place cuts among sorted rows, summed from the right.

A number is a pair: mantissa · 2^(256·exponent) with a mantissa between 2^-128 and 2^128, or zero. All numbers are
zero or more and are only multiplied and added, so that errors never cancel anything: a result is within a factor
(1 ± 2^-53)^operations of the exact one, and `joint.py` charges for that factor. Importing this loads numba.

Sums over blocks of gaps are kept beside, so that a cut is drawn by a look at the blocks and then at one of them.

Rows are numbered from the left. A cut lies in one of the gaps 0 … rows: gap i has i rows to its left. Between cut t
and cut t + 1 lie d rows, which weighs near[t] · step^(peak[t] - d) for d up to peak[t] and
far[t] · step^(d - peak[t] - 1) beyond, with a step below 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

RADIX = 256
_UP, _DOWN = 2.0**RADIX, 2.0**-RADIX
_MOST, _LEAST = 2.0**128, 2.0**-128


class Shape(NamedTuple):
    """The room of every gap, and what rows between two cuts weigh; `empty[t]` is the weight of none."""

    length: Any
    length_e: Any
    peak: Any
    near: Any
    near_e: Any
    far: Any
    far_e: Any
    empty: Any
    empty_e: Any
    power: Any
    power_e: Any


class Sums(NamedTuple):
    """`after[j, i]` is the weight of all places for the cuts j, j + 1, … right of gap i, if cut j - 1 lies there.

    Beside it, for every block of gaps, what they weigh as the place of cut j: falling away from the last gap of the
    block (`rising`) or from the first (`falling`).
    """

    after: Any
    after_e: Any
    rising: Any
    rising_e: Any
    falling: Any
    falling_e: Any
    block: int


@numba.njit(cache=True)
def _times(a, x, b, y):  # type: ignore[no-untyped-def]
    mantissa, exponent = a * b, x + y
    if mantissa >= _MOST:
        return mantissa * _DOWN, exponent + 1
    if mantissa < _LEAST:
        # Zero keeps a low exponent, so that it never hides what it is added to.
        return (mantissa * _UP, exponent - 1) if mantissa > 0.0 else (0.0, 0)
    return mantissa, exponent


@numba.njit(cache=True)
def _plus(a, x, b, y):  # type: ignore[no-untyped-def]
    if a == 0.0:
        return b, y
    if b == 0.0:
        return a, x
    if x == y:
        mantissa, exponent = a + b, x
    elif x == y + 1:
        mantissa, exponent = a + b * _DOWN, x
    elif y == x + 1:
        mantissa, exponent = b + a * _DOWN, y
    else:
        return (a, x) if x > y else (b, y)
    return (mantissa * _DOWN, exponent + 1) if mantissa >= _MOST else (mantissa, exponent)


@numba.njit(cache=True)
def powers(step, exponent, count):  # type: ignore[no-untyped-def]
    """Return step^0 … step^(count - 1)."""
    mantissas, exponents = np.empty(count), np.empty(count, np.int64)
    mantissas[0], exponents[0] = 1.0, 0
    for place in range(1, count):
        mantissas[place], exponents[place] = _times(mantissas[place - 1], exponents[place - 1], step, exponent)
    return mantissas, exponents


@numba.njit(cache=True)
def _between(rows, turn, shape):  # type: ignore[no-untyped-def]
    """Return what `rows` rows between the cuts `turn` and `turn` + 1 weigh."""
    peak = shape.peak[turn]
    if rows <= peak:
        return _times(shape.near[turn], shape.near_e[turn], shape.power[peak - rows], shape.power_e[peak - rows])
    beyond = rows - peak - 1
    return _times(shape.far[turn], shape.far_e[turn], shape.power[beyond], shape.power_e[beyond])


@numba.njit(cache=True)
def _starting(cut, gap, shape, after, after_e):  # type: ignore[no-untyped-def]
    """Return the weight of the cuts from `cut` on if this one lies in the gap and those before it further left."""
    total, total_e = 0.0, 0
    for last in range(len(shape.peak) - 1, cut - 1, -1):
        # So many cuts of the gap in any order are one set: k of them weigh length^k / k!.
        if total > 0.0:
            total, total_e = _times(total, total_e, shape.empty[last] / (last - cut + 2), shape.empty_e[last])
            total, total_e = _times(total, total_e, shape.length[gap], shape.length_e[gap])
        total, total_e = _plus(total, total_e, after[last + 1, gap], after_e[last + 1, gap])
    return _times(total, total_e, shape.length[gap], shape.length_e[gap])


@numba.njit(cache=True, nogil=True)
def weigh(shape, block):  # type: ignore[no-untyped-def]
    """Return the sums of all weights, from the last cut to the first."""
    rows, cuts = len(shape.length) - 1, len(shape.peak) - 1
    blocks = rows // block + 1
    after, after_e = np.zeros((cuts + 2, rows + 1)), np.zeros((cuts + 2, rows + 1), np.int64)
    rising, rising_e = np.zeros((cuts + 1, blocks)), np.zeros((cuts + 1, blocks), np.int64)
    falling, falling_e = np.zeros((cuts + 1, blocks)), np.zeros((cuts + 1, blocks), np.int64)
    for gap in range(rows + 1):
        after[cuts + 1, gap], after_e[cuts + 1, gap] = _between(rows - gap, cuts, shape)
    here, here_e = np.empty(rows + 1), np.empty(rows + 1, np.int64)
    # An exponent that two cuts or more in one gap cannot pass: every factor is below 2^128 times its power of 2^256,
    # which is half a step of the exponent. Three steps below what one cut adds they are less than 2^-200 of it.
    most_e = np.full(rows + 1, -(1 << 60))
    for cut in range(cuts, 0, -1):
        at, inside, up, up_e, down, down_e = 0, 0, 0.0, 0, 0.0, 0
        for gap in range(rows + 1):
            if cut < cuts:
                most_e[gap] = max(most_e[gap], after_e[cut + 2, gap]) + shape.empty_e[cut] + shape.length_e[gap] + 1
            if after[cut + 1, gap] > 0.0 and most_e[gap] + 3 <= after_e[cut + 1, gap]:
                here[gap], here_e[gap] = _times(
                    after[cut + 1, gap], after_e[cut + 1, gap], shape.length[gap], shape.length_e[gap]
                )
            else:
                here[gap], here_e[gap] = _starting(cut, gap, shape, after, after_e)
            if inside == block:
                at, inside, up, up_e, down, down_e = at + 1, 0, 0.0, 0, 0.0, 0
            up, up_e = _times(up, up_e, shape.power[1], shape.power_e[1])
            up, up_e = _plus(up, up_e, here[gap], here_e[gap])
            a, x = _times(here[gap], here_e[gap], shape.power[inside], shape.power_e[inside])
            down, down_e = _plus(down, down_e, a, x)
            inside += 1
            if inside == block or gap == rows:
                rising[cut, at], rising_e[cut, at], falling[cut, at], falling_e[cut, at] = up, up_e, down, down_e
        if cut > 1:
            _spread((here, here_e), cut - 1, shape, (after[cut], after_e[cut]))
    return Sums(after, after_e, rising, rising_e, falling, falling_e, block)


@numba.njit(cache=True, nogil=True)
def _spread(given, turn, shape, written):  # type: ignore[no-untyped-def]
    """Write the sum over all gaps further right of what is given there times what lies between."""
    (here, here_e), (out, out_e) = given, written
    power, power_e, peak = shape.power, shape.power_e, shape.peak[turn]
    last = len(here) - 1
    step, step_e = power[1], power_e[1]
    # Beyond the peak: one running sum from the right.
    total, total_e = 0.0, 0
    for gap in range(last - 1, -1, -1):
        total, total_e = _times(total, total_e, step, step_e)
        if gap + peak + 1 <= last:
            total, total_e = _plus(total, total_e, here[gap + peak + 1], here_e[gap + peak + 1])
        out[gap], out_e[gap] = _times(total, total_e, shape.far[turn], shape.far_e[turn])
    if peak == 0:
        return
    # Up to the peak: a window of `peak` gaps. Every window is the end of one stretch and the start of the next, so that
    # nothing is ever subtracted: `left[i]` sums from i to the end of its stretch, `right` what follows in the next.
    left, left_e = np.empty(last + 1), np.empty(last + 1, np.int64)
    first, end = last // peak * peak, last
    a, x = 0.0, 0
    for gap in range(last, -1, -1):
        if gap < first:
            end, first = first - 1, first - peak
            a, x = 0.0, 0
        b, y = _times(here[gap], here_e[gap], power[end - gap], power_e[end - gap])
        a, x = _plus(a, x, b, y)
        left[gap], left_e[gap] = a, x
    border, right, right_e = peak, 0.0, 0
    for gap in range(last):
        start, end = gap + 1, gap + peak
        if start > border:
            border += peak
        if end == border and end <= last:
            right, right_e = here[end], here_e[end]
        elif end <= last:
            right, right_e = _times(right, right_e, step, step_e)
            right, right_e = _plus(right, right_e, here[end], here_e[end])
        a, x = 0.0, 0
        if start < border:
            held = min(border - 1, last)
            a, x = _times(left[start], left_e[start], power[end - held], power_e[end - held])
        if border <= last:
            held = min(end, last)
            b, y = _times(right, right_e, power[end - held], power_e[end - held])
            a, x = _plus(a, x, b, y)
        a, x = _times(a, x, shape.near[turn], shape.near_e[turn])
        out[gap], out_e[gap] = _plus(out[gap], out_e[gap], a, x)


@numba.njit(cache=True, nogil=True)
def gaps(cut, before, span, shape, sums):  # type: ignore[no-untyped-def]
    """Return the weights of the gaps of a span for a cut, when the cut before lies at `before`."""
    start, stop = span
    found, found_e = np.empty(stop - start), np.empty(stop - start, np.int64)
    for gap in range(start, stop):
        a, x = _starting(cut, gap, shape, sums.after, sums.after_e)
        b, y = _between(gap - before, cut - 1, shape)
        found[gap - start], found_e[gap - start] = _times(a, x, b, y)
    return found, found_e


@numba.njit(cache=True, nogil=True)
def blocks(cut, before, start, shape, sums):  # type: ignore[no-untyped-def]
    """Return the sums of those weights over every block, counting gaps from `start` on only."""
    rows, top, block = len(shape.length) - 1, shape.peak[cut - 1], sums.block
    found, found_e = np.zeros(rows // block + 1), np.zeros(rows // block + 1, np.int64)
    for at in range(start // block, len(found)):
        first, last = at * block, min((at + 1) * block, rows + 1) - 1
        if first >= start and last - before <= top:
            a, x = _between(last - before, cut - 1, shape)
            found[at], found_e[at] = _times(a, x, sums.rising[cut, at], sums.rising_e[cut, at])
        elif first >= start and first - before > top:
            a, x = _between(first - before, cut - 1, shape)
            found[at], found_e[at] = _times(a, x, sums.falling[cut, at], sums.falling_e[cut, at])
        else:
            one, one_e = gaps(cut, before, (max(first, start), last + 1), shape, sums)
            for place in range(len(one)):
                found[at], found_e[at] = _plus(found[at], found_e[at], one[place], one_e[place])
    return found, found_e


@numba.njit(cache=True, nogil=True)
def together(cut, gap, shape, sums):  # type: ignore[no-untyped-def]
    """Return the weights of 1, 2, … cuts in one gap, of which the first is `cut`."""
    cuts = len(shape.peak) - 1
    found, found_e = np.empty(cuts - cut + 1), np.empty(cuts - cut + 1, np.int64)
    a, x = shape.length[gap], shape.length_e[gap]
    for last in range(cut, cuts + 1):
        found[last - cut], found_e[last - cut] = _times(a, x, sums.after[last + 1, gap], sums.after_e[last + 1, gap])
        if last < cuts:
            a, x = _times(a, x, shape.empty[last], shape.empty_e[last])
            a, x = _times(a, x, shape.length[gap] / (last - cut + 2), shape.length_e[gap])
    return found, found_e
