"""python -m minitrpo.doctor: can this machine run everything? A line for each thing, with the cure where it cannot."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import RootParser
from minitrpo.experience.modules import trust
from minitrpo.parallel.cores import cores as usable
from minitrpo.supervision.shared_memory import CURE, MB, PLACE, enough_for, room

NEEDED = (
    *("numpy", "scipy", "autograd", "gymnasium", "mujoco"),
    *("mpi4py", "matplotlib", "tqdm", "threadpoolctl", "imageio"),
)
COURSE = ("jupyterlab", "nbval", "jupytext", "ipywidgets")
SECONDS = 60  # for anything that starts processes


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
    return Finding(
        "python",
        sys.version_info >= (3, 11),
        sys.version.split()[0],
        "install Python 3.11 or newer, then make clean train",
    )


def packages() -> Finding:
    """Look for the packages that training needs."""
    result, missing = _versions(NEEDED)
    cure = f"pip install -c requirements.lock {' '.join(missing)}"
    return Finding("packages", not missing, f"missing: {', '.join(missing)}" if missing else result, cure)


def course() -> Finding:
    """Look for the packages that the notebooks need; training does without."""
    result, missing = _versions(COURSE)
    return Finding(
        "course", True, f"not installed: {', '.join(missing)} (make lab installs them)" if missing else result
    )


def cores() -> Finding:
    """Count the cores this process may use."""
    return Finding("cores", True, f"{usable()} usable of {os.cpu_count()}; more ranks than that share them")


def launcher() -> Finding:
    """Compare the mpiexec on the PATH with the MPI library that mpi4py loads: they must be one family."""
    path = shutil.which("mpiexec")
    if path is None:
        cure = f"put {Path(sys.executable).parent} first on PATH (make does), or load the cluster's MPI module"
        return Finding("launcher", False, "no mpiexec on the PATH", cure)
    library = _run([sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"])
    output = _run([path, "--version"])
    seen = f"{path} is {_family(output)}, mpi4py loads {_family(library)}"
    cure = "they must be one MPI: use the mpiexec beside python, or rebuild mpi4py on this MPI (README)"
    return Finding("launcher", _family(output) == _family(library) != "unknown", seen, cure)


def ranks() -> Finding:
    """Start two ranks and let them count themselves."""
    path = shutil.which("mpiexec")
    if path is None:
        return Finding("ranks", False, "cannot be tried without mpiexec", "see launcher")
    program = (
        "from mpi4py import MPI; c = MPI.COMM_WORLD; s = c.allreduce(c.rank + 1); "
        "c.rank or print('sum', s, 'of', c.size)"
    )
    output = _run([path, "-n", "2", sys.executable, "-c", program])
    well = output.count("sum ") == output.count("sum 3 of 2") == 1
    cure = "the ranks do not see each other: mpiexec and mpi4py belong to different MPIs; see launcher and README"
    if "as root" in output:  # Open MPI's refusal
        cure = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or do not be root"
    seen = "2 ranks see each other" if well else f"mpiexec -n 2 said: {' '.join(output.split())[-200:]}"
    return Finding("ranks", well, seen, cure)


def shared_memory() -> Finding:
    """Look at the memory in which ranks meet: with too little of it MPI crashes."""
    free = room()
    ranks = enough_for(free)
    return Finding(PLACE, ranks >= max(2, usable()), f"{free // MB:,} MB free, enough for {ranks:,} rank(s)", CURE)


def blas() -> Finding:
    """Look at BLAS: its threads, and whether a row of a product depends on the rows beside it."""
    from threadpoolctl import threadpool_info, threadpool_limits

    from minitrpo.policies import GaussianPolicy

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
    cure = "this BLAS rounds a row by its place: runs stay right, but their bits may depend on the number of ranks"
    return Finding("blas", well, f"{pools or 'unknown'}; training limits each rank to 1", cure)


def rendering() -> Finding:
    """Draw one MuJoCo frame without a screen; only watch.py and the notebooks' films need it."""
    program = (
        "import gymnasium; e = gymnasium.make('Reacher-v5', render_mode='rgb_array'); e.reset(seed=0); "
        "print('drew', e.render().std() > 0)"
    )
    setting = os.environ.get("MUJOCO_GL") or ("default" if os.environ.get("DISPLAY") else "egl")
    environment = {} if setting == "default" else {"MUJOCO_GL": setting}
    well = "drew True" in _run([sys.executable, "-c", program], environment)
    cure = "for videos: apt-get install libegl1 libgl1-mesa-dri and MUJOCO_GL=egl (training does not need it)"
    return Finding("rendering", well, f"MUJOCO_GL={setting} {'draws' if well else 'cannot draw'} a frame", cure)


def disk() -> Finding:
    """Write a file where run folders go."""
    try:
        with tempfile.NamedTemporaryFile(dir="."):
            return Finding("disk", True, "run folders can be written here")
    except OSError as error:
        return Finding(
            "disk", False, f"cannot write here: {error.strerror}", "change to a folder of your own, or use --out"
        )


def environment(env_id: str) -> Finding:
    """Look whether an environment can be trained on, and whether it repeats itself, as equal bits ask for."""
    from minitrpo.experience.determinism import looked_at
    from minitrpo.supervision.hang_detector import STUCK_AFTER
    from minitrpo.supervision.launch import guarded

    with guarded(STUCK_AFTER, "--stuck-after"):
        well, seen = looked_at(env_id)
    cure = "take random numbers from self.np_random alone and begin anew in reset"
    cure = cure if "not deterministic" in seen else "docs/use.md says what --env takes"
    return Finding("environment", well, seen, cure)


def examine(more: list[Callable[[], Finding]]) -> Iterator[Finding]:
    """Yield all findings, one after the other."""
    looks: list[Callable[[], Finding]] = [python, packages, course, cores, shared_memory, launcher, ranks, blas]
    looks += [rendering, disk]
    for look in looks + more:
        try:
            yield look()
        except Exception as error:  # a doctor does not fall ill
            yield Finding(look.__name__, False, f"{type(error).__name__}: {error}", "reinstall: make clean train")


def _family(text: str) -> str:
    """Return whose MPI speaks; Intel's and Hydra's launchers belong to MPICH's ABI."""
    signs = {"Intel": "MPICH", "HYDRA": "MPICH", "MPICH": "MPICH", "Open MPI": "Open MPI", "OpenRTE": "Open MPI"}
    return next((family for sign, family in signs.items() if sign in text), "unknown")


def _versions(names: tuple[str, ...]) -> tuple[str, list[str]]:
    result, missing = [], []
    for name in names:
        try:
            result.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return ", ".join(result), missing


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    try:
        env = {**os.environ, **(environment or {})}
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer in {SECONDS} s"
    return done.stdout + done.stderr


@command("doctor")
def main(name: str, words: list[str]) -> int:
    """Print the findings; exit code 1 if something that training needs is not well."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("--env", metavar="ID", help="look at this environment, too: any that train takes")
    env, well = parser.parse_args(words).env, True
    trust(env)
    for finding in examine([] if env is None else [lambda: environment(env)]):
        print(finding, flush=True)
        well &= finding.well or finding.name == "rendering"
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
