"""Which mechanism answers which question at which spend: `python -m tests.spends > docs/spends.md`.

Everything on the page is worked out by preparing the questions; a test checks that it is up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sfumato.ask.prepared import Exact, Several
from sfumato.ask.question import Question
from sfumato.domain import categories, integers, text
from sfumato.errors import SfumatoError
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal, SinhNormal
from sfumato.papers.query_release.geometry.question import Shaped
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise
from sfumato.papers.query_release.geometry.shaped import ShapedNoise
from sfumato.papers.query_release.synopses.hubs import HubEdges
from sfumato.papers.query_release.synopses.prefixes import PrefixTree
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import ADD_REMOVE, Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.questions.counts.groups import GroupBy, Histogram
from sfumato.questions.counts.people import People
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.distribution.nodes import NodeTree
from sfumato.questions.distribution.question import Distribution
from sfumato.questions.distribution.windows import RankWindows
from sfumato.questions.quantiles import JointQuantiles, Quantiles
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.questions.queries.noisy import NoisyWorkload
from sfumato.questions.queries.question import Queries
from sfumato.questions.synopsis.question import Synopsize
from sfumato.questions.synopsis.weighted import SubsetSums
from sfumato.questions.synthesis.adaptive import ChosenTables
from sfumato.questions.synthesis.check import CheckedTables
from sfumato.questions.synthesis.every_triple import EveryTriple
from sfumato.questions.synthesis.guarded import GuardedTables
from sfumato.questions.synthesis.looked import LookedTables
from sfumato.questions.synthesis.question import Synthesize
from sfumato.questions.synthesis.triples import TripleTables
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.totals.aggregates import Count, Mean, Sum, Variance
from sfumato.totals.found_keys import FoundGroups
from sfumato.totals.private_keys import StableHistogram
from sfumato.totals.rank_error import MeasuredCuts
from sfumato.totals.sparse_noise import SparseNoise
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.builders import marginals

COLUMNS = {
    "age": integers(0, 99, missing=0),
    "sex": categories("Female", "Male", missing="Female"),
    "town": text(max_bytes=20, missing=""),
    "address": integers(0, 10**12, missing=0),
    "caller": integers(0, 9_999, missing=0),
    "called": integers(0, 9_999, missing=0),
}
ONE = Schema(COLUMNS)
MANY = Schema(COLUMNS, person="person", rows_per_person=3)
KEYED = Schema(COLUMNS, person="person", rows_per_person=3, row_key=("visit",))

QUESTIONS: dict[str, Question] = {
    "`Count()`": Count(),
    "`Count(where)`": Count("age > 40"),
    "`People()`": People(),
    "`People(where)`": People("age > 40"),
    "`People(by)`": People(by="sex"),
    "`Sum`": Sum("age"),
    "`Mean`": Mean("age"),
    "`Mean(where)`": Mean("age", "sex = 'Male'"),
    "`Variance`": Variance("age"),
    "`Histogram`": Histogram("age"),
    "`Histogram(keys='private')`, text": Histogram("town", keys="private"),
    "`Histogram(keys='private')`, large domain": Histogram("address", keys="private"),
    "`Quantiles`": Quantiles("age"),
    "`Distribution`": Distribution("age"),
    "`Distribution`, large domain": Distribution("address"),
    "`GroupBy`": GroupBy("sex", [Count(), Mean("age")]),
    "`GroupBy(keys='private')`": GroupBy("town", [Count(), Mean("age")], keys="private"),
    "`Queries`": Queries(marginals(ONE, sets=[("age", "sex"), ("age",)])),
    "`Shaped`": Shaped(marginals(ONE, sets=[("sex",)])),
    "`Synopsize()`": Synopsize(columns=("age>=18", "age>=65", "sex=Male")),
    "`Synopsize('parities')`": Synopsize("parities", columns=("age>=18", "age>=65", "sex=Male")),
    "`Synopsize('cuts')`": Synopsize("cuts", columns=("caller", "called")),
    "`Synthesize`": Synthesize(columns=("age", "sex")),
}

SPENDS: dict[str, Bound] = {
    "Pure": Pure(1),
    "Concentrated": Concentrated("0.1"),
    "Truncated": Truncated("0.1", 10),
    "Approximate": Approximate(1, "1e-6"),
    "Pure per attribute": Pure(1).per_attribute(),
    "Concentrated per attribute": Concentrated("0.1").per_attribute(),
    "Truncated per attribute": Truncated("0.1", 10).per_attribute(),
}

SETTINGS: dict[str, Basis] = {
    "One row a person, a person is replaced (`REPLACE_ONE`)": Basis(ONE, 1000),
    "One row a person, a person is added or removed (`ADD_REMOVE`)": Basis(ONE, 1000, ADD_REMOVE),
    "Three rows a person and a row key, a person is replaced": Basis(KEYED, 1000),
    "Three rows a person and a row key, a person is added or removed": Basis(KEYED, 1000, ADD_REMOVE),
    "Three rows a person without a row key, a person is replaced": Basis(MANY, 1000),
    "Three rows a person without a row key, a person is added or removed": Basis(MANY, 1000, ADD_REMOVE),
}

_LAWS = {DiscreteLaplace: "Laplace", DiscreteGaussian: "Gaussian", RoundedNormal: "Gaussian", SinhNormal: "sinh-normal"}
_WORDS: dict[type[Mechanism], str] = {
    ChosenTables: "chosen tables with noise, fitted",
    JointQuantiles: "exponential mechanism, all together",
    QuantileChoice: "exponential mechanism",
    RecursiveNoise: "noise in the shape of the queries",
    ShapedNoise: "noise in the shape of the queries",
    StableHistogram: "Laplace noise above a threshold",
}


@dataclass(frozen=True)
class Cell:
    """What a question gets at a spend: words for the mechanism, or the sentence of the refusal."""

    setting: str
    question: str
    spend: str
    mechanism: str | None
    refusal: str | None = None


def cells() -> Iterator[Cell]:
    """Yield every cell of the page."""
    for setting_name, setting in SETTINGS.items():
        for question_name, question in QUESTIONS.items():
            for spend_name, spend in SPENDS.items():
                place = Cell(setting_name, question_name, spend_name, None)
                try:
                    words = described(question.prepare(setting, spend).mechanism)
                    yield replace(place, mechanism=words)
                except SfumatoError as refused:
                    yield replace(place, refusal=_sentence(refused, spend))


def _sentence(refused: SfumatoError, spend: Bound) -> str:
    """Return a refusal without the numbers of the spend, which are the reader's own."""
    whole = repr(replace(spend, unit="person"))
    return str(refused).replace(repr(spend), "the spend").replace(whole, "a spend for the whole person")


def described(mechanism: Mechanism) -> str:
    """Return a few words for a mechanism."""
    if isinstance(mechanism, MeasuredCuts):
        return f"{described(mechanism.cuts)}; {_LAWS[type(mechanism.error.law)]} noise on the measured error"
    if isinstance(mechanism, CheckedTables):
        return f"{described(mechanism.release)}, checked"
    if isinstance(mechanism, TripleTables | EveryTriple):
        return f"{described(mechanism.stack)[: -len(', fitted')]}, then triples, fitted"
    if isinstance(mechanism, LookedTables):
        return f"{described(mechanism.first)[: -len(', fitted')]}, looked at twice, fitted"
    if type(mechanism) in _WORDS:
        return _WORDS[type(mechanism)]
    match mechanism:
        case Exact():
            return "public, free"
        case AdditiveNoise():
            return f"{_LAWS[type(mechanism.law)]} noise"
        case SparseNoise():
            return f"{described(mechanism.noise)} on all cells, above a threshold"
        case NoisyWorkload():
            return f"{_LAWS[type(mechanism.law)]} noise, projected"
        case TableStack() if mechanism.parts[0].times > 1:
            return "Gaussian noise on contrasts, projected"
        case TableStack() | GuardedTables():
            return f"{_LAWS[type(mechanism.parts[0].law)]} noise on tables, fitted"
        case MedianTree() | NodeTree() | RankWindows():
            return _curve(mechanism)
        case SubsetSums() | PrefixTree() | HubEdges():
            return _sketched(mechanism)
        case FoundGroups():
            rest = [described(part) for part in mechanism.totals]
            return " + ".join(dict.fromkeys([described(mechanism.counts), *rest]))
        case Several():
            listed = dict.fromkeys(described(part) for part in mechanism.mechanisms)
            paid = [words for words in listed if words != "public, free"]
            return " + ".join(paid) or "public, free"
    raise AssertionError(f"{type(mechanism).__name__} has no words.")


def _curve(mechanism: MedianTree | NodeTree | RankWindows) -> str:
    match mechanism:
        case MedianTree():
            return f"medians, then {described(mechanism.counts)}"
        case NodeTree():
            return f"{described(mechanism.noise)} on {'a tree' if mechanism.levels > 1 else 'every value'}"
    return "interior points of ranks"


def _sketched(mechanism: SubsetSums | PrefixTree | HubEdges) -> str:
    match mechanism:
        case SubsetSums():
            return f"{_LAWS[type(mechanism.law)]} noise on sets of columns"
        case PrefixTree():
            return f"{_LAWS[type(mechanism.law)]} noise on a tree of prefixes"
    both = dict.fromkeys(_LAWS[type(law)] for law in (mechanism.degree_law, mechanism.edge_law))
    return f"{' and '.join(both)} noise on degrees and hubs"


def page(found: list[Cell]) -> str:
    """Return the page of these cells in Markdown."""
    shown = ", ".join(f"`{spend!r}`" for spend in list(SPENDS.values())[:4])
    lines = [
        "# Spends",
        "",
        "Which mechanism answers which question at which spend, or the sentence of the refusal. This page is written",
        "by `python -m tests.spends`, which prepares the questions that depend on the spend (audits are counts by group,",
        "and what learners take stands on [their page](learn.md)), and every cell of it is a test: the",
        "loss of what would run is proved to be within the spend.",
        "",
        f"The spends are {shown}.",
        "Where several kinds of noise fit a spend, the best one for its numbers and for the question is taken, so that",
        "other numbers may lead to another one.",
    ]
    refusals: dict[str, int] = {}
    for setting in SETTINGS:
        lines += ["", f"## {setting}", "", f"| question | {' | '.join(SPENDS)} |", "|---" * (len(SPENDS) + 1) + "|"]
        for question in QUESTIONS:
            row = [_shown(cell, refusals) for cell in found if (cell.setting, cell.question) == (setting, question)]
            lines.append(f"| {question} | {' | '.join(row)} |")
    lines += ["", "## Refusals", "", *(f"{number}. {sentence}" for sentence, number in refusals.items()), ""]
    return "\n".join(lines)


def _shown(cell: Cell, refusals: dict[str, int]) -> str:
    if cell.mechanism is not None:
        return cell.mechanism
    assert cell.refusal is not None
    return f"refused ({refusals.setdefault(cell.refusal, len(refusals) + 1)})"


if __name__ == "__main__":
    print(page(list(cells())), end="")
