"""PEM over HCMS of pure-ldp on given items, as JSON; runs in pure-ldp's environment.

python bench/peers/pure_ldp_pem.py ITEMS.npy BITS EPSILON LISTED
"""

import json
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

HASHES, CELLS, STEP = 128, 1024, 8


def main() -> None:
    path, bits, epsilon, listed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    items = np.load(path)
    names = {value: format(value, f"0{bits}b") for value in np.unique(items).tolist()}
    oracle = CMSServer(epsilon, HASHES, CELLS, is_hadamard=True)
    server = PEMServer(epsilon, 0, bits, STEP, fo_server=oracle)
    client = PEMClient(
        epsilon, 0, bits, STEP, fo_client=CMSClient(epsilon, oracle.get_hash_funcs(), CELLS, is_hadamard=True)
    )
    start = time.process_time()
    reports = [client.privatise(names[value]) for value in items.tolist()]
    made = time.process_time()
    for report in reports:
        server.aggregate(report)
    added = time.process_time()
    found, counts = server.find_heavy_hitters(k=listed)
    done = time.process_time()
    answer = {
        "found": [[int(name, 2), count / len(items)] for name, count in zip(found, map(float, counts))],  # noqa: B905
        "client": (made - start) / len(items),
        "aggregate": added - made,
        "search": done - added,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
