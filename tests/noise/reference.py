"""The table sampler again: big integers and true masses only, one draw at a time, no lines and no arrays."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from sfumato.exact.enclosure import precision
from sfumato.noise.division import Division
from tests.noise.scripted import Scripted

CHUNK = 65_536


def draws(plan: Division, stream: Scripted, count: int) -> list[int]:
    """Draw as `noise.table` documents it."""
    cells = cell_values(plan)
    done: list[int] = []
    while len(done) < count:
        part: list[int | None] = []
        for _ in range(min(CHUNK, count - len(done))):
            word = stream.next()
            cell = word >> (64 - plan.widths.cell)
            base = cells[cell]
            part.append(None if base is None else base + word % (1 << plan.block_bits))
        settle(plan, stream, part)
        done += [value for value in part if value is not None]
    return done


def cell_values(plan: Division) -> list[int | None]:
    """Return the value at place 0 of each cell, None for the free ones."""
    values: list[int | None] = [None] * plan.free_cells
    for block in plan.blocks:
        values += [block.first] * block.cells
        values += [-(block.first + block.size - 1)] * (block.cells * (block.copies - 1))
    return values


def settle(plan: Division, stream: Scripted, part: list[int | None]) -> None:
    slots = [slot for slot, value in enumerate(part) if value is None]
    while slots:
        accepted = attempts(plan, stream, needed(plan, len(slots)))
        for value in accepted[: len(slots)]:
            part[slots.pop(0)] = value


def needed(plan: Division, slots: int) -> int:
    average = slots * plan.total * 2**plan.widths.cell // 2**120
    return average // plan.free_cells * 17 // 4096 + 4


def attempts(plan: Division, stream: Scripted, count: int) -> list[int]:
    choices = [stream.next() for _ in range(count)]
    judges = [stream.next() for _ in range(count)]
    ends = list(accumulate([*(block.weight for block in plan.blocks), plan.tail_weight]))
    judged = [attempt(plan, ends, stream, *pair) for pair in zip(choices, judges, strict=True)]
    return [value for value in judged if value is not None]


def attempt(plan: Division, ends: list[int], stream: Scripted, choice: int, judge: int) -> int | None:
    row = bisect_right(ends, choice >> (64 - plan.widths.weight))
    sign = -1 if plan.law.symmetric and choice % 2 else 1
    if row > len(plan.blocks):
        return None
    if row == len(plan.blocks):
        value, level = plan.tail.propose(stream)
        return sign * value if decide(lambda: plan.tail_chance(value, level), stream) else None
    block = plan.blocks[row]
    place = judge % block.size
    prefix = judge >> (64 - plan.widths.line)
    if decide(lambda: plan.chance(block, place), stream, prefix, plan.widths.line):
        return sign * (block.first + place)
    return None


def decide(chance, stream: Scripted, value: int = 0, known: int = 0) -> bool:
    """Compare a uniform number with a probability, far more precisely than the bits at hand."""
    while True:
        with precision(known + 192):
            scaled = chance() * 2**known
            if scaled >= value + 1:
                return True
            if scaled <= value:
                return False
        value, known = value << 64 | stream.next(), known + 64
