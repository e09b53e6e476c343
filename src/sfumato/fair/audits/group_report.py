"""What a bank or a regulator reads first: rates, ratios and errors by group, with intervals and verdicts (MD-AUDIT)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.answer import Frame
from sfumato.durable import require_new, write_by_ending
from sfumato.errors import ParameterError
from sfumato.fair.audits.calibration import Calibration, calibrated
from sfumato.fair.audits.cautions import said_of_decisions, spelled_apart
from sfumato.fair.audits.compared import ERRORS, IMPACT, RATES, Comparison, GroupFinding
from sfumato.fair.audits.decisions import read_decisions, read_labels, read_scores, said_of_others
from sfumato.fair.audits.family import Family, named_before, picked_by_data
from sfumato.fair.audits.group_counts import GroupCounts, Tallied, Treatment, protected_columns, tally
from sfumato.fair.audits.rates import Share, difference_interval, ratio_interval
from sfumato.fair.audits.shown_groups import calibration_table, impact_table, is_known, rates_table
from sfumato.show import Table
from sfumato.words import one_of, understood

SMALLEST_REFERENCE = 0.02
"""A smaller part of all people is shown, and is not what others are compared with."""
FEWEST_FOR_A_VERDICT = 5
BINS = 10
THESE = "these people"
WHICHEVER = "both also allow for the group to compare with being picked by the data"


@dataclass(frozen=True, eq=False, repr=False)
class GroupReport:
    """Rates by group, compared with the group that does best (or the one that was named), with intervals.

    `ok` is True exactly when nothing is raised. A ratio is raised when it is surely below four fifths, whichever of all
    comparisons is looked at; "watch" means below four fifths and perhaps by chance. `differs` names the groups whose
    rate differs by more than chance explains, raised or not.
    """

    tallied: Tallied
    reference: tuple[str, ...]
    confidence: float
    period: str = ""
    source: str = ""
    private: str = ""
    favourable: str = ""
    """The decision that counts as the good one, where decisions are words."""
    checks: tuple[str, ...] = ()
    """Other checks that need a label, and so leave out the same people."""
    shown: float | None = None
    """The confidence of the intervals that are shown, where it is not that of verdicts."""
    others: tuple[str, ...] = ()
    """The decisions that count as not favourable."""
    cautions: tuple[str, ...] = ()
    """What may make the figures mean something else than they seem to, a sentence each."""

    @property
    def level(self) -> float:
        """The confidence of the intervals that are shown."""
        return self.confidence if self.shown is None else self.shown

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return every rate of every group that can be compared."""
        families = self._families
        surely = 1 - (1 - self.confidence) / max(1, sum(one.verdicts for one in families if one.figure in IMPACT))
        return tuple(self._compare(family, one, surely) for family in families for one in family.compared)

    @cached_property
    def _families(self) -> tuple[Family, ...]:
        found = (self._family(columns, figure) for columns in self.tallied.column_sets() for figure in RATES)
        return tuple(one for one in found if one is not None)

    def _family(self, columns: tuple[str, ...], figure: str) -> Family | None:
        known = [one for one in self.tallied.of(columns) if not one.group.unknown and getattr(one, figure) is not None]
        named = [one for one in known if self.reference and set(self.reference) <= set(one.group.values)]
        if named:
            return named_before(figure, named[0], known, self._judged)
        large = [one for one in known if one.people >= SMALLEST_REFERENCE * self.tallied.people]
        rated = [one for one in large if isfinite(getattr(one, figure).value)]
        if not rated:
            return None
        # Error rates are compared with the group that the selection rate is compared with.
        leading = "chosen" if figure in ERRORS else figure
        best: GroupCounts = max(rated, key=lambda one: getattr(one, leading).value)
        # With noise, who is large enough is chance as well: then everybody may become the one to compare with.
        return picked_by_data(figure, best, known, known if self.tallied.noise.variance else large, self._judged)

    def _judged(self, one: GroupCounts) -> bool:
        return self.private != "" or one.people >= FEWEST_FOR_A_VERDICT

    def _compare(self, family: Family, one: GroupCounts, surely: float) -> Comparison:
        first: Share = getattr(one, family.figure)
        second: Share = getattr(family.reference, family.figure)
        noise, shown = self.tallied.noise, family.each(self.level)
        ratio = first.value / second.value if second.value else float("nan")
        return Comparison(
            family.figure, one, family.reference, first.value, first.interval(self.level, noise), ratio,
            ratio_interval(first, second, shown, noise), ratio_interval(first, second, surely, noise),
            first.value - second.value, difference_interval(first, second, shown, noise),
            difference_interval(first, second, surely, noise), first.interval(self.confidence, noise) != (0.0, 1.0),
            self.tallied.counted, self._judged(one),
        )  # fmt: skip

    @cached_property
    def _impacts(self) -> tuple[Comparison, ...]:
        """The comparisons of which there is a finding: groups of fewer than five people have none."""
        return tuple(one for one in self.comparisons if one.figure in IMPACT and one.judged)

    @cached_property
    def findings(self) -> tuple[GroupFinding, ...]:
        """Return one finding for every impact ratio; groups of fewer than five people have none."""
        return tuple(
            GroupFinding(
                "FOUR-FIFTHS",
                one.group.group.columns,
                one.sentence(),
                one.ratio,
                one.ratio_interval,
                one.verdict,
                one.differs,
            )
            for one in self._impacts
        )

    @property
    def raised(self) -> tuple[str, ...]:
        """Return the codes of what is raised, each once."""
        return tuple(dict.fromkeys(one.code for one in self.findings if one.verdict == "raised"))

    @property
    def ok(self) -> bool:
        """Return whether nothing is raised."""
        return self.raised == ()

    @property
    def differs(self) -> tuple[str, ...]:
        """Return the groups whose rate differs from the one compared with by more than chance explains, each once."""
        compared = [one for one in self.comparisons if one.figure in IMPACT and one.differs and one.judged]
        return tuple(dict.fromkeys(one.group.group.name for one in compared))

    def headline(self) -> str:
        """Return what to read first: what is raised, else what differs by more than chance, else the smallest ratio."""
        order = {"raised": 0, "watch": 1, "cannot say": 2, "clear": 3}
        compared = list(zip(self.findings, self._impacts, strict=True))
        rated = [one for one, _ in compared if isfinite(one.value)]
        if not rated:
            return "There are no two groups to compare."
        # Noise makes rates of nobody too, and a ratio of theirs would be the smallest.
        known = [one for one, beside in compared if beside.known and isfinite(one.interval.high)]
        if not known and self.private:
            return "There are too few people for this spend to compare any two groups."
        rated = known or rated

        def rank(one: GroupFinding) -> tuple[bool, bool, int, int, float]:
            return one.verdict != "raised", not one.differs, order[one.verdict], len(one.columns), one.value

        return min(rated, key=rank).sentence

    def lowest_together(self) -> str:
        """Return what is raised of several columns together where that is below what is read first, in a sentence."""
        raised = [one for one in self.findings if one.verdict == "raised" and isfinite(one.value)]
        several = [one for one in raised if len(one.columns) > 1]
        alone = [one.value for one in raised if len(one.columns) == 1]
        lowest = min(several, key=lambda one: one.value, default=None)
        if lowest is None or not alone or lowest.value >= min(alone):
            return ""
        return f"By {' and '.join(lowest.columns)} together it is lower still. {lowest.sentence}"

    def left_out(self) -> dict[tuple[str, ...], int]:
        """Return by columns how many people no comparison holds, because a cell of them is missing; with noise nothing.

        Who has no decision is counted by `pending`, and not here.
        """
        if self.tallied.noise.variance or self.private:
            return {}
        missing = {
            columns: int(sum(one.people for one in self.tallied.of(columns) if one.group.unknown))
            for columns in self.tallied.column_sets()
        }
        return {columns: people for columns, people in missing.items() if people}

    def unknown(self) -> str:
        """Return the same in a sentence; nothing where no cell is missing."""
        missing = self.left_out()
        if not missing:
            return ""
        first = self.tallied.of(self.tallied.column_sets()[0])
        of = f"{sum(one.people for one in first):,.0f} people"
        decided = " with a decision" if self.tallied.without_decision else ""
        listed = ", ".join(f"by {' and '.join(columns)} {people:,}" for columns, people in missing.items())
        whom = "those whose group is not known, because a cell is missing"
        return f"Of {of}{decided}, comparisons leave out {whom}: {listed}."

    def counted(self) -> str:
        """Return which decision the rates are about, in a sentence; nothing where decisions are probabilities."""
        said = self.favourable if self.favourable in ("True", "False") else repr(self.favourable)
        if not self.favourable:
            return ""
        return f"The favourable decision is {said}. {self.not_favourable()}".rstrip()

    def not_favourable(self) -> str:
        """Return which other decisions count as not favourable, in a sentence; nothing where there is one."""
        # An empty cell is no decision unless a schema says that it counts as one.
        waiting = not self.private or self.tallied.without_decision is None
        return said_of_others(self.others) if waiting else said_of_others(self.others, "")

    def pending(self) -> str:
        """Return how many have no decision, in a sentence; nothing where everybody has one."""
        absent = self.tallied.without_decision
        if absent is None:
            return f"Rates leave out {self.tallied.counted} whose decision is missing."
        if not absent:
            return ""
        have, whom = ("has", "that person") if absent == 1 else ("have", "them")
        alone = [columns for columns in self.tallied.column_sets() if len(columns) == 1]
        listed = [", ".join(f"{one.group.name} {one.undecided:,}" for one in self.tallied.of(names)) for names in alone]
        named = [f"by {name} {said}" for (name,), said in zip(alone, listed, strict=True)]
        counts = listed[0] if len(alone) == 1 else "; ".join(named)
        people = f"{absent:,} of {self.tallied.people:,.0f} people"
        return f"{people} {have} no decision ({counts}); everything about decisions leaves {whom} out."

    def labelled(self) -> str:
        """Return how many have no label and what leaves them out, in a sentence; nothing where everybody has one."""
        absent = self.tallied.without_label
        if absent == 0:
            return ""
        figures = ["error rates", "precision"] if any(one.hits is not None for one in self.tallied.groups) else []
        *first, last = [*figures, *(["calibration"] if self.tallied.bins else []), *self.checks]
        named = f"{', '.join(first)} and {last}" if first else last
        if absent is None:
            leave = "leaves" if named == "calibration" else "leave"
            return f"{named.capitalize()} {leave} out {self.tallied.counted} whose label is missing."
        have, whom = ("has", "that person") if absent == 1 else ("have", "them")
        return f"{absent:,} of {self.tallied.people:,.0f} people {have} no label; {named} leave {whom} out."

    def tables(self) -> list[Table]:
        """Return the rates by each set of protected columns, then the error rates where labels are known."""
        sets = self.tallied.column_sets()
        return [
            rates_table(self, columns, shown)
            for figures in (IMPACT, ERRORS)
            for columns in sets
            for shown in [[figure for figure in figures if is_known(self, columns, figure)]]
            if shown
        ]

    def calibration(self) -> Table | None:
        """Return how many of each group had the label, by bins of scores; None without scores and labels."""
        verdict = self.calibration_verdict
        return None if verdict is None else calibration_table(self, verdict)

    @cached_property
    def calibration_verdict(self) -> Calibration | None:
        """Whether a score means the same in every group; None without scores and labels."""
        return calibrated(self.tallied, self.confidence) if self.tallied.bins else None

    def ll144(self) -> list[Table]:
        """Return the tables that New York's Local Law 144 asks for: number, rate and impact ratio by category.

        People whose category is not known are counted and left out of the ratios.
        """
        return [
            impact_table(self, columns, figure)
            for columns in self.tallied.column_sets()
            for figure in IMPACT
            if is_known(self, columns, figure)
        ]

    def about(self, whom: str) -> GroupReport:
        """Return the same figures about "these people" alone, or about "people like them", as reports are; free.

        Among these people rates are known but for the noise of privacy, so that intervals are narrower, and verdicts
        say what holds in this table, not what the luck of who is in it explains. It is arithmetic on what was released.
        """
        one_of("about", whom, (THESE, "people like them"))
        noise = self.tallied.noise
        if not noise.variance:
            raise ParameterError(
                "Without noise the rates of these people are known exactly; look at rate= of each group."
            )
        return replace(self, tallied=replace(self.tallied, noise=replace(noise, luck=whom != THESE)))

    def model_card(self) -> str:
        """Return the figures as Markdown, for a model card."""
        about = [f"{self.tallied.people:,.0f} {self.tallied.counted}", self.source, self.period, self.private]
        headline = " ".join(part for part in (self.headline(), self.lowest_together(), self.counted()) if part)
        lines = ["## Fairness by group", "", headline, "", ". ".join(part for part in about if part) + ".", ""]
        for shown in [*self.tables(), *([self.calibration()] if self.tallied.bins else [])]:
            assert shown is not None
            lines += [f"### {shown.title}", "", _markdown(shown), ""]
        if self.calibration_verdict is not None:
            lines += [self.calibration_verdict.sentence(), ""]
        said = (*self.cautions, self.pending(), self.unknown(), self.labelled(), self.tallied.alike())
        lines += [line for sentence in said if sentence for line in (sentence, "")]
        lines += [
            f"{self.together()} A ratio above 0.8 does not make a rule fair, and nothing here is a statement about "
            "causes or about the law.",
        ]
        return "\n".join(lines)

    def displayed(self, confidence: float) -> tuple[tuple[str, ...], tuple[Table, ...]]:
        """Return what is said first and the tables, with intervals of a confidence of their own."""
        other = replace(self, shown=float(confidence))
        sure = f"{100 * self.confidence:g} %"
        rule = f"Verdicts hold for all impact ratios together at {sure}, whichever intervals are shown."
        calibration, verdict = other.calibration(), self.calibration_verdict
        said = (
            self.headline(), self.counted(), "" if verdict is None else verdict.sentence(), *self.cautions,
            self.pending(), self.labelled(), rule if self.comparisons else "",
        )  # fmt: skip
        return said, (*other.tables(), *([] if calibration is None else [calibration]))

    @property
    def number_of_intervals(self) -> int:
        """How many intervals the report shows: of every rate, every ratio, every difference and every calibration."""
        rates = sum(getattr(one, figure) is not None for one in self.tallied.groups for figure in RATES)
        bins = sum(len(one.bins) for one in self.tallied.groups if len(one.group.columns) == 1)
        return rates + 2 * len(self.comparisons) + (bins if self.private else 0)

    def __str__(self) -> str:
        head = " ".join(part for part in (self.headline(), self.lowest_together(), self.counted()) if part)
        return "\n\n".join([head, *self.cautions, self.text_of_tables()])

    def __repr__(self) -> str:
        sets = ", ".join(" and ".join(columns) for columns in self.tallied.column_sets())
        return f"Report on groups by {sets}. {self.headline()} print(report) shows the tables."

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        from sfumato.fair.audits.page import groups_page

        return groups_page(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | Path) -> Path:
        """Write the report as `.html`, `.md` (a model card), `.json` or `.txt` into a folder, and return its path."""
        kinds = {
            ".html": self.to_html,
            ".md": self.model_card,
            ".json": lambda: json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n",
            ".txt": lambda: str(self) + "\n",
        }
        return write_by_ending(require_new(path, overwrite=True, in_folder=True), "A report on groups", kinds)

    def text_of_tables(self) -> str:
        """Return all tables as text, and for what their verdicts hold."""
        calibration = self.calibration()
        shown = [*self.tables(), *([calibration] if calibration is not None else [])]
        verdict = self.calibration_verdict
        calibrated = "" if verdict is None else verdict.sentence()
        together = self.together() if self.comparisons else ""
        said = [calibrated, self.pending(), self.unknown(), self.labelled(), self.tallied.alike(), together]
        return "\n\n".join([*(one.text() for one in shown), *(part for part in said if part)])

    def together(self) -> str:
        """Return what intervals and verdicts hold for, in one sentence."""
        said = f"Intervals hold one by one at {self.confidence:.0%}; verdicts of ratios hold for all of them together"
        whom = "" if self.tallied.noise.luck else " They are about these people alone, whose luck they leave out."
        return f"{said}{', ' + WHICHEVER if any(one.widened for one in self._families) else ''}.{whom}"

    def to_frame(self, confidence: float | None = None) -> Frame:
        """Return one row for each group and figure, with intervals, to work with; None where there are too few."""
        if confidence is not None:
            return replace(self, shown=float(confidence)).to_frame()
        rows = []
        compared = {(one.figure, one.group.group): one for one in self.comparisons}
        for one in self.tallied.groups:
            for figure, name in RATES.items():
                share: Share | None = getattr(one, figure)
                if share is not None:
                    beside = compared.get((figure, one.group))
                    ends = share.interval(self.level, self.tallied.noise)
                    rate = (None, None, None) if ends == (0.0, 1.0) else (share.value, *ends)
                    ratio: tuple[float | None, ...] = (None, None, None)
                    if beside is not None and beside.known:
                        ratio = (beside.ratio, *beside.ratio_interval)
                    rows.append((" and ".join(one.group.columns), one.group.name, name, max(0.0, one.people),
                                 *rate, *ratio))  # fmt: skip
        names = ("columns", "group", "figure", self.tallied.counted, "rate", "rate, low", "rate, high", "ratio",
                 "ratio, low", "ratio, high")  # fmt: skip
        return Frame(names[:3], dict(zip(names, zip(*rows, strict=True), strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Return all figures as a JSON object."""
        return {
            "ok": self.ok, "raised": list(self.raised), "differs": list(self.differs),
            "headline": self.headline(), self.tallied.counted: self.tallied.people,
            "favourable": self.favourable or None, "not_favourable": list(self.others),
            "warnings": list(self.cautions), "without_label": self.tallied.without_label,
            "without_decision": self.tallied.without_decision,
            "left_out": {" and ".join(columns): people for columns, people in self.left_out().items()},
            "comparisons": [one.to_json() for one in self.comparisons],
            "calibration": None if self.calibration_verdict is None else self.calibration_verdict.to_json(),
            "groups": [_group_json(one, self.confidence, self.tallied) for one in self.tallied.groups],
        }  # fmt: skip


@understood
def group_report(
    decisions: Any,
    protected: Any,
    *,
    label: Any = None,
    scores: Any = None,
    favourable: Any = None,
    intersections: int = 2,
    reference: str | Sequence[str] | None = None,
    confidence: float = 0.95,
    period: str = "",
    source: str = "",
) -> GroupReport:
    """Compare groups: selection rates and impact ratios, with a `label` error rates, with `scores` their calibration.

    `decisions` are 0 and 1, True and False, or words, of which `favourable` is the good one; or probabilities of the
    good one; or None where there are scores alone. `protected` is a column, or a table of several; groups are made of
    each and of `intersections` of them together. A missing value makes the group "unknown", which is counted and not
    compared. `reference` names the group to compare with; by default the one with the largest rate that has at least 2
    % of all. Whose decision is missing is left out of everything about decisions, and the report says how many of each
    group that are. Whose label is missing is left out of error rates, precision and calibration, and the report says
    how many that are.

    >>> decisions, sex = [1, 0, 0, 0] * 100 + [1, 1, 1, 0] * 100, ["f"] * 400 + ["m"] * 400
    >>> report = group_report(decisions, sex, favourable=1)
    >>> print(report.headline())
    Selection rate of f is 0.33 of that of m (0.28 to 0.40): below four fifths.
    >>> report.ok, report.raised
    (False, ('FOUR-FIFTHS',))
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie between 0 and 1, and {confidence} does not; write 0.95.")
    if decisions is None and scores is None:
        raise ParameterError("There is nothing to compare; give decisions, or scores=.")
    for given in (decisions, protected):
        if isinstance(given, str):
            raise ParameterError(
                f"group_report takes columns, and {given!r} is a word or a path; write fair.compare_file('people.csv', "
                "['sex', 'race'], decision='approved', favourable='yes'), or read the file first."
            )
    columns = protected_columns(protected)
    people = len(next(iter(columns.values())))
    read = None if decisions is None else read_decisions(decisions, favourable, people)
    chances, decided, good, others = (None, True, "", ()) if read is None else read
    edges = tuple(np.linspace(0, 1, BINS + 1).tolist())
    labels, labelled = (None, None) if label is None else read_labels(label, people)
    treatment = Treatment(chances, decided, labels, read_scores(scores, people), edges, labelled)
    tallied = tally(columns, intersections, treatment)
    named = () if reference is None else (reference,) if isinstance(reference, str) else tuple(reference)
    for name in named:
        if not any(name in one.group.values for one in tallied.groups):
            raise ParameterError(f"No group is called {name!r}; write one of {_names(tallied)} as reference=.")
    cautions = tuple(said for name, values in columns.items() if (said := spelled_apart(name, values)))
    return GroupReport(
        tallied, named, confidence, period, source, favourable=good, others=others,
        cautions=(*cautions, *said_of_decisions(good, others)),
    )  # fmt: skip


def _names(tallied: Tallied) -> list[str]:
    return sorted({value for one in tallied.groups for value in one.group.values})[:12]


def _markdown(shown: Table) -> str:
    head = "| " + " | ".join(shown.columns) + " |"
    return "\n".join([head, "|" + "---|" * len(shown.columns), *("| " + " | ".join(row) + " |" for row in shown.rows)])


def _group_json(one: GroupCounts, confidence: float, tallied: Tallied) -> dict[str, Any]:
    rates = {RATES[figure]: getattr(one, figure) for figure in RATES if getattr(one, figure) is not None}
    return {
        "columns": list(one.group.columns), "group": list(one.group.values), tallied.counted: one.people,
        "undecided": None if tallied.without_decision is None else one.undecided,
        "rates": {
            name: {"value": share.value, "interval": list(share.interval(confidence, tallied.noise))}
            for name, share in rates.items()
        },
    }  # fmt: skip
