"""The default on environments that no preset names, beside the defaults of two libraries; and what its parts are worth.

Half of the tasks were for choosing the default; the other half, drawn by lot before any run, was run when the default
stood. All systems get the environment, the steps and the seed. A curve has the mean return of the episodes that end in
each fiftieth of the steps, those of ours at the end of their update. A score is 0 for the random policy and 1 for the
best end of any run on the task: the area is the mean over a curve, the end over its last tenth. Interquartile means and
probabilities of improvement are those of Agarwal et al. 2021. `rates` measures steps a second, by turns.
"""

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.panel_environments import CHOOSING, HALVES, HELD_OUT, TASKS
from experiments.pictures import GREY, axes_of, legend
from experiments.rules import improvement
from experiments.tables import Run, curve
from experiments.tables import markdown as table
from minitrpo.course.seeds import corrected
from minitrpo.course.statistics import Interval, iqm
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, ORANGE
from minitrpo.supervision.jobs import flags

RANDOM, OURS, TRPO, PPO = "random", "minitrpo", "sb3-contrib TRPO", "stable-baselines3 PPO"
PEERS = (TRPO, PPO)
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
EPISODES, FEWEST, ENOUGH = 100, 10, 20_000  # of the random policy; fewer episodes after ENOUGH steps
CHANCE, DRAWS = 4.0, 2_000  # standard errors of the random policy's mean; of the bootstrap
NAMES = {task.env: task.name for task in TASKS.values()}
HELD, CHOSEN = ([task.env for task in TASKS.values() if HALVES[task.name] == half] for half in (HELD_OUT, CHOOSING))
Scores = dict[str, dict[str, Array]]  # of a system, on a task: one per seed


# --- runs


def at_random(env_id: str, seed: int) -> dict[str, float]:
    """Return mean, deviation and number of the returns of actions that are drawn uniformly from their space."""
    env, steps, returns = gymnasium.make(env_id, disable_env_checker=True), 0, list[float]()
    env.action_space.seed(seed)
    while len(returns) < EPISODES and (len(returns) < FEWEST or steps < ENOUGH):
        env.reset(seed=None if returns else seed)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over, steps = total + float(reward), terminated or truncated, steps + 1
        returns.append(total)
    return {"mean": float(np.mean(returns)), "deviation": float(np.std(returns)), "episodes": len(returns)}


def of_peer(system: str, env: str, steps: int, seed: int, threads: int = 1) -> tuple[list[Any], float]:
    """Return (steps, return, 1) of each training episode of a library with its own defaults, and its rate, steps/s."""
    import torch
    from sb3_contrib import TRPO as SB3TRPO
    from stable_baselines3 import PPO as SB3PPO

    torch.set_num_threads(threads)
    model: Any = {TRPO: SB3TRPO, PPO: SB3PPO}[system]("MlpPolicy", env, seed=seed, device="cpu")
    begin = time.perf_counter()
    model.learn(steps)
    rate, monitor = model.num_timesteps / (time.perf_counter() - begin), model.env.envs[0]
    ends, returns = np.cumsum(monitor.get_episode_lengths()), monitor.get_episode_rewards()
    return [(*episode, 1) for episode in zip(ends.tolist(), returns, strict=True)], rate


def parts(rows: Any, steps: int) -> dict[str, Array]:
    """Return a curve from (steps, mean return, episodes); a part without an end of an episode has the one before it."""
    ends, returns, counts = np.array(rows, float).T
    part = np.minimum((ends - 1) // (steps / PARTS), PARTS - 1).astype(int)
    sums, of_part = (np.bincount(part, weights, PARTS) for weights in (returns * counts, counts))
    there = np.flatnonzero(of_part)
    latest = there[np.maximum(np.searchsorted(there, np.arange(PARTS), side="right") - 1, 0)]
    return {"env_steps": steps / PARTS * np.arange(1, PARTS + 1), "mean_return": sums[latest] / of_part[latest]}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the curve of a run; of the random policy its returns."""
    system, env = job.arm[:2]
    if system == RANDOM:
        return alone(at_random, env, job.seed), {}
    if system in PEERS:
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
    return {"rate": columns["env_steps"][-1] / columns["time_s"][-1]}, {}


# --- scores


def scores(runs: Runs, envs: list[str], last: int) -> Scores:
    """Return the scores of all systems; a task where no run got away from chance is left out. last: parts of curves."""
    found: Scores = {}
    for env in (env for env in envs if (RANDOM, env) in runs):
        trained = {name: some for (name, task), some in runs.items() if task == env and name != RANDOM}
        [chance] = runs[RANDOM, env]
        best = max(float(curve(run)[1][-LAST:].mean()) for some in trained.values() for run in some)
        if best - chance["mean"] > CHANCE * chance["deviation"] / chance["episodes"] ** 0.5:
            for name, some in trained.items():
                means = np.array([curve(run)[1][-last:].mean() for run in some])
                found.setdefault(name, {})[env] = (means - chance["mean"]) / (best - chance["mean"])
    return found


def middle(one: dict[str, Array]) -> Interval:
    """Return the interquartile mean of a system's scores, with its interval over tasks and, in each, seeds."""
    rng, each = np.random.default_rng(0), list(one.values())
    drawn = [[rng.choice(each[n], len(each[n])) for n in rng.integers(len(each), size=len(each))] for _ in range(DRAWS)]
    found, *others = [float(iqm(np.concatenate(some))) for some in (each, *drawn)]
    return Interval(found, *np.percentile(others, [2.5, 97.5]).tolist())


def above(one: dict[str, Array], other: dict[str, Array]) -> Interval:
    """Return how probably a run of one system is above one of the other, with its interval over tasks and seeds."""
    return improvement([[(one[task], other[task])] for task in one])[2]


def behind(ours: dict[str, Array], others: dict[str, dict[str, Array]]) -> dict[tuple[str, str], float]:
    """Return the chance of each (peer, task) if means were equal (Welch), all of them asked at once (Holm)."""
    from scipy.stats import ttest_ind

    pairs = [(peer, env) for peer in others for env in ours]
    chances = [ttest_ind(ours[env], others[peer][env], equal_var=False).pvalue for peer, env in pairs]
    return dict(zip(pairs, corrected(np.nan_to_num(chances, nan=1.0)).tolist(), strict=True))


# --- what they say


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of the held-out half: systems over all tasks, and each task."""
    areas, ends = (scores(runs, HELD, last) for last in (PARTS, LAST))
    if not areas:
        return "No run got away from the random policy."
    lines = []
    for score, each in (("area", areas), ("end", ends)):
        for name in (OURS, *PEERS):
            chances = ["-" if name == peer else f"{above(each[name], each[peer]):.2f}" for peer in PEERS]
            lines.append((f"{score}, {name}", f"{middle(each[name]):.2f}", *chances))
    header = ("score, system", "interquartile mean, 95 % interval", *(f"probably above {peer}" for peer in PEERS))
    chances, rows = behind(areas[OURS], {peer: areas[peer] for peer in PEERS}), []
    for env in areas[OURS]:
        cells = [f"{areas[name][env].mean():.2f}, {ends[name][env].mean():.2f}" for name in (OURS, *PEERS)]
        worse = [p for p in PEERS if areas[p][env].mean() > areas[OURS][env].mean() and chances[p, env] < 0.05]
        rows.append((f"{NAMES[env]} ({TASKS[NAMES[env]].kind})", f"{STEPS[env]:,}", *cells, ", ".join(worse) or "-"))
    each_task = table(("task: area, end", "steps", OURS, *PEERS, "ours is behind, beyond chance"), rows)
    left_out = ", ".join(NAMES[env] for env in HELD if (RANDOM, env) in runs and env not in areas[OURS])
    note = f"\n\nNo run got away from the random policy: {left_out}." if left_out else ""
    return f"{table(header, lines)}\n\n{each_task}{note}"


def report_ideas(experiment: Experiment, runs: Runs) -> str:
    """Return the table of single changes on the choosing half."""
    each = scores(runs, CHOSEN, PARTS)
    cells = [(OURS, f"{middle(each[OURS]):.2f}", "-", "-")]
    for name in IDEAS:
        won = sum(one.mean() > each[OURS][env].mean() for env, one in each[name].items())
        cells.append((name, f"{middle(each[name]):.2f}", f"{above(each[name], each[OURS]):.2f}", f"{won}"))
    header = ("what differs from the default", "interquartile mean of areas", "probably above it")
    return table((*header, f"better on, of {len(each[OURS])} tasks"), cells)


def report_members(experiment: Experiment, runs: Runs) -> str:
    """Return the table of other members of the family on six tasks, scored beside the default of TRPO."""
    envs = [*BOXES, *DISCRETE]
    each = scores({**CHOICE.runs(), **runs}, envs, PARTS)
    cells = [
        (f"`{name}`", *(f"{one[env].mean():.2f}" if env in one else "-" for env in envs))
        for name, one in each.items()
        if name not in IDEAS
    ]
    return table(("member: area", *(NAMES[env] for env in envs)), cells)


def reached(runs: list[Run], target: float) -> float | None:
    """Return the steps after which the mean curve of some runs is at least `target`; None if it never is."""
    mean = np.mean([curve(run)[1] for run in runs], axis=0)
    steps = curve(runs[0])[0][mean >= target]
    return float(steps[0]) if len(steps) else None


def report_rates(experiment: Experiment, runs: Runs) -> str:
    """Return how many times sooner ours reaches what each peer has in the end."""
    learned, rows, ratios = EXPERIMENT.runs(), [], dict[str, list[float]]()
    for env in dict.fromkeys(env for _, env in runs):
        rate = {name: float(np.median([run["rate"] for run in runs[name, env]])) for name in (OURS, *PEERS)}
        cells = [f"{rate[name]:,.0f}" for name in (OURS, *PEERS)]
        for peer in PEERS:
            target = float(np.mean([curve(run)[1][-LAST:].mean() for run in learned[peer, env]]))
            ours, others = (reached(learned[name, env], target) for name in (OURS, peer))
            sooner = (others or TASKS[NAMES[env]].steps) / rate[peer] / (ours / rate[OURS]) if ours else 0.0
            ratios.setdefault(peer, []).append(sooner)
            cells.append(f"{sooner:.1f}" if ours else "not reached")
        rows.append((NAMES[env], *cells))
    header = ("task", *(f"{name}, steps/s" for name in (OURS, *PEERS)), *(f"times sooner than {p}" for p in PEERS))
    medians = ", ".join(f"**{np.median(values):.1f} times** sooner than {peer}" for peer, values in ratios.items())
    return f"{table(header, rows)}\n\nMedian over the tasks, one not reached counted as 0: {medians}."


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the mean curves of all systems on each held-out task, seeds thinly behind, chance dotted."""
    axes = axes_of(figure, [env for env in HELD if (RANDOM, env) in runs], across=4)
    for env, axis in axes.items():
        for name, color in ((OURS, BLUE), (TRPO, ORANGE), (PPO, GREY)):
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
QUIETER = "--initial-log-std -0.5"


def members() -> tuple[Arm, ...]:
    """Return other members of the family on six tasks, on three of them with the first deviation of TRPO, too."""
    found = [Arm(name, env, f"--algorithm {name}", 1) for name in ACTORS for env in (*DISCRETE, *BOXES)]
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
    title="the default on tasks that nobody tuned, beside the defaults of two libraries",
    arms=arms((RANDOM, OURS, *PEERS), HELD),
    full=Size(5, {env: STEPS[env] for env in STEPS if env in HELD}, other={(RANDOM, env): 1 for env in HELD}),
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
    title="other members of the family on tasks that nobody tuned",
    arms=members(),
    full=Size(2, {env: STEPS[env] for env in (*DISCRETE, *BOXES)}),
    quick=QUICK,
    measure=measure,
    report=report_members,
    **SHARED,
)
RATES = Experiment(
    name="rates",
    title="steps a second on tasks that nobody tuned",
    arms=tuple(arm._replace(ranks=2) for arm in arms((OURS, *PEERS), HELD)),
    full=Size(1, {env: STEPS[env] for env in STEPS if env in HELD}),
    quick=QUICK,
    measure=measure_rate,
    report=report_rates,
    seconds=True,
    **SHARED,
)
