"""What Batch PPO can be told: its settings with their sources, and the presets."""

from dataclasses import dataclass

from minitrpo.algorithms.interface import Preset
from minitrpo.algorithms.options import option

SCRIPT = "ChainerRL's Batch PPO script, 2018"


@dataclass(frozen=True)
class BatchPPOSettings:
    """What Batch PPO can be told."""

    discount: float = option(0.99, "discount per step (gamma)", SCRIPT, above=0, most=1)
    gae_lambda: float = option(0.95, "lambda of the advantages; 1 is Monte-Carlo", SCRIPT, above=0, most=1)
    clip: float = option(0.2, "how far a ratio of probabilities may gain by leaving 1", SCRIPT, above=0, most=10)
    epochs: int = option(10, "passes over the steps of an update, by policy and value function", SCRIPT, least=1)
    minibatch: int = option(64, "steps per minibatch", SCRIPT, least=1)
    step_size: float = option(3e-4, "Adam's step size for the policy", SCRIPT, above=0, most=1)
    critic_step_size: float = option(1e-3, "Adam's step size for the value function", above=0, most=1)
    anneal: str = option("both", "what falls linearly to 0 over the run", SCRIPT, ("both", "step-size", "clip", "none"))
    anneal_steps: int = option(0, "over so many environment steps; 0: --total-steps", least=0, most=10**15)
    entropy: float = option(0.0, "how much an entropy of 1 nat counts in the objective", SCRIPT, least=0, most=1e3)
    max_gradient_norm: float = option(
        0.5, "a minibatch's gradient is shortened to this length", "baselines, stable-baselines3", above=0, most=1e6
    )
    standardise: str = option(
        "minibatch",
        "advantages have mean 0 and deviation 1 in a minibatch, in an update's batch, or as they are",
        "stable-baselines3; ChainerRL: none",
        ("minibatch", "batch", "none"),
    )


PRESETS = {
    "default": Preset(
        "as ChainerRL's script: 2,048 steps of all simulators together, 10 epochs of minibatches of 64",
        {"requests": "segments", "steps_per_update": 2_048, "learner": "sharded"},
        # rl-zoo's step size and minibatch, and a schedule that ends where there is no more to learn; with the script's
        # own a run falls back from 500 again and again (found on seeds 100 to 102)
        {"CartPole-v1": {"step_size": 1e-3, "minibatch": 256, "total_steps": 150_000}},
    ),
}
