"""Selection rates, impact ratios and error rates by group, of private rows."""
