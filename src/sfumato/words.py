"""Words that people type: what does not fit a call or a name is told in one sentence, with the line to write.

Who comes from pandas, from SQL or from another library for privacy guesses. Where a guess has one meaning it is
understood by whoever is asked; everywhere else the error says the word of the house.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from sfumato.errors import ParameterError, UnknownName

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SHOWN = 12


def guide(listed: Mapping[str, str]) -> dict[str, str]:
    """Return a sentence for each of the names that stand before it.

    >>> guide({"avg average": "write mean"})
    {'avg': 'write mean', 'average': 'write mean'}
    """
    return {name: said for names, said in listed.items() for name in names.split()}


KEYWORDS = guide(
    {
        # what other libraries call it: what is written here; with a dot before it, what holds in one place
        "epsilon eps delta rho budget privacy_budget privacy_loss": "write spend=Pure(0.1), or "
        "spend=Approximate(1, 1e-6) with a delta",
        "filter query condition predicate mask on": "write where='age > 40'",
        "groupby group groups group_by": "write by='sex'",
        "bounds range clip lower upper min max limits": "ranges stand in the schema, such as age = integers(0, 120)",
        "noise mechanism scale sigma sensitivity": "the noise follows from the spend alone, such as spend=Pure(0.1)",
        "seed random_state rng": "noise that can be repeated is not private; leave it out",
        "q quantile prob probs percentile": "write the probabilities second: ('age', [0.5])",
        "normalize density": "divide the counts by curator.count().value, which is free",
        "agg aggfunc func statistics": "write [Count(), Mean('age')] as aggregates",
        "bins": "bins stand in the schema: write decade = bins('age', step=10) there, or "
        "draft.fill(decade={'type': 'bins', 'of': 'age', 'step': 10}), and ask for 'decade'",
        "learn.spend learn.epsilon learn.delta learn.rho": "the learner takes it: PrivateThreshold(spend=Pure(1))",
        "synthesize.target synthesize.label synthesize.y synthesize.features": "synthetic rows have no target: all "
        "columns are modelled alike; write columns=['age', 'income'] with the label among them, and name it when you "
        "train on model.sample(1000)",
        "share.epsilon share.delta share.rho share.spend share.where": "curator.share(0.1) is a part of the limit; for "
        "a share of the people divide people('age > 80', spend=Pure(0.1)).value by people().value, which is free where "
        "the number of people is public, or ask for the mean of a boolean column",
        "curate.epsilon curate.eps curate.delta curate.rho curate.spend": "the limit of all answers is the third "
        "argument: write curate(source, schema, sf.Pure(3))",
        "group_report.labels audit.labels audit.qualification": "what people deserved is one word everywhere: write "
        "label=",
        "synthesize.n synthesize.rows synthesize.size synthesize.n_rows synthesize.n_samples synthesize.samples": "the "
        "model makes as many rows as you like; write synthesize(spend=Pure(1)).value.sample(100)",
        "plot.kind plot.title plot.figsize plot.ax plot.color": "the picture follows from the answer; write "
        "plot('answer.svg'), or draw answer.to_pandas() yourself",
        "gaussian.sigma gaussian.std gaussian.scale gaussian.variance": "a Gaussian is priced by the square of "
        "distance over deviation; where a person moves the number by 1 and the deviation is 4, write "
        "Cost.gaussian('1/16')",
        "Noise.seed Noise.random_state Noise.rng": "write Noise(insecure_seed=7), in tests only, because noise that "
        "can be repeated is not private",
        "Pure.delta": "write Approximate(1, 1e-6) for an epsilon and a delta",
        "Schema.rows": "write rows_per_person=3",
        "draft.rows_per_person": "write draft('people.csv', look=True).fill(rows_per_person=5)",
        "categories.values": "write categories('F', 'M')",
        # words of this house that have another name now
        "Popular.engine popular.engine": "write method='tree'",
        "Queries.projection answer.projection": "write method='none'",
        "SanitizeThenLearn.sanitizer": "write method='cells'",
        "expander_method.decoder ExpanderMethod.decoder": "write method='votes'",
        "fit.sample_weight fit.weights class_weight": "a weight would let one person count for more than one, and "
        "noise is made for one; leave it out, and move the cut by predict_proba where one label matters more",
        "fit.mode": "write method='threshold'",
        "reader.estimator": "write method='median'",
    }
)

EXAMPLES: Mapping[str, str] = {
    # what is called: a call that is complete; with a dot before it, what holds in one place
    "Client.report": "client.report('red'), the item of this device",
    "Client.reports": "client.reports(['red', 'green']), one item a device",
    "Device.report": "device.report('red'), the item of this device",
    "Draft.save": "draft.save('people.toml')",
    "Plan.client": "plan.client()",
    "Plan.save": "plan.save('plan.json')",
    "Approximate": "Approximate(1, 1e-6)",
    "Budget": "Budget(person=Pure(3), each_attribute=Pure(1))",
    "Concentrated": "Concentrated(0.05)",
    "Distribution": "Distribution('age')",
    "GroupBy": "GroupBy('sex', [Count(), Mean('age')])",
    "Histogram": "Histogram('age')",
    "Mean": "Mean('age')",
    "Noise": "Noise(), or Noise(insecure_seed=7) in a test",
    "Popular": "Popular(['street', 'job'])",
    "Pure": "Pure(0.1)",
    "Quantiles": "Quantiles('age', [0.25, 0.5, 0.75])",
    "Schema": "Schema({'age': integers(0, 120), 'sex': categories('F', 'M')})",
    "Sum": "Sum('hours')",
    "Truncated": "Truncated(0.05, 20)",
    "Variance": "Variance('age')",
    "answer": "answer(sf.workloads.marginals(schema, width=2), spend=Pure(1))",
    "ask": "ask(Mean('age'), Pure(0.1))",
    "bins": "bins('age', step=10)",
    "categories": "categories('F', 'M')",
    "connect": "connect('https://data.example.org', token='sfm_…')",
    "count": "count('age > 40', spend=Pure(0.1))",
    "curate": "curate('people.csv', 'people.toml', Pure(3)); sf.draft('people.csv') drafts the schema",
    "dates": "dates('1900-01-01', '2030-12-31')",
    "distribution": "distribution('age', spend=Pure(0.1))",
    "draft": "draft('people.csv')",
    "fixed": "fixed(0, 1000, step=0.01)",
    "group_by": "group_by('sex', ['count', 'mean of age'], spend=Pure(0.1))",
    "histogram": "histogram('age', spend=Pure(0.1))",
    "integers": "integers(0, 120)",
    "learn": "learn(sf.learn.PrivateThreshold(spend=Pure(1)), features='age', target='sick')",
    "mean": "mean('age', spend=Pure(0.1))",
    "median": "median('age', spend=Pure(0.1))",
    "plan": "plan(users=100_000, spend=Pure(1), candidates=['red', 'green'])",
    "plot": "plot('answer.svg')",
    "quantiles": "quantiles('age', [0.25, 0.5, 0.75], spend=Pure(0.1))",
    "sum": "sum('hours', spend=Pure(0.1))",
    "synthesize": "synthesize(spend=Pure(1)), or synthesize(columns=['age', 'sex'], spend=Pure(1))",
    "text": "text(max_bytes=40)",
    "to_csv": "to_csv('answer.csv')",
    "to_excel": "to_excel('answer.xlsx')",
    "to_json": "json.dumps(answer.to_json())",
    "to_parquet": "to_parquet('answer.parquet')",
    "times": "times('2020-01-01', '2030-01-01', step='1s')",
    "variance": "variance('age', spend=Pure(0.1))",
}


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names what was probably meant, or everything there is.

    >>> nearest("aeg", ["age", "sex"]), nearest("it", ["HR", "IT"])
    ("did you mean 'age'?", "did you mean 'IT'?")
    """
    names = sorted(known)
    close = [one for one in names if one.casefold() == name.casefold()] or get_close_matches(
        name, names, n=1, cutoff=0.6
    )
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(one) for one in names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    return f"there is {shown}." if names else "there is none."


def alike(words: Iterable[Any]) -> list[list[str]]:
    """Return words that differ only in capitals or blanks, those that are nearly the same together.

    >>> alike(["f", "F", "m", "not  said", "not said"])
    [['F', 'f'], ['not  said', 'not said']]
    """
    found: dict[str, set[str]] = {}
    for word in words:
        found.setdefault(" ".join(str(word).split()).casefold(), set()).add(str(word))
    return [sorted(same) for same in found.values() if len(same) > 1]


def one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a word that is none of those which an argument takes, and list them.

    >>> one_of("method", "guess", ("auto", "tree"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: method is one of auto, tree, and 'guess' is none of them.
    """
    words = tuple(known)
    if value not in words:
        raise ParameterError(f"{name} is one of {', '.join(words)}, and {value!r} is none of them.")


def misfit(
    called: str, signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any], whole: str = ""
) -> str | None:
    """Say in a sentence why arguments do not fit a call, `whole` with its class; None if they do."""
    try:
        signature.bind(*given, **named)
    except TypeError:
        pass
    else:
        return None
    named_freely = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
    known = {
        name: one
        for name, one in signature.parameters.items()
        if name not in ("self", "cls") and one.kind is not one.VAR_KEYWORD
    }
    shown = EXAMPLES.get(whole) or EXAMPLES.get(called)
    example = f"write {shown}" if shown else f"it takes {_listed(known)}"
    for word in () if named_freely else named:
        if word not in known:
            close = get_close_matches(word, known, n=1, cutoff=0.75)
            hint = KEYWORDS.get(f"{called}.{word}") or (f"did you mean {close[0]}=" if close else KEYWORDS.get(word))
            if hint is None and "options" in known:
                hint = f"options of a method are given together; write options={{{word!r}: {named[word]!r}}}"
            return f"{called} has no {word}=; {hint or example}" + ("?" if hint and hint.startswith("did") else ".")
    places = [
        one for one in signature.parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(given) > len(places) and not any(one.kind is one.VAR_POSITIONAL for one in known.values()):
        by_place = {one.name: one for one in places if one.name in known}
        by_name = {name: one for name, one in known.items() if name not in by_place}
        if by_name:
            first = f"takes {_listed(by_place)} without a name" if by_place else "takes nothing without a name"
            return f"{called} {first} and {_listed(by_name)} by name; {example}."
        return f"{called} takes {_listed(known)}, and more was given; {example}."
    return f"{called} needs {_lacking(signature, given, named)}; {example}."


def _listed(known: Mapping[str, inspect.Parameter]) -> str:
    shown = [f"{name}=" if one.kind is one.KEYWORD_ONLY else name for name, one in known.items()]
    return ", ".join(shown) or "nothing"


def _lacking(signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    bound = set(signature.bind_partial(*given, **named).arguments)
    lacking = [
        f"{name}=" if one.kind is one.KEYWORD_ONLY else name
        for name, one in signature.parameters.items()
        if name not in bound and one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    return " and ".join(lacking) or "each argument once"


def understood(call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with an error of one sentence where its arguments do not fit.

    >>> understood(lambda low, high: high - low)(3)
    Traceback (most recent call last):
        ...
    sfumato.errors.ParameterError: <lambda> needs high; it takes low, high.
    """
    called = call.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(call)
    def run(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return call(*given, **named)
        except TypeError:
            wrong = misfit(called, inspect.signature(call), given, named, call.__qualname__)
            if wrong is None:
                raise
        raise ParameterError(wrong)

    return run


class Understood(ABCMeta):
    """Classes whose instances people make by hand: arguments that do not fit are told in one sentence."""

    if not TYPE_CHECKING:  # a type checker reads the constructors themselves

        def __call__(cls, *given: Any, **named: Any) -> Any:
            """Make an instance, or say what does not fit."""
            try:
                return super().__call__(*given, **named)
            except TypeError:
                wrong = misfit(cls.__name__, inspect.signature(cls.__init__), (None, *given), named)
                if wrong is None or inspect.isabstract(cls):
                    raise
            raise ParameterError(wrong)


def unknown(holder: str, name: str, known: Iterable[str], instead: Mapping[str, str] | None = None) -> UnknownName:
    """Return the error for a name that something does not have: what to write instead, or what is near."""
    if instead and name in instead:
        return UnknownName(f"{holder} has no {name}; {instead[name]}.")
    public = (one for one in known if not one.startswith("_") and not one.isupper())
    return UnknownName(f"{holder} has no {name}; {nearest(name, public)}")


class Guided:
    """Objects that people hold: an attribute that is not there is answered with the one that was meant."""

    INSTEAD: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # or every name would pass a type checker

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # what copies, pickles and notebooks look for
                raise AttributeError(name)
            raise unknown(type(self).__name__, name, dir(type(self)), self.INSTEAD)
