"""The questions that a review of a privacy claim asks, answered as far as a ledger can (after NIST SP 800-226).

The publication orders them from the parameters down to how the data are collected; each level rests on those below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.ledger.units import Unit
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.report.text import headline, used_so_far

if TYPE_CHECKING:
    from sfumato.report.evidence import Evidence

SOURCE = "Questions after NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025)."

NEIGHBOURS = {
    ADD_REMOVE: "tables are neighbours if one person is added or removed (unbounded)",
    REPLACE_ONE: "tables are neighbours if one person's rows are replaced by others (bounded); the number of people is "
    "public",
}


@dataclass(frozen=True)
class Reviewed:
    """One question, its answer if there is one, and who gave it: the ledger, the software, or you."""

    topic: str
    question: str
    answer: str | None
    by: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"topic": self.topic, "question": self.question, "answer": self.answer, "answered_by": self.by}


def reviewed(evidence: Evidence) -> tuple[Reviewed, ...]:
    """Return all questions, with the answers that are known."""
    found = [
        *_from_ledger(evidence),
        *(Reviewed(topic, question, answer, "software") for topic, question, answer in _SOFTWARE),
        *(Reviewed(topic, question, _said(evidence.about, name), "you") for topic, question, name in _YOURS),
    ]
    return tuple(sorted(found, key=lambda one: _TOPICS.index(one.topic)))


_TOPICS = (
    "Parameters",
    "Unit of privacy",
    "Composition",
    "Algorithms",
    "Accuracy and bias",
    "Correctness",
    "Trust and security",
    "Data collection",
)

_SOFTWARE = (
    (
        "Algorithms",
        "Where do sensitivities come from?",
        "From the public schema and the neighbouring relation, derived by the software for every statistic; no "
        "question and no user states one.",
    ),
    (
        "Correctness",
        "How is it known that the code keeps the stated loss?",
        "The exact distribution of the code that ships is enumerated on all small neighbouring tables and compared "
        "with the stated loss; versions with too little noise must be caught by the same tests, which anybody can run "
        "again.",
    ),
    (
        "Correctness",
        "Is noise drawn in floating point?",
        "No: statistics are integers, and draws of noise are exact integers. One choice, joint quantiles, weighs in "
        "floating point, and the largest rounding error is part of its stated loss.",
    ),
    (
        "Correctness",
        "Where does randomness come from?",
        "From the operating system: 256-bit keys, expanded by AES-256 in counter mode. The promise holds against "
        "everybody who cannot tell AES from randomness.",
    ),
    (
        "Trust and security",
        "Can errors, refusals or running times tell something about a person?",
        "Errors and refusals follow from public facts only. Running time and memory are not protected: do not show "
        "latencies to people you do not trust.",
    ),
    (
        "Trust and security",
        "Which model of trust is it?",
        "The central model: the curator holds the raw data, and everybody who sees released answers only is held off "
        "by the guarantee.",
    ),
)

_YOURS = (
    ("Parameters", "Who chose the parameters, and why?", "choice"),
    ("Unit of privacy", "How many people are in the data, and is delta far below one in that number?", "people"),
    ("Composition", "Are there other ledgers or releases about the same people?", "other_releases"),
    ("Accuracy and bias", "Who is missing from the data, or measured badly?", "bias"),
    ("Trust and security", "Who can read the raw data, the ledger and its private directory?", "access"),
    ("Data collection", "Where do the data come from, and did people agree?", "source"),
    ("Data collection", "How long are the raw data kept?", "retention"),
    ("Data collection", "Was the schema written from public facts, not from the data?", "schema_source"),
)


def _said(about: Mapping[str, Any], name: str) -> str | None:
    return None if about.get(name) is None else str(about[name])


def neighbours_said(evidence: Evidence) -> str:
    """Say what neighbouring tables are; where periods are exchanged no number of people or rows is public."""
    if not evidence.units or evidence.relation is ADD_REMOVE:
        return NEIGHBOURS[evidence.relation]
    one = Unit.read(evidence.units[0][0]).said
    return (
        f"tables are neighbours if what one person did in one {one} is left out or exchanged for anything else; no "
        "number of people or rows is public"
    )


def _from_ledger(evidence: Evidence) -> list[Reviewed]:
    report = evidence.report
    person = report.person
    promised = () if person.guaranteed is None else (f"{person.guaranteed!s}.", headline(person))
    whole = "A whole person with all rows" if promised else "Each period of each person on its own, with all its rows"
    moves = neighbours_said(evidence)
    families = "; ".join(f"{row.subject}: {row.guaranteed!s}" for row in report.families if row.guaranteed is not None)
    listed = ", ".join(mechanism["name"] for mechanism in evidence.mechanisms) or "none yet"
    told = [
        (
            "Parameters",
            "What is promised, and what do the numbers mean?",
            " ".join((*promised, *report.units)),
        ),
        ("Parameters", "Which definition of privacy is it?", f"{evidence.kind}."),
        (
            "Unit of privacy",
            "Whose data are protected, and how much of them?",
            f"{whole}: {moves}.",
        ),
        (
            "Unit of privacy",
            "What holds for families and other groups of people?",
            families or "No limit speaks of groups.",
        ),
        (
            "Composition",
            "Does the promise cover all releases together, chosen one after another?",
            person.guarantee_text,
        ),
        ("Composition", "What has been used so far?", " ".join(used_so_far(report))),
        (
            "Composition",
            "What happens when the budget is used up?",
            "A question that would break a limit is refused before the data are touched. Limits were fixed when the "
            "ledger was made; they are never raised, and nothing is given back.",
        ),
        ("Algorithms", "Which algorithms produced the releases?", f"{listed}; see the section on mechanisms."),
        (
            "Accuracy and bias",
            "By which rules were cells changed before they were counted?",
            " ".join(evidence.rules) or "No rule was applied so far.",
        ),
        (
            "Accuracy and bias",
            "Is the error that privacy adds known?",
            "Every answer carries an interval for its privacy noise, or says that none is known; sampling error is not "
            "part of it.",
        ),
    ]
    return [Reviewed(topic, question, answer, "ledger") for topic, question, answer in told]
