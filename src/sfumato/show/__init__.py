"""One way to look at things: pictures, terminal tables, HTML.

The style is quiet and safe for colour-blind readers: a claim is a wide orange line and a measurement a thin
blue one on top of it, so that both are seen where they meet, and told apart in print.
"""

from sfumato.show.pages import html
from sfumato.show.pictures import Line, Panel, Picture, picture
from sfumato.show.tables import Table, table

__all__ = ["Line", "Panel", "Picture", "Table", "html", "picture", "table"]
