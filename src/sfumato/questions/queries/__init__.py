"""All queries of a workload, answered together."""
