"""What others have published: final or best mean returns; the letters are explained in benchmarks/README.md."""

PUBLISHED = {  # of TRPO
    "HalfCheetah-v5": "1803 (a, v3), 1786 (b, v3), 4471 (c, v3, max), 1290 (d, v2), 1561 (e, v2, 2M)",
    "Hopper-v5": "3372 (a, v3), 3618 (b, v3), 2046 (c, v3, max), 1913 (d, v2), 3038 (e, v2, 2M)",
    "Walker2d-v5": "4502 (a, v3), 4933 (b, v3), 3827 (c, v3, max), 2342 (d, v2), 3260 (e, v2, 2M)",
    "Swimmer-v5": "359 (a, v3), 366 (b, v3), 41 (c, v3, max), 95 (d, v2), 197 (e, v2, 2M)",
    "Reacher-v5": "-5.1 (c, v2, max), -4.82 (d, v2)",
    "InvertedDoublePendulum-v5": "8435 (c, v2, max), 6732 (d, v2)",
    "CartPole-v1": "500 (b)",
    "Pendulum-v1": "-175 (b)",
    "Ant-v5": "3554 (a, v3), 4982 (b, v3), 2867 (c, v3, max)",
    "Humanoid-v5": "810 (c, v3, max)",
}

# rl-baselines3-zoo, benchmark.md (2022, MuJoCo's tasks in version 3): the mean return of one tuned agent each, judged
# without noise in its actions, and the steps of its training
TUNED = {
    ("ppo", "CartPole-v1"): (500.0, 100_000),
    ("ppo", "Pendulum-v1"): (-172.2, 100_000),
    ("ppo", "Hopper-v5"): (2410.0, 1_000_000),
    ("ppo", "HalfCheetah-v5"): (5819.0, 1_000_000),
    ("a2c", "CartPole-v1"): (500.0, 500_000),
    ("a2c", "Pendulum-v1"): (-163.0, 1_000_000),
    ("a2c", "Hopper-v5"): (733.5, 1_000_000),
    ("a2c", "HalfCheetah-v5"): (3041.0, 1_000_000),
}
COUNTERPARTS = {"batch-ppo": "ppo", **dict.fromkeys(("a2c", "actor-critic", "a3c", "policy-gradient"), "a2c")}
