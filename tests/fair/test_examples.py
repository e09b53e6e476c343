"""The examples tell their stories to the end."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.fair.nulls import Draws

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_adult(tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "fair_adult.py"))["main"](800, tmp_path)
    told = capsys.readouterr().out
    assert "Nine checks" in told and "one decision for all" in told and told.count("Fair classifier") == 5
    assert {path.name for path in tmp_path.iterdir()} == {"fair-adult.html", "fair-adult.svg", "fair-adult.png"}


def made_up_defendants(path: Path, people: int = 700) -> Path:
    """A file with the columns of COMPAS about nobody."""
    draws = Draws(1, people)
    age, priors = 18 + np.floor(40 * draws.uniform()), np.floor(10 * draws.uniform() ** 2)
    risk = np.clip(5 + 0.6 * priors - (age - 30) / 8 + draws.normal(), 1, 10)
    pd.DataFrame(
        {
            "age": age.astype(int),
            "sex": np.where(draws.uniform() < 0.2, "Female", "Male"),
            "race": np.array(["African-American", "Caucasian", "Other"])[np.floor(3 * draws.uniform()).astype(int)],
            "c_charge_degree": np.where(draws.uniform() < 0.6, "F", "M"),
            "priors_count": priors.astype(int),
            "juv_fel_count": draws.coin(0.05).astype(int),
            "juv_misd_count": draws.coin(0.05).astype(int),
            "decile_score": np.round(risk).astype(int),
            "two_year_recid": draws.coin(risk / 12).astype(int),
        }
    ).to_parquet(path)
    return path


@pytest.mark.audit
def test_compas_on_made_up_people(tmp_path, capsys):
    main = runpy.run_path(str(EXAMPLES / "fair_compas.py"))["main"]
    main(made_up_defendants(tmp_path / "compas.parquet"), tmp_path / "out")
    told = capsys.readouterr().out
    assert "As it is:" in told and told.count("kappa") == 5
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "fair-compas.html",
        "fair-compas.svg",
        "fair-compas.png",
    }
    main(tmp_path / "nowhere.parquet", tmp_path)
    assert capsys.readouterr().out.startswith("SKIPPED: ")


def test_compas_itself(tmp_path, capsys):
    place = os.environ.get("SFUMATO_COMPAS", "")
    if not Path(place).is_file():
        pytest.skip("SKIPPED, NOT PASSED: COMPAS does not ship; set SFUMATO_COMPAS to the path of compas.parquet")
    runpy.run_path(str(EXAMPLES / "fair_compas.py"))["main"](Path(place), tmp_path)
    assert "Raised: E1, E2" in capsys.readouterr().out


def test_private_and_fair(capsys):
    runpy.run_path(str(EXAMPLES / "fair_private.py"))["main"]()
    told = capsys.readouterr().out
    assert "Privacy: epsilon 1" in told and "Fairness: fair (all pairs" in told
