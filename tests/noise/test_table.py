"""The arrays decide as the true masses do, word by word, and mutants of the lookup are caught."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Noise, SinhNormal, table, uniform
from sfumato.noise.division import Widths, divide
from sfumato.noise.table import Table
from tests.noise import cases, checks, reference
from tests.noise.mutants import mutant
from tests.noise.scripted import Scripted

SHORT = Widths(cell=7, weight=9, line=8)
ENUMERATED = [
    (DiscreteLaplace(1), SHORT),
    (DiscreteGaussian(9), SHORT),
    (SinhNormal(9, 3), SHORT),
    (SinhNormal(100, 2), SHORT),
    (Geometric(2), SHORT),
    (DiscreteGaussian(270**2), Widths(cell=10, weight=11, line=6)),
    (SinhNormal(140**2, 280), Widths(cell=9, weight=11, line=6)),
]


def identify(value) -> str:
    return cases.name(value)


@pytest.mark.parametrize(("law", "widths"), ENUMERATED, ids=identify)
def test_every_word_of_short_tables_is_decided_as_the_masses_say(law, widths):
    plan = divide(law, widths)
    checks.check_cells(table, plan)
    checks.check_attempts(table, plan)


@pytest.mark.parametrize("law", cases.ALL, ids=cases.name)
def test_arrays_and_big_integers_agree_on_the_same_words(law):
    plan, count = divide(law), 100_000
    out = np.empty(count, dtype=np.int64)
    fast = Scripted(seed=11)
    Table(plan).fill(fast, out)
    slow = Scripted(seed=11)
    assert out.tolist() == reference.draws(plan, slow, count)
    assert fast.read == slow.read


@pytest.mark.parametrize("law", cases.ALL, ids=cases.name)
def test_undecided_prefixes_read_on_in_the_same_number(law):
    plan = divide(law)
    if len(plan.blocks) > 1:
        checks.check_undecided_prefixes(table, plan)


# Elsewhere the first value beyond has a probability below 2^-20000, and the script would be as long.
ENDLESS = [law for law in cases.ALL if isinstance(law, (DiscreteLaplace, DiscreteGaussian)) and law.feature()]


@pytest.mark.parametrize("law", ENDLESS, ids=cases.name)
def test_nothing_is_cut_off(law):
    six_deviations = 9 * max(law.feature(), 1)
    checks.check_endless(table, divide(law), six_deviations)


def test_tails_end_doubly_exponentially_but_never():
    plan = divide(SinhNormal(25, 10))
    checks.check_endless(table, plan, plan.tail.start)


MUTANTS = {
    "lookup: <= for <": ('side="right"', 'side="left"'),
    "acceptance: <= for <": ("accepted = prefixes < lines", "accepted = prefixes <= lines"),
    "undecided accepted": ("accepted[slot] = value is not None", "accepted[slot] = True"),
    "undecided test removed": ("np.flatnonzero(undecided).tolist()", "[]"),
    "undecided test too narrow": ("(prefixes < lines + self.gaps[rows])", "(prefixes < lines + self.gaps[rows] - 3)"),
    "fresh number instead of the same": ("Uniform(stream, prefix, plan.widths.line)", "Uniform(stream)"),
    "tail cut off": ("for block in blocks], open_ended, 0))", "for block in blocks], 0, 0))"),
    "tail never left": ("plan.tail.propose(stream)", "(plan.tail.start, 0)"),
    "free cells missed": ("plan.free_cells << shift))", "plan.free_cells - 1 << shift))"),
    "negative blocks mirrored at the wrong end": ("-(block.first + block.size - 1)", "-block.first"),
    "sign of one side": ("where=(choice & np.uint64(1))", "where=(choice & np.uint64(0))"),
    "sign from a weight bit": ("where=(choice & np.uint64(1))", "where=(choice >> np.uint64(63))"),
    "place without its mask": ("judge.view(np.int64) & self.places[rows]", "judge.view(np.int64) & self.places[-3]"),
    "low bits of the place lost": ("(1 << plan.block_bits) - 1)", "(1 << plan.block_bits) - 2)"),
    "chosen from the end": ("[attempts.accepted][: len(slots)]", "[attempts.accepted][-len(slots) :]"),
}  # fmt: skip


def every_check(module) -> None:
    for law, widths in [ENUMERATED[0], ENUMERATED[2], ENUMERATED[5]]:
        plan = divide(law, widths)
        checks.check_cells(module, plan)
        checks.check_attempts(module, plan)
    for law in (DiscreteLaplace(10), DiscreteGaussian(10**6)):
        plan = divide(law)
        checks.check_undecided_prefixes(module, plan)
        checks.check_endless(module, plan, 9 * law.feature())


def test_the_shipped_table_passes_every_check():
    every_check(table)


@pytest.mark.parametrize("change", MUTANTS.values(), ids=MUTANTS.keys())
def test_mutants_of_the_table_are_caught(change):
    changed = mutant(table, *change)
    with pytest.raises(AssertionError):
        every_check(changed)


UNIFORM_MUTANTS = {
    "fresh bits in place of known ones": (
        "self._value << STEP_BITS | bits(self._stream, STEP_BITS)",
        "self._value << STEP_BITS",
    ),
    "number restarted": (
        "self._value = self._value << STEP_BITS | bits(self._stream, STEP_BITS)",
        "self._known, self._value = 0, bits(self._stream, STEP_BITS)",
    ),
    "not below read as below": ("if scaled >= self._value + 1:", "if scaled >= self._value:"),
    "below read as not below": ("if scaled <= self._value:", "if scaled <= self._value + 1:"),
}  # fmt: skip


@pytest.mark.parametrize("change", UNIFORM_MUTANTS.values(), ids=UNIFORM_MUTANTS.keys())
def test_mutants_of_the_uniform_number_are_caught(change, monkeypatch):
    monkeypatch.setattr(table, "Uniform", mutant(uniform, *change).Uniform)
    with pytest.raises(AssertionError):
        every_check(table)


def test_chunks_and_rounds_meet_at_their_edges():
    noise = Noise(insecure_seed=4)
    for size in (0, 1, 65_535, 65_536, 65_537, 131_072):
        assert len(noise.discrete_gaussian(10**6, size=size)) == size
    long = Noise(insecure_seed=5).discrete_laplace(1000, size=70_000)
    short = Noise(insecure_seed=5).discrete_laplace(1000, size=65_536)
    assert long[:65_536].tolist() == short.tolist()


def test_tables_cannot_be_written():
    built = Table(divide(DiscreteLaplace(3)))
    for array in (built.guide, built.ends, built.lows, built.gaps, built.slopes, built.firsts, built.places):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
