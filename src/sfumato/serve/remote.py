"""`sf.connect("https://…", token=…)`: the curator's own methods over HTTP, with the same names, answers and errors.

It needs no package beyond the library's own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from zipfile import ZipFile

from sfumato.answer import Answer
from sfumato.ask.expected import Expected
from sfumato.curator.finishing import read_answer
from sfumato.curator.foreseen import Foreseen
from sfumato.curator.shorthands import Shorthands
from sfumato.curator.statements import SqlAnswer, read_answers
from sfumato.curator.words import speaking
from sfumato.errors import LedgerError, ParameterError, SfumatoError, warn
from sfumato.exact import Number
from sfumato.ledger.verify import Verification
from sfumato.noise import new_key
from sfumato.privacy import EVERYTHING, Bound, Loss, bound_from_json
from sfumato.privacy.bounds import require_bound
from sfumato.questions import Question
from sfumato.serve.remote_talk import RemoteConversation, prior_json
from sfumato.serve.wire import error_from
from sfumato.show.progress import PATIENCE, watched
from sfumato.show.views import View
from sfumato.sql.explanation import Explanation
from sfumato.sql.statement import read_statement
from sfumato.table.database import Database, database_of
from sfumato.table.schema import Schema
from sfumato.words import understood

if TYPE_CHECKING:
    from sfumato.learn.facts import LearningFacts
    from sfumato.learn.question import Learn

LOOPBACK = ("127.0.0.1", "::1", "localhost")
TRIES = 4


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the token is for one address."""

    def redirect_request(self, *given: Any) -> None:
        """Refuse to go elsewhere."""
        return


class Waiting(LedgerError):
    """A question waits for a curator or still runs; `job` is its id for `answered`."""

    def __init__(self, message: str, job: str = "") -> None:
        super().__init__(message)
        self.job = job


@understood
def connect(address: str, *, token: str, dataset: str | None = None, patience: float = 120.0) -> Remote:
    """Return a curator that asks a service: the same methods, answers and errors as `curate` gives.

    `dataset` names one of the data sets that the token sees; with a single one it can be left out. `patience` is how
    many seconds a question may run before `Waiting` is raised.
    """
    return Remote(_Line(address, token), dataset, patience)


class _Line:
    """Requests to one service, and its problem documents as our errors."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("The address of a service begins with https://; write 'https://data.example.org'.")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ParameterError("A token is only sent encrypted; write https:// before the address.")
        if not isinstance(token, str) or not token.strip():
            raise ParameterError("Give the token that a curator gave you, as token='sfm_…'.")
        self.address = address.rstrip("/")
        self._token = token.strip()
        self._opener = build_opener(_Stay)

    def __call__(self, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
        """Send a request and return status and JSON; a busy service is asked again, under the same key."""
        status, content = self._patiently(method, path, body, key)
        record = self._read(status, content)
        if status >= 400:
            raise error_from(record)
        return status, record

    def file(self, path: str) -> bytes:
        """Return a file as the service sends it."""
        status, content = self._patiently("GET", path, None, None)
        if status >= 400:
            raise error_from(self._read(status, content))
        return content

    def _patiently(self, method: str, path: str, body: Any, key: str | None) -> tuple[int, bytes]:
        for attempt in range(TRIES):
            status, headers, content = self._send(method, path, body, key)
            if status != 503 or attempt == TRIES - 1:
                break
            time.sleep(min(10.0, float(headers.get("Retry-After", 2))))
        return status, content

    def _read(self, status: int, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError:
            raise SfumatoError(f"{self.address} answered with {status} and no JSON; is it a sfumato service?") from None

    def _send(self, method: str, path: str, body: Any, key: str | None) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        content = None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        elif method == "POST":
            content = b""
        if key is not None:
            headers["Idempotency-Key"] = key
        asked = Request(f"{self.address}/api{path}", content, headers, method=method)
        try:
            with self._opener.open(asked, timeout=120) as response:
                return response.status, dict(response.headers), response.read()
        except HTTPError as refused:
            with refused:
                return refused.code, dict(refused.headers), refused.read()
        except (URLError, OSError) as problem:
            raise SfumatoError(
                f"{self.address} cannot be reached ({type(problem).__name__}); ask again under the same request= and "
                "nothing is paid twice."
            ) from None


@speaking
class Remote(Shorthands):
    """A data set of a service; what it is asked is charged to the ledger there."""

    def __init__(self, line: _Line, dataset: str | None, patience: float) -> None:
        self._line = line
        self._patience = patience
        self.dataset = dataset or self._only()
        described = self._get("/schema")
        several = "tables" in described["schema"]
        self._schema: Any = (Database if several else Schema).from_json(described["schema"])

    @property
    def schema(self) -> Any:
        """The public description of the table, or of several."""
        return self._schema

    def _only(self) -> str:
        _, found = self._line("GET", "/datasets")
        names = [one["name"] for one in found]
        if len(names) != 1:
            raise ParameterError(f"Say which data set with dataset=; you may see {', '.join(names) or 'none'}.")
        return str(names[0])

    def _get(self, path: str) -> Any:
        return self._line("GET", f"/datasets/{quote(self.dataset)}{path}")[1]

    def _post(self, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
        return self._line("POST", f"/datasets/{quote(self.dataset)}{path}", body, key)

    def __repr__(self) -> str:
        return str(self)

    def view(self) -> View:
        """Return what there is, what is promised, and what is left."""
        facts = self._get("")
        left = [f"{name}: {said}" for name, said in self.remaining().items()]
        public = f"{self._line.address}, data set {self.dataset}. {facts['promise']}"
        return View("Curator", self.schema.view().tables, (public,), tuple(left))

    # Asking

    def ask(
        self,
        question: Question | Sequence[Question],
        spend: Bound | None = None,
        *,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Any:
        """Answer a question, or a list of them, within a spend; as `Curator.ask` does."""
        self._me(analyst)
        single = isinstance(question, Question)
        listed = [question] if isinstance(question, Question) else list(question)
        forms = [one.canonical(self.schema).to_json() for one in listed]
        body = {"question": forms[0]} if single else {"questions": forms}
        answers = self._answers(self._asked(body, spend, request))
        return answers[0] if single else answers

    def sql(
        self, statement: str, spend: Bound | None = None, *, analyst: str | None = None, request: str | None = None
    ) -> SqlAnswer | Explanation:
        """Answer a SELECT within a spend, or explain it; as `Curator.sql` does."""
        self._me(analyst)
        read = read_statement(statement, database_of(self.schema))
        if read.parsed.explain:
            return self.explain(statement, spend)
        return read_answers(read, self._answers(self._asked({"sql": statement}, spend, request)))

    def _facts(self, question: Learn) -> LearningFacts:
        return question.facts(self.schema)  # what a fit read is not told over the line

    def _me(self, analyst: str | None) -> None:
        if analyst is not None:
            raise ParameterError("The token says who asks; leave analyst= out.")

    def _asked(self, body: dict[str, Any], spend: Bound | None, key: str | None) -> dict[str, Any]:
        body["spend"] = None if spend is None else require_bound(spend).to_json()
        until = time.monotonic() + self._patience
        # Where somebody watches, the service is asked soon how far it is.
        soon = f"?patience={PATIENCE:g}" if sys.stderr.isatty() else ""
        found: dict[str, Any] = {}
        with watched(f"{self.dataset} is asked", lambda: found.get("part")):
            status, said = self._post(f"/ask{soon}", body, key or new_key()[:16].hex())
            found |= said
            while status == 202 and found["state"] != "waiting" and time.monotonic() < until:
                time.sleep(1)
                status, said = self._line("GET", f"/datasets/{quote(self.dataset)}/jobs/{found['job']}")
                found |= said
        if status == 202:
            raise Waiting(f"{found['said']} Ask for it later with answered({found['job']!r}).", found["job"])
        return dict(found)

    def answered(self, job: str) -> Any:
        """Return the answer to a question that had to wait, by its job; free."""
        status, found = self._line("GET", f"/datasets/{quote(self.dataset)}/jobs/{quote(job)}")
        if status == 202:
            raise Waiting(found["said"], job)
        answers = self._answers(found)
        return answers[0] if found["single"] else answers

    def stored(self, request: str) -> Any:
        """Return what was answered to a request, by its id; free, as `Curator.stored` is."""
        found = self._get(f"/answers?{urlencode({'request': request})}") if isinstance(request, str) else []
        if not found:
            raise LedgerError(f"The service holds no answer to {request!r}; give the request of an answer of yours.")
        kept = self._get(f"/answers/{found[0]['job']}")
        answers = [replace(one, reused=True) for one in self._answers(kept)]
        return answers[0] if kept["single"] else answers

    def refit(self, request: str) -> Any:
        """Refuse: the service does that by itself."""
        raise ParameterError(
            "A service computes a draw's fit again when its question is asked again; ask it with the same request=, "
            "which costs nothing."
        )

    def answer_from_json(self, record: Mapping[str, Any]) -> Answer:
        """Read what `Answer.to_json` wrote."""
        return read_answer(record, self.schema)

    def _answers(self, found: Mapping[str, Any]) -> list[Answer]:
        return [replace(read_answer(one, self.schema), request=found["request"]) for one in found["answers"]]

    # What is free

    def _form(self, question: Question | Sequence[Question], spend: Bound | None) -> dict[str, Any]:
        single = isinstance(question, Question)
        listed = [question] if isinstance(question, Question) else list(question)
        forms = [one.canonical(self.schema).to_json() for one in listed]
        bound = None if spend is None else require_bound(spend).to_json()
        return {"question": forms[0], "spend": bound} if single else {"questions": forms, "spend": bound}

    def preview(self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None) -> Foreseen:
        """Say whether a question would fit, and how wrong it would be; free. Limits it would break are in the text."""
        self._me(analyst)
        found = self._post("/preview?error=true", self._form(question, require_bound(spend)))[1]
        for said in found["cautions"]:
            warn(said)
        expected = None if found["expected"] is None else Expected(**found["expected"])
        return Foreseen(
            found["fits"], (), (), found["text"], found["free"], expected=expected, errors=tuple(found["errors"])
        )

    def loss(self, question: Question | Sequence[Question], spend: Bound) -> Loss:
        """Return what a question would cost; free."""
        return Loss.from_json(self._post("/preview", self._form(question, require_bound(spend)))[1]["loss"])

    def explain(self, statement: str, spend: Bound | None = None, *, analyst: str | None = None) -> Explanation:
        """Say what a SELECT reads, what it costs and how far its noise goes; free, as `Curator.explain` is."""
        self._me(analyst)
        bound = None if spend is None else require_bound(spend).to_json()
        found = self._post("/explain", {"sql": statement, "spend": bound})[1]
        return Explanation(**{**found, **{name: tuple(found[name]) for name in ("reads", "rules", "free")}})

    def largest(
        self, question: Question | Sequence[Question], spend: Bound, *, analyst: str | None = None
    ) -> Bound | None:
        """Return the largest part of a spend that would fit now, None if none does; free."""
        self._me(analyst)
        found = self._post("/largest", self._form(question, require_bound(spend)))[1]["spend"]
        return None if found is None else bound_from_json(found)

    def rehearse(self, question: Question, spend: Bound | None = None, people: int | None = None) -> Answer:
        """Answer a question on made-up rows; free."""
        asked = "/rehearse" if people is None else f"/rehearse?people={int(people)}"
        return read_answer(self._post(asked, self._form(question, spend))[1], self.schema)

    def remaining(self) -> dict[str, str]:
        """Return what every limit that concerns you has left, in words."""
        return dict(self._get("/limits")["remaining"])

    def guarantee(self, names: Any = EVERYTHING, people: int = 1, days: int | None = None) -> Bound | None:
        """Return what everything answered, now and later, satisfies; `days` as in `Ledger.guarantee`."""
        listed = [] if names is EVERYTHING else [names] if isinstance(names, str) else list(names)
        span = [] if days is None else [("days", days)]
        query = urlencode([("people", people), *span, *(("attribute", name) for name in listed)])
        found = self._get(f"/guarantee?{query}")["bound"]
        return None if found is None else bound_from_json(found)

    def report(self, answers: Mapping[str, bool] | None = None, **options: Any) -> Report:
        """Return what is guaranteed and what has been used; for curators and auditors, free."""
        if answers or options:
            raise ParameterError("A service reports what its ledger knows; write report(), without answers or options.")
        place = f"/datasets/{quote(self.dataset)}/report"
        text, page = (self._line.file(f"{place}.{kind}").decode() for kind in ("txt", "html"))
        return Report(self._get("/report"), text, page)

    def evidence(self, about: Mapping[str, Any] | None = None, answers: Mapping[str, bool] | None = None) -> Package:
        """Return the evidence package for a reviewer; for curators and auditors, free."""
        if about or answers:
            raise ParameterError(
                "A service says what its ledger knows; save the package, and write what only you know into its "
                "deployment.yaml."
            )
        return Package(self._line.file(f"/datasets/{quote(self.dataset)}/evidence.zip"))

    def verify(self, head: str | None = None) -> Verification:
        """Have the ledger worked out again; for curators and auditors."""
        query = "" if head is None else f"?{urlencode({'head': head})}"
        _, found = self._post(f"/verify{query}")
        return Verification(found["rows"], found["reservations"], found["head"], tuple(found["problems"]))

    def share(self, part: Number) -> Bound:
        """Return this part of what the person limit has left now, as a spend."""
        return bound_from_json(self._get(f"/share?{urlencode({'part': str(part)})}")["spend"])

    def converse(
        self, domain: Sequence[str] | None = None, *, queries: int = 100_000, spend: Bound, **options: Any
    ) -> Any:
        """Open a conversation, or go on with the one of this `name`, from a `prior=`; as `Curator.converse` does."""
        name, prior = options.pop("name", None), options.pop("prior", None)
        self._me(options.pop("analyst", None))
        if options:
            raise ParameterError(f"A service takes no {min(options)}= for a conversation; leave it out.")
        body = {
            "columns": None if domain is None else list(domain),
            "queries": queries,
            "spend": require_bound(spend).to_json(),
            "prior": prior_json(prior),
        }
        key = name or new_key()[:16].hex()
        status, opened = self._post("/conversations", body, key)
        until = time.monotonic() + self._patience
        while status == 202 and opened["state"] != "waiting" and time.monotonic() < until:
            status, opened = self._post("/conversations", body, key)
        if status == 202:
            raise Waiting(f"{opened['said']} Open it later, with the same terms and name={key!r}.", key)
        for said in opened.get("cautions", ()):
            warn(said)
        return RemoteConversation(self, opened)

    def close(self) -> None:
        """Nothing is held open."""

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, repr=False)
class Report:
    """The report of a service's data set, as it was when it was fetched."""

    _record: Mapping[str, Any]
    _text: str
    _page: str

    def text(self) -> str:
        """Return the report for a terminal."""
        return self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return dict(self._record)

    def html(self) -> str:
        """Return the report as one self-contained HTML page."""
        return self._page

    def _repr_html_(self) -> str:
        return self._page


class Package:
    """The evidence package of a service's data set: the files that `Evidence.save` writes."""

    def __init__(self, packed: bytes) -> None:
        with ZipFile(BytesIO(packed)) as found:
            self.files = {name: found.read(name) for name in found.namelist()}

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON; exact numbers are text, and what is not known is null."""
        return dict(json.loads(self.files["deployment.json"]))

    def save(self, folder: str | Path) -> Path:
        """Write the package into a folder that is new or empty, and return its path."""
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ParameterError(f"{str(target)!r} exists already and is not empty; write the package to a new folder.")
        target.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (target / PurePosixPath(name).name).write_bytes(content)  # whatever a service calls it, it stays in there
        return target
