"""Sketches of one kind of query each: all parities of binary columns, all cuts of a private graph."""
