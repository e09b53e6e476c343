"""Areas under the curve of diffprivlib's logistic regression on splits that another process wrote, as JSON.

python bench/peers/diffprivlib_linear.py EPSILON DRAWS FILE...   each file: x, y, test_x, test_y, features in [-1, 1]
"""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np
from diffprivlib.models import LogisticRegression
from sklearn.metrics import roc_auc_score

warnings.simplefilter("ignore")

if __name__ == "__main__":
    epsilon, draws, found = float(sys.argv[1]), int(sys.argv[2]), []
    for path in sys.argv[3:]:
        data = np.load(path)
        norm = float(np.sqrt(data["x"].shape[1]))  # from the public bounds, never from the people
        areas = []
        for seed in range(draws):
            model = LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed).fit(data["x"], data["y"])
            areas.append(float(roc_auc_score(data["test_y"], model.predict_proba(data["test_x"])[:, 1])))
        found.append(areas)
    print(json.dumps({"version": version("diffprivlib"), "areas": found}))
