"""What a class hands in beside notebooks: claims for the leaderboard are repeated to the bit, gradebooks filled in."""

import csv
import io
import json
import os

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from runs import forked, train

from minitrpo.course.checks import names
from minitrpo.course.grading.command import main
from minitrpo.course.grading.gradebook import filled
from minitrpo.course.grading.leaderboard import Claim, Facts, claim, judged
from minitrpo.course.grading.table import Row
from minitrpo.errors import BadInput
from minitrpo.run_folder.provenance import provenance

SETTINGS = {"env": "CartPole-v1", "algorithm": "trpo", "total_steps": 2000, "steps_per_update": 1000, "hidden": "8"}
HONEST = {"settings": SETTINGS, "theta_sha256": "0" * 64, "mean_return": 20.5, "steps_to_goal": None}


def hand_in(folder, name, words):
    """Write a claim, a text or what is to be JSON."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.run.json").write_text(words if isinstance(words, str) else json.dumps(words))


@pytest.mark.slow
@pytest.mark.mpi
def test_an_honest_claim_made_on_three_ranks_is_repeated_on_one_and_false_ones_are_found(tmp_path, monkeypatch):
    flags = [word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", value)]
    train(tmp_path / "run", *flags, ranks=3)
    entry = json.loads(forked("entry", tmp_path / "run", cwd=tmp_path, timeout=120).out)
    for name, change in (
        ("ann", {}),
        ("bob", {"theta_sha256": "0" * 64}),
        ("cyd", {"mean_return": entry["mean_return"] + 100}),
        ("dan", {"settings": {**entry["settings"], "seed": 1}}),
        ("eve", {"settings": {**entry["settings"], "total_steps": 10**9}}),
    ):
        hand_in(tmp_path / "class", name, entry | change)
    monkeypatch.chdir(tmp_path)
    assert main(["class", "--repeat", "50_000"]) == 0
    rows = {row["who"]: row["repeated"] for row in csv.DictReader((tmp_path / "grades-leaderboard.csv").open())}
    said = {who: repeated.partition(":")[0] for who, repeated in rows.items()}
    assert said == {"ann": "yes, to the bit", "bob": "no", "cyd": "no", "dan": "no", "eve": "not tried"}
    assert next(iter(rows)) == "ann", "the best first"
    assert sorted(os.listdir(tmp_path)) == ["class", "grades-leaderboard.csv", "run"]


HOSTILE = {
    "no object": [],
    "large": " " * 70_000,
    "no settings": {"theta_sha256": "0" * 64},
    "a module in env": {"settings": SETTINGS | {"env": "evil:Thing-v0"}},
    "an env of one's own": {"settings": SETTINGS | {"env": "Mine-v0"}},
    "lines in env": {"settings": SETTINGS | {"env": "a\n\x1b[2Jb"}},
    "a module in algorithm": {"settings": SETTINGS | {"algorithm": "evil:Thing"}},
    "an unknown setting": {"settings": SETTINGS | {"out": "/etc"}},
    "not repeatable": {"settings": {"env": "CartPole-v1", "algorithm": "a3c", "total_steps": 2000}},
    "no hash": {"theta_sha256": "x"},
    "a return that is nan": {"mean_return": float("nan")},
    "a return beyond floats": {"mean_return": 10**400},
}


def test_a_hostile_claim_is_one_line_in_the_table_and_nothing_of_it_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "Mine-v0", EnvSpec("Mine-v0", entry_point="evil:Thing"))
    folder = tmp_path / "class"
    for name, words in HOSTILE.items():
        whole = isinstance(words, str | list) or name == "no settings"
        hand_in(folder, name, words if whole else HONEST | words)
    hand_in(tmp_path, "secret", HONEST)
    hand_in(folder, "=ann", HONEST)
    (folder / "a link.run.json").symlink_to(tmp_path / "secret.run.json")
    os.mkfifo(folder / "a pipe.run.json")
    (folder / "a folder.run.json").mkdir()
    for name in ("grades-leaderboard.csv", "grades-02-leaderboard.csv"):
        done = forked("grade", "class", cwd=tmp_path, timeout=120)
        assert (done.code, done.err) == (0, ""), str(done)
        rows = {row["who"]: row["repeated"] for row in csv.DictReader((tmp_path / name).open())}
    assert rows.pop("'=ann") == "not tried", "no formula of a spreadsheet; and nothing is repeated unasked"
    assert rows.keys() == {*HOSTILE, "a link", "a pipe", "a folder"}
    assert [who for who, said in rows.items() if not said.startswith("refused: ")] == []
    assert all(said.isprintable() and len(said) < 350 for said in rows.values())
    assert claim("secret", tmp_path / "secret.run.json").problem == ""


def test_another_machine_is_no_forgery():
    own, said = provenance(), Claim("x", "", None, Facts("1" * 64, 1.0, None))
    here = Facts("2" * 64, 2.0, 100)
    assert judged(said._replace(made_with=(own["machine"], own["versions"])), here).startswith("no")
    assert judged(said, here).startswith("cannot tell")
    assert judged(said, said.facts).startswith("yes")


# --- gradebooks

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (4711),Final Score
    Points Possible,,,,,4.0,(read only)
"Doe, Jane",12345,S1,jdoe,A,,50
"Roe, Richard",67890,S2,rroe,A,1,60
"Poe, Edgar",24680,S3,epoe,B,,70
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (grade),Feedback comments
Participant 12345,Jane Doe,jane@example.org,Submitted,,4.00,-,
Participant 67890,Zoë Roe,zoe@example.org,Submitted,,4.00,-,"well, done"
"""
JANE = "Jane Doe_12345_assignsubmission_file_/lab3"


@pytest.mark.parametrize(
    ("text", "column", "points", "filled_in", "not_there"),
    [
        (CANVAS, "Lab 3 (4711)", {"doejane_12345_1_lab3": 3, "roerichard_67890_2_lab3": 2}, ["4.0", "3", "2", ""], []),
        (CANVAS, "Lab 3 (4711)", {"jdoe": 3, "RRoe": 2}, ["4.0", "3.5", "2", ""], []),
        (MOODLE, None, {JANE: 3, "Zoë Roe_67890_assignsubmission_file_/lab3": 0}, ["3", "0"], []),
        (MOODLE, None, {"jane@example.org": 3, "zoe": 4}, ["3", "4"], []),
        (MOODLE, None, {"ann": 3, "jane": 1, JANE: 2, "zoe": 4}, ["", "4"], [JANE, "ann", "jane"]),
    ],
)
def test_a_platform_gets_its_own_table_back_with_the_points(tmp_path, text, column, points, filled_in, not_there):
    """Who is not in it, or twice, is named, and nothing is guessed."""
    book, name = tmp_path / "book.csv", column or "Grade"
    book.write_text(text, "utf-8-sig")  # Canvas writes a byte order mark
    rows = [Row(student, name, 1, "", "right") for student, count in points.items() for name in names()[:count]]
    rows += [Row(student, "(notebook)", None, "0.5: well put" * (student == "jdoe"), "") for student in points]
    new, missing = filled(book, column, rows)
    before, after = (list(csv.DictReader(io.StringIO(each))) for each in (text, new))
    assert [line[name] for line in after] == filled_in
    assert sorted(missing) == not_there
    assert [{**line, name: ""} for line in before] == [{**line, name: ""} for line in after]


@pytest.mark.parametrize(
    ("content", "column"),
    [(CANVAS, None), (MOODLE, "Lab"), ("a,b\n1,2\n", None), ("", None), ('Student,Grade\n"open', None), (None, None)],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, column):
    if content is not None:
        (tmp_path / "book.csv").write_text(content)
    with pytest.raises(BadInput):
        filled(tmp_path / "book.csv", column, [])
