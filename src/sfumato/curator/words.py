"""What people type to a curator: `epsilon=` for a spend, names of other libraries, arguments that do not fit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from sfumato.errors import ParameterError
from sfumato.privacy.bounds import WORDS, bound_of
from sfumato.words import guide, misfit

Class = TypeVar("Class", bound=type)

INSTEAD = guide(
    {
        # names of other libraries: what is written here
        "avg average": "write curator.mean('age', spend=Pure(0.1))",
        "proportion fraction percentage rate ratio prevalence": "divide curator.people('age > 80', spend=Pure(0.1))"
        ".value by curator.people().value, which is free where the number of people is public, or ask for the mean of "
        "a boolean column, which is the share of true",
        "std stddev stdev var": "write curator.variance('age', spend=Pure(0.1)); its root is the deviation",
        "min max": "write curator.quantiles('age', [0.01, 0.99], spend=Pure(0.1)): the ends themselves are somebody's",
        "percentile quantile": "write curator.quantiles('age', [0.9], spend=Pure(0.1)), whose parts lie between 0 and "
        "1",
        "value_counts hist bar counts mode": "write curator.histogram('sex', spend=Pure(0.1))",
        "plot draw chart show picture": "a picture is drawn of an answer; write curator.histogram('sex', "
        "spend=Pure(0.1)).plot('sex.svg')",
        "crosstab contingency": "write curator.histogram(['sex', 'ill'], spend=Pure(0.1)), with two columns of your "
        "own",
        "groupby agg aggregate pivot_table": "write curator.group_by('sex', ['count', 'mean of age'], spend=Pure(0.1))",
        "nunique count_distinct distinct users": "write curator.people('age > 40', spend=Pure(0.1))",
        "head tail sample rows data df to_pandas iloc loc": "rows are private; curator.synthesize(spend=Pure(1))"
        ".value.sample(10) makes some up that stand for them",
        "query select execute": "write curator.sql('SELECT COUNT(*) FROM data WHERE age > 40', spend=Pure(0.1))",
        "filter where": "write where='age > 40' in the question",
        "describe info columns dtypes shape": "print(curator.schema) shows the columns, curator.count() the people",
        "spent used budget_spent history": "curator.ledger.spent() says what is used, print(curator.ledger) all of it",
        "budget epsilon left balance": "curator.guarantee() is the limit, curator.remaining() what is left",
        "corr cov corrcoef correlation correlations": "there is no correlation of its own; write "
        "curator.synthesize(columns=['age', 'hours'], spend=Pure(1)), and read relations "
        "from its rows where the notes say that its error is small",
        "running_total cumsum cumulative rolling": "write curator.running('count', periods=365, spend=Concentrated(0.1)"
        "), whose .step(table) takes the data of each period",
        "publish": "what repeats is declared as a publication, which keeps its ledger; write "
        "sf.Publication.declare({…}, source=…) (docs/publications.md)",
        "synthetic generate fit synth": "write curator.synthesize(spend=Pure(1))",
    }
)


def in_own_words(said: str, schema: Any) -> str:
    """Return a sentence whose line to write names columns of the schema, where it has not those of the example.

    >>> from sfumato.domain import integers
    >>> from sfumato.table.schema import Schema
    >>> in_own_words("There is no avg; write curator.mean('age', spend=Pure(0.1)).", Schema({"pay": integers(0, 9)}))
    "There is no avg; write curator.mean('pay', spend=Pure(0.1))."
    """
    columns = getattr(schema, "columns", {})
    kinds = {name: getattr(column, "kind", "") for name, column in columns.items() if name.isidentifier()}
    numbers = [name for name, kind in kinds.items() if kind in ("integer", "fixed")]
    labels = [name for name, kind in kinds.items() if kind in ("category", "boolean")]
    meant = {
        "age": numbers[:1],
        "hours": numbers[1:] + (labels[:1] if "columns=[" in said else []) + numbers[:1],
        "sex": labels[:1],
        "race": labels[1:],
        "ill": labels[1:],
    }
    if len(labels) < 2 and "race" not in columns:
        said = said.replace(" by sex, race", " by sex")
    for shown, own in meant.items():
        start = re.search(r"\bwrite\b", said, re.IGNORECASE)
        if shown in columns or not own or start is None:
            continue
        head, line = said[: start.end()], said[start.end() :]
        found = re.sub(rf"(?<=['\" ]){shown}(?=['\" ,)])", own[0].replace("\\", r"\\"), line)
        said = head + found
    return said


def refuse_unknown(called: str, opens: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that what a method opens does not take, before anything is done."""
    by_name = [
        one.replace(default=None)
        for one in inspect.signature(opens).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    ]
    if wrong := misfit(called, inspect.Signature(by_name), (), options):
        raise ParameterError(wrong)


def speaking(curator: Class) -> Class:
    """Return a class whose public methods take a spend by its numbers, and say in a sentence what does not fit."""
    for name, method in list(vars(curator).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(curator, name, _heard(method))
    return curator


def _heard(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)
    takes_spend = "spend" in signature.parameters  # a report has a delta of its own

    @wraps(method)
    def run(*given: Any, **named: Any) -> Any:
        words = {name: named.pop(name) for name in WORDS if name in named and takes_spend}
        if words:
            named["spend"] = _spend(method.__name__, words, named)
        try:
            return method(*given, **named)
        except TypeError:
            wrong = misfit(method.__name__, signature, given, named)
            if wrong is None:
                raise
            wrong = in_own_words(wrong, getattr(given[0], "schema", None) if given else None)
        raise ParameterError(wrong)

    return run


def _spend(called: str, words: dict[str, Any], named: dict[str, Any]) -> Any:
    listed = " and ".join(f"{name}=" for name in words)
    if named.get("spend") is not None:
        raise ParameterError(f"{called} was given spend= and {listed}, which mean the same; write one of them.")
    return bound_of(**words)
