"""Each row of the questionnaire, word for word: a changed text is a changed promise to the reader."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Pure
from sfumato.report import threats
from sfumato.report.questionnaire import LARGE_EPSILON, NAMES, QUESTIONS, Level, findings, size_finding

ALL_NO = dict.fromkeys(NAMES, False) | {"heterogeneous": True}

YES = {
    "membership": (
        Level.BLOCK,
        "Membership can be inferred from all attributes together, so only the figure per person applies.",
    ),
    "repeated": (
        Level.WARN,
        "Declare these columns as one group; until then read the figure for as many columns as carry the secret: "
        "the worst sets of k attributes are listed.",
    ),
    "homogeneous": (
        Level.WARN,
        "A figure per column is then a figure per event: it protects one event, not a habit.",
    ),
    "heterogeneous": (Level.OK, "This is what figures per attribute are for."),
    "correlated": (
        Level.INFO,
        "Correlation alone breaks nothing: the promise is about what changes when one value changes. "
        "Where one column determines another, declare the dependency, and both are read together.",
    ),
    "identity": (Level.WARN, "Use the figure for that whole set of columns, or the figure per person."),
    "bits": (
        Level.WARN,
        "Protecting one bit of a salary does not protect the salary; declare the number as one attribute.",
    ),
    "ignorance": (
        Level.BLOCK,
        "Such a claim cannot be made here: it fails with the next release. Restrict what the adversary is after, "
        "not what the adversary knows.",
    ),
}


def test_the_snapshots_cover_every_question() -> None:
    assert set(YES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_yes_says_exactly_this(name: str) -> None:
    found = [one for one in findings(ALL_NO | {name: True}) if one.about == name]
    assert [(one.level, one.text) for one in found] == [YES[name]]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_answered_is_a_warning(name: str) -> None:
    given = {other: answer for other, answer in ALL_NO.items() if other != name}
    (found,) = (one for one in findings(given) if one.about == name)
    (question,) = (one for one in QUESTIONS if one.name == name)
    assert (found.level, found.text) == (Level.WARN, f"Not answered: {question.text}")


def test_a_no_is_silent_except_where_the_figures_lose_their_meaning() -> None:
    assert [one.about for one in findings(ALL_NO)] == ["heterogeneous"]
    (found,) = findings(ALL_NO | {"heterogeneous": False})
    assert found.level is Level.WARN
    assert found.text == "Figures per attribute are meant for columns of different kinds; read the figure per person."


def test_declared_groups_answer_the_warning_about_repeated_secrets() -> None:
    (found,) = (one for one in findings(ALL_NO | {"repeated": True}, groups=["home"]) if one.about == "repeated")
    assert (found.level, found.text) == (Level.INFO, "Read the figures of the declared groups: home.")


def test_listed_sets_answer_the_warning_about_identity() -> None:
    (found,) = (one for one in findings(ALL_NO | {"identity": True}, sets=["age + sex"]) if one.about == "identity")
    assert found.level is Level.INFO
    assert found.text == "Read the figures of these sets of columns: age + sex; or the figure per person."


def test_a_large_or_infinite_figure_per_person_warns() -> None:
    text = (
        "The epsilon promised to a person is above 10: a guess at a yes-or-no fact about somebody may be right nearly "
        "always, so the promise is weak, and no figure per attribute makes up for it."
    )
    for epsilon in (Fraction(101, 10), INFINITY):
        found = size_finding(epsilon)
        assert found is not None
        assert (found.about, found.level, found.text) == ("size", Level.WARN, text)
    assert size_finding(Fraction(10)) is None


def test_the_pages_and_the_report_warn_from_one_epsilon_on_and_call_nothing_fine_beside_it() -> None:
    """The guide said 10, the code 20, and a green "Fine" stood beside a guess that is right 100.0 % of the time."""
    docs = Path(__file__).parents[2] / "docs"
    guide, said = (" ".join((docs / name).read_text(encoding="utf-8").split()) for name in ("budget.md", "report.md"))
    assert f"up to {LARGE_EPSILON} appears in large official releases" in guide
    assert f"A figure per person above epsilon {LARGE_EPSILON}, or infinite, is a warning" in said
    for epsilon, weak in ((12, True), (3, False)):
        with Ledger(None, Budget(person=Pure(epsilon))) as ledger:
            page = threats(ledger, ALL_NO | {"heterogeneous": True}).html()
        assert (f"above {LARGE_EPSILON}" in page) is weak and (">Fine<" in page) is not weak


def test_wrong_answers_are_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean 'membership'"):
        findings({"membershp": True})
    with pytest.raises(ParameterError, match="True or False"):
        findings({"membership": "yes"})  # type: ignore[dict-item]
