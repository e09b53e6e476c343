"""The figures of the 2020 census (partial-dp, section 6), through a ledger.

The agency's allocation over its queries is not in the source. The one below is synthetic: its totals are the
published ones, rho 2.63 for a person (2.56 for people, 0.07 for housing units) and rho 1.02 for what reads race or
ethnicity. No other number of it means anything.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import Concentrated, Cost, Event, Loss
from sfumato.exact.written import rounded
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Secrets
from sfumato.report import ThreatReport, threats

ALLOCATION = {
    ("race", "ethnicity"): "0.50",
    ("race", "ethnicity", "age"): "0.32",
    ("race", "place"): "0.20",
    ("place",): "0.90",
    ("age", "sex"): "0.64",
    ("household",): "0.07",
}
NAMES = ("race", "ethnicity", "age", "sex", "place", "household")


@pytest.fixture(scope="module")
def report() -> ThreatReport:
    limits = {("race", "ethnicity"): Concentrated("1.02")}
    ledger = Ledger(None, Budget(Concentrated("2.63"), attributes=limits, secrets=Secrets(NAMES)))
    for reads, rho in ALLOCATION.items():
        loss = Loss.flat(Cost.concentrated(rho), reads=reads)
        ledger.run(" ".join(reads), Event("DiscreteGaussian", "PDP:C-13"), loss, lambda: b"a table")
    return threats(ledger, delta="1e-6")


def test_the_synthetic_allocation_has_the_published_totals() -> None:
    assert sum(map(Fraction, ALLOCATION.values())) == Fraction("2.63")
    touching = [Fraction(rho) for reads, rho in ALLOCATION.items() if {"race", "ethnicity"} & set(reads)]
    assert sum(touching) == Fraction("1.02")


def test_a_person_has_epsilon_13_8_at_a_millionth(report: ThreatReport) -> None:
    assert report.person.promise is not None and report.person.used is not None
    assert float(report.person.promise.epsilon) == pytest.approx(13.8, abs=0.02)
    assert rounded(report.person.promise.epsilon, up=True) == "13.8"
    assert report.person.used.epsilon == report.person.promise.epsilon
    assert report.person.percent == 100


def test_race_and_ethnicity_have_epsilon_7_86_at_a_millionth(report: ThreatReport) -> None:
    (pair,) = report.sets
    assert pair.subject == "ethnicity + race"
    assert pair.promise is not None and pair.used is not None
    assert float(pair.promise.epsilon) == pytest.approx(7.85, abs=0.02)
    assert rounded(pair.promise.epsilon, up=True) == "7.86"
    assert pair.used.epsilon == pair.promise.epsilon


def test_the_quoted_figures_at_1e_10() -> None:
    # With rounded rho; the agency used another conversion (quoted: 17.14).
    assert float(Cost.concentrated("2.56").epsilon_at("1e-10")) == pytest.approx(17.158, abs=0.002)
