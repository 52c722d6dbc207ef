"""What lectures 11a and 11b compute beside their exercises: worth of neighbours, recorded runs, ways past a cliff."""

import numpy as np
import pytest

from minitrpo.algorithms.actor_critic.loss import ActorCritic, ActorCriticSettings, Steps, actor_critic_gradient
from minitrpo.course.actors import actors_of, collapsed, steps_to_goal
from minitrpo.course.classroom import play
from minitrpo.course.cliff import GOAL, move, walk_the_cliff, way_of
from minitrpo.course.neighbours import fit_critic, mean_gradients, table_of_worth, worth
from minitrpo.course.seeds import family_of, steps_in_words


@pytest.mark.parametrize(("repeats", "known"), [(1, 16.0), (4, 4.0), (16, 1.0)])
def test_neighbours_are_worth_as_many_as_differ(repeats, known):
    rng = np.random.default_rng(0)
    steps = np.repeat(rng.standard_normal((16_000 // repeats, 30)), repeats, axis=0)  # each so many times in a row
    (found,) = worth(lambda rows: (steps[rows].mean(axis=0),), len(steps))
    low, high = np.quantile(found[1:], [0.0005, 0.9995])
    assert low < known < high
    assert high - low < 0.6 * known


def test_the_mean_gradients_are_those_of_the_loss_one_step_ahead():
    played = play("CartPole-v1", steps=60)
    e, model = played.episodes, ActorCritic(played.policy)
    theta = model.initialise(np.random.default_rng(0))
    rows = np.flatnonzero(~e.last)[:10]  # each as a fragment of its own, cut after one step
    ones, none = np.ones(10, bool), np.zeros(10, bool)
    steps = Steps(e.observations[rows], e.actions[rows], e.rewards[rows], ones, none, e.observations[rows + 1])
    settings = ActorCriticSettings(entropy_weight=0.0, value_weight=1.0, max_gradient_norm=np.inf)
    expected, _ = actor_critic_gradient(model, theta, steps, settings)
    up, down = mean_gradients(model, theta, e)(rows)
    np.testing.assert_allclose(np.concatenate([-up, down]), expected, rtol=1e-10, atol=1e-14)


def test_a_critic_comes_nearer_to_its_targets_and_the_policy_stays():
    played = play("CartPole-v1", steps=60)
    model = ActorCritic(played.policy)
    theta = model.initialise(np.random.default_rng(0))
    before, observations = theta.copy(), played.episodes.observations
    targets = observations[:, 2] + 3.0
    errors = [np.mean((model.values(theta, observations) - targets) ** 2)]
    fit_critic(model, theta, targets, played.episodes, 100)
    errors.append(np.mean((model.values(theta, observations) - targets) ** 2))
    assert errors[1] < 0.1 * errors[0]
    np.testing.assert_array_equal(model.split(theta)[0], model.split(before)[0])


def test_the_table_has_the_measured_worth_and_the_quantiles_of_the_draws():
    draws = np.linspace(1, 2, 1001)
    line = table_of_worth({("fresh", "in a row"): np.array([[9.0, *draws], [3.0, *draws]])}).splitlines()[-1]
    assert line.split() == [
        "fresh",
        "critic",
        "in",
        "a",
        "row",
        "9.0",
        "(1.0",
        "to",
        "2.0)",
        "3.0",
        "(1.0",
        "to",
        "2.0)",
    ]


def test_a_record_of_runs_says_who_collapsed_and_when_the_goal_was_reached(tmp_path):
    path = tmp_path / "actors.csv"
    rows = [
        "0.1,0,6000,14.9",
        "0.1,0,12000,450",
        "0.1,1,6000,15",
        "0.1,1,12000,449.9",
        "0.2,0,6000,500",
        "0.2,1,6000,460",
    ]
    path.write_text(
        "\n".join(["what,workers,envs,n,step_size,seed,env_steps,score", *("late,4,8,5," + r for r in rows)])
    )
    sizes = actors_of(path)["late", 4, 8, 5]
    assert [curve.tolist() for curve in sizes[0.1]] == [[[6000, 14.9], [12000, 450]], [[6000, 15], [12000, 449.9]]]
    assert collapsed(sizes[0.1]) == 1
    best, steps = steps_to_goal(sizes)
    assert best == 0.2
    assert steps.tolist() == [6000, 6000]
    assert steps_to_goal({0.1: sizes[0.1]})[1].tolist() == [12000, np.inf]


def test_a_line_of_the_family_says_never(tmp_path):
    path = tmp_path / "family.csv"
    head = "algorithm,env,seed,env_steps,goal,steps_to_goal,last_return"
    path.write_text("\n".join([head, "a2c,CartPole-v1,0,200000,475,80000,480", "a2c,CartPole-v1,1,199000,475,,300"]))
    assert steps_in_words("a2c", family_of(path)["CartPole-v1", "a2c"]).split() == ["a2c", "80,", ">199"]


def test_the_cliff_is_that_of_the_book():
    assert move(0, 1) == (0, -100.0, False)
    assert move(23, 2) == (GOAL, -1.0, True)
    assert [move(0, action)[0] for action in (0, 2, 3)] == [12, 0, 0]
    assert move(47, 0) == (47, -1.0, False)
    assert move(47, 1) == (47, -1.0, False)
    q = np.zeros((48, 4))
    q[0, 0], q[12:23, 1], q[23, 2] = 1, 1, 1
    assert way_of(q).tolist() == [0, *range(12, 24), 11]
    assert len(way_of(np.zeros((48, 4)))) == 40  # up, for ever


def test_q_on_the_cliff_has_the_values_of_the_shortest_way():
    def best(rewards, over, next_q, then):
        return rewards + (0.0 if over else next_q.max())

    q, returns = walk_the_cliff(best, seed=0, steps=20_000, epsilon=0.5)
    assert q[0].argmax() == 0
    np.testing.assert_allclose(q[0, 0], -13.0, atol=1e-3)
    np.testing.assert_allclose(q[12, 2], -100.0 - 13.0 if move(12, 2)[1] == -100 else -14.0, atol=1e-2)
    assert returns.max() <= -13.0
    assert way_of(q).tolist() == [0, *range(12, 24), 11]


def test_targets_are_asked_for_n_steps_or_fewer_at_the_goal():
    seen = []

    def none(rewards, over, next_q, then):
        seen.append((len(rewards), over))
        assert next_q.shape == (4,)
        assert 0 <= then < 4
        return np.zeros(len(rewards))

    _, returns = walk_the_cliff(none, seed=0, steps=20_000, epsilon=1.0, n=5)
    assert all(length == 5 for length, over in seen if not over)
    assert {length for length, over in seen if over} <= {1, 2, 3, 4, 5}
    assert sum(over for _, over in seen) == len(returns) > 0
    assert 20_000 <= sum(length for length, _ in seen) < 20_005
