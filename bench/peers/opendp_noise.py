"""CPU seconds per million draws of OpenDP's vector measurements, as JSON; runs in OpenDP's environment.

python bench/peers/opendp_noise.py DRAWS
"""

import json
import sys
import time
from importlib.metadata import version

import opendp.prelude as dp

dp.enable_features("contrib")
SCALES = [1.0, 10.0, 1e3, 1e6]
RUNS = 2


def measurement(law: str, scale: float):
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def seconds(law: str, scale: float, draws: int) -> float:
    release, zeros = measurement(law, scale), [0] * draws
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        release(zeros)
        best = min(best, time.process_time() - start)
    return best * 1e6 / draws


if __name__ == "__main__":
    count = int(sys.argv[1])
    found = {law: {str(scale): seconds(law, scale, count) for scale in SCALES} for law in ("laplace", "gaussian")}
    print(json.dumps({"version": version("opendp"), **found}))
