"""How laws are divided: the implied law is the law, and mutants of the division are caught."""

from __future__ import annotations

import pytest

from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, SinhNormal, division
from sfumato.noise.division import Widths, divide
from tests.noise import cases, checks
from tests.noise.mutants import mutant

SHORT = [Widths(), Widths(cell=6, weight=12, line=8)]


@pytest.mark.parametrize("law", cases.NARROW, ids=cases.name)
@pytest.mark.parametrize("widths", SHORT, ids=str)
def test_the_division_of_narrow_laws_is_exact(law, widths):
    divided = divide(law, widths)
    checks.check_law_of_plan(divided)
    checks.check_blocks_tile(divided)
    checks.check_tail(divided)
    checks.check_lines(divided)


@pytest.mark.parametrize("law", cases.WIDE, ids=cases.name)
def test_the_division_of_wide_laws_is_exact_where_we_look(law):
    divided = divide(law)
    size = 1 << divided.block_bits
    checks.check_law_of_plan(divided, range(0, size, max(1, size - 1)))
    checks.check_blocks_tile(divided)
    checks.check_tail(divided)
    checks.check_lines(divided, every=7)


@pytest.mark.parametrize("law", cases.WIDE, ids=cases.name)
def test_almost_every_draw_needs_one_word(law):
    divided = divide(law)
    assert divided.free_cells < 0.03 * 2**16
    open_share = sum(block.weight / 2**63 * block.gap / 2**32 for block in divided.blocks)
    assert open_share * divided.free_cells / 2**16 < 3e-4
    assert divided.tail_weight / 2**63 * divided.free_cells / 2**16 < 1e-7


CHECKED_LAWS = [
    DiscreteLaplace(200),
    DiscreteGaussian(200**2),
    SinhNormal(300**2, 600),
    DiscreteLaplace(2),
    Geometric(150),
]

MUTANTS = {
    "cells rounded up": ("measure.size >> (POINT - widths.cell)", "measure.size + 1 >> (POINT - widths.cell - 3)"),
    "minus zero kept": ("yield Measure(0, 1, 1, centre, centre, 0)", "yield Measure(0, 1, copies, centre, centre, 0)"),
    "zero moved by low bits": ("if measure.size != 1 << block_bits:", "if measure.size == 0:"),
    "bow forgotten below": ("min(self.start, self.end) - self.bow", "max(self.start, self.end)"),
    "bow forgotten above": ("max(self.start, self.end) + self.bow + 1", "min(self.start, self.end)"),
    "low line without bow": ("(measure.start - measure.bow) - given", "measure.start - given"),
    "high line without bow": ("(measure.start + 1 + measure.bow) - given", "measure.start - given"),
    "slope rounded, slack forgotten": ("- given, gain) + 3", "- given, gain)"),
    "slope the wrong way": ("rise = (measure.end - measure.start)", "rise = (measure.start - measure.end)"),
    "heights too low": ("return -(-(sum(heights) << widths.weight) // room)", "return sum(heights) // 2"),
    "tail forgotten": ("heights.append(tail_height)", "heights.append(0)"),
    "cells not taken off": ("* block.size * (1 << POINT) - self._given(block.cells)", "* block.size * (1 << POINT)"),
    "gain of one sign": ("flint.arb(copies << self.widths.weight)", "flint.arb(1 << self.widths.weight)"),
    "tail too thin": ("law.mass(tail.start) * (1 << (1 + tail.width_bits))", "law.mass(tail.start) / 2"),
    "blocks that overlap": ("        first += size\n", "        first += max(size - 1, 1)\n"),
}  # fmt: skip


def every_check(module) -> None:
    for law in CHECKED_LAWS:
        for widths in SHORT:
            divided = module.divide(law, module.Widths(widths.cell, widths.weight, widths.line))
            checks.check_law_of_plan(divided)
            checks.check_blocks_tile(divided)
            checks.check_tail(divided)
            checks.check_lines(divided, every=3)


def test_the_shipped_division_passes_every_check():
    every_check(division)


@pytest.mark.parametrize("change", MUTANTS.values(), ids=MUTANTS.keys())
def test_mutants_of_the_division_are_caught(change):
    changed = mutant(division, *change)
    with pytest.raises((AssertionError, ZeroDivisionError)):
        every_check(changed)
