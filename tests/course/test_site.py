"""The web page of the course and its slides: built without a network, and whole."""

import importlib.util
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "notebooks" / "site" / "build.py"
LECTURES = sorted(path.stem for path in (ROOT / "notebooks" / "solutions").glob("*.ipynb"))
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


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Nested(HTMLParser):
    """Whether what is opened is closed again, in order; and the slides among it: sections that hold no other."""

    def __init__(self, text):
        super().__init__()
        self.open, self.errors, self.slides = [], [], 0
        self.feed(text)
        self.errors += [f"<{tag}> is never closed" for tag, _, _ in self.open]

    def handle_starttag(self, tag, attributes):
        if tag in VOID:
            return
        if tag == "section":
            self.open = [(t, kind, "parent" if t == "section" else state) for t, kind, state in self.open]
        self.open.append((tag, dict(attributes).get("class") or "", ""))

    def handle_startendtag(self, tag, attributes):
        """Leave out what closes itself."""

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1][0] != tag:
            self.errors.append(f"line {self.getpos()[0]}: </{tag}> closes {self.open[-1:]}")
            return
        _, _, state = self.open.pop()
        if tag == "section" and state != "parent" and any("slides" in kind.split() for _, kind, _ in self.open):
            self.slides += 1


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that builds pages or slides once and returns their folder."""
    folders = {}

    def folder_of(*words):
        if words not in folders:
            folders[words] = tmp_path_factory.mktemp("built")
            command = [sys.executable, str(BUILD), *words, "--out", str(folders[words])]
            subprocess.run(command, check=True, timeout=900)
        return folders[words]

    return folder_of


def test_a_tag_that_is_torn_over_two_slides_is_seen():
    deck = "<div class='slides'><section><section><p>1</section><section>2</section></section></div>"
    assert Nested(deck.replace("<p>", "")).slides == 2
    assert Nested(deck.replace("<p>", "")).errors == []
    assert Nested(deck.replace("<p>", "<div>")).errors
    assert Nested("<div>").errors == ["<div> is never closed"]


def page_builder():
    """Return notebooks/site/build.py as a module."""
    spec = importlib.util.spec_from_file_location("site_build", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_long_paragraph_is_cut_between_sentences_and_stands_whole_in_the_notes():
    digest = page_builder().digest
    first, rest = (
        "It falls by $a. B$ (v. 2. Or so) each time.",
        "So it goes on for a while, " + "and on " * 20 + "to its end.",
    )
    long = f"{first} {rest} Does it **hold**? Not so."
    assert digest("Short. And whole.") == "Short. And whole."
    shown, notes = digest(long).split("\n\n")
    assert shown == f"{first} Does it **hold**?"
    assert notes.split("\n") == ["```{revealjs-notes}", long, "```"]
    for kept in (f"- {long}", f"| {long} |", f"1. {long}", f"<details>{long}</details>", f"<div>\n\n{long}\n\n</div>"):
        assert digest(kept) == kept
    assert digest(f"{long} **Not. Here** either.") == f"{long} **Not. Here** either.", "a sign that is torn"


@pytest.mark.parametrize(
    ("url", "public"),
    [("https://github.com/a/b.git", True), ("http://gitlab.example.org/g/s", True), ("https://user:pw@x.org/a", False),
     ("https://x.org:8080/a", False), ("http://127.0.0.1/a", False), ("https://10.0.0.1/a", False), ("/srv/a", False),
     ("https://host/a", False), ("http://git.internal/a", False), ("git@github.com:a/b", False), ("file:///a", False)],
)  # fmt: skip
def test_only_a_public_address_is_linked_as_the_repository(url, public):
    assert page_builder().is_public(url) == public


@pytest.mark.slow
def test_every_slide_is_in_its_deck(built):
    folder = built("--slides")
    for lecture in LECTURES:
        text = (folder / f"{lecture}.html").read_text("utf-8")
        deck = Nested(text)
        assert deck.errors == [], lecture
        assert text.count("<section") - text.count("</section") == 0
        assert 25 <= deck.slides <= 40, f"{lecture} has {deck.slides} slides"


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--slides",)])
def test_students_get_no_answer(words, built):
    from minitrpo.checks import names

    folder = built(*words)
    everything = "".join((folder / f"{lecture}.html").read_text("utf-8") for lecture in LECTURES)
    text = re.sub(r"<[^>]+>", "", everything)
    missing = [name for name in names() if f"exercise {name}: write the body of this function" not in unescape(text)]
    assert missing == []
    assert not re.search(r"guess_\w+ = [^N]", unescape(text))
    assert not re.search(r"you predicted:? [^{]", unescape(text))
    assert "Predict first" in text


@pytest.mark.slow
def test_the_first_page_says_what_it_is_about(built):
    folder = built()
    text = (folder / "index.html").read_text("utf-8")
    for part in ('name="description"', "og:title", "favicon.svg", "01_before_after.mp4", "90 min", "MIT licence"):
        assert part in text, part
    assert not list(folder.rglob("*.doctree"))
    assert {path.stem for path in folder.rglob("_downloads/*/*.ipynb")} == set(LECTURES)


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--slides",)])
def test_every_link_holds_and_nothing_comes_from_elsewhere(words, built):
    tmp_path = built(*words)
    pages = {path.name: Links(path.read_text("utf-8")) for path in tmp_path.glob("*.html")}
    assert {f"{name}.html" for name in [*LECTURES, "index", "claims", "glossary"]} <= pages.keys()
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


@pytest.mark.slow
def test_sliders_are_moved_without_a_kernel(built):
    folder = built()
    found = {}
    for lecture in LECTURES:
        text = (folder / f"{lecture}.html").read_text("utf-8")
        for box in re.findall(r'<div class="frames">.*?</script></div>', text, re.DOTALL):
            pictures = re.findall(r"<img [^>]*>", box)
            found[lecture] = len(pictures)
            assert f'max="{len(pictures) - 1}"' in box
            assert sum(" hidden" not in picture for picture in pictures) == 1, "one stands there without scripts"
            assert all(re.search(r'alt="[^"]{20,}"', p) and 'loading="lazy"' in p and "width=" in p for p in pictures)
            files = [folder / re.search(r'src="([^"]+)"', picture)[1] for picture in pictures]
            assert sum(file.stat().st_size for file in files) < 400_000
            assert len(set(files)) == len(files), "each position is another picture"
            assert "needs a running kernel" not in text
    assert len(found) >= 3
    assert min(found.values()) >= 5


@pytest.mark.slow
def test_what_a_page_has_of_its_own_is_less_than_a_megabyte(built):
    folder = built()
    for path in folder.glob("*.html"):
        images = {
            url for url in Links(path.read_text("utf-8")).loaded if url.startswith(("_images/", "_static/frames"))
        }
        size = path.stat().st_size + sum((folder / image).stat().st_size for image in images)
        assert size < 1_000_000, f"{path.name} has {size} bytes"
    assert (folder / "_static" / "scripts" / "fontawesome.js").stat().st_size < 200_000, "icons that no page has"


@pytest.mark.slow
def test_in_a_browser_nothing_is_cut_and_a_slider_moves(built):
    browsers = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = shutil.which("chromium") or pytest.skip("there is no chromium")
    folder, wide = built(), "e => e.scrollWidth > e.clientWidth + 1"
    with browsers.sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"]).new_page()
        for path in sorted(folder.glob("*.html")):
            page.goto(path.as_uri())
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 900})
                assert not page.evaluate(f"({wide})(document.documentElement)"), f"{path.name} at {width}"
                assert page.locator("main pre").evaluate_all(f"all => all.filter({wide}).length") == 0, path.name
        page.goto((folder / "03_conjugate_gradient.html").as_uri())
        page.locator(".frames input").focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        shown = page.locator(".frames img:not([hidden])")
        assert (shown.count(), page.locator(".frames output").inner_text()) == (1, shown.get_attribute("data-value"))
        assert page.locator(".frames input").input_value() == "3"
        page.wait_for_function("document.querySelector('.frames img:not([hidden])').naturalWidth > 0")
