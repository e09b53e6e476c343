"""An answer with its picture, table, interval, files and citation; and the history of all of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response
from starlette.requests import Request

from sfumato.serve.doors import ASKERS, Door, desk_of, job_of, jobs_of
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import SAID
from sfumato.serve.pages import render
from sfumato.serve.shown import shown

router = APIRouter()
Asker = Annotated[Identity, Depends(Door(*ASKERS, page=True))]
PREVIEWED = 10


@router.get("/d/{dataset}/answers/{job}")
def one(request: Request, who: Asker, job: str) -> Response:
    """Show an answer, or where the question stands."""
    desk, found = desk_of(request), job_of(request, who, job)
    if found.state != "stored":
        progress = jobs_of(request).progress(found)
        said = found.said or progress.said or SAID.get(found.state, "")
        return render(request, "waiting.html", desk=desk, job=found, said=said, progress=progress)
    answer = shown(desk, found, who)
    facts: dict[str, Any] = {"table": None, "more": "", "made_up": None}
    frame = answer.frame
    if frame is not None:
        few, facts["more"] = frame.shown()
        facts["table"] = few.table()
    elif answer.is_model:
        rows = answer.answer.value.sample(PREVIEWED)
        facts["made_up"] = (rows.column_names, [list(row.values()) for row in rows.to_pylist()])
    view = answer.answer.view()
    return render(
        request,
        "answer.html",
        desk=desk,
        job=found,
        shown=answer,
        view=view,
        picture=answer.has_picture(),
        citation=answer.citation(desk.front.ledger),
        **facts,
    )


@router.post("/d/{dataset}/answers/{job}/cancel")
def cancel(request: Request, who: Asker, job: str) -> Response:
    """Cancel a question that nothing was drawn for yet."""
    found = job_of(request, who, job)
    if not found.ended:
        jobs_of(request).cancel(found)
    return RedirectResponse(f"/d/{found.dataset}/answers/{found.id}", 303)


@router.get("/d/{dataset}/history")
def history(request: Request, who: Asker) -> Response:
    """Show one's own questions; a curator sees everybody's."""
    desk = desk_of(request)
    jobs = jobs_of(request).listed(desk.name, None if who.role == "curator" else who.name)
    return render(request, "history.html", desk=desk, jobs=jobs)
