"""Where people come and go their number is private: nothing that is public before a draw may depend on it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Noise, Pure, Schema, curate
from sfumato.errors import SfumatoError
from sfumato.learn.question import Learn
from sfumato.privacy import Bound
from sfumato.release import Question
from sfumato.release.conversation.opening import Proposal
from sfumato.release.conversation.priors import start_of
from sfumato.release.distribution.choice import METHODS as CURVES
from sfumato.release.distribution.question import Distribution
from sfumato.release.popular.question import ENGINES, Popular
from sfumato.release.quantiles import Quantiles
from sfumato.release.quantiles.choice import METHODS as QUANTILES
from sfumato.release.question import _KINDS
from sfumato.release.spends import COLUMNS, QUESTIONS, SPENDS
from sfumato.release.synopsis.methods import ROOMS
from sfumato.release.synopsis.question import Synopsize
from sfumato.release.synthesis.methods import known
from sfumato.release.synthesis.question import Synthesize
from sfumato.release.workload.builders import marginals
from sfumato.release.workload.question import Answers
from sfumato.release.workload.space import Space
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from tests.imputed import integers

NUMBERS = (0, 1, 2, 3, 10, 33, 100, 246, 247, 1000, 10**4, 10**5, 10**6)
"""Numbers of people that a plan might take to be few or many."""
FEW = (0, 3, 246, 247, 10**6)
"""Those of them that the gate has time for: no plan looks at any, which is tested for every spend."""

BITS = {name: integers(0, 1) for name in "abcd"}
SCHEMAS = {
    "one row": Schema({**COLUMNS, **BITS}),
    "three rows": Schema({**COLUMNS, **BITS}, person="person", rows_per_person=3),
}
BINARY = ("age>=18", "age>=65", "sex=Male", "a=1")

Asking = Callable[[Schema], Question]


def rounds(method: str, **options: Any) -> Asking:
    return lambda schema: Synthesize(marginals(schema, width=2, columns=tuple("abcd")), method=method, options=options)


def fixed(question: Question) -> Asking:
    return lambda schema: question


ASKED: dict[str, Asking] = {
    **{name: fixed(question) for name, question in QUESTIONS.items()},
    **{f"Distribution by {method}": fixed(Distribution("age", method=method)) for method in CURVES},
    **{f"Quantiles by {method}": fixed(Quantiles("age", method=method)) for method in QUANTILES},
    **{f"Popular by {engine}": fixed(Popular(["age", "sex"], engine=engine)) for engine in ENGINES},
    "Popular, wide": fixed(Popular(["address", "caller", "age"])),
    "Answers without projection": fixed(Answers(marginals(Schema(BITS), width=2), "none")),
    **{f"Synthesize by {method}": rounds(method) for method in known() if method != "auto"},
    "Synthesize by auto": lambda schema: Synthesize(marginals(schema, width=3, columns=tuple("abcd"))),
    "mwem, no replay": rounds("mwem", replay="none"),
    "mwem, no replay, queries": rounds("mwem", replay="none", candidates="queries"),
    "mwem, doubling": rounds("mwem", schedule="doubling"),
    "mwem, from a histogram": rounds("mwem", start="histogram"),
    "mwem, told what to expect": rounds("mwem", replay="none", expect=500),
    "agnostic, permute and flip": rounds("agnostic", learner="permute-and-flip"),
    **{
        f"Synopsize by {method}": fixed(Synopsize(method, columns=("caller", "called") if method == "cuts" else BINARY))
        for method in ROOMS
    },
    "cuts of few": fixed(Synopsize("cuts", columns=("a", "b"))),
    "cuts of few, expected": fixed(Synopsize("cuts", columns=("a", "b"), options={"expect": 50})),
    "Synopsize, expected": fixed(Synopsize(columns=BINARY, options={"expect": 50})),
    "Synopsize, for the worst": fixed(Synopsize("marginals", columns=BINARY, options={"guarantee": "worst"})),
    "Learn a threshold": fixed(Learn("PrivateThreshold", "age", "sex")),
    "Learn a box": fixed(Learn("PrivateBox", ["age"], "sex")),
}

WAYS = {name: spend for name, spend in SPENDS.items() if spend.unit == "person"}


class Looked(Exception):
    """Somebody wanted to know a private number."""


def _looked(*_: Any) -> Any:
    raise Looked


class Secret(int):
    """A number that may be carried along, and that raises when anybody looks at it."""

    __hash__ = None  # type: ignore[assignment]


for _name in (
    *[
        "__add__",
        "__radd__",
        "__sub__",
        "__rsub__",
        "__mul__",
        "__rmul__",
        "__truediv__",
        "__rtruediv__",
        "__floordiv__",
        "__rfloordiv__",
    ],
    *[
        "__mod__",
        "__pow__",
        "__rpow__",
        "__neg__",
        "__abs__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__eq__",
        "__ne__",
        "__bool__",
        "__int__",
    ],
    *[
        "__float__",
        "__index__",
        "__repr__",
        "__str__",
        "__format__",
        "__round__",
        "__ceil__",
        "__floor__",
        "bit_length",
        "numerator",
    ],
):
    setattr(Secret, _name, property(_looked) if _name == "numerator" else _looked)


def setting_of(schema: Schema, people: int) -> Basis:
    return Basis(schema, people, ADD_REMOVE)


def seen(question: Question, schema: Schema, people: int, spend: Bound) -> Any:
    """Return all that is public once a question is prepared: its event, its loss, a refusal, what is warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            prepared = question.prepare(setting_of(schema, people), spend)
            event = json.dumps(prepared.mechanism.event().to_json(), sort_keys=True, default=str)
            found: Any = (event, prepared.loss().to_json(), prepared.gauge)
        except SfumatoError as refused:
            found = (type(refused), str(refused))
    return found, [str(one.message) for one in heard]


@pytest.mark.parametrize("name", ASKED)
def test_no_question_looks_at_a_private_number(name: str) -> None:
    one, three = SCHEMAS.values()
    for schema, spend in [*((one, spend) for spend in WAYS.values()), (three, WAYS["Pure"])]:
        seen(ASKED[name](schema), schema, Secret(1000), spend)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_public_about_a_question_is_the_same_for_all_numbers(name: str) -> None:
    unmoved(ASKED[name], "one row", WAYS["Pure"], FEW)


@pytest.mark.audit
@pytest.mark.parametrize("spend", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("rows", SCHEMAS)
@pytest.mark.parametrize("name", ASKED)
def test_it_is_the_same_for_more_numbers_at_every_spend(name: str, rows: str, spend: Bound) -> None:
    unmoved(ASKED[name], rows, spend, (*NUMBERS, Secret(1000)))


def unmoved(asking: Asking, rows: str, spend: Bound, numbers: Sequence[int]) -> None:
    """Fail if something that is public depends on the number of people."""
    schema = SCHEMAS[rows]
    first, *others = (seen(asking(schema), schema, people, spend) for people in numbers)
    assert all(other == first for other in others)


def test_every_question_and_every_method_is_listed() -> None:
    asked = [asking(SCHEMAS["one row"]) for asking in ASKED.values()]
    shipped = {kind for kind, question in _KINDS.items() if question.__module__.startswith("sfumato.")}
    assert {type(question).kind for question in asked} == shipped
    assert {question.method for question in asked if isinstance(question, Synthesize)} == set(known())
    assert {question.method for question in asked if isinstance(question, Synopsize)} == set(ROOMS)


def test_where_people_come_and_go_no_plan_can_see_their_number() -> None:
    assert setting_of(SCHEMAS["one row"], Secret(1000)).people is None
    assert replace(Basis(SCHEMAS["one row"], 1000), relation=ADD_REMOVE).people is None
    with pytest.raises(Looked):
        str(Secret(1000))


# From the question to what leaves: nothing on the way looks at the number, except for rows that noise hides.

ROWS = {
    "age": [20, 30, 70, 41] * 25,
    "sex": ["Male", "Female", "Female", "Male"] * 25,
    "town": ["Ulm", "Ulm", "Rom", "Ulm"] * 25,
    "address": list(range(100)),
    "caller": [1, 2, 3, 4] * 25,
    "called": [5, 6, 7, 8] * 25,
    **{name: [0, 1, 1, 0] * 25 for name in BITS},
}


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with open_table(pyarrow.table(ROWS), SCHEMAS["one row"]) as opened:
        yield opened


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("name", [name for name in ASKED if not name.startswith("mwem, no replay")])
def test_nothing_that_is_released_looks_at_a_private_number(name: str, table: Table) -> None:
    schema = SCHEMAS["one row"]
    try:
        prepared = ASKED[name](schema).prepare(setting_of(schema, Secret(100)), Approximate(1, "1e-6"))
    except SfumatoError:
        return
    exact = prepared.exact(table)
    released = prepared.finish(prepared.mechanism.run(exact, Noise(insecure_seed=1)))
    json.dumps(released.to_json())


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_curator_says_nothing_that_depends_on_a_private_number() -> None:
    schema = SCHEMAS["one row"]
    with curate(pyarrow.table(ROWS), schema, Approximate(9, "1e-5"), relation=ADD_REMOVE) as curator:
        curator.basis = setting_of(schema, Secret(100))
        question = ASKED["Synthesize by mwem"](schema)
        assert curator.preview(question, Pure(1)).fits
        assert curator.largest(question, Pure(1)) == Pure(1)
        assert curator.loss([question, QUESTIONS["`Mean`"]], Pure(1)).within(Pure(1))
        curator.rehearse(question, Pure(1), people=50)
        curator.ask(QUESTIONS["`Histogram`"], Pure(1)).interval()
        curator.report()
        with curator.converse(["a", "b"], queries=100, spend=Approximate(1, "1e-6")) as talk:
            talk.ask("a = 1")


@pytest.mark.parametrize("spend", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("method", ["auto", "pure", "approximate"])
def test_a_conversation_is_opened_alike_for_all_numbers(method: Any, spend: Bound) -> None:
    schema = SCHEMAS["one row"]
    space = Space.of(schema, ("a", "b"))

    def opening(people: int) -> Any:
        setting = setting_of(schema, people).gauge(Rows(space.names))
        asked = Proposal(setting, space, spend, 1000, 0.05, method, True, None, start_of(space, None))
        try:
            return asked.event("now").to_json(), [loss.to_json() for loss in asked.losses()]
        except SfumatoError as refused:
            return type(refused), str(refused)

    first = opening(Secret(1000))
    assert all(opening(people) == first for people in NUMBERS)
