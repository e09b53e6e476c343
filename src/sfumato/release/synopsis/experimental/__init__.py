"""Learners of the thesis for thresholds of queries; demonstrations, to be given to `Labelled.fit`."""

from sfumato.release.synopsis.experimental.sieve import HarmonicSieve, walsh_hadamard
from sfumato.release.synopsis.experimental.thresholds import PolynomialThreshold, needed_queries

__all__ = ["HarmonicSieve", "PolynomialThreshold", "needed_queries", "walsh_hadamard"]
