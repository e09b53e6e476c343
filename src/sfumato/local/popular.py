"""What a server finds: items with shares and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.answer import Frame
from sfumato.answer.exports import Exports
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.local.evidence import Evidence, Law
from sfumato.words import nearest

if TYPE_CHECKING:
    from sfumato.local.check import Check
    from sfumato.local.means import Ones
    from sfumato.show import Drawing

UNPROMISED = (
    "The items may have more than 12 bytes: there the intervals of items that the search found are not promised (they "
    "held in 25 of 28 simulated finds), and fewer items are found where many are just popular enough."
)
EMPTY = "(empty)"
"""How an item without any letters is shown."""
DRAWN = 40
"""So many items are drawn, or shown in a notebook."""


def _half_width(error: float, confidence: Number) -> float:
    from scipy.special import ndtri

    wanted = between_zero_and_one(confidence, "confidence")
    return error * float(ndtri(float(1 + wanted) / 2))


@dataclass(frozen=True)
class PopularItem:
    """An item, the estimated share of the reports that hold it, and the standard error of that share.

    `score` is how many standard errors above zero the evidence is that found it. `apart` is share and error by the
    devices alone that took no part in the search, where there are such: a rougher estimate which nothing selected.
    If the range of `apart`, two errors to each side, holds 0 for an item near the cut, do not build on it. `listed`
    says whether the item is there as a candidate of a list that was asked. `influence` is how many users one made-up
    report counts for in this share, at most.

    >>> low, high = PopularItem("red", share=0.25, error=0.01).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (0.23, 0.27)
    """

    value: Any
    share: float
    error: float
    score: float = 0.0
    apart: tuple[float, float] | None = None
    listed: bool = False
    influence: float | None = None
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    """How the share was read; `interval` works with it."""

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Return a range, within 0 and 1, that holds the true share among the reports about this often.

        It covers the noise of the reports. For an item that was found it also allows for its having been found: among
        all that happened to pass the cut, also those just above it, it holds as often.
        """
        known = Evidence(Law(self.error**2)) if self.evidence is None else self.evidence
        return known.interval(self.share, confidence)

    @cached_property
    def low(self) -> float:
        """The lower end of `interval(0.95)`."""
        return self.interval()[0]

    @cached_property
    def high(self) -> float:
        """The upper end of `interval(0.95)`."""
        return self.interval()[1]

    def to_json(self) -> dict[str, Any]:
        """Return the item as JSON."""
        return {
            "value": plain(self.value),
            "share": self.share,
            "error": self.error,
            "low": self.low,
            "high": self.high,
            "score": self.score,
            "apart": None if self.apart is None else {"share": self.apart[0], "error": self.apart[1]},
            "listed": self.listed,
            "influence": self.influence,
        }


@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased mean, and the largest standard error that it has whatever the numbers of the devices are.

    >>> low, high = MeanEstimate(20.0, error=1.0).interval(0.95)
    >>> round(low, 2), round(high, 2)
    (18.04, 21.96)
    """

    value: float
    error: float
    evidence: Ones | None = field(default=None, repr=False, compare=False)
    """What the reports said; `interval` works with it."""

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Return a range that holds the mean of the reports' numbers at least this often, whatever they are.

        It covers all that the devices draw: the rounding of each number to an end, and the noise of the reports.
        """
        if self.evidence is not None:
            return self.evidence.interval(confidence)
        half = _half_width(self.error, confidence)
        return self.value - half, self.value + half


class _List(Exports, Sequence[PopularItem]):
    """Items by their place, `found[0]`, or by their name, `found["tea"]`; one that is a number by `named(7)`."""

    items: tuple[PopularItem, ...]
    reports: int

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, (int, np.integer, slice)):
            return self.named(place)
        try:
            return self.items[place]
        except IndexError:
            raise IndexError(
                f"There are {len(self.items)} items, at the places from 0 on; for an item that is a number write "
                f"named({place})."
            ) from None

    def __contains__(self, item: object) -> bool:
        return any(one == item if isinstance(item, PopularItem) else one.value == item for one in self.items)

    def __iter__(self) -> Iterator[PopularItem]:
        return iter(self.items)

    def named(self, value: Any) -> PopularItem:
        """Return the item of this name, or say which there are."""
        for item in self.items:
            if item.value == value:
                return item
        known = [str(item.value) for item in self.items]
        said = nearest(str(value), known) if known else "this list has none."
        raise ParameterError(
            f"{str(value)[:40]!r} is not among these items; {said} server.estimate([{value!r:.40}]) gives the share of "
            "any item of the plan."
        )

    def to_arrow(self) -> Any:
        """Return an Arrow table: the items, their shares with 95 % intervals, and standard errors."""
        columns: dict[str, tuple[Any, ...]] = {
            "item": tuple(item.value for item in self.items),
            **{name: tuple(getattr(item, name) for item in self.items) for name in ("share", "low", "high", "error")},
        }
        notes = ("The intervals are of 95 % and cover the noise of the reports only.", *self.notes)
        return Frame(("item",), columns, notes=notes).to_arrow()

    def to_json(self) -> list[dict[str, Any]]:
        """Return the list as JSON."""
        return [item.to_json() for item in self.items]

    def plot(self, path: str | Path | None = None) -> Drawing:
        """Return the picture of the shares with what the noise may have moved; with a path, also write it there."""
        from sfumato.show import Bar, bars

        if not self.items:
            raise ParameterError("No item was found, so there is nothing to draw.")
        axis = "share of the reports in per cent, and 95 % interval"
        rows = [
            Bar(_label(item.value), *(100 * part for part in (item.share, item.low, item.high))) for item in self._shown
        ]
        drawing = bars(self._title, axis, rows)
        if path is not None:
            drawing.save(path)
        return drawing

    def html(self) -> str:
        """Return a table of the shares, and their picture, as HTML that loads nothing from anywhere."""
        from sfumato.show import html, table

        rows = [
            [line(item.value), *(f"{100 * part:.3f}" for part in (item.share, item.low, item.high))]
            for item in self._shown
        ]
        said = " ".join(
            ["Shares of the reports in per cent; the intervals cover 95 % of the reports' noise.", *self.notes]
        )
        columns = ["item", "share", "low", "high"]
        return html(self._title, [table(said, columns, rows), *([self.plot()] if self.items else [])])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of these numbers, in sentences."""
        return ()

    def __str__(self) -> str:
        from sfumato.show import table

        rows = [
            [line(item.value), *(f"{100 * part:.3f} %" for part in (item.share, item.low, item.high))]
            for item in self._shown
        ]
        drawn = table(self._title, ["item", "share", "low", "high"], rows).text() if rows else self._title
        return "\n".join([drawn, "", "95 % intervals (noise of the reports only).", *self.notes])

    def _repr_html_(self) -> str:
        return self.html()

    @property
    def _shown(self) -> tuple[PopularItem, ...]:
        return self.items[:DRAWN]

    @property
    def _title(self) -> str:
        first = f", the first {DRAWN}" if len(self.items) > DRAWN else ""
        counted = ((len(self.items), "item"), (self.reports, "report"))
        return " from ".join(f"{count} {word if count == 1 else word + 's'}" for count, word in counted) + first


@dataclass(frozen=True)
class Popular(_List):
    """Popular items, the most popular first.

    `false_items` is the probability that an item is listed that nobody holds. It is proved for methods whose candidates
    are confirmed by other devices ("expander", "bitstogram"). For a search that grows prefixes it is proved for all
    items together that share no prefix with anybody's, and once more for the look-alikes of each single item that was
    missed; that it holds for all items of the domain at once is tested by simulation and not proved. Where many items
    are just too rare to be found, a look-alike of one of them may pass in its place, seldom: it has the same beginning,
    so its share is too high and its interval means nothing. `PopularItem.apart` sees it as it is. With candidates, nine
    tenths of `false_items` are for the list and one for the search. `reports` is how many there were, `unfit` how many
    of the candidates fit no report of the plan.

    >>> from sfumato import Noise, Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(4), candidates=["red", "green", "blue"])
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports(["red"] * 1000, Noise(insecure_seed=1)))
    1000
    >>> found = server.popular()
    >>> [item.value for item in found], found.false_items, found.reports
    (['red'], 0.05, 1000)
    """

    items: tuple[PopularItem, ...]
    false_items: float
    reports: int
    unfit: int = 0
    check: Check | None = field(default=None, repr=False, compare=False)
    """Whether the reports look as if devices had made them."""
    long_items: bool = field(default=False, repr=False, compare=False)
    """Whether the plan's items are so long that intervals of what the search found are not promised."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Say where intervals are not promised, and how many candidates did not fit."""
        said = []
        if self.long_items and any(not item.listed for item in self.items):
            said.append(UNPROMISED)
        if self.unfit:
            said.append(f"{self.unfit} of the candidates fit no report of the plan, and were left out.")
        return tuple(said)


@dataclass(frozen=True)
class Shares(_List):
    """The shares of candidates, in the order of the list: unbiased, so they may be below zero.

    `whole` says whether it is the whole list of the plan, whose shares add up to one. `false_items` is what the plan
    allows `popular`.

    >>> from sfumato import Noise, Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(4), candidates=["red", "green", "blue"])
    >>> server = plan.server()
    >>> server.ingest(plan.client().reports(["red"] * 700 + ["blue"] * 300, Noise(insecure_seed=1)))
    1000
    >>> [(item.value, round(item.share, 1)) for item in server.shares().consistent()]
    [('red', 0.7), ('green', 0.0), ('blue', 0.3)]
    """

    items: tuple[PopularItem, ...]
    reports: int
    false_items: float = 0.05
    whole: bool = True
    chosen: Callable[[float], Sequence[PopularItem]] | None = field(default=None, repr=False, compare=False)
    """From a chance to those of the items that are popular; `popular` works with it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what shares below zero are, whose interval does not hold them."""
        if all(item.share >= 0 for item in self.items):
            return ()
        return (
            "A share below zero is noise around a share of zero or little more; its interval is that of zero. They are "
            "kept, because shares that are cut at zero would sum to too much.",
        )

    def popular(self, false_items: Number | None = None) -> Popular:
        """Return the candidates that more devices hold than noise explains, all of them together at this failure.

        `false_items` is the probability that one is listed that nobody holds, by default the plan's: an exact binomial
        tail for every candidate. Where the plan searches, what the search finds is taken out of the way first. The list
        must not be made from these reports.
        """
        given = self.false_items if false_items is None else false_items
        chance = float(between_zero_and_one(given, "false_items"))
        found = [] if self.chosen is None else self.chosen(chance)
        return Popular(tuple(sorted(found, key=lambda item: -item.share)), chance, self.reports)

    def consistent(self) -> Shares:
        """Return the nearest shares that are at least zero and add up to one: better to look at, but biased."""
        if not self.whole:
            raise ParameterError(
                "Only the shares of a whole list add up to one, and these are those of some items; keep them as they "
                "are, or plan with candidates=."
            )
        shares = nearest_distribution(np.array([item.share for item in self.items]))
        items = tuple(replace(item, share=float(share)) for item, share in zip(self.items, shares, strict=True))
        return replace(self, items=items)


def nearest_distribution(shares: Any) -> Any:
    """Return the point of the simplex that is nearest in squared error.

    >>> nearest_distribution(np.array([0.9, 0.3, -0.2])).round(3).tolist()
    [0.8, 0.2, 0.0]
    """
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.maximum(shares - excess[last], 0.0)


def plain(value: Any) -> Any:
    """Return an item as JSON has it: bytes as hexadecimal digits, dates as text, exact numbers as floats.

    >>> plain(b"ab"), plain("ab"), plain(7)
    ('6162', 'ab', 7)
    """
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Fraction) else value


def line(value: Any) -> str:
    r"""Return an item as text for people: one line, and no sign in it that a terminal or a page would obey.

    Whoever sends reports chooses what is found. An item that is empty is called so, and one with blanks outside is
    quoted, so that nobody takes it for another one.

    >>> line("a\x1b[31m b\n"), line(""), line(" tea")
    ('a\ufffd[31m b\ufffd', '(empty)', '" tea"')
    """
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in str(plain(value)))
    if not shown:
        return EMPTY
    return f'"{shown}"' if shown != shown.strip() or shown == EMPTY else shown


def _label(value: Any) -> str:
    """Return an item as a label of a picture: nothing in it is read as a formula."""
    return line(value).replace("$", r"\$")
