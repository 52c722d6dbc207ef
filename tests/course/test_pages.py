"""What pages tell their readers to type works: every command, only shorter, and every block of docs/python.md."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import MAINS, ROOT, run, train

PAGES = [ROOT / "README.md", ROOT / "notebooks/teaching/README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHORTER = {  # what is added to a command, by its name: the last word about an option counts
    "train": ("--total-steps", "700", "--progress", "none"),
    "resume": ("--total-steps", "5000", "--progress", "none"),
    "speedup": ("--steps-per-update", "400", "--updates", "1", "--warm-up", "1", "--rounds", "2"),
    "evaluate": ("--episodes", "3"),
    "watch": ("--seconds", "1"),
    "demo": ("--seconds", "1"),
    "lab": ("--copy",),
    "parallel-sgd": ("--updates", "20"),
}
COMMAND = re.compile(
    r"^ *(?:\./run )?(mpiexec -n \d+ )?(?:python mpi_scripts/|minitrpo )([\w-]+)(\.py)?(.*?)(?: #.*)?$", re.M
)


@pytest.mark.slow
@pytest.mark.mpi
def test_the_commands_of_pages_work(tmp_path):
    shutil.copy(ROOT / "minitrpo/course/reinforce.py", tmp_path / "mine.py")
    (tmp_path / "my").mkdir()
    shutil.copy(ROOT / "notebooks/solutions/03_conjugate_gradient.ipynb", tmp_path / "my")
    train(tmp_path / "runs/Reacher-v5-seed0-01", "--env", "Reacher-v5", "--total-steps", 2100)
    blocks = [block for page in PAGES if page.name != "python.md" for block in blocks_of(page, "sh")]
    found, failed, ranks = set(COMMAND.findall("\n".join(blocks).replace("\\\n", " "))), [], 2
    assert {name for _, name, _, _ in found} >= {"train", "watch", "evaluate", "speedup", "check", "figures", "scaling"}
    for launcher, name, script, more in sorted(found):
        words = shlex.split(more)
        kind = "resume" if "--resume" in words else name
        words += () if "--help" in words else SHORTER.get(kind, ())
        words += ("--steps-per-update", "700") if "paper" in words else ()
        here = {"ranks": ranks} if launcher else {"new": name not in MAINS}  # one under mpiexec, the others alone
        ranks = 0 if launcher else ranks
        done = run(f"{name}{script}", *words, cwd=tmp_path, **here)
        failed += [f"{launcher}{name}{more}: exit code {done.code}\n{done.err}"] if done.code else []
    assert failed == []


def blocks_of(page, kinds):
    return re.findall(rf"^ *```(?:{kinds})\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)


BEFORE = """
import subprocess, sys, unittest.mock
sys.path.insert(0, "")
wandb = sys.modules["wandb"] = unittest.mock.MagicMock()  # what the recipe logs to
"""
AFTER = """
steps = [call.kwargs["step"] for call in wandb.init.return_value.__enter__.return_value.log.call_args_list]
assert steps and steps == sorted(set(steps))
"""


@pytest.mark.slow
@pytest.mark.mpi
def test_every_block_of_the_page_for_python_runs_one_after_the_other_in_one_process(tmp_path):
    script = tmp_path / "bin" / "minitrpo"  # as pip writes it, from [project.scripts]
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom minitrpo.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    shell = set(blocks_of(ROOT / "docs/python.md", "sh"))
    blocks = blocks_of(ROOT / "docs/python.md", "sh|python")
    calls = [f"subprocess.run({block!r}, shell=True, check=True)" if block in shell else block for block in blocks]
    shorter = re.sub(r"(\d)_?000\b", r"\g<1>00", "\n".join(calls))
    path = os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-"], input=f"{BEFORE}{shorter}{AFTER}", cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, check=False, timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("95 % interval") == 4
    made = ("comparison.png", "mine.py", "kl3/seed2/checkpoint.npz", "runs/CartPole-v1-seed0-01", "runs/heavy-seed0-01")
    assert [name for name in made if not (tmp_path / name).exists()] == []
