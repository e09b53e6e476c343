"""Every kind of running total over neighbouring dirty tables: nothing moves further than was charged (PB-UNIT).

Rows of one person on one day, or of the whole person, are left out of tables whose cells are missing, unlisted, no number
or no day. All that a conversation of four periods would release without noise is compared with what the ledger charges.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

from sfumato import Noise
from sfumato.ask.packing import unpack
from sfumato.publish.file import load_file
from sfumato.publish.found import drawn_of
from sfumato.publish.memory import RememberedSums, RememberedTotals
from sfumato.publish.running import RunningTotals
from sfumato.publish.total import SALT, RunningTable
from sfumato.table.data import open_table
from tests.publish.sample import FILE, SCHEMA, prepare

PAY = '\n[columns.pay]\ntype = "fixed"\nlow = -1\nhigh = 3\nstep = "0.5"\n'
WORDS = SCHEMA.replace('type = "category"\nvalues = ["CH", "DE"]', 'type = "text"\nmax_bytes = 4')
SEARCH = '[[table]]\nname = "pages"\nquestion = "count by country found privately"\nspend = "Approximate(1, 1e-3)"\n'
KINDS = {
    "count": 'running = "count by country"',
    "sum": 'running = "sum of pay by country"',
    "mean": 'running = "mean of pay"',
    "where": "running = \"sum of pay where country = 'CH'\"",
    "found": 'running = "count by country found privately"\nkeys = "pages"',
    "found sum": 'running = "sum of pay by country found privately"\nkeys = "pages"',
    "found mean": 'running = "mean of pay by country found privately"\nkeys = "pages"',
    "once": 'running = "sum of pay by country"\nperiods_per_person = 1',
    "twice": 'running = "count by country"\nperiods_per_person = 2\ngap = 2',
    "found twice": 'running = "mean of pay by country found privately"\nkeys = "pages"\nperiods_per_person = 2',
}
FOUND = {1: [("CH",)], 2: [], 3: [("xx",), (None,)], 4: [("DE",), ("CH",)]}
"""Which groups the search shows in each period: public, whatever the rows are."""
COUNTRIES = ("CH", "DE", "xx", None, "a\x00", "CHCHCHCH", "")
PAYS = (3.0, -1.0, 0.26, None, float("nan"), float("inf"), -1e308, 1e18)
STAMPS = (None, "1999-01-01", "2026-01-09", "no day")


class Silence:
    """Noise that adds nothing: what is released is then exactly what was read."""

    def draw(self, law, size=None):
        return np.zeros(size, np.int64)


def running_table(home, kind, spend):
    limits = (
        '[limits]\nperson = "Approximate(99, 1e-2)"\n'
        if "periods" in KINDS[kind]
        else ('[limits]\nday = "Approximate(99, 1e-2)"\nperson = "none"\n')
    )
    total = f'[[table]]\nname = "total"\n{KINDS[kind]}\nspend = "{spend}"\n'
    text = FILE.split("[limits]")[0] + limits + (SEARCH if "keys" in KINDS[kind] else "") + total
    path = prepare(home, text=text, days=[])
    (home / "visits.schema.toml").write_text((WORDS if "found" in kind else SCHEMA) + PAY)
    file = load_file(path)
    (spec,) = file.running()
    return RunningTable(file, spec, 0, lambda slot: FOUND[slot.first.day])


def released(table, rows):
    """Return all integers that a conversation over four periods would release, in a fixed order."""
    columns = {"id": pyarrow.int64(), "at": pyarrow.string(), "country": pyarrow.string(), "pay": pyarrow.float64()}
    cells = list(zip(*rows, strict=True)) if rows else [()] * 4
    source = pyarrow.table(
        {name: pyarrow.array(list(part), kind) for (name, kind), part in zip(columns.items(), cells, strict=True)}
    )
    read: list[str] = []
    steps: list[str] = []
    found: list[int] = []
    for slot in table.periods:
        lists = table._lists(None, read)
        content = bytes(SALT) + table._read(
            slot, lambda slot=slot: open_table(source, table.file.schema, span=table.file.span(slot)), lists
        )
        known = table._cells([(table, read, steps)])
        drawn = table._drawn(content, read, known, Silence(), [])
        read.append(table.shelf.keep("read", content))
        steps.append(table.shelf.keep("released", drawn))
        if table.measured.found:
            one = drawn_of(drawn, table.file.schema, table.measured.measure.keys)
            found += [*one.known.tolist(), *one.fresh.tolist()]
        else:
            found += np.ravel(unpack(drawn, table.file.schema)).tolist()
    return np.array(found, object)


def dirty(chance, person, days, rows):
    """Rows of one person, most of them on the days that count, with cells that people would not write."""
    found = []
    for day in days:
        for _ in range(rows):
            stamp = f"2026-01-0{day}" if chance.uniform(10) else STAMPS[chance.uniform(len(STAMPS))]
            found.append((person, stamp, COUNTRIES[chance.uniform(len(COUNTRIES))], PAYS[chance.uniform(len(PAYS))]))
    return found


def share(table, counts):
    """Return how far whoever has units in these periods may move the release: squared, or in absolute sum."""
    totals = table.totals
    if isinstance(totals, RunningTotals):
        shift = totals.factor.one_period if sum(counts) == 1 else totals.factor.shift(counts)
        return shift * totals.moves.l2_squared
    return totals.tree.levels * totals.moves.l1 * sum(counts)


def paid(table):
    """Return the same for a whole person whose periods are limited, by what is charged for them."""
    pattern = table.spec.rule.pattern(len(table.periods))
    totals = table.totals
    assert isinstance(totals, (RememberedTotals, RememberedSums))
    charged = totals.loss().person
    if isinstance(totals, RememberedTotals):
        assert charged.tau(Fraction(2)) <= 2 * table.spec.spend["person"].rho
        return share(table, pattern)
    assert charged.epsilon <= table.spec.spend["person"].epsilon
    return share(table, pattern)


def size(table, moved):
    return int((moved**2).sum()) if isinstance(table.totals, RunningTotals) else int(np.abs(moved).sum())


GATE = [("found mean", "Concentrated(0.5)", 1), ("found sum", "Pure(1)", 2)]
ALL = [(kind, spend, seed) for kind in KINDS for spend in ("Concentrated(0.5)", "Pure(1)") for seed in (1, 2)]


@pytest.mark.parametrize(
    ("kind", "spend", "seed"),
    [pytest.param(*one, marks=[] if one in GATE else pytest.mark.audit, id=" ".join(map(str, one))) for one in ALL],
)
def test_nothing_moves_further_than_was_charged(tmp_path, kind, spend, seed):
    table, chance = running_table(tmp_path, kind, spend), Noise(insecure_seed=seed)
    others = dirty(chance, 2, range(1, 5), 2) + dirty(chance, None, range(1, 5), 1) + dirty(chance, 3, [2], 1)
    # More rows than count, in groups that are shown, at an end of the range; and rows of all kinds beside them.
    mine = [(1, f"2026-01-0{day}", "CH", 3.0) for day in range(1, 5) for _ in range(2)]
    mine = mine if seed == 1 else mine + dirty(chance, 1, range(1, 5), 3)
    whole = released(table, mine + others)
    if table.spec.rule is None:
        for day in (1, 4):
            rest = [row for row in mine if row[1] != f"2026-01-0{day}"]
            moved = size(table, whole - released(table, rest + others))
            assert 0 < moved <= share(table, [int(day == 1), 0, 0, int(day == 4)])
    moved, most = size(table, whole - released(table, others)), share(table, [1] * 4)
    most = most if table.spec.rule is None else paid(table)
    assert 0 < moved <= most
    if seed == 1 and "mean" not in kind and table.spec.rule is None and "Pure" in spend:
        assert moved >= Fraction(99, 100) * most  # four days, each as far as it may be: one level, nothing is left over


def test_without_lists_the_same_person_moves_it_further(tmp_path):
    """The mutant: nobody is remembered, so that a person counts in all four periods and was charged for one."""
    table = running_table(tmp_path, "once", "Concentrated(0.5)")
    mine = [(1, f"2026-01-0{day}", "CH", 3.0) for day in range(1, 5) for _ in range(2)]
    honest = size(table, released(table, mine) - released(table, []))
    assert honest <= paid(table)
    forgets = running_table(tmp_path, "once", "Concentrated(0.5)")
    object.__setattr__(forgets, "_lists", lambda steps, read: RunningTable._lists(forgets, steps, []))
    assert size(table, released(forgets, mine) - released(forgets, [])) > paid(table)
