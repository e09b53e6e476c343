"""Epsilon of lists of releases by dp_accounting's loss distributions, as JSON; runs in its own environment.

python bench/peers/dp_accounting_lists.py ROWS, a JSON list of [kind, parameter, rate, count, delta].

Pessimistic, connect-the-dots, interval 1e-4. Sensitivity 1; samples are Poisson under add-remove neighbours, the larger
of both directions.
"""

import json
import math
import sys
import time
from importlib.metadata import version

from dp_accounting.pld import privacy_loss_distribution as pld

INTERVAL = 1e-4


def distribution(kind: str, parameter: float, rate: float):
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(parameter, value_discretization_interval=INTERVAL)
    if kind == "sampled":
        return pld.from_gaussian_mechanism(parameter, value_discretization_interval=INTERVAL, sampling_prob=rate)
    if kind == "discrete laplace":
        return pld.from_discrete_laplace_mechanism(parameter, value_discretization_interval=INTERVAL)
    return pld.from_randomized_response(parameter, 2, value_discretization_interval=INTERVAL)


def priced(row: list) -> dict:
    kind, parameter, rate, count, delta = row
    start = time.process_time()
    if kind == "mixture":
        total = distribution("sampled", parameter, rate).self_compose(count)
        total = total.compose(
            distribution("randomized response", 2 / (1 + math.exp(0.05)), 1).self_compose(count // 10)
        )
        total = total.compose(distribution("gaussian", 20, 1).self_compose(count // 10))
    else:
        total = distribution(kind, parameter, rate).self_compose(count)
    found = total.get_epsilon_for_delta(delta)
    return {"epsilon": found, "seconds": time.process_time() - start}


if __name__ == "__main__":
    print(json.dumps({"version": version("dp_accounting"), "rows": [priced(row) for row in json.loads(sys.argv[1])]}))
