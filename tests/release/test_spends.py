"""Every cell of the page of spends: the loss is within the spend, or the refusal is the sentence on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.errors import UnsupportedSpend
from sfumato.release.question import fits
from sfumato.release.spends import QUESTIONS, SETTINGS, SPENDS, Cell, cells, page

PAGE = Path(__file__).parents[2] / "docs" / "spends.md"
CELLS = list(cells())


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.question} {cell.spend} {cell.setting}")
def test_the_loss_of_every_cell_is_within_its_spend_or_the_cell_is_refused(cell: Cell) -> None:
    question, setting, spend = QUESTIONS[cell.question], SETTINGS[cell.setting], SPENDS[cell.spend]
    if cell.refusal is not None:
        with pytest.raises(UnsupportedSpend) as refused:
            question.prepare(setting, spend)
        words = str(refused.value).replace(repr(spend), "the spend")
        assert words.replace(repr(replace(spend, unit="person")), "a spend for the whole person") == cell.refusal
        return
    loss = question.prepare(setting, spend).mechanism.loss()
    assert fits(loss, spend)
    assert loss.relation is setting.relation
    assert loss.person.is_zero is (cell.mechanism == "public, free")
    if spend.unit == "person" and not loss.person.is_zero:
        assert loss.person.within(spend)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run python -m sfumato.release.spends > docs/spends.md."
