"""Actors with their replay, and learners on workers of their own: what a learner draws, and what it makes of it."""

import numpy as np
import pytest
from fragments import random_fragments

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.asynchronous_algorithm import Moment
from minitrpo.algorithms.off_policy.gorila import GorilaDQN
from minitrpo.algorithms.off_policy.naf import AsynchronousNAF
from minitrpo.parallel.comm import flat
from minitrpo.policies import CategoricalPolicy, GaussianPolicy

KINDS = {  # the class, the default policy, how many actions there are (0: continuous)
    "gorila": (GorilaDQN, CategoricalPolicy(3, 4, (8,)), 4),
    "async-naf": (AsynchronousNAF, GaussianPolicy(3, 2, (8,)), 0),
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
    shared = flat(workers[0].state())
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

    assert learner.learner_gradient(shared, ask, Moment(0, 9), rng)[0] == {}, "the warm-up is not over"
    assert asked == []
    assert learner.learner_gradient(shared, ask, Moment(0, 500), rng)[0] == {}, "first it asks how many there are"
    gradients = [learner.learner_gradient(shared, ask, Moment(0, 500), rng)[0]["gradient"] for _ in range(160)]
    assert len(asked) == 11  # sixteen minibatches at a time
    assert all(sum(each.values()) == 16 * 16 for each in asked[1:])
    share = np.bincount(np.array(seen, int), minlength=3) / len(seen)
    np.testing.assert_allclose(share, np.array([20, 40, 60]) / 120, atol=0.05)
    assert all(np.isfinite(g).all() and g[-1] == 0 for g in gradients)
    assert learner.learner_gradient(shared, ask, Moment(490, 500), rng)[0] == {}, (
        "no more gradients than the steps are worth"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_learners_gradient_is_the_bundles_of_the_same_rows(kind):
    (alone,), (actor, learner) = workers_of(kind, 0, 1, fetch=1), workers_of(kind, 1, 2, fetch=1)
    shared, rng = flat(alone.state()), np.random.default_rng(1)
    shared["theta"] = shared["theta"] + rng.normal(size=len(shared["theta"])).astype(np.float32) / 3
    fragment = random_fragments(rng, (40,), actions=KINDS[kind][2])
    expected, said = alone.gradient(shared, fragment, Moment(0, 0), np.random.default_rng(5))
    actor.gradient(shared, fragment, Moment(0, 0), rng)

    def ask(questions):
        return {0: actor.answer(questions[0])}

    learner.learner_gradient(shared, ask, Moment(0, 500), rng)
    gradient, told = learner.learner_gradient(
        shared, ask, Moment(0, 500), np.random.default_rng(5)
    )  # the rows in another order
    np.testing.assert_allclose(gradient["gradient"], expected["gradient"], rtol=2e-4, atol=1e-6)
    assert told["td_loss"] == pytest.approx(said["td_loss"], rel=1e-4)
