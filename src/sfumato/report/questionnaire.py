"""When does a per-attribute figure mean something? Questions that only a person who knows the data can answer.

A small number next to the name of a column is easy to misread. Each answer below blocks, warns or explains
(PDP-REPORT); nothing here looks at data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from sfumato.domain import nearest
from sfumato.errors import ParameterError
from sfumato.exact import Extended


class Level(Enum):
    """How much an answer matters."""

    BLOCK = "block"
    """The per-attribute headline must not be shown."""
    WARN = "warn"
    INFO = "info"
    OK = "ok"


@dataclass(frozen=True)
class Question:
    """One question, what a yes means, and what a no means where that matters."""

    name: str
    text: str
    level: Level
    if_yes: str
    if_no: str | None = None


@dataclass(frozen=True)
class Finding:
    """What an answer, or a number, says about the figures."""

    about: str
    level: Level
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"about": self.about, "level": self.level.value, "text": self.text}


QUESTIONS = (
    Question(
        "membership",
        "Is being in the data itself sensitive (only patients with one disease, say)?",
        Level.BLOCK,
        "Membership can be inferred from all attributes together, so only the figure per person applies.",
    ),
    Question(
        "repeated",
        "Is the same secret visible in several columns (a home over time, messages, repeated measurements)?",
        Level.WARN,
        "Declare these columns as one group; until then read the figure for as many columns as carry the secret: "
        "the worst sets of k attributes are listed.",
    ),
    Question(
        "homogeneous",
        "Are the columns items of one kind (events, purchases, ratings)?",
        Level.WARN,
        "A figure per column is then a figure per event: it protects one event, not a habit.",
    ),
    Question(
        "heterogeneous",
        "Are the columns different in kind and weakly correlated (age, income, occupation)?",
        Level.OK,
        "This is what figures per attribute are for.",
        "Figures per attribute are meant for columns of different kinds; read the figure per person.",
    ),
    Question(
        "correlated",
        "Are columns or people statistically correlated?",
        Level.INFO,
        "Correlation alone breaks nothing: the promise is about what changes when one value changes. "
        "Where one column determines another, declare the dependency, and both are read together.",
    ),
    Question(
        "identity",
        "Would an adversary be after something that many columns show together (an identity, 'is this record X?')?",
        Level.WARN,
        "Use the figure for that whole set of columns, or the figure per person.",
    ),
    Question(
        "bits",
        "Are the attributes bits of one number?",
        Level.WARN,
        "Protecting one bit of a salary does not protect the salary; declare the number as one attribute.",
    ),
    Question(
        "ignorance",
        "Does the claim rest on something that the adversary does not know?",
        Level.BLOCK,
        "Such a claim cannot be made here: it fails with the next release. Restrict what the adversary is after, "
        "not what the adversary knows.",
    ),
)

EXPLANATION = (
    "An adversary can be restricted in four ways: in knowledge, in the people or data it is tried on, in capability, "
    "and in goal. Figures per attribute restrict the goal only: learning something about those attributes of one "
    "person. The other three are not used, because claims about knowledge break with the next release, claims about "
    "typical people protect unequally, and claims about capability hold against one attack only. An attack that fails "
    "shows safety against that attack; an attack that succeeds refutes a claim."
)

CONTEXTS = (
    "Figures per attribute mean something where being in the data is no secret: a census, all patients of a hospital, "
    "public profiles. Nothing improves on the figure per person in every context."
)

LARGE_EPSILON = 10
"""Above this a figure per person promises little, and the report says so; docs/budget.md and docs/report.md name it."""

NAMES = tuple(question.name for question in QUESTIONS)


def findings(answers: Mapping[str, bool], groups: Sequence[str] = (), sets: Sequence[str] = ()) -> list[Finding]:
    """Return what the answers say; a question without an answer is listed as open.

    `groups` names the declared groups of columns that carry one secret, `sets` the sets of columns that the report
    shows: they answer two of the warnings.

    >>> yes = {name: name in ("membership", "heterogeneous") for name in NAMES}
    >>> [finding.level.name for finding in findings(yes)]
    ['BLOCK', 'OK']
    """
    for name, value in answers.items():
        if name not in NAMES:
            raise ParameterError(f"There is no question {name!r}; {nearest(name, NAMES)}")
        if not isinstance(value, bool):
            raise ParameterError(f"The answer to {name!r} must be True or False, not {value!r}.")
    found = []
    for question in QUESTIONS:
        if question.name not in answers:
            found.append(Finding(question.name, Level.WARN, f"Not answered: {question.text}"))
        elif not answers[question.name]:
            if question.if_no is not None:
                found.append(Finding(question.name, Level.WARN, question.if_no))
        elif question.name == "repeated" and groups:
            told = f"Read the figures of the declared groups: {', '.join(groups)}."
            found.append(Finding(question.name, Level.INFO, told))
        elif question.name == "identity" and sets:
            told = f"Read the figures of these sets of columns: {', '.join(sets)}; or the figure per person."
            found.append(Finding(question.name, Level.INFO, told))
        else:
            found.append(Finding(question.name, question.level, question.if_yes))
    return found


def weighed(found: Sequence[Finding], large: Finding | None) -> list[Finding]:
    """Return all findings; beside a promise that is weak nothing is called fine."""
    if large is None:
        return list(found)
    return [*(replace(one, level=Level.INFO) if one.level is Level.OK else one for one in found), large]


def size_finding(epsilon: Extended) -> Finding | None:
    """Return the warning about a figure per person that is very large, or infinite.

    >>> from fractions import Fraction
    >>> size_finding(Fraction(10)) is None, size_finding(Fraction(11)).level.name
    (True, 'WARN')
    """
    if epsilon <= LARGE_EPSILON:
        return None
    told = (
        f"The epsilon promised to a person is above {LARGE_EPSILON}: a guess at a yes-or-no fact about somebody may be "
        "right nearly always, so the promise is weak, and no figure per attribute makes up for it."
    )
    return Finding("size", Level.WARN, told)
