"""Rules that choose steps/update and max-KL while learning, beside fixed settings, from good and from bad starts.

    python -m benchmarks.rules
    python -m benchmarks.rules --report                        the tables of what is recorded
    python -m benchmarks.rules --rule noise --seeds 100,101    seeds from 100 on are to choose by: not in the tables

A run that is recorded in results/rules is not run again, so that an interrupted comparison goes on where it was. Every
run has one rank, as their number does not matter to the result; seconds are of the processor, since several runs may go
on at a time. The score of a run is the mean over its environment steps of the mean training return, in the
environment's own rewards.
"""

import itertools
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, read_json, thinned, write_json
from minitrpo import train
from minitrpo.algorithms.parallel_trpo import PRESETS, TRPOSettings
from minitrpo.policies import Array
from minitrpo.run_folder.provenance import command
from minitrpo.supervision.jobs import flags

STEPS = {
    "CartPole-v1": 100_000,
    "Pendulum-v1": 150_000,
    "InvertedDoublePendulum-v5": 150_000,
    "Reacher-v5": 150_000,
    "Swimmer-v5": 200_000,
    "Hopper-v5": 200_000,
    "HalfCheetah-v5": 200_000,
    "Walker2d-v5": 200_000,
}
CHEAP = list(STEPS)[:4]
FIXED, ONE_FOR_ALL, NO_MARGIN, MARGIN = "fixed", "fixed, one for all", "published, no margin", "published, margin"
NOISE = "noise"
RULES: dict[str, dict[str, Any]] = {
    FIXED: {"adapt": "none"},
    ONE_FOR_ALL: {"adapt": "none", "max_kl": 0.04},  # the middle of what environments have by default
    NO_MARGIN: {"adapt": "both", "margin": 0},
    MARGIN: {"adapt": "both"},
    NOISE: {"adapt": "noise"},
}
BATCH = 2_048  # what is typed in these environments
STARTS = ((1, 1), (10, 1), (0.1, 1), (1, 10), (1, 0.1))  # how many times the default's steps/update and max-KL
ARMS = {rule: ((1, 1),) if rule in (ONE_FOR_ALL, NO_MARGIN) else STARTS for rule in RULES}
Recorded = dict[tuple[str, str, tuple[float, float]], dict[int, dict[str, Any]]]
CHOOSING = 100  # seeds from here on were for choosing among designs
ROWS = 1_000  # places at which a curve is read to have its mean


def default_kl(env: str) -> float:
    """Return the max-KL that a run as typed has."""
    values = PRESETS["default"].by_env.get(env, {})
    return float(values.get("max_kl", TRPOSettings().max_kl))


class Run(NamedTuple):
    """A training run: what chooses its settings, and with how many times the default's it begins."""

    env: str
    rule: str
    start: tuple[float, float]
    seed: int

    @property
    def path(self) -> Path:
        """Return where the run is recorded."""
        rule = self.rule.replace(", ", "-").replace(" ", "-")
        return RESULTS / "rules" / f"{self.env}_{rule}_{self.start[0]:g}x{self.start[1]:g}_{self.seed}.json"

    @property
    def settings(self) -> dict[str, Any]:
        """Return what the run is told."""
        steps, kl = round(self.start[0] * BATCH), float(f"{self.start[1] * default_kl(self.env):.6g}")
        given = {"env": self.env, "seed": self.seed, "total_steps": STEPS[self.env]}
        return given | {"steps_per_update": steps, "max_kl": kl} | RULES[self.rule]


def record(run: Run) -> None:
    """Train, unless it is recorded already; what the rule chose is recorded beside the returns."""
    if run.path.exists():
        return
    began = time.process_time()
    with TemporaryDirectory() as folder:
        trained = train(**run.settings, out=Path(folder) / "run", progress="none")
        c, settings = trained.columns(), trained.settings
    cpu = (time.process_time() - began) / c["time_s"][-1]  # of a second
    choices = zip(c["env_steps"].tolist(), c["steps_per_update"].tolist(), c["max_kl"].tolist(), strict=True)
    ended = np.flatnonzero(c["episodes"])
    result = {
        **run._asdict(),
        "settings": settings,
        "provenance": origin() | {"command": command("train", *flags(run.settings))},
        "score": float(np.mean(returns_over_steps(c, STEPS[run.env]))),
        "end": float(np.mean(returns_over_steps(c, STEPS[run.env])[-ROWS // 10 :])),
        "curve": thinned([(int(c["env_steps"][i]), float(c["mean_return"][i])) for i in ended]),
        "seconds": thinned([(int(c["env_steps"][i]), float(c["time_s"][i] * cpu)) for i in ended]),
        "chosen": thinned([(int(n), int(steps)) for n, steps, _ in choices]),
        "chosen_kl": [float(f"{kl:.4g}") for kl in c["max_kl"][:: -max(-(-len(c["max_kl"]) // 100), 1)][::-1]],
        "noise": [float(f"{x:.4g}") for x in c["noise"][np.isfinite(c["noise"])]] if "noise" in c else [],
    }
    write_json(run.path, result)
    print(run.path.name, f"{result['score']:.5g}", flush=True)


def returns_over_steps(columns: dict[str, Array], total: int) -> Array:
    """Return the mean training return at ROWS places, evenly over the environment steps of a run, (ROWS,)."""
    ended = columns["episodes"] > 0
    places = (np.arange(ROWS) + 0.5) * total / ROWS
    return np.interp(places, columns["env_steps"][ended], columns["mean_return"][ended])


def recorded() -> Recorded:
    """Return {(environment, rule, start): {seed: run}} of all that is recorded; seeds from 100 were for choosing."""
    found: Recorded = {}
    for path in sorted((RESULTS / "rules").glob("*.json")):
        run = read_json(path)
        if run["seed"] < CHOOSING and "seconds" in run:  # those of version 0.2.0 have none
            found.setdefault((run["env"], run["rule"], tuple(run["start"])), {})[run["seed"]] = run
    return found


def main() -> None:
    """Run all that is missing, seed by seed, one run after the other."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", type=names, default=CHEAP, help="ids with commas (default: the four cheap ones)")
    parser.add_argument("--rule", type=lambda text: text.split(";"), default=list(RULES), help="names with semicolons")
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--report", action="store_true", help="print the tables of what is recorded, and run nothing")
    args = parser.parse_args()
    if args.report:
        from benchmarks.rules_report import report

        print(report(recorded()))
        return
    for seed, env, rule in itertools.product(args.seeds, args.env, args.rule):
        for start in ARMS[rule]:
            record(Run(env, rule, start, seed))


if __name__ == "__main__":
    main()
