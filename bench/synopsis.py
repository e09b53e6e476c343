"""Synopses of many binary columns: `python -m bench.synopsis [DATA] [--quick] [--only conjunctions parities …]`.

Conjunctions of columns drawn at random: root mean squared and 99 % error by width, of sets of few columns (RL-AIE), of
Fourier coefficients (RL-FOUR), each made for that width, and of a model fitted to all pairs (`Synthesize`) where it is
quick enough; the error that was predicted from public facts; and how many listed queries plain noise would answer with
the same error, beside how many there are. Then seconds and memory at 200 columns, planted parities, cuts of a graph,
and the error against the number of rows, columns and width. DATA is a directory with adult.parquet, if you have it.
Everything is seeded; errors are means over seeds, seconds are CPU time of one process.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from sfumato import Concentrated, Noise, Pure, Schema, Synopsize, Synthesize, booleans, curate, integers
from sfumato.errors import AccuracyWarning
from sfumato.papers.query_release.synopses.hubs import Edges
from sfumato.questions.synopsis import Bits, Conjunctions, Cuts, Parities, one_hot, synopsis_from_json
from sfumato.questions.synopsis.binary import Rows
from sfumato.table.gauge import Basis

PEOPLE = 100_000
QUERIES = 1000
WIDTHS = (2, 3, 4, 6)
SPENDS = {"Pure(1)": Pure(1), "Concentrated(0.1)": Concentrated("0.1")}


def mixture(people: int, size: int, seed: int, kinds: int = 8) -> Any:
    """Return people of a few kinds, each with habits of its own, most of them rare."""
    draw = np.random.default_rng(seed)
    habits = draw.beta(0.6, 1.0, (kinds, size))
    return draw.random((people, size)) < habits[draw.integers(0, kinds, people)]


def bits_schema(size: int) -> Schema:
    return Schema({f"c{place}": booleans(missing=False) for place in range(size)})


@dataclass(frozen=True)
class Case:
    """A table as exact integers, its schema, the columns asked about, and how many rows it has."""

    schema: Schema
    columns: Any
    exact: Any
    people: int


def synopsis(method: str, case: Case, spend: Any, seed: int, **options: Any) -> Any:
    """Prepare, draw with a seed, and read the synopsis, without a ledger; also the predicted error."""
    setting = Basis(case.schema, case.people)
    prepared = Synopsize(method, case.columns, options).prepare(setting, spend)
    made = prepared.finish(prepared.mechanism.run(case.exact, Noise(insecure_seed=seed))).made
    return synopsis_from_json(made["synopsis"]), float(made["error"])


def truth(bits: Any, queries: Conjunctions) -> Any:
    packed = np.packbits(bits, axis=0)
    found = np.empty(len(queries))
    for row, (places, negated) in enumerate(zip(queries.places, queries.negated, strict=True)):
        both = np.full(packed.shape[0], 255, np.uint8)
        for place, minus in zip(places, negated, strict=True):
            both &= ~packed[:, place] if minus else packed[:, place]
        found[row] = np.bitwise_count(both).sum() / len(bits)
    return found


def rms(errors: Any) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def listed(spend: Any, error: float, people: int) -> float:
    """Return how many listed counts plain noise answers with this error, a person moving each by one."""
    if isinstance(spend, Pure):
        return error * people * float(spend.epsilon) / math.sqrt(2)
    return 2 * float(spend.rho) * (error * people) ** 2


def conjunctions(name: str, case: Case, seeds: int, model: bool) -> None:
    size = case.exact.ones.shape[1]
    bits = np.repeat(case.exact.ones, case.exact.counts, axis=0)
    for spend_name, spend in SPENDS.items():
        fitted = _model(bits, spend) if model else None
        for width in WIDTHS:
            queries = Conjunctions.random(size, width, QUERIES, noise=Noise(insecure_seed=width))
            true = truth(bits, queries)
            cells = [f"{rms(true - true.mean()):.4f}"]
            best = 1.0
            for method in ("marginals", "fourier"):
                errors, predicted = [], 0.0
                for seed in range(seeds):
                    found, predicted = synopsis(method, case, spend, seed, width=width)
                    errors.append(found.answer(queries) - true)
                best = min(best, rms(errors))
                degree = getattr(found, "order", None) or found.degree
                cells.append(f"{rms(errors):.4f} / {np.quantile(np.abs(errors), 0.99):.3f} ({degree}; {predicted:.4f})")
            cells.append("" if fitted is None else f"{rms(_model_answers(fitted, queries) - true):.4f}")
            cells.append(f"{listed(spend, best, len(bits)):.0f} of {math.comb(size, width)}")
            print(f"| {name} | {spend_name} | {width} | {' | '.join(cells)} |", flush=True)


def _model(bits: Any, spend: Any) -> Any:
    schema = bits_schema(bits.shape[1])
    table = pyarrow.table({f"c{place}": bits[:, place] for place in range(bits.shape[1])})
    with curate(table, schema, spend) as curator:
        return curator.ask(Synthesize(), spend).value


def _model_answers(model: Any, queries: Conjunctions) -> Any:
    found = np.empty(len(queries))
    for row, places in enumerate(queries.places.tolist()):
        table = model.marginal([model.space.names[place] for place in places])
        found[row] = table[(1,) * len(places)]
    return found


def adult(data: Path) -> Case:
    from bench.synthetic_tables import adult as read
    from sfumato.table.data import open_table

    case = read(data)
    names = [name for name in case.schema.names if (case.schema.domain(name).size or 99) <= 20]
    columns = one_hot(case.schema, names)
    bits = Bits.of(case.schema, columns)
    with open_table(case.rows, case.schema) as table:
        exact = bits.read(Basis(case.schema, table.people).gauge(bits.measure).read(table))
    return Case(case.schema, columns, exact, exact.total)


def all_conjunctions(data: Path | None, quick: bool) -> None:
    print(
        "| table | spend | width | spread | marginals: rms / 99 % (order; predicted) | fourier (degree; predicted) "
        "| model | as many listed |"
    )
    print("|---|---|---|---|---|---|---|---|")
    sizes = (16, 64) if quick else (16, 32, 64, 200)
    for size in sizes:
        bits = mixture(PEOPLE, size, seed=size)
        case = Case(bits_schema(size), None, Rows(bits, np.ones(PEOPLE, np.int64)), PEOPLE)
        conjunctions(f"mixture, {size}", case, 1 if quick else 2, model=size <= 64 and not quick)
    if data is not None and (data / "adult.parquet").exists():
        case = adult(data)
        conjunctions(f"adult one-hot, {len(case.columns)}", case, 1 if quick else 2, model=False)


def speed() -> None:
    bits = mixture(PEOPLE, 200, seed=1)
    table = pyarrow.table({f"c{place}": bits[:, place] for place in range(200)})
    print("\n| 200 columns, 100 000 rows | CPU s |\n|---|---|")
    with curate(table, bits_schema(200), Concentrated(10)) as curator:
        for method, option in (("marginals", "order"), ("fourier", "degree")):
            start = time.process_time()
            found = curator.synopsis(method, spend=Concentrated("0.1"), options={"width": 3, option: 2}).value
            print(f"| {method}, {option}=2: reading, adding up, noise, storing | {time.process_time() - start:.1f} |")
            for width in (3, 6):
                queries = Conjunctions.random(200, width, 10**6, noise=Noise(insecure_seed=1))
                start = time.process_time()
                found.answer(queries)
                print(
                    f"| {method}: a million queries of {width} columns | {time.process_time() - start:.1f} |",
                    flush=True,
                )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nPeak memory of the process: {peak:.1f} GB.")


def parities(seeds: int) -> None:
    print(
        "\n| columns | spend | found from, predicted | planted at it: found | at half of it | rms error "
        "| constant 1/2 | bound |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for size in (16, 32, 64):
        for spend_name, spend in SPENDS.items():
            blank = Rows(np.zeros((1, size), np.bool_), np.array([PEOPLE]))
            first, _ = synopsis("parities", Case(bits_schema(size), None, blank, PEOPLE), spend, 0)
            count = math.ceil(first.smallest * PEOPLE)
            cells: dict[str, list[float]] = {"full": [], "half": [], "error": [], "constant": [], "bound": []}
            for seed in range(seeds):
                draw = np.random.default_rng(seed)
                special = draw.random((20, size)) < 0.5
                bits = draw.random((PEOPLE, size)) < 0.5
                bits[: 10 * count] = np.repeat(special[:10], count, axis=0)
                bits[10 * count : 10 * count + 10 * (count // 2)] = np.repeat(special[10:], count // 2, axis=0)
                ones, counts = np.unique(bits, axis=0, return_counts=True)
                case = Case(bits_schema(size), None, Rows(ones, counts), PEOPLE)
                found, _ = synopsis("parities", case, spend, seed)
                rows = {tuple(row) for row in found.rows.tolist()}
                cells["full"].append(np.mean([tuple(row) in rows for row in special[:10].tolist()]))
                cells["half"].append(np.mean([tuple(row) in rows for row in special[10:].tolist()]))
                queries = Parities.random(size, 300, noise=Noise(insecure_seed=seed))
                true = (queries.flags().astype(np.float32) @ bits.T.astype(np.float32) % 2).mean(axis=1)
                cells["error"].append(rms(found.answer(queries) - true))
                cells["constant"].append(rms(true - 0.5))
                cells["bound"].append(found.predicted())
            means = {name: float(np.mean(values)) for name, values in cells.items()}
            print(
                f"| {size} | {spend_name} | {count} | {means['full']:.2f} | {means['half']:.2f} | {means['error']:.4f} "
                f"| {means['constant']:.4f} | {means['bound']:.4f} |",
                flush=True,
            )


def cuts(seeds: int) -> None:
    vertices, edges = 10_000, 100_000
    schema = Schema({"a": integers(0, vertices - 1, missing=0), "b": integers(0, vertices - 1, missing=0)})
    print("\n| graph | spend | coin cuts: rms | predicted | one in ten: rms | by degree: rms / worst | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in ("even", "hubs"):
        draw = np.random.default_rng(5)
        weights = np.ones(vertices) if name == "even" else 1 + draw.pareto(1.1, vertices)
        weights /= weights.sum()
        one, two = (draw.choice(vertices, edges, p=weights) for _ in range(2))
        case = Case(schema, ("a", "b"), Edges.of(one, two), edges)
        degrees = np.bincount(one, minlength=vertices) + np.bincount(two, minlength=vertices)
        order = np.argsort(-degrees)
        tops = np.zeros((100, vertices), np.bool_)
        for row in range(100):
            tops[row, order[: vertices * (row + 1) // 200]] = True
        groups = [draw.random((1000, vertices)) < 0.5, draw.random((1000, vertices)) < 0.1, tops]
        truths = [(flags[:, one] != flags[:, two]).mean(axis=1) for flags in groups]
        for spend_name, spend in SPENDS.items():
            errors: list[list[Any]] = [[], [], []]
            start = time.process_time()
            for seed in range(seeds):
                found, predicted = synopsis("cuts", case, spend, seed)
                for place, (flags, true) in enumerate(zip(groups, truths, strict=True)):
                    errors[place].append(found.answer(Cuts.make(flags)) - true)
            spent = (time.process_time() - start) / seeds
            worst = float(np.abs(errors[2]).max())
            print(
                f"| {name} | {spend_name} | {rms(errors[0]):.4f} | {predicted:.4f} | {rms(errors[1]):.4f} | "
                f"{rms(errors[2]):.4f} / {worst:.3f} | {spent:.1f} |",
                flush=True,
            )


def curves() -> None:
    print("\n| rows | columns | width | order: rms (predicted) | noise only | what binds |\n|---|---|---|---|---|---|")
    spend = SPENDS["Concentrated(0.1)"]
    lines = [(rows, 64, 3) for rows in (1000, 10_000, 100_000, 400_000)]
    lines += [(100_000, size, 3) for size in (16, 32, 128)] + [(100_000, 64, width) for width in (2, 4, 6, 8)]
    for rows, size, width in lines:
        bits = mixture(rows, size, seed=size)
        queries = Conjunctions.random(size, width, QUERIES, noise=Noise(insecure_seed=width))
        case = Case(bits_schema(size), None, Rows(bits, np.ones(rows, np.int64)), rows)
        found, predicted = synopsis("marginals", case, spend, 1, width=width)
        error, noise = rms(found.answer(queries) - truth(bits, queries)), rms(found.stderr(queries))
        binds = "noise" if noise > 0.7 * error else "what is left out"
        print(
            f"| {rows} | {size} | {width} | {found.order}: {error:.4f} ({predicted:.4f}) | {noise:.4f} | {binds} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true")
    parts = ("conjunctions", "speed", "parities", "cuts", "curves")
    parser.add_argument("--only", nargs="*", choices=parts, default=parts)
    given = parser.parse_args()
    warnings.simplefilter("ignore", AccuracyWarning)
    if "conjunctions" in given.only:
        all_conjunctions(given.data, given.quick)
    if "speed" in given.only:
        speed()
    if "parities" in given.only:
        parities(1 if given.quick else 3)
    if "cuts" in given.only:
        cuts(1 if given.quick else 3)
    if "curves" in given.only:
        curves()


if __name__ == "__main__":
    main()
