"""Sphinx's settings for the site and the slides; notebooks/site/build.py calls Sphinx with them."""

project = "minitrpo"
author = "the authors of minitrpo"
copyright = "the authors of minitrpo; MIT licence"  # noqa: A001
extensions = ["myst_nb", "reference", "sphinx_revealjs", "sphinx-mathjax-offline"]  # formulas without a network
exclude_patterns = ["notebooks"]  # to be downloaded, no pages
html_theme = "sphinx_book_theme"
html_title = "minitrpo"
html_favicon = "static/favicon.svg"
html_theme_options = {"show_toc_level": 2, "use_download_button": False, "home_page_in_toc": True}
html_sidebars = {"**": ["navbar-logo.html", "sbt-sidebar-nav.html"]}  # the search stands on top
add_module_names = False
smartquotes = False  # -- of an option stays as it is typed
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["course.css"]
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
