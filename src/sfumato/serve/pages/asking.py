"""Ask: a builder, a phrase or SQL; what it costs and how wrong it will be stands below before anything is paid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response
from starlette.requests import Request

from sfumato.errors import SfumatoError
from sfumato.noise import new_key
from sfumato.privacy import Approximate, Concentrated
from sfumato.serve.asked import Form, read_form
from sfumato.serve.desks import Desk
from sfumato.serve.doors import ASKERS, Door, desk_of, fields, jobs_of
from sfumato.serve.foresight import as_typed, curve, error_text, foresee
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import read_key
from sfumato.serve.pages import render
from sfumato.serve.pages.curve import curve_svg
from sfumato.serve.wire import told

router = APIRouter()
Asker = Annotated[Identity, Depends(Door(*ASKERS, page=True))]

WHATS = {
    "count": ("How many rows", False),
    "people": ("How many different people", False),
    "sum": ("The sum of", True),
    "mean": ("The mean of", True),
    "variance": ("The variance of", True),
    "median": ("The median of", True),
    "quantiles": ("The quartiles of", True),
    "histogram": ("How often each value occurs of", True),
    "distribution": ("The distribution of", True),
}
FIELDS = ("way", "what", "column", "by", "where", "phrase", "sql", "spend", "columns")


def quoted(name: str) -> str:
    """Return a name as it stands in a phrase: in quotes if it is more than a word, or a word of the phrase."""
    plain = name.isidentifier() and name.lower() not in ("from", "by", "with", "missing", "where", "of", "found")
    return name if plain else f'"{name}"'


def built(given: Mapping[str, str]) -> str:
    """Return the phrase that the fields of the builder mean."""
    what = given.get("what", "count")
    words = [what if what in WHATS else "count"]
    if WHATS[words[0]][1] and given.get("column"):
        words += ["of", quoted(given["column"])]
    if given.get("by"):
        words += ["by", quoted(given["by"])]
    if given.get("where", "").strip():
        words += ["where", given["where"].strip()]
    return " ".join(words)


def form_of(given: Mapping[str, str]) -> Form:
    """Return what the fields of the page ask."""
    way = given.get("way", "build")
    record: dict[str, Any] = {"spend": given.get("spend", "").strip()}
    if way == "sql":
        record["sql"] = given.get("sql", "").strip()
    else:
        record["phrase"] = given.get("phrase", "").strip() if way == "phrase" else built(given)
    return read_form(record)


def usual_spend(desk: Desk) -> str:
    """Return a spend to begin with, of the kind that the person limit is of."""
    bound = desk.front.ledger.budget.person
    if isinstance(bound, Approximate):
        return f"Approximate(0.1, {float(bound.delta) / 10:.0e})"
    return "Concentrated(0.005)" if isinstance(bound, Concentrated) else "Pure(0.1)"


def _facts(desk: Desk, who: Identity, given: Mapping[str, str], looked: bool) -> dict[str, Any]:
    """Return what stands below the form: cost, error and curve, or the sentence that says what is wrong."""
    facts: dict[str, Any] = {"foreseen": None, "wrong": "", "cost": "", "error": "", "curve": "", "phrase": ""}
    if not looked:
        return facts
    try:
        form = form_of(given)
        asked = desk.meant(form)
        found = foresee(desk, asked, who.name)
        facts |= {"foreseen": found, "cost": found.cost, "error": error_text(found)}
        facts["phrase"] = form.asked if form.way == "phrase" else ""
        if asked.spend is not None and (found.error or found.medians):
            here, what = as_typed(asked.spend), next(iter(found.medians), "")
            facts["curve"] = curve_svg(
                curve(desk, asked, who.name), here, lambda spend: _address(desk, given, spend), what
            )
    except SfumatoError as problem:
        facts["wrong"] = told(problem)
    return facts


def _address(desk: Desk, given: Mapping[str, str], spend: str) -> str:
    kept = {name: given[name] for name in FIELDS if given.get(name)}
    return f"/d/{desk.name}/ask?{urlencode({**kept, 'spend': spend})}"


@router.get("/d/{dataset}/ask")
def page(request: Request, who: Asker) -> Response:
    """Show the form, and below it what the question would cost."""
    desk, given = desk_of(request), dict(request.query_params)
    looked = any(given.get(name) for name in ("what", "phrase", "sql"))
    given.setdefault("spend", usual_spend(desk))
    if desk.several:
        given["way"] = "sql"
    names = list(desk.front.schema.names)
    return render(
        request,
        "ask.html",
        desk=desk,
        given={name: given.get(name, "") for name in FIELDS},
        whats=WHATS,
        names=names,
        key=new_key()[:16].hex(),
        **_facts(desk, who, given, looked),
    )


@router.post("/d/{dataset}/ask/foreseen")
def foreseen(request: Request, who: Asker) -> Response:
    """Show the part of the page that changes while somebody types; a POST, so that its form's token is in no URL."""
    desk = desk_of(request)
    return render(request, "foreseen.html", desk=desk, **_facts(desk, who, fields(request), True))


@router.post("/d/{dataset}/ask/look")
def look(request: Request, who: Asker) -> Response:
    """Go to the page that says what a question would cost, or to its rehearsal, with the question in the address."""
    desk, given = desk_of(request), fields(request)
    place = _address(desk, given, given.get("spend", ""))
    if given.get("then") == "rehearse":
        place = place.replace("/ask?", "/ask/rehearse?", 1)
    return RedirectResponse(place, 303)


@router.get("/d/{dataset}/ask/rehearse")
def rehearse(request: Request, who: Asker) -> Response:
    """Show the answer to a question on made-up rows; nothing is spent."""
    desk, given = desk_of(request), dict(request.query_params)
    asked = desk.meant(form_of(given))
    wrong, table = "", None
    if isinstance(asked.asked, list):
        wrong = "A statement or groups of quantiles are not rehearsed; their cost and error are on the page before."
    else:
        tables = desk.rehearse(asked).view().tables
        table = tables[0] if tables else None
        wrong = "" if table else "It comes out as a model or a rule, which has no table."
    back = _address(desk, given, given.get("spend", ""))
    return render(request, "rehearsed.html", desk=desk, table=table, wrong=wrong, back=back, asked=asked.form.text)


@router.post("/d/{dataset}/ask")
def ask(request: Request, who: Asker) -> Response:
    """Ask once: the same form sent twice is one question."""
    desk, given, jobs = desk_of(request), fields(request), jobs_of(request)
    job = jobs.submit(who, desk, form_of(given), read_key(given.get("key")))
    jobs.wait(job, 5)
    return RedirectResponse(f"/d/{desk.name}/answers/{job.id}", 303)


@router.get("/d/{dataset}/synthetic")
def synthetic(request: Request, who: Asker) -> Response:
    """Choose columns and a spend for made-up rows, and see what they cost."""
    desk, query = desk_of(request), request.query_params
    chosen = [name for name in query.getlist("columns") if name in desk.front.schema.names]
    spend = query.get("spend") or usual_spend(desk).replace("0.1", "1")
    facts: dict[str, Any] = {"foreseen": None, "wrong": "", "cost": "", "error": "", "curve": "", "phrase": ""}
    if chosen:
        phrase = synthesis(chosen)
        facts |= _facts(desk, who, {"way": "phrase", "phrase": phrase, "spend": spend}, True)
    names = list(desk.front.schema.names)
    return render(
        request,
        "synthetic.html",
        desk=desk,
        names=names,
        chosen=chosen,
        spend=spend,
        key=new_key()[:16].hex(),
        asked=synthesis(chosen) if chosen else "",
        **{name: value for name, value in facts.items() if name != "phrase"},
    )


def synthesis(columns: list[str]) -> str:
    """Return the phrase that asks for made-up rows of some columns."""
    return f"synthesize {', '.join(map(quoted, columns))}"
