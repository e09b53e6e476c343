"""Tables of people."""
