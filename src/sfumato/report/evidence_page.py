"""The evidence package as one self-contained HTML page, to read and to print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from sfumato.report.evidence import ABOUT, COMPOSITION
from sfumato.report.page import STYLE, changed, paragraph, scrolled, whole_page
from sfumato.report.releases import releases_table
from sfumato.report.review import neighbours_said
from sfumato.report.text import end_of_chain, guarantee_table, headline, used_so_far
from sfumato.show import table

if TYPE_CHECKING:
    from sfumato.report.evidence import Evidence

TITLE = "Evidence of privacy"
OPEN = "to be filled in"


def evidence_page(evidence: Evidence) -> str:
    """Return the whole page."""
    report, checked = evidence.report, evidence.verification
    verified = f"The chain of {checked.rows} rows, the charges and the sums were worked out again: nothing is wrong."
    told = [[name.replace("_", " "), _text(evidence.about.get(name)), said] for name, said in ABOUT.items()]
    parts = [
        f"<style>{STYLE}</style><h1>{TITLE}</h1>",
        changed(report),
        paragraph(headline(report.person)),
        *map(paragraph, report.units),
        paragraph(verified) if checked.ok else "",
        "<h2>The deployment</h2>",
        scrolled(table("Said by the people responsible", ["what", "answer", "is"], told).html()),
        "<h2>The guarantee</h2>",
        paragraph(f"{evidence.kind}. The unit is {evidence.unit}; {neighbours_said(evidence)}."),
        paragraph(report.person.guarantee_text),
        scrolled(guarantee_table(report).html()),
        "<h2>Accounting</h2>",
        paragraph(COMPOSITION),
        *map(paragraph, used_so_far(report)),
        "<h2>Mechanisms</h2>",
        scrolled(_mechanisms(evidence)),
        "<h2>Data</h2>",
        *[paragraph(said) for said in _data(evidence)],
        "<h2>Releases</h2>",
        scrolled(releases_table(report.releases, attributes=not report.blocked_by).html()) if report.releases else "",
        "" if report.releases else paragraph("Nothing was released yet."),
        "<h2>Questions of a review</h2>",
        paragraph("After NIST SP 800-226. Each level rests on those below it.", "quiet"),
        scrolled(_questions(evidence)),
        f"<footer>Ledger: {escape(report.place)}<br>End of its chain: {escape(end_of_chain(report))}</footer>",
    ]
    return whole_page(TITLE, f'<main class="sfumato">{"".join(parts)}</main>')


def _mechanisms(evidence: Evidence) -> str:
    rows = [
        [str(one["name"]), _law(one.get("law")), str(one["specification"]), str(one["releases"])]
        for one in evidence.mechanisms
    ]
    return table("What ran, and on how many releases", ["mechanism", "noise", "specification", "releases"], rows).html()


def _law(law: Any) -> str:
    if not isinstance(law, dict):
        return "–"
    settings = ", ".join(f"{name} {value}" for name, value in law.items() if name != "name")
    return f"{law.get('name', '')} ({settings})" if settings else str(law.get("name", ""))


def _data(evidence: Evidence) -> list[str]:
    said = [f"Fingerprint of the schema: {evidence.schema or 'none'}."]
    if evidence.attributes:
        said.append(f"Attributes with figures of their own: {', '.join(evidence.attributes)}.")
    return [*said, *evidence.rules]


def _questions(evidence: Evidence) -> str:
    rows: Sequence[Sequence[str]] = [[one.topic, one.question, _text(one.answer), one.by] for one in evidence.questions]
    return table("Questions and answers", ["about", "question", "answer", "answered by"], rows).html()


def _text(value: Any) -> str:
    return OPEN if value is None else str(value)
