"""`python -m sfumato.serve`: run the HTTP collector."""

from __future__ import annotations

import typer

from sfumato.serve.command import serve

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(serve)

if __name__ == "__main__":
    app(prog_name="python -m sfumato.serve")
