"""Which synopsis, with which error, from public facts alone; and what no synopsis can do (RL-PLAN)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb
from typing import Any

from sfumato.answer import Frame
from sfumato.ask.question import QUESTIONS
from sfumato.domain import booleans
from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, positive_integer
from sfumato.privacy import REPLACE_ONE, Bound, Relation, require_bound
from sfumato.questions.synopsis.designs import (
    NOMINAL,
    QUICK_SETS,
    Design,
    SynopsisFacts,
    fourier_design,
    largest_degree,
    marginal_design,
    query_probability,
    with_negations,
)
from sfumato.questions.synopsis.deviation import predicted
from sfumato.questions.synopsis.modelled import share_bias, share_noise
from sfumato.questions.synopsis.sums import sets_up_to
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.workload.moves import counted

DEEPEST = 6
"""Beyond so many columns in a set, noise is always worse than what is left out."""

EXPLICIT = 22
"""Up to so many binary columns all rows can be listed, and a model of all of them be fitted."""

MODEL = "a model of all rows"
"""The name of the way that `Synthesize` goes, where all rows can be listed."""

LISTED = "noise on every query"
"""The name of the way that is no synopsis: it answers the listed queries and no other."""


@dataclass(frozen=True)
class Way:
    """One way to answer, what it should cost in error, and what it needs.

    `noise` is the root mean squared error of a share by privacy noise, `bias` about what is left out, `worst` a bound
    on it for any table, or None where there is none. `needs` is the number of rows at which the error is what was
    asked for, None if it never is.
    """

    name: str
    noise: float
    bias: float
    worst: float | None
    numbers: int
    needs: float | None

    @property
    def error(self) -> float:
        """About the root mean squared error of a share."""
        return math.hypot(self.noise, self.bias)


@dataclass(frozen=True)
class SynopsisPlan:
    """Ways to answer all conjunctions of a width, the best first, and what is known to be impossible."""

    ways: tuple[Way, ...]
    floors: tuple[tuple[str, float], ...]
    warnings: tuple[str, ...]

    @property
    def best(self) -> Way:
        """The synopsis with the smallest predicted error."""
        return next(way for way in self.ways if way.name != LISTED)

    def to_frame(self) -> Frame:
        """Return the ways as a table."""
        columns: dict[str, tuple[Any, ...]] = {
            "way": tuple(way.name for way in self.ways),
            "error": tuple(way.error for way in self.ways),
            "noise": tuple(way.noise for way in self.ways),
            "left out": tuple(way.bias for way in self.ways),
            "numbers": tuple(way.numbers for way in self.ways),
            "rows needed": tuple(way.needs for way in self.ways),
        }
        return Frame(("way",), columns)


def plan_synopsis(
    columns: int,
    people: int,
    spend: Bound,
    *,
    width: int = 3,
    accuracy: Number = 0.05,
    relation: Relation = REPLACE_ONE,
) -> SynopsisPlan:
    """Compare ways to answer conjunctions of `width` binary columns, by their predicted error; nothing is read.

    Of Fourier coefficients it is that of conjunctions without negations, or with as many as not, whichever is more.

    `people` is the number of rows, or about what it is where that is private; `accuracy` is the error that would do.

    >>> from sfumato import Concentrated
    >>> plan = plan_synopsis(64, 100_000, Concentrated(0.1), width=3)
    >>> plan.best.name
    'marginals, order=3'
    """
    size, rows = positive_integer(columns, "columns"), positive_integer(people, "people")
    bound, wanted = require_bound(spend), float(above_zero(accuracy, "accuracy"))
    if not isinstance(width, int) or not 1 <= width <= size:
        raise ParameterError(f"A conjunction of {size} columns is from 1 to {size} wide, and {width!r} is not.")
    facts = SynopsisFacts(size, (0, size), relation is REPLACE_ONE, 1, float(rows))
    ways = [_listed(facts, bound, width, wanted)]
    for degree in range(1, min(DEEPEST, largest_degree(size, QUICK_SETS)) + 1):
        coefficients = fourier_design(facts, bound, degree, float(width))
        coefficients = with_negations(facts, bound, coefficients, width)
        ways.append(_way(f"fourier, degree={degree}", facts, coefficients, wanted))
        ways.append(_way(f"marginals, order={degree}", facts, marginal_design(facts, bound, degree, width), wanted))
    ways += _modelled(facts, bound, width, wanted, relation)
    ways.sort(key=lambda way: way.error)
    return SynopsisPlan(tuple(ways), floors(size, rows, width, wanted), _warnings(size, width, ways[0], wanted))


def _way(name: str, facts: SynopsisFacts, design: Design, wanted: float) -> Way:
    return Way(
        name,
        design.noise,
        design.bias,
        design.worst,
        sets_up_to(facts.size, design.degree),
        _rows_needed(facts, design.noise, design.bias, wanted),
    )


def _modelled(facts: SynopsisFacts, spend: Bound, width: int, wanted: float, relation: Relation) -> list[Way]:
    """Return the model of `Synthesize`, if rows can be listed and its error is foreseen."""
    if facts.size > EXPLICIT:
        return []
    schema = Schema({f"column {place}": booleans(missing=False) for place in range(facts.size)})
    question: Any = QUESTIONS["Synthesize"]()
    rows = facts.people or NOMINAL
    pair = question.pair_noise(Basis(schema, round(rows), relation), spend)
    if pair is None:
        return []
    noise, bias = share_noise(width, pair / rows), share_bias(width)
    return [Way(MODEL, noise, bias, None, sets_up_to(facts.size, 2), _rows_needed(facts, noise, bias, wanted))]


def _listed(facts: SynopsisFacts, spend: Bound, width: int, wanted: float) -> Way:
    """Noise on every conjunction of the width, one by one: exact but for noise, where they can be listed at all."""
    queries = comb(facts.size, width)
    noise = predicted(spend, counted(queries)) / (facts.people or NOMINAL)
    return Way(LISTED, noise, 0.0, 0.0, queries, _rows_needed(facts, noise, 0.0, wanted))


def _rows_needed(facts: SynopsisFacts, noise: float, bias: float, wanted: float) -> float | None:
    """Return the rows at which noise, which falls as they grow, leaves the wanted error; None if bias is above it."""
    if bias >= wanted:
        return None
    return (facts.people or NOMINAL) * noise / math.sqrt(wanted**2 - bias**2)


def floors(columns: int, people: int, width: int, accuracy: float) -> tuple[tuple[str, float], ...]:
    """Return lower bounds on error and on the rows needed, as orders of magnitude without constants and logarithms.

    For all conjunctions of a width no private release has an error below min(√rows, columns^(width/2)) rows (LB2), and
    for k random counts none below min(√k, √(rows·log k)) rows (LB3).
    """
    queries = max(2, comb(columns, width))
    marginals = min(math.sqrt(people), columns ** (width / 2)) / people
    random = min(math.sqrt(queries), math.sqrt(people * math.log(queries))) / people
    needed = min(columns ** (width / 2) / accuracy, 1 / accuracy**2)
    return (
        ("error of the worst conjunction", marginals),
        ("error of as many random counts", random),
        ("rows for the wanted accuracy", needed),
    )


def _warnings(columns: int, width: int, best: Way, wanted: float) -> tuple[str, ...]:
    found = [
        "A synopsis is no table: under cryptographic assumptions no fast algorithm writes synthetic rows that keep all "
        "conjunctions of two columns."
    ]
    if best.error > wanted:
        found.append(
            f"No way reaches an error of {wanted:g}; the best has about {best.error:.2g}. Spend more, or name fewer "
            "columns."
        )
    if width > math.log2(1 / wanted):
        found.append(
            f"Random conjunctions of {width} columns with negations are mostly true for a share below {wanted:g}, so "
            "that the answer 0 is as good as any."
        )
    if query_probability(columns, width) * columns > 8:
        found.append(
            "No efficient algorithm that asks for counts answers all conjunctions of every width; on average over "
            "queries, or up to a width, it can."
        )
    if columns <= EXPLICIT:
        found.append(
            f"{columns} binary columns have 2^{columns} rows, which can be listed: Synthesize gives rows to draw, too."
        )
    return tuple(found)


def plan_parities(columns: int, people: int, spend: Bound, *, accuracy: Number = 0.05, chunk: int = 8) -> Way:
    """Return the predicted error of all parities for rows that are replaced, and the rows needed for an accuracy.

    >>> from sfumato import Pure
    >>> plan_parities(32, 50_000, Pure(1)).error < 0.05
    True
    """
    levels = -(-positive_integer(columns, "columns") // chunk)
    wanted = float(above_zero(accuracy, "accuracy"))
    share = wanted**2 / 10
    noise = predicted(require_bound(spend), counted(2 * levels))
    least = max(share * people, noise / math.sqrt(2) * math.log(2 * levels * 2**chunk / (share * 0.05)))
    missed = math.sqrt(min(1.0, 2 * least / people)) / 2
    kept = noise * math.sqrt(min(2 / share, people / least)) / (2 * people)
    needs = noise / math.sqrt(2) / share * math.log(2 * levels * 2**chunk / (share * 0.05))
    return Way("parities", kept, missed, missed, levels << chunk, needs)
