"""Which method finds popular items: the one that expects to find the rarest, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfumato.errors import DomainTooLarge
from sfumato.local.items import LONG_ITEM_BITS
from sfumato.local.method import Method
from sfumato.local.tree import SEARCHES, tree_method
from sfumato.privacy import Pure
from sfumato.registry import Registry

Maker = Callable[..., Method]
"""From a spend, the bits of an item, the number of reports and options to a method."""

MAKERS: Registry[Maker] = Registry(
    "method",
    "methods",
    {
        "expander": "sfumato.papers.heavy_hitters.expander",
        "bitstogram": "sfumato.papers.heavy_hitters.bitstogram",
    },
)
for _name in SEARCHES:
    MAKERS.add(_name, partial(tree_method, method=_name))
METHOD_NAMES = ("auto", *SEARCHES, "expander", "bitstogram")
GUARANTEED = 0.9


def make(name: str, spend: Pure, bits: int, reports: int, false_items: float) -> Method:
    """Return one method by its name."""
    return MAKERS[name](spend, bits, reports, false_items=false_items)


def choose(spend: Pure, bits: int, reports: int, *, method: str, false_items: float) -> tuple[Method, str]:
    """Return the method of a name, and for "auto" also a sentence that says why.

    Every method states the share that it expects to find where popularity falls as 1/rank, `Method.expected`, and the
    one that it finds if all other devices hold rivals as popular, `Method.guaranteed`: rules tested by simulation. The
    smallest share expected is taken, the soft tree where several are as small (LO-AUTO).
    """
    if method != "auto":
        return make(method, spend, bits, reports, false_items), ""
    soft = make("soft", spend, bits, reports, false_items)
    own = soft.expected(reports, GUARANTEED)
    # Nothing limits the soft tree but the noise, of which it uses every report, or its room.
    if own <= soft.detectable(reports, GUARANTEED):
        return soft, _why("soft", soft, reports, bits, "no other method here finds rarer items")
    others = _others(lambda name: make(name, spend, bits, reports, false_items))
    best = min(others, key=lambda one: one[1].expected(reports, GUARANTEED), default=None)
    if best is None:
        return soft, _why("soft", soft, reports, bits, "no other method takes items of this length")
    name, other = best
    if other.expected(reports, GUARANTEED) < own:
        less = f"the soft tree expects {own:.3%}, because its search has no room for more rivals"
        return other, _why(name, other, reports, bits, f'{less}. Write method="soft" if few items are popular')
    return soft, _why("soft", soft, reports, bits, f'"{name}" expects {other.expected(reports, GUARANTEED):.3%}')


def _others(maker: Callable[[str], Method]) -> list[tuple[str, Method]]:
    """Return the other methods that take items of this length."""
    made = []
    for name in ("expander", "bitstogram"):
        try:
            made.append((name, maker(name)))
        except DomainTooLarge:
            continue
    return made


def _why(name: str, method: Method, reports: int, bits: int, other: str) -> str:
    expected = method.expected(reports, GUARANTEED)
    first = f'Method "{name}", chosen automatically. It expects to find {expected:.3%} where popularity falls as 1/rank'
    if bits > LONG_ITEM_BITS:
        # What is stated of rivals was not seen to hold for long items; the plan says so.
        return f"{first}; {other}. That is a rule of the planner, tested by simulation; it is no theorem."
    return (
        f"{first}, and {method.guaranteed(reports, GUARANTEED):.3%} among rivals that are all as popular; {other}. "
        "Both are rules of the planner, tested by simulation; they are no theorems."
    )
