"""Each finding is found where it was planted, and none where nothing is wrong; more of it: tests/tools/explained.py."""

import gymnasium
import numpy as np
import pytest
from runs import run

import minitrpo
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.reports import findings
from minitrpo.training.settings import chosen

LIMITS = [(key, name, limit) for key, kind in findings.KINDS.items() for name, limit in kind.limits.items()]
FAR = {"max_kl": {"max_kl": 1e-6}, "batch": {"steps_per_update": 60}, "critic": {"critic_step_size": 1e-9}}
FAR |= {"network": {"hidden": "1"}, "exploration": {"initial_log_std": -6.0}, "setting": {"cg_damping": 1e4}}
FAR |= {"discount": {"discount": 1e-6}, "step_size": {"algorithm": "batch-ppo", "step_size": 0.1}}
FAR |= {"replay": {"algorithm": "dqn", "replay_size": 200}}
SHORT = {"hidden": "8,8", "progress": "none", "steps_per_update": 400, "total_steps": 3_200}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return minitrpo.train("CartPole-v1", out=tmp_path_factory.mktemp("explained") / "run", seed=1, **SHORT)


@pytest.mark.parametrize(("key", "name", "limit"), LIMITS)
def test_a_number_is_found_beyond_its_limits_and_not_where_it_is_usual(key, name, limit):
    choice, (low, high, _) = chosen({}), limit
    beyond = 2 * high if np.isfinite(high) else low - 1
    tried = [beyond, *findings.usual()["all members", name][:3]]
    found = [[(each.key, each.low) for each in findings.in_numbers({name: value}, choice)] for value in tried]
    assert found == [[(key, beyond < low)], [], [], []]


@pytest.mark.parametrize(("key", "told"), FAR.items())
def test_a_setting_far_from_all_presets_is_found(key, told):
    columns = {"mean_length": np.array([100.0]), "ranks": np.array([1.0]), "env_steps": np.array([1e5])}
    columns |= {"episodes": np.array([1e3])}
    for settings, wanted in ((told, [key]), ({"algorithm": told.get("algorithm", "trpo")}, [])):
        choice = chosen({"env": "Pendulum-v1", "steps_per_update": 512} | settings)
        assert [each.key for each in findings.in_settings(choice, columns)] == wanted
    assert [each.key for each in findings.of_ranks(columns | {"ranks": np.array([8.0])}, 2, True)] == ["ranks"]


class Faulty(gymnasium.Wrapper):  # observations are a step late, or ends are told as time limits
    def __init__(self, late):
        super().__init__(gymnasium.make("CartPole-v1"))
        self.late = late

    def reset(self, **seed):
        self.before, info = self.env.reset(**seed)
        return self.before, info

    def step(self, action):
        shown, (self.before, reward, over, cut, info) = self.before, self.env.step(action)
        return (shown, reward, over, cut, info) if self.late else (self.before, reward, False, over or cut, info)


@pytest.mark.parametrize(("key", "env"), [("late", lambda: Faulty(True)), ("cut", lambda: Faulty(False))])
def test_a_fault_of_the_environment_is_found(key, env, tmp_path):
    made = minitrpo.train(env, out=tmp_path / "run", **SHORT | {"total_steps": 800})
    assert made.explain(env=env).kinds[0] == key
    assert key not in made.explain(0).kinds  # no episode is played


def test_nothing_is_found_where_nothing_is_wrong_and_what_is_told_can_be_typed(healthy):
    said = healthy.explain()
    assert not {*said.kinds} - {"flat"}
    assert (len(str(said).splitlines()) <= 25, said._repr_html_().count("<img")) == (True, 1)
    assert all(said.change(findings.Found(key, "", "", low=low)) for key in findings.KINDS for low in (True, False))


class Toy(gymnasium.Env):
    """Ten steps (or until `over`): the reward is what `pays` makes of the action, the observation what `shows` does."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, sees=None, acts=None, shows=None, pays=None, over=None, most=10):
        self.observation_space = sees or gymnasium.spaces.Box(-10, 10, (2,), np.float64)
        self.action_space = acts or gymnasium.spaces.Discrete(2)
        self.shows, self.pays, self.over, self.most = shows, pays, over or (lambda env: False), most

    def seen(self):
        at = np.array([self.at, self.steps / 10])
        return self.shows(at) if self.shows else at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = self.np_random.uniform(-1, 1), 0
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        self.at = float(np.clip(self.at + 0.1 * float(np.ravel(action)[0]), -9, 9))
        reward = self.pays(self, action) if self.pays else -abs(self.at)
        return self.seen(), reward, self.over(self), self.steps >= self.most, {}


def box(low, high, kind=np.float32):
    return gymnasium.spaces.Box(np.array(low, kind), np.array(high, kind), dtype=kind)


def grid(at):
    """Return a small map as numbers: walls on one side, and where one is."""
    cells = np.zeros(16)
    cells[[0, 5, 10]], cells[int(abs(at[0]) * 7.9) % 7 + 7] = 1.0, 2.0
    return cells


HARMLESS = {
    "bounds of a heater": lambda: Toy(acts=box([0], [60])),
    "bounds in thousands": lambda: Toy(acts=box([-5e3], [5e3]), pays=lambda env, action: -abs(float(action[0])) / 5e3),
    "two whole actions": lambda: Toy(acts=box([0], [1], np.int64)),
    "a bandit": lambda: Toy(shows=lambda at: np.ones(2), pays=lambda env, action: float(action), over=lambda env: True),
    "a contextual bandit": lambda: Toy(pays=lambda env, action: float(action * env.at), over=lambda env: True),
    "a grid with walls": lambda: Toy(sees=gymnasium.spaces.Box(0, 2, (16,), np.float64), shows=grid),
    "the least time": lambda: Toy(
        pays=lambda env, action: -1.0, over=lambda env: abs(env.at) > 1.5, acts=box([-1], [1]), most=200
    ),
}
PLANTED = {
    "choice": lambda: Toy(acts=gymnasium.spaces.Discrete(1)),
    "choice ": lambda: Toy(acts=box([30], [30])),
    "bounds": lambda: Toy(acts=box([-1, 2], [1, 2])),
    "bounds ": lambda: Toy(acts=box([-np.inf], [np.inf])),
    "bounds  ": lambda: gymnasium.wrappers.TransformAction(
        Toy(acts=box([-1], [1])), lambda action: np.clip(action, -1, 1), box([-500], [500])
    ),
    "constant": lambda: Toy(shows=lambda at: np.ones(2)),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", HARMLESS)
def test_a_task_that_is_unusual_and_right_is_not_accused(name, tmp_path):
    made = minitrpo.train(HARMLESS[name], out=tmp_path / "run", **SHORT | {"total_steps": 1_600})
    allowed = {"flat", "fall", "short", "constant", "outside"} - ({"constant"} if "grid" in name else set())
    assert not {*made.explain(env=HARMLESS[name]).kinds} - (allowed | {"early"} if "least" in name else allowed)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", PLANTED)
def test_spaces_that_leave_nothing_to_choose_or_to_see_are_named_as_that(name, tmp_path):
    env = PLANTED[name]
    made = minitrpo.train(env, out=tmp_path / "run", **SHORT | {"total_steps": 800})
    kinds = made.explain(env=env).kinds
    assert name.strip() in kinds
    assert not {"late", "deaf", "equal"} & {*kinds}


def test_episodes_that_did_not_end_are_not_taken_for_a_falling_return():
    """Three of four environments play on; the fourth fails, later and at a higher cost each time."""
    steps, failed = np.arange(1, 41) * 400.0, np.arange(40) % 2
    columns = {"env_steps": steps, "episodes": failed, "mean_return": np.where(failed, -50.0 - np.arange(40), np.nan)}
    columns |= {"mean_length": np.where(failed, 100.0, np.nan), "iteration": np.arange(40.0)}
    assert [each.key for each in findings.in_log(columns, [])] == ["unfinished"]
    whole = columns | {"mean_length": np.where(failed, 790.0, np.nan)}
    assert [each.key for each in findings.in_log(whole, [])] == ["fall"]
    far = chosen({"discount": 0.9999})
    alone = {"ranks": np.array([1.0] * 40)}
    assert [[each.key for each in findings.in_settings(far, log | alone)] for log in (columns, whole)] == [[], []]
    short = whole | {"mean_length": np.where(failed, 20.0, np.nan), "env_steps": steps / 40}
    assert [each.key for each in findings.in_settings(far, short | alone)] == ["discount"]


@pytest.mark.parametrize(("max_kl", "low"), [(1e-6, True), (20.0, False)])
def test_the_effect_is_that_of_the_side_and_a_setting_explains_what_it_causes(max_kl, low, tmp_path):
    said, kind = minitrpo.train("CartPole-v1", out=tmp_path / "run", max_kl=max_kl, **SHORT).explain(0), findings.KINDS
    assert (said.kinds[0], "moves" in said.kinds, said.found[0].low) == ("max_kl", False, low)
    assert (kind["max_kl"].low in str(said), kind["max_kl"].does in str(said)) == (low, not low)


def test_a_trace_names_the_rank_that_the_others_wait_for(tmp_path):
    made = minitrpo.train("CartPole-v1", out=tmp_path / "run", **SHORT)
    assert "rank 1" not in made.explain(0).limits
    spans = [
        [(n, start, 0.5 + late) for n, start in (("collect", 0.0), ("wait", 0.6), ("collect", 2.0))] for late in (0, 1)
    ]
    write_chrome_trace(tmp_path / "run/trace.json", spans)
    assert "rank 1 in 100%" in made.explain(0).limits


def test_the_command_prints_it_and_refuses_what_is_no_run(healthy, tmp_path):
    done = run("explain", healthy.path, "--episodes", 3)
    assert (done.code, done.out, done.err) == (0, f"{healthy.explain(3)}\n", "")
    for refused in (run("explain", tmp_path / "nothing"), run("explain", healthy.path, "--episodes", -1)):
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
