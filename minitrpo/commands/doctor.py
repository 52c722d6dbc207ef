"""python -m minitrpo doctor: test what this machine can run. Prints one line per test, and a cure if it fails."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput, describe_error
from minitrpo.experience.environments import describe
from minitrpo.experience.repeatability import repeats
from minitrpo.experience.trust import trust
from minitrpo.parallel.this_process import cores as usable
from minitrpo.policies import GaussianPolicy
from minitrpo.run_folder.provenance import PACKAGES, installed, pip_install
from minitrpo.supervision.program import command
from minitrpo.supervision.watchdog import STUCK_AFTER, guarded

NEEDED = (*PACKAGES[1:-1], "matplotlib", "tqdm", "threadpoolctl", "imageio")  # mpich may be the cluster's
SHM = "/dev/shm"  # noqa: S108 - MPICH 5.0 joins 8 ranks on 64 MB (docker's default), not on 32; 2 on 20, not on 16
SECONDS = 60  # for anything that starts processes
TRIAL = (sys.executable, "-m", "minitrpo.commands.doctor_trials")


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, whether it is well, what was seen, and the cure if it is not."""

    name: str
    well: bool
    seen: str
    cure: str = ""

    def __str__(self) -> str:
        line = f"{'ok  ' if self.well else 'FAIL'}  {self.name:<12} {self.seen}"
        return line if self.well else f"{line}\n      cure: {self.cure}"


def python() -> Finding:
    """Look at the interpreter."""
    seen = f"{sys.version.split()[0]} on {usable()} of {os.cpu_count()} cores"
    return Finding("python", sys.version_info >= (3, 11), seen, "install Python 3.11 or newer, then make clean train")


def packages() -> Finding:
    """Look for the packages that training needs."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    seen = f"missing: {', '.join(missing)}" if missing else ", ".join(f"{n} {installed(n)}" for n in PACKAGES)
    return Finding("packages", not missing, seen, pip_install("-c", "requirements.lock", *missing))


def launcher() -> Finding:
    """Let the mpiexec on the PATH start two ranks: it must be of one family with the MPI library that mpi4py loads."""
    path = shutil.which("mpiexec")
    if path is None:
        cure = f"put {Path(sys.executable).parent} first on PATH (make does), or load the cluster's MPI module"
        return Finding("launcher", False, "no mpiexec on the PATH", cure)
    output = _run([path, "-n", "2", *TRIAL, "ranks"])
    if output.count("2 rank(s) meet") == output.count(" meet ") == 1:
        return Finding("launcher", True, f"{path} starts two ranks, which see each other")
    cure = "use the mpiexec in Python's folder, or rebuild mpi4py for this MPI (docs/cluster.md)"
    if "as root" in output:  # Open MPI's refusal
        cure = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or do not be root"
    library, version = _run([*TRIAL, "ranks"]), _run([path, "--version"])
    seen = f"{path} said: {_end(output)}; it is {_end(version, 60)}, and mpi4py alone says: {_end(library, 60)}"
    return Finding("launcher", False, seen, cure)


def shared_memory() -> Finding:
    """Look at the memory in which ranks meet: with too little of it MPI crashes."""
    free = shutil.disk_usage(SHM).free // 2**20
    needed = max(17, 8 * usable())
    cure = "docker run --shm-size=1g, or a larger tmpfs on /dev/shm, which all may write to"
    return Finding(SHM, free >= needed, f"{free:,} MB free; one rank per core needs {needed:,}", cure)


def blas() -> Finding:
    """Look at BLAS: its threads, and whether a row of a product depends on its neighbours."""
    pools = ", ".join(f"{i['internal_api']} {i['version']}, {i['num_threads']} thread(s)" for i in threadpool_info())
    rng = np.random.default_rng(0)
    x, noise, policy, well = rng.standard_normal((16, 17)), np.zeros((16, 6)), GaussianPolicy(17, 6), True
    act = policy.act_function(policy.initialise(rng))
    with threadpool_limits(1):
        rows = act(x, noise, 16)
        for _ in range(100):
            order = rng.permutation(16)
            kept = rng.random(16) < 0.5  # the others make room for zeros
            moved = act(np.where(kept[:, None], x[order], 0.0), noise, 16)
            well &= np.array_equal(moved[kept], rows[order][kept])
    cure = "this BLAS rounds a row by its place: results are right, but the last bits may depend on the number of ranks"
    return Finding("blas", well, f"{pools or 'unknown'}; training limits each rank to 1", cure)


def rendering() -> Finding:
    """Draw one MuJoCo frame without a screen; only watch.py and the notebooks' films need it."""
    setting = os.environ.get("MUJOCO_GL") or ("default" if os.environ.get("DISPLAY") else "egl")
    variables = {} if setting == "default" else {"MUJOCO_GL": setting}
    well = "a picture" in _run([*TRIAL, "picture"], variables)
    cure = "for videos: apt-get install libegl1 libgl1-mesa-dri and MUJOCO_GL=egl (training does not need it)"
    return Finding("rendering", well, f"MUJOCO_GL={setting} {'draws' if well else 'cannot draw'} a frame", cure)


def environment(env_id: str) -> Finding:
    """Look whether an environment can be trained on, and whether it repeats itself, as equal bits ask for."""
    try:
        with guarded(STUCK_AFTER):
            spec = describe(env_id)
            well = repeats(spec, 200)
    except BadInput as error:
        return Finding("environment", False, str(error), "docs/use.md says what --env takes")
    kind = f"{spec.observation_size} observations, {spec.action_size} {'choices' if spec.discrete else 'actions'}"
    seen = "it is deterministic" if well else "it is not deterministic"
    cure = "for equal bits use only self.np_random and reset all state in reset()"
    return Finding("environment", well, f"{env_id}: {kind}; {seen}", cure)


def _end(text: str, most: int = 200) -> str:
    return " ".join(text.split())[-most:]


def _run(words: list[str], variables: dict[str, str] | None = None) -> str:
    """Return what a process prints; variables: of its environment, in addition to those of this one."""
    environment = os.environ | (variables or {})
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer in {SECONDS} s"
    return done.stdout + done.stderr


@command("doctor")
def main(name: str, words: list[str]) -> int:
    """Print the findings; exit code 1 if something that training needs is not well."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("--env", metavar="ID", help="also test this environment")
    env, well = parser.parse_args(words).env, True
    trust(env)
    looks = [python, packages, launcher, blas, rendering] + [shared_memory] * os.path.isdir(SHM)
    for look in looks if env is None else [*looks, lambda: environment(env)]:
        try:
            finding = look()
        except Exception as error:  # a doctor does not fall ill
            finding = Finding(look.__name__, False, describe_error(error), "reinstall: make clean train")
        print(finding, flush=True)
        well &= finding.well or look is rendering
    return 0 if well else 1
