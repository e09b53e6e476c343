"""Whatever is sent, two services over neighbouring tables answer the same, with a sentence and not with a failure."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from sfumato.errors import AccuracyWarning
from sfumato.noise import Noise
from sfumato.serve.desks import Desk
from tests.replay.frozen import differing
from tests.serve.pairs import Pair, Sent, Shared, id_of

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
        self.noise, self.left = Noise(insecure_seed=seed), 0

    def randrange(self, count: int) -> int:
        if self.left < 1 << 64:
            self.left = int(self.noise.uniform(1 << 4096))  # one large number is much quicker than many small ones
        self.left, found = divmod(self.left, count)
        return found

    def choice(self, listed: list[Any]) -> Any:
        return listed[self.randrange(len(listed))]


def leaf(source: Source) -> object:
    return source.choice([None, True, 0, -1, 10**400, 1.5, "age", "sex", "F", "", " ".join(phrase(source)), ["age"],
                          ["age", "age"], {"where": {}}, {"question": "Count"}, {"workload": 3}, [[[]]], {"a": {"b": 1}}])  # fmt: skip


CELLS = [
    ("41", "F"),
    ("", ""),
    ("1e400", "X"),
    ("-5", "'; DROP TABLE data"),
    ("99999999999999999999", "M"),
    ("4.5", "f"),
]
"""What stands in the row of one person, who may be anybody."""
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
        opened = {"columns": columns, "queries": leaf(source), "spend": source.choice(SPENDS)}
        return opened if source.randrange(2) else {**opened, "prior": prior(source)}
    if source.randrange(12) == 0:
        return {"conditions": [query(source) for _ in range(source.randrange(3))]}
    return leaf(source) if way == "bare" else {way: made[way], "spend": source.choice(SPENDS)}


def prior(source: Source) -> object:
    """Return where a conversation may begin, or nonsense."""
    law = [leaf(source) for _ in range(source.randrange(4))]
    told: list[object] = ["even", "model", {"sex": [3, 1]}, {"sex": law}, {"model": "Factored"}, leaf(source)]
    return source.choice(told)


def query(source: Source) -> object:
    """Return a query in codes, or nonsense."""
    columns = source.choice([["sex"], ["age"], ["sex", "sex"], leaf(source)])
    ends = {"lows": source.choice([[0], [1], leaf(source)]), "highs": source.choice([[1], [2], [0], leaf(source)])}
    numbers = source.choice([[0, 1], [3, -1], [leaf(source), 2], leaf(source)])
    weighted = {"numbers": numbers, "denominator": source.choice([1, 3, 0, leaf(source)])}
    return {"columns": columns, **source.choice([ends, weighted])} if source.randrange(4) else leaf(source)


def made(source: Source) -> Sent:
    """Return a request that means little, or now and then one that means something."""
    kind = source.randrange(40)
    if kind < 2:
        return meaning(source)
    if kind < 4:
        return looking(source)
    way = source.choice(["preview", "preview?error=true", "curve", "largest", "explain", "rehearse", "ask", "nowhere",
                         "conversations", "conversations/preview", "conversations/k-1", "conversations/k-1/learn"])  # fmt: skip
    headers = {"Content-Type": "application/json"}
    if source.randrange(5) == 0:
        headers["Idempotency-Key"] = source.choice(["a", "b c", "x" * 100, "k-1", "%00"])
    content = json.dumps(body(source)).encode()
    if source.randrange(10) == 0:
        content = bytes(source.randrange(256) for _ in range(20)) if source.randrange(2) else b"[" * 20000
    return Sent("ana", "POST", f"/api/datasets/first/{way}", headers, content)


def meaning(source: Source) -> Sent:
    """Return a question that is mostly answered, of a conversation too; nonsense is mostly refused."""
    kind, headers = source.randrange(8), {"Content-Type": "application/json"}
    who, path = source.choice(["ana", "ben"]), "/api/datasets/first"
    if kind == 0:
        asked: object = {"columns": source.choice([["sex"], ["age", "sex"]]), "queries": 50, "spend": "Pure(0.05)",
                         "prior": source.choice([None, None, "model", {"sex": [3, 1]}])}  # fmt: skip
        return Sent(who, "POST", f"{path}/conversations", {**headers, "Idempotency-Key": "k-1"}, _json(asked))
    if kind == 1:
        conditions = [f"age > {source.randrange(99)}", "sex = 'F'", "sex = 'M' AND age < 40", " ".join(phrase(source))]
        asked = {"conditions": [*conditions[: 1 + source.randrange(4)], query(source)][source.randrange(2) :]}
        way = source.choice(["", "", "/learn"])
        return Sent(who, "POST", f"{path}/conversations/k-1{way}", headers, _json(asked))
    words = " ".join(phrase(source)) if kind < 5 else f"count where age > {source.randrange(99)}"
    asked = {"sql" if "SELECT" in words else "phrase": words, "spend": source.choice(["Pure(0.01)", "Pure(0.003)"])}
    return Sent(who, "POST", f"{path}/ask", headers, _json(asked))


def looking(source: Source) -> Sent:
    """Return a request for something that was answered, or is not there."""
    job = source.choice([id_of(source.randrange(2000)), "0" * 32, "%", "..", "k-1"])
    kinds = ["jobs/{job}", "answers/{job}", "answers/{job}/file.csv", "answers/{job}/file.json?rows=3", "limits", "",
             "answers?state=refused", "answers?request=first:ana:{job}", "conversations", "conversations/k-1", "conversations/k-1/file.json",
             "guarantee?attribute={job}", "ledger",
             "ledger?since=40", "report", "approvals", "schema", "guarantee?people=2"]  # fmt: skip
    place = source.choice(kinds).format(job=job)
    path = f"/api/datasets/first/{place}".rstrip("/") if source.randrange(5) else page(source)
    return Sent(source.choice(["ana", "ben", "cora", "otto"]), "GET", path, {})


def page(source: Source) -> str:
    """Return a page, with fields in its address that mostly mean little."""
    given = {source.choice([*FIELDS, "what", "phrase", "sql", "way", "spend"]): " ".join(phrase(source)) for _ in "123"}
    fields = {name: text.encode("utf-8", "replace").replace(b"\0", b"") for name, text in given.items()}
    place = source.choice(["", "/ask", "/ask", "/ask/rehearse", "/history", "/conversations", "/synthetic", "/audit"])
    return f"/d/first{place}?{urlencode({'way': source.choice(['build', 'phrase', 'sql']), **fields})}"


def _json(asked: object) -> bytes:
    return json.dumps(asked).encode()


async def both(pair: Pair, source: Source, requests: int) -> Counter[int]:
    """Send requests to both services, and return how many were answered with which status, always alike."""
    found: Counter[int] = Counter()
    async with pair.open():
        for number in range(requests):
            sent = made(source)
            one, other = await pair.ask(sent)
            assert one == other, (number, sent, one.status, other.status, differing(one.text, other.text))
            assert one.status < 500, (number, sent, one)
            found[one.status] += 1
        for said in await pair.ask(Sent("carla", "POST", "/api/datasets/first/verify", {})):
            assert '"ok":true' in said.text
    return found


def fuzzed(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, requests: int) -> tuple[Counter[int], int]:
    """Return the statuses that both services answered with, and how many draws were made."""
    shared = Shared(monkeypatch)
    pair = Pair(folder, shared, (CELLS[seed % len(CELLS)], CELLS[(seed + 1) % len(CELLS)]))
    return asyncio.run(both(pair, Source(seed), requests)), shared.draws


def test_nonsense_is_answered_alike_on_neighbours_with_a_sentence(tmp_path, monkeypatch):
    found, draws = fuzzed(tmp_path, monkeypatch, 8, 60)
    assert found[422] > 20 and found[200] > 2 and draws > 1


def test_a_service_that_tells_of_its_data_is_seen(tmp_path, monkeypatch):
    """A service that says something of its data is told from its neighbour by the first request that shows it."""
    facts = Desk.facts

    def telling(desk: Desk) -> dict[str, Any]:
        return {**facts(desk), "about": str(Path(desk.terms.source).stat().st_size)}

    monkeypatch.setattr(Desk, "facts", telling)
    pair = Pair(tmp_path, Shared(monkeypatch), (CELLS[0], CELLS[2]))

    async def look() -> None:
        async with pair.open():
            one, other = await pair.ask(Sent("ana", "GET", "/api/datasets/first", {}))
            assert one.status == other.status == 200 and one != other

    asyncio.run(look())


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(2, 12))
def test_ten_thousand_pieces_of_nonsense_on_neighbours(tmp_path, monkeypatch, seed):
    found, draws = fuzzed(tmp_path, monkeypatch, seed, 10_000)
    assert found[422] > 5000 and found[200] > 300 and found[409] > 5 and draws > 100
