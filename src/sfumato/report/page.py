"""The report as one self-contained HTML page: nothing is loaded from anywhere, and it prints."""

from __future__ import annotations

from html import escape
from math import inf
from typing import TYPE_CHECKING

from sfumato.exact import Infinity
from sfumato.exact.written import rounded
from sfumato.ledger.periods import used_said
from sfumato.ledger.wording import METER
from sfumato.privacy.explanation import percent
from sfumato.report.figures import NOTHING_KNOWN, Meaning, ReportLine
from sfumato.report.questionnaire import QUESTIONS, Level
from sfumato.report.releases import releases_table
from sfumato.report.text import (
    LITTLE,
    blocked_text,
    changed_text,
    end_of_chain,
    guarantee_table,
    headline,
    promises_little,
    readings,
    used_table,
    worst_table,
)
from sfumato.show import Drawing, Gauge, Line, Panel, gauges, picture, table

if TYPE_CHECKING:
    from sfumato.report.threat import ThreatReport

TITLE = "Privacy report"

_LABELS = {Level.BLOCK: "Blocked", Level.WARN: "Warning", Level.INFO: "Note", Level.OK: "Fine"}

STYLE = """
body{margin:0;background:#fff;color:#222;font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main.sfumato{max-width:62rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
.sfumato h1{font-size:1.9rem;margin:.2rem 0}.sfumato h2{font-size:1.25rem;margin:2.4rem 0 .5rem}
.sfumato p{margin:.4rem 0;max-width:48rem}.sfumato .quiet{color:#555;font-size:.92rem}
.sfumato .cards{display:flex;flex-wrap:wrap;gap:1rem;margin:1.2rem 0}
.sfumato .card{flex:1 1 19rem;border:1px solid #ccc;border-top:5px solid #0072b2;border-radius:.3rem;
padding:.9rem 1.1rem}
.sfumato .card h2{margin:0;font-size:1rem;color:#444;font-weight:600}
.sfumato .card .big{font-size:2rem;font-weight:650;line-height:1.25;margin:.2rem 0}
.sfumato .card dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .8rem;margin:.5rem 0 0;font-size:.92rem}
.sfumato .card dt{color:#555}.sfumato .card dd{margin:0;font-variant-numeric:tabular-nums}
.sfumato .blocked{border-top-color:#d55e00}
.sfumato ul.findings{list-style:none;padding:0;margin:.5rem 0}
.sfumato ul.findings li{border-left:5px solid #999;padding:.3rem .8rem;margin:.4rem 0;background:#f7f7f7}
.sfumato ul.findings b{display:inline-block;min-width:5.2rem}
.sfumato ul.findings li.block{border-left-color:#d55e00;background:#fdf1ea}
.sfumato ul.findings li.warn{border-left-color:#e69f00;background:#fdf7e8}
.sfumato ul.findings li.info{border-left-color:#0072b2;background:#eef6fb}
.sfumato ul.findings li.ok{border-left-color:#009e73;background:#ebf7f3}
.sfumato .scroll{overflow-x:auto}
.sfumato table{border-collapse:collapse;width:100%;font-size:.92rem}
.sfumato caption{text-align:left;color:#444;font-weight:600;padding:.3rem 0}
.sfumato th,.sfumato td{text-align:left;padding:.32rem .9rem .32rem 0;border-bottom:1px solid #ddd;vertical-align:top}
.sfumato thead th{border-bottom:2px solid #555}
.sfumato td.number{text-align:left;white-space:nowrap;font-variant-numeric:tabular-nums}
.sfumato figure{margin:.8rem 0}.sfumato svg{max-width:100%;height:auto}
.sfumato footer{margin-top:3rem;border-top:1px solid #ccc;padding-top:.6rem;color:#555;font-size:.85rem;
overflow-wrap:anywhere}
@media print{.sfumato .card,.sfumato figure,.sfumato table{break-inside:avoid}}
"""


def page(report: ThreatReport) -> str:
    """Return the whole page."""
    return whole_page(TITLE, body(report))


def whole_page(title: str, inside: str) -> str:
    """Return a page that loads nothing from anywhere."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title></head><body>{inside}</body></html>\n"
    )


def body(report: ThreatReport) -> str:
    """Return the report as one element, ready for a notebook or a page."""
    parts = [
        f"<style>{STYLE}</style><h1>{TITLE}</h1>",
        changed(report),
        paragraph("What the people in these data are promised, and what the answers so far have used of it."),
        _cards(report),
        *map(paragraph, report.units),
        "<h2>Can these figures be relied on?</h2>",
        _findings(report),
        "<h2>Guaranteed</h2>",
        paragraph(report.person.guarantee_text),
        scrolled(guarantee_table(report).html()),
        "<h2>Used so far</h2>",
        paragraph(report.person.spent_text or METER),
        *map(paragraph, used_said(report.periods)),
        _limits(report),
        scrolled(used_table(report).html()),
        _worst(report),
        _odometer(report),
        _releases(report),
        "<h2>How to read it</h2>",
        *map(paragraph, readings(report)),
        "<h2>Questions and answers</h2>",
        scrolled(_questionnaire(report)),
        f"<footer>Ledger: {escape(report.place)}<br>End of its chain: {escape(end_of_chain(report))}</footer>",
    ]
    return f'<main class="sfumato">{"".join(parts)}</main>'


def changed(report: ThreatReport) -> str:
    """Return what is wrong with the ledger, as a box; nothing where it verifies."""
    said = changed_text(report)
    return f'<ul class="findings" role="alert"><li class="block">{escape(said)}</li></ul>' if said else ""


def paragraph(said: str, kind: str = "") -> str:
    """Return a paragraph."""
    return f'<p class="{kind}">{escape(said)}</p>' if kind else f"<p>{escape(said)}</p>"


def scrolled(inside: str) -> str:
    """Return a box that scrolls where its table is wider than the window."""
    # Focusable, so that a keyboard can scroll a table that is wider than the window.
    return f'<div class="scroll" tabindex="0">{inside}</div>'


def _cards(report: ThreatReport) -> str:
    cards = [_card(row) for row in report.headline]
    if report.blocked_by:
        said = paragraph(blocked_text(report))
        cards.append(f'<section class="card blocked"><h2>Per attribute</h2>{said}</section>')
    return f'<div class="cards">{"".join(cards)}</div>'


def _card(row: ReportLine) -> str:
    title = "For a person" if row.whole else f"For the worst attribute: {row.subject}"
    if row.guaranteed is None or row.promise is None:
        return f'<section class="card"><h2>{escape(title)}</h2>{paragraph(headline(row))}</section>'
    part = "" if row.limit == row.guaranteed else f" of {row.limit!s}"
    meter = NOTHING_KNOWN if row.used is None else f"epsilon {row.used.figure}, of no limit of its own"
    used = meter if row.percent is None else f"{row.percent} %{part} so far"
    facts = [("Guaranteed", str(row.guaranteed)), *_meanings(row.promise), ("Used", used)]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    guessed = "whether they are in the data" if row.presence else "a yes-or-no fact"
    said = paragraph(f"at most: how often a 50:50 guess at {guessed} is right", "quiet")
    said += paragraph(LITTLE, "quiet") if promises_little(row) else ""
    return (
        f'<section class="card"><h2>{escape(title)}</h2>'
        f'<p class="big">{escape(percent(row.promise.guess))}</p>{said}<dl>{listed}</dl></section>'
    )


def _meanings(promise: Meaning) -> list[tuple[str, str]]:
    belief = NOTHING_KNOWN if promise.belief is None else f"at most {percent(promise.belief)}"
    return [
        ("Epsilon", promise.figure),
        ("Belief moves", belief),
        ("Revealed", _revealed(promise)),
    ]


def _revealed(promise: Meaning) -> str:
    if isinstance(promise.nats, Infinity):
        return NOTHING_KNOWN
    return f"at most {rounded(promise.bits, up=True)} bits ({rounded(promise.nats, up=True)} nats)"


def _findings(report: ThreatReport) -> str:
    if not report.findings:
        return paragraph("All questions were answered, and no answer limits what the figures mean.")
    lines = "".join(
        f'<li class="{found.level.value}"><b>{_LABELS[found.level]}</b> {escape(found.text)}</li>'
        for found in sorted(report.findings, key=lambda found: list(Level).index(found.level))
    )
    return f'<ul class="findings">{lines}</ul>'


def _limits(report: ThreatReport) -> str:
    chart = _limits_chart(report)
    return "" if chart is None else chart.html()


def _worst(report: ThreatReport) -> str:
    if report.blocked_by or not report.worst:
        return ""
    chart = _worst_chart(report)
    drawn = "" if chart is None else chart.html()
    said = "An adversary may be after something that several attributes show together. Linked columns count as one."
    return f"<h2>Several attributes together</h2>{paragraph(said)}{drawn}{scrolled(worst_table(report).html())}"


def _releases(report: ThreatReport) -> str:
    if not report.releases:
        return ""
    listed = releases_table(report.releases, attributes=not report.blocked_by)
    return f"<h2>What was asked</h2>{scrolled(listed.html())}"


def _odometer(report: ThreatReport) -> str:
    return "" if report.odometer is None else f"<h2>This run</h2>{paragraph(report.odometer)}"


def _questionnaire(report: ThreatReport) -> str:
    words = {True: "yes", False: "no", None: "not answered"}
    rows = [[question.text, words[report.answers.get(question.name)]] for question in QUESTIONS]
    return table("Only somebody who knows the data can answer these", ["question", "answer"], rows).html()


def _limits_chart(report: ThreatReport) -> Drawing | None:
    """Return bars of what is used of each limit, None if no line has a limit of its own."""
    rows = [
        Gauge(row.subject, row.percent, f"{row.percent} % of {row.limit!s}")
        for row in report.rows
        if row.percent is not None and row.guaranteed is not None
    ]
    return gauges("How much of each limit is used", rows) if rows else None


def _worst_chart(report: ThreatReport) -> Drawing | None:
    """Return the largest epsilon of any k attributes, guaranteed and used, None if nothing finite is known."""
    sizes = [float(worst.size) for worst in report.worst]
    promised = [_height(worst.promise) for worst in report.worst]
    used = [_height(worst.used) for worst in report.worst]
    if len(sizes) < 2 or not any(height < inf for height in (*promised, *used)):
        return None
    lines = (
        Line("guaranteed: the limits", sizes, promised, "claim"),
        Line("used so far: a meter", sizes, used, "measure"),
    )
    panel = Panel("k: attributes together", "largest epsilon of any k", lines, whole_x=True)
    return picture("The worst k attributes", [panel])


def _height(meaning: Meaning | None) -> float:
    if meaning is None or isinstance(meaning.epsilon, Infinity):
        return inf
    return float(meaning.epsilon)
