"""Frames of other libraries as Arrow tables, and Arrow tables as columns of which DuckDB converts no cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import SchemaError
from sfumato.table.ids import object_identity
from sfumato.table.objects import object_bytes

# By name: a class of somebody else would be asked how its cells become Arrow, and may raise.
_MASKED = {"boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
_NO_ARROW = ("Object", "Int128", "UInt128", "Float16")
_DAY_UNITS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31


@dataclass(frozen=True)
class Frame:
    """An Arrow table of what a frame holds, the columns that have no readable type, and how declared ones are loaded.

    `load(names, person)` returns columns in types that DuckDB takes over as they are. `index` are the names of an index
    of pandas, which is no column.
    """

    data: Any
    load: Callable[[Sequence[str], str | None], Any]
    refused: Mapping[str, str]
    index: tuple[str, ...] = ()

    @property
    def zones(self) -> dict[str, str]:
        """The time zones of columns of moments that have one; an engine reads all of them in UTC."""
        zones = {field.name: getattr(field.type, "tz", None) for field in self.data.schema}
        return {name: str(zone) for name, zone in zones.items() if zone is not None}


def open_frame(data: Any, family: str) -> Frame | None:
    """Return a frame of one of the known packages, None for any other object."""
    return {"pyarrow": _from_arrow, "pandas": _from_pandas, "polars": _from_polars}.get(family, lambda _: None)(data)


def arrow_frame(data: Any, refused: Mapping[str, str] | None = None) -> Frame:
    """Return an Arrow table as a frame; extension types have no meaning here, and some others no name in DuckDB."""
    import pyarrow

    data = _described(data)
    odd = {
        field.name: str(field.type)
        for field in data.schema
        if isinstance(field.type, pyarrow.BaseExtensionType) or _holds_nameless(field.type)
    }
    plain = data.drop_columns(list(odd))
    if len(set(plain.column_names)) != len(plain.column_names):
        raise SchemaError("Two columns have the same name; rename one.")
    return Frame(plain, lambda names, _: physical(plain, names), {**odd, **(refused or {})})


def _from_arrow(data: Any) -> Frame:
    import pyarrow
    import pyarrow.dataset

    if isinstance(data, pyarrow.RecordBatch):
        return arrow_frame(pyarrow.Table.from_batches([data]))
    if isinstance(data, pyarrow.RecordBatchReader):
        return arrow_frame(data.read_all())  # a reader can be read once, and a table is asked many times
    if isinstance(data, pyarrow.dataset.Dataset):
        # An engine would hand its filters to the reader of the files, below everything that is proved here.
        return _from_dataset(data)
    if isinstance(data, pyarrow.Table):
        return arrow_frame(data)
    raise SchemaError(f"An Arrow source is a table, a dataset or a reader of batches, not {type(data).__name__}.")


def _from_dataset(data: Any) -> Frame:
    """Return the rows of a dataset, if all of its files hold ids of one type: Arrow casts the others, 08 to 8."""
    found = arrow_frame(data.to_table())

    def load(names: Sequence[str], person: str | None) -> Any:
        schemas = [data.schema, *(part.physical_schema for part in data.get_fragments())]
        kinds = {_kind_of_id(one.field(person).type) for one in schemas if person is not None and person in one.names}
        if len(kinds) > 1:
            raise SchemaError(
                f"The person column {person!r} is {' in one file and '.join(sorted(kinds))} in another; write all "
                "files with ids of one type."
            )
        return found.load(names, person)

    return Frame(found.data, load, found.refused)


def _kind_of_id(kind: Any) -> str:
    """Name a type; between those of one name a cast keeps every id or fails."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    if pyarrow.types.is_integer(kind):
        return "a whole number"
    texts = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return "text" if str(kind) in texts else str(kind)


def _from_polars(frame: Any) -> Frame:
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "to_arrow") or not hasattr(frame, "columns"):
        raise SchemaError(f"A polars source is a DataFrame or a LazyFrame, not {type(frame).__name__}.")
    objects = {name: str(kind) for name, kind in frame.schema.items() if str(kind) in _NO_ARROW}
    return arrow_frame(frame.drop(list(objects)).to_arrow(), objects)


# pandas


def _from_pandas(frame: Any) -> Frame:
    import pyarrow

    if not hasattr(frame, "columns"):
        raise SchemaError(f"A pandas source is a DataFrame, not {type(frame).__name__}.")
    places = {str(name): place for place, name in enumerate(frame.columns)}
    if len(places) != len(frame.columns):
        raise SchemaError("Two columns of the frame have the same name; rename one.")
    columns = {name: _pandas_column(frame.iloc[:, place], object_bytes) for name, place in places.items()}
    refused = {name: str(frame.dtypes.iloc[places[name]]) for name, column in columns.items() if column is None}
    plain = {name: column for name, column in columns.items() if column is not None}
    shown = arrow_frame(pyarrow.table(plain), refused)

    def load(names: Sequence[str], person: str | None) -> Any:
        loaded = shown.load(names, person)
        if person is None or not _holds_objects(_held(frame.dtypes.iloc[places[person]])):
            return loaded
        ids = _pandas_column(frame.iloc[:, places[person]], object_identity)
        return loaded.set_column(loaded.column_names.index(person), person, ids.cast(pyarrow.large_binary()))

    return Frame(shown.data, load, shown.refused, _index(frame))


def _index(frame: Any) -> tuple[str, ...]:
    """Return the names of the index, where it has some; one that only numbers the rows has none."""
    return tuple(str(name) for name in frame.index.names if name is not None)


def _held(kind: Any) -> Any:
    """Return the type of what a column holds: of its categories, where it has some."""
    import pandas

    return kind.categories.dtype if isinstance(kind, pandas.CategoricalDtype) else kind


def _holds_objects(kind: Any) -> bool:
    import pandas

    return str(kind) == "object" or (isinstance(kind, pandas.StringDtype) and kind.storage == "python")


def _pandas_column(column: Any, of_object: Callable[[Any], bytes | None]) -> Any:
    """Return a column as Arrow, or None where its type is none that a schema could declare."""
    import pandas
    import pyarrow

    kind = column.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        labels = _pandas_column(pandas.Series(kind.categories), of_object)
        return None if labels is None else labels.take(pyarrow.array(codes, mask=codes < 0))
    if _holds_objects(kind):
        # Cells of any class may sit in such a column; one odd cell must not fail the others. Nothing is validated here.
        cells = pyarrow.array([of_object(cell) for cell in column.to_numpy(object)], pyarrow.large_binary())
        return cells.view(pyarrow.large_string())
    masked = str(kind) in _MASKED
    plain = type(kind).__module__.startswith("numpy") and kind.kind in "biufM" and kind.itemsize <= 8
    known = isinstance(kind, (pandas.StringDtype, pandas.ArrowDtype, pandas.DatetimeTZDtype))
    return pyarrow.array(column, from_pandas=True) if masked or plain or known else None


# Arrow


def _described(data: Any) -> Any:
    """Return an Arrow table whose numbers have types that DuckDB can name."""
    import pyarrow

    for place, field in enumerate(data.schema):
        if _is_nameless(field.type):
            data = data.set_column(place, field.name, data.column(place).cast(pyarrow.float64()))
    return data


def _is_nameless(kind: Any) -> bool:
    """Return whether DuckDB cannot even name a type of numbers: half doubles, wide decimals, whole hundreds."""
    import pyarrow

    types = pyarrow.types
    return bool(types.is_float16(kind) or types.is_decimal256(kind) or (types.is_decimal(kind) and kind.scale < 0))


def _holds_nameless(kind: Any) -> bool:
    """Return whether a type is made of others of which DuckDB cannot name one; no column can be declared of it.

    Of runs of lists or records it loses what they are made of.
    """
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        return _holds_nameless(kind.value_type)
    if types.is_run_end_encoded(kind):
        return types.is_nested(kind.value_type) or _holds_nameless(kind.value_type)
    inside = (kind.field(place).type for place in range(kind.num_fields))
    return bool(types.is_union(kind)) or _is_nameless(kind) or any(_holds_nameless(one) for one in inside)


def physical(data: Any, names: Sequence[str]) -> Any:
    """Return some columns of an Arrow table in types whose cells DuckDB takes over as they are.

    Text becomes bytes, because nothing proves that it is UTF-8. Moments with a zone and days in milliseconds, which the
    scan would multiply or divide, are clamped and scaled here.
    """
    import pyarrow

    return pyarrow.table({name: _physical(data.column(name)) for name in names})


def _physical(column: Any) -> Any:
    import pyarrow
    import pyarrow.compute

    types, kind = pyarrow.types, column.type
    if types.is_run_end_encoded(kind):
        return _physical(_chunks(column, pyarrow.compute.run_end_decode, kind.value_type))
    if types.is_dictionary(kind):
        value = pyarrow.large_binary() if _holds_bytes(kind.value_type) else kind.value_type
        return _physical(_chunks(column, _undictionaried, value))
    if kind in _bytes():
        return column.cast(_bytes()[kind])
    if types.is_date64(kind):
        return _chunks(column, _days, pyarrow.date32())
    if types.is_timestamp(kind) and kind.tz is not None:
        return _chunks(column, _zoned, pyarrow.timestamp("us", tz="UTC"))
    return column


def _bytes() -> dict[Any, Any]:
    import pyarrow

    return {
        pyarrow.string(): pyarrow.binary(),
        pyarrow.large_string(): pyarrow.large_binary(),
        pyarrow.string_view(): pyarrow.binary_view(),
    }


def _chunks(column: Any, change: Callable[[Any], Any], kind: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([change(chunk) for chunk in column.chunks], kind)


def _undictionaried(chunk: Any) -> Any:
    import pyarrow

    values = chunk.dictionary
    if _holds_bytes(values.type):
        # In two steps, of which none validates; views cannot be chosen from.
        values = values.cast(_bytes().get(values.type, values.type)).cast(pyarrow.large_binary())
    return values.take(chunk.indices)


def _holds_bytes(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return kind in _bytes() or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)


def _days(chunk: Any) -> Any:
    import numpy as np
    import pyarrow

    days = np.clip(_integers(chunk) // _DAY_UNITS["ms"], _FIRST_DAY, _LAST_DAY).astype(np.int32)
    return pyarrow.array(days, mask=_nulls(chunk)).cast(pyarrow.date32())


def _zoned(chunk: Any) -> Any:
    """Return moments in microseconds, clamped to the years 1 to 9999 in their own unit before they are scaled."""
    import numpy as np
    import pyarrow

    a_day = _DAY_UNITS[chunk.type.unit]
    low, high = max(_FIRST_DAY * a_day, -(2**63)), min((_LAST_DAY + 1) * a_day - 1, 2**63 - 1)
    clamped = np.clip(_integers(chunk), low, high)
    factor = _DAY_UNITS["us"] // a_day
    moments = clamped * factor if factor else clamped // (a_day // _DAY_UNITS["us"])
    return pyarrow.array(moments, mask=_nulls(chunk)).cast(pyarrow.timestamp("us", tz="UTC"))


def _integers(chunk: Any) -> Any:
    import pyarrow

    return chunk.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False)


def _nulls(chunk: Any) -> Any:
    return chunk.is_null().to_numpy(zero_copy_only=False)
