"""Packages of environments from PyPI, tried as a user would: python tests/tools/environments.py [PACKAGE ...]

Each gets a virtual environment beside ours, with our own packages in view. What is typed is `train`, `--resume`,
`evaluate` and `watch`. Prints a table for docs/use.md. Not run by continuous integration: it takes half an hour.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
WORDS = ("--total-steps", "200", "--steps-per-update", "100", "--num-envs", "2", "--progress", "none")
PATIENT = ("--stuck-after", "600")


class Package(NamedTuple):
    """What is typed after --env; and, where that does not do, the line that makes `env` fit."""

    env: str
    line: str = ""


PACKAGES = {
    "gymnasium[box2d]": Package("LunarLander-v3"),
    "ale-py": Package(
        "ale_py:ALE/Pong-v5", 'env = gymnasium.make("ale_py:ALE/Pong-v5", obs_type="ram", render_mode=render_mode)'
    ),
    "gymnasium-robotics": Package("gymnasium_robotics:AntMaze_UMaze-v4"),
    "minigrid": Package(
        "minigrid:MiniGrid-Empty-5x5-v0",
        'env = gymnasium.wrappers.FilterObservation(gymnasium.make("minigrid:MiniGrid-Empty-5x5-v0", '
        'render_mode=render_mode), ["direction", "image"])',
    ),
    "highway-env": Package("highway_env:highway-fast-v0"),
    "mo-gymnasium": Package(
        "mo_gymnasium:mo-mountaincar-v0",
        'env = gymnasium.wrappers.TransformReward(gymnasium.make("mo_gymnasium:mo-mountaincar-v0", '
        "render_mode=render_mode), sum)",
    ),
    "flappy-bird-gymnasium": Package("flappy_bird_gymnasium:FlappyBird-v0"),
    "gym-pusht": Package("gym_pusht:gym_pusht/PushT-v0"),
    "pybullet-envs-gymnasium": Package("pybullet_envs_gymnasium:HopperBulletEnv-v0"),
    "panda-gym": Package("panda_gym:PandaReachDense-v3"),
    "PyFlyt": Package("PyFlyt.gym_envs:PyFlyt/QuadX-Hover-v1"),
    "metaworld": Package(
        "metaworld:Meta-World/MT1",
        'env = gymnasium.make("metaworld:Meta-World/MT1", env_name="reach-v3", render_mode=render_mode)',
    ),
    "vizdoom": Package("vizdoom.gymnasium_wrapper:VizdoomBasic-v1"),
    "miniworld": Package("miniworld:MiniWorld-Hallway-v0"),
    "gym-aloha": Package("gym_aloha:gym_aloha/AlohaInsertion-v0"),
    "gym-electric-motor": Package("gym_electric_motor:Cont-SC-PermExDc-v0"),
    "gym-anytrading": Package("gym_anytrading:stocks-v0"),
    "mobile-env": Package("mobile_env:mobile-small-central-v0"),
    "popgym": Package("popgym:popgym-RepeatPreviousEasy-v0"),
    "rware": Package("rware:rware-tiny-2ag-easy-v2"),
    "lbforaging": Package("lbforaging:Foraging-5x5-2p-1f-v3"),
    "stable-retro": Package(
        "stable_retro:Airstriker-Genesis-v0",
        'env = stable_retro.make("Airstriker-Genesis-v0", render_mode=render_mode)',
    ),
    "gym-super-mario-bros": Package("gym_super_mario_bros:SuperMarioBros-v0"),
    "nle": Package("nle:NetHackScore-v0"),
}


def python_with(package: str, folder: Path) -> tuple[Path, str]:
    """Return a Python that has a package beside all that this one has, and what pip says if it cannot be installed."""
    place = folder / package.partition("[")[0]
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place)
        beside = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
        beside.joinpath("beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--only-binary=:all:"]
    done = subprocess.run([*pip, "-c", str(ROOT / "requirements.lock"), package], capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return python, errors[0] if done.returncode else ""


def tried(python: Path, env: str, folder: Path) -> str:
    """Return "" if an environment trains, goes on, is evaluated and filmed, else the last line of what did not."""
    run = Path(tempfile.mkdtemp(dir=folder))
    jobs = [
        ("train", "--env", env, *WORDS, "--out", run),
        ("train", "--resume", run, "--env", env, "--total-steps", "300", "--progress", "none"),
        ("evaluate", run, "--env", env, "--episodes", "2"),
        ("watch", run, "--env", env, "--steps", "20"),
    ]
    for command, *words in jobs:
        job = [str(python), "-m", "minitrpo", command, *map(str, words), *PATIENT]
        where = {**os.environ, "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(job, cwd=folder, env=where, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return f"{command}: no end after 600 s"
        if done.returncode:
            ours = [line for line in done.stderr.splitlines() if line.startswith("minitrpo")]
            return f"{command}: {(ours or done.stderr.splitlines() or ['?'])[0]}"
    return ""


def row(package: str, folder: Path) -> str:
    """Return what the table says of a package."""
    env, line = PACKAGES[package]
    python, failure = python_with(package, folder)
    failure = failure or tried(python, env, folder)
    verdict = "as it is" if not failure else f"does not: {failure}"
    if failure and line:
        module = line.partition('"')[2].partition(":")[0] if '(":' in line else env.partition(":")[0]
        code = f"import gymnasium\nimport {module}\n\n\ndef world(render_mode=None):\n    {line}\n    return env\n"
        (folder / f"{module}_world.py").write_text(code)
        failure = tried(python, f"{module}_world:world", folder)
        verdict = f"with `{line}`" if not failure else f"does not: {failure}"
    return f"| `{package}` | `{env}` | {verdict} |"


def main(packages: list[str]) -> None:
    folder = Path(os.environ.get("ENVIRONMENTS", tempfile.gettempdir())) / "environments"
    folder.mkdir(exist_ok=True)
    for package in packages or PACKAGES:
        print(row(package, folder), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
