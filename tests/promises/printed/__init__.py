"""The papers' printed versions that are wrong, kept as mutants."""
