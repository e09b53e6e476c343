"""What an audit found, for a terminal, a program and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.durable import require_new, write_by_ending
from sfumato.fair.audits.findings import Finding
from sfumato.fair.audits.group_report import GroupReport
from sfumato.fair.audits.lipschitz import LipschitzReport
from sfumato.fair.groups.bias import BiasCertificate
from sfumato.fair.groups.parity import ParityGap
from sfumato.fair.repair import RepairCost
from sfumato.show import Table, table


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Figures by group, certificates, worst pairs and nine checks.

    `ok` is True exactly when `raised` is empty. `raised` holds FOUR-FIFTHS if a group is surely chosen less than four
    fifths as often as another, the codes of checks that stand after control for their number, and LIP if similar people
    are treated differently on the pairs that were looked at. The numbers are not differentially private; do not publish
    them about private data.
    """

    people: int
    groups: tuple[str, str]
    sizes: tuple[int, int]
    rates: tuple[float, float]
    parity: ParityGap
    findings: tuple[Finding, ...]
    raised: tuple[str, ...]
    alpha: float
    lipschitz: LipschitzReport | None
    bias: BiasCertificate | None
    bias_people: int
    bias_gap: float
    repair: RepairCost | None
    worst_pairs: tuple[dict[str, Any], ...]
    only_decisions: bool
    by_group: GroupReport
    both: bool = False
    """Whether harm was looked for to either group, or only to the first of `groups`, which somebody named."""
    unknown: int = 0
    """How many were left out because nobody noted their group."""

    @property
    def ok(self) -> bool:
        """Return whether nothing was raised."""
        return self.raised == ()

    @property
    def not_run(self) -> tuple[str, ...]:
        """Return the codes of the checks that lacked something."""
        return tuple(finding.code for finding in self.findings if not finding.ran)

    @property
    def begins_with_groups(self) -> bool:
        """Return whether the headline holds that of the groups: nothing is raised, and yet rates differ for sure."""
        return self.ok and self.by_group.differs != ()

    def headline(self) -> str:
        """Return what was raised and what was not looked at, in one or two sentences."""
        head = f"Raised: {', '.join(self.raised)}.{self._against()}" if self.raised else "Nothing was raised."
        if self.begins_with_groups:
            # Rates that differ beyond chance are never passed over by a word about thresholds.
            head = (
                f"{self.by_group.headline()} Neither that nor anything else is raised, which takes a ratio surely "
                "below four fifths, or a check that is significant and larger than tolerated."
            )
        if not self.not_run:
            return head
        return (
            f"{head} {len(self.not_run)} of {len(self.findings)} checks were not run ({', '.join(self.not_run)}); the "
            "list below says what each one needs."
        )

    def _against(self) -> str:
        """Return whom what is raised is against, one sentence for each group."""
        codes: dict[str, list[str]] = {}
        for one in self.findings:
            if one.code in self.raised and one.group:
                codes.setdefault(one.group, []).append(one.code)
        return "".join(f" Against {name}: {', '.join(found)}." for name, found in codes.items())

    def asked(self) -> str:
        """Return for whom the checks were made and who was left out, in one or two sentences."""
        first, second = self.groups
        said = f"Every check looks for harm to {first} and for harm to {second}."
        if not self.both:
            rest = "name another group" if second == f"not {first}" else "leave group= out"
            said = f"E3, E4, E5 and E6 look for harm to {first} alone; {rest} to look for harm to others."
        if not self.unknown:
            return said
        return f"{said} Certificates and checks leave out {_people(self.unknown)} whose group is not known."

    def summary(self) -> Table:
        """Return one line a check."""
        rows = []
        for finding in self.findings:
            verdict = self.verdict_of(finding)
            verdict = verdict.upper() if verdict == "raised" else verdict
            p_value = "" if finding.p_value is None else _p_text(finding.p_value)
            rows.append([finding.code, finding.name, verdict, p_value, finding.sentence])
        return table("Nine checks", ["check", "name", "verdict", "p", "what was seen"], rows)

    def verdict_of(self, finding: Finding) -> str:
        """Return raised, clear, not run, or not proved: larger than tolerated, and it may be chance."""
        if finding.code in self.raised:
            return "raised"
        if not finding.ran:
            return "not run"
        return "not proved" if finding.large else "clear"

    def _seen(self) -> str:
        """Say of how many people the bias certificate is, and why not of all."""
        if self.bias_people == self.people:
            return f"{self.people} people"
        largest = max(self.bias_people // 2, *(self.bias_people - size for size in self.sizes))
        return f"{self.bias_people} people: of a larger group an even sample of {largest}, because it takes long"

    def figures(self) -> Table:
        """Return the figures that hold whatever the model is inside."""
        rows = [
            ["people", f"{self.people}"],
            [f"good outcome for {self.groups[0]} ({self.sizes[0]})", f"{self.rates[0]:.4f}"],
            [f"good outcome for {self.groups[1]} ({self.sizes[1]})", f"{self.rates[1]:.4f}"],
            ["parity gap", f"{self.parity.value:.4f} ({self.parity.interval[0]:.4f} to {self.parity.interval[1]:.4f})"],
        ]
        if self.bias is not None:
            rows.append([f"most that fairness under the metric allows ({self._seen()})", f"{self.bias.value:.4f}"])
            if self.bias.null is not None:
                rows.append(["the same for random groups", str(self.bias.null)])
        if self.lipschitz is not None:
            around = "pairs whose neighbours are treated too differently, no finding" if self.only_decisions else ""
            rows.append(["pairs who may be treated in any way", f"{self.lipschitz.vacuous:.1%}"])
            if not self.only_decisions:
                rows.append(["chances of the middle half of people lie within", f"{self.lipschitz.spread:.3g}"])
                rows.append([f"Lipschitz constant ({self.lipschitz.coverage})", f"{self.lipschitz.kappa:.4g}"])
            rows.append([
                f"{around or 'pairs treated too differently'} (of {self.lipschitz.pairs})",
                f"{self.lipschitz.violating:.3%}",
            ])  # fmt: skip
            rows += [[f"… {name}", f"{share:.3%}"] for name, share in self.lipschitz.by_group.items()]
        if self.repair is not None:
            rows.append(["repair would change a score by at most", f"{self.repair.largest:.4f}"])
            rows.append(["repair would change scores on average by", f"{self.repair.mean:.4f}"])
        return table("Figures", ["figure", "value"], rows)

    def warned(self) -> tuple[str, ...]:
        """Return what may make the report mean something else than it seems to, a sentence each."""
        empty = "" if self.lipschitz is None else self.lipschitz.empty()
        return (*self.by_group.cautions, *([empty] if empty else []))

    def hard(self) -> str:
        """Return why pairs of decisions raise nothing, in two sentences; nothing where there are chances."""
        if self.lipschitz is None or not self.only_decisions:
            return ""
        return (
            "Decisions are yes or no, so every rule that cuts somewhere parts people who are nearly alike: there is no "
            "Lipschitz constant, and pairs raise nothing. Give the chances behind the decisions to have pairs checked."
        )

    def verdict(self) -> str:
        """Return the bias verdict, or a sentence about what is missing."""
        said = self._verdict()
        if self.bias is None or self.bias_people == self.people or f"{self.bias_gap:.3g}" not in said:
            return said
        return (
            f"{said} These are figures of an even sample of {self.bias_people:,} people; the gap of all "
            f"{self.people:,} is {self.parity.value:.3g}."
        )

    def _verdict(self) -> str:
        if self.bias is None:
            return "Without a metric nobody can say who is similar; give metric= for certificates."
        if not self.only_decisions or self.bias_gap <= self.bias.value:
            return self.bias.verdict(self.bias_gap, self.alpha)
        # Decisions are draws: their gap is above its own expectation as often as below.
        low, high = self.parity.interval
        beyond = (
            f"The gap {self.parity.value:.3g} of these decisions is above {self.bias.value:.3g}, the most that any "
        )
        beyond += "mapping fair under this metric can have"
        if low > self.bias.value:
            return f"{beyond}, and surely so ({low:.3g} to {high:.3g}): some similar people are treated differently."
        return f"{beyond}, but it may be chance ({low:.3g} to {high:.3g})."

    def __str__(self) -> str:
        figures = [self.figures().text(), self.summary().text()]
        said = [] if self.begins_with_groups else [self.by_group.headline()]
        said += [self.by_group.counted()] if self.by_group.favourable else []
        groups = [" ".join(said), ""] if said else []
        groups += [line for caution in self.warned() for line in (f"Warning: {caution}", "")]
        return "\n".join([
            self.headline(), "", *groups, self.by_group.text_of_tables(), "", self.verdict(), "",
            *([self.hard(), ""] if self.hard() else []), self.asked(), "",
            *figures,
        ])  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        found = [
            {
                "code": finding.code, "name": finding.name, "raised": finding.code in self.raised, "ran": finding.ran,
                "verdict": self.verdict_of(finding),
                "group": finding.group or None, "sentence": finding.sentence, "measure": finding.measure,
                "effect": finding.effect,
                "tolerated": finding.tolerated, "p_value": finding.p_value, "details": finding.details,
            }
            for finding in self.findings
        ]  # fmt: skip
        out: dict[str, Any] = {
            "ok": self.ok, "raised": list(self.raised), "differs": list(self.by_group.differs),
            "headline": self.headline(), "warnings": list(self.warned()), "not_run": list(self.not_run),
            "by_group": self.by_group.to_json(), "people": self.people, "groups": list(self.groups),
            "sizes": list(self.sizes), "asked_about": list(self.groups if self.both else self.groups[:1]),
            "group_unknown": self.unknown,
            "rates": list(self.rates), "alpha": self.alpha, "verdict": self.verdict(), "findings": found,
            "parity": {"gap": self.parity.value, "interval": list(self.parity.interval)},
        }  # fmt: skip
        if self.bias is not None:
            out["bias"] = {
                "value": self.bias.value,
                "exact": self.bias.exact,
                "null": None if self.bias.null is None else vars(self.bias.null),
                "separates": self.bias.separates(self.alpha),
                "people": self.bias_people,
                "gap": self.bias_gap,
            }
        if self.lipschitz is not None:
            out["lipschitz"] = {
                "kappa": self.lipschitz.kappa, "coverage": self.lipschitz.coverage, "pairs": self.lipschitz.pairs,
                "violating": self.lipschitz.violating, "vacuous": self.lipschitz.vacuous,
                "spread": self.lipschitz.spread, "by_group": self.lipschitz.by_group,
                "certificate": not self.only_decisions, "worst": list(self.worst_pairs),
            }  # fmt: skip
        if self.repair is not None:
            out["repair"] = {"largest": self.repair.largest, "mean": self.repair.mean}
        return _plain(out)  # type: ignore[no-any-return]

    def to_html(self) -> str:
        """Return one self-contained page."""
        from sfumato.fair.audits.page import page

        return page(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | Path) -> Path:
        """Write the report as `.html`, `.json` or `.txt` into a folder that is there, and return its path."""
        kinds = {
            ".html": self.to_html,
            ".json": lambda: json.dumps(self.to_json(), indent=1),
            ".txt": lambda: str(self),
        }
        return write_by_ending(require_new(path, overwrite=True, in_folder=True), "A report", kinds)


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def _p_text(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _plain(value: Any) -> Any:
    """Return plain JSON: no numpy numbers, no infinities."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
