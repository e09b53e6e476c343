"""When does a per-attribute figure mean something? Questions that only a person who knows the data can answer.

A small number next to the name of a column is easy to misread. Each answer below blocks, warns or explains
(PDP-REPORT); nothing here looks at data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sfumato.errors import ParameterError


class Level(Enum):
    """How much an answer matters."""

    BLOCK = "block"
    """The per-attribute headline must not be shown."""
    WARN = "warn"
    INFO = "info"
    OK = "ok"


@dataclass(frozen=True)
class Question:
    """One question, and what a yes means."""

    name: str
    text: str
    level: Level
    if_yes: str


@dataclass(frozen=True)
class Finding:
    """What an answer, or a number, says about the figures."""

    about: str
    level: Level
    text: str


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
        "Declare these columns as one group; until then read the figure for as many columns as carry the secret.",
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
    "and in goal. Figures per attribute restrict the goal only: learning something about those attributes of one person. "
    "The other three are not used, because claims about knowledge break with the next release, claims about typical "
    "people protect unequally, and claims about capability hold against one attack only. An attack that fails shows "
    "safety against that attack; an attack that succeeds refutes a claim."
)

LARGE_EPSILON = 20
"""Above this a figure per person is no longer merely uncomfortable."""


def findings(answers: Mapping[str, bool]) -> list[Finding]:
    """Return what the answers say; a question without an answer is listed as open.

    >>> [f.level.name for f in findings({question.name: question.name == "membership" for question in QUESTIONS})]
    ['BLOCK']
    """
    known = {question.name for question in QUESTIONS}
    for name, value in answers.items():
        if name not in known:
            raise ParameterError(f"There is no question {name!r}; the questions are {', '.join(sorted(known))}.")
        if not isinstance(value, bool):
            raise ParameterError(f"The answer to {name!r} must be True or False, not {value!r}.")
    found = []
    for question in QUESTIONS:
        if question.name not in answers:
            found.append(Finding(question.name, Level.WARN, f"Not answered: {question.text}"))
        elif answers[question.name]:
            found.append(Finding(question.name, question.level, question.if_yes))
    return found
