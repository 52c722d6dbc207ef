"""Importing brings nothing unasked, and records stay as they were made; the other rules are in tests/tools/lint.py."""

import re
import subprocess
import sys

from runs import ROOT

CHANGING = {"EpisodeFailed", "Outcome", "Ending"}  # records that do not stay as they were made


def test_importing_brings_nothing_unasked():
    every = "[import_module(m.name) for m in pkgutil.walk_packages(minitrpo.__path__, 'minitrpo.') if not own(m.name)]"
    steps = {
        "import minitrpo": "numpy scipy gymnasium mujoco mpi4py matplotlib",
        "import minitrpo.trpo, minitrpo.critics, minitrpo.adaptive": "gymnasium mujoco mpi4py matplotlib",
        every: "mpi4py matplotlib imageio IPython ipywidgets jupyter pygame",
    }
    code = [
        "import pkgutil, re, sys",
        "from importlib import import_module",
        "own = re.compile('course|checks|__').search",
    ]
    for step, unwanted in steps.items():
        code += [step, f"print([name for name in {unwanted.split()} if name in sys.modules])"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split("\n"), done.stderr) == (["[]", "[]", "[]", ""], "")


def test_a_record_stays_as_it_was_made():
    code = "\n".join(file.read_text() for file in sorted((ROOT / "minitrpo").rglob("*.py")))
    records = re.findall(r"^ *@dataclass(.*)\n(?: *@.*\n)*? *class (\w+)", code, re.MULTILINE)
    assert len(records) > 50
    assert {name for how, name in records if how != "(frozen=True)"} - CHANGING == set()
