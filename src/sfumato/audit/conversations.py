"""The exact law of a conversation, step by step.

An interaction sees its own past only through its state, which is JSON. So paths that lead to the same state
after the same values are joined before the next query is asked: the time grows with the number of queries
and of states, not with the number of paths. Every state is written as JSON and read back between two steps,
as a ledger does it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

from sfumato.audit.branching import MOST_BRANCHES, ONE, SCALE, BranchTable
from sfumato.audit.laws import MOST_PATHS, FiniteLaw, Run, enumerate_paths, table
from sfumato.audit.outcomes import freeze, name
from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, positive_integer
from sfumato.mechanism import Interaction
from sfumato.noise import Noise

Analyst = Sequence[Any] | Callable[[tuple[Any, ...]], Any]
"""The exact answers of a conversation, or a function from the values so far to the next one (None ends it)."""
Frozen = tuple[Hashable, ...]


def law_of_interaction(
    interaction: Interaction,
    queries: Analyst,
    tail: Number = 1e-9,
    *,
    paths: int = MOST_PATHS,
    lightest: Number = 0,
    branches: int = MOST_BRANCHES,
) -> FiniteLaw:
    """Return the exact law of the tuple of values of a conversation.

    `queries` is the list of the exact answers, or an adaptive analyst: a function from the tuple of values
    so far to the next exact answer, `None` to end.
    """
    return Conversations(interaction, table(tail, branches), paths, lightest).law(queries)


def converse(interaction: Interaction) -> Run:
    """Return the interaction as a mechanism from an analyst's exact answers to the tuple of values."""

    def run(queries: Analyst, noise: Noise) -> tuple[Any, ...]:
        state = interaction.start(noise)
        values: tuple[Any, ...] = ()
        while (query := _next_query(queries, values)) is not None:
            state, value, _ = interaction.step(state, query, noise)
            values = (*values, value)
        return values

    return run


class Conversations:
    """The laws of one interaction with different analysts; each step from a state is enumerated once."""

    def __init__(self, interaction: Interaction, draws: BranchTable, paths: int, lightest: Number = 0) -> None:
        self._interaction = interaction
        self._draws = draws
        self._paths = positive_integer(paths, "paths")
        self._lightest = int(at_least_zero(lightest, "lightest") * ONE)
        self._steps: dict[Hashable, FiniteLaw] = {}
        self._values: dict[Hashable, Any] = {}
        self._runs = 0

    def law(self, queries: Analyst) -> FiniteLaw:
        """Return the law of the values that this analyst gets."""
        start = self._enumerate("start", lambda _, noise: ("", _written(self._interaction.start(noise))), None)
        open_: dict[tuple[Frozen, str], int] = {((), state): mass for _, state, mass in _parts(start)}
        ended: dict[Hashable, int] = defaultdict(int)
        complete = start.complete
        while open_:
            following: dict[tuple[Frozen, str], int] = defaultdict(int)
            for (values, state), mass in open_.items():
                query = _next_query(queries, tuple(self._values[value] for value in values))
                if query is None:
                    ended[values] += mass
                    continue
                if mass <= self._lightest:
                    complete = False
                    continue
                step = self._step(state, query)
                complete = complete and step.complete
                for value, state_after, part in _parts(step):
                    following[(*values, value), state_after] += mass * part >> SCALE
            open_ = following
        return FiniteLaw(ended, complete, self._runs)

    def _step(self, state: str, query: Any) -> FiniteLaw:
        def run(exact: Any, noise: Noise) -> tuple[Hashable, str]:
            state_after, value, _ = self._interaction.step(json.loads(state), exact, noise)
            frozen = freeze(value)
            self._values[frozen] = value
            return frozen, _written(state_after)

        return self._enumerate((state, name(query)), run, query)

    def _enumerate(self, key: Hashable, run: Run, data: Any) -> FiniteLaw:
        if key not in self._steps:
            if self._runs >= self._paths:
                raise ParameterError(
                    "The conversation has more steps to run than paths= allows; ask fewer queries, widen tail=, give a "
                    "lightest= path, or raise paths=."
                )
            self._steps[key] = enumerate_paths(run, data, self._draws, self._paths - self._runs)
            self._runs += self._steps[key].paths
        return self._steps[key]


def _parts(step: FiniteLaw) -> Iterator[tuple[Hashable, str, int]]:
    """List the outcomes of a step: the value, the state after it, and the mass."""
    for outcome, mass in step.units.items():
        value, state = cast("tuple[Hashable, str]", outcome)
        yield value, state, mass


def _next_query(queries: Analyst, values: tuple[Any, ...]) -> Any:
    if callable(queries):
        return queries(values)
    return queries[len(values)] if len(values) < len(queries) else None


def _written(state: Any) -> str:
    try:
        return json.dumps(state)
    except TypeError as problem:
        raise ParameterError(
            f"The state of an interaction must be JSON, so that it can be stored: {problem}."
        ) from None
