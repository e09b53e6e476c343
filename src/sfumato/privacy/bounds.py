"""Bounds: what people write, as a spend for one question or as a limit for all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn, Self

from sfumato.errors import ParameterError
from sfumato.exact import (
    Number,
    above_zero,
    at_least_zero,
    between_zero_and_one,
    exact,
    from_text,
    positive_integer,
    to_text,
)
from sfumato.exact.rational import show
from sfumato.exact.written import amount
from sfumato.words import Guided, Understood

Unit = Literal["person", "attribute"]


def _unit(value: Unit) -> Unit:
    if value not in ("person", "attribute"):
        raise ParameterError(f"unit must be 'person' or 'attribute', and {value!r} is neither; leave unit= out.")
    return value


@dataclass(frozen=True)
class Bound(Guided, metaclass=Understood):
    """A ceiling on what may be learned about one person, or about one attribute of one person."""

    INSTEAD: ClassVar[Mapping[str, str]] = {
        "delta": "only Approximate(1, 1e-6) has one",
        "epsilon": "its number is another one; Cost.of(bound).epsilon_at(1e-6) is the epsilon at a delta",
    }
    unit: Unit = field(default="person", kw_only=True)

    def per_attribute(self) -> Self:
        """Return the same bound for neighbours that differ in one attribute of one person.

        >>> Pure(0.1).per_attribute()
        Pure(1/10).per_attribute()
        """
        return replace(self, unit="attribute")

    def split(self, parts: int) -> Self:
        """Return the largest part that provably fits `parts` times.

        The part of an `Approximate` bound fits a limit of that bound so often, one after the other, if one of the parts
        is the first question; who hands out parts to several people writes how delta is divided.

        >>> Pure(1).split(10), Approximate(1, 1e-6).split(100).epsilon > Fraction(1, 50)
        (Pure(1/10), True)
        """
        count = positive_integer(parts, "parts")
        return self if count == 1 else self._part(count)

    @abstractmethod
    def _part(self, count: int) -> Self:
        """Return the largest part that provably fits `count` times, of two or more."""

    def __add__(self, other: object) -> NoReturn:
        raise ParameterError(
            "Bounds are not added up, because two kinds of them have no sum; add what is lost, as in "
            "Cost.of(Pure(1)) + Cost.of(Concentrated(0.1)), and read it by epsilon_at(1e-6)."
        )

    __radd__ = __add__

    def __truediv__(self, other: object) -> NoReturn:
        raise ParameterError(
            "Bounds are not multiplied or divided; write Pure(1).split(2) for a part that fits twice, or the number "
            "itself, as in Pure(0.5)."
        )

    __mul__ = __rmul__ = __truediv__

    def __lt__(self, other: object) -> NoReturn:
        raise ParameterError(
            "Bounds of different kinds have no order and no difference; compare their numbers, as in bound.epsilon < 1."
        )

    __le__ = __gt__ = __ge__ = __sub__ = __rsub__ = __lt__

    def __float__(self) -> NoReturn:
        raise ParameterError(
            "A bound is no number: it has a kind and a unit; write float(Pure(1).epsilon), or the number of its kind, "
            "such as Concentrated(0.1).rho."
        )

    __int__ = __float__

    def __round__(self, digits: object = None) -> NoReturn:
        self.__float__()

    def explain(self) -> str:
        """Say in plain words what the bound means for somebody who is in the data: the odds of a yes-or-no guess.

        >>> Pure(1).explain()
        'Whoever guesses a yes-or-no fact about one person, 50:50 before, is right at most 73.2 % of the time after.'
        """
        from sfumato.privacy.explanation import explained

        return explained(self)

    @abstractmethod
    def _numbers(self) -> dict[str, Any]:
        """Return the parameters as JSON."""

    @abstractmethod
    def _shown(self) -> str:
        """Return the parameters exactly."""

    @abstractmethod
    def _read(self) -> tuple[str, ...]:
        """Return the parameters for people."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `bound_from_json` reads back exactly."""
        return {"bound": type(self).__name__, "unit": self.unit, **self._numbers()}

    def asked(self) -> dict[str, Any]:
        """Return the JSON of the bound as a spend: equal for spends that buy the same."""
        return self.to_json()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()}){self._suffix}"

    @property
    def _suffix(self) -> str:
        return ".per_attribute()" if self.unit == "attribute" else ""

    def __str__(self) -> str:
        """Return it for people: numbers as they were typed, and with three digits, to the weaker side, if computed.

        >>> print(Pure(0.1), Approximate(16, Fraction(1, 3**40)), Pure(1).split(3).per_attribute())
        Pure(0.1) Approximate(16, 8.23e-20) Pure(1/3).per_attribute()
        """
        return f"{type(self).__name__}({', '.join(self._read())}){self._suffix}"


@dataclass(frozen=True, repr=False)
class Pure(Bound):
    """Pure differential privacy: no answer becomes more than e^epsilon times likelier by one person's data.

    >>> Pure(0.1).split(2)
    Pure(1/20)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number, *, unit: Unit = "person") -> None:
        object.__setattr__(self, "epsilon", at_least_zero(epsilon, "epsilon"))
        object.__setattr__(self, "unit", _unit(unit))

    def _part(self, count: int) -> Pure:
        return replace(self, epsilon=self.epsilon / count)

    def _numbers(self) -> dict[str, Any]:
        return {"epsilon": to_text(self.epsilon)}

    def _shown(self) -> str:
        return str(self.epsilon)

    def _read(self) -> tuple[str, ...]:
        return (amount(self.epsilon),)


@dataclass(frozen=True, repr=False)
class Concentrated(Bound):
    """Zero-concentrated differential privacy: the Rényi divergence of order a is at most rho·a, for every a > 1."""

    rho: Fraction

    def __init__(self, rho: Number, *, unit: Unit = "person") -> None:
        object.__setattr__(self, "rho", at_least_zero(rho, "rho"))
        object.__setattr__(self, "unit", _unit(unit))

    def _part(self, count: int) -> Concentrated:
        return replace(self, rho=self.rho / count)

    def _numbers(self) -> dict[str, Any]:
        return {"rho": to_text(self.rho)}

    def _shown(self) -> str:
        return str(self.rho)

    def _read(self) -> tuple[str, ...]:
        return (amount(self.rho),)


@dataclass(frozen=True, repr=False)
class Truncated(Bound):
    """Truncated concentrated differential privacy: the Rényi divergence of order a is at most rho·a up to a = omega."""

    rho: Fraction
    omega: Fraction

    def __init__(self, rho: Number, omega: Number, *, unit: Unit = "person") -> None:
        object.__setattr__(self, "rho", at_least_zero(rho, "rho"))
        limit = exact(omega, "omega")
        if limit <= 1:
            raise ParameterError(
                f"omega must be above 1, and {show(limit)} is not; write for example Truncated({show(self.rho)}, 20), "
                f"or Concentrated({show(self.rho)}) for all orders."
            )
        object.__setattr__(self, "omega", limit)
        object.__setattr__(self, "unit", _unit(unit))

    def _part(self, count: int) -> Truncated:
        return replace(self, rho=self.rho / count)  # omega does not degrade

    def _numbers(self) -> dict[str, Any]:
        return {"rho": to_text(self.rho), "omega": to_text(self.omega)}

    def _shown(self) -> str:
        return f"{self.rho}, {self.omega}"

    def _read(self) -> tuple[str, ...]:
        return amount(self.rho), amount(self.omega, up=False)


@dataclass(frozen=True, repr=False)
class Approximate(Bound):
    """Approximate differential privacy: pure(epsilon) except for a probability of at most delta.

    As a limit, delta is divided between mechanisms that leak with small probability, Rényi orders and Gaussians. The
    first question that touches the limit decides how, unless whoever makes the ledger does: `leaks` and `gauss` are
    parts of delta, the rest is for Rényi orders, and `routes` are these orders with weights (see `docs/ledger.md`).
    """

    epsilon: Fraction
    delta: Fraction
    leaks: Fraction | None = field(kw_only=True)
    routes: tuple[tuple[Fraction, Fraction], ...] = field(kw_only=True)
    gauss: Fraction | None = field(kw_only=True)

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        *,
        leaks: Number | None = None,
        routes: tuple[tuple[Number, Number], ...] = (),
        gauss: Number | None = None,
        unit: Unit = "person",
    ) -> None:
        object.__setattr__(self, "epsilon", at_least_zero(epsilon, "epsilon"))
        object.__setattr__(self, "delta", between_zero_and_one(delta, "delta"))
        object.__setattr__(self, "routes", _routes(routes))
        lost, normal = _divided(self.delta, leaks, gauss, bool(routes))
        object.__setattr__(self, "leaks", lost)
        object.__setattr__(self, "gauss", normal)
        if _unit(unit) != "person":
            raise ParameterError(
                "Approximate has no per-attribute form, because its group property is too weak; "
                "write Concentrated(rho).per_attribute() or Pure(epsilon).per_attribute()."
            )
        object.__setattr__(self, "unit", unit)

    @property
    def divided(self) -> bool:
        """Whether it was written how delta is divided; otherwise the first question decides."""
        return self.leaks is not None

    def _part(self, count: int) -> Approximate:
        """Return the larger of epsilon/count and what one of the routes of the limit carries."""
        from sfumato.privacy.settlement import largest_part

        if self.leaks == 0:
            raise ParameterError(
                "A part of an Approximate bound needs a delta of its own, and leaks=0 leaves none; leave leaks= out, "
                f"or split Pure({show(self.epsilon)})."
            )
        return Approximate(*largest_part(self, count))

    def share(self, parts: int) -> Concentrated:
        """Return the Gaussian spend that fits a limit of this bound `parts` times, with what the limit reserves.

        >>> float(Approximate(1, 1e-6).share(1).rho)
        0.027027067151
        """
        from sfumato.privacy.settlement import gaussian_share

        return Concentrated(gaussian_share(self) / (2 * positive_integer(parts, "parts")))

    def _numbers(self) -> dict[str, Any]:
        numbers = {
            "epsilon": to_text(self.epsilon),
            "delta": to_text(self.delta),
            "leaks": None if self.leaks is None else to_text(self.leaks),
            "routes": [[to_text(order), to_text(weight)] for order, weight in self.routes],
        }
        return {**numbers, "gauss": to_text(self.gauss)} if self.gauss else numbers

    def asked(self) -> dict[str, Any]:
        """Return the JSON of a spend: how a limit divides its delta is no part of what is asked.

        It is what earlier versions wrote, so that a question asked before is known again.
        """
        return Approximate(self.epsilon, self.delta, leaks=self.delta / 2).to_json()

    def _shown(self) -> str:
        return f"{self.epsilon}, {self.delta}"

    def _read(self) -> tuple[str, ...]:
        return amount(self.epsilon), amount(self.delta)


def _divided(
    delta: Fraction, leaks: Number | None, gauss: Number | None, routes: bool
) -> tuple[Fraction | None, Fraction | None]:
    """Return the parts of delta for leaks and for Gaussians, None for both if the first question decides."""
    if leaks is None and gauss is None:
        return (delta / 2, Fraction(0)) if routes else (None, None)
    lost = Fraction(0) if leaks is None else at_least_zero(leaks, "leaks")
    normal = Fraction(0) if gauss is None else at_least_zero(gauss, "gauss")
    if lost + normal > delta:
        name, part = ("leaks", lost) if not normal else ("leaks and gauss together", lost + normal)
        raise ParameterError(
            f"{name} must be at most delta, and {show(part)} is above {show(delta)}; leave {name.split(' ')[0]}= out "
            "to let the first question decide."
        )
    return lost, normal


def _routes(routes: tuple[tuple[Number, Number], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    pairs = tuple((exact(order, "a route's order"), above_zero(weight, "a route's weight")) for order, weight in routes)
    if any(order <= 1 for order, _ in pairs) or sum(weight for _, weight in pairs) > 1:
        raise ParameterError(
            "routes must be pairs of an order above 1 and a weight, the weights at most 1 together; "
            "write for example routes=((8, 0.5), (24, 0.5))."
        )
    return pairs


def for_each_of_two(bound: Bound) -> Bound:
    """Return what one person may cost so that two people who change together cost no more than the bound.

    >>> for_each_of_two(Pure(1)), for_each_of_two(Concentrated(1)), for_each_of_two(Truncated(1, 10))
    (Pure(1/2), Concentrated(1/4), Truncated(1/4, 20))
    """
    match bound:
        case Pure():
            return Pure(bound.epsilon / 2, unit=bound.unit)
        case Concentrated():
            return Concentrated(bound.rho / 4, unit=bound.unit)
        case Truncated():
            return Truncated(bound.rho / 4, 2 * bound.omega, unit=bound.unit)
    raise ParameterError(f"{bound!r} has no half for each of two people; write Pure, Concentrated or Truncated.")


def require_bound(spend: object, name: str = "spend") -> Bound:
    """Return a bound, refusing bare numbers with a sentence that says what to write.

    >>> require_bound(0.1)
    Traceback (most recent call last):
        ...
    sfumato.errors.ParameterError: spend must be a bound, not the bare number 0.1; write Pure(0.1), \
Concentrated(0.1), Truncated(0.1, 20) or Approximate(0.1, 1e-6).
    """
    if isinstance(spend, Bound):
        return spend
    if isinstance(spend, str):
        raise ParameterError(f"{name} must be a bound, not text; write it without quotes, as in Pure(0.1).")
    if isinstance(spend, (tuple, list)) and len(spend) == 2:
        raise ParameterError(f"{name} must be a bound, not a pair; write Approximate(epsilon, delta).")
    if isinstance(spend, type) and issubclass(spend, Bound):
        raise ParameterError(f"{name} must be a bound with its number; write for example {spend.__name__}(0.1).")
    if isinstance(spend, (int, float, Fraction)) and not isinstance(spend, bool):
        raise ParameterError(
            f"{name} must be a bound, not the bare number {spend}; write Pure({spend}), Concentrated({spend}), "
            f"Truncated({spend}, 20) or Approximate({spend}, 1e-6)."
        )
    raise ParameterError(f"{name} must be a bound, not {type(spend).__name__}; write for example Pure(0.1).")


WORDS = ("epsilon", "delta", "rho", "omega")
"""The numbers of a bound, which may be written instead of it where a spend is asked for."""


def bound_of(**numbers: Number) -> Bound:
    """Return the bound that some numbers mean: how people write a spend who come from other libraries.

    >>> bound_of(epsilon=0.1), bound_of(epsilon=1, delta=1e-6), bound_of(rho=0.05), bound_of(rho=0.05, omega=20)
    (Pure(1/10), Approximate(1, 1/1000000), Concentrated(1/20), Truncated(1/20, 20))
    """
    match sorted(numbers):
        case ["epsilon"]:
            return Pure(numbers["epsilon"])
        case ["delta", "epsilon"]:
            without = exact(numbers["delta"], "delta") == 0
            return Pure(numbers["epsilon"]) if without else Approximate(numbers["epsilon"], numbers["delta"])
        case ["rho"]:
            return Concentrated(numbers["rho"])
        case ["omega", "rho"]:
            return Truncated(numbers["rho"], numbers["omega"])
    verb = "does" if len(numbers) == 1 else "do"
    raise ParameterError(
        f"{' and '.join(f'{name}=' for name in numbers)} {verb} not make a spend; write epsilon=0.1, epsilon=1 with "
        "delta=1e-6, or rho=0.05."
    )


def bound_from_json(record: dict[str, Any]) -> Bound:
    """Read what `Bound.to_json` wrote."""
    kinds: dict[str, Callable[..., Bound]] = {
        "Pure": Pure,
        "Concentrated": Concentrated,
        "Truncated": Truncated,
        "Approximate": Approximate,
    }
    values = dict(record)
    name = values.pop("bound", None)
    if name not in kinds:
        raise ParameterError(f"No bound is called {name!r}; it was stored by a newer version of sfumato.")
    kind = kinds[name]
    unit = values.pop("unit")
    if kind is Approximate:
        unit = "person"  # earlier versions took such a spend per attribute, and charged a person with what it says
    routes = tuple((from_text(order), from_text(weight)) for order, weight in values.pop("routes", ()))
    extra = {"routes": routes} if kind is Approximate else {}
    read = {key: None if value is None else from_text(value) for key, value in values.items()}
    return kind(**read, **extra, unit=unit)
