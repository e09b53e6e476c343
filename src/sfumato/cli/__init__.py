"""The command line: `sfumato init | check | query | read | converse | ledger | report | …`.

Nothing heavy is imported before a command needs it, so that `sfumato --help` is quick.
"""

from sfumato.cli.app import app, main

__all__ = ["app", "main"]
