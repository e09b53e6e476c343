"""One way to look at things: pictures, terminal tables, HTML.

The style is quiet and safe for colour-blind readers; a claim is a dashed orange line, a measurement a solid
blue one, so that the two are told apart in print too.
"""

from sfumato.show.pages import html
from sfumato.show.pictures import Line, Panel, Picture, picture
from sfumato.show.tables import Table, table

__all__ = ["Line", "Panel", "Picture", "Table", "html", "picture", "table"]
