"""Do the parts of a plan fit together? A plan may come from anybody, and a device must not fail on some items only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import positive_integer
from sfumato.local.listed import ListMethod, MeanMethod
from sfumato.local.response import MeanResponse
from sfumato.local.tree import TreeMethod

if TYPE_CHECKING:
    from sfumato.local.plan import Plan

MOST_ROLES = 1 << 16


def check_shapes(plan: Plan) -> None:
    """Refuse a plan whose parts do not fit together, whatever it says about its loss.

    The loss of a plan rests on its coins, and on every role moving every item's report to one of its own reports. If
    one item had a report of its own, or made the client fail, that would tell everything about it. So the first and
    the last item go through every role here, before any real one does.
    """
    try:
        positive_integer(plan.users, "users")
        positive_integer(plan.reports, "reports")
        if not 0 < plan.method.false_items < 1:
            raise ParameterError("false_items lies between 0 and 1; write for example 0.05.")
        _check_sizes(plan)
        _try_roles(plan)
    except SfumatoError:
        raise
    except Exception as reason:
        raise ParameterError(
            f"The parts of this plan do not fit together ({type(reason).__name__}); make it with sfumato.local.plan, "
            "or ask whoever published it for another copy."
        ) from None


def _check_sizes(plan: Plan) -> None:
    method, items = plan.method, plan.items
    if len(method.roles) > MOST_ROLES:
        raise ParameterError(
            f"A plan has at most {MOST_ROLES} roles, and this one has {len(method.roles)}; split the devices less."
        )
    for role in method.roles:
        positive_integer(role.share, "share")
    if isinstance(method, MeanMethod):
        oracle = method.oracle
        fits = isinstance(oracle, MeanResponse) and oracle.steps + 1 == items.domain.size
    elif isinstance(method, ListMethod):
        fits = method.candidates == items.domain.size
    else:
        bits = method.levels[-1] if isinstance(method, TreeMethod) else getattr(method, "item_bits", items.bits)
        fits = bits == items.bits
    if not fits:
        raise ParameterError(
            "The method of this plan is made for other items than the plan has; make the method for these items, or "
            "name it, as in method='soft'."
        )


def _try_roles(plan: Plan) -> None:
    size = plan.items.domain.size
    last = (1 << plan.items.bits) - 1 if size is None else size - 1
    for place, role in enumerate(plan.method.roles):
        oracle = role.oracle
        for code in (0, last):
            point = plan.encoder.point(code, place)
            # A mean is rounded to one of the two ends before it is reported.
            said = min(point, 1) if isinstance(oracle, MeanResponse) else point
            for drawn in (0, oracle.outcomes - 1):
                if not 0 <= oracle.place(said, drawn) < oracle.outcomes:
                    raise ParameterError(
                        "An item of this plan would have a report that no other item has, which tells who holds it; "
                        "do not use it, and ask whoever published it for another one."
                    )
