"""A trained policy as a function, and how well it does: what a run's checkpoint is good for when training is over."""

import sys
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium.spaces.utils import flatten
from scipy.special import stdtrit

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.contract import OWN
from minitrpo.errors import BadInput, shorten
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.repeatability import RESTLESS
from minitrpo.experience.rollouts import ROWS, make_vector_env
from minitrpo.experience.vector_env import closed_environments
from minitrpo.parallel.comm import Comm, on_all, on_root
from minitrpo.policies import Array, Policy
from minitrpo.run_folder.folder import RunFolder, newest
from minitrpo.training.context import check_arrays, check_settings, make_algorithm, make_policy
from minitrpo.training.job import recorded_settings
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
        """Return the action for an observation, or an array of actions for a batch of them.

        Without `rng` it is the best one: the mean, or the action of the largest probability or value. With `rng` it is
        drawn as in training. An int, or an array of the action space's shape; for a batch (N, ...) an array of N rows.
        BadInput for an observation of another shape.
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
    frozen = ObservationFilter.from_vector(arrays[OWN + "filter"])
    return TrainedPolicy(spec, make_policy(choice, spec), arrays["theta"], frozen)


def half_interval(values: Array, level: float = 0.95) -> Array:
    """Return half of Student's interval of the mean of N rows, of `values` (N, K): (K,); NaN if N is 1."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(stdtrit(n - 1, (1 + level) / 2) * np.std(values, axis=0, ddof=1) / np.sqrt(n))


@dataclass(frozen=True)
class Evaluation:
    """What the episodes of an evaluation returned, in their order; `interval`: Student's of 95 % about their mean."""

    returns: Array

    @property
    def mean(self) -> float:
        """Return the mean return of an episode."""
        return float(np.mean(self.returns))

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the mean; NaN if there is only one episode."""
        half = float(half_interval(self.returns[:, None])[0])
        return self.mean - half, self.mean + half

    def __str__(self) -> str:
        n, (low, high) = len(self.returns), self.interval
        about = f", 95 % interval {low:.4g} to {high:.4g}" if n > 1 else ""
        return f"mean return {self.mean:.4g}{about}, of {n} fresh episode{'s' * (n > 1)}"


def evaluate(folder: RunFolder | None, episodes: int, seed: int, sample: bool, comm: Comm) -> Evaluation:
    """Return how well a run's policy does in fresh episodes; all ranks play them, and each gets the whole answer.

    folder: on the root. seed: another one gives other episodes; none of them began as one in training did. sample: draw
    actions as in training, instead of the best ones. Without a time limit an episode ends after 10,000 steps. BadInput
    for a folder that is no run's; EpisodeFailed if the environment fails.
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
