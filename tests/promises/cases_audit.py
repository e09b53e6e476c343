"""Promises of the private audit by group: two groups by two decisions or scores, all neighbours, both relations."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from sfumato import ADD_REMOVE, Approximate, Concentrated, Pure
from sfumato.audit import Neighbours
from sfumato.noise import Noise
from sfumato.privacy import Bound
from sfumato.questions import GroupAudit
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from tests.imputed import booleans, categories, integers
from tests.promises.case import PromiseCase
from tests.questions.tiny import EndToEnd, Later, distinct, neighbours, records

SCHEMA = Schema({"sex": categories("f", "m"), "hired": booleans()})
SEVERAL = Schema(dict(SCHEMA.columns), "person", 2)
REPLACE = Basis(SCHEMA, 2)
ADDED = replace(REPLACE, relation=ADD_REMOVE)
ROWS = Basis(SEVERAL, 2, scale=1)
AUDIT = GroupAudit("hired", "sex", favourable=True)
SCORES = GroupAudit(None, "sex", score="points")
SCORED = Basis(Schema({"sex": categories("f", "m"), "points": integers(0, 1)}), 2)


class MarginBeside(EndToEnd):
    """Draws the number of one group once more, as if sums of cells were not read already."""

    def run(self, exact: Any, noise: Noise) -> Any:
        (cells,) = self.exact(exact)
        (mechanism,) = self._mechanism().mechanisms  # type: ignore[attr-defined]
        return super().run(exact, noise), mechanism.run(cells[0].sum(keepdims=True), noise)


class OneGroupExactly(EndToEnd):
    """Leaves one group out before counting, and says how many that were."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return super().run(exact, noise), sum(row[0] == 0 for _, rows in exact for row in rows)


class MedianUnpaid(EndToEnd):
    """Says whether half of all people have the lowest score, which decides what counts as high, without noise."""

    def run(self, exact: Any, noise: Noise) -> Any:
        scores = [row[1] for _, rows in exact for row in rows]
        return super().run(exact, noise), 2 * scores.count(0) >= len(scores)


def pairs_of(mechanism: EndToEnd) -> Later:
    """Return all neighbours, also those of whom attributes change where people are added and removed."""
    schema = mechanism.setting.schema

    def found() -> list[Neighbours]:
        pairs = [*neighbours(mechanism.setting, [()], 1)]
        if mechanism.setting.relation is ADD_REMOVE:
            for first, second in combinations(records(schema, 1), 2):
                changed = frozenset(name for at, name in enumerate(schema.names) if first[1][0][at] != second[1][0][at])
                pairs.append(Neighbours((first,), (second,), changed))
        return distinct(mechanism, pairs, linear=True)

    return Later(found)


def audit(name: str, setting: Basis, spend: Bound, spec: str, mutants: Any, **options: Any) -> PromiseCase:
    question = options.pop("question", AUDIT)
    mechanism = EndToEnd(question=question, setting=setting, spend=spend)
    pairs = options.pop("pairs", None) or pairs_of(mechanism)
    given = {"question": question, "setting": setting, "spend": spend}
    broken = {
        what: change(**given) if isinstance(change, type) else replace(mechanism, **change)
        for what, change in mutants.items()
    }
    return PromiseCase(name, ("MD-AUDIT", spec), mechanism, pairs, broken, **{"tail": 1e-5, **options})


CASES = [
    audit(
        "audit by group, replaced, pure", REPLACE, Pure(6), "QR-LAP",
        {
            "one side only": {"noise_setting": ADDED},
            "a margin beside cells, uncharged": MarginBeside,
            "the number of one group without noise": OneGroupExactly,
        },
        slow=True,
    ),
    audit(
        "audit by group, added or removed, pure", ADDED, Pure(3), "QR-LAP", {"half the noise": {"noise_spend": Pure(6)}},
    ),
    audit(
        "audit of scores, added or removed, pure", replace(SCORED, relation=ADD_REMOVE), Pure(3), "QR-LAP",
        {"half the noise": {"noise_spend": Pure(6)}, "the median from the rows, uncharged": MedianUnpaid},
        question=SCORES,
    ),
    audit(
        "audit by group, replaced, concentrated", REPLACE, Concentrated(4), "PDP:C-13",
        {"one side only": {"noise_setting": ADDED}}, long=True,
    ),
    audit(
        "audit by group, replaced, approximate", REPLACE, Approximate(6, 0.01), "QR-LAP",
        {"one side only": {"noise_setting": ADDED}}, long=True,
    ),
    audit(
        "audit by group, two rows a person, pure", ROWS, Pure(12), "QR-LAP",
        {"one row a person": {"noise_setting": REPLACE}}, pairs=[
            Neighbours(((3, ((0, 0), (0, 0))),), ((3, ((1, 1), (1, 1))),)),
            Neighbours(((3, ((0, 0), (0, 0))),), ((3, ((1, 0), (1, 0))),), frozenset({"sex"})),
            Neighbours(((3, ((0, 0), (0, 0))),), ((3, ((0, 1),)),)),
        ],
    ),
]  # fmt: skip
