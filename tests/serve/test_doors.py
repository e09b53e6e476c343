"""Every route × role × data set: denied by default, and the table of who may do what is written down here once."""

from __future__ import annotations

import pytest
from fastapi import APIRouter, FastAPI

from sfumato.serve.doors import Door, Open, add_routes, every_route
from tests.serve.houses import Site

ASK = {"curator", "analyst"}
WATCH = {"curator", "auditor"}
CURATOR = {"curator"}
ALL = {"curator", "analyst", "auditor"}
OPEN = None
ROLES = {
    "GET /health": OPEN,
    "GET /ready": OPEN,
    "GET /metrics": WATCH,
    "GET /api": OPEN,
    "GET /api/openapi.json": OPEN,
    "GET /api/me": ALL,
    "GET /api/datasets": ALL,
    "GET /api/datasets/{dataset}": ALL,
    "GET /api/datasets/{dataset}/schema": ALL,
    "GET /api/datasets/{dataset}/limits": ALL,
    "GET /api/datasets/{dataset}/guarantee": ALL,
    "GET /api/datasets/{dataset}/share": ALL,
    "POST /api/datasets/{dataset}/preview": ASK,
    "POST /api/datasets/{dataset}/curve": ASK,
    "POST /api/datasets/{dataset}/explain": ASK,
    "POST /api/datasets/{dataset}/largest": ASK,
    "POST /api/datasets/{dataset}/rehearse": ASK,
    "POST /api/datasets/{dataset}/ask": ASK,
    "POST /api/datasets/{dataset}/conversations/preview": ASK,
    "POST /api/datasets/{dataset}/conversations": ASK,
    "GET /api/datasets/{dataset}/conversations": ASK,
    "POST /api/datasets/{dataset}/conversations/{key}": ASK,
    "GET /api/datasets/{dataset}/conversations/{key}": ASK,
    "POST /api/datasets/{dataset}/conversations/{key}/cancel": ASK,
    "POST /api/datasets/{dataset}/conversations/{key}/learn": ASK,
    "GET /api/datasets/{dataset}/conversations/{key}/file.{kind}": ASK,
    "GET /api/datasets/{dataset}/jobs/{job}": ASK,
    "POST /api/datasets/{dataset}/jobs/{job}/cancel": ASK,
    "GET /api/datasets/{dataset}/jobs/{job}/events": ASK,
    "GET /api/datasets/{dataset}/answers": ASK,
    "GET /api/datasets/{dataset}/answers/{job}": ASK,
    "GET /api/datasets/{dataset}/answers/{job}/file.{kind}": ASK,
    "GET /api/datasets/{dataset}/ledger": WATCH,
    "POST /api/datasets/{dataset}/verify": WATCH,
    "GET /api/datasets/{dataset}/report": WATCH,
    "GET /api/datasets/{dataset}/report.html": WATCH,
    "GET /api/datasets/{dataset}/report.txt": WATCH,
    "GET /api/datasets/{dataset}/evidence.zip": WATCH,
    "GET /api/datasets/{dataset}/approvals": CURATOR,
    "POST /api/datasets/{dataset}/approvals/{job}": CURATOR,
    "POST /api/datasets/{dataset}/quotas/{name}": CURATOR,
    "GET /api/people": CURATOR,
    "POST /api/people": CURATOR,
    "POST /api/people/{name}/tokens": CURATOR,
    "POST /api/people/{name}/revoke": CURATOR,
    "GET /api/publications": ALL,
    "GET /api/publications/{publication}": ALL,
    "GET /api/publications/{publication}/files/{path:path}": ALL,
    "POST /api/publications/{publication}/verify": WATCH,
    "GET /publications": ALL,
    "GET /publications/{publication}": ALL,
    "POST /publications/{publication}/verify": WATCH,
    "GET /sign-in": OPEN,
    "POST /sign-in": OPEN,
    "POST /sign-out": ALL,
    "GET /": ALL,
    "GET /d/{dataset}": ALL,
    "GET /d/{dataset}/ask": ASK,
    "POST /d/{dataset}/ask/foreseen": ASK,
    "POST /d/{dataset}/ask/look": ASK,
    "GET /d/{dataset}/ask/rehearse": ASK,
    "POST /d/{dataset}/ask": ASK,
    "GET /d/{dataset}/synthetic": ASK,
    "GET /d/{dataset}/conversations": ASK,
    "POST /d/{dataset}/conversations": ASK,
    "GET /d/{dataset}/conversations/{key}": ASK,
    "POST /d/{dataset}/conversations/{key}": ASK,
    "POST /d/{dataset}/conversations/{key}/open": ASK,
    "POST /d/{dataset}/conversations/{key}/cancel": ASK,
    "GET /d/{dataset}/answers/{job}": ASK,
    "POST /d/{dataset}/answers/{job}/cancel": ASK,
    "GET /d/{dataset}/history": ASK,
    "GET /d/{dataset}/desk": CURATOR,
    "POST /d/{dataset}/desk/{job}": CURATOR,
    "POST /d/{dataset}/quotas": CURATOR,
    "GET /people": CURATOR,
    "POST /people": CURATOR,
    "POST /people/{name}/tokens": CURATOR,
    "POST /people/{name}/revoke": CURATOR,
    "GET /d/{dataset}/audit": WATCH,
    "POST /d/{dataset}/audit": WATCH,
}
STRANGERS = ("bea", "oda")
"""They see the second data set only."""
WHO = {"ana": "analyst", "otto": "auditor", "cora": "curator"}


def routes(site: Site) -> list[tuple[str, str]]:
    return [(method, route.path) for route, _ in every_route(site.client.app) for method in sorted(route.methods or ())]


def test_every_route_stands_in_the_table_and_nothing_else_does(site):
    assert sorted(f"{method} {path}" for method, path in routes(site)) == sorted(ROLES)


def test_the_doors_are_those_of_the_table(site):
    for route, door in every_route(site.client.app):
        for method in route.methods or ():
            wanted = ROLES[f"{method} {route.path}"]
            assert isinstance(door, Open) if wanted is OPEN else set(door.roles) == wanted, route.path


def filled(path: str, dataset: str) -> str:
    plain = path.replace("{path:path}", "none.csv")
    return plain.format(dataset=dataset, job="0" * 32, kind="csv", name="nobody", key="none", publication="none")


def test_who_may_do_what_and_where(site):
    """Requests with empty bodies: what is let in fails later (404, 422), what is not is refused at the door."""
    seen = set()
    for method, path in routes(site):
        wanted = ROLES[f"{method} {path}"]
        is_page = not path.startswith(("/api", "/metrics", "/health", "/ready"))
        if wanted is OPEN or (is_page and method == "POST"):
            continue  # pages take no token for changes: see below
        for who, role in WHO.items():
            status = site.call(who, method, filled(path, "first")).status_code
            assert (status == 403) == (role not in wanted), (method, path, who, status)
            assert status not in (401, 500), (method, path, who, status)
            seen.add((path, role, status))
        if "{dataset}" in path:
            for who in STRANGERS:
                assert site.call(who, method, filled(path, "first")).status_code in (403, 404), (path, who)
            assert site.call("ana", method, filled(path, "nowhere")).status_code in (403, 404)
        nobody = site.call(None, method, filled(path, "first"), follow_redirects=False)
        assert nobody.status_code == (303 if is_page else 401), (method, path)
        bad = {"Authorization": "Bearer sfm_0000000000000000_" + "0" * 64}
        bad_status = site.client.request(method, filled(path, "first"), headers=bad, follow_redirects=False).status_code
        assert bad_status == (303 if is_page else 401)
    assert len(seen) > 80


def test_who_is_refused_is_told_which_roles_may(site):
    said = site.call("otto", "POST", "/api/datasets/first/ask").json()["detail"]
    assert said == "Your role does not do this; a curator or an analyst of this data set does."
    said = site.call("ana", "GET", "/api/datasets/first/ledger").json()["detail"]
    assert said == "Your role does not do this; a curator or an auditor of this data set does."
    assert site.call("ana", "GET", "/api/people").json()["detail"] == "Your role does not do this; a curator does."


def test_a_data_set_that_is_not_yours_looks_like_one_that_is_not_there(site):
    real, made_up = site.get("ana", "/api/datasets/second"), site.get("ana", "/api/datasets/nowhere")
    assert real.status_code == made_up.status_code == 404 and real.json() == made_up.json()
    assert [one["name"] for one in site.get("ana", "/api/datasets").json()] == ["first"]
    assert [one["name"] for one in site.get("carla", "/api/datasets").json()] == ["first", "second"]


def test_forms_without_their_field_are_refused_and_cookies_do_not_change_anything_at_the_interface(site):
    browser = site.browser("cora")
    for method, path in routes(site):
        if method == "POST" and path not in ("/sign-in", "/sign-out"):
            for fields in ({}, {"form_token": "0" * 64}):
                status = browser.client.post(filled(path, "first"), data=fields).status_code
                assert status == 403, (path, status)
    assert browser.client.get("/api/me").status_code == 200  # reading with a cookie is fine: downloads are links


def test_one_analyst_does_not_see_what_another_asked(site):
    job = site.ask("ana", "count where age > 50", "Pure(0.1)").json()["job"]
    assert site.get("ben", f"/api/datasets/first/answers/{job}").status_code == 404
    assert site.get("cora", f"/api/datasets/first/answers/{job}").status_code == 200
    assert site.get("carla", f"/api/datasets/second/answers/{job}").status_code == 404
    assert job not in str(site.get("ben", "/api/datasets/first/answers").json())
    mine = site.get("ana", f"/api/datasets/first/answers/{job}").json()["answers"][0]["remaining"]
    assert "ana: person" in mine and not any(name.startswith("ben") for name in mine)


def test_a_curator_of_one_data_set_decides_about_its_people_only(site):
    names = {one["name"] for one in site.get("cora", "/api/people").json()}
    assert names == {"cora", "ana", "ben", "otto"}
    assert site.post("cora", "/api/people/bea/revoke").status_code == 404
    assert site.post("cora", "/api/people/carla/tokens").status_code == 404
    for datasets in (["second"], ["*"], ["first", "second"], []):
        body = {"name": "x1", "role": "curator", "datasets": datasets}
        assert site.post("cora", "/api/people", body).status_code in (404, 422)
    assert site.post("cora", "/api/people", {"name": "x2", "role": "analyst", "datasets": ["first"]}).status_code == 200


def test_a_service_with_a_route_without_a_door_does_not_start():
    app, router = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), APIRouter()

    @router.get("/open")
    def nothing() -> str:
        return ""

    add_routes(app, router)
    with pytest.raises(RuntimeError, match="0 doors"):
        list(every_route(app))
    with_router = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    with_router.include_router(router)
    with pytest.raises(RuntimeError, match=r"no route with a door|0 doors"):
        list(every_route(with_router))


def test_doors_are_for_known_roles():
    assert Door().roles == ("curator", "analyst", "auditor")
