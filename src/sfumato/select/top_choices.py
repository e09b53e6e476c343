"""The best few candidates, by noise on what each one leads the first that is left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced, require_priced
from sfumato.noise.laws.chosen import law_of
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Everything, Loss, Relation, attributes
from sfumato.privacy.calibrate import Gaussians, choose
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.privacy.sensitivity import sensitivity as sensitivity_of
from sfumato.select.candidates import Candidates, normalise
from sfumato.select.fit import gap_sensitivity, positive_spend, settle
from sfumato.select.scores import whole


@dataclass(frozen=True, kw_only=True)
class Top(Mechanism):
    """Return the `count` candidates of largest noisy lead on the (count+1)-th best score, the largest first.

    The leads max(score - (count+1)-th best, 0) differ between neighbours by a vector v with |v_j| <= d and
    sum |v_j| <= count·d, d = `gap_sensitivity`: candidates that enter and leave pair up. Promise, for `relation`
    neighbours: D_a <= count·tau(a; d), tau being the curve of `law` at sensitivity d: eps = count·d/scale for
    Laplace, rho = count·d²/(2·variance) for Gaussian noise, half of what was printed (TCDP-GENHIST).

    The result is post-processing of the noisy leads of all candidates: ties are broken uniformly at random among
    all that are tied. Nothing is linear in the number of candidates: at most `count` leads are above 0, and
    for the others the largest noises are drawn with their multiplicities, then uniform candidates to bear them.
    With `cut`, only noisy leads above it are returned. Time O(pieces + count), memory O(pieces).
    """

    spec: ClassVar[str] = "TCDP-GENHIST"

    count: int
    law: Priced
    gap_sensitivity: int
    cut: int | None = None

    def __post_init__(self) -> None:
        require_priced(self.law)

    def loss(self) -> Loss:
        """Return count times the cost of the noise at the sensitivity of a lead."""
        return Loss.flat(self.law.cost(_moves(self.count, self.gap_sensitivity)), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> tuple[Any, ...]:
        """Draw the noisy leads that matter and return the candidates that have the largest."""
        field = normalise(exact)
        if field.size <= self.count:
            raise ParameterError(
                f"The {self.count} best of {field.size} candidates leave nothing to choose; write a smaller count."
            )
        leaders = _leads(field, self.count)
        heights: dict[int, list[int]] = {}
        for place, lead in leaders:
            heights.setdefault(lead + noise.draw(self.law), []).append(place)
        others = field.size - len(leaders)
        crowds = dict(noise.largest(self.law, others, min(self.count, others)))
        chosen = self._chosen(heights, crowds, noise)
        bearers = _bearers(sorted(place for place, _ in leaders), others, chosen.count(None), noise)
        return tuple(field.name(next(bearers) if place is None else place) for place in chosen)

    def _chosen(self, heights: dict[int, list[int]], crowds: dict[int, int], noise: Noise) -> list[int | None]:
        """Return the places with the largest noisy leads, None standing for some candidate without a lead."""
        chosen: list[int | None] = []
        for height in sorted({*heights, *crowds}, reverse=True):
            wanted = self.count - len(chosen)
            if wanted <= 0 or (self.cut is not None and height <= self.cut):
                break
            named = heights.get(height, [])
            chosen += _tied(named, len(named) + crowds.get(height, 0), wanted, noise)
        return chosen

    def event(self) -> Event:
        """Return the public record, the noise by name and parameters."""
        stated = super().event()
        noise = {"law": type(self.law).__name__, **vars(self.law)}
        return Event(stated.name, stated.spec, {**stated.parameters, "law": noise}, stated.version)

    def gap(self, confidence: Number, candidates: int) -> int:
        """Return the lead of the last of the best on the first left out that names them all with this confidence."""
        failure = 1 - between_zero_and_one(confidence, "confidence")
        window = self.law.window(failure / positive_integer(candidates, "candidates"))
        return 2 * max(-window.start, window.stop - 1) + 1


def _leads(field: Candidates, count: int) -> list[tuple[int, int]]:
    """Return the places whose score exceeds the (count+1)-th best one, with their leads."""
    best: list[tuple[int, int]] = []
    for score, place in field.ranked():
        best.append((place, score))
        if len(best) > count:
            break
    floor = best[-1][1]
    return [(place, score - floor) for place, score in best if score > floor]


def _tied(named: list[int], total: int, wanted: int, noise: Noise) -> list[int | None]:
    """Return at most `wanted` of `total` tied candidates, uniformly and in random order; the first are named."""
    taken = min(wanted, total)
    if total == 1:
        ranks = [0]
    else:
        picked = noise.subset(total, taken)
        ranks = [picked[place] for place in noise.permutation(taken)]
    return [named[rank] if rank < len(named) else None for rank in ranks]


def _bearers(leaders: list[int], others: int, wanted: int, noise: Noise) -> Any:
    """Yield distinct uniform places outside of the sorted leaders, in random order."""
    if not wanted:
        return
    picked = noise.subset(others, wanted)
    for rank in noise.permutation(wanted):
        place = picked[rank]
        for leader in leaders:
            if leader <= place:
                place += 1
        yield place


def _moves(count: int, gap: int) -> Sensitivity:
    """Return how far the leads can move: at most 2·count of them, each by gap, together by count·gap."""
    return sensitivity_of(l1=count * gap, l2_squared=count * gap**2, largest=gap, changed=2 * count)


def top(
    spend: Bound,
    count: int,
    sensitivity: int = 1,
    *,
    monotone: bool = False,
    candidates: int = 1 << 20,
    cut: int | None = None,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
    gaussians: Gaussians = "wide",
) -> Top:
    """Return the choice of the best few for a spend.

    Laplace noise for Pure, Gaussian for Concentrated, the better of Gaussian and sinh-normal for Truncated, the
    best of all for Approximate; `candidates` is the number of candidates for which "better" is decided, `gaussians`
    which Gaussian noise the ledger was made for.

    >>> from sfumato import Noise, Pure
    >>> pick = top(Pure(1), count=2)
    >>> pick({"bus": 120, "tram": 340, "walk": 280, "bike": 90}, Noise(insecure_seed=1))
    ('tram', 'walk')
    """
    bound = positive_spend(spend, "top")
    gap = gap_sensitivity(sensitivity, monotone, relation)
    number = positive_integer(count, "count")
    size = positive_integer(candidates, "candidates")
    if cut is not None:
        whole(cut, "Cuts")
    law = law_of(choose(bound, _moves(number, gap), draws=size, gaussians=gaussians))
    made = Top(count=number, law=law, gap_sensitivity=gap, cut=cut, relation=relation, reads=attributes(reads))
    return settle(made, bound)
