"""What pytest must not import: scripts that run in environments of their own."""

collect_ignore = ["privacy/oracle/make.py", "run_audit.py"]
