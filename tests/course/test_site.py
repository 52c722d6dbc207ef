"""The web page of the course and its slides: whole, without answers for students, and nothing comes from elsewhere."""

import importlib.util
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from runs import ROOT

from minitrpo.checks import names

BUILD = ROOT / "notebooks" / "site" / "build.py"
LECTURES = sorted(path.stem for path in (ROOT / "notebooks" / "solutions").glob("*.ipynb"))
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
one_worker = pytest.mark.xdist_group("site")  # pages and slides are built once


class Page(HTMLParser):
    """What a page links to and loads, the places in it, tags that are not closed in order, and its slides."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text("utf-8")
        self.links, self.loaded, self.places, self.open, self.errors, self.slides = [], [], set(), [], [], 0
        self.feed(self.text)
        self.errors += self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given["href"]] if tag == "a" and given.get("href") else []
        self.loaded += (
            [given["src"]] if tag in ("script", "img", "video", "source", "iframe") and "src" in given else []
        )
        self.loaded += [given["href"]] if given.get("rel") in ("stylesheet", "icon", "preload") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """Leave out what closes itself."""

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.errors.append(f"line {self.getpos()[0]}: </{tag}>")
        if tag == "section":
            self.slides += self.open[-1:] == ["section"]  # those that hold slides lie outside


@pytest.fixture(scope="session")
def site():
    return built("site")


@pytest.fixture(scope="session")
def slides():
    return built("slides", "--slides")


def built(name, *words):
    """Return {file name: page} of site/ or slides/, built if it is not there or older than what it is made of."""
    sources = [
        BUILD,
        *(ROOT / "notebooks").glob("*.*"),
        *(ROOT / "notebooks/solutions").glob("*"),
        ROOT / "docs/claims.md",
    ]
    first = ROOT / name / "index.html"
    if not first.exists() or first.stat().st_mtime < max(file.stat().st_mtime for file in sources):
        subprocess.run([sys.executable, BUILD, *words], check=True, timeout=900)
    return {path.name: Page(path) for path in (ROOT / name).glob("*.html")}


def test_a_long_paragraph_is_cut_between_sentences_and_only_public_addresses_are_linked():
    spec = importlib.util.spec_from_file_location("site_build", BUILD)
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    first, rest = "It falls by $a. B$ (v. 2. Or so) each time.", f"So it goes on, {'and on ' * 20}to its end."
    long = f"{first} {rest} Does it **hold**? Not so."
    assert build.digest(long).split("\n\n") == [f"{first} Does it **hold**?", f"{build.NOTES}\n{long}\n```"]
    for kept in (
        "Short. And whole.",
        f"- {long}",
        f"| {long} |",
        f"<div>\n\n{long}\n\n</div>",
        f"{long} **Not. Here**",
    ):
        assert build.digest(kept) == kept
    public = ["https://github.com/a/b.git", "http://gitlab.example.org/g/s"]
    private = ["https://user:pw@x.org/a", "https://x.org:8080/a", "http://127.0.0.1/a", "/srv/a", "https://host/a"]
    private += ["http://git.internal/a", "git@github.com:a/b", "file:///a"]
    assert [url for url in (*public, *private) if build.is_public(url)] == public


@one_worker
@pytest.mark.slow
def test_slides_are_whole_and_as_many_as_a_class_sees_in_its_time(slides):
    wrong = {name: slides[f"{name}.html"].errors[:1] for name in LECTURES if slides[f"{name}.html"].errors}
    assert wrong == {}
    counts = {name: slides[f"{name}.html"].slides for name in LECTURES}
    assert {name: n for name, n in counts.items() if not 25 <= n <= 40} == {}


@one_worker
@pytest.mark.slow
def test_students_get_no_answer_and_a_first_page_that_says_what_it_is_about(site, slides):
    for pages in (site, slides):
        text = unescape(re.sub(r"<[^>]+>", "", "".join(pages[f"{name}.html"].text for name in LECTURES)))
        assert [name for name in names() if f"exercise {name}: write the body of this function" not in text] == []
        assert not re.search(r"guess_\w+ = [^N]|you predicted:? [^{]", text)
        assert "Predict first" in text
    told = ('name="description"', "og:title", "favicon.svg", "01_before_after.mp4", "90 min", "MIT licence")
    assert [part for part in told if part not in site["index.html"].text] == []
    assert {path.stem for path in (ROOT / "site").rglob("_downloads/*/*.ipynb")} == set(LECTURES)


@one_worker
@pytest.mark.slow
def test_every_link_holds_nothing_comes_from_elsewhere_and_no_page_is_large(site, slides):
    for folder, pages in ((ROOT / "site", site), (ROOT / "slides", slides)):
        assert {f"{name}.html" for name in [*LECTURES, "index", "claims", "glossary"]} <= pages.keys()
        for name, page in pages.items():
            for url in (url for url in page.loaded if not url.startswith("data:")):
                assert not re.match(r"https?:|//", url), f"{name} loads {url}"
                assert (folder / unquote(urlsplit(url).path)).exists(), f"{name} loads {url}"
            for link, parts in ((link, urlsplit(link)) for link in page.links):
                target = unquote(parts.path) or name
                assert parts.scheme or (folder / target).exists(), f"{name} links to {link}"
                if parts.fragment and not parts.scheme and target in site and pages is site and name != "genindex.html":
                    assert unquote(parts.fragment) in site[target].places, f"{name} links to {link}"
    for name, page in site.items():
        own = {url for url in page.loaded if url.startswith(("_images/", "_static/frames"))}
        assert len(page.text) + sum((ROOT / "site" / image).stat().st_size for image in own) < 1_000_000, name


@one_worker
@pytest.mark.slow
def test_sliders_are_moved_without_a_kernel(site):
    found = {
        name: re.findall(r'<div class="frames">.*?</script></div>', site[f"{name}.html"].text, re.S)
        for name in LECTURES
    }
    assert sum(map(bool, found.values())) >= 3
    for box in (box for boxes in found.values() for box in boxes):
        pictures = re.findall(r"<img [^>]*>", box)
        assert f'max="{len(pictures) - 1}"' in box
        assert sum(" hidden" not in picture for picture in pictures) == 1, "one stands there without scripts"
        assert all(re.search(r'alt="[^"]{20,}"', p) and 'loading="lazy"' in p and "width=" in p for p in pictures)
        files = {ROOT / "site" / re.search(r'src="([^"]+)"', picture)[1] for picture in pictures}
        assert len(files) == len(pictures) >= 5
        assert sum(file.stat().st_size for file in files) < 400_000
