"""What a ledger was made for: fixed in its first row, compared whenever it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.budget import Budget
from sfumato.ledger.readings import Odometer
from sfumato.privacy import REPLACE_ONE, Approximate, Relation
from sfumato.privacy.calibrate import Gaussians


@dataclass(frozen=True)
class Terms:
    """Whose ledger it is and what it promises.

    Limits on attributes mean the same under both relations: one person is there in both worlds, and only these
    attributes differ. The filters stand under add-remove neighbours as they are (LF:L1, LF:L2, LF:L7): their
    proofs fix one pair of tables of the limit's own relation and use of each request nothing but a cost that holds
    for that pair, `loss.at(attributes)`, which under add-remove neighbours is the changed cell's or that of a record
    that leaves and one that enters, never the person's. How many people there are plays no part.

    `schema` is a fingerprint of the public schema: two curators that read the columns differently must not
    share a ledger. `gaussians` says which Gaussian noise is drawn: rounded where an Approximate limit measures it, and
    that of earlier versions in their ledgers, so that what was drawn there is read as it was drawn. `exact_lists` says
    so of lists: whether their noise is that of their exact total; `rank_errors` of quantiles and curves: whether a part
    of their spend measures how far off they are.
    """

    budget: Budget
    analysts: Mapping[str, Budget] = field(default_factory=dict)
    population: str | None = None
    relation: Relation = REPLACE_ONE
    schema: str | None = None
    odometer: Odometer = field(default_factory=Odometer)
    gaussians: Gaussians = "wide"
    exact_lists: bool = True
    rank_errors: bool = True
    later: frozenset[str] = frozenset()
    """Analysts whose quota was declared after the ledger was made; no part of what it was made with."""

    @property
    def askers(self) -> frozenset[str]:
        """Everybody who has a quota; where anybody has one, only they may ask."""
        return frozenset(self.analysts) | self.later

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise ParameterError(
                f"A ledger needs a Budget, not {type(self.budget).__name__}; write Budget(person=Pure(3))."
            )
        for name, quota in self.analysts.items():
            if not isinstance(quota, Budget):
                raise ParameterError(
                    f"analysts[{name!r}] must be a Budget; write {{{name!r}: Budget(person=Pure(1))}}."
                )
        if any(quota.units for quota in self.analysts.values()):
            raise ParameterError("Limits on each period are common to all; leave units= out of the analysts' budgets.")
        if not isinstance(self.relation, Relation):
            raise ParameterError("relation must be REPLACE_ONE or ADD_REMOVE.")
        if self.budget.secrets is not None:
            secrets = self.budget.secrets
            object.__setattr__(self, "analysts", {name: quota.about(secrets) for name, quota in self.analysts.items()})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {
            "budget": self.budget.to_json(),
            "analysts": {name: quota.to_json() for name, quota in self.analysts.items()},
            "population": self.population,
            "relation": self.relation.value,
            "schema": self.schema,
            "odometer": self.odometer.to_json(),
            "gaussians": self.gaussians,
            "exact_lists": self.exact_lists,
            "rank_errors": self.rank_errors,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Terms:
        """Read what `to_json` wrote."""
        return cls(
            Budget.from_json(record["budget"]),
            {name: Budget.from_json(quota) for name, quota in record["analysts"].items()},
            record["population"],
            Relation(record["relation"]),
            record["schema"],
            Odometer.from_json(record["odometer"]),
            record.get("gaussians", "discrete"),
            record.get("exact_lists", False),
            record.get("rank_errors", False),
        )


@dataclass(frozen=True)
class Opening:
    """What the opener of a ledger says about it; None where nothing is said."""

    budget: Budget | None = None
    analysts: Mapping[str, Budget] | None = None
    population: str | None = None
    relation: Relation | None = None
    schema: str | tuple[str, ...] | None = None
    """A fingerprint, or several of which the ledger's may be any: the first one is that of a new ledger."""
    odometer: Odometer | None = None

    @property
    def schemas(self) -> tuple[str, ...]:
        """All fingerprints that were given."""
        return () if self.schema is None else (self.schema,) if isinstance(self.schema, str) else tuple(self.schema)

    def terms(self, place: str) -> Terms:
        """Return the terms of a new ledger."""
        if self.budget is None:
            raise LedgerError(
                f"There is no ledger at {place}; to make one, give its budget, for example Budget(person=Pure(3)), "
                f"or run sfumato ledger create {place} --person 'Pure(3)' --schema people.toml."
            )
        return Terms(
            self.budget,
            dict(self.analysts or {}),
            self.population,
            self.relation or REPLACE_ONE,
            self.schemas[0] if self.schemas else None,
            self.odometer or Odometer(),
            _gaussians([self.budget, *(self.analysts or {}).values()]),
        )

    def compare(self, stored: Terms, place: str) -> None:
        """Refuse a ledger that was made for something else; nothing is changed."""
        if self.population is not None and self.population != stored.population:
            raise LedgerError(
                f"The ledger at {place} belongs to the population {stored.population!r}, not to {self.population!r}; "
                "each population has a ledger of its own."
            )
        if self.schemas and stored.schema is not None and stored.schema not in self.schemas:
            raise LedgerError(
                f"The ledger at {place} was made for another schema (fingerprint {stored.schema[:8]}…, this one is "
                f"{self.schemas[0][:8]}…); open it with the schema that it was made for. A ledger fixes every public "
                "fact: columns, ranges, categories, rows_per_person. Bins and other derived columns may be added under "
                "new names; those that it was made with stay as they were. To go on with a corrected schema make a new "
                "ledger at another place: that is a new promise, and what was spent from the old one adds to it."
            )
        if self.relation is not None and self.relation is not stored.relation:
            raise LedgerError(
                f"The ledger at {place} speaks of {stored.relation.value} neighbours; open it with relation="
                f"{stored.relation!r}."
            )
        if self.odometer is not None and self.odometer != stored.odometer:
            raise LedgerError(f"The odometer of the ledger at {place} was fixed when it was made; leave odometer= out.")
        if self.budget is not None and not _same(self.budget, stored.budget, stored.budget):
            raise LedgerError(
                f"The ledger at {place} was made with another budget, and limits are fixed for ever; leave the budget "
                "out to see it, lower a limit with ledger.lower, or add one with ledger.add_limit."
            )
        if self.analysts is not None:
            same = self.analysts.keys() == stored.analysts.keys() and all(
                _same(quota, stored.analysts[name], stored.budget) for name, quota in self.analysts.items()
            )
            if not same:
                raise LedgerError(
                    f"The ledger at {place} was made with other analysts; leave analysts= out to see them."
                )


def _gaussians(budgets: Iterable[Budget]) -> Gaussians:
    """Return which Gaussian noise a new ledger draws: where a limit measures Gaussians, always the rounded one."""
    bounds = [bound for budget in budgets if isinstance(budget, Budget) for bound in budget.bounds()]
    return "rounded" if any(isinstance(bound, Approximate) for bound in bounds) else "wide"


def _same(given: Budget, stored: Budget, common: Budget) -> bool:
    """Compare budgets; where nobody says how delta is divided, it is as it was written when the ledger was made."""
    secrets = stored.secrets or common.secrets
    about = given if secrets is None else given.about(secrets)
    return about == stored or about.as_divided_before() == stored


def with_schema(terms: Terms, schema: str) -> Terms:
    """Return the terms with the fingerprint of the schema that was first used."""
    return replace(terms, schema=schema)
