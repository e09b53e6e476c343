"""Errors of diffprivlib's classifiers on samples that another process wrote, as JSON; runs in its environment.

python bench/peers/diffprivlib_learners.py EPSILON FILE...   each file holds x, y, test_x, test_y, features in [0, 1]
"""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier

warnings.simplefilter("ignore")


def learners(epsilon: float, features: int, seed: int):
    bounds = (np.zeros(features), np.ones(features))
    shared = {"epsilon": epsilon, "bounds": bounds, "classes": [0, 1], "random_state": seed}
    return {
        "tree": DecisionTreeClassifier(max_depth=6, **shared),
        "forest": RandomForestClassifier(n_estimators=10, max_depth=5, **shared),
        "naive Bayes": GaussianNB(epsilon=epsilon, bounds=bounds, random_state=seed),
    }


if __name__ == "__main__":
    epsilon, found = float(sys.argv[1]), []
    for seed, path in enumerate(sys.argv[2:]):
        data = np.load(path)
        errors = {}
        for name, learner in learners(epsilon, data["x"].shape[1], seed).items():
            learner.fit(data["x"], data["y"])
            errors[name] = float(np.mean(learner.predict(data["test_x"]) != data["test_y"]))
        found.append(errors)
    print(json.dumps({"version": version("diffprivlib"), "errors": found}))
