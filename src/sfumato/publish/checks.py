"""What does not go together in a publication's file, each refused with what to write (PB-PUBLISH)."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.ledger.units import Unit
from sfumato.publish.calendar import Slot
from sfumato.publish.reading import require_column

if TYPE_CHECKING:
    from sfumato.publish.file import PublicationFile

ENGINES = ("duckdb", "spark")
DATE = "{date}"
"""The day of a file, in the path of a source."""


def check_file(file: PublicationFile) -> None:
    """Refuse what does not go together."""
    _check_columns(file)
    _check_engine(file)
    _check_lateness(file)
    _check_memory(file)
    _check_keys(file)
    _check_bands(file)


def _check_columns(file: PublicationFile) -> None:
    """Refuse limits on columns that tell no rows apart, and lists of people where rows are cut apart."""
    for name, _ in file.budget.units:
        require_column("[limits]", Unit.read(name), file.schema)
    for table in file.tables:
        for name in table.spend if table.rule is None else ():
            require_column(f"spend of {table.name!r}", Unit.read(name), file.schema)
    listed = file.promised.values  # which refuses a column whose values nobody can list
    for table in file.tables:
        if table.rule is not None and listed:
            raise ParameterError(
                f"Counting only {table.rule.most} periods of a person makes what they did in one {listed[0][0]} decide "
                "about another; write limits on person, or leave periods_per_person out."
            )


def _check_engine(file: PublicationFile) -> None:
    if file.engine not in ENGINES:
        raise ParameterError(f"engine = {file.engine!r} reads nothing here; write one of {', '.join(ENGINES)}.")
    if file.engine == "spark" and any(table.rule is not None for table in file.tables):
        raise ParameterError(
            "Lists of people lie in memory here, so periods_per_person goes with files that are read next to this "
            "process; leave engine = 'spark' out, or periods_per_person."
        )


def _check_lateness(file: PublicationFile) -> None:
    if file.lateness and DATE not in file.source:
        raise ParameterError(
            "lateness says in which days' files the rows of a period arrive, and here all rows are in one source; "
            "leave it out, and write wait = '7 days', say."
        )
    if file.lateness > file.wait:
        raise ParameterError(
            f"Rows arrive up to {file.lateness} days late, and a {file.one_period} is read {file.wait} days after its "
            f"end; write wait = '{file.lateness} days'."
        )


def _check_bands(file: PublicationFile) -> None:
    """Refuse a band over all periods where nobody knows how many there are."""
    for table in file.tables:
        if table.band and file.last is None:
            raise ParameterError(
                f"The band of {table.name!r} holds for all periods at once, so it must be known how many there are; "
                "write last = '2026-12-31', or leave band out."
            )


def _check_keys(file: PublicationFile) -> None:
    """Refuse groups that are found by no table of every period, before the total takes its step."""
    searches = {table.name for table in file.anew(file.period)}
    for table in file.tables:
        if table.keys is None:
            continue
        if not table.running or table.keys not in searches:
            raise ParameterError(
                f"keys = {table.keys!r} of {table.name!r} names a table of the same file that finds groups in every "
                f"{file.one_period}, for a total that runs on; write question = 'count by page found privately' there."
            )


def _check_memory(file: PublicationFile) -> None:
    """Refuse lists of people under limits that they would break: one more day decides whether a later one counts."""
    for table in file.tables:
        if table.rule is None:
            continue
        if file.schema.person is None:
            raise ParameterError(
                f"periods_per_person of {table.name!r} needs to know whose a row is; write person = 'id' in the schema."
            )
        whole = Slot(file.period, file.name, file.first, file.last or date.max)
        for unit, _ in file.budget.units:
            if file.last is None or len(whole.meets(unit)) > 1:
                raise ParameterError(
                    f"Counting only {table.rule.most} periods of a person makes one {Unit.read(unit).said} decide "
                    "about another; write limits on person, or leave periods_per_person out."
                )
