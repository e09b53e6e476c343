"""What was asked, in plain words: headings, lists of releases and reports say the same."""

from __future__ import annotations

import pyarrow

from sfumato import Pure, curate
from sfumato.curator.typed import read_question
from sfumato.domain import categories, integers
from sfumato.report.releases import asked_in_words
from sfumato.show.titles import LONGEST_STATEMENT, title_of, titles_of
from sfumato.table.schema import Schema

SCHEMA = Schema({"age": integers(0, 99), "sex": categories("F", "M"), "dept": categories("a", "b", "c")})
ROWS = pyarrow.table({"age": [20, 50, 70], "sex": ["F", "M", "F"], "dept": ["a", "b", "c"]})


def test_the_list_of_releases_says_what_was_asked() -> None:
    curator = curate(ROWS, SCHEMA, Pure(100))
    count = curator.count(where="age > 40", spend=Pure(1))
    curator.quantiles("age", [0.25, 0.75], by="dept", spend=Pure(1))
    curator.ask(read_question("tables 2 of age, sex, dept", SCHEMA), Pure(1))
    curator.sql("SELECT sex, COUNT(*) AS many_people FROM data WHERE age > 40 AND dept = 'a' GROUP BY sex", Pure(1))
    first, second, third, fourth = (asked_in_words(entry) for entry in curator.ledger.history())
    assert first == "count where age is 41 or more"
    assert str(count).startswith("Count where age is 41 or more")
    assert second.startswith("quantiles of age by dept, ") and second.count("quantiles") == 1
    assert third == "tables of 2 columns of age, sex, dept"
    assert fourth.startswith("SELECT ") and fourth.endswith("…") and len(fourth) <= LONGEST_STATEMENT + 2
    assert asked_in_words(curator.ledger.history()[-1], whole=True).endswith("GROUP BY data.sex")


def test_questions_that_differ_are_named_one_by_one() -> None:
    def mean(column: str, **where: int) -> dict[str, object]:
        parts = [{"column": name, "codes": [[code, code]]} for name, code in where.items()]
        return {"question": "Mean", "column": column, "where": {"where": {"all": parts}} if parts else None}

    def said(*records: dict[str, object]) -> str:
        return titles_of([(record, ()) for record in records])

    assert said(mean("age"), mean("pay")) == "Mean of age; mean of pay, 2 questions"
    assert said(mean("age", sex=0, day=3), mean("age", sex=1, day=3)) == (
        "Mean of age by sex, with a condition on day, 2 questions"
    )
    assert said(mean("age", sex=0), mean("age", day=3)) == (
        "Mean of age, with a condition on sex; mean of age, with a condition on day, 2 questions"
    )
    assert said(mean("age"), mean("age")) == "Mean of age, 2 questions"
    assert said(*(mean(name) for name in "abcdefg")).endswith("; mean of e; and 2 more, 7 questions")


def test_titles_have_no_words_of_the_house() -> None:
    learned = {"question": "Learn", "target": "sick", "features": ["age", "sex"], "learner": "PrivateLinear"}
    assert title_of(learned) == "Learned rule for sick from age, sex"
    assert title_of({"question": "People", "by": ["sex"], "where": None}) == "Number of people by sex"
