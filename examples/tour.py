"""A short tour of what exists: noise, losses, choices, and an attempt to break each promise.

Run it with `make tour`. It writes its pictures to `out/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time

from sfumato import Approximate, Concentrated, Cost, Loss, Noise, Pure, Truncated, audit, perturb, select, show
from sfumato.noise import DiscreteLaplace
from sfumato.privacy.filters import filter_of

OUT = Path(__file__).resolve().parent.parent / "out"


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'─' * len(text)}")


def answers() -> None:
    """A count under every kind of spend."""
    heading("A count of 1,234 people, under four kinds of spend")
    rows = []
    for spend in (Pure(0.1), Concentrated(0.01), Truncated(0.01, 20), Approximate(0.5, 1e-6)):
        count = perturb.calibrate(spend, sensitivity=1)
        rows.append([repr(spend), type(count.law).__name__, str(count(1234)), f"± {count.error(0.95)}"])
    print(show.table("", ["spend", "noise", "answer", "95 % of the noise"], rows).text(100))
    print(Pure(0.1).explain())


def speed() -> None:
    """A million exact draws."""
    heading("A million exact draws: no floating point decides anything")
    noise = Noise()
    draws: dict[str, Callable[[], object]] = {
        "discrete Laplace, scale 10": lambda: noise.discrete_laplace(10, 1_000_000),
        "discrete Gaussian, sigma 10": lambda: noise.discrete_gaussian(100, 1_000_000),
        "rounded sinh-normal, sigma 10": lambda: noise.sinh_normal(100, 20, 1_000_000),
    }
    for name, draw in draws.items():
        draw()
        start = process_time()
        draw()
        print(f"  {name:<32}{1000 * (process_time() - start):6.1f} ms of CPU")


def losses() -> None:
    """Losses per person and per attribute, and a budget that they fit exactly."""
    heading("Losses add up exactly, for a person and for each attribute")
    ages = Loss.flat(Cost.pure(0.1), reads={"age"})
    wages = Loss.flat(Cost.concentrated(0.02), reads={"wage", "sex"})
    together = 10 * ages + wages
    for name in ("age", "wage", "city"):
        print(f"  {name:<8} epsilon {float(together.at(name).epsilon_at(1e-6)):.3f} at delta 1e-6")
    print(f"  {'person':<8} epsilon {float(together.person.epsilon_at(1e-6)):.3f} at delta 1e-6")
    gate = filter_of(Pure(1))
    sums = gate.zero()
    for _ in range(10):
        sums = gate.add(sums, gate.charge(Cost.pure(0.1)))
    print(f"  ten tenths fit Pure(1): {gate.fits(sums)}; one more hundredth: {gate.accepts(sums, Cost.pure(0.01))}")


def choices() -> None:
    """Private choice over a short list and over 2^64 candidates."""
    heading("Private choice")
    ways = {"bus": 120, "tram": 340, "walk": 80}
    print(f"  exponential, {ways}: {select.exponential(Pure(1))(ways)!r}")
    stable = select.stable(Approximate(1, 1e-6))
    print(f"  the clear winner, or nothing: {stable(ways)!r}; of a tie: {stable({'a': 50, 'b': 50})!r}")
    steps = select.StepFunction([0, 10**18, 10**18 + 5], [0, 400, 0], end=2**64)
    print(f"  one of 2^64 candidates, five of them good: {select.exponential(Pure(1))(steps)}")


def promises() -> None:
    """The law of the code that ships, enumerated; and half the noise, caught."""
    heading("Do not believe it: enumerate it")
    count = perturb.calibrate(Pure(0.5), sensitivity=1)
    honest = audit.check(count, [(5, 6)])
    weak = audit.check(replace(count, law=DiscreteLaplace(1)), [(5, 6)], claim=count.loss())
    print(f"  {honest.title}")
    print(f"  {weak.title} (half the noise)")
    OUT.mkdir(exist_ok=True)
    names = [honest.plot(OUT / "kept.svg").name, weak.plot(OUT / "broken.svg").name]
    print(f"  pictures in out/: {', '.join(names)}")


if __name__ == "__main__":
    answers()
    speed()
    losses()
    choices()
    promises()
