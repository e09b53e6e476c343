"""Tests of pictures, tables and HTML."""
