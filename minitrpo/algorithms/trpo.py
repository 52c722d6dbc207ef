"""Trust Region Policy Optimization as an algorithm: lecture 05's update, its critic, lecture 09's adaptive rule."""

from typing import Any, ClassVar

import numpy as np

from minitrpo.adaptive import AdaptiveState, adapt
from minitrpo.algorithms.accepted import accepted, finite_numbers, whole, within
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.algorithms.samples import judged, named, samples_of
from minitrpo.algorithms.trpo_settings import PRESETS, TRPOSettings
from minitrpo.critics import PARTS, Critic, LinearCritic, MLPCritic
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.policies import Array, Policy
from minitrpo.returns import explained_variance, standardise
from minitrpo.trpo import Batch, Report, trpo_step

CRITIC = "critic_"  # how the critic's arrays are called among others


class TRPO:
    """Policy and critic of one run, and the update that moves them."""

    Settings = TRPOSettings
    columns = (
        *("max_kl", "kl", "surrogate_gain", "gain_ratio", "line_search_steps", "line_search"),
        *("gradient_norm", "entropy", "explained_variance"),
    )
    chart, chart_label = ("kl", "max_kl"), "KL (nats)"
    design = Design(
        "batch", "barrier", "samples", "root or all", "on-policy", "Frans & Hafner 2016; Schulman et al. 2015"
    )
    presets: ClassVar[dict[str, Preset]] = PRESETS

    def __init__(self, settings: TRPOSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        self.critic = make_critic(settings, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self.adaptive = AdaptiveState(context.steps_per_update, settings.max_kl)
        self._to_fit: tuple[Arrays, np.random.Generator] | None = None  # between `learn` and `fit`
        self._divide_labour()

    def _divide_labour(self) -> None:
        """Say which ranks step the policy and which fit the critic.

        What is a sum over all steps is shared among all. The perceptron critic has hundreds of small sums, one after
        the other, and does not need the new policy: half of the ranks, at most one for each part of a minibatch, fit
        it while the others step the policy.
        """
        comm = self.context.comm
        critics = min(comm.size // 2, PARTS) if self.settings.critic == "mlp" else 0
        steppers = comm.size - critics
        self._reduction = ordered_allreduce(comm.split(int(comm.rank >= steppers)))
        self._steps, self._fits = comm.rank < steppers, comm.rank >= steppers or critics == 0
        self._reports = comm.rank == steppers  # the first of those who fit
        self._fits_later = critics > 0 or comm.size == 1  # what the next rollout does not wait for

    def plan(self) -> Plan:
        """Return the policy, and how many steps of it the adaptive rule asks for."""
        return Plan(self.theta, self.adaptive.steps_per_update)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the samples: the root learns from all of them."""
        return samples_of(fragment) | {"ended": fragment.ended, "returns": fragment.returns}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Move the policy, from everybody's samples, and adapt; see `fit` for the critic."""
        with self.context.span("advantages"):
            s = self.settings
            found = judged(self.critic, self.critic_state, batch, s.discount, s.gae_lambda)
            advantages, explained = (
                standardise(found["advantages"]),
                explained_variance(found["values"], found["targets"]),
            )
        samples = {name: batch[name] for name in ("observations", "actions", "timesteps")}
        samples |= {"advantages": advantages, "targets": found["targets"], "max_kl": np.array(self.adaptive.max_kl)}
        with self.context.span("exchange"):
            self.context.comm.broadcast(samples | named(CRITIC, self.critic_state))
        max_kl = self.adaptive.max_kl
        self.theta, report = self._step_policy(self.theta, samples)
        if report.reason == "not finite":
            self.context.note("the step is not finite, and was not taken: see how large observations and rewards are")
        if self._fits_later and self._fits:
            self._to_fit = samples, rng
        elif not self._fits_later:
            self._take_over(self._fit_critic(samples, self.critic_state, rng))
        self._adapt(batch["returns"][batch["ended"]])
        return row(report, max_kl, explained)

    def fit(self, found: list[Arrays]) -> None:
        """Fit the critic to the last update's samples, or take over what those have found who fitted it."""
        if self._to_fit is not None:
            (samples, rng), self._to_fit = self._to_fit, None
            self._take_over(self._fit_critic(samples, self.critic_state, rng))
        for fitted in filter(None, found):
            self._take_over(fitted)

    def assist(self, plan: Plan, rng: np.random.Generator) -> Arrays:
        """Compute this rank's part of what the root leads; return the critic where the root has no part in it."""
        with self.context.span("idle"):
            samples = self.context.comm.broadcast({})
        state = {name.removeprefix(CRITIC): samples[name] for name in samples if name.startswith(CRITIC)}
        if self._steps:
            self._step_policy(plan.theta, samples)
        fitted = self._fit_critic(samples, state, rng) if self._fits else {}
        return fitted if self._reports else {}

    def state(self) -> Arrays:
        """Return policy, critic and the adaptive rule's memory."""
        rule = self.adaptive
        before = float("nan") if rule.before is None else rule.before
        return {
            "theta": self.theta,
            "adaptive": np.array([rule.steps_per_update, rule.max_kl, before]),
            "adaptive_returns": np.array(rule.returns),
            **named(CRITIC, self.critic_state),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned; ValueError for values that no run with these settings has."""
        rule, first = self.settings.rule, AdaptiveState(self.context.steps_per_update, self.settings.max_kl)
        fresh = {"theta": self.theta, "adaptive": np.zeros(3)}
        before = arrays["adaptive"][-1:]  # NaN before the first window has closed
        own = accepted({**arrays, "adaptive": np.where([False, False, True], 0.0, arrays["adaptive"])}, fresh)
        steps, max_kl, _ = own["adaptive"].tolist()
        within("adaptive steps/update", steps, *reach(first.steps_per_update, rule.steps_limits, rule.mode, "steps"))
        within("adaptive max-KL", max_kl, *reach(first.max_kl, rule.kl_limits, rule.mode, "kl"))
        returns = finite_numbers("adaptive_returns", arrays["adaptive_returns"], rule.window)
        sums = None if np.isnan(before[0]) else finite_numbers("adaptive's last sum", before, 1)[0]
        critic_state = accepted(arrays, self.critic_state, CRITIC)
        self.theta, self.critic_state = own["theta"], critic_state
        self.adaptive = AdaptiveState(whole("adaptive steps/update", steps), max_kl, returns, sums)

    def _step_policy(self, theta: Array, samples: Arrays) -> tuple[Array, Report]:
        s = self.settings
        batch = Batch(samples["observations"], samples["actions"], samples["advantages"], self._reduction)
        with self.context.span("policy"):
            return trpo_step(
                self.policy, theta, batch, float(samples["max_kl"]), s.cg_iterations, s.cg_damping, s.fisher_fraction
            )

    def _fit_critic(self, samples: Arrays, state: Arrays, rng: np.random.Generator) -> Arrays:
        """Return the critic's new state."""
        observations, timesteps, targets = (samples[n] for n in ("observations", "timesteps", "targets"))
        with self.context.span("critic"):
            return self.critic.fit(state, observations, timesteps, targets, rng, self._reduction)

    def _take_over(self, fitted: Arrays) -> None:
        """Replace the critic, unless its fit went wrong: a critic that is not finite would stay so for ever."""
        if all(np.all(np.isfinite(array)) for array in fitted.values()):
            self.critic_state = fitted
        else:
            self.context.note("the critic's fit is not finite, the one before is kept: --critic-step-size is too large")

    def _adapt(self, returns: Array) -> None:
        if self.settings.adapt == "none" or len(returns) == 0:
            return
        self.adaptive, decision = adapt(self.adaptive, float(np.mean(returns)), self.settings.rule)
        if decision is not None:
            self.context.note(str(decision))


def reach(first: float, limits: tuple[float, float], mode: str, name: str) -> tuple[float, float]:
    """Return between which values the adaptive rule can have moved a setting that began at `first`."""
    return (min(first, limits[0]), max(first, limits[1])) if mode in (name, "both") else (first, first)


def make_critic(settings: TRPOSettings, policy: Policy) -> Critic:
    """Return the critic that the settings ask for, as wide as the policy."""
    if settings.critic == "linear":
        return LinearCritic(policy.observation_size)
    s = settings
    return MLPCritic(policy.observation_size, policy.hidden, s.critic_epochs, s.critic_minibatch, s.critic_step_size)


def row(report: Report, max_kl: float, explained: float) -> dict[str, Any]:
    """Return what the log says of an update."""
    return {
        "max_kl": max_kl,
        "kl": report.kl,
        "surrogate_gain": report.gain,
        "gain_ratio": report.gain_ratio,
        "line_search_steps": report.trials,
        "line_search": report.reason,
        "gradient_norm": report.gradient_norm,
        "entropy": report.entropy,
        "explained_variance": explained,
    }
