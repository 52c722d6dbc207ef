"""The web page of the course and its slides: built without a network, and whole."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "notebooks" / "site" / "build.py"
pytest.importorskip("myst_nb", reason="make site installs what builds it")


class Links(HTMLParser):
    """What a page links to and loads, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "video", "source", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--slides",)])
def test_every_link_holds_and_nothing_comes_from_elsewhere(words, tmp_path):
    subprocess.run([sys.executable, str(BUILD), *words, "--out", str(tmp_path)], check=True, timeout=300)
    pages = {path.name: Links(path.read_text("utf-8")) for path in tmp_path.glob("*.html")}
    lectures = [path.stem for path in (ROOT / "notebooks" / "solutions").glob("*.ipynb")]
    assert {f"{name}.html" for name in [*lectures, "index", "claims", "glossary"]} <= pages.keys()
    for name, page in pages.items():
        for url in page.loaded:
            assert not re.match(r"https?:|//", url), f"{name} loads {url}"
            if not url.startswith("data:"):
                assert (tmp_path / unquote(urlsplit(url).path)).exists(), f"{name} loads {url}"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            target = unquote(parts.path) or name
            assert (tmp_path / target).exists(), f"{name} links to {link}"
            if parts.fragment and target in pages and not words and name != "genindex.html":
                assert unquote(parts.fragment) in pages[target].places, f"{name} links to {link}"
