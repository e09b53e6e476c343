"""The question that asks for a model of some columns, to read tables from and to draw rows from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

from sfumato.answer import ErrorUnit, NoisyPart, Released
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared, Several
from sfumato.ask.question import Question, as_columns
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.model.base import Model, model_from_json, read_model
from sfumato.model.refined import ColumnBins, coarse_space
from sfumato.privacy import Bound
from sfumato.questions.synthesis.adaptive import ChosenTables
from sfumato.questions.synthesis.building import SynthesisFacts
from sfumato.questions.synthesis.check import CheckedTables, compared
from sfumato.questions.synthesis.coarse import bins_of, cut_off, cutting_of, finer_space, inside_tables, parted, refined
from sfumato.questions.synthesis.cuts import CutTables
from sfumato.questions.synthesis.design import Lists, design, pair_noise
from sfumato.questions.synthesis.fit import fitted, judged_tables, predicted_error
from sfumato.questions.synthesis.gather import gather
from sfumato.questions.synthesis.kept import not_kept
from sfumato.questions.synthesis.methods import METHODS
from sfumato.questions.synthesis.repeated import one_of_each, require_one_of_each
from sfumato.questions.synthesis.stated import distances_of, stated_error, stated_interval, stated_notes
from sfumato.questions.synthesis.triples import TripleTables
from sfumato.show.progress import watched
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.table.schema import Schema
from sfumato.totals.tables.parts import Columns, Part
from sfumato.workload.floors import beside_model
from sfumato.workload.records import binned, tabled
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

MOST_CODES = 2048
"""All codes of all columns together: half of their square is how many numbers are released; wide ones are binned."""


TOO_FEW = (
    "People are too few for tables of two columns at this spend: each column is measured alone, and the rows will "
    "treat all of them as unrelated; spend more, or ask for fewer columns or coarser bins."
)


@dataclass(frozen=True, init=False)
class Synthesize(Question):
    """A model of some columns, fitted to noisy tables: `.marginal()`, `.sample(10_000)`, `.to_parquet()`.

    With `method="auto"` all one- and two-way tables are measured at once in contrasts, and a model is fitted to them:
    of all cells where they are few, a mixture of products elsewhere. A fiftieth of the spend measures how far off it
    is; `measured=False` gives that part back. A `workload` says which tables matter: only pairs of columns that one of
    its queries sees together are measured. Without it all pairs of `columns` are, by default of
    all columns of the schema. The papers' algorithms stand beside it by name: "mwem", "pdp-mwem", "barak"; they take
    `options`.

    Spec: PDP-GAUSS, QR-BARAK, QR-MWEM. Time: seconds; memory: hundreds of megabytes at most.

    >>> from sfumato import Schema, booleans, workloads
    >>> schema = Schema({"rain": booleans(), "wind": booleans()})
    >>> Synthesize(workloads.marginals(schema, width=2), method="mwem", options={"rounds": 3}).options
    (('rounds', 3),)
    """

    kind: ClassVar[str] = "Synthesize"
    title: ClassVar[str] = "Synthetic data"
    typed: ClassVar[tuple[str, ...]] = ("synthesize",)
    error_unit: ClassVar[ErrorUnit] = "total variation"
    unforeseen: ClassVar[str] = (
        "How wrong made-up rows will be is known only after paying, because it depends on how columns hang together in "
        "the data; the answer says it, and rehearse shows it for columns that do not."
    )
    later: ClassVar[Mapping[str, Any]] = {"measured": True}
    workload: Workload | None = None
    columns: tuple[str, ...] | None = None
    method: str = "auto"
    options: tuple[tuple[str, Any], ...] = field(default=())
    measured: bool = True

    def __init__(
        self,
        workload: Workload | Sequence[str] | None = None,
        columns: Iterable[str] | None = None,
        method: str = "auto",
        options: Mapping[str, Any] | Sequence[Sequence[Any]] = (),
        measured: bool = True,
    ) -> None:
        if columns is None and isinstance(workload, str | list | tuple):  # names, as most people begin
            workload, columns = None, workload
        if workload is not None and not isinstance(workload, Workload):
            raise ParameterError(
                "workload is a workload or a list of columns; write Synthesize(workloads.marginals(schema, width=3)), "
                "Synthesize(columns=['sex', 'age']), or Synthesize() for all columns."
            )
        if workload is not None and columns is not None:
            raise ParameterError("A workload names its columns; leave columns= out, or the workload.")
        METHODS.require(method)
        given = options.items() if isinstance(options, Mapping) else options
        listed = tuple(sorted((str(name), value) for name, value in given))
        if "target" in dict(listed):
            raise ParameterError(
                "Synthetic rows have no target: all columns are modelled alike; leave it out, and name the label when "
                "you train on the rows."
            )
        if listed and method == "auto":
            raise ParameterError("method='auto' takes no options; it decides everything from public facts.")
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "columns", None if columns is None else as_columns(columns))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "options", listed)
        if not isinstance(measured, bool):
            raise ParameterError("measured= says whether the model's error is measured; write True or False.")
        object.__setattr__(self, "measured", measured)

    def not_foreseen(self, prepared: Prepared) -> str:
        """Say how a model will be wrong where no table of two columns can be measured: that is public."""
        mechanism = prepared.mechanism
        first = mechanism.mechanisms[0] if isinstance(mechanism, Several) else mechanism
        release: Any = first.release if isinstance(first, CheckedTables) else first
        looks = release.looks() if hasattr(release, "looks") else ()
        alone = bool(looks) and max(map(len, looks)) < 2 <= len({place for one in looks for place in one})
        return f"{TOO_FEW} {self.unforeseen}" if alone else self.unforeseen

    def canonical(self, schema: Schema) -> Self:
        """Refuse columns or a workload that the schema does not have."""
        if self.workload is not None:
            if Space.of(schema, self.workload.space.names) != self.workload.space:
                raise SchemaError(
                    "The workload was made for a schema with other domains; make it from the schema of this table, "
                    "curator.schema."
                )
        else:
            Space.of(schema, self.columns)
        return self

    def check_new(self, schema: Schema) -> None:
        """Refuse a column beside its own bins; answers of earlier versions about both are still read."""
        require_one_of_each(schema, self._names(schema))

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the columns, and the method with its options; of a column and its bins one is meant."""
        phrase.only("with")
        left = tuple(one_of_each(schema, schema.names))
        columns = phrase.columns or (None if left == schema.names else left)
        return cls(None, columns, phrase.method or "auto", phrase.options)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the measurements; the fit is what happens afterwards."""
        if self.method != "auto":
            return METHODS[self.method](basis, spend, self._asked(basis.schema), dict(self.options))
        facts, bins = self._facts(basis)
        if bins:
            return self._wide(facts, bins, basis, spend)
        space, schema, width = facts.space, basis.schema, self._width(facts)
        mechanism = design(facts, facts.gauge.priced(spend), self._compared(facts, width))
        beside = beside_model(space, width, facts.gauge, spend)

        def finish(raw: Any) -> Released:
            found = _finished(mechanism, raw, facts, width)
            made = {"schema": schema.to_json(), "model": found.model.to_json(), **found.stated}
            return Released(
                tuple(found.measured), made={**made, **beside.made(), "notes": [*found.notes, *beside.notes]}
            )

        looks = sorted(mechanism.looks())
        gauge, arrange = tabled(facts.gauge, space, ([space.names[place] for place in one] for one in looks))
        return Prepared(gauge, mechanism, finish, arrange)

    def _wide(self, facts: SynthesisFacts, bins: Mapping[str, ColumnBins], basis: Basis, spend: Bound) -> Prepared:
        """Prepare the measurements of columns in bins, and of what lies inside the bins."""
        space = Space.of(basis.schema, facts.space.names)
        first, second = spends = parted(facts.gauge.priced(spend))
        cutting = cutting_of(facts, space, bins, spends)
        read, grids = (facts.space, bins) if cutting is None else (cutting.space, cutting.grids)
        facts = facts if cutting is None else replace(facts, space=cutting.cut_space)
        width = self._width(facts)
        finer = finer_space(space, grids)
        mechanism = design(facts, first, self._compared(replace(facts, space=read), width))
        inside = inside_tables(facts, finer, grids, second)
        beside = beside_model(facts.space, width, facts.gauge, spend)
        wide = [name for name in space.names if name in grids]

        def finish(raw: Any) -> Released:
            held = grids if cutting is None else cutting.cut(inside, raw[1])
            found = _finished(mechanism, raw[0], facts, width)
            measured = list(found.measured)
            for name, part, numbers in zip(wide, inside.parts, raw[1], strict=True):
                measured.append(NoisyPart(f"{name} in full", _flat(numbers), part.law))
            tables = {name: (raw[1][at], inside.parts[at].variance()) for at, name in enumerate(wide)}
            whole = refined(found.model, space, held, grids, tables)
            made = {"schema": basis.schema.to_json(), "model": whole.to_json(), **found.stated}
            notes = [*found.notes, *_notes(held), *cut_off(space, grids, tables), *beside.notes]
            return Released(tuple(measured), made={**made, **beside.made(), "notes": notes})

        gauge, arrange = binned(facts.gauge, read, finer, grids, sorted(mechanism.looks()))
        both, relation = (mechanism, inside), basis.relation
        if cutting is None:
            return Prepared(gauge, Several(mechanisms=both, relation=relation), finish, arrange)
        return Prepared(gauge, CutTables(mechanisms=both, relation=relation, cutting=cutting), finish, arrange)

    def _names(self, schema: Schema) -> tuple[str, ...]:
        if self.workload is not None:
            return self.workload.columns
        return schema.names if self.columns is None else self.columns

    def _asked(self, schema: Schema) -> Workload:
        """Return the workload; without one, all tables of up to three columns."""
        if self.workload is not None:
            return self.workload
        from sfumato.workload.builders import marginals

        space = Space.of(schema, self.columns)
        return marginals(schema, width=min(3, len(space.names)), columns=space.names)

    def _facts(self, basis: Basis) -> tuple[SynthesisFacts, Mapping[str, ColumnBins]]:
        """Return what a design is made from, with wide columns in bins, and the bins."""
        names = self.columns if self.workload is None else self.workload.columns
        space = Space.of(basis.schema, names)
        bins = bins_of(space, MOST_CODES)
        if bins is None:
            raise DomainTooLarge(
                f"There are {len(space.names)} columns, so many that a model of {MOST_CODES} codes has hardly any for "
                "each; choose fewer columns by columns=.",
                method="columns",
            )
        space = coarse_space(space, bins)
        wide = [place for place, size in enumerate(space.sizes) if size > 1]
        if not wide:
            raise SchemaError("Every column has a single value, so there is nothing to learn; choose other columns.")
        pairs, triples = tuple(combinations(wide, 2)), True
        if self.workload is not None:
            seen = [frozenset(space.places(block.columns)) for block in self.workload.blocks]
            together = set(seen)
            pairs = tuple(pair for pair in pairs if any(one.issuperset(pair) for one in together))
            triples = any(len(one) > 2 for one in together)
        return SynthesisFacts(space, pairs, triples, basis.gauge(Rows(space.names))), bins

    def _compared(self, facts: SynthesisFacts, width: int) -> Lists:
        """Return the tables on which the model is compared with the data: those that the workload sees, if any."""
        if not self.measured:
            return ()
        if self.workload is None:
            return compared(facts.space, width)
        return compared(
            facts.space, width, [frozenset(facts.space.places(one.columns)) for one in self.workload.blocks]
        )

    def _width(self, facts: SynthesisFacts) -> int:
        if self.workload is None:
            return min(3, len(facts.space.names))
        return min(3, max(len(block.columns) for block in self.workload.blocks))

    def pair_noise(self, basis: Basis, spend: Bound) -> float | None:
        """Return about the noise in a cell of a table of two columns, in rows and before anything is drawn.

        None where not every pair is sure to be measured as it is: columns in bins, chosen pairs, too few people.
        """
        facts, bins = self._facts(basis)
        priced = facts.gauge.priced(spend)
        if bins or not facts.pairs:
            return None
        release = design(facts, priced)
        sure = release.stack if isinstance(release, ChosenTables) else release
        return pair_noise(facts, priced) if sure.looks().issuperset(facts.pairs) else None

    def value(self, released: Released) -> Model:
        """Return the model; the same one however often it is read."""
        return model_from_json(released.made["model"], Schema.as_stored(released.made["schema"]))

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return that no error is known, where none is."""
        if released.made.get("check") is not None or released.made.get("error") is not None:
            return ()
        return (
            "How far this model is from the data was not measured, and no error is stated for it; method='auto' "
            "states one.",
        )

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return between which values the mean total variation of the widest tables lies, as far as it was measured.

        Without a check it is 0 and about how far noise moved the tables, an estimate that leaves out what the model
        cannot express; None where even that is unknown.
        """
        checked = released.made.get("check")
        if checked is not None:
            return stated_interval(released, checked, confidence)
        error = released.made.get("error")
        return (0.0, None if error is None else float(error))


class Finished(NamedTuple):
    """What is made of a raw draw: the numbers that were released, the model, its error, and what to know of it."""

    measured: Sequence[NoisyPart]
    model: Model
    stated: dict[str, Any]
    notes: Sequence[str]


def _finished(mechanism: Any, raw: Any, facts: SynthesisFacts, width: int) -> Finished:
    """Return the model that was checked, or fit one and predict its error; from released numbers alone."""
    space = facts.space
    parts, numbers = mechanism.released(raw)
    pairs = zip(parts, numbers, strict=True)
    measured = [NoisyPart(_name(space, part), _flat(found), part.law) for part, found in pairs]
    gathered = gather(parts, numbers, space.sizes, facts.total)
    release, tables = (mechanism.release, raw[0]) if isinstance(mechanism, CheckedTables) else (mechanism, raw)
    if isinstance(release, ChosenTables) and tables[1]:
        measured.append(NoisyPart("chosen", tuple(place for place, _ in tables[1]), None))
    if isinstance(release, TripleTables):
        measured.append(NoisyPart("chosen", tuple(place for places, _ in tables[1] for place in places), None))
    if isinstance(mechanism, CheckedTables):
        model = read_model(json.loads(raw[1]), space)
        measured += distances_of(mechanism, raw)
        stated = stated_error(mechanism, raw, gathered)
        lost = not_kept(model, gathered.evidence(), facts.pairs)
        return Finished(measured, model, stated, [*stated_notes(stated["check"]), *lost])
    evidence = gathered.evidence()
    with watched("Fitting a model") as progress:
        model = fitted(evidence, space, gathered.total, progress=progress)
    judged: list[Columns] = [
        columns for columns in judged_tables(len(space.names), width) if prod(space.sizes[c] for c in columns) <= 2**20
    ]
    stated = {"error": predicted_error(model, evidence, judged) if judged else None}
    return Finished(measured, model, stated, not_kept(model, evidence, facts.pairs))


def _notes(bins: Mapping[str, ColumnBins]) -> list[str]:
    """Say which columns were measured in bins."""
    return [
        f"{name!r} has {held.size} values: other columns were measured with {len(held.starts)} bins of it, and what "
        "lies inside a bin follows from its own table alone."
        for name, held in bins.items()
    ]


def _name(space: Space, part: Part) -> str:
    names = " × ".join(space.names[place] for place in part.columns) or "rows"
    return f"contrasts of {names}" if part.centred else names


def _flat(found: Any) -> tuple[int, ...]:
    return tuple(int(number) for number in found.ravel().tolist())
