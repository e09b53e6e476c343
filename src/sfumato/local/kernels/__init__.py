"""Compiled loops; importing them loads numba, so they are imported where they are used."""
