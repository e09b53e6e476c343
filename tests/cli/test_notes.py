"""What is known about an error beside its interval stands under the table."""

from __future__ import annotations

import pyarrow as pa

from sfumato import Pure, Schema, curate, workloads
from sfumato.cli.asking import Found
from sfumato.questions.queries.question import Queries
from tests.imputed import booleans


def test_notes_stand_below_the_answer() -> None:
    schema = Schema({"rain": booleans(), "wind": booleans()})
    rows = pa.table({"rain": [True, False] * 50, "wind": [True] * 100})
    with curate(rows, schema, Pure(1)) as curator:
        answer = curator.ask(Queries(workloads.marginals(schema, width=2)), Pure(1))
    assert answer.notes
    text = Found(answer.loss, "", True, (answer,)).text()
    assert all(note in text for note in answer.notes)
    assert text.index(answer.notes[0]) < text.index("It cost")
