"""Sums and charges as text: exact, compact, quick to read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from sfumato.exact import INFINITY, Extended, Infinity, to_text
from sfumato.privacy.filters import Sums

MOST_KNOWN = 1 << 16
"""How many texts are remembered; a new beginning costs less than keeping account of their age."""

MOST_LISTS = 8
"""How many lists of the sums of all limits are remembered: the last of a few ledgers."""

_known: dict[str, Sums] = {}
_lists: dict[str, tuple[str, ...]] = {}


def sums_to_text(sums: Sums) -> str:
    """Return the meters of one limit, separated by spaces.

    >>> sums_to_text((Fraction(0), Fraction(3, 10), INFINITY))
    '0 3/10 inf'
    """
    return " ".join(map(to_text, sums))


def sums_from_text(text: str) -> Sums:
    """Read what `sums_to_text` wrote; a limit without meters has no sums."""
    found = _known.get(text)
    return _keep(text, tuple([_amount(part) for part in text.split(" ")]) if text else ()) if found is None else found


def remembered(sums: Sums) -> str:
    """Return sums as text that need not be read: a ledger looks at every reservation at what it wrote at the last."""
    text = sums_to_text(sums)
    _keep(text, sums)
    return text


def _keep(text: str, sums: Sums) -> Sums:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[text] = sums
    return sums


def _amount(text: str) -> Extended:
    if text == "inf":
        return INFINITY
    # Two integers are read several times faster than Fraction reads text, and a check reads thousands.
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def list_to_text(sums: Sequence[str]) -> str:
    """Return the sums of all limits as a JSON list: what `json.dumps` writes, several times faster.

    They are numbers and spaces; of what else might be there, only control characters are not looked for.

    >>> list_to_text(["0 3/10", "0 inf"]), list_to_text([])
    ('["0 3/10", "0 inf"]', '[]')
    """
    joined = '", "'.join(sums)
    plain = joined.isascii() and joined.count('"') == 2 * len(sums) - 2 and "\\" not in joined
    text = f'["{joined}"]' if plain else json.dumps(list(sums))
    if len(_lists) >= MOST_LISTS:
        _lists.clear()
    _lists[text] = tuple(sums)
    return text


def list_from_text(text: str) -> Sequence[str]:
    """Read what `list_to_text` wrote; what this process wrote last need not be read again."""
    found = _lists.get(text)
    return list(map(str, json.loads(text))) if found is None else found


def at_most(first: Extended, second: Extended) -> bool:
    """Tell whether a stored number covers another one; infinity covers itself here, unlike in a filter."""
    return isinstance(second, Infinity) or first <= second


def ranges_to_text(places: Iterable[int]) -> str:
    """Return rising places as ranges.

    >>> ranges_to_text([0, 1, 2, 7]), list(ranges_from_text("0-2,7"))
    ('0-2,7', [0, 1, 2, 7])
    """
    listed = list(places)
    if listed and listed[-1] - listed[0] == len(listed) - 1:
        return _range(listed[0], listed[-1])  # a question about everything touches all of thousands of limits
    ends = [number for number, (one, two) in enumerate(pairwise(listed), 1) if two != one + 1]
    starts = [0, *ends] if listed else []
    return ",".join(
        [_range(listed[start], listed[end - 1]) for start, end in zip(starts, [*ends, len(listed)], strict=False)]
    )


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def ranges_from_text(text: str) -> Iterator[int]:
    """Read what `ranges_to_text` wrote."""
    for run in text.split(",") if text else ():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)
