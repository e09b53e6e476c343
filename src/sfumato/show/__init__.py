"""One way to look at things: pictures, terminal tables, HTML.

The style is quiet and safe for colour-blind readers: a claim is a wide orange line and a measurement a thin
blue one on top of it, so that both are seen where they meet, and told apart in print.
"""

from sfumato.moved import moved
from sfumato.show.answers import draw_answer
from sfumato.show.bands import BandChart, band_chart
from sfumato.show.bars import Bar, Gauge, bars, gauges
from sfumato.show.drawing import Drawing
from sfumato.show.intervals import Dot, IntervalLine, intervals
from sfumato.show.pages import html
from sfumato.show.pictures import Line, Panel, Picture, picture
from sfumato.show.tables import Table, table

__all__ = [
    "BandChart",
    "Bar",
    "Dot",
    "Drawing",
    "Gauge",
    "IntervalLine",
    "Line",
    "Panel",
    "Picture",
    "Table",
    "band_chart",
    "bars",
    "draw_answer",
    "gauges",
    "html",
    "intervals",
    "picture",
    "table",
]

__getattr__ = moved(__name__, {"Row": "sfumato.show.IntervalLine"})
