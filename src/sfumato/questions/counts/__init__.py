"""Histograms, answers by group, and numbers of people."""
