"""An update's heavy part, policy and critic, done by the root alone or by a team of ranks: same bits either way."""

from dataclasses import dataclass, fields

from minitrpo.critics import PARTS, Critic, LinearCritic, MLPCritic, State
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.ranks import Alone, Ranks
from minitrpo.parallel.sharing import shares_of
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.runs.settings import Settings
from minitrpo.trpo import Batch, Report, trpo_step

CRITIC = "critic_"  # how the critic's arrays are called among others


@dataclass(frozen=True)
class Lesson:
    """Everything that policy and critic learn from in one update: N steps in their one order."""

    iteration: Array  # (1,)
    max_kl: Array  # (1,)
    theta: Array  # (P,)
    observations: Array  # (N, D), filtered
    actions: Array  # (N, A) floats or (N,) integers
    advantages: Array  # (N,), standardised
    times: Array  # (N,)
    targets: Array  # (N,)


class Improver:
    """What a rank does in an update. The root leads; with `--learner sharded` its team follows.

    What is a sum over all steps is shared among the whole team. The perceptron critic has hundreds of small sums, one
    after the other, and does not need the new policy: half of a team, at most a rank for each part of a minibatch, fits
    it while the others step the policy.
    """

    def __init__(self, settings: Settings, spec: EnvironmentSpec, team: Ranks) -> None:
        self.settings = settings
        self.policy = spec.policy(settings.hidden_sizes, settings.initial_log_std)
        self.critic = make_critic(settings, spec)
        critics = min(team.size // 2, PARTS) if settings.critic == "mlp" else 0
        steppers = team.size - critics
        self._team, self._shares = team, shares_of(team.side(steppers))
        self._steps, self._fits = team.rank < steppers, team.rank >= steppers or critics == 0
        self._critic_root = steppers % team.size  # the first of those who fit

    def lead(self, lesson: Lesson, critic_state: State, timeline: Timeline) -> tuple[Array, Report]:
        """Return the new theta and what the update did; on the root. Then comes `fit_critic`."""
        with timeline.span("share"):
            arrays = {f.name: getattr(lesson, f.name) for f in fields(Lesson)}
            self._team.broadcast_arrays(arrays | {CRITIC + name: array for name, array in critic_state.items()})
        return self._step_policy(lesson, timeline)

    def follow(self, timeline: Timeline) -> None:
        """Compute this rank's share of what the root leads; on all other ranks of the team."""
        with timeline.span("idle"):
            arrays = self._team.broadcast_arrays({})
        lesson = Lesson(**{f.name: arrays.pop(f.name) for f in fields(Lesson)})
        with timeline.span("update"):
            if self._steps:
                self._step_policy(lesson, timeline)
            self.fit_critic(lesson, {name.removeprefix(CRITIC): a for name, a in arrays.items()}, timeline)

    def _step_policy(self, lesson: Lesson, timeline: Timeline) -> tuple[Array, Report]:
        s = self.settings
        with timeline.span("policy"):
            batch = Batch(lesson.observations, lesson.actions, lesson.advantages, self._shares)
            return trpo_step(
                self.policy,
                lesson.theta,
                batch,
                float(lesson.max_kl[0]),
                s.cg_iterations,
                s.cg_damping,
                s.fisher_fraction,
            )

    def fit_critic(self, lesson: Lesson, state: State, timeline: Timeline) -> State:
        """Return the critic's new state, fitted here or received from those who fit it."""
        if self._fits:
            with timeline.span("critic"):
                rng = generator(self.settings.seed, int(lesson.iteration[0]), 0, Purpose.CRITIC_FIT)
                state = self.critic.fit(state, lesson.observations, lesson.times, lesson.targets, rng, self._shares)
        with timeline.span("share"):
            return self._team.broadcast_arrays(state, self._critic_root)


def make_improver(settings: Settings, spec: EnvironmentSpec, ranks: Ranks) -> Improver | None:
    """Return this rank's part in updates, None if it has none."""
    if settings.learner == "sharded":
        return Improver(settings, spec, ranks)
    return Improver(settings, spec, Alone()) if ranks.rank == 0 else None


def make_critic(settings: Settings, spec: EnvironmentSpec) -> Critic:
    """Return the critic that the settings ask for."""
    if settings.critic == "linear":
        return LinearCritic(spec.observation_size)
    return MLPCritic(
        spec.observation_size,
        settings.hidden_sizes,
        settings.critic_epochs,
        settings.critic_minibatch,
        settings.critic_step_size,
    )
