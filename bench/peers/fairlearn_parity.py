"""Probabilities of fairlearn's ExponentiatedGradient under demographic parity, on a split that another process wrote.

python bench/peers/fairlearn_parity.py FILE BOUND...   the file holds x, y, group, test_x
"""

import json
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

warnings.simplefilter("ignore")

if __name__ == "__main__":
    data, found = np.load(sys.argv[1]), []
    start = time.process_time()
    for bound in map(float, sys.argv[2:]):
        model = ExponentiatedGradient(LogisticRegression(max_iter=500), DemographicParity(difference_bound=bound))
        model.fit(data["x"], data["y"], sensitive_features=data["group"])
        found.append(model._pmf_predict(data["test_x"])[:, 1].tolist())
    print(json.dumps({"version": version("fairlearn"), "chances": found, "seconds": time.process_time() - start}))
