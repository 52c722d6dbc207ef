"""Actors, learners, replay and parameters on ranks of their own: what is drawn, what is shared out, what arrives."""

import numpy as np
import pytest
from runs import run, train
from fragments import random_fragments

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.asynchronous import Moment
from minitrpo.algorithms.off_policy.gorila import GorilaDQN
from minitrpo.algorithms.off_policy.naf import AsynchronousNAF
from minitrpo.optimisers import initial_state
from minitrpo.parallel.sharded_server import share_of
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import mpiexec_code

KINDS = {  # the class, the house's policy, how many actions there are (0: continuous)
    "gorila": (GorilaDQN, CategoricalPolicy(3, 4, (8,)), 4),
    "async-naf": (AsynchronousNAF, GaussianPolicy(3, 2, (8,)), 0),
}
SMALL = ("--hidden", "8", "--warm-up", 20, "--batch", 8, "--replay-size", 400, "--steps-per-update", 200,
         "--total-steps", 1200)  # fmt: skip
JOBS = {
    "gorila": ("--algorithm", "gorila", "--env", "CartPole-v1", *SMALL),
    "async-naf": ("--algorithm", "async-naf", "--env", "Pendulum-v1", *SMALL),
}


def workers_of(kind, learners, workers, **settings):
    algorithm, policy, _ = KINDS[kind]
    own = algorithm.Settings(learners=learners, batch=16, warm_up=10, replay_size=64, n_step=1, **settings)
    policy = algorithm.make_policy(own, policy)
    return [algorithm(own, Context(policy, 0, 1, worker=k, workers=workers)) for k in range(workers)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_learns_from_the_rows_of_all_actors_evenly(kind):
    """Actor k's rewards are k, and it has 20 (k + 1) rows: a learner's minibatches have them in these proportions."""
    workers, rng = workers_of(kind, 1, 4), np.random.default_rng(0)
    shared = workers[0].state()
    for k, actor in enumerate(workers[:3]):
        fragment = random_fragments(rng, (20 * (k + 1),), actions=KINDS[kind][2])
        fragment.rewards[:] = k
        assert actor.gradient(shared, fragment, Moment(0, 0), rng)[0] == {}, "who acts does not learn"
    learner, asked, seen = workers[3], [], []

    def ask(questions):
        asked.append({k: len(q["positions"]) for k, q in questions.items()})
        answers = {k: workers[k].answer(q) for k, q in questions.items()}
        seen.extend(r for a in answers.values() for r in a["rewards"].tolist())
        return answers

    assert learner.lesson(shared, ask, Moment(0, 9), rng)[0] == {}, "the warm-up is not over"
    assert asked == []
    assert learner.lesson(shared, ask, Moment(0, 500), rng)[0] == {}, "first it asks how many there are"
    gradients = [learner.lesson(shared, ask, Moment(0, 500), rng)[0]["gradient"] for _ in range(160)]
    assert len(asked) == 11  # sixteen minibatches at a time
    assert all(sum(each.values()) == 16 * 16 for each in asked[1:])
    share = np.bincount(np.array(seen, int), minlength=3) / len(seen)
    np.testing.assert_allclose(share, np.array([20, 40, 60]) / 120, atol=0.05)
    assert all(np.isfinite(g).all() and g[-1] == 0 for g in gradients)
    assert learner.lesson(shared, ask, Moment(490, 500), rng)[0] == {}, "no more gradients than the steps are worth"


@pytest.mark.parametrize("kind", KINDS)
def test_a_learners_gradient_is_the_bundles_of_the_same_rows(kind):
    (alone,), (actor, learner) = workers_of(kind, 0, 1, fetch=1), workers_of(kind, 1, 2, fetch=1)
    shared, rng = alone.state(), np.random.default_rng(1)
    shared["theta"] = shared["theta"] + rng.normal(size=len(shared["theta"])).astype(np.float32) / 3
    fragment = random_fragments(rng, (40,), actions=KINDS[kind][2])
    expected, said = alone.gradient(shared, fragment, Moment(0, 0), np.random.default_rng(5))
    actor.gradient(shared, fragment, Moment(0, 0), rng)

    def ask(questions):
        return {0: actor.answer(questions[0])}

    learner.lesson(shared, ask, Moment(0, 500), rng)
    gradient, told = learner.lesson(shared, ask, Moment(0, 500), np.random.default_rng(5))  # the rows in another order
    np.testing.assert_allclose(gradient["gradient"], expected["gradient"], rtol=2e-4, atol=1e-6)
    assert told["td_loss"] == pytest.approx(said["td_loss"], rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("servers", [2, 3])
def test_servers_with_a_share_each_take_the_step_of_one_with_all(kind, servers):
    algorithm, policy, _ = KINDS[kind]
    own, rng = algorithm.Settings(target_every=2, exploration_steps=50), np.random.default_rng(2)
    policy = algorithm.make_policy(own, policy)
    one = algorithm(own, Context(policy, 0, 1))
    several = [algorithm(own, Context(policy, 0, 1, holds_last=k == servers - 1)) for k in range(servers)]
    whole = one.state()
    size = len(whole["theta"])
    parts = [share_of(one.state(), size, k, servers) for k in range(servers)]
    for step in range(5):
        push = {"gradient": rng.normal(size=size).astype(np.float32), "loss": np.array([1.0])}
        one.apply(whole, push, Moment(step, 10 * step))
        for k, server in enumerate(several):
            server.apply(parts[k], share_of(push, size, k, servers), Moment(step, 10 * step))
    for name in ("theta", "target", *(f"optimiser_{part}" for part in initial_state("adam", 1) if part != "updates")):
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), whole[name], err_msg=name)
    assert all(part["updates"] == whole["updates"] for part in parts)


@pytest.mark.parametrize("kind", JOBS)
def test_events_with_learners_give_the_same_bits_on_any_ranks_and_across_a_resume(kind, tmp_path):
    job = (*JOBS[kind], "--transport", "events", "--workers", 4, "--learners", 2)
    alone = train(tmp_path / "alone", *job)
    assert RunFolder(tmp_path / "alone").columns()["applied"].sum() > 50
    assert train(tmp_path / "on2", *job, ranks=2).sha256 == alone.sha256
    train(tmp_path / "half", *job, "--total-steps", 600)
    resumed = run("train.py", "--resume", tmp_path / "half", "--total-steps", 1200, "--progress", "none")
    assert resumed.sha256 == alone.sha256, resumed.err


@pytest.mark.parametrize(
    ("kind", "ranks", "roles"),
    [
        ("gorila", 3, ("--learners", 1)),
        ("gorila", 3, ("--servers", 2)),
        ("gorila", 5, ("--servers", 2, "--learners", 1, "--max-lead", 5)),
        ("async-naf", 2, ()),
        ("async-naf", 4, ("--transport", "server", "--servers", 1, "--learners", 2)),
    ],
)
def test_ranks_with_roles_end_together_and_count_everything(kind, ranks, roles, tmp_path):
    done = train(tmp_path / "run", *JOBS[kind], *roles, ranks=ranks)
    assert done.code == 0, done.err
    columns = RunFolder(tmp_path / "run").columns()
    assert columns["env_steps"][-1] >= 1200
    assert columns["applied"].sum() > 0
    assert np.isfinite(RunFolder(tmp_path / "run").load_checkpoint()["theta"]).all()
    more = ("--resume", tmp_path / "run", "--total-steps", 1600, "--progress", "none", "--oversubscribe")
    again = run("train.py", *more, ranks=ranks + 1)
    assert again.code == 0, again.err


def test_too_few_ranks_for_the_roles_is_one_line(tmp_path):
    cases = {
        ("--learners", 2): "of 2 ranks or workers 0 serve and 2 learn, so that nobody collects",
        ("--servers", 2): "of 2 ranks or workers 2 serve and 0 learn, so that nobody collects",
        ("--servers", 2, "--transport", "window"): "the parameters lie on servers only with --transport server",
        ("--transport", "events", "--workers", 2, "--learners", 2): "so that nobody collects",
    }
    for words, line in cases.items():
        refused = run("train.py", *JOBS["gorila"], *words, "--out", tmp_path / "run", ranks=2)
        assert (refused.code, line in refused.err) == (2, True), refused.err
        assert not (tmp_path / "run").exists()


ASKING = """
import numpy as np
from minitrpo.parallel.comm import connect
from minitrpo.parallel.questions import Questions

comm = connect()
asked = Questions(comm, 1, lambda question: {"double": 2 * question["n"], "who": np.array([comm.rank])})
if comm.rank == comm.size - 1:  # the last one asks all workers before it; rank 0 is none
    for n in range(50):
        answers = asked.ask({k: {"n": np.full(k + 1, n)} for k in range(comm.size - 2)})
        for k, answer in answers.items():
            assert answer["double"].tolist() == [2 * n] * (k + 1)
            assert answer["who"].tolist() == [k + 1]
    print("asked", len(answers))
asked.close()
comm.close()
"""


@pytest.mark.parametrize("ranks", [3, 5])
def test_questions_find_who_they_are_for_until_everybody_has_ended(ranks):
    assert f"asked {ranks - 2}" in mpiexec_code(ranks, ASKING)
