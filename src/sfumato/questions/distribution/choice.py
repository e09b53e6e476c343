"""Which method makes a distribution: the one whose largest error, predicted from public facts, is smallest."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import UnsupportedSpend
from sfumato.privacy import Bound
from sfumato.questions.distribution.facts import DistributionFacts, Option
from sfumato.questions.distribution.options import all_options

METHODS = ("auto", "medians", "tree", "histogram", "windows")


def choose_option(facts: DistributionFacts, spend: Bound, method: str) -> tuple[Option, str]:
    """Return the option to run, and why; of the method asked for, or of all."""
    best: dict[str, Option] = {}
    for option in all_options(facts, spend, method):
        known = best.get(option.method)
        if known is None or option.predicted < known.predicted:
            best[option.method] = option
    if method != "auto" and method not in best:
        raise UnsupportedSpend(_refusal(method, spend))
    chosen = min(best.values(), key=lambda option: option.predicted) if method == "auto" else best[method]
    return chosen, _reason(chosen, method, list(best.values()), facts)


def _refusal(method: str, spend: Bound) -> str:
    if method == "histogram":
        return "This column has too many values to count each of them; write method='auto'."
    if method == "windows":
        return (
            f"Windows of ranks need Concentrated or Truncated, one row a person, no condition, and more people than "
            f"{spend!r} allows for here; write method='auto'."
        )
    return f"{method} does not serve {spend!r} here; write method='auto'."


def _reason(chosen: Option, method: str, options: Sequence[Option], facts: DistributionFacts) -> str:
    asked = "has the smallest error" if method == "auto" else "was asked for"
    others = [] if method != "auto" else [f"{one.method} {one.predicted:.0f}" for one in options if one is not chosen]
    beside = f" (beside it: {', '.join(others)})" if others else ""
    return (
        f"{chosen.method} {asked}: at most {chosen.predicted:.0f} of {facts.known}, at 95 %{beside}. Decided by "
        "the number of values and of people and by the spend; no data were read."
    )
