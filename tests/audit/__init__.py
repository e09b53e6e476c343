"""Tests of the tools that try to break a promise."""
