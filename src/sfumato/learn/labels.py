"""Labels in a column of a schema: which of its values are meant, and under which codes they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato.domain import Booleans, Categories, Domain, FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.learn.cells import label_domain, listed
from sfumato.learn.facts import shown

REGRESSION = "PrivateLinearRegressor"


def labels_of_column(column: Domain, classes: Sequence[Any] | None, most: int) -> Booleans | Categories:
    """Return the labels of a schema's column: those named, or all values that it has, if they are few enough."""
    if classes is not None:
        labels = label_domain(classes, most)
        if len({column_code(column, label) for label in listed(labels)}) < len(listed(labels)):
            raise ParameterError(
                f"{'The two' if len(classes) == 2 else 'Two'} classes are one value of the label's column; write "
                "classes=(False, True)."
            )
        return _filled(labels, column)
    if isinstance(column, Booleans):
        return _filled(label_domain((False, True)), column)
    values = _written(column)
    if not 2 <= len(values) <= (most if isinstance(column, Categories) else 2):
        which = "which two are" if most == 2 else f"which are (from two to {most})"
        number = isinstance(column, (Integers, FixedPoint)) and most > 2
        raise ParameterError(
            f"The label's column has {len(values) or 'countless'} values; "
            f"{f'for a number take {REGRESSION}, or ' if number else ''}say {which} meant by "
            f"classes={_two_of(column)}, say; whatever is {'neither' if most == 2 else 'none of them'} counts as the "
            "first."
        )
    labels = label_domain([column.decode(code) for code in values], most)
    return replace(labels, missing=None) if column.may_be_missing else _filled(labels, column)


def _written(column: Domain) -> range:
    """Return the codes of the labels that a schema writes down; unlisted cells have a level, which is no label."""
    if column.present is None:
        return range(0)
    # A list whose missing cells are apart has its own categories first, and the level of unlisted cells behind them.
    return range(len(column.values)) if isinstance(column, Categories) and column.may_be_missing else column.present


def _filled(labels: Booleans | Categories, column: Domain) -> Booleans | Categories:
    """Return labels whose missing cells count as what the column says, where that is one of them."""
    if column.may_be_missing:
        return labels
    found = [label for label in listed(labels) if column_code(column, label) == column.missing_code]
    return replace(labels, missing=found[0]) if found else labels


def _two_of(domain: Domain) -> str:
    """Return two values of a column as classes are written: its ends, or those that are listed first."""
    if domain.highest is None:
        return "('no', 'yes')"
    last = domain.first + 1 if isinstance(domain, Categories) else domain.highest
    return f"({shown(domain.decode(domain.first))}, {shown(domain.decode(last))})"


def column_code(domain: Domain, label: Any) -> int:
    """Return the code of the column for a label; truth values may be written as the column reads them, 0 and 1 too."""
    if isinstance(domain, Booleans) and (code := Booleans().encode(label)) in (0, 1):
        return code
    return domain.code(label)
