"""The tables of a report on groups: rates, calibration, and what New York's Local Law 144 asks for (MD-AUDIT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.fair.audits.calibration import Calibration
from sfumato.fair.audits.compared import ERRORS, IMPACT, RATES, Comparison, with_ends
from sfumato.fair.audits.group_counts import GroupCounts
from sfumato.fair.audits.rates import Share
from sfumato.show import Table, table

if TYPE_CHECKING:
    from sfumato.fair.audits.group_report import GroupReport


def is_known(report: GroupReport, columns: tuple[str, ...], figure: str) -> bool:
    """Return whether any group of these columns has a figure."""
    return any(getattr(one, figure) is not None for one in report.tallied.of(columns))


def rates_table(report: GroupReport, columns: tuple[str, ...], shown: list[str]) -> Table:
    """Return the figures of all groups of these columns, each beside how it compares."""
    groups = report.tallied.of(columns)
    compared = {(one.figure, one.group.group): one for one in report.comparisons}
    head = [" and ".join(columns), report.tallied.counted]
    for figure in shown:
        head += [RATES[figure], "impact ratio" if figure in IMPACT else "difference"]
    rows = []
    for one in groups:
        row = [one.group.name, _people(report, one)]
        for figure in shown:
            row += _cells(report, one, figure, compared.get((figure, one.group)))
        rows.append(row)
    title = "Error rates by" if shown[0] in ERRORS else "Rates by"
    return table(f"{title} {' and '.join(columns)}", head, rows)


def _people(report: GroupReport, one: GroupCounts) -> str:
    counted = one.high if one.chosen is None else one.chosen
    return _count(report, one.people, 1 if counted is None else sum(counted.cells))


def _selected(report: GroupReport, share: Share | None) -> str:
    return "" if share is None else _count(report, share.part, share.cells[0])


def _count(report: GroupReport, people: float, cells: int) -> str:
    """Return a number of people or rows; a noisy one with the interval of the true one, which it is not."""
    shown = f"{max(0.0, people):,.0f}"
    if not report.tallied.noise.variance:
        return shown
    low, high = report.tallied.noise.around(people, cells, report.level)
    return f"about {shown} ({low:,.0f} to {high:,.0f})"


def _cells(report: GroupReport, one: GroupCounts, figure: str, compared: Comparison | None) -> list[str]:
    share: Share | None = getattr(one, figure)
    if share is None:
        return ["", ""]
    shown = with_ends(share.value, share.interval(report.level, report.tallied.noise))
    if compared is None:
        return [shown, "left out" if one.group.unknown else "compared with"]
    if not compared.known:
        return [shown, "too few to say"]
    if figure in IMPACT:
        return [shown, f"{with_ends(compared.ratio, compared.ratio_interval)} {compared.said}"]
    return [shown, with_ends(compared.difference, compared.difference_interval, signed=True)]


def calibration_table(report: GroupReport, verdict: Calibration) -> Table:
    """Return how many of each group had the label, by bins of scores."""
    rows = []
    differing = {(one.group, one.scores) for one in verdict.compared if one.differs}
    for columns in [names for names in report.tallied.column_sets() if len(names) == 1]:
        groups = report.tallied.of(columns)
        for place, name in enumerate(report.tallied.bins):
            part = sum(one.bins[place].part for one in groups)
            total = sum(one.bins[place].total for one in groups)
            for one in groups:
                share = one.bins[place]
                ends = share.interval(report.level, report.tallied.noise)
                if report.tallied.noise.variance and (ends == (0.0, 1.0) or min(share.total, total) <= 0):
                    rows.append([name, one.group.name, _total(report, share), "too few to say", "", ""])
                elif share.total > 0 and total > 0:
                    gap = share.value - min(1.0, max(0.0, part / total))
                    rows.append([
                        name, one.group.name, _total(report, share), with_ends(share.value, ends), f"{gap:+.3f}",
                        "differs" if (one.group, report.tallied.scores(place)) in differing else "",
                    ])  # fmt: skip
    head = ["score", "group", report.tallied.counted, "rate of the label", "gap to all", "verdict"]
    return table("Calibration", head, rows)


def _total(report: GroupReport, share: Share) -> str:
    return _count(report, share.total, sum(share.cells))


def impact_table(report: GroupReport, columns: tuple[str, ...], figure: str) -> Table:
    """Return numbers, rates and impact ratios by category."""
    compared = {one.group.group: one for one in report.comparisons if one.figure == figure}
    rows = []
    for one in report.tallied.of(columns):
        share: Share | None = getattr(one, figure)
        ratio = compared[one.group].ratio if one.group in compared else 1.0
        number = [_people(report, one)] if figure == "high" else [_people(report, one), _selected(report, share)]
        shown = "not shown" if one.group.unknown else f"{ratio:.3f}"
        rows.append([one.group.name, *number, "" if share is None else f"{share.value:.3f}", shown])
    applied = "applicants" if report.tallied.counted == "people" else report.tallied.counted
    counted = ["number"] if figure == "high" else [applied, "selected"]
    about = [part for part in (report.source, report.period) if part]
    title = f"{RATES[figure]} by {' and '.join(columns)}"
    return table(
        f"{title} ({', '.join(about)})" if about else title,
        [" and ".join(columns), *counted, RATES[figure], "impact ratio"],
        rows,
    )
