"""The site: `make docs` builds it from these pages, the docstrings and the executed notebooks of the gallery."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

project = "sfumato"
copyright = "the authors of sfumato; Apache-2.0"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
suppress_warnings = [
    "myst.header",  # a page of theory may begin a proof at a deeper level
    "myst.xref_missing",  # anchors of the theory are raw HTML; tests/test_links.py checks all of them
    "misc.highlighting_failure",
]

# Pages are read as they are on GitHub too: anchors of headings by their text, links to files beside them.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Notebooks of the gallery run when the site is built; a cell that fails fails the build.
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "image/svg+xml", 1)]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, set_partial_fit_request",
}
add_module_names = False
default_role = "code"  # docstrings write `names` with single backticks

html_theme = "pydata_sphinx_theme"
html_title = "sfumato"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_sidebars = {page: [] for page in ("index", "start", "budget", "command-line")}  # pages without pages below them
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "sfumato"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 10,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def plain_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep the bars of |x - y| from being read as markup, outside of code."""
    lines[:] = [
        line
        if line.lstrip().startswith((">>>", "..."))
        else re.sub(r"(`[^`]*`)|\|", lambda found: found[1] or r"\|", line)
        for line in lines
    ]


def ours_only(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool:
    """Leave out what a room merely imports: from elsewhere, or the schema, which has a page of its own."""
    home = str(getattr(thing, "__module__", "sfumato"))
    return skip or not home.startswith("sfumato") or (what == "module" and home == "sfumato.table.schema")


def setup(app: Any) -> None:
    """Hook both in."""
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", ours_only)
