"""A number of a page is what is recorded, and one that somebody typed is found: by the rules of tests/tools/lint.py."""

import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import pages
from experiments.numbers import NUMBERS, of_runs
from experiments.typed import typed_numbers
from minitrpo.errors import BadInput

ROOT = Path(__file__).parents[2]
OURS = [ROOT / f"docs/{name}.md" for name in ("adapting", "cluster", "explain", "family", "own-algorithm", "scaling")]
MEASURED = re.compile(r"\d+\.\d+|\d[\d,]*,\d{3}|\d{3,}|\d+ %|\d+ of \d+")  # a typed one of these is found

FRACTIONS = st.decimals(0, 1000, places=2).map(str)
LARGE = st.integers(100, 1_899).map(lambda n: f"{n}") | st.integers(1_000, 10**7).map(lambda n: f"{n:,}")
SMALL = st.integers(0, 99).map(str)
UNITS = st.sampled_from(["%", "times", "s", "ms", "seconds", "minutes", "hours", "runs", "episodes", "steps", "of 12"])
CLAIMS = st.one_of(
    FRACTIONS, LARGE, st.builds("{} {}".format, SMALL, UNITS), st.builds("{} to {} %".format, SMALL, SMALL)
)
AROUND = [
    "It took {} on two ranks.",
    "**{}**, as measured",
    "- from here to there ({}; Hopper)",
    "| arm | {} | words |",
    "![The curve rises to {}](picture.png)",
    "see [the table, {}](tables.md#there)",
    "`--max-kl 0.01` gives {}, on `2` cores,\nand on the next line $0.5$",
]


@pytest.fixture(scope="module")
def lint():
    spec = importlib.util.spec_from_file_location("lint", ROOT / "tests/tools/lint.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@given(CLAIMS, st.sampled_from(AROUND))
def test_a_typed_claim_is_found_and_a_generated_one_or_a_setting_is_not(claim, words):
    assert typed_numbers(words.format(claim)), "typed"
    assert not typed_numbers(words.format(f"<!-- =some.name -->{claim}<!-- = -->")), "generated"
    assert not typed_numbers(words.format(f"`{claim}`")), "a setting"
    assert not typed_numbers(f"<!-- block -->\n{words.format(claim)}\n<!-- /block -->"), "in a generated table"
    assert not typed_numbers(f"```sh\n{words.format(claim)}\n```"), "code"
    assert typed_numbers(f"```sh\ncode\n```\n\n{words.format(claim)}\n\n```sh\ncode\n```"), "between code"
    assert typed_numbers(f"<!-- =some.name -->1<!-- = --> and {words.format(claim)}"), "beside a generated number"
    assert typed_numbers(words.format(f"<!-- =some.name -->{claim}")), "a mark without an end"


@pytest.mark.parametrize(
    "words",
    [
        "with Python 3.11 and 3.13, numpy 2, MuJoCo 4.0.0, Open MPI 4.1 and 5.0, version 0.3.0, CC BY 4.0",
        "on 2 ranks, rank 0, 8 ranks on 2 cores, a network of 64-64 units, exit code 2",
        "# 1,000 ways\n\nFrans (2016), 28 November 2026, 25 and 26 November 2026, 2026-11-28; ICML 2015, lecture 09a",
        "HalfCheetah-v5, A3C, TD3, AMD EPYC (Zen 4), x86-64, the 95 % interval of 5 seeds".replace("5 seeds", "a mean"),
        "a mean with its 95 %\nbootstrap interval, and the 95\n% interval of another",
        "1. one\n2. two\n\n[an issue 1050](https://example.org/1050) and [a page](page.md#section-1234)",
    ],
)
def test_a_name_a_date_a_version_and_a_small_whole_number_may_be_typed(words):
    assert typed_numbers(words) == []


@pytest.mark.parametrize("page", OURS, ids=lambda page: page.name)
def test_a_number_whose_marks_are_taken_away_is_found(page):
    text = page.read_text("utf-8")
    assert typed_numbers(text) == []
    marked = [match for match in pages.NUMBER.finditer(text) if not match[2].endswith(".made")]  # machine and date
    marked = [match for match in marked if MEASURED.search(match[0].split("-->", 1)[1])]
    assert marked
    for match in marked:
        bare = match[0].removeprefix(match[1]).removesuffix(match[3])
        assert typed_numbers(text[: match.start()] + bare + text[match.end() :]), bare


@given(st.data())
def test_another_digit_in_a_marked_number_or_table_is_not_what_the_program_writes(data):
    text = (ROOT / "docs/family.md").read_text("utf-8")
    block = re.compile(r"<!-- members -->\n.*?<!-- /members -->", re.DOTALL)
    spans = [(match.end(1), match.start(3)) for match in pages.NUMBER.finditer(text)] + [block.search(text).span()]
    digits = [at for start, end in spans for at in range(start, end) if text[at].isdigit()]
    at = data.draw(st.sampled_from(digits))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != text[at]]))
    assert pages.filled(text) == text
    assert pages.filled(text[:at] + other + text[at + 1 :]) == text


def test_lint_names_the_page_of_either(lint, monkeypatch):
    page, original = ROOT / "docs/family.md", lint.text
    text = original(page)
    (first, *_) = pages.NUMBER.finditer(text)
    monkeypatch.setattr(lint.recorded, "PAGES", [page])
    changed = text[: first.end(1)] + "99 of 100" + text[first.start(3) :]
    monkeypatch.setattr(lint, "text", lambda file: changed if file == page else original(file))
    assert any("docs/family.md" in line for line in lint.a_table_says_what_was_recorded())
    assert not any("docs/family.md" in line for line in lint.a_measured_number_is_not_typed())
    changed = f"{text}\nIt was 3 times as fast.\n"
    assert any("docs/family.md" in line and "3 times" in line for line in lint.a_measured_number_is_not_typed())


NUMBERED = "<!-- =some.name -->{}<!-- = -->"
WORDS = st.one_of(
    st.text("abcde,.", min_size=1, max_size=12),
    st.sampled_from(["`code of several words`", "$a \\times b$", "[a link](page.md)", "**bold**", "-", "1.", "#", "|"]),
    st.text("abc ,", min_size=1, max_size=90).map(NUMBERED.format),
    SMALL.map(NUMBERED.format),
)


@pytest.mark.parametrize("begin", ["", "  ", "- ", "* ", "    - ", "1. ", "> "])
def test_lint_refuses_a_line_that_begins_with_a_mark(lint, monkeypatch, begin):
    page, original = ROOT / "docs/family.md", lint.pages()
    for line, refused in ((f"{begin}{NUMBERED.format(7)} runs", True), (f"{begin}of {NUMBERED.format(7)} runs", False)):
        monkeypatch.setattr(lint, "pages", lambda line=line: original | {page: f"words\n{line}\n"})
        found = [*lint.a_line_does_not_begin_with_the_mark_of_a_number()]
        assert any("docs/family.md:2" in where for where in found) is refused, line


@given(st.lists(WORDS, min_size=1, max_size=60), st.sampled_from(["", "- ", "  - ", "12. "]))
def test_a_paragraph_is_wrapped_so_that_no_line_begins_with_a_mark(words, item):
    paragraph = f"{item}Here {' '.join(words)}"
    after = pages.wrapped(paragraph)
    first, *others = after.split("\n")
    assert not any(map(pages.LEADING.match, (first, *others)))
    assert all(line.startswith(" " * len(item)) for line in others), "they belong to the item"
    assert not any(re.match(r"\s*(?:[-#|]|1\.)(?:\s|$)", line) for line in others), "no line became something else"
    assert "".join(after.split()) == "".join(paragraph.split())
    assert pages.wrapped(after) == after
    narrow = [line for line in (first, *others) if not re.search(r"-->[^<]{30}", line)]
    assert all(pages.width(line) <= pages.WIDTH + 40 for line in narrow)


def test_what_is_no_paragraph_is_not_wrapped():
    line = f"{NUMBERED.format(7)} {'word ' * 40}".strip()
    for kept in (f"| {line} |", f"# {line}", f"```sh\n{line}\n```", f"<!-- block -->\n{line}\n<!-- /block -->"):
        assert pages.reflowed(kept) == kept
    assert pages.reflowed("word " * 40) == "word " * 40, "it has no number"
    page = f"- an item of\n  {NUMBERED.format(7)} runs\n- another\n\nwords\n"
    assert pages.reflowed(page) == f"- an item of {NUMBERED.format(7)} runs\n- another\n\nwords\n"


def test_pages_stand_as_they_are_wrapped():
    for page in pages.PAGES:
        text = page.read_text("utf-8")
        assert pages.reflowed(text) == text, page.name


def test_pages_and_numbers_know_each_other():
    shown = {name for page in pages.PAGES for _, name, _ in pages.NUMBER.findall(page.read_text("utf-8"))}
    assert shown == NUMBERS.keys()
    with pytest.raises(BadInput, match="no\\.such\\.number"):
        pages.filled("<!-- =no.such.number -->1<!-- = -->")


def test_shares_are_rounded_as_the_tables_round_them():
    for thousandths in range(1_001):
        share = thousandths / 1_000
        assert float(of_runs.percent(share).removesuffix(" %")) == pytest.approx(100 * float(f"{share:.2f}"))
