"""Who may send, how often, and what the operator sees of it."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from sfumato import local
from sfumato.errors import ParameterError
from sfumato.serve import collector_app
from sfumato.serve.senders import Retry, Tokens
from tests.local.collecting import COLOURS, PLAN

TOKEN, OTHER = "a token of sixteen letters".replace(" ", "-"), "another-token-of-many-letters"
JSON = {"Content-Type": "application/json"}


def line(plan=COLOURS, item="red"):
    return local.envelope(plan.client().report(item))


def bearing(token):
    return {**JSON, "Authorization": f"Bearer {token}"}


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text(f"# devices\n{TOKEN}\n")
    return path


class TestTokens:
    def test_only_known_tokens_are_let_in_before_the_body_is_read(self, tmp_path, tokens):
        app = collector_app(tmp_path / "c", COLOURS, authorize=Tokens(tokens))
        with TestClient(app) as browser:
            for headers in (JSON, bearing(OTHER), bearing(""), {**JSON, "Authorization": TOKEN}):
                assert browser.post("/reports", content=line(), headers=headers).status_code == 401
            assert browser.post("/reports", content=line(), headers=bearing(TOKEN)).json()["accepted"] == 1
            assert browser.get("/health").json()["accepted"] == 1
        stored = b"".join(path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file())
        assert TOKEN.encode() not in stored

    def test_a_file_that_changes_is_read_again(self, tokens):
        moment = [0.0]
        known = Tokens(tokens, clock=lambda: moment[0])
        tokens.write_text(f"{OTHER}\n")
        assert known({"authorization": f"Bearer {TOKEN}"}) is True
        moment[0] += 3
        assert known({"authorization": f"Bearer {TOKEN}"}) is False
        assert known({"authorization": f"bearer {OTHER}"}) is True
        # A file that is gone leaves the tokens as they were, and what is too short never becomes one.
        tokens.unlink()
        moment[0] += 3
        assert known({"authorization": f"Bearer {OTHER}"}) is True
        tokens.write_text(f"short\n{TOKEN}\n")
        moment[0] += 3
        assert known({"authorization": "Bearer short"}) is False
        assert known({"authorization": f"Bearer {TOKEN}"}) is True
        # Whoever empties the file wants nobody to send any more.
        tokens.write_text("")
        moment[0] += 3
        assert known({"authorization": f"Bearer {TOKEN}"}) is known({"authorization": "Bearer "}) is False

    def test_a_token_that_comes_too_often_waits(self, tokens):
        moment = [0.0]
        known = Tokens(tokens, rate=2, clock=lambda: moment[0])
        sent = {"authorization": f"Bearer {TOKEN}"}
        assert [known(sent) is True for _ in range(3)] == [True, True, False]
        moment[0] += 31
        assert known(sent) is True and isinstance(known(sent), Retry)

    def test_tokens_that_can_be_guessed_are_refused(self, tmp_path):
        for text in ("", "# nothing\n", "short\n"):
            (tmp_path / "tokens").write_text(text)
            with pytest.raises(ParameterError, match="16 characters"):
                Tokens(tmp_path / "tokens")
        with pytest.raises(ParameterError, match="no file of tokens"):
            Tokens(tmp_path / "missing")

    def test_the_service_asks_to_wait(self, tmp_path, tokens):
        app = collector_app(tmp_path / "c", COLOURS, authorize=Tokens(tokens, rate=1))
        with TestClient(app) as browser:
            answers = [browser.post("/reports", content=line(), headers=bearing(TOKEN)) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429] and int(answers[1].headers["retry-after"]) > 1


class TestMetrics:
    def test_numbers_without_anything_about_devices(self, tmp_path, tokens):
        app = collector_app(tmp_path / "c", [COLOURS, PLAN], metrics=Tokens(tokens))
        sent = [line() for _ in range(3)] + [line(PLAN, 5)]
        with TestClient(app) as browser:
            for one in [*sent, sent[0], b"hello"]:
                browser.post("/reports", content=one, headers=JSON)
            assert browser.get("/metrics").status_code == 401
            text = browser.get("/metrics", headers=bearing(TOKEN)).text
            plans = [browser.get(f"/plan/{plan.digest.hex()}").json()["tag"] for plan in (COLOURS, PLAN)]
            assert plans == [COLOURS.wire.tag.hex(), PLAN.wire.tag.hex()]
            assert browser.get("/plan").json()["tag"] == plans[1] and browser.get("/plan/00").status_code == 404
        colours = f'sfumato_reports_total{{plan="{COLOURS.digest.hex()}",result='
        assert f'{colours}"accepted"}} 3' in text and f'{colours}"duplicate"}} 1' in text
        assert 'plan="none",result="envelope"} 1' in text and 'reason="token"} 1' in text
        labels = set(re.findall(r'(\w+)="', text))
        assert labels == {"plan", "result", "reason"}
        for one in sent:
            assert one[7:39].decode() not in text

    def test_without_tokens_there_are_none(self, tmp_path):
        with TestClient(collector_app(tmp_path / "c", COLOURS)) as browser:
            assert browser.get("/metrics").status_code == 404
