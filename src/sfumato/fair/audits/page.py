"""The audit as one self-contained HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.fair.audits.findings import LIPSCHITZ
from sfumato.fair.grid import Floats
from sfumato.show import Line, Panel, Picture, html, picture, table
from sfumato.show.pages import Shown
from sfumato.show.tables import Table

if TYPE_CHECKING:
    from sfumato.fair.audits.group_report import GroupReport
    from sfumato.fair.audits.report import AuditReport

BINS = 40
SHOWN_PAIRS = 8
_STYLE = (
    "body{margin:2rem auto;max-width:66rem;padding:0 1rem;background:#fff}"
    ".sfumato h3{font-size:1.5rem;margin:0 0 .6rem}.sfumato h4{margin:1.6rem 0 .2rem;font-size:1.1rem}"
    ".sfumato .lead{border-left:4px solid #0072b2;padding:.4rem .9rem;background:#f4f8fb;margin:.4rem 0}"
    ".sfumato .loud{border:2px solid #d55e00;background:#d55e00;color:#fff;font-weight:bold;padding:.5rem .9rem}"
    ".sfumato .raised{border-left-color:#d55e00;background:#fdf5f0}.sfumato .quiet{color:#555;margin:.2rem 0}"
    ".sfumato .grid{display:grid;grid-template-columns:1fr 1fr;gap:0 2.5rem;align-items:start}"
    ".sfumato .grid>div{border-top:2px solid #333;margin-top:1rem}.sfumato table{width:100%}"
    ".sfumato td:first-child{white-space:nowrap;padding-right:1rem}.sfumato caption{display:none}"
)


@dataclass(frozen=True)
class Words:
    """A heading or a paragraph."""

    text: str
    kind: str = "quiet"

    def html(self) -> str:
        """Return the element."""
        if self.kind == "heading":
            return f"<h4>{escape(self.text)}</h4>"
        return f'<p class="{self.kind}">{escape(self.text)}</p>'


def page(report: AuditReport) -> str:
    """Return the whole page."""
    first, second = report.groups
    title = f"Fairness audit: {first} and {second}"
    parts: list[Shown] = [Words(_warning(report), "loud"), *_lead(report)]
    parts += [Words(f"Warning: {caution}", "lead raised") for caution in report.warned()]
    for shown in report.by_group.tables():
        parts += [Words(shown.title, "heading"), shown]
    groups = report.by_group
    parts += [
        Words(said)
        for said in (groups.counted(), groups.pending(), groups.unknown(), groups.labelled(), groups.together())
        if said
    ]
    parts += [Words("Figures", "heading"), Words(report.verdict(), "lead"), report.figures()]
    parts += [
        Words("Nine checks", "heading"),
        Words(
            f"A check is raised if it is significant after control of all of them (Benjamini and Hochberg at "
            f"{report.alpha:g}) and its effect is larger than tolerated. {report.asked()}"
        ),
        report.summary(),
    ]
    if report.lipschitz is not None:
        parts += [
            Words("Are similar people treated similarly?", "heading"),
            Words(_ratio_words(report)),
            ratio_picture(report),
        ]
        parts += _pairs(report)
    if report.bias is not None:
        parts += [Words("What the metric allows, and what it would take", "heading"), Words(_bias_words(report))]
        parts.append(bias_picture(report))
    return _whole(title, parts)


def groups_page(report: GroupReport) -> str:
    """Return the comparison of groups as a whole page."""
    kind = "lead" if report.ok and not report.differs else "lead raised"
    about = ", ".join(part for part in (report.source, report.period, report.private) if part)
    loud = "" if report.private else "Not differentially private: do not publish this page about private data."
    lead = [(about, "quiet"), (loud, "loud"), (report.headline(), kind), (report.lowest_together(), kind)]
    parts: list[Shown] = [Words(said, one) for said, one in lead if said]
    parts += [Words(f"Warning: {caution}", "lead raised") for caution in report.cautions]
    calibration = report.calibration()
    for shown in [*report.tables(), *([] if calibration is None else [calibration])]:
        parts += [Words(shown.title, "heading"), shown]
    verdict = report.calibration_verdict
    said = [report.counted(), "" if verdict is None else verdict.sentence(), report.pending(), report.unknown()]
    said += [report.labelled(), report.tallied.alike(), report.together() if report.comparisons else ""]
    parts += [Words(one) for one in said if one]
    return _whole("Decisions by group", parts)


def _whole(title: str, parts: list[Shown]) -> str:
    body = html(title, parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _warning(report: AuditReport) -> str:
    shown = (
        " It shows single people: the worst pairs, with all that the file says of them." if report.worst_pairs else ""
    )
    return f"Not differentially private: do not publish this page, or send it on, about private data.{shown}"


def _lead(report: AuditReport) -> list[Words]:
    kind = "lead" if report.ok and not report.by_group.differs else "lead raised"
    out = [Words(report.headline(), kind)]
    if not report.begins_with_groups:
        out.append(Words(report.by_group.headline(), kind if report.by_group.raised else "lead"))
    if LIPSCHITZ in report.raised and report.lipschitz is not None:
        share = report.lipschitz.violating
        out.append(
            Words(
                f"Similar people are treated differently: {share:.2%} of all pairs, more than their distance allows.",
                kind,
            )
        )
    return out


def _ratio_words(report: AuditReport) -> str:
    assert report.lipschitz is not None
    if report.only_decisions:
        return (
            "Only realised decisions are known, so nobody's probabilities are. What follows compares the share of good "
            f"decisions among each person's neighbours; it is an estimate, not a certificate. {report.hard()}"
        )
    return (
        f"Right of 1, two people are treated more differently than they are. Looked at: {report.lipschitz.coverage} "
        f"({report.lipschitz.pairs}); the picture shows {len(report.lipschitz.ratios)} random ones."
    )


def ratio_picture(report: AuditReport) -> Picture:
    """Return the distribution of difference over distance, and everybody's most unfair comparison."""
    assert report.lipschitz is not None
    ratios = np.minimum(report.lipschitz.ratios, 4.0)
    x, y = _steps(ratios, 0.0, 4.0)
    worst = np.clip(report.lipschitz.excess, -1.0, 1.0)
    u, v = _steps(worst[np.isfinite(worst)], -1.0, 1.0)
    return picture(
        "How differently people are treated, against how different they are",
        [
            Panel("difference ÷ distance (4 and more at the end)", "share of pairs",
                  (Line("random pairs", x, y), Line("limit", [1, 1], [0, max(y) or 1], "other"))),
            Panel("treated more differently than allowed by", "share of people",
                  (Line("each person's worst pair", u, v), Line("limit", [0, 0], [0, max(v) or 1], "other"))),
        ],
    )  # fmt: skip


def bias_picture(report: AuditReport) -> Picture:
    """Return the most biased fair score in both groups, and how far mass must move between them."""
    assert report.bias is not None
    bias = report.bias
    giver, taker = set(bias.transport.giver.tolist()), set(bias.transport.taker.tolist())
    score = {
        int(person): value for person, value in zip(bias.transport.members.tolist(), bias.witness.tolist(), strict=True)
    }
    lines = []
    for members, name, style in ((giver, report.groups[0], "measure"), (taker, report.groups[1], "other")):
        x, y = _steps(np.array([score[person] for person in members] or [0.0]), 0.0, 1.0)
        lines.append(Line(name, x, y, style))
    way = _ways(report)
    order = np.argsort(way)
    far, mass = way[order], np.cumsum(bias.transport.amount[order])
    return picture(
        f"The most biased fair score, and the earthmover plan (cost {bias.value:.3f})",
        [
            Panel("score under the most biased fair rule", "share of the group", tuple(lines)),
            Panel("way (distance)", "share moved that far at most",
                  (Line("cheapest plan", far.tolist() or [0], mass.tolist() or [0]),)),
        ],
    )  # fmt: skip


def _ways(report: AuditReport) -> Floats:
    assert report.bias is not None
    plan = report.bias.transport
    place = {int(person): value for person, value in zip(plan.members.tolist(), plan.potential.tolist(), strict=True)}
    # On a cheapest plan the potential falls by exactly the distance along every move.
    return np.array([place[x] - place[y] for x, y in zip(plan.giver.tolist(), plan.taker.tolist(), strict=True)])


def _steps(values: Floats, low: float, high: float) -> tuple[list[float], list[float]]:
    """Return the outline of a histogram as a line."""
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    share = counts / max(1, len(values))
    return np.repeat(edges, 2)[1:-1].tolist(), np.repeat(share, 2).tolist()


def _bias_words(report: AuditReport) -> str:
    return (
        "Left: the score that favours one group as much as a rule fair under the metric can. Right: to make the groups "
        "alike, so many people have to be moved, and so far, by the cheapest plan; its cost is the bias allowed."
    )


@dataclass(frozen=True)
class Grid:
    """Parts in two columns."""

    parts: tuple[tuple[Words, Table], ...]

    def html(self) -> str:
        """Return the element."""
        inside = "".join(f"<div>{words.html()}{rows.html()}</div>" for words, rows in self.parts)
        return f'<div class="grid">{inside}</div>'


def _pairs(report: AuditReport) -> list[Shown]:
    if not report.worst_pairs:
        return [Words("No pair is treated more differently than its distance allows.")]
    return [
        Words("The worst pairs, side by side", "heading"),
        Grid(tuple(_pair(pair, report.only_decisions) for pair in _different(report.worst_pairs)[:SHOWN_PAIRS])),
    ]


def _different(pairs: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Return pairs in which nobody appears twice: one person treated oddly would fill the page."""
    seen: set[int] = set()
    chosen = []
    for pair in pairs:
        both = {pair["first"], pair["second"]}
        if not both & seen:
            seen |= both
            chosen.append(pair)
    return chosen


def _pair(pair: dict[str, Any], decided: bool) -> tuple[Words, Table]:
    """Return a pair in plain words, and only what differs as a table."""
    same = [f"{name} {one}" for name, (one, two) in pair["features"].items() if one == two]
    rows = [[name, str(one), str(two)] for name, (one, two) in pair["features"].items() if one != two]
    if decided:
        rows.append(["decision", *("good" if chance > 0.5 else "refused" for chance in pair["chances"])])
        rows.append(["good decisions among those around", *(f"{share:.3f}" for share in pair["around"])])
    else:
        rows.append(["chance of the good outcome", f"{pair['chances'][0]:.3f}", f"{pair['chances'][1]:.3f}"])
    treated = "those around them are treated" if decided else "treated"
    words = (
        f"Distance {pair['distance']:.3f}, {treated} differently by {pair['difference']:.3f}. "
        f"Both: {', '.join(same) if same else 'nothing in common'}."
    )
    return Words(words), table("What differs", ["", f"person {pair['first']}", f"person {pair['second']}"], rows)
