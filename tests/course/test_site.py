"""The site and the slides: whole, without answers for students, and nothing comes from elsewhere."""

import importlib.util
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from runs import ROOT

import minitrpo
from minitrpo.checks import names
from minitrpo.course.checks.framework.register import ProgramExercise, find

BUILD = ROOT / "notebooks" / "site" / "build.py"
SOLUTIONS = sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))
LECTURES = [path.stem for path in SOLUTIONS]
READING = {stem for stem in LECTURES if stem.partition("_")[0] not in {find(name).lecture for name in names()}}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def built_once(test):
    return pytest.mark.slow(pytest.mark.xdist_group("site")(test))  # by one worker


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
        loads = tag in ("script", "img", "video", "source", "iframe")
        self.loaded += [given["src"]] if loads and "src" in given else []
        self.loaded += [given["href"]] if given.get("rel") in ("stylesheet", "icon", "preload") else []
        if tag == "section":
            self.open = ["parent" if each == "section" else each for each in self.open]
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        opened = tag if tag in VOID or not self.open else self.open.pop()
        self.slides += (tag, opened) == ("section", "section")  # a section that holds others is no slide
        if tag != opened and (tag, opened) != ("section", "parent"):
            self.errors.append(f"line {self.getpos()[0]}: </{tag}>")


@pytest.fixture(scope="session")
def site():
    return built("site")


@pytest.fixture(scope="session")
def slides():
    return built("slides", "--slides")


def built(name, *words):
    """Return {file name: page} of site/ or slides/, built if it is not there or older than what it is made of."""
    folders = ("docs", "experiments", "minitrpo", "notebooks/site")
    pages = [file for folder in folders for kind in ("*.md", "*.py") for file in (ROOT / folder).rglob(kind)]
    sources = [ROOT / "README.md", *pages, *(ROOT / "notebooks").glob("*.*"), *SOLUTIONS]
    first = ROOT / name / "index.html"
    if not first.exists() or first.stat().st_mtime < max(file.stat().st_mtime for file in sources):
        subprocess.run([sys.executable, BUILD, *words], check=True, timeout=900)
    return {path.name: Page(path) for path in (ROOT / name).glob("*.html")}


def imported(path):
    """Return the program that builds pages, as a module."""
    spec = importlib.util.spec_from_file_location("site_build", path)
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


@pytest.mark.slow
def test_nothing_that_stands_in_a_working_copy_is_published(tmp_path, monkeypatch):
    build, lecture, made = imported(BUILD), "03_conjugate_gradient", tmp_path / "made"
    for name in ("source", "solutions", "made/static"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "notebooks" / "source" / f"{lecture}.py", tmp_path / "source")
    for name, value in (("HERE", tmp_path), ("SOURCES", tmp_path / "source")):
        monkeypatch.setattr(build.course, name, value)
    for name in (f"{lecture}.ipynb", f"solutions/{lecture}.ipynb"):
        notebook = nbformat.read(ROOT / "notebooks" / name, 4)
        notebook.cells[-1].source = "my_answer"
        notebook.cells.append(nbformat.v4.new_code_cell("my_answer"))
        nbformat.write(notebook, tmp_path / name)
    build.write_sources(made, False, answers=False, repository="https://github.com/a/b")
    text = "".join(path.read_text() for path in made.rglob("*.ipynb"))
    assert ("my_answer" in text, "mybinder.org/v2/gh/a/b/" in text) == (False, True)


@pytest.mark.slow
def test_a_long_paragraph_is_cut_between_sentences_and_only_public_addresses_are_linked():
    build = imported(BUILD)
    first, rest = "It falls by $a. B$ (v. 2. Or so) each time.", f"So it goes on, {'and on ' * 20}to its end."
    long = f"{first} {rest} Does it **hold**? Not so."
    assert build.digest(long).split("\n\n") == [f"{first} Does it **hold**?", f"{build.NOTES}\n{long}\n```"]
    for kept in ("Short. And whole.", f"- {long}", f"| {long} |", f"<div>\n\n{long}\n\n</div>"):
        assert build.digest(kept) == kept
    public = ["https://github.com/a/b.git", "http://gitlab.example.org/g/s"]
    private = ["https://user:pw@x.org/a", "https://x.org:8080/a", "http://127.0.0.1/a", "/srv/a"]
    private += ["http://git.internal/a"]
    assert [url for url in (*public, *private) if build.is_public(url)] == public


@built_once
def test_slides_are_whole_and_as_many_as_a_class_sees_in_its_time(slides):
    assert {name: page.errors[:1] for name, page in slides.items() if name[:2].isdigit() and page.errors} == {}
    counts = {name: slides[f"{name}.html"].slides for name in LECTURES}
    assert {name: n for name, n in counts.items() if not (12 if name in READING else 15) <= n <= 40} == {}
    assert [name for name in LECTURES if '"navigationMode": "linear"' not in slides[f"{name}.html"].text] == []


@built_once
def test_students_get_no_answer_and_a_first_page_that_says_what_it_is_about(site, slides):
    for pages in (site, slides):
        text = unescape(re.sub(r"<[^>]+>", "", "".join(pages[f"{name}.html"].text for name in LECTURES)))
        gaps = {name: f"exercise {name}: write the body of this function" for name in names()}
        programs = {name for name in names() if isinstance(find(name), ProgramExercise)}
        gaps |= dict.fromkeys(programs, "Write what belongs in place of each ...")
        assert [name for name, gap in gaps.items() if gap not in text] == []
        assert not re.search(r"guess_\w+ = [^N]|you predicted:? [^{]", text)
        assert "Predict first" in text
    parts = ('name="description"', "og:title", "favicon.svg", "01_before_after.mp4", "API reference")
    assert [part for part in parts if part not in site["index.html"].text] == []
    own = "trpo_in_one_file.html"  # a program that readers are asked to open
    text = unescape(re.sub(r"<[^>]+>", "", "".join(page.text for name, page in site.items() if name != own)))
    course = imported(BUILD).course
    # lecture 05b, and no other page, may show the lines of the program through which it walks after its exercise
    walked = {line.strip() for line in (ROOT / "mpi_scripts/trpo_in_one_file.py").read_text("utf-8").splitlines()}
    others = {name: page.text for name, page in site.items() if name not in (own, "05b_trpo.html")}
    elsewhere = unescape(re.sub(r"<[^>]+>", "", "".join(others.values())))
    lines = [line for name in names() for line in course.blanked_lines(name)]
    assert [line for line in lines if f"{line}\n" in (elsewhere if line.strip() in walked else text)] == []
    taught = {name for name in site if name.startswith("teaching")}
    assert taught == {"teaching.html", *(f"teaching-{name}.html" for name in ("leaderboard", "projects", "syllabi"))}
    assert {path.stem for path in (ROOT / "site").rglob("_downloads/*/*.ipynb")} == set(LECTURES)


@built_once
def test_every_link_holds_and_nothing_comes_from_elsewhere(site, slides):
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


@built_once
def test_the_reference_has_what_is_public_and_the_search_finds_pages_of_every_kind(site):
    assert {f"minitrpo.{name}" for name in minitrpo.__all__} <= site["minitrpo.html"].places
    assert "(N, D), as the policy saw them" in site["minitrpo.trpo.html"].text  # of a field, the comment behind it
    found = re.search(r"docnames:(\[.*?\])", (ROOT / "site" / "searchindex.js").read_text().replace('"', ""))[1]
    names = found.strip("[]").split(",")
    assert {"index", "use", "minitrpo.trpo", *LECTURES} <= {*names}
    terms = (ROOT / "site" / "searchindex.js").read_text().replace('"', "")
    for word, pages in (("maxkl", {"glossary", "use"}), ("speedup", {"07b_pool", "glossary"})):  # max-kl, speed-up
        numbers = re.search(rf"[{{,]{word}:\[?([\d,]+)", terms)[1].strip(",").split(",")
        assert pages <= {names[int(number)] for number in numbers}
    assert not re.search(r"[{,]figsize:", terms)  # code of lectures is not searched


@built_once
def test_texts_link_to_what_they_mention_and_the_folds_of_a_cell_have_two_labels(site):
    lecture = site["05b_trpo.html"]
    wanted = ["trpo_in_one_file.html", "minitrpo.trpo.html", "06_timing.html", "glossary.html#frans-hafner-2016"]
    article = lecture.text.partition("<article")[2].partition("</article>")[0]
    assert [link for link in wanted if f'href="{link}"' not in article] == []
    assert "def trpo_step(theta" in unescape(re.sub(r"<[^>]+>", "", site["trpo_in_one_file.html"].text))
    folds = re.findall(r'collapsed admonition-title">(Predict[^<]*)<', lecture.text)
    assert len(set(folds)) == 2
    assert [name for name in LECTURES if 'alt="_images' in site[f"{name}.html"].text] == []


@built_once
def test_lecturers_get_every_answer_and_the_notes(tmp_path, monkeypatch):
    build = imported(BUILD)
    monkeypatch.setattr(build, "SLIDERS", {})  # these two draw what the site for students has, too
    monkeypatch.setattr(build, "with_pictures", lambda text, folder: text)
    monkeypatch.setattr(sys, "argv", ["build.py", "--answers", "--out", str(tmp_path / "out")])
    assert build.main() == 0
    pages = {path.stem: Page(path).text for path in (tmp_path / "out").glob("*.html")}
    assert {f"teaching-{path.stem}" for path in (ROOT / "notebooks/teaching").glob("[0-9e]*.md")} <= pages.keys()
    text = unescape(re.sub(r"<[^>]+>", "", "".join(pages[name] for name in LECTURES)))
    assert ("write the body of this function" in text, "def trpo_step" in text) == (False, True)


@built_once
def test_sliders_are_moved_without_a_kernel(site):
    boxes = [
        box for page in site.values() for box in re.findall(r'<div class="frames">.*?</script></div>', page.text, re.S)
    ]
    assert len(boxes) >= 3
    for pictures, box in ((re.findall(r"<img [^>]*>", box), box) for box in boxes):
        assert len({re.search(r'src="([^"]+)"', picture)[1] for picture in pictures}) == len(pictures) >= 5
        assert f'max="{len(pictures) - 1}"' in box
        assert sum(" hidden" not in picture for picture in pictures) == 1, "one stands there without scripts"
