"""The exact texts of the ledger (docs/theory/ledger.md); each is tested as it stands.

What was used or asked is rounded up, what is left is rounded down, limits stand as they were typed. Every number
is a function of stored public sums and of the request: no text depends on how a mechanism ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from sfumato.exact import Extended, Infinity
from sfumato.exact.written import amount, rounded, typed
from sfumato.ledger.guarantee import OverDays
from sfumato.ledger.reservation import Break, Closing
from sfumato.ledger.units import Unit
from sfumato.privacy import Approximate, Bound, Concentrated, Everything, Loss
from sfumato.privacy.attributes import Attributes
from sfumato.privacy.filters import Meter

METER = (
    "The guarantee is the limit, not what is used so far: questions were chosen after seeing answers, so that number "
    "is no guarantee of its own."
)
ROOM = (
    "Per cent say which part is used of what adds up from answer to answer. Where a limit has a delta, that is not "
    "epsilon: epsilon rises fast at first and slowly later, so a quarter used can be half of the epsilon, and one "
    "large spend can use more than several small ones that sum to it."
)
EXPERTS = "For experts:"
DEAD = "This request ended without an answer. What it reserved stays spent; ask again as a new request."
EDITED = (
    "The stored answer of the request {id!r} is not the one that was committed: somebody changed it in the ledger's "
    "file, so it is not shown; run sfumato ledger verify, and restore the newest copy that passes."
)
EDITED_STATE = (
    "The state of the conversation {id!r} is not the one that the chain names: somebody changed it in the ledger's "
    "file, so it is not opened; run sfumato ledger verify, and restore the newest copy that passes."
)
FREE = "It was answered before on the same data, so asking again costs nothing and gives the stored answer."
BEGUN = "It was paid for before and cut short, so asking again costs nothing and finishes what was begun."
UNREAD = (
    "The table could not be read. Nothing was drawn, and what was reserved is kept for this question: ask it again, it "
    "costs nothing more. The operator's log says where it went wrong."
)
CHANGED = (
    "The data changed while they were read, so nothing was drawn; open them again. What was reserved is kept for the "
    "files as they were: put back unchanged, they are asked again at no cost; of other data it is a new question."
)
CUT_SHORT = (
    "The draw was cut short by the machine (memory, disk or a missing package; the operator's log says which). Nothing "
    "is lost: ask the same question again, it costs nothing more and gives the answer that was being drawn."
)
UNSEALED = (
    "The request {id!r} was begun where there was no private place to keep a draw, so only whoever began it can end "
    "it. If that process is gone, mark the request with ledger.fail({id!r}) and ask as a new request."
)
ELSEWHERE = (
    "The request {id!r} was begun with another private directory, on another machine perhaps, or its directory is "
    "lost. Ask where it was begun, or give it up with ledger.fail({id!r}) and ask as a new request."
)
OTHER_VERSION = (
    "The request {id!r} was begun with {then}, and only these finish it as it was begun. Ask again with them, or give "
    "it up with ledger.fail({id!r}) and ask as a new request."
)
OTHERWISE = (
    "This question was begun as the request {id!r} when other public facts held, such as the number of people. Open "
    "the data as they were and ask again, or give it up with ledger.fail({id!r}) and ask as a new request."
)
ANSWERED = "The name {id!r} belongs to an answer, not to a conversation; choose another one."
OVERTAKEN = (
    "Somebody else has gone on with the conversation {id!r}, so what is asked here does not follow; open it again by "
    "its name to go on from there."
)
STEP_ELSEWHERE = (
    "A step of the conversation {id!r} was begun with another private directory, on another machine perhaps, or its "
    "directory is lost. Go on where it was begun, or give the step up, which costs one correction: open the "
    "conversation with give_up=True."
)
STEP_OTHER_VERSION = (
    "A step of the conversation {id!r} was begun with {then}, and only these finish it as it was begun. Go on with "
    "them, or give the step up, which costs one correction: open the conversation with give_up=True."
)
STEP_DEAD = (
    "This step of the conversation ended without an answer, and one correction is spent on it; the conversation goes "
    "on."
)
PASSED = (
    "The limit {bound} on {name} has been passed already; choose a larger one, or lower a limit with ledger.lower to "
    "refuse what comes."
)
UNDIVIDED = "Nothing spent. The first question decides how delta is divided."
SAMPLE = "No Rényi order of this limit carries a sample at this rate; ask the steps as one list."
SHOWN_BREAKS = 5


def subject(on: Attributes, people: int) -> str:
    """Say whom a limit protects."""
    who = "each person" if people == 1 else f"any {people} people together"
    if isinstance(on, Everything):
        return who
    return f"{_listed(sorted(on))} of {who}"


def _listed(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def guarantee_text(bound: Bound | None, on: Attributes, people: int) -> str:
    """Say what is guaranteed, or that nothing is."""
    if bound is None:
        return f"No limit of this ledger bounds what is learned about {subject(on, people)}."
    return (
        "Everything answered through this ledger, now and later, together satisfies "
        f"{bound} for {subject(on, people)}, whatever is asked."
    )


def guarantee_over_text(found: OverDays | None, days: int, on: Attributes, people: int, single: bool) -> str:
    """Say what holds for some days in a row, and from which limit it follows; `single` if costs add up so far."""
    whose, span = subject(on, people), "any day" if days == 1 else f"any {days} days in a row"
    if found is None:
        return f"No limit of this ledger bounds what is learned about {span} of {whose}."
    if found.limit is None:
        return f"{guarantee_text(found.bound, on, people)} That holds for {span} too."
    said = (
        f"Everything answered through this ledger, now and later, together satisfies {found.bound} for what {whose} "
        f"did on {span}, whatever is asked"
    )
    unit = Unit.read(found.unit).said
    if found.bound == found.limit:
        return f"{said}: that is the limit on each {unit}."
    counted = f", of which {span} meet at most {found.slots}" if found.unit != "day" else ""
    said += f": implied by {found.limit} for each {unit}{counted}."
    one = people == 1 and isinstance(on, Everything) and found.slots > 1
    if not (single and one and isinstance(found.limit, Concentrated)):
        return said
    added = Concentrated(found.limit.rho * found.slots)
    return f"{said} As long as every release reads one {unit} only, as all did so far, it is {added}."


def undivided_text(bound: Bound, meters: Sequence[Meter]) -> str:
    """Say what a limit takes whose delta its first question will divide: one kind of spend after the other."""
    assert isinstance(bound, Approximate)
    kinds = [f"Pure({typed(bound.epsilon)})"]
    widths = [meter.ceiling for meter in meters if meter.kind == "gauss"]
    kinds += [f"Gaussian noise of variance {rounded(1 / width, up=True)} for sensitivity 1" for width in widths]
    return f"{UNDIVIDED} It takes up to {', '.join(kinds)}, or {bound}."


def spent_text(meters: Sequence[Meter], sums: Sequence[Extended]) -> str:
    """Say what the meters of one limit show, and that the limit is the guarantee."""
    said = used_text(meters, sums)
    return f"{said} {ROOM} {METER}" if EXPERTS in said else f"{said} {METER}"


def percent_used(meters: Sequence[Meter], sums: Sequence[Extended]) -> int:
    """Return how much of a limit is used, in per cent, rounded up: leaks, or the best of the open routes."""
    parts = [(meter.kind == "leak", _percent(used, meter.ceiling)) for meter, used in zip(meters, sums, strict=True)]
    leaks = [100 if part is None else part for leak, part in parts if leak]
    routes = [part for leak, part in parts if not leak and part is not None]
    return max([*leaks, min(routes, default=100)])


def _percent(used: Extended, ceiling: Fraction) -> int | None:
    """Return how much of a ceiling is used, rounded up, None if it is passed; every answer says it of all limits."""
    if isinstance(used, Infinity):
        return None
    part = used.numerator * ceiling.denominator
    whole = used.denominator * ceiling.numerator
    if part > whole:
        return None
    return -(-100 * part // whole) if whole else 0


def used_text(meters: Sequence[Meter], sums: Sequence[Extended]) -> str:
    """Say in a few words what is used of one limit."""
    readings = [(meter, used) for meter, used in zip(meters, sums, strict=True) if meter.kind != "leak"]
    readings.sort(key=lambda reading: reading[0].kind != "gauss")
    leaks = [(meter, used) for meter, used in zip(meters, sums, strict=True) if meter.kind == "leak" and meter.ceiling]
    if len(readings) == 1 and not leaks:
        ((meter, used),) = readings
        return f"Used so far {rounded(used, up=True)} of {_ceiling(meter)}."
    parts = [f"{_route(meter)} {_used(meter, used)}." for meter, used in readings]
    parts += [f"Leaks {rounded(used, up=True)} of {typed(meter.ceiling)}." for meter, used in leaks]
    return " ".join([f"Used so far {percent_used(meters, sums)} % of the limit.", EXPERTS, *parts])


def in_numbers(meters: Sequence[Meter], sums: Sequence[Extended]) -> str:
    """Say how much of how much is used; of a limit that is counted in several ways, in the one that decides.

    >>> from sfumato.privacy.filters import Meter
    >>> in_numbers((Meter("epsilon", Fraction(1, 2)),), (Fraction(2, 5),))
    '0.4 of 0.5'
    """
    counted = [(meter, used) for meter, used in zip(meters, sums, strict=True) if meter.kind != "leak" or meter.ceiling]
    if len(counted) == 1:
        return _used(*counted[0])
    whole = percent_used(meters, sums)
    deciding = [one for one in counted if _percent(one[1], one[0].ceiling) == whole] or counted
    meter, used = min(deciding, key=lambda one: ("epsilon", "gauss", "tau", "leak").index(one[0].kind))
    way = {"leak": "leaks", "epsilon": "epsilon"}.get(meter.kind) or _route(meter)
    return f"{way} {_used(meter, used)}"


def _used(meter: Meter, used: Extended) -> str:
    if isinstance(used, Infinity) or used > meter.ceiling:
        return "no longer counted"
    above, ceiling = rounded(used, up=True), _ceiling(meter)
    # Rounded to the safe side each, a sum just below its ceiling would read as one above it.
    said = f"{'all' if Fraction(above) > Fraction(ceiling) else above} of {ceiling}"
    return f"{said} ({-(-100 * used // meter.ceiling)} %)" if meter.kind == "gauss" else said


def _ceiling(meter: Meter) -> str:
    return amount(meter.ceiling, up=False)


def _route(meter: Meter) -> str:
    if meter.kind == "tau":
        assert isinstance(meter.order, Fraction)
        return f"Order {typed(meter.order)}:"
    return "Gaussian" if meter.kind == "gauss" else "Epsilon"


def refusal_text(breaks: Sequence[Break], largest: Bound | None = None) -> str:
    """Say which limits refuse, what was asked and what is left."""
    groups = [(name, list(rows)) for name, rows in groupby(breaks, key=lambda row: row.name)]
    limits = [_refusing(rows[0]) for _, rows in groups[:SHOWN_BREAKS]]
    named = [
        f"{limit}, {'; '.join(map(_asked, rows))}{_any_of(rows)}"
        for limit, (_, rows) in zip(limits, groups, strict=False)
    ]
    more = len(groups) - SHOWN_BREAKS
    listed = "; ".join(named) + (f"; and {more} more" if more > 0 else "")
    said = "Refused before the data were touched:"
    if kinds := {type(row.limit.bound).__name__ for row in breaks if _is_other_kind(row)}:
        return f"{said} {listed}. {_other_kind(kinds)}"
    closed = [rows[0] for _, rows in groups if _is_closed(rows)]
    room = all(_room(rows) for _, rows in groups)
    fits = _nothing_more(closed) if closed else _what_fits(breaks, largest, room=room)
    if not any(isinstance(row.limit.bound, Approximate) for row in breaks):
        return f"{said} {listed}.{fits}"
    names = ", ".join(limits) + (f" and {more} more" if more > 0 else "")
    return f"{said} more is asked than is left of {names}.{fits} {EXPERTS} {listed}."


def _refusing(row: Break) -> str:
    """Name the limit that refuses: that on a person, on attributes, on a period, or somebody's share of one."""
    own = row.name.endswith(f": {row.limit.name}")
    name = row.limit.name if own else row.name
    whose = f"{row.name.removesuffix(row.limit.name).removesuffix(': ')}'s" if own else "the"
    return f"{whose} limit on {'a person' if name == 'person' else name}"


def _is_closed(rows: Sequence[Break]) -> bool:
    """Tell whether a limit has nothing left for any spend; leaks are only one kind of loss."""
    ways = [row for row in rows if row.meter.kind != "leak"]
    return bool(ways) and not any(row.left for row in ways)


def _nothing_more(closed: Sequence[Break]) -> str:
    """Say that whatever meets these limits is refused from now on: no smaller spend would help."""
    if any(row.name == "person" for row in closed):
        return " Nothing more can be asked with this ledger."
    names: set[str] = set()
    others = []
    for row in closed:
        if isinstance(row.limit.on, Everything) or row.name != row.limit.name:
            others.append(f" Nothing is left of {_refusing(row)}.")
        else:
            names |= set(row.limit.on)
    about = sorted(names)[:SHOWN_BREAKS] + (["others"] if len(names) > SHOWN_BREAKS else [])
    said = f" Nothing more of {_listed(about, 'or')} can be asked with this ledger." if about else ""
    return said + "".join(others[:SHOWN_BREAKS])


def _what_fits(breaks: Sequence[Break], largest: Bound | None, *, room: bool) -> str:
    """Say what could be asked in place of what was refused, nothing if that is not known."""
    if largest is not None:
        return f" The largest that fits is {largest}."
    if any(row.sample for row in breaks):
        return f" {SAMPLE}"
    return " A smaller spend may fit." if room else ""


def _is_other_kind(row: Break) -> bool:
    """Tell whether no amount of such a spend would fit; an Approximate limit has other routes."""
    return isinstance(row.asked, Infinity) and not isinstance(row.limit.bound, Approximate)


def _other_kind(kinds: set[str]) -> str:
    """Say which spends a limit can pay for at all, where what was asked has no finite cost in its terms."""
    known = {
        "Pure": "A Pure limit needs noise with a finite epsilon, which this kind of spend does not buy; write "
        "spend=Pure(0.1), or make a ledger with Approximate(3, 1e-6), which pays for every kind.",
        "Concentrated": "A Concentrated limit needs noise with a finite rho, which this kind of spend does not buy; "
        "write spend=Concentrated(0.05), or make a ledger with Approximate(3, 1e-6), which pays for every kind.",
    }
    other = "This kind of spend has no finite cost in the terms of the limit; write one of the kind of the limit."
    return known.get(min(kinds), other)


def _asked(row: Break) -> str:
    if _is_other_kind(row):
        return f"a limit of {row.limit.bound}, cannot pay for this kind of spend"
    asked = f"{rounded(row.asked, up=True)} asked"
    left = "nothing left for good" if row.left is None else f"{rounded(row.left, up=False)} left"
    if row.meter.kind == "leak":
        made = f" (the limit keeps too little of delta for leaks{_set_aside(row)})"
        return f"leaks {asked}, {left}{made if row.asked > row.meter.ceiling else ''}"
    if not isinstance(row.limit.bound, Approximate):
        return f"{asked}, {left}"
    if row.left is None:
        return f"{_way(row.meter)} is no longer counted, because an earlier answer did not fit it"
    colon = ":" if row.meter.kind == "tau" else ""  # or two numbers would stand side by side
    return f"{_way(row.meter)}{colon} {asked}, {left}"


def _set_aside(row: Break) -> str:
    """Say who divided delta, where the limit left it to its first question."""
    bound = row.limit.bound
    if not isinstance(bound, Approximate) or bound.leaks is not None or row.meter.ceiling == bound.delta:
        return ""
    part = typed(row.meter.ceiling)
    return f"; the first question of this ledger set aside {part} of delta {typed(bound.delta)} for such questions"


def _way(meter: Meter) -> str:
    """Name one of the ways in which an (epsilon, delta) limit is counted, as part of a sentence."""
    if meter.kind == "tau":
        assert isinstance(meter.order, Fraction)
        return f"the Rényi loss of order {typed(meter.order)}"
    return "squared distance over variance of Gaussian noise" if meter.kind == "gauss" else "epsilon"


def _any_of(rows: Sequence[Break]) -> str:
    ways = [row for row in rows if row.meter.kind != "leak"]
    return " (one of these ways of counting is enough)" if len(ways) > 1 else ""


def _room(rows: Sequence[Break]) -> bool:
    """Tell whether a smaller spend may fit: no leak is over, and some route has something left."""
    return all(row.meter.kind != "leak" for row in rows) and any(row.left for row in rows)


def fits_text(closes: Sequence[Closing]) -> str:
    """Say that a request fits, and which routes it would close for good."""
    shut = [f"{row.name}, {_way(row.meter)}" for row in closes[:SHOWN_BREAKS]]
    return f"Fits. {EXPERTS} these ways of counting would end with it: {'; '.join(shut)}." if shut else "Fits."


def odometer_text(log_odds: Fraction, delta: Fraction, presence: bool = False) -> str:
    """Say what this run's answers can have shifted: for a record, or for whether a person is there at all."""
    odds, chance = rounded(log_odds, up=True), typed(delta)
    who = "any one person" if presence else "any one person and any one other record"
    what = (
        "the truth about whether they are in the data over its opposite"
        if presence
        else ("the true record over the other")
    )
    return (
        f"For {who} fixed beforehand, with probability at least 1 - {chance} over "
        f"the noise, the answers of this run raise the odds of {what} by a factor of at most "
        f"e^{odds}, now; the numbers shown earlier hold with it. This is about this run; it is not "
        f"Approximate({odds}, {chance})."
    )


COARSE = "It is so long that it was accounted for on a coarser grid than usual; the total is safe, and a little large."


def total_text(epsilon: Extended, delta: Fraction) -> str:
    """Say what a plan that was fixed beforehand guarantees; epsilon is rounded up to four digits.

    >>> total_text(Fraction("1.13244"), Fraction(1, 10**6))
    'The plan was fixed before the data were touched: its total, (1.133, 1e-6), is a guarantee for the plan.'
    """
    total = rounded(epsilon, up=True, digits=4)
    return (
        f"The plan was fixed before the data were touched: its total, ({total}, {typed(delta)}), is a guarantee for "
        "the plan."
    )


def list_text(epsilon: Extended, delta: Fraction, pure: Extended, questions: int, *, pure_first: bool = False) -> str:
    """Say what the questions of a list tell together; no delta is said where `pure`, without one, is the same.

    >>> list_text(Fraction("1.13244"), Fraction(1, 10**6), Fraction(2), 20)
    'Together the 20 questions tell at most epsilon 1.133 at delta 1e-6 about a person, and epsilon 2 without a delta.'
    """
    total, whole = rounded(epsilon, up=True, digits=4), rounded(pure, up=True, digits=4)
    said, also = f"epsilon {total} at delta {typed(delta)}", f"epsilon {whole} without a delta"
    if total == whole:
        said, also = f"epsilon {whole}", ""
    elif isinstance(pure, Infinity):
        also = ""
    elif pure_first:
        # What is charged is told without a delta where that is finite; both are named, so that neither is a riddle.
        said, also = f"epsilon {whole}", said
    more = f", and {also}" if also else ""
    return f"Together the {questions} questions tell at most {said} about a person{more}."


def by_curve_text(names: Sequence[str]) -> str:
    """Say which parts of a list are known by their Rényi curves alone."""
    verb = "is" if len(names) == 1 else "are"
    return f"It was added up by Rényi curves, because {_listed(names)} {verb} known by a curve alone."


def cost_text(loss: Loss) -> str:
    """Return a loss in a few words, the person first: the same before a question is paid and after.

    >>> from sfumato import Cost, Loss
    >>> cost_text(Loss.flat(Cost.pure("1/10"), reads={"age"}))
    'a person epsilon 0.1; it reads age'
    """
    names = sorted(loss.profile.names())
    return f"a person {loss.person}" + (f"; it reads {', '.join(names)}" if names else "")
