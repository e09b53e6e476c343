"""Whatever is sent, the service answers with a sentence and not with a failure, and nothing is charged for nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.errors import AccuracyWarning
from sfumato.noise import Noise
from tests.serve.houses import Site

pytestmark = pytest.mark.filterwarnings(f"ignore::{AccuracyWarning.__module__}.{AccuracyWarning.__name__}")
WORDS = ["count", "mean", "of", "age", "sex", "by", "where", ">", "<", "=", "40", "'F'", "(", ")", ",", "and", "or", "not",
         "histogram", "quantiles", "0.5", "synthesize", "with", "SELECT", "COUNT(*)", "FROM", "data", "GROUP BY", "\u0000",
         "\ud800", "💥", "null", "-1", "1e999", "learn", "from", "popular", "\"", "'", ";", "--", "/*", "AVG(age)"]  # fmt: skip
KINDS = ["Count", "Mean", "Sum", "Variance", "Histogram", "GroupBy", "Quantiles", "Distribution", "Popular", "People",
         "Synthesize", "Synopsize", "Queries", "Select", "Learn", "Shaped", "GroupAudit", "Nothing"]  # fmt: skip
FIELDS = ["column", "columns", "where", "by", "aggregates", "keys", "probabilities", "method", "smallest", "workload",
          "options", "statement", "decision", "protected", "learner", "features", "target"]  # fmt: skip
SPENDS = ["Pure(0.01)", "Pure(-1)", "Pure(1/0)", "Pure(1e-400)", "Approximate(1, 2)", "Concentrated(0.001)", "", None, 3, [],
          {"bound": "Pure"}, {"bound": "Pure", "epsilon": "1/100", "unit": "person"}, "Truncated(0.01, 5)"]  # fmt: skip


class Source:
    """Choices that can be repeated."""

    def __init__(self, seed: int) -> None:
        self.noise = Noise(insecure_seed=seed)

    def randrange(self, count: int) -> int:
        return int(self.noise.uniform(count))

    def choice(self, listed: list[Any]) -> Any:
        return listed[self.randrange(len(listed))]


def leaf(source: Source) -> object:
    return source.choice([None, True, 0, -1, 10**400, 1.5, "age", "sex", "F", "", " ".join(phrase(source)), ["age"],
                          ["age", "age"], {"where": {}}, {"question": "Count"}, {"workload": 3}, [[[]]], {"a": {"b": 1}}])  # fmt: skip


VALID = [
    "count where age > 40 and sex = 'F'",
    "mean of age by sex where not age < 30",
    "histogram of age , sex",
    "quantiles 0.1 , 0.9 of age by sex",
    "SELECT sex , COUNT(*) AS n , AVG( age ) FROM data WHERE age > 20 GROUP BY sex HAVING COUNT(*) > 3 ORDER BY n",
    "synthesize age , sex with mwem(rounds=2)",
    "learn sex from age with threshold(classes=F|M)",
    "distribution of age where sex = 'M'",
]


def phrase(source: Source) -> list[str]:
    """Return words at random, or a phrase that means something with at most one word exchanged."""
    if source.randrange(2):
        words = source.choice(VALID).split()
        if source.randrange(2):
            words[source.randrange(len(words))] = source.choice(WORDS)
        return words
    return [source.choice(WORDS) for _ in range(source.randrange(9))]


def body(source: Source) -> object:
    question = {
        "question": source.choice(KINDS),
        **{source.choice(FIELDS): leaf(source) for _ in range(source.randrange(4))},
    }
    way = source.choice(["question", "questions", "phrase", "sql", "other", "bare"])
    made = {"question": question, "questions": [question, leaf(source)], "phrase": " ".join(phrase(source)),
            "sql": " ".join(phrase(source)), "other": leaf(source)}  # fmt: skip
    if source.randrange(12) == 0:
        columns = source.choice([["age", "sex"], ["sex"], leaf(source)])
        return {"columns": columns, "queries": leaf(source), "spend": source.choice(SPENDS)}
    return leaf(source) if way == "bare" else {way: made[way], "spend": source.choice(SPENDS)}


def made(source: Source) -> tuple[str, dict[str, str], bytes]:
    """Return where a request goes, its headers and its body."""
    kind = source.choice(["preview", "preview?error=true", "curve", "largest", "rehearse", "ask", "nowhere",
                          "conversations", "conversations/preview", "conversations/k-1"])  # fmt: skip
    headers = {"Content-Type": "application/json"}
    if source.randrange(5) == 0:
        headers["Idempotency-Key"] = source.choice(["a", "b c", "x" * 100, "k-1", "%00"])
    content = json.dumps(body(source)).encode()
    if source.randrange(10) == 0:
        content = bytes(source.randrange(256) for _ in range(20)) if source.randrange(2) else b"[" * 20000
    return kind, headers, content


def send(site: Site, source: Source) -> int:
    kind, headers, content = made(source)
    return int(site.call("ana", "POST", f"/api/datasets/first/{kind}", content=content, headers=headers).status_code)


def fuzz(site: Site, seed: int, count: int) -> dict[int, int]:
    source, found = Source(seed), {}
    for number in range(count):
        status = send(site, source)
        assert status < 500, (seed, number, status)
        found[status] = found.get(status, 0) + 1
    return found


def test_nonsense_is_answered_with_a_sentence(site):
    found = fuzz(site, 1, 60)
    assert found.get(422, 0) > 20
    assert site.post("carla", "/api/datasets/first/verify").json()["ok"]


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(2, 12))
def test_ten_thousand_pieces_of_nonsense(site, seed):
    fuzz(site, seed, 10_000)
    assert site.post("carla", "/api/datasets/first/verify").json()["ok"]
