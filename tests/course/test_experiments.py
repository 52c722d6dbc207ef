"""Recorded numbers: tables give back what was added, judges tell the truth where it is known, arms are understood."""

import itertools
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from scipy.stats import norm

from experiments import __main__ as command
from experiments import (
    explained,
    family,
    harness,
    pages,
    panel,
    peers,
    pictures,
    returns,
    rules,
    scaling,
    seconds,
    tables,
)
from experiments.balancing import DoubleIntegrator, PoleWithForce
from experiments.claims import CLAIMS, VERDICTS, elsewhere, judge, measure
from experiments.claims.questions import (
    BARELY,
    BY_MACHINE,
    UNTESTED,
    Quantity,
    about,
    above,
    area,
    below,
    higher,
    level,
    mean_between,
    ratio,
    same_bits,
    sooner,
    steps_to_goal,
    trend,
)
from experiments.harness import FULL, QUICK, Arm, Busy, Experiment, Size
from experiments.limit import OpenLoop, RecordingVectorEnv
from experiments.numbers import of_speed
from experiments.panel_environments import CHOOSING, HALVES, RECIPES, SURVIVAL, TASKS, in_units
from experiments.registry import EXPERIMENTS
from experiments.rules import improvement, over_environments
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.commands.command_line import parse
from minitrpo.course.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS, Interval, iqm, iqm_interval, mean_interval
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts

TASK, NEVER = "CartPole-v1", np.inf
VALUE = Quantity("value", lambda run: run["value"])


def runs(**arms):
    """Return runs that have these values: {name: values}."""
    return {
        (name, TASK): [
            {"value": v, "machine": {"cores": 2}, "theta": f"{v:x}" if isinstance(v, int) else ""} for v in values
        ]
        for name, values in arms.items()
    }


# --- tables and the harness


def test_tables_give_back_what_was_added_packed_or_not(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for packed in (300_000, 100):
        monkeypatch.setattr(tables, "PACKED", packed)
        folder, added = tmp_path / str(packed), []
        for number in range(4):
            row = {"experiment": "x", "arm": "1", "seed": number, "others": np.nan if number % 2 else 0.25}
            points = {"curves": {"env_steps": np.arange(1, number + 1) * 1e6, "mean_return": rng.normal(size=number)}}
            points |= {"fresh": {"env_steps": [5], "eval_return": [np.nan]}} if number == 2 else {}
            tables.add(folder, row, f"--words {number % 2}", {"cores": 2}, points)
            added.append((row, points))
        found = tables.load(folder)
        assert (folder / "curves.csv.gz").exists() == (packed == 100) != (folder / "curves.csv").exists()
        for run, (row, points) in zip(found, added, strict=True):
            assert (run["arm"], run["seed"], run["setting"]) == ("1", row["seed"], f"--words {row['seed'] % 2}")
            assert run["machine"] == {"cores": 2}
            assert run["others"] == ("" if np.isnan(row["others"]) else 0.25)
            for column, values in points["curves"].items():
                assert run["curves"][column] == pytest.approx(values, rel=1e-5)
            assert len(run["fresh"]["env_steps"]) == ("fresh" in points)
        assert tables.read(folder)[1]["settings"] == {"1": "--words 0", "2": "--words 1"}


@pytest.mark.parametrize("packed", [300_000, 100])
def test_a_table_that_was_not_written_to_its_end_is_not_read(packed, tmp_path, monkeypatch):
    """A kill leaves NAME.tmp beside the whole tables: cut anywhere, even behind a row, it changes nothing."""
    monkeypatch.setattr(tables, "PACKED", packed)

    def record(seed):
        points = {"curves": {"env_steps": [1e6, 2e6, 3e6], "mean_return": [0.25, 0.5, float(seed)]}}
        tables.add(tmp_path, {"experiment": "x", "arm": "a", "seed": seed}, "--words", {"cores": 2}, points)

    for seed in range(3):
        record(seed)
    whole = [path for path in tmp_path.iterdir() if path.name != ".lock"]
    assert any(path.suffix == ".gz" for path in whole) == (packed == 100)
    for path in whole:
        content = path.read_bytes()
        path.with_name(path.name + ".tmp").write_bytes(content[: content.find(b"\n", len(content) // 2) + 1])
    tables.load.cache_clear()
    assert [run["seed"] for run in tables.load(tmp_path)] == [0, 1, 2]
    record(3)
    assert [(run["seed"], run["curves"]["mean_return"][-1]) for run in tables.load(tmp_path)] == [
        (seed, seed) for seed in range(4)
    ]


def test_what_is_missing_is_measured_and_an_interrupted_set_goes_on(tmp_path, monkeypatch):
    made = []

    def measure(job, ranks, folder):
        made.append((job.arm.name, job.seed))
        if len(made) == 4:
            raise KeyboardInterrupt
        return {"value": job.seed}, {"curves": {"env_steps": [1, 2]}}

    arms = (Arm("a", TASK, "--max-kl 0.01"), Arm("b", TASK))
    fields = {"draw": None, "report": None, "seconds": True, "title": ""}
    it = Experiment("it", arms=arms, full=Size(3), quick=Size(1), measure=measure, **fields)
    monkeypatch.setattr(harness, "AT_WORK", tmp_path / "work")
    monkeypatch.setattr(harness, "busy_share", lambda seconds: 0.0)
    monkeypatch.setattr(harness.Others, "share", lambda self: 0.0)
    with pytest.raises(KeyboardInterrupt):
        harness.run(it, FULL, 1, tmp_path, print)
    assert made[:3] == [("a", 0), ("b", 0), ("b", 1)], "every other round backwards"
    harness.run(it, FULL, 1, tmp_path, print)
    assert sorted(made[:3] + made[4:]) == [(name, seed) for name in "ab" for seed in range(3)]
    assert {key: [run["value"] for run in some] for key, some in it.runs(FULL, tmp_path).items()} == {
        (name, TASK): [0, 1, 2] for name in "ab"
    }
    other = replace(it, arms=(Arm("a", TASK, "--max-kl 0.02"), arms[1]))
    assert {job.arm.name for job in other.missing(FULL, tmp_path)} == {"a"}, "those of another setting are not it"
    monkeypatch.setattr(harness, "busy_share", lambda seconds: 0.9)
    with pytest.raises(Busy):
        harness.run(other, FULL, 1, tmp_path, print)


def test_every_experiment_of_a_page_is_recorded_and_understood_by_train():
    shown = "".join(page.read_text("utf-8") for page in pages.PAGES)
    for one in EXPERIMENTS.values():
        assert one.missing() == [] or not (one.name in CLAIMS or f"<!-- {one.name} -->" in shown), one.name
        home = EXPERIMENTS[one.home or one.name]
        assert (one.arms, one.full, one.quick, home.home) == (home.arms, home.full, home.quick, "")
        assert len({(arm.name, arm.env) for arm in one.arms}) == len(one.arms)
        for job in (job for kind in (FULL, QUICK) for job in one.jobs(kind)):
            if one.data != "peers" and "stable-baselines3" not in job.arm.name:  # these no train is told
                parse(job.words)


def test_the_commands_list_judge_and_draw_and_refuse_in_one_line(tmp_path, monkeypatch, capsys):
    assert command.figures(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)
    assert command.figures(["B1b", "--only", "judge"]) == 0
    assert "0.78" in capsys.readouterr().out
    assert command.figures(["F2L", "--only", "plot", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "", "no run is recorded there"
    for words in (["QQ"], ["S1", "--ranks", "0"], ["S1", "--only", "x"], []):
        assert command.figures(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4


@pytest.mark.slow
def test_every_claim_is_drawn(tmp_path):
    for claim in CLAIMS.values():
        assert pictures.draw(claim, FULL, claim.runs(), tmp_path).stat().st_size > 10_000


# --- returns and the family


def test_a_curve_is_the_mean_of_the_last_100_episodes_and_is_thinned():
    rng = np.random.default_rng(0)
    episodes, each_return = rng.integers(1, 40, 30), rng.standard_normal(30)
    columns = {"env_steps": 1000.0 * np.arange(1, 31), "episodes": episodes.astype(float), "mean_return": each_return}
    for steps, mean in zip(*returns.last_episodes(columns).values(), strict=True):
        each = np.repeat(each_return[: int(steps) // 1000][::-1], episodes[: int(steps) // 1000][::-1])
        updates = np.flatnonzero(np.cumsum(episodes[: int(steps) // 1000][::-1]) >= 100)  # the last of them as a whole
        whole = episodes[: int(steps) // 1000][::-1][: updates[0] + 1].sum() if len(updates) else len(each)
        assert mean == pytest.approx(each[:whole].mean())
    few = returns.few({"env_steps": np.arange(489)})["env_steps"]
    assert (len(few) <= 100, few[-1]) == (True, 488)


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
    scores = np.array([9000.0, 1.0, 4.0, 3.0, -80.0, 2.0, 5.0, 6.0])
    assert iqm(scores) == pytest.approx(np.mean([2.0, 3.0, 4.0, 5.0]))
    assert iqm_interval(scores)[0] < 3.5 < iqm_interval(scores)[1]


def test_every_member_has_a_colour_and_a_task():
    assert set(family.COLORS) == set(family.TASKS) == set(ALGORITHMS)


def test_seconds_to_a_return_begin_where_the_middle_of_the_seeds_reaches_it():
    steps = np.array([100.0, 200.0, 300.0])
    seeds = [(steps, np.array(returns)) for returns in ([0, 1, 9], [0, 5, 6], [0, 5, 6], [9, 9, 9])]
    assert [seconds.crossing(seeds, target) for target in (0.0, 5.0, 6.0, 10.0)] == [100, 200, 300, None]


# --- seconds beside the physics


def test_open_loop_physics_ends_where_the_rollouts_did():
    spec = describe("Hopper-v5")
    envs = RecordingVectorEnv(spec, 4)
    policy, numbers = spec.policy((8,)), iter(range(9))
    theta = policy.initialise(np.random.default_rng(0))
    frozen = ObservationFilter.identity(spec.observation_size)
    played = Rollouts(spec, policy, envs, run_seed=1).play(theta, frozen, 1, lambda: next(numbers, None), 4)
    assert sum(fragment.steps for fragment in played) == sum(len(call[1]) for call in envs.calls if len(call) == 2)
    bare = OpenLoop(envs)
    bare.run()
    for mine, name in zip(bare.fields, ("qpos", "qvel"), strict=False):
        assert np.array_equal(mine, envs._fields[name])
        assert np.any(mine)


def test_one_ranks_recorded_seconds_predict_those_of_several():
    errors = [abs(row.error) for name in scaling.RECORDS for row in scaling.predicted(name)]
    assert (len(errors), np.median(errors) < 10, max(errors) < 25) == (72, True, True)


def test_a_return_is_kept_from_the_step_after_the_last_one_below_it():
    steps = np.array([100, 200, 300, 400])
    rising, falling = [(steps, np.array([0.0, 6.0, 4.0, 8.0]))], [(steps, np.array([9.0, 9.0, 9.0, 1.0]))]
    assert [seconds.staying(rising, target) for target in (0.0, 5.0, 8.0, 9.0)] == [100, 400, 400, None]
    assert seconds.staying(falling, 5.0) is None, "it ends below"
    ours, theirs = seconds.Needed(200, 400, 100.0), seconds.Needed(800, 900, 10.0)
    of = {returns.OURS: ours, returns.THEIRS: theirs}
    assert (seconds.times_sooner(of), seconds.times_sooner_for_good(of)) == (40.0, 20.0)
    of[returns.OURS] = ours._replace(stays=None)
    assert seconds.times_sooner_for_good(of) == 0.0


def test_an_environment_is_worth_reaching_where_the_target_is_above_doing_nothing(monkeypatch):
    monkeypatch.setattr(seconds, "still", lambda: {"a": 10.0, "b": 10.0})
    assert [*seconds.worth_reaching({"a": (9.0, {}), "b": (11.0, {}), "c": (-5.0, {})})] == ["b", "c"]


def of_rounds(*rounds):
    """Return runs of `peers` whose updates take these seconds, half of them collecting."""
    return [{"times": {name: np.array(taken) / 2 for name in ("collect_s", "update_s")}} for taken in rounds]


def test_an_interval_of_peers_knows_the_rounds_and_the_updates_of_the_reference():
    quick, slow = of_rounds(*[[1.0] * 5] * 3), of_rounds(*[[4.0] * 5] * 3)
    assert peers.times_as_fast(slow, quick) == (4.0, 4.0, 4.0), "nothing varies"
    uneven = of_rounds([4.0] * 5, [4.0] * 5, [8.0] * 5)
    assert peers.times_as_fast(uneven, quick) == (4.0, 4.0, 8.0), "a round of the reference may come twice"
    unsteady = of_rounds(*[[2.0, 3.0, 4.0, 5.0, 6.0]] * 3)
    found = peers.times_as_fast(unsteady, quick)
    assert found.low < found.middle == 4.0 < found.high, "its updates may, too"
    slowing, same = of_rounds([4.0] * 5, [8.0] * 5, [40.0] * 5), of_rounds([1.0] * 5, [2.0] * 5, [10.0] * 5)
    assert peers.times_as_fast(slowing, same) == (4.0, 4.0, 4.0), "what slows a round slows both systems"
    few = peers.times_as_fast(of_rounds([4.0], [9.0]), of_rounds([1.0], [1.0]))
    assert few == (6.5, 4.0, 9.0), "of few updates the rounds' range"


def test_two_seeds_have_a_range_and_no_interval():
    runs = [{"curves": {"env_steps": np.array([1.0]), "mean_return": np.array([x])}} for x in (1.0, 5.0, 9.0)]
    assert returns.final("Hopper-v5", runs[:2]) == ("3 (2)", "range 1 to 5")
    assert returns.final("Hopper-v5", runs) == ("5 (3)", "1 to 9")


def test_differences_are_asked_all_at_once():
    rng = np.random.default_rng(0)
    far, near = (rng.normal(9, 1, 5), rng.normal(0, 1, 5)), (np.arange(5.0), np.arange(5.0) + 3.0)
    (alone,) = returns.apart([near])
    assert alone[1], "one question"
    assert [beyond for _, beyond in returns.apart([far, *[near] * 9])] == [True, *[False] * 9], "ten of them"


def test_a_difference_of_few_seeds_says_how_many_it_has():
    assert [returns.of_seeds("3 (1 to 5)", [{}] * n) for n in (2, 3)] == ["3 (1 to 5), two seeds", "3 (1 to 5)"]


def test_every_number_of_speed_stands_on_a_page():
    shown = "".join(page.read_text("utf-8") for page in pages.PAGES)
    assert [name for name in of_speed.NUMBERS if f"<!-- ={name} -->" not in shown] == []


def test_a_planted_fault_is_found_by_any_finding_that_names_it_among_the_first_two():
    def hit(first, second, names="sign early"):
        return explained.hit({"names": names, "first": first, "second": second})

    assert hit("sign", "")
    assert hit("", "early")
    assert hit("late", "cut", names="cut")
    assert not hit("late", "cut")
    assert not hit("", "")


# --- the panel, and rules that adapt


def test_the_tasks_that_only_change_a_unit_are_those_that_are_made_by_factors_alone():
    by_factors = {name for name, recipe in RECIPES.items() if getattr(recipe.change, "func", None) is in_units}
    known = {name for name, task in TASKS.items() if task.kind != SURVIVAL}  # its pole with a force is not a known one
    assert {name for name, task in TASKS.items() if task.only_units} == by_factors & known
    assert sorted(panel.IN_UNITS + panel.NOT_IN_UNITS) == sorted(panel.HELD)


def test_vec_normalize_can_change_the_unit_unless_it_is_that_of_the_bounds():
    by_bounds = {name for name, recipe in RECIPES.items() if "bounds" in getattr(recipe.change, "keywords", {})}
    unnormalisable = {name for name, task in TASKS.items() if task.only_units and not task.normalisable}
    assert unnormalisable == {name for name in by_bounds if TASKS[name].kind != SURVIVAL}
    assert not any(task.normalisable for task in TASKS.values() if not task.only_units)


def test_the_interval_of_a_median_of_times_is_that_of_drawing_the_tasks_again():
    times = [0.0, 3.0, 8.0]
    all_draws = [np.median(draw) for draw in itertools.product(times, repeat=3)]
    found = panel.median_of_times(times)
    assert found == (3.0, *np.percentile(all_draws, [2.5, 97.5]))
    assert panel.median_of_times([4.0] * 5) == (4.0, 4.0, 4.0), "nothing varies"


def test_the_interval_of_a_mean_difference_is_that_of_drawing_the_tasks_and_their_seeds_again():
    def ahead(one, other):
        return panel.ahead(*({name: np.array(values) for name, values in each.items()} for each in (one, other)))

    chance = {"a": [1.0], "b": [1.0], "c": [1.0]}
    assert ahead({"a": [2.0], "b": [4.0], "c": [0.0]}, chance) == (1.0, -1.0, 3.0), "thrice the same task: 1 in 27"
    assert ahead({"a": [2.0, 4.0], "b": [3.0, 3.0]}, {"a": [1.0], "b": [1.0]}) == (2.0, 1.0, 3.0), "seeds: 1 in 16"
    assert ahead({"a": [2.0, 2.0]}, {"a": [1.0, 1.0]}) == (1.0, 1.0, 1.0), "nothing varies"


def test_a_peer_counts_by_the_clock_if_it_ends_above_the_border():
    env, steps = panel.HELD[0], np.arange(50.0)
    chance = {("random", env): [{"mean": 0.0, "deviation": 1.0, "episodes": 10_000}]}
    for end, counts in ((1.0, True), (0.11, True), (0.09, False), (0.0, False)):
        ends = {panel.OURS: 1.0, panel.TRPO: end, panel.PPO: 1.0}
        runs = {
            (name, env): [{"curves": {"env_steps": steps, "mean_return": np.full(50, x)}}] for name, x in ends.items()
        }
        assert panel.counts(chance | runs, env, panel.TRPO) is counts


def test_a_score_is_0_for_chance_and_1_for_the_best_end_of_any_run():
    env = panel.HELD[0]
    curve = panel.parts([(2000, 3.0, 2), (3000, 6.0, 4), (9000, 9.0, 1)], 10_000)["mean_return"]
    assert curve == pytest.approx(np.repeat([np.nan, 3, 6, 9], [9, 5, 30, 6]), nan_ok=True), "an end counts in its part"
    low, high = ({"curves": {"env_steps": np.arange(50), "mean_return": k * curve}} for k in (1, 2))
    runs = {("random", env): [{"mean": 3.0, "deviation": 1.0, "episodes": 100}], ("a", env): [high], ("b", env): [low]}
    found = panel.scores(runs, panel.HELD, "ab", 10)
    assert (found["a"][env], found["b"][env]) == pytest.approx((1 - 4 * 6 / 10 / 15, (6 * 9 + 4 * 6 - 30) / 10 / 15))
    runs["random", env][0]["mean"] = 18.0
    assert panel.scores(runs, panel.HELD, "ab") == {"a": {}, "b": {}}, "chance explains it"


def test_what_is_lost_is_the_best_tenth_minus_the_last_as_a_fraction_of_the_scale():
    def lost(values, low=0.0, high=1.0):
        return panel.lost({"curves": {"env_steps": np.arange(50.0), "mean_return": np.array(values)}}, low, high)

    rising, fell = np.linspace(0, 1, 50), np.repeat([0.0, 480.0, 240.0], [10, 30, 10])
    assert lost(rising) == pytest.approx(0), "the last tenth is the best"
    assert lost(fell, 0, 480) == pytest.approx(0.5)
    assert lost(3 * fell - 7, -7, 3 * 480 - 7) == pytest.approx(0.5), "in other units"
    assert lost(np.where(np.arange(50) == 20, 5.0, 0.0)) == pytest.approx(1.0), "one part of a tenth is a fifth of it"
    assert lost(np.repeat([np.nan, 2.0, 1.0], [20, 10, 20])) == pytest.approx(1.0), "before the first end: as the first"
    assert lost([*fell[:40], *fell[40:][::-1]], 0, 480) == pytest.approx(0.5), "the order within a tenth does not count"


def test_tasks_on_which_a_policy_survives_are_for_choosing_and_the_lots_of_the_others_stay_as_they_were():
    kinds = {name: task.kind for name, task in TASKS.items()}
    survive = [name for name, kind in kinds.items() if kind == SURVIVAL]
    assert len(survive) >= 6
    assert {HALVES[name] for name in survive} == {CHOOSING}
    assert sorted(panel.SURVIVE) == sorted(TASKS[name].env for name in survive)
    assert (len(panel.HELD), len(panel.CHOSEN)) == (17, 20), "drawn before any run, by kind"
    assert not {*panel.SURVIVE} & {*panel.HELD, *panel.CHOSEN}


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.kind == SURVIVAL])
def test_a_policy_can_fail_to_survive(name):
    env = gymnasium.make(TASKS[name].env, disable_env_checker=True)
    env.reset(seed=0)
    steps, over = 0, False
    while not over and steps < 5_000:
        observation, _, over, _, _ = env.step(env.action_space.high)
        steps += 1
    assert over, "the same push for ever loses it"
    assert env.observation_space.shape == observation.shape


def test_the_pole_that_a_force_pushes_moves_as_that_of_cartpole():
    ours, theirs = PoleWithForce(), gymnasium.make("CartPole-v1").unwrapped
    ours.reset(seed=3)
    theirs.reset(seed=3)
    theirs.state = ours._state.copy()
    for action in (1, 1, 0, 1, 0, 0, 0):
        observation = ours.step(np.array([2.0 * action - 1]))[0]
        assert observation == pytest.approx(theirs.step(action)[0], abs=1e-6)


def test_a_mass_that_is_pushed_back_survives():
    env = DoubleIntegrator()
    state, _ = env.reset(seed=0)
    for _ in range(1_000):
        state, _, over, _, _ = env.step(np.array([-1.5 * state[0] - 1.5 * state[1]]))
        assert not over


def test_the_first_fixed_arm_is_what_is_typed_where_an_environment_has_values_of_its_own():
    for env, steps in ((env, steps) for env, steps in rules.STEPS.items() if env in returns.OWN):
        words = harness.Job(rules.arm(env, rules.FIXED, rules.RIGHT), 0, steps).words
        assert parse(words).choice.flat() == parse(["--env", env, "--total-steps", str(steps)]).choice.flat()


def test_a_score_is_the_mean_over_steps_or_over_seconds():
    places = rules.at_places(np.array([100, 300, 400]), np.array([0.0, 20.0, 40.0]), 400)
    assert places.mean() == pytest.approx((0 * 100 + 10 * 200 + 30 * 100) / 400)
    places = rules.at_places(np.array([1.0, 2.0]), np.array([0.0, 10.0]), 4.0)
    assert places.mean() == pytest.approx((0 * 1 + 5 * 1 + 10 * 2) / 4, abs=0.01), "after its end it stays where it was"


def test_the_probability_of_improvement_counts_pairs_and_environments_the_same():
    up, down = (np.ones(3), np.zeros(3)), (np.zeros(3), np.ones(3))
    assert improvement([[(np.array([1.0, 3.0]), np.array([2.0, 0.0]))]])[0] == 0.75
    middle, over_seeds, both = improvement([[up], [up], [up], [down]])
    assert (middle, over_seeds) == (0.75, (0.75, 0.75, 0.75))
    assert (both.low, both.high) == (0.25, 1.0)
    assert improvement([[up], [up, down]])[0] == 0.75, "whatever the number of pairs"
    arm = np.arange(6.0)
    over_seeds = improvement([[(arm, arm), (arm, arm)]])[1]
    assert over_seeds == pytest.approx((0.5, 0.5, 0.5)), "a run that is drawn is drawn for all pairs of its arm"


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Scores are normal, and so is by how much an environment suits the rule: P = Phi(difference / sqrt(2))."""
    rng, held = np.random.default_rng(1), []
    for _ in range(150):
        suits = rng.normal(0.3, 1.0, 8)
        pairs = [[(each + rng.standard_normal(10), rng.standard_normal(10))] for each in suits]
        _, over_seeds, both = improvement(pairs, 200)
        of_these, of_others = norm.cdf(suits / np.sqrt(2)).mean(), norm.cdf(0.3 / np.sqrt(3))
        held.append((over_seeds.low <= of_these <= over_seeds.high, both.low <= of_others <= both.high))
    assert np.all(np.mean(held, axis=0) > 0.84), "95 % of many; of eight environments and ten seeds somewhat fewer"
    many = [mean_interval(over_environments(list(rng.standard_normal((8, 10))))) for _ in range(400)]
    assert np.mean([low <= 0 <= high for _, low, high in many]) == pytest.approx(0.95, abs=0.04)


# --- claims

UP, DOWN, BY, HALF, WHOLE = [5.0, 5.1, 4.9], [1.0, 1.1, 0.9], [5.05, 4.0, 6.0], [0.5, 0.51, 0.49], [1.0, 1.01, 0.99]
TREND = trend(VALUE, {"a": 1.0, "b": 2.0, "c": 16.0}, TASK)
ASKED = [
    (higher(VALUE, "a", "b", TASK), {"a": UP, "b": DOWN}, HOLDS),
    (higher(VALUE, "a", "b", TASK), {"a": DOWN, "b": UP}, DOES_NOT_HOLD),
    (higher(VALUE, "a", "b", TASK), {"a": UP, "b": BY}, CANNOT_TELL),
    (higher(VALUE, "a", "b", TASK), {"a": [5.0], "b": [1.0]}, CANNOT_TELL),  # one seed has no interval
    (higher(VALUE, "a", "b", TASK), {"a": [*UP, np.nan], "b": DOWN}, None),
    (ratio(VALUE, "a", "b", TASK, below(0.6)), {"a": HALF, "b": WHOLE}, HOLDS),
    (ratio(VALUE, "a", "b", TASK, below(0.3)), {"a": HALF, "b": WHOLE}, DOES_NOT_HOLD),
    (ratio(VALUE, "a", "b", TASK, about(0.5, 0.1)), {"a": HALF, "b": WHOLE}, HOLDS),
    (ratio(VALUE, "a", "b", TASK, about(0.55, 0.05)), {"a": HALF, "b": WHOLE}, CANNOT_TELL),
    (ratio(VALUE, "a", "b", TASK, below(0.6), cores=3), {"a": HALF, "b": WHOLE}, UNTESTED),  # there are 2
    (ratio(VALUE, "a", "b", TASK, below(0.3), cores=3), {"a": HALF, "b": WHOLE}, UNTESTED),
    (higher(VALUE, "a", "b", TASK)._replace(untested=True), {"a": DOWN, "b": UP}, UNTESTED),
    (sooner(VALUE, "a", "b", TASK), {"a": [1, 2, 3, 4, 5], "b": [6, 7, NEVER, NEVER, NEVER]}, HOLDS),
    (sooner(VALUE, "a", "b", TASK), {"a": [6, 7, NEVER, NEVER, NEVER], "b": [1, 2, 3, 4, 5]}, DOES_NOT_HOLD),
    (sooner(VALUE, "a", "b", TASK), {"a": [NEVER] * 5, "b": [NEVER] * 5}, CANNOT_TELL),
    (level(VALUE, "a", TASK, above(0.5)), {"a": WHOLE}, HOLDS),
    (level(VALUE, "a", TASK, about(0.93, 0.05)), {"a": HALF}, DOES_NOT_HOLD),
    (level(VALUE, "a", TASK, below(4)), {"a": [1.0, 9.0, 3.0]}, CANNOT_TELL),
    (TREND, {"a": [0.0, 0.1, 0.2], "b": [1.0, 1.1, 1.2], "c": [4.0, 4.1, 4.2]}, HOLDS),
    (TREND, {"a": [4.0, 4.1, 4.2], "c": [0.0, 0.3, 0.2]}, DOES_NOT_HOLD),
    (TREND, {"a": [4.0, 4.1, 4.2]}, None),
    (same_bits(TASK, ("a", "b")), {"a": [1, 2], "b": [1, 2]}, HOLDS),
    (same_bits(TASK, ("a", "b")), {"a": [1, 2], "b": [1, 3]}, DOES_NOT_HOLD),
]


def test_a_question_has_the_answer_that_its_numbers_give():
    for part, values, told in ASKED:
        answer = part.ask(runs(**values))
        assert (answer and answer[1]) == told, (part.question, values)


def test_a_claim_holds_only_if_all_of_it_was_asked_and_holds():
    yes, no, unclear = (level(VALUE, name, TASK, above(0.5 if name != "b" else 2.0)) for name in "abc")
    found, unasked = runs(a=[1.0, 1.01], b=[1.0, 1.01], c=[0.4, 0.7]), level(VALUE, "d", TASK, above(0.5))
    short = no._replace(untested=True)
    for parts, told in (((yes,), HOLDS), ((yes, no), DOES_NOT_HOLD), ((yes, unasked), CANNOT_TELL),
                        ((yes, unclear), CANNOT_TELL), ((no, unasked, unclear), DOES_NOT_HOLD),
                        ((yes, short), UNTESTED), ((no, short), DOES_NOT_HOLD)):  # fmt: skip
        assert judge(replace(CLAIMS["S1"], parts=parts), found)[0] == told


def near(border, times):
    """Return five values whose mean is above a border by so many times the half of their 95 % interval."""
    values = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    half = mean_interval(values).high
    return list(values + border + times * half)


def test_every_verdict_is_reached_by_data_made_for_it(monkeypatch):
    claim, part = CLAIMS["S1"], level(VALUE, "a", TASK, above(0.5))
    measured_there = {}
    monkeypatch.setattr(elsewhere, "interval_of", lambda name, part: measured_there.get(part.arms))
    reached = {}
    # At 99 % the interval is 1.66 times as wide (Student's t of 4 degrees: 4.604 / 2.776).
    for times, verdict in ((1.8, HOLDS), (1.3, BARELY), (0.5, CANNOT_TELL), (-0.5, CANNOT_TELL), (-1.3, DOES_NOT_HOLD)):
        reached[verdict] = judge(replace(claim, parts=(part,)), runs(a=near(0.5, times)))
        assert reached[verdict][0] == verdict == reached[verdict][1][0][2], times
    reached[UNTESTED] = judge(replace(claim, parts=(part._replace(cores=3),)), runs(a=near(0.5, 1.8)))
    assert reached[UNTESTED][0] == UNTESTED
    for here, there, verdict in (
        (near(0.5, 1.8), Interval(0.2, 0.1, 0.3), BY_MACHINE),
        (near(0.5, -1.8), Interval(0.7, 0.6, 0.8), BY_MACHINE),
        (near(0.5, 1.8), Interval(0.7, 0.6, 0.8), HOLDS),
        (near(0.5, 1.8), Interval(0.5, 0.4, 0.6), HOLDS),
        (near(0.5, -1.8), Interval(0.2, 0.1, 0.3), DOES_NOT_HOLD),
        (near(0.5, 0.5), Interval(0.7, 0.6, 0.8), CANNOT_TELL),
    ):
        measured_there[part.arms] = there
        reached[verdict] = judge(replace(claim, parts=(part,)), runs(a=here))
        assert reached[verdict][0] == verdict, (here, there)
        assert f"{there:.3g}" in reached[verdict][1][0][1], "both measurements are shown"
    assert reached.keys() == VERDICTS.keys()


def test_the_part_that_says_most_against_a_claim_decides_it(monkeypatch):
    monkeypatch.setattr(
        elsewhere, "interval_of", lambda name, part: Interval(0, -1, 0.4) if part.arms == ("m",) else None
    )
    values = {"h": near(0.5, 4), "b": near(0.5, 1.3), "i": near(0.5, 0), "n": near(0.5, -4), "m": near(0.5, 4)}
    part = {name: level(VALUE, name, TASK, above(0.5)) for name in values}
    part["u"] = part["h"]._replace(untested=True)
    for names, verdict in (("h", HOLDS), ("hb", BARELY), ("hbi", CANNOT_TELL), ("hbiu", UNTESTED),
                           ("hbium", BY_MACHINE), ("hbiumn", DOES_NOT_HOLD)):  # fmt: skip
        parts = tuple(part[name] for name in names)
        assert judge(replace(CLAIMS["S1"], parts=parts), runs(**values))[0] == verdict, names
        assert judge(replace(CLAIMS["S1"], parts=parts[::-1]), runs(**values))[0] == verdict, names


def test_no_claim_counts_one_measurement_as_two():
    for claim in CLAIMS.values():
        recorded, seen = claim.runs(), {}
        for part in claim.parts:
            arms = [[part.quantity.of(run) for run in recorded[name, part.env]] for name in part.arms]
            key = part.env, tuple(map(tuple, arms))
            assert key not in seen, (claim.name, part.question, seen.get(key))
            seen[key] = part.question


def test_intervals_of_a_share_end_where_shares_do_and_cover_as_often():
    assert mean_interval([100, 100, 98.5, 100, 100], within=(0, 100)).high == 100
    rng, within = np.random.default_rng(3), (0.0, 1.0)
    samples = rng.beta(8, 1, (400, 5))
    for values in samples:
        free, ends = mean_interval(values), mean_interval(values, within=within)
        assert (free.low <= 8 / 9 <= free.high) == (ends.low <= 8 / 9 <= ends.high)
        assert 0 <= ends.low <= ends.middle == free.middle <= ends.high <= 1


def test_what_the_second_machine_measured_is_of_questions_that_are_asked():
    asked = {(c.home or c.name, p.env, p.quantity.words, " / ".join(p.arms)) for c in CLAIMS.values() for p in c.parts}
    assert elsewhere.rows().keys() <= asked
    assert judge(CLAIMS["B1b"], CLAIMS["B1b"].runs())[0] == BY_MACHINE


def test_however_many_parts_a_claim_has_chance_alone_seldom_refutes_it():
    rng, names = np.random.default_rng(1), "abcdef"
    parts = tuple(level(VALUE, name, TASK, above(0)) for name in names)
    claim = replace(CLAIMS["S1"], parts=parts)
    told = [judge(claim, runs(**{name: rng.normal(size=5) for name in names}))[0] for _ in range(400)]
    assert told.count(DOES_NOT_HOLD) < 0.05 * len(told), "2.5 % are expected; without a correction 14 %"


def test_a_mean_between_two_places_counts_rows_by_their_part():
    ends, values = np.array([10.0, 20.0, 40.0]), np.array([1.0, 3.0, 5.0])
    assert mean_between(ends, values, 0, 40) == pytest.approx((10 + 30 + 100) / 40)
    assert mean_between(ends, values, 15, 30) == pytest.approx((5 * 3 + 10 * 5) / 15)
    assert np.isnan(mean_between(ends, values, 0, 50)), "the run ended before"
    assert mean_between(ends, np.array([1.0, np.nan, 5.0]), 0, 20) == 1.0


def test_what_is_kept_of_a_run_has_its_means_and_rows_in_which_no_episode_ended_count_nowhere():
    count, rng = 1_003, np.random.default_rng(2)
    columns = {"iteration": np.arange(1.0, count + 1), "env_steps": 50.0 * np.arange(1, count + 1)}
    columns |= {"mean_return": rng.normal(size=count), "steps_per_update": np.full(count, 50.0)}
    kept = {"curves": harness.thinned(columns, ("iteration", "env_steps"), ("mean_return",), 100)}
    assert len(kept["curves"]["iteration"]) <= 100
    whole = mean_between(columns["env_steps"], columns["mean_return"], 0, 50 * count)
    assert area(50 * count).of(kept) == pytest.approx(whole, abs=1e-5)
    assert np.isnan([area(60_000).of(kept), steps_to_goal(1.0, 50_000).of(kept)]).all()


@pytest.mark.mpi
def test_a_claim_measures_what_its_questions_ask(tmp_path):
    words = "--algorithm batch-ppo --eval-every 2000 --eval-episodes 2"
    job = harness.Job(Arm("x", TASK, words, 1), 0, 4_096)
    row, points = measure(job, 1, tmp_path, seconds=True)
    assert (len(row["theta"]), points.keys()) == (16, {"curves", "seconds", "fresh"})
    assert steps_to_goal(-1.0, 4_000).of(points) == points["fresh"]["env_steps"][0]
    assert area(4_000).of(points) > 0
