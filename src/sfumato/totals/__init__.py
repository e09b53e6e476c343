"""Counts and sums over cells, with noise: what questions about numbers and keys are made of."""
