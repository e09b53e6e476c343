"""Nine quantiles by OpenDP, as JSON; runs in OpenDP's environment.

python bench/peers/quantiles_opendp.py JOBS

OpenDP chooses from a list of candidates. Here it is 1024 evenly spaced numbers and 16 for every power of two.
"""

import json
import sys
import time
from array import array
from importlib.metadata import version
from pathlib import Path

import opendp.prelude as dp

dp.enable_features("contrib")


def column(path: str) -> list[int]:
    numbers = array("Q")
    numbers.frombytes(Path(path).read_bytes())
    return numbers.tolist()


def candidates(size: int) -> list[int]:
    even = [size * place // 1024 for place in range(1024)]
    bits = size.bit_length() - 1
    powers = [(1 << bit) + (step << bit) // 16 for bit in range(bits) for step in range(16)]
    return sorted({*even, *powers})


def answers(job: dict) -> dict:
    values = column(job["path"])
    # The number of rows is public, one of them is exchanged: a distance of 2.
    space = dp.vector_domain(dp.atom_domain(T="u64"), size=len(values)), dp.symmetric_distance()
    listed = candidates(job["size"])
    each = job["epsilon"] / len(job["probabilities"])
    start = time.process_time()
    releases = [
        dp.binary_search_chain(
            lambda scale, alpha=alpha: dp.m.make_private_quantile(*space, dp.max_divergence(), listed, alpha, scale),
            d_in=2,
            d_out=each,
        )
        for alpha in job["probabilities"]
    ]
    found = [sorted(int(release(values)) for release in releases) for _ in range(job["runs"])]
    return {"values": found, "seconds": (time.process_time() - start) / job["runs"]}


if __name__ == "__main__":
    jobs = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps({"version": version("opendp"), "answers": [answers(job) for job in jobs]}))
