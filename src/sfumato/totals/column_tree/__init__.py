"""Frequent records of many columns, found along a tree of the columns: heavy hitters with a pure spend."""
