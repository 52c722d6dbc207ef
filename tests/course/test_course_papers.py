"""What a course needs beside its lectures: an index that is up to date, licences, ways in that fit the real set-up."""

import json
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEACHING = ROOT / "notebooks" / "teaching"
LECTURES = sorted(path.stem.partition("_")[0] for path in (ROOT / "notebooks" / "source").glob("[0-9]*.py"))


def minutes(text: str, column: int) -> list[tuple[int, int]]:
    """Return the spans of a column of a lecturer's plan."""
    rows = [line.split("|")[1 + column].strip() for line in text.splitlines() if line.startswith("|")]
    return [tuple(map(int, row.split("-"))) for row in rows if re.fullmatch(r"\d+-\d+", row)]


def test_the_index_by_concept_is_what_glossary_and_lectures_say():
    subprocess.run([sys.executable, ROOT / "notebooks" / "concepts.py", "--check"], check=True, cwd=ROOT)
    rows = (ROOT / "notebooks" / "concepts.md").read_text().splitlines()
    assert "| backtracking | [04](04_line_search.ipynb) |" in next(row for row in rows if row.startswith("| backtr"))


@pytest.mark.parametrize("number", [*LECTURES[:10], "12", "13", "14", "16"])
def test_both_plans_of_a_lecture_have_no_gap_and_end_in_time(number):
    text = (TEACHING / f"{number}.md").read_text()
    for column, length in enumerate((45, 90) if number == "16" else (90, 120)):
        spans = minutes(text, column)
        assert len(spans) > 5
        assert spans[0][0] == 0
        assert spans[-1][1] == length
        assert all(before[1] == after[0] < after[1] for before, after in pairwise(spans))


def test_the_syllabi_name_every_lecture():
    text = (TEACHING / "syllabi.md").read_text()
    assert [n for n in LECTURES if not re.search(rf"(?<!\d){n}(?![\da-z])", text)] == []


def test_the_exam_has_a_mark_for_every_question_and_sums_to_sixty():
    questions, marks = (TEACHING / "exam.md").read_text().split("## Mark scheme")
    points = [int(found) for found in re.findall(r"^\*\*\d+\. [^*]*\((\d+)\)\.\*\*", questions, re.MULTILINE)]
    assert sum(points) == 60
    assert len(re.findall(r"^\*\*\d+\.\*\*", marks, re.MULTILINE)) == len(points)
    for number, whole in enumerate(points, 1):
        part = re.search(rf"^\*\*{number}\. (.*?)(?=^\*\*{number + 1}\.|\Z)", questions, re.MULTILINE | re.DOTALL)[1]
        assert sum(map(int, re.findall(r"[.?:;] \((\d+)\)", part.partition("**")[2]))) == whole, number


def test_containers_are_made_of_what_the_project_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\.venv/ready-\w+", container["updateContentCommand"]):
        assert f"\n{target}:" in makefile
    python = re.search(r"python=(\S+)", (ROOT / "environment.yml").read_text())[1]
    assert container["image"].endswith(f":{python}")
    binder = ROOT / ".binder"
    assert f"python={python}" in (binder / "environment.yml").read_text()
    install = (binder / "postBuild").read_text()
    assert (binder / "postBuild").stat().st_mode & 0o111, "repo2docker runs it"
    assert (ROOT / re.search(r"--constraint (\S+)", install)[1]).exists()
    assert all(extra in project["optional-dependencies"] for extra in re.search(r"\[([\w,]+)\]", install)[1].split(","))


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in text
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_points_of_every_assignment_sum_to_twenty():
    parts = (TEACHING / "assignments.md").read_text().split("\n## ")[1:]
    assert len(parts) == 3
    for part in parts:
        rubric = part.split("| points | for |")[1].split("\n\n")[0]
        assert sum(map(int, re.findall(r"^\| (\d+) \|", rubric, re.MULTILINE))) == 20
        assert "**Reference**" in part
