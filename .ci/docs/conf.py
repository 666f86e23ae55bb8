"""How `make docs` turns the pages of docs/ into a web site: Sphinx reads their Markdown, docs/README.md is the first page."""

from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[2] / "docs"
project = "Kernelwright"
author = project
project_copyright = f"{project}'s contributors, Apache-2.0"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "README"
myst_heading_anchors = 4
html_theme = "furo"
html_title = project
html_show_sphinx = False
suppress_warnings = ["misc.highlighting_failure"]
"""Listings show fragments, and placeholders that no language has."""


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the table of contents to the first page: repositories show Markdown, which has none."""
    if page == root_doc:
        pages = sorted(str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md"))
        listed = "\n".join(name for name in pages if name != root_doc)
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def setup(app: Sphinx) -> None:
    """Called by Sphinx as it begins."""
    app.connect("source-read", add_contents)
