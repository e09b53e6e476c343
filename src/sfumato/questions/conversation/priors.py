"""Where a conversation starts: nothing known, or a public prior."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.model.base import MOST_CELLS, Floats, Model
from sfumato.model.factored import Component, Factored
from sfumato.workload.space import Space

Prior = Model | Mapping[str, Sequence[float]]
"""A public model, or a law for each of some columns: a number above 0 for each value; other columns are even."""

WHOLE = 2**30
LEAST = 1e-250


@dataclass(frozen=True, eq=False)
class Start:
    """The distribution that a conversation starts from; it is public and costs nothing.

    `print` tells it from other priors, None if nothing was known.
    """

    components: tuple[Component, ...]
    print: str | None = None

    @property
    def surprise(self) -> float:
        """The largest relative entropy of any data to it: the logarithm of 1 over its least probability."""
        return sum(-float(np.log(component.probabilities.min())) for component in self.components)

    def model(self, space: Space, people: float) -> Factored:
        """Return it as a model of so many people."""
        return Factored(space, float(people), self.components)

    def weights(self) -> dict[str, list[int]]:
        """Return one-way laws in whole numbers, from which a sample of the domain is drawn."""
        if any(len(component.columns) > 1 for component in self.components):
            raise ParameterError(
                "With peak= a prior is one law for each column; write "
                "prior={name: model.marginal([name]) for name in model.space.names}."
            )
        return {
            component.columns[0]: [max(1, round(part * WHOLE)) for part in component.probabilities.tolist()]
            for component in self.components
        }


def start_of(space: Space, prior: Prior | None) -> Start:
    """Return where a conversation about a space starts; a prior must leave nothing impossible.

    >>> from sfumato.domain import booleans
    >>> from sfumato.table.schema import Schema
    >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
    >>> round(float(np.exp(-start_of(space, {"rain": [3, 1]}).surprise)), 3)
    0.125
    """
    if prior is None:
        return Start(_one_way(space, {}))
    if isinstance(prior, Model):
        return Start(_joint(space, prior), _print(prior.to_json()))
    if not isinstance(prior, Mapping):
        raise ParameterError("A prior is a public model, or a law by column; write prior={'age': [3, 2, 1]}.")
    laws = {name: _law(space, name, law) for name, law in prior.items()}
    return Start(_one_way(space, laws), _print({name: law.tolist() for name, law in laws.items()}))


def _one_way(space: Space, laws: Mapping[str, Floats]) -> tuple[Component, ...]:
    return tuple(
        Component((name,), np.log(laws[name]) if name in laws else np.zeros(size))
        for name, size in zip(space.names, space.sizes, strict=True)
    )


def _law(space: Space, name: str, law: Any) -> Floats:
    (size,) = space.shape([name])
    listed = np.asarray(law)
    if listed.dtype.kind not in "iuf" or listed.shape != (size,):
        raise ParameterError(f"The prior of {name!r} needs one number for each of its {size} values.")
    return _possible(listed.astype(np.float64), name)


def _joint(space: Space, model: Model) -> tuple[Component, ...]:
    """Return the columns of a space in a public model; independent parts stay apart."""
    missing = [name for name in space.names if name not in model.space.names]
    if missing or model.space.shape(space.names) != space.sizes:
        raise SchemaError(
            "The prior is a model of other columns, or of other values, than this conversation's; fit it on the same "
            "schema, or name its columns in domain=."
        )
    groups: list[tuple[str, ...]] = [space.names]
    if isinstance(model, Factored):
        held = [tuple(name for name in part.columns if name in space.names) for part in model.components]
        groups = [names for names in held if names]
    if any(np.prod(space.shape(names), dtype=np.float64) > MOST_CELLS for names in groups):
        raise DomainTooLarge(
            f"The prior has more than {MOST_CELLS} combinations; give one law for each column instead, "
            "{name: model.marginal([name]) for name in model.space.names}.",
            method="marginal",
        )
    return tuple(Component(names, np.log(_possible(model.marginal(names), ", ".join(names)))) for names in groups)


def _possible(weights: Floats, names: str) -> Floats:
    total = float(weights.sum())
    if not np.isfinite(weights).all() or not weights.min() > LEAST * total:
        raise ParameterError(
            f"The prior of {names} must give every combination a probability above 0, so that the data can correct it; "
            "mix it with a little of the even one."
        )
    return np.asarray(weights, dtype=np.float64)


def _print(record: Any) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
