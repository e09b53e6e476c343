"""Errors that no local protocol can go below, as a planner asks for them; the arithmetic is in `bounds.local`."""

from __future__ import annotations

from sfumato.bounds.floors import Floor
from sfumato.bounds.local import local_count_floor, local_tail_floor
from sfumato.errors import NotProvable
from sfumato.exact import Number, between_zero_and_one
from sfumato.exact.rational import show
from sfumato.exact.search import smallest
from sfumato.privacy import Pure
from sfumato.privacy.coins import report_epsilon

_MOST_USERS = 10**18


def error_floor(users: int, spend: Pure) -> Floor:
    """Return the root-mean-square error, in devices, that every one-round local count has on some data (LB-BAYES).

    >>> from sfumato import Pure
    >>> round(error_floor(1_000_000, Pure(1)).value)
    699
    """
    return local_count_floor(users, report_epsilon(spend))


def tail_floor(users: int, spend: Pure, failure: Number, items: int = 1) -> Floor:
    """Return about which error is exceeded with probability `failure`; a rule of thumb (LB-TAIL).

    With `items`, the error of the worst of that many counts.

    >>> from sfumato import Pure
    >>> round(tail_floor(1_000_000, Pure(1), failure=0.05).value)
    1370
    """
    return local_tail_floor(users, report_epsilon(spend), failure, items)


def least_users(spend: Pure, share: Number) -> int:
    """Return below about how many users every local count of an item of this share errs, on some data, by all of it.

    There the item is held by fewer devices than `error_floor`. Real protocols need more: ask `local.plan`.

    >>> from sfumato import Pure
    >>> least_users(Pure(1), share="0.001")
    488277
    """
    part, epsilon = between_zero_and_one(share, "share"), report_epsilon(spend)

    def enough(users: int) -> bool:
        return users * float(part) >= local_count_floor(users, epsilon).value

    found = smallest(lambda users: users > 0 and (users > _MOST_USERS or enough(users)), start=1)
    if found > _MOST_USERS:
        raise NotProvable(f"A share of {show(part)} needs more users than there are; ask for a larger share.")
    return found
