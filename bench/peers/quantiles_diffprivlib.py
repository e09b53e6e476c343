"""Nine quantiles by diffprivlib, as JSON; runs in diffprivlib's environment.

python bench/peers/quantiles_diffprivlib.py JOBS
"""

import json
import sys
import time
import warnings
from array import array
from importlib.metadata import version
from pathlib import Path

import numpy as np
from diffprivlib.tools import quantile

warnings.simplefilter("ignore")


def column(path: str) -> np.ndarray:
    numbers = array("Q")
    numbers.frombytes(Path(path).read_bytes())
    return np.array(numbers, dtype=float)


def answers(job: dict) -> dict:
    values = column(job["path"])
    start = time.process_time()
    try:
        found = [
            quantile(
                values, job["probabilities"], epsilon=job["epsilon"], bounds=(0, float(job["size"])), random_state=seed
            )
            for seed in range(job["runs"])
        ]
    except Exception as refused:
        return {"refused": str(refused)}
    seconds = (time.process_time() - start) / job["runs"]
    return {"values": [sorted(map(float, nine)) for nine in found], "seconds": seconds}


if __name__ == "__main__":
    jobs = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps({"version": version("diffprivlib"), "answers": [answers(job) for job in jobs]}))
