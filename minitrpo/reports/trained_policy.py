"""A trained policy: what a run's checkpoint is good for when training is over."""

import sys
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium.spaces.utils import flatten

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.errors import BadInput, shorten
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.evaluation import Evaluation, Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.repeatability import RESTLESS
from minitrpo.experience.rollouts import ROWS, make_vector_env
from minitrpo.experience.vector_env import closed_environments
from minitrpo.parallel.comm import Comm, on_all, on_root
from minitrpo.policies import Array, Policy
from minitrpo.run_folder.folder import RunFolder, newest
from minitrpo.training.job import recorded_settings
from minitrpo.training.run_context import check_arrays, check_settings, make_algorithm, make_policy
from minitrpo.training.settings import Choice, chosen

MOST_EPISODES = 1_000_000


@dataclass(frozen=True)
class TrainedPolicy:
    """The policy of a run: `policy(observation)` returns the action for the environment's `step`.

    It includes the observation filter, and stretches and clips actions to their bounds.
    """

    spec: EnvironmentSpec
    policy: Policy
    theta: Array
    observation_filter: ObservationFilter

    def __repr__(self) -> str:
        n, hidden = self.spec.observation_size, ", ".join(map(str, getattr(self.policy, "hidden", ())))
        what = f"{n} observations, layers of {hidden}, {self.spec.action_size} actions, {len(self.theta):,} parameters"
        seen = f"observations are normalised with the {self.observation_filter.count:,.0f} that training saw"
        return f"policy for {self.spec.id}: {what}\n{seen}"

    def __call__(self, observation: Any, rng: np.random.Generator | None = None) -> Any:
        """Choose an action for an observation, or one for each row of a batch.

        Args:
            observation: of the environment's observation space, or N of them in one array (N, ...).
            rng: draws the action as in training; without it the action is the best one: the mean, or that of the
                largest probability or value.

        Returns:
            An int, or an array of the action space's shape; for a batch an array of N rows.

        Raises:
            BadInput: the observation has another shape, or is not finite.

        """
        space, shape = self.spec.flattened, self.spec.observation_shape
        try:
            if space is not None and (not isinstance(observation, np.ndarray) or observation.shape[-1:] != shape):
                observation = flatten(space, observation)
            array = np.asarray(observation, np.float64)
        except (TypeError, ValueError, LookupError) as error:
            raise BadInput(f"an observation must be an array of numbers, not {shorten(observation)}") from error
        alone = array.shape == shape
        if not alone and array.shape[1:] != shape:
            raise BadInput(f"an observation of {self.spec.id} has shape {shape}, or (N, *{shape}), not {array.shape}")
        if not np.isfinite(array).all():
            raise BadInput(f"an observation must be finite, not {shorten(observation)}")
        rows = array.reshape(1 if alone else len(array), self.spec.observation_size)
        policy: Any = self.policy
        if rng is None:
            wanted = self.best(rows)
        elif policy.state_size:
            raise BadInput("this policy draws its noise once per episode, not per action: leave out rng")
        else:
            seen, noise = self.observation_filter(rows), policy.draw_noise(rng, len(rows))
            wanted = np.asarray(policy.act_function(self.theta)(seen, noise, len(rows)))
        actions = self.spec.to_environment(wanted)
        if not alone:
            return actions
        return int(actions[0]) if self.spec.discrete else actions[0]

    def best(self, observations: Array) -> Array:
        """Return the best actions of observations (N, D), as the policy has them: not stretched to their bounds."""
        return np.asarray(self.policy.mode(self.policy.distribution(self.theta, self.observation_filter(observations))))


def load(folder: RunFolder) -> tuple[Choice, Arrays]:
    """Return settings and checkpoint of a recorded run, to be looked at; BadInput if they do not belong together."""
    choice = recorded_settings(folder)
    checkpoint, note = newest(folder.path)
    if note:
        print(note.replace("continuing from", "this is the older policy of"), file=sys.stderr)
    if not folder.read_config()["provenance"].get("repeats", True):
        print(RESTLESS.format(choice.common.env), file=sys.stderr)
    if not checkpoint:
        raise BadInput(f"{folder.path} has no checkpoint yet: the run has not begun")
    check_settings(choice, checkpoint, folder)
    return choice, checkpoint


def trained(folder: RunFolder) -> TrainedPolicy:
    """Return the policy of a run's newest checkpoint; BadInput if it does not fit its environment or settings."""
    return policy_of(*load(folder))


def policy_of(choice: Choice, arrays: Arrays) -> TrainedPolicy:
    """Return the policy of a checkpoint; BadInput if it does not fit its environment or settings."""
    spec = describe(choice.common.env)
    check_arrays(arrays, make_algorithm(choice, spec)[0], spec, choice)
    frozen = ObservationFilter.from_vector(arrays[RUN_PREFIX + "filter"])
    return TrainedPolicy(spec, make_policy(choice, spec), arrays["theta"], frozen)


def evaluate(folder: RunFolder | None, episodes: int, seed: int, sample: bool, comm: Comm) -> Evaluation:
    """Play fresh episodes with a run's policy on all ranks; collective.

    Without a time limit an episode ends after 10,000 steps.

    Args:
        folder: of the run; the root's counts.
        episodes: how many are played.
        seed: chooses them; none begins as an episode in training did.
        sample: draw actions as in training, instead of the best ones.
        comm: all ranks.

    Returns:
        The same on every rank.

    Raises:
        BadInput: the folder is not that of a run, or a number makes no sense.
        EpisodeFailed: the environment failed.

    """
    for name, value, least, most in (("episodes", episodes, 1, MOST_EPISODES), ("seed", seed, 0, 2**63 - 1)):
        if not least <= value <= most:
            raise BadInput(f"--{name} must lie in [{least}, {most}], not {value}")

    def read() -> tuple[dict[str, Any], Arrays, int]:
        choice, arrays = load(cast(RunFolder, folder))
        ranks = cast(RunFolder, folder).read_config()["provenance"].get("ranks", 1)
        return choice.flat(), arrays, choice.copies(ranks)

    settings, arrays, copies = on_root(comm, read)
    run = on_all(comm, lambda: policy_of(chosen(settings), arrays))
    with closed_environments():
        envs = make_vector_env(run.spec, min(ROWS, copies), settings["physics"])
        evaluator = Evaluator(envs, run.policy, seed, comm, sample)
        returns = evaluator.returns(run.theta, run.observation_filter, 0, episodes)
    return Evaluation(comm.broadcast({"returns": returns})["returns"])
