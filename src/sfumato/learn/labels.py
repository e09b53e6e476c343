"""Labels in a column of a schema: which of its values are meant, and under which codes they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.domain import Booleans, Categories, Domain
from sfumato.errors import ParameterError
from sfumato.learn.cells import label_domain, listed
from sfumato.learn.facts import shown


def labels_of_column(column: Domain, classes: Sequence[Any] | None, most: int) -> Booleans | Categories:
    """Return the labels of a schema's column: those named, or all values that it has, if they are few enough."""
    if classes is not None:
        labels = label_domain(classes, most)
        if len({column_code(column, label) for label in listed(labels)}) < len(listed(labels)):
            raise ParameterError(
                f"{'The two' if len(classes) == 2 else 'Two'} classes are one value of the label's column; write "
                "classes=(False, True)."
            )
        return labels
    if isinstance(column, Booleans):
        return label_domain((False, True))
    few = isinstance(column, Categories) or column.size == 2
    if column.size is None or column.size < 2 or column.size > most or not few:
        which = "which two are" if most == 2 else f"which are (from two to {most})"
        raise ParameterError(
            f"The label's column has {column.size or 'countless'} values; say {which} meant by "
            f"classes={_two_of(column)}, say; whatever is {'neither' if most == 2 else 'none of them'} counts as the "
            "first."
        )
    return label_domain([column.decode(column.first + place) for place in range(column.size)], most)


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
