"""All parities of many binary columns, from the rows that are frequent (RL-PAR)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame, Released, half_width
from sfumato.ask.prepared import Prepared, Several
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import above_zero, between_zero_and_one, positive_integer
from sfumato.papers.query_release.synopses.prefixes import LONGEST_CHUNK, FrequentRows, PrefixTree, person_moves
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Approximate, Attributes, Bound, Pure
from sfumato.questions.synopsis.base import Floats, Synopsis
from sfumato.questions.synopsis.binary import Bits, Rows
from sfumato.questions.synopsis.methods import Columns, register
from sfumato.questions.synopsis.queries import Parities, pack, read_queries
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Distinct
from sfumato.totals.private_keys import stable_histogram
from sfumato.workload.moves import counted, repeated

CELLS = 2**22
"""So many pairs of a query and a row are compared at a time."""

OPTIONS = ("accuracy", "bad_fraction", "failure", "chunk")


@dataclass(frozen=True, eq=False, repr=False)
class ParitySynopsis(Synopsis):
    """Answers every parity: in which share of the rows an odd number of some columns are one.

    The Fourier coefficients of all parities are the shares of the rows, so that the frequent rows say all that can be
    said: over all queries the squared error of what is left out is a quarter of the sum of the squares of the shares
    that were not found. Where no row is frequent, all parities are near one half, and so are the answers.
    """

    kind: ClassVar[str] = "parities"

    columns: tuple[str, ...]
    people: float
    rows: NDArray[np.bool_]
    weights: NDArray[np.int64]
    deviation: float
    smallest: float
    """Rows with at least this share are found, with high probability."""

    def _shares(self, queries: Any) -> Floats:
        asked = self.queries(queries)
        words, shares = pack(self.rows), self.weights / max(self.people, 1.0)
        found = np.empty(len(asked))
        step = max(1, CELLS // max(len(words), 1))
        for start in range(0, len(asked), step):
            part = asked.words[start : start + step]
            met = np.zeros((len(part), len(words)), np.uint64)
            for place in range(words.shape[1]):
                met ^= part[:, place, None] & words[None, :, place]
            signs = 1.0 - 2.0 * (np.bitwise_count(met) & np.uint8(1))
            found[start : start + step] = (1 - signs @ shares) / 2
        found[~asked.words.any(axis=1)] = 0.0  # of no columns an odd number is never one
        return found

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in each answer; it is the same for all."""
        asked = self.queries(queries)
        noise = self.deviation * math.sqrt(len(self.weights)) / (2 * max(self.people, 1.0))
        return np.where(asked.words.any(axis=1), noise, 0.0)

    def predicted(self) -> float:
        """Return a bound on the root mean squared error over all queries: rows that were missed, and noise."""
        noise = self.deviation * math.sqrt(len(self.weights)) / (2 * max(self.people, 1.0))
        return math.hypot(noise, math.sqrt(min(1.0, self.smallest)) / 2)

    def queries(self, queries: Any) -> Parities:
        """Read queries: `Parities`, or lists of names such as [("smokes", "drives")]."""
        return read_queries(Parities, queries, self.columns, "columns", "('smokes', 'drives')")

    def to_frame(self) -> Frame:
        """Return the frequent rows with their shares."""
        columns = {name: tuple(self.rows[:, place].tolist()) for place, name in enumerate(self.columns)}
        shares = tuple((self.weights / max(self.people, 1.0)).tolist())
        return Frame(self.columns, {**columns, "share": shares})

    def _record(self) -> dict[str, Any]:
        return {
            "rows": ["".join("01"[bit] for bit in row) for row in self.rows.astype(int).tolist()],
            "weights": self.weights.tolist(),
            "deviation": self.deviation,
            "smallest": self.smallest,
        }

    @classmethod
    def _read(cls, columns: tuple[str, ...], people: float, record: Mapping[str, Any]) -> ParitySynopsis:
        rows = np.array([[bit == "1" for bit in row] for row in record["rows"]], np.bool_).reshape(-1, len(columns))
        weights = np.array(record["weights"], np.int64)
        return cls(columns, people, rows, weights, float(record["deviation"]), float(record["smallest"]))


@dataclass(frozen=True)
class Wanted:
    """How accurate answers should be, and how the tree is cut."""

    share: Fraction
    failure: Fraction
    chunk: int

    @classmethod
    def read(cls, options: Mapping[str, Any], size: int) -> Wanted:
        """Read options: errors above `accuracy` for at most `bad_fraction` of the queries, except with `failure`."""
        accuracy = between_zero_and_one(options.get("accuracy", Fraction(1, 20)), "accuracy")
        bad = between_zero_and_one(options.get("bad_fraction", Fraction(1, 10)), "bad_fraction")
        failure = between_zero_and_one(options.get("failure", Fraction(1, 20)), "failure")
        for name, number in (("accuracy", accuracy), ("bad_fraction", bad), ("failure", failure)):
            above_zero(number, name)
        chunk = positive_integer(options.get("chunk", min(8, size)), "chunk")
        if chunk > LONGEST_CHUNK:
            raise ParameterError(
                f"chunk={chunk} gives every prefix {2**chunk} children, all written out; write 1 … {LONGEST_CHUNK}."
            )
        return cls(accuracy**2 * bad, failure, chunk)


def parities(basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare the search for frequent rows: a tree, or with a delta the rows that occur (RL-PAR)."""
    bits = Bits.of(basis.schema, columns)
    gauge = basis.gauge(bits.measure)
    wanted = Wanted.read(options, len(bits))
    if isinstance(spend, Approximate):
        return _stable(gauge, spend, bits)
    return _tree(gauge, gauge.priced(spend), bits, wanted)


def _tree(gauge: Gauge, spend: Bound, bits: Bits, wanted: Wanted) -> Prepared:
    mechanism = tree_mechanism(gauge, spend, bits, wanted)

    def finish(raw: FrequentRows) -> Released:
        people = float(gauge.total or 0) if raw.total is None else max(1.0, float(raw.total))
        level = max(mechanism.least, math.ceil(wanted.share * round(people)))
        hidden = half_width(mechanism.law, 1 - wanted.failure / (mechanism.levels * mechanism.most))
        return _released(bits, people, raw, mechanism.law, (level + hidden) / people)

    return Prepared(gauge, mechanism, finish, bits.read, holds=bits.holds)


def tree_mechanism(gauge: Gauge, spend: Bound, bits: Bits, wanted: Wanted) -> PrefixTree:
    """Return the tree whose noise fits a spend, and whose threshold no empty cell reaches but by `failure`."""
    levels, most = -(-len(bits) // wanted.chunk), math.ceil(2 / wanted.share)
    replaced, people = gauge.relation is REPLACE_ONE, gauge.total
    reads: Attributes = frozenset(bits.attributes) if replaced and gauge.matched else gauge.attributes
    seen = {name: levels - min(bits.places(name)) // wanted.chunk for name in bits.attributes}
    singles = {name: repeated(counted(2 * number), gauge.rows) for name, number in seen.items()} if replaced else {}
    if spend.unit == "attribute" and not singles:
        raise UnsupportedSpend(
            "No single attribute moves these counts, only whole people do, so no spend per attribute pays for them; "
            "spend per person."
        )
    noise = calibrate(
        spend,
        person_moves(levels, people is None, replaced, gauge.rows),
        by_attribute=singles or None,
        draws=levels << wanted.chunk,
        relation=gauge.relation,
        reads=reads or EVERYTHING,
        gaussians=gauge.gaussians,
    )
    rare = wanted.failure / (levels * min(most, 1 << 20) << wanted.chunk)
    return PrefixTree(
        bits=bits,
        law=noise.law,
        least=AdditiveNoise(law=noise.law, sensitivity=counted(1)).quantile(1 - rare) + 1,
        share=wanted.share,
        most=most,
        chunk=wanted.chunk,
        people=people,
        rows=gauge.rows,
        relation=gauge.relation,
        reads=reads or EVERYTHING,
    )


def _stable(gauge: Gauge, spend: Approximate, bits: Bits) -> Prepared:
    """Prepare noisy counts of the rows that occur, those that are surely not about one person."""
    reads = gauge.charged
    # A sixteenth of epsilon pays for the number of rows where it is private.
    part = spend if gauge.total is not None else Approximate(spend.epsilon * 15 / 16, spend.delta)
    found = stable_histogram(part, groups=gauge.rows, rows=gauge.rows, relation=gauge.relation, reads=reads)
    total = None
    if gauge.total is None:
        total = calibrate(Pure(spend.epsilon / 16), sensitivity=gauge.rows, relation=gauge.relation, reads=reads)

    def arrange(found_rows: Distinct) -> Any:
        rows = bits.read(found_rows)
        keys = _keys(rows)
        return keys if total is None else (keys, rows.total)

    def finish(raw: Any) -> Released:
        kept, number = (raw, gauge.total or 0) if total is None else raw
        rows = FrequentRows(tuple(key for key, _ in kept), tuple(count for _, count in kept))
        people = max(1.0, float(number))
        return _released(bits, people, rows, found.law, found.smallest_published() / people)

    mechanism = found if total is None else Several(mechanisms=(found, total), relation=gauge.relation)
    return Prepared(gauge, mechanism, finish, arrange)


def _keys(rows: Rows) -> dict[tuple[int, ...], int]:
    """Return how often each row of bits occurs."""
    found: dict[tuple[int, ...], int] = {}
    for row, count in zip(map(tuple, rows.ones.astype(int).tolist()), rows.counts.tolist(), strict=True):
        found[row] = found.get(row, 0) + count
    return found


def _released(bits: Bits, people: float, found: FrequentRows, law: Any, smallest: float) -> Released:
    rows = np.array(found.rows, dtype=np.bool_).reshape(-1, len(bits))
    weights = np.array(found.counts, dtype=np.int64)
    made = ParitySynopsis(bits.names, people, rows, weights, law.deviation(), smallest)
    return Released((), made={"synopsis": made.to_json(), "error": made.predicted()})


register("parities", parities, OPTIONS)
