"""What was asked, in a few plain words: one place for headings of answers, lists of releases and reports.

Words are made of the question alone, which is public, and of the sentence on its condition that was stored beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

ONLY = "Only rows count where "
"""How the note on a condition begins; what follows is the condition in words."""
LONGEST_STATEMENT = 80
"""Of a longer statement or condition the beginning is shown; JSON has all of it."""
LISTED = 5
"""Of a list of more different questions so many are named."""
TITLES: dict[str, str] = {}
"""What a kind of question is called: its class says so where its name is a word of this house."""
BRINGING: list[Callable[[], object]] = []
"""What brings the classes of questions, called where a kind is not known yet."""
BLOCKS = {
    # kinds of queries in a workload: what they are called
    "marginal": "tables",
    "parity": "parities",
    "conjunction": "conjunctions",
    "predicate": "conditions",
    "prefixes": "counts up to every value",
    "ranges": "counts of every range",
    "matrix": "weighted counts",
}


def title_of(
    record: Mapping[str, Any], groups: Sequence[str] = (), notes: Iterable[str] = (), *, whole: bool = False
) -> str:
    """Return a question's JSON in a few words; `notes` are those of its answer, which say its condition in words.

    `groups` are columns of which every value is asked about, by a condition. What is long is cut unless `whole`.

    >>> mean = {"question": "Mean", "column": "hours", "where": {"where": {"column": "age", "codes": [[40, 90]]}}}
    >>> title_of(mean), title_of(mean, notes=["Only rows count where age is 40 or more."])
    ('Mean of hours, with a condition on age', 'Mean of hours where age is 40 or more')
    """
    about = _about(record, whole)
    if groups:
        about = f"{about} by {', '.join(groups)}"
    read = sorted(_columns(record.get("where")) - set(groups))
    if not read:
        return about
    # Of groups the note speaks of one of them, so that it does not say the condition that all have.
    said = "" if groups else next((note for note in notes if note.startswith(ONLY)), "")
    words = said.removeprefix(ONLY).removesuffix(".")
    return f"{about} where {_cut(words, whole)}" if words else f"{about}, with a condition on {', '.join(read)}"


def titles_of(asked: Sequence[tuple[Mapping[str, Any], Sequence[str]]], *, whole: bool = False) -> str:
    """Return the questions of one request, each with its notes: alike ones once, and how many there are.

    >>> women, men = ({"where": {"column": "sex", "codes": [[code, code]]}} for code in (0, 1))
    >>> titles_of([({"question": "Sum", "column": "pay", "where": where}, ()) for where in (women, men)])
    'Sum of pay by sex, 2 questions'
    """
    if len(asked) == 1:
        return title_of(asked[0][0], notes=asked[0][1], whole=whole)
    if not asked:
        return ""
    several = f"{len(asked)} questions"
    if by := _grouping([record for record, _ in asked]):
        return f"{title_of(asked[0][0], by, whole=whole)}, {several}"
    found = list(dict.fromkeys(title_of(record, notes=notes, whole=whole) for record, notes in asked))
    if len(found) > LISTED and not whole:
        found = [*found[:LISTED], f"and {len(found) - LISTED} more"]
    return "; ".join([found[0], *map(lowered, found[1:])]) + f", {several}"


def _about(record: Mapping[str, Any], whole: bool) -> str:
    """Return what is asked, before any condition."""
    kind = str(record["question"])
    about = _called(kind)
    if "statement" in record:
        return _cut(str(record["statement"]), whole)
    if "decision" in record:
        return f"{about} of {record['decision'] or record['score']} by {', '.join(record['protected'])}"
    if "target" in record:
        return f"{about} for {record['target']} from {', '.join(record['features'])}"
    if "aggregates" in record:
        first, *others = (title_of(part) for part in record["aggregates"])
        return f"{', '.join([first, *map(lowered, others)])} by {', '.join(record['by'])}"
    blocks = record.get("workload")
    if isinstance(blocks, Mapping) and isinstance(blocks.get("workload"), Mapping):
        return _workload(blocks["workload"], "Synthetic data for " if kind == "Synthesize" else "")
    columns = record.get("columns") or ([record["column"]] if record.get("column") else [])
    about = f"{about} of {', '.join(columns)}" if columns else about
    return f"{about} by {', '.join(record['by'])}" if record.get("by") else about


def _called(kind: str) -> str:
    if kind not in TITLES:
        for bring in BRINGING:
            bring()
    return TITLES.get(kind, kind)


def _workload(workload: Mapping[str, Any], before: str) -> str:
    """Return the queries of a workload: 'Tables of 2 columns of age, sex, race'."""
    said = dict.fromkeys(part for run in workload.get("blocks") or () for part in _block(run))
    listed = before + (", ".join(said) or f"queries of {', '.join(workload.get('columns') or ())}")
    return listed[:1].upper() + listed[1:]


def _block(run: Mapping[str, Any]) -> Iterator[str]:
    kind = BLOCKS.get(str(run.get("kind")), "queries")
    if "width" in run:
        yield f"{kind} of {run['width']} column{'' if run['width'] == 1 else 's'} of {', '.join(run['of'])}"
        return
    sets = ["+".join(members) for members in run.get("sets") or ()]
    more = f" and {len(sets) - LISTED} more" if len(sets) > LISTED else ""
    yield f"{kind} of {', '.join(sets[:LISTED])}{more}" if sets else kind


def _grouping(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns by whose values alone these questions differ, none where they differ otherwise."""
    bare = {json.dumps({**record, "where": None}, sort_keys=True) for record in records}
    parts = [_conjuncts(record.get("where")) for record in records]
    shared = set.intersection(*map(set, parts))
    apart = [{column for text in part if text not in shared for column in _columns(json.loads(text))} for part in parts]
    different = len(set(map(tuple, parts))) == len(parts)
    alike = len(bare) == 1 and different and all(columns == apart[0] for columns in apart)
    return sorted(apart[0]) if alike else []


def _conjuncts(where: Any) -> list[str]:
    """Return the parts of a condition that all have to hold, each as text that can be compared."""
    inside = where.get("where", where) if isinstance(where, Mapping) else None
    if not isinstance(inside, Mapping):
        return []
    found = inside.get("all")
    return [json.dumps(part, sort_keys=True) for part in (found if isinstance(found, list) else [inside])]


def _columns(where: Any) -> set[str]:
    if isinstance(where, Mapping):
        own = {where["column"]} if "column" in where else set()
        return own.union(*(_columns(part) for part in where.values()))
    return set().union(*(_columns(part) for part in where)) if isinstance(where, list) else set()


def _cut(text: str, whole: bool) -> str:
    """Return a long text up to the end of a word, with dots for the rest."""
    if whole or len(text) <= LONGEST_STATEMENT:
        return text
    return text[:LONGEST_STATEMENT].rsplit(" ", 1)[0] + " …"


def lowered(title: str) -> str:
    """Return a title as it stands within a sentence; a statement keeps its capitals.

    >>> lowered("Mean of age"), lowered("SELECT COUNT(*) FROM visits")
    ('mean of age', 'SELECT COUNT(*) FROM visits')
    """
    return title if title[:2].isupper() else title[:1].lower() + title[1:]
