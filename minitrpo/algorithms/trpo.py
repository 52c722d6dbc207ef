"""Trust Region Policy Optimization: lecture 05's update, its critic, lecture 09a's adaptive rule.

1. play episodes of pi_theta, on all ranks ................. experience/rollouts.py: Rollouts.play, Rollouts.advance
2. advantages A, by GAE with the critic of the last update . algorithms/shared_update.py: advantages_of
3. g = grad of the surrogate; x = F^-1 g by CG ............. trpo.py: surrogate_gradient, damped_fisher
4. step as far as KL(old || new) <= max_kl allows .......... trpo.py: trpo_step
5. fit the critic to the returns ........................... critics.py: MLPCritic.fit, LinearCritic.fit
6. adapt steps/update and max_kl ........................... adaptive.py: adapt
"""

from dataclasses import replace
from typing import Any

import numpy as np

from minitrpo.adaptive import AdaptiveState
from minitrpo.advantages import explained_variance, standardise
from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan
from minitrpo.algorithms.shared_update import SharedUpdate, advantages_of, samples_of
from minitrpo.algorithms.trpo_settings import PRESETS, TRPOSettings, one_way
from minitrpo.core import BY_AUTOGRAD, BY_HAND, Core, StudentsCore, load_core
from minitrpo.critics import MLPCritic, make_critic
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.experience.trust import typed_in
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array
from minitrpo.step_noise import Measured, StepNoise, measure_noise
from minitrpo.trpo import Batch, Report


def students_core(folder: str, base: Core) -> StudentsCore | None:
    """Return the functions of --core; None without that option, or if only a file asks for them, not a person."""
    place = typed_in(folder) if folder else None
    return None if place is None else load_core(place, base)


class TRPO(Algorithm):
    """Policy and critic of one run, and the update that moves them."""

    Settings = TRPOSettings
    columns = (
        *("max_kl", "kl", "surrogate_gain", "gain_ratio", "line_search_steps", "line_search"),
        *("gradient_norm", "entropy", "explained_variance", *StepNoise.columns),
    )
    chart, chart_label = ("kl", "max_kl"), "KL (nats)"
    second_chart, second_label = ("agreement", "noise"), "fraction of the predicted gain"
    presets = PRESETS
    sharded_with = ("episodes", "segments")

    def __init__(self, settings: TRPOSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.core = BY_AUTOGRAD if settings.derivatives == "autograd" else BY_HAND
        self.students = students_core(settings.core, self.core)
        if self.students is not None:
            self.core = self.students.core
            context.note(f"note: {self.students}")
        self.policy = self.core.policy(context.policy)
        self.trpo_step = self.core.step
        of_fit = (settings.critic_epochs, settings.critic_minibatch, settings.critic_step_size)
        self.critic = make_critic(settings.critic, context.policy, *of_fit)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self.adaptive = AdaptiveState(context.steps_per_update, settings.max_kl)
        for note in one_way(settings, context.steps_per_update):
            context.note(note)
        self.noise = StepNoise(context.steps_per_update, settings.max_kl, np.zeros(len(self.theta)))
        # The perceptron critic has hundreds of small sums, one after the other, and does not need the new policy: half
        # of the ranks, at most one for each part of a minibatch, fit it while the others step the policy.
        fitters = min(context.comm.size // 2, self.critic.parts) if isinstance(self.critic, MLPCritic) else 0
        self.update = SharedUpdate(context, fitters)

    def plan(self) -> Plan:
        if self.settings.core and self.students is None:
            raise BadInput(
                f"the run takes functions from {self.settings.core}/core.py. If you trust whoever wrote them, type it "
                f"again: --core {self.settings.core}"
            )
        return Plan(self.theta, self.adaptive.steps_per_update)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        samples = samples_of(fragment) | {"ended": fragment.ended, "returns": fragment.returns}
        if isinstance(self.critic, MLPCritic):  # in the precision in which networks take observations
            for name in ("observations", "final_observations"):
                samples[name] = samples[name].astype(np.float32)
        return samples

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        max_kl = self.adaptive.max_kl
        # 1. every rank gets the batch, and the advantages of all steps
        batch = self.update.broadcast(batch)
        samples, explained = self._with_advantages(batch)
        # 2. some ranks step the policy while the others fit the critic, or one rank does both
        stepped = self._step(samples) if self.update.steps_policy else None
        fitted = self._fit(samples, rng) if self.update.fits_critic else None
        (theta, report, measured), fitted = self.update.exchange(stepped, fitted)
        # 3. every rank takes over the new policy and the new critic
        search = report.search
        of_noise = self.noise.add(
            gradient=report.gradient,
            step=theta - self.theta,
            kl=search.kl,
            steps=len(samples["actions"]),
            measured=measured,
            follows=self.settings.adapt == "noise",
        )
        self.theta = theta
        if all(np.all(np.isfinite(array)) for array in fitted.values()):
            self.critic_state = fitted
        else:  # it would stay so for ever
            self.context.note("the critic's fit is not finite and was discarded: --critic-step-size is too large")
        # 4. steps/update and max-KL adapt
        self._adapt(batch["returns"][batch["ended"]])
        return {
            "max_kl": max_kl,
            "kl": search.kl,
            "surrogate_gain": search.gain,
            "gain_ratio": search.gain_ratio,
            "line_search_steps": search.trials,
            "line_search": search.reason,
            "gradient_norm": report.gradient_norm,
            "entropy": report.entropy,
            "explained_variance": explained,
            **of_noise,
        }

    def state(self) -> Nested:
        rule = self.adaptive
        before = float("nan") if rule.before is None else rule.before
        return {
            "theta": self.theta,
            "adaptive": np.array([rule.steps_per_update, rule.max_kl, before]),
            "adaptive_returns": np.array(rule.returns),
            "critic": self.critic_state,
            "noise": self.noise.state(),
        }

    def restore(self, arrays: Nested) -> None:
        self.theta, self.critic_state = arrays["theta"], arrays["critic"]
        self.noise.restore(arrays["noise"])
        steps, max_kl, before = arrays["adaptive"].tolist()
        returns = tuple(arrays["adaptive_returns"].tolist())
        self.adaptive = AdaptiveState(int(steps), max_kl, returns, None if np.isnan(before) else before)

    def _with_advantages(self, batch: Arrays) -> tuple[Arrays, float]:
        """Return the samples with advantages and targets, and how much of the returns the critic explained."""
        s = self.settings
        with self.context.span("advantages"):
            estimates = advantages_of(
                self.critic, self.critic_state, batch, s.discount, s.gae_lambda, self.update.all, self.core
            )
            explained = explained_variance(estimates["values"], estimates["targets"])
            return batch | estimates | {"advantages": standardise(estimates["advantages"])}, explained

    def _step(self, samples: Arrays) -> tuple[Array, Report, Measured | None]:
        """Return the new policy, what the step did, and how much of it is noise if that is to be measured."""
        s, old = self.settings, self.theta
        observations = samples["observations"].astype(np.float32, copy=False)
        batch = Batch(observations, samples["actions"], samples["advantages"], self.update.sums)
        with self.context.span("policy"):
            solver = (s.cg_iterations, s.cg_damping, s.fisher_fraction)
            theta, report = self.trpo_step(self.policy, old, batch, self.adaptive.max_kl, *solver)
            measured = None
            if self.noise.due and report.search.accepted:
                measured = measure_noise(self.policy, old, batch, report.gradient, theta - old, *solver)
        if report.search.reason == "not finite":
            self.context.note("the step is not finite and was not taken: check the scale of observations and rewards")
        return theta, report, measured

    def _fit(self, samples: Arrays, rng: np.random.Generator) -> Arrays:
        """Return the critic's new state."""
        with self.context.span("critic"):
            return self.critic.fit(self.critic_state, samples, rng, self.update.sums)

    def _adapt(self, returns: Array) -> None:
        if self.settings.adapt == "noise":
            steps, max_kl = self.noise.steps_per_update, self.noise.max_kl
            self.adaptive = replace(self.adaptive, steps_per_update=steps, max_kl=max_kl)
        if self.settings.adapt in ("none", "noise") or len(returns) == 0:
            return
        self.adaptive, decision = self.core.adapt(self.adaptive, float(np.mean(returns)), self.settings.rule)
        if decision is not None:
            self.context.note(str(decision))
