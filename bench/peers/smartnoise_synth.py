"""Rows of codes synthesised by smartnoise MWEM or MST; runs in smartnoise's environment.

python bench/peers/smartnoise_synth.py MWEM|MST EPSILON DELTA IN.npy OUT.npy
"""

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

method, epsilon, delta, source, target = sys.argv[1:]
codes = np.load(source)
names = [f"c{place}" for place in range(codes.shape[1])]
table = pd.DataFrame(codes, columns=names)
begun = time.process_time()
if method == "MWEM":
    from snsynth.mwem import MWEMSynthesizer

    # Groups of two columns and ten rounds: with wider groups it does not end in reasonable time on 14 columns.
    model = MWEMSynthesizer(epsilon=float(epsilon), split_factor=2, iterations=10, q_count=200)
    model.fit(table, categorical_columns=names, preprocessor_eps=0.0)
else:
    from snsynth import Synthesizer

    model = Synthesizer.create("mst", epsilon=float(epsilon), delta=float(delta))
    model.fit(table, categorical_columns=names, preprocessor_eps=0.0)
rows = model.sample(len(table))
seconds = time.process_time() - begun
np.save(target, np.asarray(rows[names], dtype=np.int64))
status = Path("/proc/self/status").read_text(encoding="ascii")
memory = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"seconds": seconds, "memory": memory, "version": version("smartnoise-synth")}))
