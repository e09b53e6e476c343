"""Deterministic checks of a plan and of a table; mutants of either must fail them."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise.division import POINT, Division
from tests.noise import reference
from tests.noise.scripted import Scripted


def check_law_of_plan(plan: Division, places: range | None = None) -> None:
    """Cells plus accepted attempts give every value exactly its mass, and no chance leaves [0, 1]."""
    widths = plan.widths
    assert plan.free_cells >= 1
    weights = [block.weight for block in plan.blocks] + [plan.tail_weight]
    assert sum(weights) <= 1 << widths.weight
    with precision(256):
        for block in plan.blocks:
            for place in places or range(block.size):
                if place >= block.size:
                    continue
                chance = plan.chance(block, place)
                assert chance >= 0
                assert chance <= 1
                given = rational_ball(block.cells) / (block.size << widths.cell)
                # An attempt proposes this value and sign with weight / (2^weight_bits copies size); attempts
                # are made for the free cells only and repeated until one is accepted.
                proposed = rational_ball(block.weight) / ((block.copies * block.size) << widths.weight)
                implied = given + proposed * chance * plan.total / (1 << POINT)
                true = plan.law.mass(block.first + place)
                assert abs(implied - true) <= rational_ball(1) / (1 << 180)


def check_blocks_tile(plan: Division) -> None:
    """Every value has exactly one block; zero, which has no sign, stands alone."""
    assert (plan.blocks[0].first, plan.blocks[0].size, plan.blocks[0].copies) == (0, 1, 1)
    after = 1
    for block in plan.blocks[1:]:
        assert (block.first, block.size, block.copies) == (after, 1 << plan.block_bits, plan.copies)
        after += block.size
    assert (plan.tail.start, plan.tail.direction) == (after, 1)
    # The low bits of a word move every cell's value, so only blocks of the full size may own cells.
    assert all(block.size == 1 << plan.block_bits for block in plan.blocks if block.cells)


def check_tail(plan: Division) -> None:
    """The hat lies above the masses wherever we look, near and far."""
    width = 1 << plan.tail.width_bits
    with precision(256):
        for level in (0, 1, 2, 5, 20):
            for place in (0, width // 2, width - 1):
                assert plan.tail_chance(plan.tail.start + level * width + place, level) <= 1


def check_lines(plan: Division, every: int = 1) -> None:
    """The two lines of a block lie below and above the true chance at every place that is looked at."""
    line = 1 << plan.widths.line
    with precision(256):
        for block in plan.blocks[::every]:
            for place in {0, block.size // 3, block.size // 2, block.size - 1}:
                low = block.low + (block.slope * place >> plan.block_bits)
                chance = plan.chance(block, place) * line
                assert low <= chance
                assert chance <= low + block.gap


def check_cells(module: ModuleType, plan: Division) -> None:
    """Every cell, at every place, gives the value that the reference gives; free cells give an attempt."""
    table = module.Table(plan)
    shift, places = 64 - plan.widths.cell, 1 << plan.block_bits
    expected = reference.cell_values(plan)
    words = [cell << shift | place for cell in range(1 << plan.widths.cell) for place in range(places)]
    out = np.empty(len(words), dtype=np.int64)
    stream = Scripted(words, seed=1)
    table.fill(stream, out)
    again = reference.draws(plan, Scripted(words, seed=1), len(words))
    assert out.tolist() == again
    free = plan.free_cells * places
    assert out[free:].tolist() == [base + place for base in expected if base is not None for place in range(places)]
    # Each value of a cell occurs once, so the cells of a block cover it evenly on both sides of zero.
    values, counts = np.unique(out[free:], return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    for block in plan.blocks:
        for place in range(block.size):
            value = block.first + place
            assert found.get(value, 0) == block.cells
            if plan.law.symmetric:
                assert found.get(-value, 0) == block.cells


def check_attempts(module: ModuleType, plan: Division) -> None:
    """All first words with a few second ones, and all second words of every block: as the true masses say."""
    table, widths = module.Table(plan), plan.widths
    shift = 64 - widths.weight
    everything = [number << shift | sign for number in range(1 << widths.weight) for sign in (0, 1)]
    some = [0, 0x9E3779B97F4A7C15]
    compare(table, plan, [(choice, judge) for choice in everything for judge in some])
    judges = [
        prefix << (64 - widths.line) | place
        for prefix in range(1 << widths.line)
        for place in range(1 << plan.block_bits)
    ]
    first = 0
    for number, block in enumerate(plan.blocks):
        if number < 12 or number % 23 == 0:
            compare(table, plan, [(first << shift, judge) for judge in judges])
        first += block.weight


def compare(table, plan: Division, pairs: list[tuple[int, int]]) -> None:
    """Run attempts through the table and through the reference on the same words."""
    script = [choice for choice, _ in pairs] + [judge for _, judge in pairs]
    values, accepted = table.attempt(Scripted(script, seed=2), len(pairs))
    assert values[accepted].tolist() == reference.attempts(plan, Scripted(script, seed=2), len(pairs))


def check_undecided_prefixes(module: ModuleType, plan: Division) -> None:
    """A prefix within which the chance lies is decided by further bits of the same number, both ways."""
    table, widths = module.Table(plan), plan.widths
    first = checked = 0
    for number, block in enumerate(plan.blocks):
        choice = first << (64 - widths.weight)
        first += block.weight
        if number > 20 and number % 19:
            continue
        with precision(256):
            scaled = plan.chance(block, 0) * (1 << widths.line)
            prefix = int(scaled.floor().unique_fmpz())
            rest = int(((scaled - prefix) * 2**64).floor().unique_fmpz())
        if not (prefix < 1 << widths.line and 0 < rest < 2**64 - 1):
            continue
        judge = prefix << (64 - widths.line)
        for following, expected in ((rest - 1, True), (rest + 1, False)):
            stream = Scripted([choice, judge, following])
            assert table.attempt(stream, 1).accepted.tolist() == [expected]
            assert stream.read == 3
        checked += 1
    assert checked


def check_endless(module: ModuleType, plan: Division, beyond: int) -> None:
    """Words that lead into the tail give a value past `beyond`: nothing is cut off."""
    table = module.Table(plan)
    tail_first = sum(block.weight for block in plan.blocks) << (64 - plan.widths.weight)
    attempts = reference.needed(plan, 1)
    never = [(1 << 64) - 1] * (attempts - 1)
    level = (beyond >> plan.tail.width_bits) + 1
    coins = [(1 << 64) - 1] * (level // 64) + [(1 << level % 64) - 1]
    width_words = -(-plan.tail.width_bits // 64)
    # A free cell, one attempt at the tail, the others rejected, coins, a place, and the smallest uniform number.
    script = [0, tail_first, *never, 0, *never, *coins, *[0] * width_words, *[0] * 1000]
    value = table.one(Scripted(script))
    assert value == plan.tail.start + (level << plan.tail.width_bits)
    assert value > beyond
