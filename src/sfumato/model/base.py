"""What every model offers, whatever it is made of: marginals, expectations, rows, files."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.durable import require_new
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.model.rows import BATCH, as_arrow, checked_rows
from sfumato.model.within import Values, inner_columns, require_values, with_values
from sfumato.noise import Noise
from sfumato.registry import Registry
from sfumato.show.tables import table
from sfumato.show.views import View, Viewed
from sfumato.words import Guided, guide
from sfumato.workload.space import Space, column_names

if TYPE_CHECKING:
    from sfumato.show.drawing import Drawing
    from sfumato.table.schema import Schema
    from sfumato.workload.blocks import Block

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_CELLS = 2**22
"""Tables of more cells than this are not written out."""

_MODELS: Registry[type[Model]] = Registry("model", "models")


INSTEAD = guide(
    {
        "to_pandas to_polars to_arrow to_excel df dataframe head": "rows are made up by sample: write "
        "model.sample(1000).to_pandas(), or answer.to_pandas() of the answer that the model came in",
        "rows data": "write model.sample(1000)",
        "corr correlation": "write model.sample(1000).to_pandas().corr(), where the notes say that its error is small",
    }
)


class Model(Guided, Viewed, ABC):
    """A distribution over the columns of `space`, and how many people it speaks of.

    It was computed from released numbers alone, so that whatever is read from it costs nothing more.

    >>> from sfumato import Schema, booleans
    >>> from sfumato.model import Factored
    >>> bit = booleans(missing=False)
    >>> model = Factored.uniform(Space.of(Schema({"rain": bit, "wind": bit})), total=100)
    >>> model.marginal(["wind"]).tolist(), model.sample(8, Noise(insecure_seed=1)).num_rows
    ([0.5, 0.5], 8)
    """

    INSTEAD = INSTEAD
    kind: ClassVar[str]
    space: Space
    total: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _MODELS.add_kind(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.space.names)} columns, about {self.total:,.0f} people)"

    def view(self) -> View:
        """Return its columns, and what can be had from it for nothing."""
        drawn = table("", ["column", "values"], [[name, f"{size:,}"] for name, size in self._sizes()])
        use = (
            "sample(1000) makes up rows, marginal(['age']) reads a table, plot() draws tables, to_parquet and to_csv "
            "write rows; all free."
        )
        return View(f"Model of about {self.total:,.0f} rows", (drawn,), after=(use,), pictures=self.pictures())

    def pictures(self) -> tuple[Drawing, ...]:
        """Return what a page shows of it: one-way tables, and the pairs that go together most."""
        from sfumato.model.pictures import model_picture

        return (model_picture(self),)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        columns: Sequence[str] | None = None,
        pairs: Sequence[Sequence[str]] | None = None,
        notes: Sequence[str] = (),
        overwrite: bool = False,
    ) -> Drawing:
        """Return a picture of its one-way tables, and of pairs as heat maps; with a path, also write it there.

        `pairs=[("age", "sex")]` names them; without it they are those that go together most in the model. The error
        of a model belongs to its answer: `answer.plot()` writes it below.
        """
        from sfumato.model.pictures import model_picture

        if path is not None:
            require_new(path, overwrite=overwrite)
        drawing = model_picture(self, columns, pairs, notes)
        if path is not None:
            drawing.save(path)
        return drawing

    def _sizes(self) -> list[tuple[str, int]]:
        return list(zip(self.space.names, self.space.sizes, strict=True))

    def marginal(self, names: Sequence[str]) -> Floats:
        """Return the probabilities over some columns, one axis for each in the order given; exact for the model."""
        wanted = column_names(names, "names")
        places = self.space.places(wanted, "this model")
        if len(set(places)) != len(places):
            raise ParameterError("The same column is listed twice; list each one once.")
        cells = prod(self.space.sizes[place] for place in places)
        if cells > MOST_CELLS:
            raise DomainTooLarge(
                f"The table over {', '.join(wanted)} has {cells} cells, which is more than {MOST_CELLS}; ask for fewer "
                "columns, or count sampled rows.",
                method="sample",
            )
        return self._marginal(wanted)

    @abstractmethod
    def _marginal(self, names: tuple[str, ...]) -> Floats:
        """Return the probabilities over distinct columns whose table is small enough."""

    def expect(self, block: Block) -> Floats:
        """Return the expected values of some queries for one row of the model."""
        return np.asarray(block.evaluate(self.marginal(block.columns)) / block.denominator, dtype=np.float64)

    @abstractmethod
    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return the places of `rows` rows in the columns' domains, one column for each."""

    def sample(self, rows: int | None = None, noise: Noise | None = None, *, values: Values = "within") -> Any:
        """Return an Arrow table of rows: cells are filled as evenly as whole rows allow, in random order.

        By default they are as many as the model speaks of. Rows repeat the model with less error than independent
        draws would, but with some: read tables from `marginal`. More rows lose less.

        Beside a column of bins stands its base column, with a value made up inside each bin by a density that leans as
        its neighbours say (SY-ROWS); `values="bins"` leaves the bins alone.
        """
        require_values(values)
        count = checked_rows(self._rows(rows), len(self.space.names) + len(inner_columns(self.space)))
        return self._arrow(count, Noise() if noise is None else noise, values)

    def _rows(self, rows: int | None) -> int:
        return max(1, round(self.total)) if rows is None else rows

    def _arrow(self, count: int, noise: Noise, values: Values) -> Any:
        codes = self.codes(count, noise)
        if values == "bins":
            return as_arrow(self.space, codes)
        return as_arrow(*with_values(self.space, codes, lambda name: self._marginal((name,)), noise))

    def to_parquet(
        self,
        path: str | Path,
        rows: int | None = None,
        noise: Noise | None = None,
        *,
        overwrite: bool = False,
        notes: Sequence[str] = (),
        values: Values = "within",
    ) -> None:
        """Write rows to a Parquet file, by default as many as there are people; of any number, batch by batch.

        `values` is as in `sample`.
        """
        from pyarrow import parquet

        require_values(values)
        require_new(path, overwrite=overwrite, in_folder=True)
        told = {"notes": json.dumps([*notes])} if notes else None
        self._write(lambda columns: parquet.ParquetWriter(path, columns.with_metadata(told)), rows, noise, values)

    def to_csv(
        self,
        path: str | Path,
        rows: int | None = None,
        noise: Noise | None = None,
        *,
        overwrite: bool = False,
        values: Values = "within",
    ) -> None:
        """Write rows to a CSV file, by default as many as there are people; of any number, batch by batch.

        A missing cell is an empty field, an empty text stands in quotes. `values` is as in `sample`.
        """
        from pyarrow import csv

        require_values(values)
        require_new(path, overwrite=overwrite, in_folder=True)
        self._write(lambda columns: csv.CSVWriter(path, columns), rows, noise, values)

    def _write(self, opened: Callable[[Any], Any], rows: int | None, noise: Noise | None, values: Values) -> None:
        left = checked_rows(self._rows(rows), 0)
        source = Noise() if noise is None else noise
        writer = None
        try:
            while left:
                count = min(left, BATCH)
                batch = self._arrow(count, source, values)
                writer = writer or opened(batch.schema)
                writer.write_table(batch)
                left -= count
        finally:
            if writer is not None:
                writer.close()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `model_from_json` reads back, numbers in single precision."""
        return {"model": self.kind, "space": self.space.to_json(), "total": self.total, **self._record()}

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """Return what the model is made of, as JSON."""

    @classmethod
    @abstractmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> Model:
        """Read what `_record` wrote."""


def model_from_json(record: Mapping[str, Any], schema: Schema) -> Model:
    """Read what `Model.to_json` wrote; the schema says what the codes of the columns mean."""
    kind = _MODELS[record.get("model")]  # one that nobody knows is refused before anything else is read
    return kind._read(Space.from_json(record["space"], schema), float(record["total"]), record)


def read_model(record: Mapping[str, Any], space: Space) -> Model:
    """Read what `Model.to_json` wrote, over a space that is known."""
    return _MODELS[record.get("model")]._read(space, float(record["total"]), record)


def packed(numbers: NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON: its shape, and single-precision numbers in base 64."""
    data = np.ascontiguousarray(numbers, dtype="<f4").tobytes()
    return {"shape": list(numbers.shape), "float32": base64.b64encode(data).decode("ascii")}


def unpacked(record: Mapping[str, Any]) -> Floats:
    """Read what `packed` wrote.

    >>> unpacked(packed(np.array([[0.5, 2.0]])))
    array([[0.5, 2. ]])
    """
    data = np.frombuffer(base64.b64decode(record["float32"]), dtype="<f4")
    return data.reshape(tuple(record["shape"])).astype(np.float64)
