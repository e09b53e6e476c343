"""The privacy cases: every shipped mechanism, its neighbours, and the mutants that must be caught."""
