"""Decisions in a file: for the command line, and the same in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError, warn
from sfumato.fair.audits.decisions import LISTED, TRUTHS
from sfumato.fair.audits.group_counts import noted
from sfumato.fair.audits.group_report import GroupReport, group_report
from sfumato.fair.audits.lipschitz import ALL_PAIRS_PEOPLE
from sfumato.fair.audits.report import AuditReport
from sfumato.fair.audits.run import audit
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.metric.base import Metric
from sfumato.fair.people import as_text, typed
from sfumato.table.csv_files import divider_of, require_utf_8
from sfumato.words import nearest

FEW_PEOPLE = 5000
PAIRS_A_SECOND = 20_000_000
KINDS = (".csv", ".parquet")
EXAMPLES = {"decision": "approved", "protected": "sex"}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*(?:,\d+)?\s*")


def audit_file(
    path: str | Path, protected: str, *, metric: str | Path | None = None, decision: str = "decision",
    announce: Callable[[str], None] | None = None, **options: Any
) -> AuditReport:  # fmt: skip
    """Audit a CSV or Parquet file with one row a person and one column of decisions or probabilities.

    `metric` is the path of a TOML file, see `Metric.from_toml`; `options` are those of `audit`. A column of CSV most of
    whose cells are numbers is one of numbers: the metric refuses the others, the checks take them as missing.
    `announce` is told how many pairs will be looked at and about how long, where it takes more than a few seconds.
    """
    if not isinstance(path, (str, Path)):
        raise ParameterError(
            f"audit_file reads a path such as 'people.csv', and was given a {type(path).__name__}; for a table in "
            "memory write fair.audit(people['approved'], people, 'sex')."
        )
    table = read_table(Path(path))
    for name, role in ((decision, "decision"), (protected, "protected")):
        if not isinstance(name, str):
            raise ParameterError(f"{role} is the name of one column, such as {role}='{EXAMPLES[role]}'.")
        if name not in table and role == "protected" and set(parts := name.split(",")) <= set(table):
            raise ParameterError(
                f"An audit looks at one protected column at a time; run it once with each: {', then '.join(parts)}. To "
                f"compare groups of several columns together write fair.compare_file({Path(path).name!r}, {name!r})."
            )
        if name not in table:
            raise SchemaError(f"The file has no {role} column {name!r}; {nearest(name, table)}")
    if protected == decision:
        raise ParameterError(f"{decision!r} is given as the decision and as the protected column; name two columns.")
    people = {name: values for name, values in table.items() if name != decision}
    if Path(path).suffix.lower() == ".csv":
        # What is read as words stays as it is written: groups, labels and places.
        words = {protected, options.get("label"), options.get("segments")}
        people = {name: values if name in words else typed(values, digits=True) for name, values in people.items()}
    rule = None if metric is None else Metric.from_toml(metric, people)
    said = work_ahead(len(table[decision])) if rule is not None else ""
    if announce is not None and said:
        announce(said)
    return audit(table[decision], people, protected, metric=rule, **options)


def compare_file(
    path: str | Path, by: str | Sequence[str], *, decision: str = "decision", label: str | None = None,
    deserving: Any = None, scores: str | None = None, **options: Any
) -> GroupReport:  # fmt: skip
    """Compare groups of decisions in a CSV or Parquet file with one row a person, by several columns and together.

    `by` names the columns, `label` one of who deserved the good decision and `deserving` which of its words is that,
    `scores` one of scores; the other options are those of `group_report`. The shell's `sfumato fair compare` is this.
    """
    if not isinstance(path, (str, Path)):
        raise ParameterError(
            f"compare_file reads a path such as 'people.csv', and was given a {type(path).__name__}; for a table in "
            "memory write fair.group_report(people['approved'], people[['sex', 'race']], favourable='yes')."
        )
    table = read_table(Path(path))
    names = [by] if isinstance(by, str) and by in table else by.split(",") if isinstance(by, str) else list(by)
    names = [name.strip() if isinstance(name, str) else name for name in names]
    roles = [(decision, "decision"), *((name, "protected") for name in names)]
    roles += [(name, role) for name, role in ((label, "label"), (scores, "scores")) if name is not None]
    for name, role in roles:
        if not isinstance(name, str) or name not in table:
            raise SchemaError(f"The file has no {role} column {name!r}; {nearest(str(name), table)}")
    if not names or len(set(names)) < len(names) or decision in names:
        raise ParameterError(
            "Name the columns to compare groups by, each once and not the decision: by=['sex', 'race']."
        )
    return group_report(
        table[decision], {name: table[name] for name in names},
        label=None if label is None else _deserved(table[label], label, deserving),
        scores=None if scores is None else table[scores], **{"source": Path(path).name, **options},
    )  # fmt: skip


def _deserved(labels: NDArray[Any], name: str, good: Any) -> NDArray[Any]:
    """Return who deserved the good decision as 1 and 0, missing where nobody said; a column of 0 and 1 as it is."""
    words = as_text(labels)
    found = sorted(set(words[noted(words)].tolist()))
    if good is None and set(found) <= TRUTHS:
        return labels
    if good is None:
        raise ParameterError(f"Say which label is the good one, with deserving=; they are {', '.join(found[:LISTED])}.")
    if str(good) not in found:
        raise ParameterError(f"No label of {name!r} is called {good!r}; {nearest(str(good), found)}")
    return np.where(noted(words), (words == str(good)).astype(np.float64), np.nan)


def work_ahead(people: int) -> str:
    """Return how many pairs an audit with a metric looks at and about how long, where that is more than seconds."""
    if people < FEW_PEOPLE:
        return ""
    if people > ALL_PAIRS_PEOPLE:
        return f"Looking at neighbours and a sample of the pairs of {people:,} people, which takes some minutes."
    pairs = people * (people - 1) // 2
    seconds = 10 * round(1 + pairs / PAIRS_A_SECOND / 10)
    return f"Looking at all {pairs:,} pairs of {people:,} people, about {seconds} s; without a metric it is quick."


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of a CSV or Parquet file."""
    import pyarrow
    from pyarrow import parquet

    if path.suffix.lower() not in KINDS:
        raise ParameterError(f"Decisions are read from .csv or .parquet, and {path.name!r} ends in neither.")
    if not path.is_file():
        raise ParameterError(f"There is no file {str(path)!r}; write the path of a table with one row a person.")
    try:
        table = _read_csv(path) if path.suffix.lower() == ".csv" else parquet.read_table(path)
    except (pyarrow.ArrowInvalid, UnicodeDecodeError):
        # The reader's own words may quote a row of the table.
        raise ParameterError(
            f"{path.name!r} cannot be read as {path.suffix.lower()[1:].upper()}; see that every row has as many "
            "columns as the first one, which holds the names."
        ) from None
    if len(set(table.column_names)) < len(table.column_names):
        raise SchemaError(f"{path.name!r} has two columns of the same name; rename one of them.")
    if table.num_rows == 0:
        raise ParameterError(f"{path.name!r} has no rows; an audit needs one row a person.")
    try:
        return {name: _values(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    except pyarrow.ArrowInvalid:
        raise SchemaError(f"{path.name!r} holds bytes that are no UTF-8; write its words as text.") from None


def _read_csv(path: Path) -> Any:
    """Return a CSV file as Arrow; the first line says what divides it, as everywhere else."""
    from pyarrow import csv

    require_utf_8(str(path))
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        divider = divider_of(file.readline(), ",")
    table = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=divider))
    return table if divider == "," else _with_decimal_commas(table, path.name)


def _with_decimal_commas(table: Any, name: str) -> Any:
    """Return the table with text such as 3,5 as numbers, and say so: where commas divide nothing, they are decimal."""
    import pyarrow

    read = []
    for place, column in enumerate(table.column_names):
        texts = table.column(place).to_pylist() if pyarrow.types.is_string(table.column(place).type) else []
        filled = [text for text in texts if text]
        if any("," in text for text in filled) and all(_DECIMAL_COMMA.fullmatch(text) for text in filled):
            numbers = [float(text.replace(",", ".")) if text else None for text in texts]
            table = table.set_column(place, column, pyarrow.array(numbers, pyarrow.float64()))
            read.append(column)
    if read:
        warn(
            f"{name!r} is read with decimal commas in {', '.join(read)}: 3,5 is three and a half. If its commas divide "
            "thousands, write the numbers without them.",
            FairnessWarning,
        )
    return table


def _values(column: Any) -> NDArray[Any]:
    import pyarrow

    if pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type):
        column = column.cast(pyarrow.string())  # some programs write words as bytes
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))
