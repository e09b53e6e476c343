"""What one column could be, from its cells: a type with its range, its categories or its format, and what is odd."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.domain import SKIP
from sfumato.domain.figures import Figures
from sfumato.domain.numbers import plain_number
from sfumato.domain.written import ISO, ISO_ZONED, Written, compiled, read_moment
from sfumato.table.marks import SURE, ways
from sfumato.table.names import CODE, CODE_IN_DECIMALS, FILL, is_code, kind_by_name
from sfumato.table.proposed_bins import BINS, bin_step, bins_toml, outward
from sfumato.words import alike

INSIDE = 0.005
"""The part of the cells on either side that a proposed range may leave outside."""
RARE = 10
"""A category in fewer rows than this is left out: it is about few people."""
MOST_CATEGORIES = 60
MOST_PLACES = 4
SHORTEST_TEXT = 0.5
"""Where listed categories cover a smaller part of the cells than this, the column is text."""

LONG_CODE = 7
"""So many digits, the same in every cell, are a number of a phone, an insurance or a file."""

_ABSENT = {"", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing", "unknown", "#n/a"}
_MAY_BE_ABSENT = {
    *("k.a.", "k.a", "k/a", "keineangabe", "keineangaben", "n.b.", "nichtbekannt", "unbekannt"),
    *("n.d.", "n.d", "n/d", "nd", "nodata", "notavailable", "noanswer", "noresponse", "notspecified"),
    *("s/d", "s.d.", "sindato", "sindatos", "ns/nc", "nosabe", "desconocido", "nondisponibile", "sconosciuto"),
    *("n.c.", "n/c", "nonrenseigné", "nonrenseigne", "nonconnu", "inconnu", "nondisponible"),
    *("b.d.", "b/d", "brakdanych", "brak", "onbekend", "okänd", "ukendt", "ukjent"),
}
"""The same in other languages, without capitals and blanks; they may be a category as well, as ND is a state."""
MOST_STAND_INS = 3
"""So many words may stand between numbers or days for a cell that nobody filled in, as in "k.A."."""
SHARE_OF_STAND_INS = 1 / 3
FEWEST_VALUES = 20
"""With fewer values beside it a word may as well be one of them, like the ground floor before 1, 2, 3; not "k.A."."""
_YES_OR_NO = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"0", "1"})
_DIGIT = re.compile(r"\d")
_LIMIT = re.compile(r"[<>≤≥]=?\s*[\d.,]*\d")
"""A number that an instrument could not tell, below or above what it measures, as in <0.5."""
_CODE = re.compile(r"0\d+")
_SHORT_YEAR = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2}(\s.*)?")
_COMPACT = re.compile(r"(19|20)\d{6}")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%b %d, %Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M %p", " %H:%M:%S %p")
_FORMATS = (*(day + clock for day in _DAYS for clock in _CLOCKS), "%Y-%m-%d %H:%M %p", "%Y-%m-%d %H:%M:%S %p")
"""The last two of each are clocks of twelve hours; what is written as ISO says is read without a format."""
_EPOCH = datetime(1970, 1, 1)
_LAST = datetime.max.replace(microsecond=0) - _EPOCH
MOST_FORMATS = 3
"""Days in more formats than these are no column of days."""
_LENGTHS = (8, 16, 24, 40, 64, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Candidate:
    """A drafted column, None where it should be left out, and what was noticed."""

    record: dict[str, Any] | None
    notes: tuple[str, ...] = ()
    absent: Counter[str] = field(default_factory=Counter)
    """Words that stand where others have a number or a day, and how often."""


def candidate_of(name: str, values: Sequence[Any], decimal: str | None = None) -> Candidate:
    """Return what a column could be, given its cells, and the mark before decimals in the rest of the file, if known.

    >>> candidate_of("cost", ["12.50", "80.25", "n/a", "3.75"] * 50).record
    {'type': 'fixed', 'low': 0, 'high': 90, 'step': '0.01', 'missing': 'skip'}
    """
    present = [value for value in values if not _absent(value)]
    spelled = Counter(value for value in values if isinstance(value, str) and _absent(value))
    if not present:
        said = f"every cell is empty or says {_either(spelled)}." if spelled else "every cell is missing."
        return Candidate(None, (said,))
    found = _of_present(name, present, decimal, len(values))
    return replace(found, notes=(*found.notes, *_may_be_missing(found.record, spelled + found.absent, len(values))))


def _of_present(name: str, present: Sequence[Any], decimal: str | None, cells: int) -> Candidate:
    """Return what a column could be, given the cells that say something; parts are of all cells."""
    if all(isinstance(value, bool) for value in present):
        return Candidate({"type": "boolean", "missing": SKIP})
    if is_code(name) and all(isinstance(value, int) for value in present):
        return _codes(name, Counter(present))
    if all(isinstance(value, (int, float, Decimal)) for value in present):
        found = _numbers(name, [number for value in present if (number := plain_number(value)) is not None])
        return replace(found, notes=(*CODE_IN_DECIMALS, *found.notes)) if is_code(name) else found
    if all(isinstance(value, date) for value in present):  # a moment is a date too
        return _moments(present, None)
    return _written(name, [str(value) for value in present], decimal, cells)


def _absent(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _ABSENT
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _may_be_absent(value: Any) -> bool:
    return isinstance(value, str) and "".join(value.lower().split()) in _MAY_BE_ABSENT


def _either(words: Iterable[str]) -> str:
    return " or ".join(map(repr, sorted(words)))


def _may_be_missing(record: dict[str, Any] | None, spelled: Counter[str], cells: int) -> tuple[str, ...]:
    """Say how cells are read whose word may mean that nobody filled them in, or be a category like any other."""
    if record is None or not spelled:
        return ()
    words, part = _either(spelled), f"{100 * spelled.total() / cells:.2g} % of the cells"
    if record["type"] == "category":
        return (
            f"Not listed is {words}, {part}: it counts as 'other', not as missing. If it is a category, add it to "
            "values; if it means that nobody filled in the cell, make these cells empty before.",
        )
    if record["type"] == "text":
        return (f"{words}, {part}, is a text like any other; make these cells empty before if nobody filled them in.",)
    return (f"Missing would be the cells with {words}, {part}.",)


def _written(name: str, texts: Sequence[str], decimal: str | None, cells: int) -> Candidate:
    """Read a column of text as what its texts look like, the narrowest type first."""
    raw, words = Counter(texts), Counter(text.strip() for text in texts)
    if {word.lower() for word in words} in _YES_OR_NO:
        return Candidate({"type": "boolean", "missing": SKIP})
    if all(_COMPACT.fullmatch(word) for word in words) and _reads(words, compiled("%Y%m%d", clock=False)) == 1:
        return _moments(list(_days(words, compiled("%Y%m%d", clock=False))), "%Y%m%d")
    if _part(words, _SHORT_YEAR.fullmatch) >= SURE:
        said = "dates have two digits for the year and would all be missing; write years with four digits."
        return Candidate(None, (said,))
    if _are_codes(name, words):
        return _codes(name, raw)
    absent, limits = _stand_ins(words), _limits(words)
    words -= absent
    numeric = words - limits
    found = [] if any(_CODE.fullmatch(word) for word in numeric) or not numeric else ways(numeric, decimal)
    numbers = [number for text in texts if (number := found[0].read(text)) is not None] if found else []
    # The words that stand in, and limits, are spoken of by themselves.
    unread = len(texts) - len(numbers) - absent.total() - limits.total()
    if len(found) > 1:
        unclear = _unclear(found)
        odd = [*_unread(unread, cells, "no numbers"), *_said_of_limits(limits, cells)]
        return replace(unclear, notes=(*unclear.notes, *odd), absent=absent)
    if found:
        drafted = _numbers(name, numbers, _unread(unread, cells, "no numbers"))
        assert drafted.record is not None
        notes = (*drafted.notes, *_said(found[0]), *_said_of_limits(limits, cells))
        return Candidate({**drafted.record, **found[0].to_json()}, notes, absent)
    days = _dates(words, cells)
    if days is not None:
        return replace(days, absent=absent)
    return _categories(name, raw)  # categories match exactly, blanks too


def _are_codes(name: str, words: Counter[str]) -> bool:
    """Tell whether digits are no amounts: by the name, by a leading zero, or because all are long and equally so."""
    if _part(words, str.isdecimal) < SURE:
        return False
    digits = [word for word in words if word.isdecimal()]
    alike = len({len(word) for word in digits}) == 1 and len(digits[0]) >= LONG_CODE and len(digits) > 1
    return is_code(name) or alike or any(_CODE.fullmatch(word) for word in digits)


def _codes(name: str, words: Counter[Any]) -> Candidate:
    """Return a column of codes: categories, or text where there are too many to list."""
    found = _categories(name, words)
    return found if found.record is None else Candidate(found.record, (CODE, *found.notes))


def _stand_ins(words: Counter[str]) -> Counter[str]:
    """Return the few words without a digit that stand, again and again, where others have a number or a day.

    >>> _stand_ins(Counter({"k.A.": 12, "Ada": 1, **{str(age): 2 for age in range(40)}}))
    Counter({'k.A.': 12})
    """
    found = Counter({word: count for word, count in words.items() if count >= RARE and not _DIGIT.search(word)})
    few = len(found) <= MOST_STAND_INS and found.total() <= SHARE_OF_STAND_INS * words.total()
    sure = len(words) - len(found) >= FEWEST_VALUES or all(map(_may_be_absent, found))
    return found if few and sure else Counter()


def _limits(words: Counter[str]) -> Counter[str]:
    """Return the words that say only on which side of a limit a number lies."""
    return Counter({word: count for word, count in words.items() if _LIMIT.fullmatch(word)})


def _said_of_limits(limits: Counter[str], cells: int) -> tuple[str, ...]:
    """Say that cells below or above a limit would be missing, which moves a mean."""
    if not limits:
        return ()
    words = [word for word, count in limits.most_common(MOST_STAND_INS) if count >= RARE]
    named = f" ({_either(words)})" if words else ""
    return (
        f"{100 * limits.total() / cells:.2g} % of the cells say only on which side of a limit the number lies{named}, "
        "and would be missing: a mean is then that of the other cells. Write a number in their place before, such as "
        "half of the limit, if they shall count.",
    )


def _unclear(found: Sequence[Figures]) -> Candidate:
    """Return a column whose numbers mean one thing or a thousand times as much: only a person can say which."""
    ways_to_write = " or ".join(
        f"decimal = '{way.decimal}'" + (f" with thousands = '{way.thousands}'" if way.thousands else "")
        for way in found
    )
    said = (
        "One mark and three digits behind it: they are decimals or thousands, and the cells do not tell which. Write "
        f"{ways_to_write}, and then the range and the step."
    )
    unit = {"unit": found[0].unit} if found[0].unit else {}
    return Candidate(
        {"type": "fixed", **dict.fromkeys(("low", "high", "step", "decimal"), FILL), **unit, "missing": SKIP}, (said,)
    )


def _said(way: Figures) -> tuple[str, ...]:
    """Say how the numbers of a column are written, where it is not the usual way."""
    if way.plain:
        return ()
    example = f"1{way.thousands}234{way.decimal}5" if way.thousands else f"1{way.decimal}5"
    return (f"Numbers are written as {example} {way.unit}".rstrip() + ", and what is written otherwise is missing.",)


def _unread(unread: int, cells: int, why: str, instead: str = "") -> list[str]:
    """Say which part of the cells the drafted lines would not read."""
    return [f"{100 * unread / cells:.2g} % of the cells are {why} and would be missing{instead}."] if unread else []


def _part(words: Counter[str], test: Callable[[str], Any]) -> float:
    """Return the part of the cells that pass a test."""
    return sum(count for word, count in words.items() if test(word)) / words.total()


# Numbers


def _numbers(name: str, numbers: Sequence[Fraction | float], unread: Sequence[str] = ()) -> Candidate:
    ordered = sorted(float(number) for number in numbers)
    cut = math.floor(INSIDE * len(ordered))
    places = _places(ordered)
    by_name = kind_by_name(name)
    public = by_name is not None and by_name.get("low") == 0 and places == 0
    low, high = (0, 120) if public else outward(ordered[cut], ordered[len(ordered) - 1 - cut])
    outside = sum(not low <= number <= high for number in ordered)
    notes = [
        "The range is the usual one for ages."
        if public
        else "The range holds the middle 99 % of the cells, rounded outward."
    ]
    if outside:
        notes.append(
            f"{100 * outside / len(ordered):.2g} % of the numbers lie outside and would be clamped; if these are codes "
            "such as 999 for a missing number, make them empty before."
        )
    notes += unread
    step = bin_step(low, high)
    if places or step > 1:
        notes += [BINS, *bins_toml(name, step)]
    if places == 0:
        return Candidate({"type": "integer", "low": low, "high": high, "missing": SKIP}, tuple(notes))
    step_text = str(Decimal(1).scaleb(-places))
    return Candidate({"type": "fixed", "low": low, "high": high, "step": step_text, "missing": SKIP}, tuple(notes))


def _places(ordered: Sequence[float]) -> int:
    """Return with how many decimals nearly all numbers are written, at most four."""
    for places in range(MOST_PLACES):
        if sum(abs(number - round(number, places)) < 1e-9 * max(1.0, abs(number)) for number in ordered) >= 0.99 * len(
            ordered
        ):
            return places
    return MOST_PLACES


# Days and moments


def _dates(words: Counter[str], cells: int) -> Candidate | None:
    """Return a column of days or moments, if one format reads nearly all of its words; None otherwise.

    Formats are tried with the words that stand there most often; what is said of them is counted over all words, and
    is a part of all `cells`.
    """
    tried = Counter(dict(words.most_common(500)))
    if _reads(tried, ISO) >= SURE:
        return _read_days(words, cells, ISO, None)
    if _reads(tried, ISO_ZONED) >= SURE:
        return _with_offsets(words, cells)
    scores = {form: _reads(tried, compiled(form, clock=True)) for form in _FORMATS}
    best = max(scores.values())
    if best < SURE:
        return _in_several_formats(words, tried, cells)
    fitting = [form for form, score in scores.items() if score == best]
    found = _read_days(words, cells, compiled(fitting[0], clock=True), fitting[0])
    if len(fitting) == 1 or found.record is None:
        return found
    said = f"Days and months cannot be told apart here: the format is one of {' and '.join(fitting)}."
    return Candidate({**found.record, "format": FILL}, (*found.notes, said))


def _in_several_formats(words: Counter[str], tried: Counter[str], cells: int) -> Candidate | None:
    """Return a column of days in the format of most of them, if a few formats read nearly all; None otherwise."""
    forms: dict[str | None, Written] = {None: ISO}
    forms |= {form: compiled(form, clock=True) for form in _FORMATS}
    found: dict[str | None, int] = {}
    left, rest = tried, words
    while left and len(found) < MOST_FORMATS:
        read = {form: _reads(left, written) for form, written in forms.items()}
        form = max(read, key=lambda one: read[one])
        if not read[form]:
            break
        unread = _unread_by(rest, forms[form])
        found[form] = rest.total() - unread.total()
        left, rest = _unread_by(left, forms[form]), unread
    if rest.total() > (1 - SURE) * words.total():
        return None
    ordered = sorted(found, key=lambda one: -found[one])
    first, *others = [f"{100 * found[form] / cells:.2g} % {{}}{_example(form)}" for form in ordered]
    listed = ", ".join([first.format("are written "), *(other.format("") for other in others)])
    days = [day for form in ordered for day in _days(words, forms[form])]
    drafted = _moments(days, ordered[0])
    lost = _unread_by(words, forms[ordered[0]]).total()
    said = (
        f"{listed}; a column has one format: make them alike before, or {100 * lost / cells:.2g} % of the cells would "
        "be missing."
    )
    return replace(drafted, notes=(*drafted.notes, said))


def _unread_by(words: Counter[str], written: Written) -> Counter[str]:
    return Counter({word: count for word, count in words.items() if read_moment(word, written) is None})


def _example(form: str | None) -> str:
    if form is None:
        return "2024-12-31"
    return datetime(2024, 12, 31, 18, 30).strftime(form.replace("%H", "%I") if "%p" in form else form)


def _with_offsets(words: Counter[str], cells: int) -> Candidate:
    """Return a column of moments in UTC: nearly all of its words are in ISO form, with an offset from UTC."""
    moments = [moment.replace(tzinfo=UTC) for moment in _days(words, ISO_ZONED)]
    found = _moments(moments, None)
    days = " ".join(str(found.record[end]).partition("T")[0] for end in ("earliest", "latest")) if found.record else ""
    bare = words.total() - _unread_by(words, ISO).total()
    said = [
        "Offsets are subtracted: moments are counted in UTC, days too.",
        *([f"{100 * bare / cells:.2g} % of the cells have no offset and would count as UTC."] if bare else []),
        *_unread(_unread_by(words, ISO_ZONED).total(), cells, "not written as 2024-12-31T18:30:00+01:00"),
        PARTS_OF_DATES.format(days=days) + " The day is then the written one.",
    ]
    return replace(found, notes=(*found.notes, *said))


def _read_days(words: Counter[str], cells: int, written: Written, form: str | None) -> Candidate:
    """Return a column of days in one format, and say which part of all cells are days that it does not read."""
    found = _moments(list(_days(words, written)), form)
    unread = _unread_by(words, written).total()
    said = _unread(unread, cells, f"not written as {form or '2024-12-31'}", "; make days alike before")
    return replace(found, notes=(*found.notes, *said))


def _reads(words: Counter[str], written: Written) -> float:
    return _part(words, lambda word: read_moment(word, written) is not None)


def _days(words: Counter[str], written: Written) -> Iterator[datetime]:
    for word in words:
        moment = read_moment(word, written)
        if moment is not None:
            # An offset may lead to the day before or after, and out of the calendar.
            yield _EPOCH + min(timedelta(days=moment.days, seconds=moment.seconds), _LAST)


LAST_MINUTE = "T23:59:00"
PARTS_OF_DATES = (
    "Only dates have months, years and weekdays. Where you will ask by them, take date {days} in place of time now, "
    "before the ledger is made: it is made for one of the two. The time of day is then left out."
)


def _moments(found: Sequence[Any], form: str | None) -> Candidate:
    """Return a column of days, or of moments where some have a time of day or are told in UTC."""
    years = sorted(moment.year for moment in found)
    ends = {"earliest": f"{years[0]}-01-01", "latest": f"{years[-1]}-12-31"}
    clock = any(isinstance(moment, datetime) and moment.time().isoformat() != "00:00:00" for moment in found)
    written = {} if form is None else {"format": form}
    notes: tuple[str, ...] = ("The range is that of whole years.",)
    if any(getattr(moment, "tzinfo", None) is not None for moment in found):
        ends["latest"] += LAST_MINUTE
        return Candidate({"type": "time", **ends, "step": "1min", "zone": "UTC", "missing": SKIP}, notes)
    if clock:
        days = " ".join([*ends.values(), *written.values()])
        notes = (*notes, PARTS_OF_DATES.format(days=days))
        ends["latest"] += LAST_MINUTE  # a day without a time is its first moment, and the range holds all of it
        return Candidate({"type": "time", **ends, "step": "1min", **written, "missing": SKIP}, notes)
    return Candidate({"type": "date", **ends, **written, "missing": SKIP}, notes)


# Categories and text


MOST_WORDS = 3
"""A value of more words than this is no name of a category, most of the time."""


def _categories(name: str, words: Counter[Any]) -> Candidate:
    kept = [word for word, count in words.most_common(MOST_CATEGORIES) if count >= RARE]
    covered = sum(words[word] for word in kept) / words.total()
    if not kept and len(words) > SURE * words.total():
        return Candidate(
            None, ("nearly every cell differs: it is a key, a name or free text; declare it as text if asked about.",)
        )
    if covered < SHORTEST_TEXT:
        longest = sorted(len(str(word).encode()) for word in words.elements())[math.floor(0.99 * (words.total() - 1))]
        size = next((length for length in _LENGTHS if length >= longest), _LENGTHS[-1])
        said = (
            f"There are too many values to list; those of many people are found by histogram('{name}', keys='private')."
        )
        return Candidate({"type": "text", "max_bytes": size, "missing": SKIP}, (said,))
    notes = []
    if len(kept) < len(words):
        notes.append(
            f"Values in fewer than {RARE} rows are left out and count as 'other', {100 * (1 - covered):.2g} % of the "
            "cells; list those that everybody knows of."
        )
    if alike(kept):
        same = ", ".join(map(repr, alike(kept)[0]))
        called = name if name.isidentifier() else f'"{name}"'
        notes.append(
            "Some values differ only in capitals or blanks, and count apart; make them equal before, or ask about them "
            f"together, where {called} IN ({same})."
        )
    if unsaid := Counter({word: words[word] for word in kept if _may_be_absent(word)}):
        notes.append(
            f"{_either(unsaid)}, {100 * unsaid.total() / words.total():.2g} % of the cells that are not missing, is "
            "listed as a category; if it means that nobody filled in the cell, take it out of values and make these "
            "cells empty before."
        )
    if any(len(str(word).split()) > MOST_WORDS for word in kept):
        notes.append(
            "Some values are sentences, as free text has them, and may name somebody; read each of them, and drop the "
            "column if it is free text."
        )
    return Candidate({"type": "category", "values": sorted(kept), "missing": SKIP}, tuple(notes))
