"""The doctor says one line for each thing and gives the cure for what is missing."""

import os
import subprocess
import sys
from pathlib import Path


def doctor(path):
    return subprocess.run(
        [sys.executable, "-m", "minitrpo.doctor"],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_machine_that_runs_these_tests_is_well():
    done = doctor(os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith("      cure")]
    assert {line.split()[1] for line in lines} >= {"python", "packages", "launcher", "ranks", "blas", "rendering"}
    assert all(line.startswith("ok") for line in lines if "rendering" not in line)


def test_without_mpiexec_it_names_the_cure(tmp_path):
    done = doctor(str(tmp_path))
    assert done.returncode == 1
    assert "FAIL  launcher     no mpiexec on the PATH" in done.stdout
    assert "cure: put" in done.stdout
