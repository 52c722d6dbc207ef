"""What a lecturer hands out adds up: plans, points, marks; and containers and citation are of this project."""

import json
import re
import tomllib
from itertools import pairwise

from runs import ROOT

TEACHING = ROOT / "notebooks" / "teaching"
LECTURES = sorted(path.stem.partition("_")[0] for path in (ROOT / "notebooks" / "source").glob("[0-9]*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_both_plans_of_a_lecture_have_no_gap_and_end_in_time():
    for number in (*LECTURES[:10], "12", "13", "14", "16"):
        rows = re.findall(r"^\| *([\d-]*) *\| *([\d-]*) *\|", (TEACHING / f"{number}.md").read_text(), re.MULTILINE)
        for column, length in enumerate((45, 90) if number == "16" else (90, 120)):
            spans = [tuple(map(int, row[column].split("-"))) for row in rows if re.fullmatch(r"\d+-\d+", row[column])]
            assert len(spans) > 5, number
            assert (spans[0][0], spans[-1][1]) == (0, length), number
            assert all(before[1] == after[0] < after[1] for before, after in pairwise(spans)), number


def test_syllabi_name_every_lecture_and_points_sum_up():
    text = (TEACHING / "syllabi.md").read_text()
    assert [n for n in LECTURES if not re.search(rf"(?<!\d){n}(?![\da-z])", text)] == []
    for part in (TEACHING / "assignments.md").read_text().split("\n## ")[1:]:
        rubric = part.split("| points | for |")[1].split("\n\n")[0]
        assert sum(map(int, re.findall(r"^\| (\d+) \|", rubric, re.MULTILINE))) == 20
    questions, marks = (TEACHING / "exam.md").read_text().split("## Mark scheme")
    points = [int(found) for found in re.findall(r"^\*\*\d+\. [^*]*\((\d+)\)\.\*\*", questions, re.MULTILINE)]
    assert sum(points) == 60
    assert len(re.findall(r"^\*\*\d+\.\*\*", marks, re.MULTILINE)) == len(points)
    parts = re.split(r"^\*\*\d+\. ", questions, flags=re.MULTILINE)[1:]
    assert [sum(map(int, re.findall(r"[.?:;] \((\d+)\)", part.partition("**")[2]))) for part in parts] == points


def test_containers_and_citation_are_of_what_the_project_says():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    install = (ROOT / ".binder" / "postBuild").read_text()
    python = re.search(r"python=(\S+)", (ROOT / "environment.yml").read_text())[1]
    assert container["image"].endswith(f":{python}")
    assert f"python={python}" in (ROOT / ".binder" / "environment.yml").read_text()
    for target in re.findall(r"\.venv/ready-\w+", container["updateContentCommand"]):
        assert f"\n{target}:" in (ROOT / "Makefile").read_text()
    assert (ROOT / re.search(r"--constraint (\S+)", install)[1]).exists()
    assert PROJECT["optional-dependencies"].keys() >= set(re.search(r"\[([\w,]+)\]", install)[1].split(","))
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
