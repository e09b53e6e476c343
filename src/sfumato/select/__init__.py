"""Private choice: the best of a public set of candidates, or a clear winner, or nothing."""

from sfumato.mechanism import NOTHING
from sfumato.moved import moved
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.heavy_cell import Choosing, check_bounded_growth, choosing
from sfumato.select.permute_flip import PermuteAndFlip, permute_and_flip
from sfumato.select.quasiconcave import Solver, interior_point, solve_quasiconcave
from sfumato.select.scores import StepFunction, Unbounded, sparse
from sfumato.select.sparse_probe import Reply, SparseVector, sparse_vector
from sfumato.select.stable_choice import Stable, stable
from sfumato.select.top_choices import Top, top

__all__ = [
    "NOTHING",
    "Choosing",
    "Exponential",
    "PermuteAndFlip",
    "Reply",
    "Solver",
    "SparseVector",
    "Stable",
    "StepFunction",
    "Top",
    "Unbounded",
    "check_bounded_growth",
    "choosing",
    "exponential",
    "interior_point",
    "permute_and_flip",
    "solve_quasiconcave",
    "sparse",
    "sparse_vector",
    "stable",
    "top",
]

__getattr__ = moved(__name__, {name: f"sfumato.papers.truncated_cdp.{name}" for name in ("Obvious", "obvious")})
