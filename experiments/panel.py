"""The default on environments that no preset names, beside the defaults of two libraries; and what its parts are worth.

Half of the tasks were for choosing the default; the other half, drawn by lot before any run, was run when the default
stood. All systems get the environment, the steps and the seed. A curve has the mean return of the episodes that end in
each fiftieth of the steps; those of ours, which plays 16 at a time, count at the end of their update. A score is 0 for
the random policy and 1 for the best end of any run on the task: the area is the mean over a curve, the end over its
last tenth. Interquartile means and probabilities of improvement are those of Agarwal et al. 2021. `rates` measures
steps a second, by turns.
"""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiments import returns
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.panel_environments import CHOOSING, HALVES, HELD_OUT, SURVIVAL, TASKS
from experiments.pictures import GREY, axes_of, legend
from experiments.rules import improvement
from experiments.tables import Run, curve, written
from experiments.tables import markdown as table
from minitrpo.course.statistics import Interval, difference_interval, iqm
from minitrpo.parallel.this_process import cores
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, ORANGE
from minitrpo.supervision.mpiexec import flags

RANDOM, OURS, TRPO, PPO = "random", "minitrpo", "sb3-contrib TRPO", "stable-baselines3 PPO"
PEERS = (TRPO, PPO)
SYSTEMS = (OURS, *PEERS)
NORMALISED = "sb3-contrib TRPO, normalised"  # with VecNormalize, of observations and rewards
BEFORE: dict[str, Any] = {"steps_per_update": 2_048, "gae_lambda": 0.97, "initial_log_std": 0.0}
IDEAS: dict[str, dict[str, Any]] = {  # what differs from the default
    "2,048 steps an update": {"steps_per_update": 2_048},
    "lambda 0.97": {"gae_lambda": 0.97},
    "first deviation 1": {"initial_log_std": 0.0},
    "all three": BEFORE,
    "all but 512 steps an update": BEFORE | {"steps_per_update": 512},
    "all but lambda 0.95": BEFORE | {"gae_lambda": 0.95},
    "all but first deviation 0.6": BEFORE | {"initial_log_std": -0.5},
    "no observation filter": {"filter": "none"},
    "max-KL 0.02": {"max_kl": 0.02},
}
ACTORS = ("batch-ppo", "a2c", "actor-critic", "policy-gradient")
PARTS, LAST = 50, 5  # of a curve; those at its end
FEWEST, ENOUGH = 10, 20_000  # episodes and steps of the random policy
CHANCE, DRAWS = 4.0, 2_000  # standard errors of the random policy's mean; of the bootstrap
BORDER = 0.1  # of the scale: who ends below it has not learned a task well enough for seconds to be compared
NAMES = {task.env: task.name for task in TASKS.values()}
HELD, CHOSEN = ([task.env for task in TASKS.values() if HALVES[task.name] == half] for half in (HELD_OUT, CHOOSING))
SURVIVE = [env for env in CHOSEN if TASKS[NAMES[env]].kind == SURVIVAL]  # added after the default was chosen
CHOSEN = [env for env in CHOSEN if env not in SURVIVE]  # those on which it was chosen
IN_UNITS = [task.env for task in TASKS.values() if task.env in HELD and task.only_units]
NORMALISABLE = [env for env in IN_UNITS if TASKS[NAMES[env]].normalisable]
NOT_IN_UNITS = [env for env in HELD if env not in IN_UNITS]
NORMALISED_SEEDS = dict.fromkeys(HELD, 2)
Scores = dict[str, dict[str, Array]]  # of a system, on a task: one per seed


# --- runs


def at_random(env_id: str, seed: int) -> dict[str, float]:
    """Return mean, deviation and number of the returns of actions that are drawn uniformly from their space."""
    env, steps, returns = gymnasium.make(env_id, disable_env_checker=True), 0, list[float]()
    env.action_space.seed(seed)
    while len(returns) < FEWEST or steps < ENOUGH:
        env.reset(seed=None if returns else seed)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over, steps = total + float(reward), terminated or truncated, steps + 1
        returns.append(total)
    return {"mean": float(np.mean(returns)), "deviation": float(np.std(returns)), "episodes": len(returns)}


def of_peer(system: str, env: str, steps: int, seed: int, threads: int = 1) -> tuple[list[Any], float]:
    """Return (steps, return, 1) of each training episode of a library with its own defaults, and its rate, steps/s.

    The rate is that after the first update.
    """
    import torch
    from sb3_contrib import TRPO as SB3TRPO
    from stable_baselines3 import PPO as SB3PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(threads)
    where = VecNormalize(make_vec_env(env, seed=seed)) if system == NORMALISED else env
    model: Any = (SB3PPO if system == PPO else SB3TRPO)("MlpPolicy", where, seed=seed, device="cpu")
    model.learn(1)
    begin, first = time.perf_counter(), model.num_timesteps
    model.learn(steps - first, reset_num_timesteps=False)
    rate, monitor = (model.num_timesteps - first) / (time.perf_counter() - begin), model.env.unwrapped.envs[0]
    ends, returns = np.cumsum(monitor.get_episode_lengths()), monitor.get_episode_rewards()
    return [(*episode, 1) for episode in zip(ends.tolist(), returns, strict=True)], rate


def parts(rows: Any, steps: int) -> dict[str, Array]:
    """Return a curve from (steps, mean return, episodes); a part in which no episode ends has the one before it."""
    ends, returns, counts = np.array(rows, float).T
    part = np.minimum((ends - 1) // (steps / PARTS), PARTS - 1).astype(int)
    sums, of_part = (np.bincount(part, weights, PARTS) for weights in (returns * counts, counts))
    there = np.flatnonzero(of_part)
    latest = np.searchsorted(there, np.arange(PARTS), side="right") - 1
    means = np.where(latest < 0, np.nan, (sums[there] / of_part[there])[latest])
    return {"env_steps": steps / PARTS * np.arange(1, PARTS + 1), "mean_return": means}


def filled(run: Run) -> Array:
    """Return the parts of a curve; those before its first episode has ended count as the first one that is known."""
    values = curve(run)[1]
    return np.where(np.isnan(values), values[np.isfinite(values)][0], values)


def score(run: Run, last: int = PARTS) -> float:
    """Return the mean of the last parts of a curve."""
    return float(filled(run)[-last:].mean())


def lost(run: Run, low: float, high: float) -> float:
    """Return how much of what a run had learned it has lost in the end: its best tenth minus its last tenth.

    Args:
        run: has a curve of PARTS parts; any LAST of them in a row are a tenth.
        low: the return of the random policy, where the scale is 0.
        high: the best end of any run on the task, where the scale is 1.

    Returns:
        A fraction of the scale: 0 if the last tenth is the best one. It is above 1 where a run that was above the best
        end of any run falls to the random policy.

    """
    tenths = np.convolve(filled(run), np.full(LAST, 1 / LAST), mode="valid")
    return float((tenths.max() - tenths[-1]) / (high - low))


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the curve of a run; of the random policy its returns."""
    system, env = job.arm[:2]
    if system == RANDOM:
        return alone(at_random, env, job.seed), {}
    if system in (*PEERS, NORMALISED):
        return {}, {"curves": parts(alone(of_peer, system, env, job.steps, job.seed)[0], job.steps)}
    out, theta = train(job, ranks, folder)
    columns = out.columns()
    rows = [columns[name][columns["episodes"] > 0] for name in ("env_steps", "mean_return", "episodes")]
    return {"theta": theta}, {"curves": parts(np.transpose(rows), job.steps)}


def measure_rate(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the environment steps per second of a run; of theirs in a tenth of the steps, and with all cores."""
    if job.arm.name in PEERS:
        return {"rate": alone(of_peer, job.arm.name, job.arm.env, job.steps // 10, 0, cores())[1]}, {}
    columns = train(job, ranks, folder)[0].columns()
    steps, seconds = (np.ptp(columns[name]) for name in ("env_steps", "time_s"))
    return {"rate": steps / seconds}, {}


# --- scores


def learned(runs: Runs, env: str, name: str) -> bool:
    """Return whether a system got away from the random policy: the mean over its runs by more than chance explains."""
    [chance] = runs[RANDOM, env]
    mean = np.mean([score(run, LAST) for run in runs[name, env]])
    return bool(mean - chance["mean"] > CHANCE * chance["deviation"] / chance["episodes"] ** 0.5)


def scores(runs: Runs, envs: list[str], systems: Sequence[str], last: int = PARTS) -> Scores:
    """Return the scores of these systems on the tasks that all have run, and that one of them has learned.

    last: parts of a curve.
    """
    found: Scores = {name: {} for name in systems}
    for env in (env for env in envs if all((name, env) in runs for name in (RANDOM, *systems))):
        if any(learned(runs, env, name) for name in systems):
            low = runs[RANDOM, env][0]["mean"]
            best = max(score(run, LAST) for name in systems for run in runs[name, env])
            for name in systems:
                found[name][env] = (np.array([score(run, last) for run in runs[name, env]]) - low) / (best - low)
    return found


def middle(one: dict[str, Array]) -> Interval:
    """Return the interquartile mean of a system's scores, with its interval over tasks and, in each, seeds."""
    rng, counts = np.random.default_rng(0), np.array([len(scores_of) for scores_of in one.values()])
    values = np.array([np.resize(scores_of, counts.max()) for scores_of in one.values()])
    tasks = rng.integers(len(values), size=(DRAWS, len(values), 1))
    seeds = rng.integers(counts[tasks], size=(DRAWS, *values.shape))
    drawn = iqm(values[tasks, seeds].reshape(DRAWS, -1))
    return Interval(float(iqm(np.concatenate([*one.values()]))), *np.percentile(drawn, [2.5, 97.5]).tolist())


def above(one: dict[str, Array], other: dict[str, Array]) -> Interval:
    """Return how probably a run of one system is above one of the other, with its interval over tasks and seeds."""
    return improvement([[(one[task], other[task])] for task in one])[2]


def ahead(one: dict[str, Array], other: dict[str, Array]) -> Interval:
    """Return the mean over tasks of one system's scores minus another's, with its interval over tasks and seeds."""
    rng = np.random.default_rng(0)

    def drawn_means(values: Array) -> Array:
        return rng.choice(values, (DRAWS, len(values))).mean(axis=1)

    drawn = np.stack([drawn_means(one[task]) - drawn_means(other[task]) for task in one], axis=1)
    tasks = rng.integers(len(one), size=drawn.shape)
    means = np.take_along_axis(drawn, tasks, axis=1).mean(axis=1)
    middle = float(np.mean([one[task].mean() - other[task].mean() for task in one]))
    return Interval(middle, *np.percentile(means, [2.5, 97.5]).tolist())


def apart(ours: dict[str, Array], others: dict[str, dict[str, Array]]) -> dict[tuple[str, str], tuple[Interval, bool]]:
    """Return of each (peer, task) ours minus theirs, with Welch's interval, and whether it is beyond chance.

    All are asked at once (Holm).
    """
    questions = [(peer, env) for peer in others for env in ours]
    return dict(zip(questions, returns.apart([(ours[env], others[peer][env]) for peer, env in questions]), strict=True))


# --- what they say


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the tables of the held-out half: systems over the tasks that change more than a unit, and each task."""
    lines, rows = [], []
    areas, ends = (scores(runs, HELD, SYSTEMS, last) for last in (PARTS, LAST))
    if not areas[OURS]:
        return "no run got away from the random policy"
    for what, scored in (("area", areas), ("end", ends)):
        others = without_units(scored)
        for name in SYSTEMS:
            chances = ["-" if name == peer else f"{above(others[name], others[peer]):.2f}" for peer in PEERS]
            lines.append((f"{what}, {name}", f"{middle(others[name]):.2f}", *chances))
    differences = apart(areas[OURS], {peer: areas[peer] for peer in PEERS})
    for env in sorted(areas[OURS], key=IN_UNITS.__contains__):
        cells = [f"{areas[name][env].mean():.2f}, {ends[name][env].mean():.2f}" for name in SYSTEMS]
        for found, beyond in (differences[peer, env] for peer in PEERS):
            cells.append(f"**{found:.2f}**" if beyond else f"{found:.2f}")
        rows.append((f"{NAMES[env]} ({TASKS[NAMES[env]].kind})", f"{STEPS[env]:,}", *cells))
    count = len(without_units(areas)[OURS])
    header = (f"score on {count} tasks, system", "interquartile mean, 95 % interval")
    heads = ("task: area, end", "steps", *SYSTEMS, *(f"area minus that of {peer}" for peer in PEERS))
    text = table((*header, *(f"probably above {peer}" for peer in PEERS)), lines)
    return f"{text}\n\n{table(heads, rows)}{unlearned(runs, HELD, areas[OURS])}"


def without_units(found: Scores) -> Scores:
    """Return the scores on the tasks that change more than a unit."""
    return {name: {env: one for env, one in some.items() if env not in IN_UNITS} for name, some in found.items()}


def report_normalised() -> str:
    """Return the table of sb3-contrib's TRPO with VecNormalize, on the tasks on which it has run.

    The best end of any run, one with VecNormalize too, has a score of 1.
    """
    runs, rows = EXPERIMENT.runs(), []
    systems = (OURS, TRPO, NORMALISED)
    areas, ends = (scores(runs, HELD, (*SYSTEMS, NORMALISED), last) for last in (PARTS, LAST))
    for env in sorted(areas[OURS], key=IN_UNITS.__contains__):
        cells = [f"{areas[name][env].mean():.2f}, {ends[name][env].mean():.2f}" for name in systems]
        seeds = f"{len(runs[NORMALISED, env])}"
        difference = difference_interval(areas[OURS][env], areas[NORMALISED][env])
        rows.append((NAMES[env], seeds, *cells, written(difference, ".2f")))
    header = ("task: area, end", "seeds of the last", *systems)
    return table((*header, f"area of {OURS} minus that of the last"), rows)


def unlearned(runs: Runs, envs: list[str], known: Collection[str]) -> str:
    """Return a sentence on the tasks that no system has learned."""
    names = ", ".join(NAMES[env] for env in envs if (RANDOM, env) in runs and env not in known)
    return f"\n\nNo system got away from the random policy: {names}." if names else ""


def report_ideas(experiment: Experiment, runs: Runs) -> str:
    """Return the table of single changes on the choosing half."""
    each = scores(runs, CHOSEN, (OURS, *IDEAS))
    if not (ours := each[OURS]):
        return "no run got away from the random policy"
    cells = [(OURS, f"{middle(ours):.2f}", "-", "-")]
    for name in IDEAS:
        better = sum(one.mean() > ours[env].mean() for env, one in each[name].items())
        cells.append((name, f"{middle(each[name]):.2f}", f"{above(each[name], ours):.2f}", f"{better}"))
    header = ("what differs from the default", "interquartile mean of areas", "probably above it")
    text = table((*header, f"better on, of {len(ours)} tasks"), cells)
    return f"{text}{unlearned(runs, CHOSEN, ours)}"


def report_members(experiment: Experiment, runs: Runs) -> str:
    """Return the table of other members of the family beside TRPO: the mean return of the last tenth of the steps."""
    envs, rows = [*BOXES, *DISCRETE], []
    both = {**{key: some for key, some in CHOICE.runs().items() if key[0] in (RANDOM, OURS)}, **runs}
    for name in dict.fromkeys(name for name, _ in both):
        cells = []
        for some in (both.get((name, env)) for env in envs):
            mean = np.mean([run["mean"] if name == RANDOM else score(run, LAST) for run in some]) if some else np.nan
            cells.append("-" if np.isnan(mean) else f"{mean:.{0 if abs(mean) > 10 else 2}f}")
        rows.append((f"`{name}`", *cells))
    return table(("member", *(NAMES[env] for env in envs)), rows)


def reached(runs: list[Run], target: float) -> float:
    """Return the steps after which the mean curve of some runs is at least `target`; infinity if it never is."""
    mean = np.mean([curve(run)[1] for run in runs], axis=0)
    there = curve(runs[0])[0][mean >= target - 1e-9 * abs(target)]
    return float(there[0]) if len(there) else np.inf


def counts(panel: Runs, env: str, peer: str) -> bool:
    """Return whether a peer has learned a task well enough to be compared by the clock.

    It got away from the random policy by more than chance explains, and its end is at least BORDER of the scale.
    """
    [chance] = panel[RANDOM, env]
    best = max(score(run, LAST) for name in SYSTEMS for run in panel[name, env])
    end = np.mean([score(run, LAST) for run in panel[peer, env]])
    return learned(panel, env, peer) and bool(end - chance["mean"] >= BORDER * (best - chance["mean"]))


def rate_of(runs: Runs, name: str, env: str) -> float:
    """Return the steps a second of a system on a task."""
    return float(np.median([run["rate"] for run in runs[name, env]]))


def sooner(runs: Runs, panel: Runs, env: str, peer: str) -> float:
    """Return how many times sooner ours reaches what a peer has in the end; 0 if it never does."""
    target = float(np.mean([score(run, LAST) for run in panel[peer, env]]))
    ours, theirs = (reached(panel[name, env], target) / rate_of(runs, name, env) for name in (OURS, peer))
    return min(theirs, STEPS[env] / rate_of(runs, peer, env)) / ours


def by_the_clock(runs: Runs) -> dict[str, dict[str, float]]:
    """Return for each peer how many times sooner ours reaches its end, on each task that the peer learned."""
    panel, found = EXPERIMENT.runs(), dict[str, dict[str, float]]()
    envs = [env for env in HELD if all((name, env) in known for name in SYSTEMS for known in (runs, panel))]
    for peer in PEERS:
        found[peer] = {env: sooner(runs, panel, env, peer) for env in envs if counts(panel, env, peer)}
    return found


def median_of_times(times: Collection[float]) -> Interval:
    """Return the median of how many times sooner ours is, with its bootstrap interval over tasks.

    The rates of one run for each system and task count as known.
    """
    each = np.array([*times])
    drawn = np.random.default_rng(0).integers(
        len(each), size=(50 * DRAWS, len(each))
    )  # the ends are steps between tasks
    medians = np.median(each[drawn], axis=1)
    return Interval(float(np.median(each)), *np.percentile(medians, [2.5, 97.5]).tolist())


def report_rates(experiment: Experiment, runs: Runs) -> str:
    """Return how many times sooner ours reaches what each peer has in the end, where the peer has learned."""
    ratios, rows = by_the_clock(runs), []
    for env in sorted(HELD, key=IN_UNITS.__contains__):
        if all((name, env) in runs for name in SYSTEMS):
            rates = (f"{rate_of(runs, name, env):,.0f}" for name in SYSTEMS)
            rows.append((NAMES[env], *rates, *(f"{some[env]:.1f}" if env in some else "-" for some in ratios.values())))
    header = ("task", *(f"{name}, steps/s" for name in SYSTEMS), *(f"times sooner than {peer}" for peer in PEERS))
    return table(header, rows)


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the mean curves of all systems on each held-out task, seeds thinly behind, chance dotted."""
    axes = axes_of(figure, [e for e in HELD if all((name, e) in runs for name in (RANDOM, *SYSTEMS))], across=4)
    for env, axis in axes.items():
        for name, color in zip(SYSTEMS, (BLUE, ORANGE, GREY), strict=True):
            each = [curve(run) for run in runs[name, env]]
            for steps, values in each:
                axis.plot(steps / 1e3, values, color=color, linewidth=0.5, alpha=0.35)
            axis.plot(each[0][0] / 1e3, np.mean([values for _, values in each], axis=0), color=color, label=name)
        axis.axhline(runs[RANDOM, env][0]["mean"], color="black", linestyle=":", linewidth=0.8, label=RANDOM)
        axis.set(title=NAMES[env], xlabel="thousand environment steps", ylabel="return while training")
    legend(figure, axes)


def arms(names: Any, envs: Any) -> tuple[Arm, ...]:
    """Return an arm for each system or idea on each task."""
    return tuple(Arm(name, env, " ".join(flags(IDEAS.get(name, {}))), 1) for env in envs for name in names)


DISCRETE = [TASKS[name].env for name in ("Acrobot", "LunarLander", "GridLavaGap")]
BOXES = [TASKS[name].env for name in ("Pusher", "InvertedPendulum", "BipedalWalker")]
LOUDER, QUIETER = "--initial-log-std 0.0", "--initial-log-std -0.5"


def members() -> tuple[Arm, ...]:
    """Return other members of the family on six tasks, with a first deviation of 1, and on three with that of TRPO."""
    found = [Arm(name, env, f"--algorithm {name}", 1) for name in ACTORS for env in DISCRETE]
    found += [Arm(name, env, f"--algorithm {name} {LOUDER}", 1) for name in ACTORS for env in BOXES]
    found += [Arm(f"{name} {QUIETER}", env, f"--algorithm {name} {QUIETER}", 1) for name in ACTORS for env in BOXES]
    found += [Arm("dqn", env, "--algorithm dqn", 1) for env in DISCRETE]
    return (*found, *(Arm("naf", env, "--algorithm naf", 1) for env in BOXES))


STEPS = {task.env: task.steps for task in sorted(TASKS.values(), key=lambda task: task.steps)}
OTHERS = ("torch", "stable-baselines3", "sb3-contrib", "gymnasium", "minigrid", "highway-env", "flappy-bird-gymnasium")
OTHERS += ("gym-pusht", "pybullet", "pybullet-envs-gymnasium", "panda-gym", "mo-gymnasium")
SHARED: dict[str, Any] = {"packages": OTHERS, "data": "panel"}
QUICK = Size(1, {TASKS[name].env: 10_000 for name in ("InvertedPendulum", "CartPoleLong")})
EXPERIMENT = Experiment(
    name="panel",
    title="the default on untuned tasks, beside the defaults of two libraries",
    arms=arms((RANDOM, *SYSTEMS, NORMALISED), HELD),
    full=Size(
        5,
        {env: STEPS[env] for env in STEPS if env in HELD},
        other={(RANDOM, env): 1 for env in HELD} | {(NORMALISED, env): NORMALISED_SEEDS.get(env, 0) for env in HELD},
    ),
    quick=QUICK,
    measure=measure,
    report=report,
    draw=draw,
    **SHARED,
)
CHOICE = Experiment(
    name="ideas",
    title="what the default is made of, on the tasks that it was chosen on",
    arms=arms((RANDOM, OURS, *IDEAS), CHOSEN),
    full=Size(2, {env: STEPS[env] for env in STEPS if env in CHOSEN}, other={(RANDOM, env): 1 for env in CHOSEN}),
    quick=QUICK,
    measure=measure,
    report=report_ideas,
    **SHARED,
)
MEMBERS = Experiment(
    name="other_members",
    title="other members of the family on untuned tasks",
    arms=members(),
    full=Size(2, {env: STEPS[env] for env in (*DISCRETE, *BOXES)}),
    quick=QUICK,
    measure=measure,
    report=report_members,
    **SHARED,
)
RATES = Experiment(
    name="rates",
    title="steps a second on untuned tasks",
    arms=tuple(arm._replace(ranks=2) for arm in arms(SYSTEMS, HELD)),
    full=Size(1, {env: STEPS[env] for env in STEPS if env in HELD}),
    quick=QUICK,
    measure=measure_rate,
    report=report_rates,
    seconds=True,
    **SHARED,
)
