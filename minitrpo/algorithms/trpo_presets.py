"""What the algorithm of the lectures is told: as typed, where one setting cannot serve, as published, in lectures."""

from minitrpo.algorithms.algorithm import Preset

# More work in every update, as in rl-zoo
SLOW = {"critic_epochs": 10, "critic_step_size": 1e-3}
CAREFUL = {**SLOW, "critic_epochs": 20}
THOROUGH = {"gae_lambda": 0.95, "fisher_fraction": 1.0, "cg_iterations": 25, **CAREFUL}
STRONG = Preset(
    "for a good return soon, with values of their own for some environments: many small updates from segments, all "
    "ranks learn",
    {
        "requests": "segments",
        "num_envs": 16,
        "steps_per_update": 2_048,
        "learner": "sharded",
        "checkpoint_every": "1s",  # an update takes 50 ms on two cores, a checkpoint 3
        "critic_epochs": 4,  # as good as 10 at 1e-3 in 0.4 of the time, but for those that are SLOW
        "critic_minibatch": 128,
        "critic_step_size": 3e-3,
    },
    # where one setting cannot serve; found on seeds 100 and up, but that Hopper is SLOW, on seeds 0 to 4
    {
        # louder: on its back; 32 environments: cheaper steps, learned from no better and no worse on seeds 0 to 4
        "HalfCheetah-v5": {"initial_log_std": -1.0, "max_kl": 0.12, "cg_damping": 0.6, "num_envs": 32},
        "Hopper-v5": {"max_kl": 0.12, "cg_damping": 0.6, **SLOW},
        "Walker2d-v5": {"max_kl": 0.04, "cg_damping": 0.3},
        "Swimmer-v5": {"discount": 0.9999, **SLOW},
        "Humanoid-v5": SLOW,
        "Reacher-v5": {"initial_log_std": -1.0, "max_kl": 0.04, "cg_damping": 0.3, "discount": 0.95},
        "InvertedDoublePendulum-v5": {"initial_log_std": -1.0},
        "Ant-v5": {"initial_log_std": -1.0, "max_kl": 0.08, "cg_damping": 0.8, **THOROUGH},
        "CartPole-v1": {"max_kl": 0.02},
        "Pendulum-v1": {"max_kl": 0.02, "discount": 0.95, **CAREFUL},
    },
)
PRESETS = {
    "default": STRONG,
    "tuned": STRONG,  # the same, by another name
    "episodes": Preset("whole episodes from a pool, rank 0 learns while the others wait: what the lectures measure"),
    "paper": Preset(
        "as Frans & Hafner 2016 ran it: Monte-Carlo returns, a linear critic, 20,000 steps and a small KL",
        {"gae_lambda": 1.0, "critic": "linear", "steps_per_update": 20_000, "max_kl": 0.001, "cg_damping": 0.001},
    ),
}
