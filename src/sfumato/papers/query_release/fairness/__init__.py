"""Fairness in the thesis's own forms: exponential mapping, adjusted metric, optimal private mechanism."""
