"""The page of the last audit is read as it was written, so that a run goes on where another one was cut short."""

from tests.kept_results import Results
from tests.run_audit import on_page, page

SEEN: Results = {
    "tests/ask/test_lists.py::test_counts[Pure(1)|a b]": ("passed", 1.5),
    "tests/test_storing.py::test_kills": ("failed", 0.1),
    "tests/table/test_spark.py::TestOnSpark::test_wide[500]": ("skipped", 0.0),
}


def test_a_page_is_read_as_it_was_written() -> None:
    text = page(SEEN, "0123456789ab", whole=False)
    assert on_page(text, "0123456789ab") == SEEN
    assert "cut short" in text and "1 of 3 checks passed, 1 failed" in text
    assert "complete" in page(SEEN, "0123456789ab", whole=True)


def test_results_of_other_files_are_not_taken() -> None:
    assert on_page(page(SEEN, "0123456789ab", whole=True), "ba9876543210") == {}
    assert on_page(page(SEEN, "0123456789ab", whole=True), "0123456789ab+") == {}
