"""Learn from data about people without exposing any of them.

>>> from sfumato import Noise, Pure, perturb
>>> count = perturb.calibrate(Pure(0.5), sensitivity=1)
>>> count.loss().person.epsilon
Fraction(1, 2)
>>> isinstance(count(1234, Noise(insecure_seed=1)), int)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.moved import moved
from sfumato.privacy import (
    ADD_REMOVE,
    EVERYTHING,
    REPLACE_ONE,
    Approximate,
    Concentrated,
    Cost,
    Loss,
    Pure,
    Relation,
    Truncated,
)
from sfumato.words import guide

if TYPE_CHECKING:
    from sfumato import (
        audit,
        bounds,
        domain,
        errors,
        fair,
        learn,
        local,
        perturb,
        plan,
        privacy,
        questions,
        select,
        show,
    )
    from sfumato.curator import Curator, curate
    from sfumato.domain import bins, booleans, categories, dates, fixed, integers, months, text, times, weekdays, years
    from sfumato.ledger import Budget, Ledger, Limit
    from sfumato.mechanism import NOTHING, Event, Interaction, Mechanism
    from sfumato.noise import Noise
    from sfumato.publish import Publication
    from sfumato.questions import (
        Count,
        Distribution,
        GroupAudit,
        GroupBy,
        Histogram,
        Mean,
        People,
        Popular,
        Quantiles,
        Queries,
        Sum,
        Synopsize,
        Synthesize,
        Variance,
    )
    from sfumato.serve.remote import connect
    from sfumato.table.database import Database, Link, PublicTable
    from sfumato.table.drafting import Draft, draft
    from sfumato.table.schema import Schema
    from sfumato.workload import builders as workloads

__version__ = "0.1.0"

_HOMES = {
    "sfumato.curator": "Curator curate",
    "sfumato.domain": "bins booleans categories dates fixed integers months text times weekdays years",
    "sfumato.ledger": "Budget Ledger Limit",
    "sfumato.mechanism": "NOTHING Event Interaction Mechanism",
    "sfumato.noise": "Noise",
    "sfumato.publish": "Publication",
    "sfumato.serve.remote": "connect",
    "sfumato.questions": "Count Distribution GroupAudit GroupBy Histogram Mean People Popular Quantiles Queries "
    "Sum Synopsize Synthesize Variance",
    "sfumato.table.database": "Database Link PublicTable",
    "sfumato.table.drafting": "Draft draft",
    "sfumato.table.schema": "Schema",
}
_LATER = {name: home for home, names in _HOMES.items() for name in names.split()}
_ELSEWHERE = {"workloads": "sfumato.workload.builders"}

_INSTEAD = guide(
    {
        # names that people guess: what is written here
        "Median median Quantile": "write Quantiles('age', 0.5)",
        "Average Avg mean average": "write Mean('age')",
        "Std Stddev StandardDeviation": "write Variance('age'); its root is the deviation",
        "Min Max": "write Quantiles('age', [0.01, 0.99])",
        "Laplace Gaussian LaplaceMechanism epsilon Epsilon": "write Pure(0.1) as a spend",
        "Session PrivateSession Dataset DataFrame Table": "write curate('people.csv', schema, Pure(3))",
        "PureDPBudget PureDP EpsilonBudget": "write Pure(3) as a limit, and Pure(0.1) as a spend",
        "ApproxDPBudget ApproxDP": "write Approximate(3, 1e-6) as a limit, and Approximate(0.1, 1e-6) as a spend",
        "RhoZCDPBudget zCDP ZCDP": "write Concentrated(1) as a limit, and Concentrated(0.05) as a spend",
        "make_laplace make_gaussian make_geometric make_base_laplace base_laplace base_discrete_laplace": "write "
        "perturb.calibrate(Pure(0.5), sensitivity=1) for the noise alone, or curator.count('age > 40', "
        "spend=Pure(0.1))",
        "dp transformations measurements measures metrics domains": "write curate('people.csv', schema, Pure(3)) and "
        "curator.mean('age', spend=Pure(0.1)); sf.perturb holds noise alone",
        "tools models": "write curate('people.csv', schema, Pure(3)) and curator.mean('age', spend=Pure(0.1)); "
        "sf.learn holds models",
        "BudgetAccountant Accountant PrivacyAccountant RDPAccountant Odometer PrivacyOdometer Filter": "a ledger keeps "
        "account by itself; write curate('people.csv', schema, Pure(3), ledger='people.ledger'), and print("
        "curator.ledger)",
        "QueryBuilder KeySet PrivacyEngine PrivateReader": "write curate('people.csv', schema, Pure(3))",
        "read_csv read_parquet load open": "write curate('people.csv', schema, Pure(3))",
        "ints integer Integer Integers int": "write integers(0, 120)",
        "floats floating real reals decimal number numbers": "write fixed(0, 1000, step=0.01)",
        "category categorical Categorical enum": "write categories('F', 'M')",
        "boolean bool binary": "write booleans()",
        "date datetime": "write dates('1900-01-01', '2030-12-31'), or times('2020-01-01', '2030-01-01')",
        "string strings str": "write text(max_bytes=40)",
    }
)
_ERRORS = {
    name: f"write sfumato.errors.{name}"
    for name, kind in vars(import_module("sfumato.errors")).items()
    if isinstance(kind, type) and issubclass(kind, Exception | Warning)
}
_moved = moved(
    "sfumato",
    {
        "Answers": "sfumato.Queries",
        "Shaped": "sfumato.papers.query_release.Shaped",
        "release": "sfumato.questions",
    },
    {**_INSTEAD, **_ERRORS},
)


def __getattr__(name: str) -> Any:
    """Load what needs heavy packages when it is first used, so that importing sfumato stays quick."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in __all__:
        return import_module(_ELSEWHERE.get(name, f"sfumato.{name}"))
    return _moved(name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "ADD_REMOVE",
    "EVERYTHING",
    "NOTHING",
    "REPLACE_ONE",
    "Approximate",
    "Budget",
    "Concentrated",
    "Cost",
    "Count",
    "Curator",
    "Database",
    "Distribution",
    "Draft",
    "Event",
    "GroupAudit",
    "GroupBy",
    "Histogram",
    "Interaction",
    "Ledger",
    "Limit",
    "Link",
    "Loss",
    "Mean",
    "Mechanism",
    "Noise",
    "People",
    "Popular",
    "PublicTable",
    "Publication",
    "Pure",
    "Quantiles",
    "Queries",
    "Relation",
    "Schema",
    "Sum",
    "Synopsize",
    "Synthesize",
    "Truncated",
    "Variance",
    "audit",
    "bins",
    "booleans",
    "bounds",
    "categories",
    "connect",
    "curate",
    "dates",
    "domain",
    "draft",
    "errors",
    "fair",
    "fixed",
    "integers",
    "learn",
    "local",
    "months",
    "perturb",
    "plan",
    "privacy",
    "questions",
    "select",
    "show",
    "text",
    "times",
    "weekdays",
    "workloads",
    "years",
]
