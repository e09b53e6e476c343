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
from sfumato.serve.asked import Form, Meant, read_form
from sfumato.serve.desks import Desk
from sfumato.serve.doors import ASKERS, Door, desk_of, fields, jobs_of
from sfumato.serve.foresight import Foreseen, curve, error_text, foresee
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import read_key
from sfumato.serve.pages import render
from sfumato.serve.pages.curve import curve_svg, slid, slider_of
from sfumato.serve.pages.ways import PARTS, WAYS, WHATS, built, examples, in_all_ways, quoted
from sfumato.serve.wire import told

router = APIRouter()
Asker = Annotated[Identity, Depends(Door(*ASKERS, page=True))]

FIELDS = ("way", *PARTS, "phrase", "sql", "spend", "base", "columns")


def form_of(given: Mapping[str, str]) -> Form:
    """Return what the fields of the page ask."""
    way = given.get("way", "build")
    record: dict[str, Any] = {"spend": given.get("spend", "").strip()}
    if way == "sql":
        record["sql"] = given.get("sql", "").strip()
    else:
        record["phrase"] = given.get("phrase", "").strip() if way == "phrase" else built(given).phrase()
    return read_form(record)


def usual_spend(desk: Desk) -> str:
    """Return a spend to begin with, of the kind that the person limit is of."""
    bound = desk.front.ledger.budget.person
    if isinstance(bound, Approximate):
        return f"Approximate(0.1, {float(bound.delta) / 10:.0e})"
    return "Concentrated(0.005)" if isinstance(bound, Concentrated) else "Pure(0.1)"


NOTHING: dict[str, Any] = {
    "foreseen": None,
    "wrong": "",
    "cost": "",
    "error": "",
    "curve": "",
    "slider": None,
    "others": [],
}
"""What stands below the form before anything was looked at."""


def _facts(desk: Desk, who: Identity, given: Mapping[str, str], looked: bool) -> dict[str, Any]:
    """Return what stands below the form: cost, error and curve, or the sentence that says what is wrong."""
    facts = dict(NOTHING)
    if not looked:
        return facts
    try:
        asked = desk.meant(form_of(given))
        found = foresee(desk, asked, who.name)
        facts |= {"foreseen": found, "cost": found.cost, "error": error_text(found), "others": _others(desk, given)}
        if asked.spend is not None and (found.error or found.medians):
            facts |= _drawn(desk, who, given, asked, found)
    except SfumatoError as problem:
        facts["wrong"] = told(problem)
    return facts


def _drawn(desk: Desk, who: Identity, given: Mapping[str, str], asked: Meant, found: Foreseen) -> dict[str, Any]:
    """Return the curve of error against spend, and the slider that lies below it."""
    assert asked.spend is not None
    slider = slider_of(given.get("base", ""), asked.spend)
    points = curve(desk, asked, who.name, slider.base)
    what, size = next(iter(found.medians.items()), ("", None if found.error is None else found.error.size))
    here = None if size is None else (slider.step, size)
    drawn = curve_svg(points, here, lambda spend: _address(desk, {**given, "base": ""}, spend), what)
    return {"curve": drawn, "slider": slider if drawn else None}


def _others(desk: Desk, given: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is asked as the other ways say it, beside the name of each."""
    said = in_all_ways(desk, given)
    texts = {"phrase": "As a phrase", "sql": "In SQL"}
    found = [(label, said[way][way]) for way, label in texts.items() if way in said and said[way].get(way)]
    if given.get("way") in ("phrase", "sql"):
        found = [(label, text) for label, text in found if text != given.get(given["way"], "").strip()]
        if "build" in said:
            found.insert(0, ("In the builder", built(said["build"]).told()))
    return found


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
    return render(
        request,
        "ask.html",
        desk=desk,
        given={name: given.get(name, "") for name in FIELDS},
        whats=WHATS,
        ways=WAYS,
        lost=WAYS.get(given.get("lost", ""), ""),
        names=list(desk.front.schema.names),
        examples=examples(desk),
        key=new_key()[:16].hex(),
        live=False,
        **_facts(desk, who, given, looked),
    )


@router.post("/d/{dataset}/ask/foreseen")
def foreseen(request: Request, who: Asker) -> Response:
    """Show the part of the page that changes while somebody types; a POST, so that its form's token is in no URL."""
    desk, given = desk_of(request), fields(request)
    facts = _facts(desk, who, given, True)
    slider = facts["slider"]
    # A slider that somebody holds is left alone; it is made anew when it lies below other spends.
    stays = given.get("base", "") == ("" if slider is None else slider.text)
    return render(request, "live.html", desk=desk, live=True, stays=stays, **facts)


@router.post("/d/{dataset}/ask/look")
def look(request: Request, who: Asker) -> Response:
    """Go to the page that says what a question would cost, to its rehearsal, or to another way of saying it.

    The question stands in the address.
    """
    desk, given = desk_of(request), fields(request)
    given = {**given, "spend": slid(given)}
    if given.get("go") in WAYS:
        return RedirectResponse(_other_way(desk, given, given["go"]), 303)
    place = _address(desk, given, given["spend"])
    if given.get("then") == "rehearse":
        place = place.replace("/ask?", "/ask/rehearse?", 1)
    return RedirectResponse(place, 303)


def _other_way(desk: Desk, given: Mapping[str, str], way: str) -> str:
    """Return the address of the same question said in another way, or of that way's empty form if it cannot be."""
    said = in_all_ways(desk, given)
    own = given.get("way") or "build"
    kept = {name: given[name] for name in ("spend", "base") if given.get(name)}
    lost = {"lost": own} if way not in said and said.get(own) else {}
    return f"/d/{desk.name}/ask?{urlencode({'way': way, **said.get(way, {}), **kept, **lost})}"


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
    facts = _facts(desk, who, {"way": "phrase", "phrase": synthesis(chosen), "spend": spend}, bool(chosen))
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
        live=False,
        **{**facts, "slider": None, "others": []},
    )


def synthesis(columns: list[str]) -> str:
    """Return the phrase that asks for made-up rows of some columns."""
    return f"synthesize {', '.join(map(quoted, columns))}"
