"""What subsampling cannot do (LB-SUB): shown by the Gaussian mechanism, so true for every general theorem."""

from __future__ import annotations

import math

from sfumato.bounds.floors import Floor, positive
from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, between_zero_and_one, exact, float_log
from sfumato.exact.rational import show


def subsampled_rho(rho: Number, rate: Number) -> Floor:
    """Return the rho that remains, at least, after sampling a share `rate` of the people: rate²·rho.

    To a planner: no theorem that covers all rho-concentrated mechanisms can promise less. (At order 2, Gaussian
    noise keeps log(1 + rate²·(e^(2·rho) - 1)) >= 2·rate²·rho.) And no omega is infinite after sampling: ask for
    Truncated, not for Concentrated.

    >>> subsampled_rho(0.1, 0.01).value
    1e-05
    """
    share = between_zero_and_one(rate, "rate")
    return Floor(float(share**2 * at_least_zero(rho, "rho")), "order 2")


def subsampled_order(rho: Number, rate: Number, factor: Number = 13) -> Floor:
    """Return a ceiling on the order omega up to which factor·rate²·rho can hold after sampling.

    To a planner: no theorem that covers all rho-concentrated mechanisms can promise a larger omega than
    1 + log(1/rate)/(rho·(1 - factor·rate²)), as printed: at every real order a, whole or not, Gaussian noise keeps
    a·rho - a/(a - 1)·log(1/rate) (LB-SUB).

    >>> round(subsampled_order(0.1, 0.01).value, 2)
    47.11
    """
    share = between_zero_and_one(rate, "rate")
    multiple = exact(factor, "factor")
    if multiple < 1:
        raise ParameterError(f"factor must be at least 1, and {show(multiple)} is below what order 2 allows.")
    price = positive(rho, "rho")
    kept = 1 - multiple * share**2
    if kept <= 0:
        return Floor(math.inf, "nothing: the sample is too large")
    level = -float_log(share)
    return Floor(1 + level / (price * float(kept)), "one order")
