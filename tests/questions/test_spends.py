"""Every cell of the page of spends: the loss is within the spend, or the refusal is the sentence on the page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from sfumato.ask.question import fits
from sfumato.errors import UnsupportedSpend
from tests import spends
from tests.spends import QUESTIONS, SETTINGS, SPENDS, Cell, page

pytestmark = pytest.mark.xdist_group("spends")  # all of them read the cells, which one worker makes once
PAGE = Path(__file__).parents[2] / "docs" / "spends.md"


@cache
def cells() -> list[Cell]:
    return list(spends.cells())


FIRST, *REST = SETTINGS


@pytest.mark.parametrize("name", [FIRST, *(pytest.param(name, marks=pytest.mark.audit) for name in REST)])
def test_the_loss_of_every_cell_is_within_its_spend_or_the_cell_is_refused(name: str) -> None:
    setting, found = SETTINGS[name], [cell for cell in cells() if cell.setting == name]
    assert len(found) == len(QUESTIONS) * len(SPENDS)
    for cell in found:
        question, spend = QUESTIONS[cell.question], SPENDS[cell.spend]
        if cell.refusal is not None:
            with pytest.raises(UnsupportedSpend):
                question.prepare(setting, spend)
            continue
        loss = question.prepare(setting, spend).loss()
        assert fits(loss, spend) and loss.relation is setting.relation, cell
        assert loss.person.is_zero is (cell.mechanism == "public, free"), cell
        if spend.unit == "person" and not loss.person.is_zero:
            assert loss.person.within(spend), cell


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(cells()), "Run python -m tests.spends > docs/spends.md."
