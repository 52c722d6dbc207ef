"""Every block of docs/python.md runs, one after the other, in one process and one folder, as in a notebook."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

# What the recipes log to, where it is not installed: it must be called as the true one is
STANDS_IN = {
    "torch/__init__.py": "",
    "torch/utils/__init__.py": "",
    "torch/utils/tensorboard.py": """
class SummaryWriter:
    def __init__(self, log_dir=None):
        self.scalars = WRITTEN
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def add_scalar(self, tag, scalar_value, global_step=None):
        assert isinstance(tag, str) and isinstance(global_step, int)
        WRITTEN.append(float(scalar_value))
WRITTEN = []
""",
    "wandb.py": """
LOGGED = []
class Run:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def log(self, data, step=None):
        assert all(isinstance(name, str) for name in data) and (not LOGGED or step > LOGGED[-1])
        LOGGED.append(step)
def init(project=None, config=None):
    assert config["env"] == "CartPole-v1"
    return Run()
""",
}


@pytest.fixture
def folder(tmp_path):
    """An empty folder, and beside it the command minitrpo and what stands in for other packages."""
    for name, text in STANDS_IN.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "minitrpo"  # as pip writes it, from [project.scripts]
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom minitrpo.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def program():
    """Return the page as one program: shell blocks are run where they stand."""
    lines = ["import subprocess, sys; sys.path.insert(0, '')"]
    for kind, text in BLOCKS:
        assert kind in ("python", "sh")
        lines.append(text if kind == "python" else f"subprocess.run({text!r}, shell=True, check=True)")
    return "\n".join(lines)


@pytest.mark.slow
def test_every_block_runs(folder):
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join([str(folder / "bin"), *places]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "packages")]),
    }
    done = subprocess.run(
        [sys.executable, "-"], input=program() + "\nimport wandb; assert SummaryWriter.__module__ and wandb.LOGGED\n",
        cwd=folder / "work", env=environment, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert done.stderr == ""
    assert done.stdout.count("95 % interval") == 4
    for name in (
        "comparison.png",
        "mine.py",
        "kl3/seed2/checkpoint.npz",
        "runs/CartPole-v1-seed0-01",
        "runs/heavy-seed0-01",
    ):
        assert (folder / "work" / name).exists(), name


def test_the_page_has_a_block_for_each_of_its_promises():
    assert len(BLOCKS) == 12
    for words in ("train(", "train(resume=", "evaluate(", "load(", ".plot(", "SummaryWriter(", "wandb.init("):
        assert any(words in text for _, text in BLOCKS), words
