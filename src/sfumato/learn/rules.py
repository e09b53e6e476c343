"""Learned rules: public, readable, stored as JSON, and all that a prediction needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.domain import Booleans, Categories, Domain, domain_from_json
from sfumato.errors import ParameterError
from sfumato.learn.cells import Codes, encoded, label_column, listed, named_columns
from sfumato.learn.facts import LearningFacts, joined
from sfumato.mechanism import Mechanism
from sfumato.registry import Registry

_RULES: Registry[type[Learned]] = Registry(
    "rule",
    "rules",
    {
        "box": "sfumato.papers.private_learning.box",
        "threshold": "sfumato.learn.threshold",
        "interval": "sfumato.papers.private_learning.interval",
        "fitted": "sfumato.papers.private_learning.fitted",
        "halfspace": "sfumato.papers.partial_dp.halfspace",
        "linear": "sfumato.learn.linear_rules",
        "linear labels": "sfumato.learn.linear_rules",
        "linear number": "sfumato.learn.linear_rules",
        "point": "sfumato.learn.point",
        "condition": "sfumato.learn.concepts",
        "bit cut": "sfumato.papers.private_learning.bit_threshold",
    },
)

UNMEASURED = (
    "Nothing measured how good this model is: no figure of it was paid for. Try it on people who were set aside, and "
    "keep what comes out to yourself."
)
"""What is said of a model that came without a figure."""


@dataclass(frozen=True, kw_only=True)
class Learned(ABC):
    """What was learned: it predicts a label, or a number, from people's features.

    It was released, so everything that is done with it is free. A subclass names its `kind`, adds fields that are
    JSON (whole numbers, text, lists), and writes `predicted`, `to_frame` and `__str__`.
    """

    kind: ClassVar[str]

    features: tuple[str, ...]
    domains: tuple[Domain, ...]
    labels: Domain

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _RULES.add_kind(cls)

    @abstractmethod
    def predicted(self, codes: Codes) -> NDArray[Any]:
        """Return a prediction for each row of codes."""

    @abstractmethod
    def to_frame(self) -> Frame:
        """Return what was learned as a table, as answers are shown."""

    def quality(self) -> tuple[str, ...]:
        """Say how good it is by what was released with it, and warn where that is no better than a guess; free."""
        return (UNMEASURED,)

    def known_by(self, mechanism: Mechanism) -> Self:
        """Return it with what the public numbers of the mechanism that drew it say of its parts."""
        return self

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, where they are listed; of two the second is the one that a rule speaks of."""
        return listed(self.labels)

    def encode(self, rows: Any) -> Codes:
        """Return the codes of people's features, repaired cell by cell; columns of a frame are found by name."""
        columns = named_columns(rows, self.features)
        if len(columns) != len(self.domains):
            raise ParameterError(
                f"X has {len(columns)} features, but this rule is expecting {len(self.domains)} features as input: "
                f"{', '.join(self.features)}."
            )
        return joined(
            [encoded(column, domain) for column, domain in zip(columns, self.domains, strict=True)], self.domains
        )

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return a prediction for each row: columns of a frame are found by name, those of an array by place."""
        return self.predicted(self.encode(rows))

    def score(self, rows: Any, labels: Any) -> float:
        """Return how good it is on people whose labels are known: the share told right, or of numbers R².

        Nothing is added to that figure: of private people it is private data, as that of a learner is.
        """
        from sklearn.metrics import accuracy_score, r2_score

        told = isinstance(self.labels, (Booleans, Categories))
        return float((accuracy_score if told else r2_score)(label_column(labels), self.predict(rows)))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `rule_from_json` reads back."""
        shared = {"features", "domains", "labels"}
        return {
            "rule": self.kind,
            "features": list(self.features),
            "domains": [domain.to_json() for domain in self.domains],
            "labels": self.labels.to_json(),
            **{part.name: _plain(getattr(self, part.name)) for part in fields(self) if part.name not in shared},
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a subclass from JSON; lists become tuples."""
        return {name: _frozen(value) for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class Rule(Learned):
    """A rule: it says the second label where it holds, and the first one elsewhere. A subclass writes two methods."""

    @abstractmethod
    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Tell for each row of codes whether the rule holds."""

    @abstractmethod
    def says(self) -> str:
        """Return when the rule holds, in words; without the labels."""

    def predicted(self, codes: Codes) -> NDArray[Any]:
        """Return the second label where the rule holds, and the first one elsewhere."""
        return np.array(self.classes)[self.holds(codes).astype(np.int64)]

    def to_frame(self) -> Frame:
        """Return the rule as a table of one row."""
        other, label = self.classes
        return Frame((), {"label": (label,), "if": (self.says(),), "otherwise": (other,)})

    def __str__(self) -> str:
        other, label = self.classes
        return f"{label!r} if {self.says()}, otherwise {other!r}"


def about(facts: LearningFacts) -> dict[str, Any]:
    """Return what every rule takes over from the public facts."""
    return {"features": facts.features, "domains": facts.domains, "labels": facts.labels}


def rule_from_json(record: Mapping[str, Any]) -> Learned:
    """Read what `Learned.to_json` wrote."""
    values = dict(record)
    rule = _RULES[values.pop("rule", None)]
    domains = tuple(domain_from_json(domain) for domain in values.pop("domains"))
    labels = domain_from_json(values.pop("labels"))
    features = tuple(values.pop("features"))
    return rule(features=features, domains=domains, labels=labels, **rule.read(values))


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value.to_json() if hasattr(value, "to_json") else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
