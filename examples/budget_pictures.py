"""The pictures of docs/budget.md, from the functions that the page speaks of: `python examples/budget_pictures.py`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from sfumato import Concentrated, Pure, perturb
from sfumato.privacy.readings import guess
from sfumato.show import Bar, Line, Panel, bars, picture

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
EPSILONS = [step / 20 for step in range(1, 121)]
SPENDS = [Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)]
DEPLOYED = [
    # from the documents that the page links to
    ("Google, searches for symptoms (a day)", 1.68),
    ("Apple, health types (a day)", 2),
    ("Google, searches for vaccines (a day)", 2.19),
    ("Apple, emoji (a day)", 4),
    ("Apple, crashing web sites (a day)", 8),
    ("Israel, births of 2014", 9.98),
    ("United States, census of 2020", 13.8),
    ("Apple, new words (a day)", 16),
]


def main() -> None:
    """Draw all of them."""
    odds = [100 * float(guess(epsilon)) for epsilon in EPSILONS]
    even = Line("a coin", EPSILONS, [50.0] * len(EPSILONS), "other")
    panel = Panel("epsilon", "a guess is right, at most, per cent", (Line("with all answers", EPSILONS, odds), even))
    picture("What somebody may learn about one person", [panel]).save(PICTURES / "budget-guess.svg")
    widths = [float(perturb.calibrate(Pure(spend), sensitivity=1).error(0.95)) for spend in SPENDS]
    rounder = [float(perturb.calibrate(Concentrated(spend**2 / 2), sensitivity=1).error(0.95)) for spend in SPENDS]
    lines = (
        Line("Pure(epsilon)", [float(spend) for spend in SPENDS], widths),
        Line("Concentrated(epsilon² / 2)", [float(spend) for spend in SPENDS], rounder, "other"),
    )
    panel = Panel("epsilon of one question", "± people, 95 % of the time", lines, log_x=True, log_y=True)
    picture("How far noise moves a count", [panel]).save(PICTURES / "budget-noise.svg")
    rows = [Bar(name, epsilon, epsilon, epsilon) for name, epsilon in DEPLOYED]
    bars("What deployments have published", "epsilon", rows).save(PICTURES / "budget-deployed.svg")


if __name__ == "__main__":
    main()
