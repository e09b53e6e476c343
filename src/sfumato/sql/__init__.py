"""Statements to questions: names resolved, ranges derived, totals asked, and the rest computed from what was released."""
