"""Tables of counts and their contrasts, measured together: what workloads and synthetic data are made of."""
