"""Which method finds popular items: the one with the best guarantee, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfumato.errors import DomainTooLarge
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
for _search in SEARCHES:
    MAKERS.add(_search, partial(tree_method, search=_search))
METHOD_NAMES = ("auto", *SEARCHES, "expander", "bitstogram")
GUARANTEED = 0.9


def make(name: str, spend: Pure, bits: int, reports: int, false_items: float) -> Method:
    """Return one method by its name."""
    return MAKERS[name](spend, bits, reports, false_items=false_items)


def choose(spend: Pure, bits: int, reports: int, *, method: str, false_items: float) -> tuple[Method, str]:
    """Return the method of a name, and for "auto" also a sentence that says why.

    Every method states the share that it finds if all other devices hold rivals as popular: `Method.guaranteed`, a
    rule tested by simulation. The soft tree is taken unless the rule of another one gives a smaller share. Its own
    is its detectable share as long as its search has room for all rivals.
    """
    if method != "auto":
        return make(method, spend, bits, reports, false_items), ""
    soft = make("soft", spend, bits, reports, false_items)
    own = soft.guaranteed(reports, GUARANTEED)
    if own <= soft.detectable(reports, GUARANTEED):
        # Nothing limits the soft tree but the noise, of which it uses every report; no other method does.
        reason = f"By its rule it finds {own:.3%} among rivals as popular; no other method here finds rarer items."
        return soft, f'Method "soft", chosen automatically. {reason}'
    return _smallest(soft, own, lambda name: make(name, spend, bits, reports, false_items), reports)


def _smallest(soft: Method, own: float, maker: Callable[[str], Method], reports: int) -> tuple[Method, str]:
    """Compare guarantees where the room of the soft tree limits it."""
    best, name, share = soft, "soft", own
    for other in ("expander", "bitstogram"):
        try:
            made = maker(other)
        except DomainTooLarge:
            continue
        guaranteed = made.guaranteed(reports, GUARANTEED)
        if guaranteed < share:
            best, name, share = made, other, guaranteed
    if best is soft:
        reason = f"By its rule it finds {own:.3%} among rivals as popular, and no other method finds less."
        return soft, f'Method "soft", chosen automatically. {reason}'
    return best, (
        f'Method "{name}", chosen automatically. By its rule it finds {share:.3%} among rivals as popular; the soft '
        f'tree only {own:.3%}, because its search has no room for more rivals. Write method="soft" if few '
        "items are popular."
    )
