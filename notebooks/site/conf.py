"""Sphinx's settings for the site and the slides, and what readers meet: labels of the folds, words of the search.

notebooks/site/build.py calls Sphinx with them.
"""

import re

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.en import SearchEnglish

project = "minitrpo"
author = "the authors of minitrpo"
copyright = "the authors of minitrpo; code: MIT licence, text and figures: CC BY 4.0"  # noqa: A001
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference", "sphinx_revealjs"]
extensions += ["sphinx-mathjax-offline"]  # formulas without a network
exclude_patterns = ["notebooks"]  # to be downloaded, no pages
html_theme = "sphinx_book_theme"
html_title = "minitrpo"
html_favicon = "static/favicon.svg"
html_theme_options = {"show_toc_level": 2, "use_download_button": False, "home_page_in_toc": True}
html_sidebars = {"**": ["navbar-logo.html", "search-button-field.html", "sbt-sidebar-nav.html"]}
add_module_names = False
smartquotes = False  # -- of an option stays as it is typed
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["course.css"]
html_js_files = ["course.js"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
ABOUT = (
    "Lectures in which you build Trust Region Policy Optimization by hand and run it in parallel: the same "
    "result, to the bit, on any number of processes; exercises whose checks name your mistake."
)
myst_html_meta = {
    "description": ABOUT,
    "property=og:title": "minitrpo: parallel TRPO, built by hand",
    "property=og:description": ABOUT,
    "property=og:type": "website",
}
revealjs_static_path = ["static"]
revealjs_css_files = ["revealjs/dist/theme/white.css", "slides.css"]
revealjs_script_conf = {"hash": True, "slideNumber": True, "width": 1280, "height": 720, "margin": 0.03}
revealjs_script_conf |= {"navigationMode": "linear"}  # one key goes on, within a chapter and to the next
revealjs_script_plugins = [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}]  # the key S
KINDS = ("image/svg+xml", "image/png", "text/html", "text/markdown", "text/latex", "text/plain")  # the best first
nb_mime_priority_overrides = [("revealjs", kind, place) for place, kind in enumerate(KINDS)]
nb_execution_mode = "off"  # solutions were executed when they were built
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "misc.highlighting_failure"]
FOLDS = {"source": "the code", "output": "the result", "outputs": "the result", "content": "code and result"}
PARTS = ("cell_code_source", "cell_code_output")  # of a cell
JOINED = r"[\w]+(?:[-_]\w+)+"  # max-kl, max_kl, speed-up


class Search(SearchEnglish):
    """English, in which max-kl, max_kl and --max-kl are one word, and so are speed-up and speedup; see course.js."""

    def split(self, input: str) -> list[str]:  # noqa: A002 - Sphinx names it
        """Return the words of a text, and those joined by - or _ also as one."""
        words = self._word_re.findall(input.replace("_", "-"))
        return [*words, *(word.replace("-", "").replace("_", "") for word in re.findall(JOINED, input))]


def prepared(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Name the folds of a page, and keep code and results from the search."""
    for fold in tree.findall(HideCodeCellNode):
        for prompt in ("prompt_show", "prompt_hide"):
            words, _, kind = fold[prompt].replace(" code cell", "").rpartition(" ")
            fold[prompt] = f"{words} {FOLDS.get(kind, kind)}"
    for part in tree.findall(nodes.container):
        if part.get("nb_element") in PARTS:
            part["classes"].append("no-search")


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    languages["en"] = Search
    app.connect("doctree-resolved", prepared)
