"""The leaderboard: an honest claim is repeated to the bit, a forged one is found, a hostile file is one line."""

import csv
import json
import os

import pytest
from runs import forked, run

from minitrpo.course.grading.command import main
from minitrpo.course.grading.leaderboard import Claim, Facts, allowed, claim, judged, leaderboard
from minitrpo.course.grading.sandbox import Limits
from minitrpo.run_folder.provenance import provenance

SETTINGS = {"env": "CartPole-v1", "algorithm": "trpo", "total_steps": 2000, "steps_per_update": 1000, "hidden": "8"}
HONEST = {"settings": SETTINGS, "theta_sha256": "0" * 64, "mean_return": 20.5, "steps_to_goal": None}


def hand_in(folder, name, words):
    (folder / f"{name}.run.json").write_text(words if isinstance(words, str) else json.dumps(words))


def refused(tmp_path, words):
    hand_in(tmp_path, "x", words)
    return claim("x", tmp_path / "x.run.json").problem


@pytest.mark.slow
def test_an_honest_claim_made_on_three_ranks_is_repeated_on_one_and_false_ones_are_found(tmp_path, capsys, monkeypatch):
    flags = [word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", value)]
    done = run("train.py", *flags, "--out", tmp_path / "run", "--progress", "none", ranks=3)
    assert done.code == 0, done.err
    entry = json.loads(forked("entry", tmp_path / "run", cwd=tmp_path).out)
    assert entry["theta_sha256"] in done.out
    folder = tmp_path / "class"
    folder.mkdir()
    hand_in(folder, "ann", entry)
    hand_in(folder, "bob", {**entry, "theta_sha256": "0" * 64})
    hand_in(folder, "cyd", {**entry, "mean_return": entry["mean_return"] + 100})
    hand_in(folder, "dan", {**entry, "settings": {**entry["settings"], "seed": 1}})
    hand_in(folder, "eve", {**entry, "settings": {**entry["settings"], "total_steps": 10**9}})
    monkeypatch.chdir(tmp_path)
    assert main(["class", "--repeat", "50_000"]) == 0
    rows = {row["who"]: row for row in csv.DictReader((tmp_path / "grades-leaderboard.csv").open())}
    found = {who: row["repeated"].partition(",")[0] for who, row in rows.items()}
    assert found == {
        "ann": "yes",
        "bob": "no: another policy",
        "cyd": "no: the policy is the same",
        "dan": "no: another policy",
        "eve": "not tried",
    }
    assert next(iter(rows)) == "ann"
    assert rows["ann"]["task"] == "CartPole-v1"
    assert rows["ann"]["settings"].startswith("trpo --total-steps 2000")
    assert not (tmp_path / "grades.csv").exists(), "there was no notebook"
    assert "yes, to the bit" in capsys.readouterr().out
    assert sorted(os.listdir(tmp_path)) == ["class", "grades-leaderboard.csv", "run"]


HOSTILE = {
    "no object": ([], "this is no claim"),
    "no JSON": ("{", "this is no claim"),
    "no text": ('{"settings": "\udcff"}'.encode("utf-8", "surrogateescape").decode("latin-1"), "this is no claim"),
    "deep": ("[" * 60_000, "this is no claim"),
    "large": (" " * 70_000, "the file has more than 65536 bytes"),
    "no settings": ({"theta_sha256": "0" * 64}, "this is no claim"),
    "module in env": ({"env": "evil:Thing-v0"}, "'evil:Thing-v0' is no environment of Gymnasium's own"),
    "path in env": ({"env": "../evil"}, "'../evil' is no environment of Gymnasium's own"),
    "env is a list": ({"env": ["CartPole-v1"]}, "this is no claim"),
    "lines in env": ({"env": "a\n\x1b[2Jb"}, "is no environment of Gymnasium's own"),
    "module in algorithm": ({"algorithm": "evil:Thing"}, "'evil:Thing' is no algorithm of the package"),
    "odd type": ({"total_steps": "10"}, "--total-steps must be an integer, not '10'"),
    "true": ({"seed": True}, "--seed must be an integer, not True"),
    "infinite": ('{"settings": {"env": "CartPole-v1", "algorithm": "trpo", "max_kl": Infinity}}', "--max-kl must be a"),
    "unknown": ({"out": "/etc"}, "trpo has no setting --out"),
    "not repeatable": ({"algorithm": "a3c"}, "no two runs of a3c are equal"),
}


@pytest.mark.parametrize("way", HOSTILE)
def test_a_hostile_file_is_refused_by_one_line(way, tmp_path):
    words, said = HOSTILE[way]
    if isinstance(words, dict) and "theta_sha256" not in words:
        own = {"total_steps": 2000} if "algorithm" in words else {}
        base = {"env": "CartPole-v1", "algorithm": "trpo"} if "algorithm" in words else SETTINGS
        words = {**HONEST, "settings": {**base, **own, **words}}
    problem = refused(tmp_path, words)
    assert said in problem
    assert problem.isprintable()
    assert len(problem) < 350


@pytest.mark.parametrize(
    "change",
    [{"theta_sha256": "x"}, {"theta_sha256": 1}, {"mean_return": "5"}, {"mean_return": float("nan")},
     {"mean_return": True}, {"steps_to_goal": [1]}, {"mean_return": 10**400}],
)  # fmt: skip
def test_odd_numbers_are_refused(change, tmp_path):
    assert refused(tmp_path, HONEST) == ""
    assert refused(tmp_path, {**HONEST, **change})


def test_links_pipes_and_folders_are_refused_and_nothing_is_repeated_without_being_asked(tmp_path):
    (tmp_path / "class").mkdir()
    hand_in(tmp_path, "secret", HONEST)
    hand_in(tmp_path / "class", "=ann", HONEST)
    (tmp_path / "class" / "b.run.json").symlink_to(tmp_path / "secret.run.json")
    os.mkfifo(tmp_path / "class" / "c.run.json")
    (tmp_path / "class" / "d.run.json").mkdir()
    done = forked("grade", "class", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    rows = list(csv.DictReader((tmp_path / "grades-leaderboard.csv").open()))
    assert [row["who"] for row in rows] == ["'=ann", "b", "c", "d"]
    assert rows[0]["repeated"] == "not tried"
    assert {row["repeated"] for row in rows[1:]} == {"refused: this is no file: a folder, a pipe or a link"}
    done = forked("grade", "class", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "grades-02-leaderboard.csv").exists()
    done = forked("grade", "class", "--repeat", "-1", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_another_machine_is_no_forgery():
    own, said = provenance(), Claim("x", "", None, Facts("1" * 64, 1.0, None))
    here = Facts("2" * 64, 2.0, 100)
    same = said._replace(made_with=(own["machine"], own["versions"]))
    assert judged(same, here) == "no: another policy, with return 2, 100 steps to the goal"
    assert judged(said, here).startswith("cannot tell: made on another machine or with other versions; here return 2")
    assert judged(said, said.facts) == "yes, to the bit"


@pytest.mark.slow
def test_a_run_that_takes_too_long_or_too_much_is_ended():
    choice = allowed({**SETTINGS, "total_steps": 40_000, "eval_every": 1, "eval_episodes": 100_000})
    (line,) = leaderboard([Claim("x", "", choice, Facts("0" * 64, 1.0, None))], 10**6, Limits(5.0, 4096))
    assert line.repeated == "cannot tell: it ran longer than 5 s"
    choice = allowed({**SETTINGS, "hidden": "9000,9000"})
    (line,) = leaderboard([Claim("x", "", choice, Facts("0" * 64, 1.0, None))], 10**6, Limits(60.0, 600))
    assert "Memory" in line.repeated
