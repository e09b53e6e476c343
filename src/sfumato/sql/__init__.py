"""Statements to questions: names resolved, ranges derived, totals asked, the rest computed from what was released."""
