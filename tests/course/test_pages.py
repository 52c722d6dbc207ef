"""What the pages tell their readers to type works: every command in a block of README and docs is run, only shorter."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import ROOT, train

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "notebooks/README.md", ROOT / "benchmarks/README.md"]
# What needs another machine, or a network; hosts and Slurm have tests of their own
ELSEWHERE = (
    "module load",
    "python3.11 -m venv",
    "pip ",
    "sbatch",
    "srun",
    "conda ",
    "ssh ",
    ". .venv",
    "git ",
    "python -m minitrpo.doctor",
)
SHORTER = {  # what is added to a command, by its name: the last word about an option counts
    "train": ("--total-steps", "700", "--progress", "none"),
    "resume": ("--total-steps", "5000", "--progress", "none"),
    "speedup": ("--steps-per-update", "400", "--updates", "1", "--warm-up", "1", "--rounds", "2"),
    "evaluate": ("--episodes", "3"),
    "watch": ("--steps", "5"),
    "parallel-sgd": ("--updates", "20"),
}


def commands(page):
    """Return the commands in a page's blocks, without their comments, a line each."""
    found = []
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        found += [line.split(" #")[0].strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return found


def name_of(command):
    """Return train, resume, watch ...: what a command does; "" for one that is not of this package."""
    found = re.search(r"mpi_scripts/(\w+)\.py|-m minitrpo ([\w-]+)|^minitrpo ([\w-]+)|\bminitrpo ([\w-]+)", command)
    if not found or "=" in command.split()[0]:
        return ""
    name = next(filter(None, found.groups())).replace("_", "-")
    return "resume" if name == "train" and "--resume" in command else name


IN_ORDER = "python.md"  # whose blocks go on from each other: test_python_page runs them all
EVERYTHING = [(page, command) for page in PAGES if page.name != IN_ORDER for command in commands(page)]
OURS = sorted({command for _, command in EVERYTHING if name_of(command)})


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder as a reader has it: the scripts, a run of Reacher, an own algorithm."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "mpi_scripts").symlink_to(ROOT / "mpi_scripts")
    shutil.copy(ROOT / "mpi_scripts/own/reinforce.py", folder / "mine.py")
    train(folder / "runs/Reacher-v5-seed0-01", "--env", "Reacher-v5", "--total-steps", 2100)
    return folder


@pytest.mark.parametrize("command", OURS)
def test_a_command_of_a_page_works(command, desk):
    words = shlex.split(command)
    if "--help" not in words:
        words += SHORTER.get(name_of(command), ())
    if int(words[words.index("-n") + 1] if words[0] == "mpiexec" else 1) > 2 and name_of(command) == "train":
        words += ["--oversubscribe"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    home = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=desk, env=home, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_else_is_told_but_what_make_has_and_what_needs_another_machine():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, command in EVERYTHING:
        made = re.search(r"(?:^|\s)make ([a-z-]+)", command)
        known = name_of(command) or command.startswith(ELSEWHERE) or (made and made.group(1) in targets)
        known = known or command.startswith(("python -m benchmarks", ".venv/bin/python notebooks/build.py"))
        assert known, f"{page.name}: {command}"
    for page in PAGES:
        told = set(re.findall(r"`(?:[A-Z]+=\S+ )*make ([a-z-]+)", page.read_text()))
        assert told <= targets, f"{page.name}: make has no {told - targets}"


def test_every_page_is_linked_and_every_link_leads_somewhere():
    linked = set()
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]*)?\)", page.read_text()):
            if not link.startswith(("http", "mailto")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"
                linked.add((page.parent / link).resolve())
    assert {page.resolve() for page in PAGES[1:]} <= linked
