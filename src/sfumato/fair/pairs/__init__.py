"""Work on pairs of people without holding all pairs: divergences, exhaustive scans, envelopes."""
