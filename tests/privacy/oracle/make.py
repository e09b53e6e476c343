"""Write dp_accounting.csv: what another accountant says about the same releases.

Run in its own environment, from the root of the repository:

    python3 -m venv bench/.environments/dp_accounting
    bench/.environments/dp_accounting/bin/pip install dp-accounting==0.6.0
    bench/.environments/dp_accounting/bin/python tests/privacy/oracle/make.py > tests/privacy/oracle/dp_accounting.csv

Conventions. Gaussian and Laplace events have sensitivity 1 under add-remove neighbours (noise multiplier and
scale as given); randomized response is binary under replace-one neighbours, with `parameter` the probability
that the answer is drawn uniformly. Everything is composed event by event: with a count the PLD accountant
forgets it for randomized response, and reports one event for any number of them. Takes some eight minutes.
"""

import csv
import sys
from importlib.metadata import version

import dp_accounting
from dp_accounting import NeighboringRelation, pld, rdp

ORDERS = [1 + x / 100 for x in range(5, 100, 5)] + [x / 4 for x in range(8, 256)] + list(range(64, 1025, 4))
DELTAS = ("1e-4", "1e-6", "1e-9")


def events():
    for sigma, count in (("2", 1), ("5", 4), ("5", 20), ("20", 100), ("100", 100)):
        yield "gaussian", sigma, "", count, dp_accounting.GaussianDpEvent(float(sigma)), "add_remove"
    for scale, count in (("1", 1), ("10", 10), ("10", 50), ("50", 100)):
        yield "laplace", scale, "", count, dp_accounting.LaplaceDpEvent(float(scale)), "add_remove"
    for noise, count in (("0.5", 1), ("0.5", 4), ("0.9", 20), ("0.95", 100)):
        event = dp_accounting.RandomizedResponseDpEvent(float(noise), 2)
        yield "randomized_response", noise, "", count, event, "replace_one"
    for sigma, rate, count in (("2", "0.01", 1), ("2", "0.01", 100), ("4", "0.1", 50)):
        inner = dp_accounting.GaussianDpEvent(float(sigma))
        event = dp_accounting.PoissonSampledDpEvent(float(rate), inner)
        yield "poisson_gaussian", sigma, rate, count, event, "add_remove"


def composed(accountant, event, count):
    if not accountant.supports(event):
        return None
    for _ in range(count):
        accountant.compose(event)
    return accountant


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["mechanism", "parameter", "rate", "count", "relation", "delta", "rdp_epsilon", "pld_epsilon"])
    relations = {
        "replace_one": NeighboringRelation.REPLACE_ONE,
        "add_remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    }
    for name, parameter, rate, count, event, relation in events():
        neighbours = relations[relation]
        renyi = composed(rdp.RdpAccountant(ORDERS, neighbours), event, count)
        exact = composed(pld.PLDAccountant(neighbours, value_discretization_interval=1e-4), event, count)
        for delta in DELTAS:
            values = [f"{a.get_epsilon(float(delta)):.10g}" if a else "" for a in (renyi, exact)]
            out.writerow([name, parameter, rate, count, relation, delta, *values])
    print(f"dp-accounting {version('dp-accounting')}", file=sys.stderr)


if __name__ == "__main__":
    main()
