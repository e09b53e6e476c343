"""How many questions an adaptive ledger takes, how wide calibrated Gaussian noise is, and what a reservation costs.

    python -m bench.accounting_ledger [--write docs/benchmarks.md]

"Before" is the rule of earlier versions: half of delta for leaks, the rest for one Rényi order, and noise by rho.
"Exact" is what exact composition allows for questions that are all Gaussian, as a fixed list; no filter may use it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from bench.accounting import write
from sfumato import Approximate, Cost, Event, Loss, Noise, Schema
from sfumato.curator.planning import planned
from sfumato.domain import categories, integers
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Secrets
from sfumato.privacy.calibrate import concentrated_within, discrete_spread, rounded_spread
from sfumato.privacy.filters import filter_of
from sfumato.privacy.gaussian import gaussian_m
from sfumato.privacy.settlement import repeated, settled
from sfumato.questions import Count, Histogram
from sfumato.table.gauge import Basis

TITLE = "## An adaptive ledger (`bench.accounting_ledger`)"

LIMITS = (("1", "1e-6"), ("3", "1e-6"), ("1", "1e-9"), ("1/2", "1e-5"))
EVENT = Event("Gaussian", "AC-GAUSS")
SMALL = 10_000
"""Questions of this part of the limit: their number is that of a ledger without rounding."""


def counts() -> None:
    """Print how many questions fit, by limit and by kind of the first and every further question."""
    print("limit          kind           before     now   ratio   of exact   divided as")
    for epsilon, delta in LIMITS:
        limit = Approximate(epsilon, delta)
        old = filter_of(Approximate(epsilon, delta, leaks=limit.delta / 2))
        whole = gaussian_m(limit.epsilon, limit.delta)
        kinds = {"Gaussian": Cost.gaussian(whole / SMALL)}
        kinds |= {f"Pure(E/{part})": Cost.pure(limit.epsilon / part) for part in (10, 30, 100, 1000)}
        for name, cost in kinds.items():
            found = settled(limit, (cost,))
            assert found is not None
            before, now = repeated(old, cost), repeated(found.gate, cost)
            exact = f"{now / SMALL:8.1%}" if name == "Gaussian" else "        "
            line = f"({epsilon}, {delta})".ljust(15) + name.ljust(13)
            print(f"{line}{before:>8} {now:>8}  {now / before:6.3f}   {exact}   {found.shares.name}")


def whole_budgets(number: int = 200) -> None:
    """Print how many random limits take a Gaussian question that spends all of them."""
    rolls, taken = Noise(insecure_seed=16), 0
    for _ in range(number):
        epsilon = Fraction(1 + rolls.uniform(10**6), 10 ** (5 + rolls.uniform(6)))
        delta = Fraction(1 + rolls.uniform(1000), 10 ** (5 + rolls.uniform(7)))
        with Ledger(None, Budget(Approximate(epsilon, delta))) as ledger:
            taken += ledger.preview(Loss.flat(Cost.gaussian(gaussian_m(epsilon, delta)))).fits
    print(f"\nSpend = budget as the first question: {taken} of {number} random limits.")


def variances() -> None:
    """Print the variance of Gaussian noise for a spend at sensitivity 1, before and now."""
    print("\nspend           before       now   before/now   (1 + 1e-8)/M + 1/12")
    for epsilon, delta in product(("0.01", "0.1", "0.5", "1", "3", "10"), ("1e-3", "1e-6", "1e-9")):
        eps, chance = Fraction(epsilon), Fraction(delta)
        m = gaussian_m(eps, chance)
        old = discrete_spread(1 / (2 * concentrated_within(eps, chance))) ** 2
        rounded = rounded_spread(1 / m) ** 2
        now = min(old, rounded)
        bar = (1 + 1e-8) * float(1 / m) + 1 / 12
        kept = "kept" if now <= bar + 1e-12 or now == old else "MISSED"
        print(f"({epsilon}, {delta})".ljust(15) + f"{old:>10.4f} {now:>10.4f}   {old / now:8.3f}   {bar:12.4f} {kept}")


def reservations(columns: int = 100, times: int = 50) -> None:
    """Print the CPU time of a reservation under a limit for every one of many attributes."""
    names = tuple(f"c{place}" for place in range(columns))
    each = Approximate(1, "1e-6")
    print(f"\nCPU time of a reservation, {columns} attributes with a limit each:")
    for kind, cost in (("Gaussian", Cost.gaussian("1/100000")), ("Pure", Cost.pure("1/1000"))):
        with Ledger(None, Budget(Approximate(3, "1e-6"), each_attribute=each, secrets=Secrets(names))) as ledger:
            spent = []
            for number in range(times):
                loss = Loss.flat(cost, names[: columns // 2 + number % (columns // 2)])
                begun = time.process_time()
                ledger.reserve(str(number), EVENT, loss)
                spent.append(1000 * (time.process_time() - begun))
        rest = sorted(spent[1:])
        print(f"  {kind:<9} first {spent[0]:5.1f} ms, then {rest[len(rest) // 2]:4.1f} ms, at most {rest[-1]:4.1f} ms")


def lists() -> None:
    """Print the variance of the noise of lists within (1, 1e-6), beside that of the same questions one by one."""
    schema, spend = Schema({"age": integers(0, 99), "city": categories("Rome", "Ulm", "Oslo")}), Approximate(1, "1e-6")
    print("\nlist within (1, 1e-6)     one by one     as a list")
    for name, question in (("counts", Count("age >= 40")), ("histograms", Histogram("city"))):
        for many in (5, 12, 100, 1000):
            found = []
            for exact in (False, True):
                basis = Basis(schema, 1000, gaussians="rounded", exact_lists=exact)
                mechanism: Any = planned(basis, [question] * many, spend).prepared[0].mechanism
                found.append(mechanism.mechanisms[0].law.deviation() ** 2)
            print(f"{many} {name}".ljust(22) + f"{found[0]:>14.1f} {found[1]:>13.1f}")


def main() -> None:
    """Print the tables, and write them where the results are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    place = parser.parse_args().write
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for measure in (counts, whole_budgets, variances, lists, reservations):
            measure()
    print(said.getvalue())
    if place is not None:
        write(place, TITLE, f"```\n{said.getvalue().rstrip()}\n```")


if __name__ == "__main__":
    main()
