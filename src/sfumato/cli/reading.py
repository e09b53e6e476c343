"""`sfumato read`: more out of an answer that was paid for; nothing is charged, no ledger and no data are opened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow

from sfumato.answer import Answer, Frame, Released
from sfumato.ask.phrases import after_of, leading_numbers, names, tokens
from sfumato.cli.asking import described, drawn, is_sketch
from sfumato.cli.writing import write_json, write_rows, write_table
from sfumato.domain import Booleans
from sfumato.domain.labels import FALSE_TEXT, TRUE_TEXT
from sfumato.durable import read_bytes
from sfumato.errors import ParameterError
from sfumato.mechanism import Event
from sfumato.model.base import Model
from sfumato.model.within import Values
from sfumato.privacy import Loss
from sfumato.questions.distribution.value import DistributionEstimate
from sfumato.questions.queries.tables import Tables
from sfumato.questions.synopsis import Synopsis
from sfumato.table.csv_files import divider_of
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.learn.rules import Learned


@dataclass(frozen=True)
class Reading:
    """What was read: a table, or a sentence about a thing that is none."""

    table: Any = None
    said: str = ""
    model: Model | None = None
    values: Values = "within"
    notes: tuple[str, ...] = ()

    def to_json(self) -> Any:
        """Return the columns of the table, or the sentence."""
        if self.table is None:
            return {"text": self.said}
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"table": _frame(self.table).to_json(), **notes}

    def text(self) -> str:
        """Return it for people."""
        if self.table is None:
            return self.said
        return "\n".join([drawn(_frame(self.table), self.said or "Read from the answer, free"), *self.notes])

    def write(self, out: Path) -> str:
        """Write the table, or the made-up rows that were asked for."""
        if self.table is None:
            raise ParameterError('There is no table to write; say which one: "rows 1000" or "table of COLUMN, …".')
        if out.suffix.lower() == ".json":
            return write_json(self.to_json(), out)
        if self.model is not None:
            return write_rows(self.model, out, self.table.num_rows, values=self.values)
        return write_table(self.table, out)


def _frame(table: Any) -> Frame:
    return Frame((), {name: tuple(table.column(name).to_pylist()) for name in table.column_names})


def load_answer(path: Path) -> Answer:
    """Read an answer that `query --out answer.json` wrote."""
    import sfumato.learn.question  # noqa: F401  a stored question about a rule can then be read
    from sfumato.curator.labels import labels_of
    from sfumato.questions import question_from_json

    try:
        record = json.loads(
            read_bytes(path, "file that `sfumato query … --out answer.json` or `sfumato learn … --out` wrote")
        )
        schema = Schema.as_stored(record["schema"])
        question = question_from_json(record["question"], schema)
        event = record["event"]
        return Answer(
            question,
            Released.from_json(record["released"]),
            Loss.from_json(record["loss"]),
            Event(event["name"], event["spec"], event["parameters"], event["version"]),
            record["remaining"],
            True,
            labels=labels_of(record["released"]["keys"], schema),
        )
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError):
        raise ParameterError(
            f"{str(path)!r} is no answer that can be read from; write one with `sfumato query … --out answer.json`, or "
            "a model with `sfumato learn … --out model.json`."
        ) from None


def read_answer(answer: Answer, what: str | None) -> Reading:
    """Return what is asked of an answer; nothing that was not released can come out."""
    value = answer.value
    if what is None or not what.strip():
        if is_sketch(value):
            return Reading(None, described(value))
        return Reading(answer.frame.to_arrow(), notes=tuple(value.quality()) if hasattr(value, "quality") else ())
    verb = tokens(what)[0].lower()
    for kind, verbs in _VERBS.items():
        if isinstance(value, kind):
            return _run(verbs, verb, value, what)
    if hasattr(value, "predict"):
        target = str(getattr(answer.question, "target", ""))
        return _run({"predict": lambda *asked: _predict(*asked, target=target)}, verb, value, what)
    raise ParameterError("This answer is a table; leave the last word out to see it, or add --out table.csv.")


def _run(verbs: dict[str, Callable[[Any, list[str], str], Reading]], verb: str, value: Any, what: str) -> Reading:
    if verb not in verbs:
        known = ", ".join(f'"{name} …"' for name in verbs)
        raise ParameterError(f"Nothing called {verb!r} can be read from this answer; write one of {known}.")
    return verbs[verb](value, after_of(tokens(what)[1:]), what)


def _number_of_rows(words: list[str]) -> int:
    if len(words) != 1 or not words[0].isdecimal() or int(words[0]) < 1:
        raise ParameterError('Say how many rows; write for example "rows 1000".')
    return int(words[0])


def _model_rows(model: Model, words: list[str], _: str) -> Reading:
    in_bins = [word.lower() for word in words[1:]] == ["in", "bins"]
    values: Values = "bins" if in_bins else "within"
    count = _number_of_rows(words[:1] if in_bins else words)
    return Reading(model.sample(count, values=values), "Made-up rows", model, values)


def _model_table(model: Model, words: list[str], _: str) -> Reading:
    from itertools import product

    chosen = names(words)
    places = model.space.places(chosen, "this model")
    expected = (model.marginal(chosen) * model.total).ravel().tolist()
    domains = [model.space.domains[place] for place in places]
    sizes = [model.space.sizes[place] for place in places]
    cells = list(product(*(range(size) for size in sizes)))
    columns = {
        name: [domain.decode(domain.first + cell[at]) for cell in cells]
        for at, (name, domain) in enumerate(zip(chosen, domains, strict=True))
    }
    frame = Frame(
        tuple(chosen), {**{name: tuple(column) for name, column in columns.items()}, "count": tuple(expected)}
    )
    return Reading(frame.to_arrow(), "Expected counts of the model")


def _quantiles(found: DistributionEstimate, words: list[str], _: str) -> Reading:
    chances, rest = leading_numbers(words)
    if not chances or rest:
        raise ParameterError('Say which quantiles; write for example "quantiles 0.1, 0.5, 0.9".')
    bands = [found.quantile_band(chance) for chance in chances]
    columns = {
        "probability": tuple(chances),
        "quantile": tuple(found.quantile(chance) for chance in chances),
        "low": tuple(low for low, _ in bands),
        "high": tuple(high for _, high in bands),
    }
    return Reading(Frame(("probability",), columns).to_arrow(), "Quantiles")


def _between(found: DistributionEstimate, _: list[str], what: str) -> Reading:
    ends = re.fullmatch(r"\s*between\s+(\S+)\s+and\s+(\S+)\s*", what, re.IGNORECASE)
    if ends is None:
        raise ParameterError('Say which range; write for example "between 20 and 40".')
    low, high = (_typed(found, text.strip("'\"")) for text in ends.groups())
    least, most = found.between(low, high)
    columns = {"rows": (found.query(low, high),), "low": (least,), "high": (most,)}
    return Reading(Frame((), columns).to_arrow(), f"Rows between {ends[1]} and {ends[2]}")


def _typed(found: DistributionEstimate, text: str) -> Any:
    """Return a number for a column of numbers, and the text itself elsewhere."""
    try:
        number = json.loads(text)
    except json.JSONDecodeError:
        return text
    return number if isinstance(number, (int, float)) and found._step(number) is not None else text


def _drawn_values(found: DistributionEstimate, words: list[str], _: str) -> Reading:
    name = str(found.released.made["column"])
    drawn_rows = tuple(found.synthetic(_number_of_rows(words)))
    return Reading(Frame((), {name: drawn_rows}).to_arrow(), "Made-up values")


def _tables(tables: Tables, words: list[str], _: str) -> Reading:
    return Reading(tables.to_arrow(names(words)), "Table")


def _share(synopsis: Synopsis, words: list[str], what: str) -> Reading:
    asked = [part.strip() for part in re.sub(r"^\s*share\s+(of\s+)?", "", what, flags=re.IGNORECASE).split(",")]
    low, high = synopsis.interval([asked])
    share, count = synopsis.answer([asked])[0], synopsis.counts([asked])[0]
    columns = {"share": (float(share),), "low": (float(low[0]),), "high": (float(high[0]),), "rows": (float(count),)}
    return Reading(Frame((), columns).to_arrow(), f"Rows with {' and '.join(asked)}")


def _predict(rule: Learned, _: list[str], what: str, *, target: str) -> Reading:
    from sfumato.learn.cells import require_columns

    path = Path(what.strip().split(None, 1)[1].strip()) if len(what.split(None, 1)) > 1 else None
    if path is None:
        raise ParameterError('Say which file holds the rows; write for example "predict people.csv".')
    if not path.is_file():
        raise ParameterError(f"There is no file {str(path)!r}; write the path of a CSV or Parquet file with the rows.")
    rows = _rows(path)
    require_columns(rows.column_names, rule.features, repr(path.name))
    words = _own_words(rule, rows, target)
    told = _predictions(rule, rows, words)
    for name in told:
        if name in rows.column_names:
            raise ParameterError(f"{path.name!r} has a column {name!r} already; rename it or leave it out.")
    for name, column in told.items():
        rows = rows.append_column(name, pyarrow.array(column))
    return Reading(rows, f"Predicted: {rule}", notes=_shown_label(rule, words))


def _own_words(rule: Learned, rows: Any, target: str) -> dict[Any, str]:
    """Return the words that the file itself has for true and false, where its column of the label has one for each."""
    if target not in rows.column_names or not isinstance(rule.labels, Booleans):
        return {}
    column = rows.column(target)
    if not pyarrow.types.is_string(column.type):
        return {}
    found: dict[Any, set[str]] = {True: set(), False: set()}
    for word in column.unique().to_pylist():
        for truth, pattern in ((True, TRUE_TEXT), (False, FALSE_TEXT)):
            if word is not None and re.fullmatch(pattern, word):
                found[truth].add(word)
    return {truth: words.pop() for truth, words in found.items()} if all(len(w) == 1 for w in found.values()) else {}


def _predictions(rule: Learned, rows: Any, words: Mapping[Any, str]) -> dict[str, list[Any]]:
    """Return what a model says of rows: the label, and its probabilities if it has any; of two labels the second's.

    Truth values are in the `words` of the file, if it has some.
    """
    told = {"predicted": [words.get(label, label) for label in rule.predict(rows).tolist()]}
    if hasattr(rule, "predict_proba"):
        chances = rule.predict_proba(rows)
        shown = range(1 if len(rule.classes) == 2 else 0, len(rule.classes))
        named = [words.get(label, label) for label in rule.classes]
        told |= {f"probability of {named[place]}": chances[:, place].tolist() for place in shown}
    return told


def _shown_label(rule: Learned, words: Mapping[Any, str]) -> tuple[str, ...]:
    """Say of two labels whose probability is shown, and how the other one is."""
    if not hasattr(rule, "predict_proba") or len(rule.classes) != 2:
        return ()
    first, second = (words.get(label, label) for label in rule.classes)
    # Truth values have one order.
    other = f'; a model that is learned with --with "linear(classes={second}|{first})" shows it'
    return (
        f"The probability is that of {second}, the second of the two labels; that of {first} is what is left to 1"
        f"{'' if isinstance(rule.classes[1], bool) else other}.",
    )


def _rows(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(path)
        from pyarrow import csv

        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            divider = divider_of(file.readline(), ",")
        return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=divider))
    except (pyarrow.ArrowInvalid, OSError):
        raise ParameterError(f"{str(path)!r} cannot be read; rows are a CSV or Parquet file.") from None


_VERBS: dict[type, dict[str, Callable[[Any, list[str], str], Reading]]] = {
    Model: {"rows": _model_rows, "table": _model_table},
    DistributionEstimate: {"quantiles": _quantiles, "between": _between, "rows": _drawn_values},
    Tables: {"table": _tables},
    Synopsis: {"share": _share},
}
